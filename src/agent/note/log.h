/*
 * log: what the recorder appends of each event to the log that lies behind the sites (wire/log.h).
 * A queue has one thread at a time, which appends to a block that it alone has: no lock, and
 * nothing is waited for.
 */
#ifndef MEMDIAG_AGENT_NOTE_LOG_H
#define MEMDIAG_AGENT_NOTE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "wire/log.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* The queue of a place.  All but PLACE is zero if nothing was appended to the log. */
struct log_queue {
	uint32_t place;
	uint32_t nr_turns;	      /* in short, one after the other: see log_take_turn() */
	struct wire_log_block *block; /* that is appended to; NULL: none */
	uint32_t opening;	      /* of the log, that the block is of */
	uint32_t nr_words;	      /* in it */
	uint64_t time_ns, stamp;      /* of the last time in it */
	uint64_t nr_blocks;	      /* so far */
	uint64_t failed_ns;	      /* when no block was free; 0: one was */
};

/*
 * Private: the log, and what it is for as long as nothing is appended.  It is alone in a page that
 * the kernel empties in any child, however that was forked (MADV_WIPEONFORK, since Linux 4.14).
 */
struct log_own {
	struct wire_log *log;
};
extern struct log_own *log_own;

/*
 * Get ready.  VDSO is its ELF header, or NULL.  False: there is no memory, or events cannot have a
 * time; a system call for each would be slow, and a filter of the program may not allow it.
 */
bool log_prepare(const void *vdso);

/*
 * Append to L from now on, which is zero but for what wire_sites_make() has put there, and open it
 * if WANTS_OPEN; NULL: to none.  Nobody appends meanwhile, and all queues are made zero.
 */
void agent_log_begin(struct wire_log *l, bool wants_open);

/* Append to Q that a block of BYTES was allocated at SITE, or freed. */
void log_append(struct log_queue *q, enum wire_log_kind kind, uint32_t site, uint64_t bytes);

/*
 * The same of a mapping, KIND being one of its four kinds.  Q is WIRE_LOG_OWNER_OF_MAPPINGS's,
 * which one thread at a time appends to.
 */
#define LOG_PLACE_OF_MAPPINGS (WIRE_LOG_OWNER_OF_MAPPINGS - 1)
void log_append_mapping(
	struct log_queue *q, enum wire_log_kind kind, uint32_t site, uint64_t bytes);

/* Whether there is anything to append to. */
static inline bool
log_is_open(void)
{
	const struct wire_log *l = log_own->log;

	return UNLIKELY(l && __atomic_load_n(&l->is_open, __ATOMIC_RELAXED));
}

/*
 * Count an event of BYTES (0: not known) that is not in the log, though it should be.  Its sites
 * stay meanwhile.  A signal handler may be what calls it.
 */
void log_drop(uint64_t bytes);

#pragma GCC visibility pop

#endif
