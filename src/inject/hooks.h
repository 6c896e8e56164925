/*
 * hooks: what the files of inject/ that hook functions share.
 *
 *	hook-area.c	what is kept in the target: its memory, and who is hooked how
 *	hook-slots.c	pointers in global offset tables
 *	hooks.c		setting and lifting
 *
 * All that is known of hooks lies in the target, for who lifts them may be another memdiag:
 *
 *	area -> +------------------------------+  64 KiB, readable and executable, never writable
 *		| head: magic, how many        |
 *		+------------------------------+
 *		| entry 0: its record          |
 *		|   stub:  jump to the hook    | <- the function's beginning jumps here, unless
 *		|                              |    the hook itself is near enough
 *		|   moved: what stood there, a | <- what the hook's "real" points to
 *		|          jump to the rest    |
 *		| entry 1 ...                  |  once used, an entry stays as it is
 *		+------------------------------+
 *		| slot 0: its record, slot 1 ..|
 *		+------------------------------+
 *
 * Whether something is hooked at the moment is told by the function or the slot itself.
 */
#ifndef MEMDIAG_INJECT_HOOKS_H
#define MEMDIAG_INJECT_HOOKS_H

#include "inject/inject-priv.h"
#include "inject/prologue.h"

#define AREA_BYTES UINT64_C(65536)	/* and so it is aligned */
#define AREA_ENTRIES 63
#define AREA_SLOTS 2389

/* A word of the target that hooking changes. */
struct hook_word {
	raddr at;
	uint64_t original, hooked;
};

struct hook_entry {
	struct hook_word word;
	raddr function, hook;
	unsigned char stub[PROLOGUE_FAR_BYTES];
	unsigned char moved[PROLOGUE_MOVED_BYTES];
	uint64_t unused;
};

struct hook_area_image {
	char magic[16];
	uint64_t nr_entries, nr_slots;
	uint64_t unused[12];
	struct hook_entry entry[AREA_ENTRIES];
	struct hook_word slot[AREA_SLOTS];
	uint64_t unused_end;
};

_Static_assert(sizeof(struct hook_entry) == 128, "entries are aligned");
_Static_assert(sizeof(struct hook_area_image) <= AREA_BYTES, "the area has room for all");

struct hook_area {
	raddr start;		/* {0}: there is none yet */
	struct hook_area_image now;	/* as it is in the target; zeroes if there is none */
	struct hook_area_image next;	/* as it is to be */
};

/* ---- hook-area.c ------------------------------------------------------------------------------- */

/* Find T's area, M being its maps.  No area is no failure.  0, or -1 with E. */
int hook_area_find(struct hook_area *area, const struct target *t, const struct maps *m,
	struct err *e);

/* What does as FUNCTION does, and is not hooked: itself, if it is not. */
raddr hook_area_past(const struct hook_area *area, const struct target *t, raddr function);

/*
 * Where an area could be: nothing is mapped there, and all of [LOW, HIGH) is near.  {0} if there is no
 * such place.
 */
raddr hook_area_place(const struct maps *m, raddr low, raddr high);

/* Whether area->next must be written. */
bool hook_area_has_changed(const struct hook_area *area);

/*
 * Write area->next into the target, where it is mapped by then; C stands.  What is in use already is
 * never written again.
 */
int hook_area_write(struct hook_area *area, const struct carrier *c, struct err *e);

/* ---- hook-slots.c ------------------------------------------------------------------------------ */

/*
 * Add to AREA's next slots the words of all of the target's objects O that have, or will have, the
 * address of HOOK's function, but for those of the object that has the hook.  0, or -1 with E.
 */
int hook_slots_find(struct hook_area *area, const struct inject_target *it, const struct objects *o,
	const struct inject_hook *hook, struct err *e);

#endif
