/*
 * regions: the mappings of a target as the kernel lists them, and the ELF objects in them.  This
 * header has the lines of /proc/PID/maps; objects.h and smaps.h have the rest.
 */
#ifndef MEMDIAG_ELF_REGIONS_H
#define MEMDIAG_ELF_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

struct region {
	raddr start, end;      /* [start, end) */
	char prot[5];	       /* "rwxp", NUL-terminated; the last is 'p' or 's' */
	uint64_t offset_bytes; /* into the file; 0 if anonymous */
	uint64_t dev, inode;   /* dev as of makedev(); 0, 0 if anonymous */
	const char *path;      /* owned by the map, raw as the kernel printed it; NULL if missing */
};

struct paths;

struct regions {
	struct region *region; /* sorted by start, never overlapping */
	size_t nr;
	struct paths *paths; /* the memory of the regions' paths */
	uint64_t torn_bytes; /* listed twice, because the map changed while it was read */
	/* VmSize before and after reading; 0 if not a target's */
	uint64_t size_before_bytes, size_after_bytes;
};

/*
 * Read the target's maps into M, which must be zeroed or released.  A map that changes meanwhile is
 * read again, three times at most, until its size is what the kernel says it is.  Returns 0, or -1
 * with E set and M released.
 */
int regions_read(struct regions *m, const struct target *t, struct err *e);

/* Free what M owns, but not M itself.  M may be zeroed or half-built. */
void regions_release(struct regions *m);
#define auto_regions __attribute__((cleanup(regions_release)))

/*
 * Return the mapped bytes, counted as in VmSize: x86-64's [vsyscall] is listed but does not belong
 * to the process.
 */
uint64_t regions_size(const struct regions *m);

/* Return the region that contains A, or NULL. */
const struct region *regions_find(const struct regions *m, raddr a);

/*
 * Parse one NUL-terminated line of /proc/PID/maps or smaps into R, whose path will point into LINE.
 * False if it is not such a line.
 */
bool region_parse(struct region *r, const char *line);

/* Functions that receive the regions while they are read. */
struct regions_listener {
	void (*begin)(void *arg); /* start again: earlier regions no longer count */
	/* not sorted yet if the map was torn */
	void (*region)(const struct region *r, void *arg);
	void *arg;
};

/*
 * Parse F, in the format of /proc/PID/maps, into M, which must be zeroed or released.  Lines are
 * not limited in length.  LISTENER may be NULL.  Returns 0, or -1 with E set and M released.
 */
int regions_parse(
	struct regions *m, FILE *f, const struct regions_listener *listener, struct err *e);
/* As regions_read(); LISTENER may be NULL. */
int regions_read_with(struct regions *m, const struct target *t,
	const struct regions_listener *listener, struct err *e);

/*
 * ---- kinds of memory ---------------------------------------------------------------------------
 */

/*
 * These functions are called several times for each region, of which a target may have 60,000: so
 * they are inline.
 */

/*
 * Return whether the region maps a file.  An inode of 0 shows nothing: System V gives it to the
 * first segment of an IPC namespace (ipc/shm.c newseg(): the inode is the shmid).
 */
static inline bool
region_has_file(const struct region *r)
{
	return r->inode || r->dev || (r->path && r->path[0] == '/');
}

/*
 * Return whether its name comes from the kernel.  A file can have any name, but these have no
 * inode.
 */
static inline bool
region_is_special(const struct region *r)
{
	return r->path && r->path[0] == '[' && !region_has_file(r);
}

/*
 * Return whether it is x86-64's legacy gate: above 2^63; it is listed in maps, but in no mm_struct
 * and so not in VmSize.
 */
static inline bool
region_is_vsyscall(const struct region *r)
{
	return region_is_special(r) && strcmp(r->path, "[vsyscall]") == 0;
}

static inline bool
region_is_heap(const struct region *r)
{
	return region_is_special(r) && strcmp(r->path, "[heap]") == 0;
}

/* Return whether the region is anonymous; the kernel may have given it a name. */
static inline bool
region_is_anonymous(const struct region *r)
{
	return !region_has_file(r) && (!r->path || region_is_special(r));
}

static inline bool
region_is_reserve(const struct region *r)
{
	return r->prot[0] == '-' && r->prot[1] == '-' && r->prot[2] == '-';
}

/*
 * Return whether the kernel maps it for itself: vdso and the like.  All other names in brackets are
 * in this list.
 */
static inline bool
region_is_kernels(const struct region *r)
{
	return region_is_special(r) && strncmp(r->path, "[heap]", 6) != 0 &&
		strncmp(r->path, "[stack", 6) != 0 && strncmp(r->path, "[anon:", 6) != 0;
}

/*
 * Return whether it can be malloc's: private memory without a file, or with one that stands for
 * huge pages.  Excludes the kernel's own mappings and those of devices.
 */
static inline bool
region_may_be_malloc(const struct region *r)
{
	return r->prot[3] == 'p' && !region_is_kernels(r) &&
		(region_is_anonymous(r) ||
			(r->path && strncmp(r->path, "/anon_hugepage", 14) == 0));
}

#endif
