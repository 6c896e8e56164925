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
	uint64_t dev, inode;   /* dev as makedev() makes it; 0, 0 if anonymous */
	const char *path;      /* owned by the map, raw as the kernel wrote it; NULL if none */
};

struct paths;

struct regions {
	struct region *region; /* sorted by start, never overlapping */
	size_t nr;
	struct paths *paths; /* what the regions' paths point into */
	uint64_t torn_bytes; /* listed twice, because the map changed while it was read */
	uint64_t size_before_bytes, size_after_bytes; /* VmSize around it; 0 if not a target's */
};

/*
 * Read the target's maps into M, which must be zeroed or released.  A map that changes meanwhile is
 * read again, three times at most, until its size is what the kernel says it is.  Returns 0, or -1
 * with E set and M released.
 */
int regions_read(struct regions *m, const struct target *t, struct err *e);

/* Free what M owns, not M itself.  Safe on a zeroed or half-built map. */
void regions_release(struct regions *m);
#define auto_regions __attribute__((cleanup(regions_release)))

/* Bytes mapped, as VmSize counts: x86-64's [vsyscall] is listed but is not the process's. */
uint64_t regions_size(const struct regions *m);
bool region_is_vsyscall(const struct region *r);

/* The region that holds A, or NULL. */
const struct region *regions_find(const struct regions *m, raddr a);

/*
 * Read one NUL-terminated line as /proc/PID/maps and smaps have it into R, whose path will point
 * into LINE.  False if it is not such a line.
 */
bool region_parse(struct region *r, const char *line);

/* Functions that receive the regions while they are read. */
struct regions_listener {
	void (*begin)(void *arg); /* start again: earlier regions no longer count */
	/* not sorted yet if the map is torn */
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

/* ---- what kind of memory it is --------------------------------------------------------------- */

/* These are asked of each region several times, and there may be 60,000: so they are inline. */

/*
 * Whether the region maps a file.  An inode of 0 is no sign: System V gives it to the first segment
 * of an IPC namespace (ipc/shm.c newseg(): the inode is the shmid).
 */
static inline bool
region_has_file(const struct region *r)
{
	return r->inode || r->dev || (r->path && r->path[0] == '/');
}

/* Whether its name is the kernel's own.  A file can be called anything, but these have no inode. */
static inline bool
region_is_special(const struct region *r)
{
	return r->path && r->path[0] == '[' && !region_has_file(r);
}

static inline bool
region_is_heap(const struct region *r)
{
	return region_is_special(r) && strcmp(r->path, "[heap]") == 0;
}

/* Whether the region belongs to no file; the kernel may have given it a name. */
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
 * Whether the kernel maps it for itself: vdso and the like.  All other names in brackets are in
 * this list.
 */
static inline bool
region_is_kernels(const struct region *r)
{
	return region_is_special(r) && strncmp(r->path, "[heap]", 6) != 0 &&
		strncmp(r->path, "[stack", 6) != 0 && strncmp(r->path, "[anon:", 6) != 0;
}

/*
 * Whether malloc can have it: private memory without a file, or with one that stands for huge
 * pages. The kernel's own mappings and those of devices are excluded.
 */
static inline bool
region_may_be_malloc(const struct region *r)
{
	return r->prot[3] == 'p' && !region_is_kernels(r) &&
		(region_is_anonymous(r) ||
			(r->path && strncmp(r->path, "/anon_hugepage", 14) == 0));
}

#endif
