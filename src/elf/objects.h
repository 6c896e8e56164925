/*
 * objects: the ELF files that are mapped in a target, and the one whose malloc() it uses.
 */
#ifndef MEMDIAG_ELF_OBJECTS_H
#define MEMDIAG_ELF_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "elf/regions.h"

struct image;
struct image_files;
struct target;

struct object {
	struct image *image; /* owned by the list; NULL after objects_infer() */
	raddr start, end;    /* all of its segments, bss included */
	const char *path;    /* as in maps; owned by the map from which the list was made */
	uint64_t dev, inode;
	bool is_executable; /* the program itself */
	bool is_loader;	    /* ld.so */
	/* DT_SONAME is libc.so.6, or it is a program that contains glibc */
	bool is_libc;
};

struct objects {
	struct object *v; /* sorted by start */
	size_t nr, room;
	/* the ELF header of the vdso, which is not in V; {0}: no vdso */
	raddr vdso;
};

/*
 * Find the ELF objects in M: every file mapping at offset 0 that begins with an ELF header.  An
 * object that cannot be read is left out.  O must be zeroed or released and must not outlive M.
 * Objects of KNOWN, the result for the same target a moment ago (NULL: no earlier result), that are
 * still mapped are not opened again.  FILES as for image_open().
 */
int objects_find(struct objects *o, const struct regions *m, const struct target *t,
	const struct objects *known, struct image_files *files, struct err *e);
/*
 * As objects_find(), for a map without its process: finds files that are mapped as the dynamic
 * linker and the kernel map objects, without bss.  Objects have no image, and conclusions from
 * names and addresses of mappings are guesses.
 */
int objects_infer(struct objects *o, const struct regions *m, struct err *e);
void objects_release(struct objects *o);
#define auto_objects __attribute__((cleanup(objects_release)))

/* Return the object that contains A, or NULL. */
const struct object *objects_at(const struct objects *o, raddr a);

/* Return the first object that defines the symbol NAME, or NULL. */
const struct object *objects_defining(const struct objects *o, const char *name);

#endif
