/*
 * process: what was read of a target at one moment: its mappings, the ELF objects among them, and
 * the arenas of its malloc.
 */
#ifndef MEMDIAG_GLIBC_PROCESS_H
#define MEMDIAG_GLIBC_PROCESS_H

#include "elf/objects.h"
#include "glibc/arenas.h"

struct target;

struct process {
	const struct target *target; /* borrowed; it must outlive this */
	struct regions maps;
	struct objects objects; /* of MAPS */
	/* Empty until process_find_arenas(), and if that failed: then arenas_error says why. */
	struct arenas arenas;
	struct err arenas_error; /* kind is 0 if nothing failed */
};

/*
 * Read the mappings of T, and find the objects among them.  P need not be initialised.  Nothing is
 * stopped.  Returns 0, or -1 with E and P released.
 */
int process_read(struct process *p, const struct target *t, struct err *e);

/*
 * As process_read(), with LISTENER as of regions_read_with() and KNOWN, an earlier reading of the
 * same target, as of objects_find(); either may be NULL.
 */
int process_read_with(struct process *p, const struct target *t, const struct process *known,
	const struct regions_listener *listener, struct err *e);

/*
 * Find the arenas as they are now, which P may have already.  KNOWN is an earlier reading of the
 * same target, whose arenas save the search, or NULL; it may be P.  Returns 0, or -1 with E.
 */
int process_find_arenas(struct process *p, const struct process *known, struct err *e);

/*
 * A libc other than the one that P's arenas are of, as dlmopen() and LD_AUDIT bring it, or NULL: an
 * arena that no thread uses can be of its malloc.
 */
const struct object *process_second_libc(const struct process *p);

/* Free what P owns.  Safe on a zeroed or half-built one. */
void process_release(struct process *p);
#define auto_process __attribute__((cleanup(process_release)))

#endif
