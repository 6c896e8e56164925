/*
 * log: the events that the recorder appends to the log, which follows the sites (wire/log.h).  A
 * queue is used by one thread at a time, which appends to a block that it owns: it needs no lock
 * and never waits.
 */
#ifndef MEMDIAG_AGENT_NOTE_LOG_H
#define MEMDIAG_AGENT_NOTE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "wire/log.h"

#pragma GCC visibility push(hidden)

/* The queue of a place.  All members but PLACE are zero if it has not appended to the log. */
struct log_queue {
	uint32_t place;
	uint32_t nr_turns;	      /* turns in quick succession, see log_take_turn() */
	struct wire_log_block *block; /* the block to append to; NULL if the queue has no block */
	uint32_t opening;	      /* the opening of the log to which the block belongs */
	uint32_t nr_words;	      /* words in the block */
	uint64_t time_ns, stamp;      /* the last time in the block */
	uint64_t nr_blocks;	      /* blocks so far */
	uint64_t failed_ns;	      /* when all blocks were taken; 0 if one was free */
};

/*
 * Private: the log, and its data before the first event.  It has its own page, which the kernel
 * clears in any child, however it was forked (MADV_WIPEONFORK, since Linux 4.14).
 */
struct log_own {
	struct wire_log *log;
};
extern struct log_own *log_own;

/*
 * Get ready.  VDSO is the ELF header of the vDSO, or NULL.  False if no memory is available or the
 * time cannot be read without a system call: one for each event would be slow, and a filter of the
 * program may not allow it.
 */
bool log_prepare(const void *vdso);

/*
 * Append to L from now on, and open it if WANTS_OPEN.  L is zero except for the data that
 * wire_sites_make() has written.  With L NULL, stop appending.  No thread may append during this
 * call, which clears all queues.
 */
void agent_log_begin(struct wire_log *l, bool wants_open);

/* Append to Q the event that a block of BYTES was allocated at SITE, or freed. */
void log_append(struct log_queue *q, enum wire_log_kind kind, uint32_t site, uint64_t bytes);

/*
 * Append an event of a mapping; KIND is one of its four kinds.  Q belongs to
 * WIRE_LOG_OWNER_OF_MAPPINGS, and one thread at a time appends to it.
 */
#define LOG_PLACE_OF_MAPPINGS (WIRE_LOG_OWNER_OF_MAPPINGS - 1)
void log_append_mapping(
	struct log_queue *q, enum wire_log_kind kind, uint32_t site, uint64_t bytes);

/* True if a log is open. */
static inline bool
log_is_open(void)
{
	const struct wire_log *l = log_own->log;

	return UNLIKELY(l && __atomic_load_n(&l->is_open, __ATOMIC_RELAXED));
}

/*
 * Count an event of BYTES (0: unknown) that is missing in the log.  The sites must stay mapped
 * meanwhile.  A signal handler may call this.
 */
void log_drop(uint64_t bytes);

#pragma GCC visibility pop

#endif
