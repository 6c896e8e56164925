/*
 * patch: the functions of a target that memdiag has changed.
 *
 * All records of hooks lie in the target, as another memdiag may lift them:
 *
 *	area -> +------------------------------+  64 KiB, readable and executable, never writable
 *		| head: magic, how many        |
 *		+------------------------------+
 *		| entry 0: its record          |
 *		|   stub:  jump to where the   | <- the function's beginning jumps here, unless
 *		|          record says, if far |    the hook itself is near enough
 *		|   moved: what stood there, a | <- what the hook's "real" points to
 *		|          jump to the rest    |
 *		| entry 1 ...                  |  once used, an entry stays as it is
 *		+------------------------------+
 *		| slot 0: its record, slot 1 ..|
 *		+------------------------------+
 *
 * The function or the slot itself shows whether it is hooked at the moment.
 */
#ifndef MEMDIAG_INJECT_PATCH_H
#define MEMDIAG_INJECT_PATCH_H

#include <sys/types.h>

#include "arch/prologue.h"
#include "elf/regions.h"

struct target;

#define PATCH_BYTES UINT64_C(65536) /* and so it is aligned */
#define PATCH_ENTRIES 63
#define PATCH_SLOTS 2389

/* A word of the target that hooking changes. */
struct patch_word {
	raddr at;
	uint64_t original, hooked;
};

struct patch_entry {
	struct patch_word word;
	raddr function, hook;
	unsigned char stub[PROLOGUE_FAR_BYTES];
	unsigned char moved[PROLOGUE_MOVED_BYTES];
	uint64_t unused;
};

struct patch_area_image {
	char magic[16];
	uint64_t nr_entries, nr_slots;
	uint64_t unused[12];
	struct patch_entry entry[PATCH_ENTRIES];
	struct patch_word slot[PATCH_SLOTS];
	uint64_t unused_end;
};

_Static_assert(sizeof(struct patch_entry) == 128, "entries are aligned");
_Static_assert(sizeof(struct patch_area_image) <= PATCH_BYTES, "the area has room for all");

struct patch_area {
	raddr start;		      /* {0}: none yet */
	struct patch_area_image now;  /* as it is in the target; zeroes if none */
	struct patch_area_image next; /* as it is to be */
};

/* Find T's area, M being its maps.  0, also without an area, or -1 with E. */
int patch_area_find(
	struct patch_area *area, const struct target *t, const struct regions *m, struct err *e);

/* A function that does the same as FUNCTION and is not hooked: FUNCTION itself, if it is not. */
raddr patch_area_past(const struct patch_area *area, const struct target *t, raddr function);

/*
 * A place for an area: nothing is mapped there, and all of [LOW, HIGH) is near.  {0} if there is
 * none.
 */
raddr patch_area_place(const struct regions *m, raddr low, raddr high);

/* Whether area->next must be written. */
bool patch_area_has_changed(const struct patch_area *area);

/*
 * Write area->next into the target, where it is mapped by then; thread TID stands.  What is in use
 * already is never written again.
 */
int patch_area_write(struct patch_area *area, const struct target *t, pid_t tid, struct err *e);

#endif
