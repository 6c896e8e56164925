/*
 * process: the state of a target read at one moment: its mappings, the ELF objects in them, and the
 * arenas of its malloc.
 */
#ifndef MEMDIAG_GLIBC_PROCESS_H
#define MEMDIAG_GLIBC_PROCESS_H

#include "elf/objects.h"
#include "glibc/arenas.h"

struct target;

struct process {
	const struct target *target; /* borrowed; must outlive this */
	struct regions maps;
	struct objects objects; /* found in MAPS */
	/*
	 * Empty until process_find_arenas(), and after its failure: then arenas_error has the
	 * reason.
	 */
	struct arenas arenas;
	struct err arenas_error; /* kind is 0 without an error */
};

/*
 * Read the mappings of T, and find the objects in them.  P need not be initialised.  No thread is
 * stopped.  Returns 0, or -1 with E and P released.
 */
int process_read(struct process *p, const struct target *t, struct err *e);

/* Earlier findings that save work when a process is read; each may be NULL. */
struct process_sources {
	const struct process *known;		 /* an earlier reading of the same target */
	struct image_files *files;		 /* see image_open() */
	const struct regions_listener *listener; /* see regions_read_with() */
};

/* As process_read(). */
int process_read_with(struct process *p, const struct target *t, const struct process_sources *from,
	struct err *e);

/*
 * Find the present arenas; P may have arenas already.  KNOWN is an earlier reading of the same
 * target, whose arenas save the search, or NULL; it may be P.  Returns 0, or -1 with E.
 */
int process_find_arenas(struct process *p, const struct process *known, struct err *e);

/*
 * Return a libc other than the one that has P's arenas, brought by dlmopen() or LD_AUDIT, or NULL:
 * an arena without threads can belong to its malloc.
 */
const struct object *process_second_libc(const struct process *p);

/* Free what P owns.  P may be zeroed or half-built. */
void process_release(struct process *p);
#define auto_process __attribute__((cleanup(process_release)))

#endif
