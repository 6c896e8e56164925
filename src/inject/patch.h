/*
 * patch: the functions of a target that memdiag has changed.
 *
 * All records of hooks lie in the target, so that another memdiag can lift them:
 *
 *	area -> +------------------------------+  64 KiB, readable and executable, never writable
 *		| head: magic, the counts      |
 *		+------------------------------+
 *		| entry 0: its record          |
 *		|   stub:  jump to the hook of | <- the function's beginning jumps here, unless
 *		|          the record, if far  |    the hook itself is near enough
 *		|   moved: the code replaced,  | <- the hook's "real" points here
 *		|          a jump to the rest  |
 *		| entry 1 ...                  |  once used, an entry never changes
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

#define PATCH_BYTES UINT64_C(65536) /* also its alignment */
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
	raddr start;		      /* {0} if no area exists yet */
	struct patch_area_image now;  /* its contents in the target; zeroes without an area */
	struct patch_area_image next; /* its contents to be written */
};

/* Find T's area in its maps M.  0, also without an area, or -1 with E. */
int patch_area_find(
	struct patch_area *area, const struct target *t, const struct regions *m, struct err *e);

/* Return code that does the same as FUNCTION and is not hooked: FUNCTION, if it is not hooked. */
raddr patch_area_past(const struct patch_area *area, const struct target *t, raddr function);

/*
 * Return a place for an area: nothing is mapped there, and all of [LOW, HIGH) is near. {0} if no
 * such place exists.
 */
raddr patch_area_place(const struct regions *m, raddr low, raddr high);

/* Return whether area->next must be written. */
bool patch_area_has_changed(const struct patch_area *area);

/*
 * Write area->next into the target, where it is mapped by then; thread TID is stopped.  Entries in
 * use are never written again.
 */
int patch_area_write(struct patch_area *area, const struct target *t, pid_t tid, struct err *e);

#endif
