/*
 * maps: the target's address space: the mappings as the kernel lists them, what each stretch of
 * them is for, and how much of it is resident.
 * May use: elf/, os/, base/.
 */
#ifndef MEMDIAG_MAPS_MAPS_H
#define MEMDIAG_MAPS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "os/os.h"

/* ---- regions: one line of /proc/PID/maps each ------------------------------------------------ */

struct region {
	raddr start, end;	/* [start, end) */
	char prot[5];		/* "rwxp", NUL-terminated; the last is 'p' or 's' */
	uint64_t offset_bytes;	/* into the file; 0 if anonymous */
	uint64_t dev, inode;	/* dev as makedev() makes it; 0, 0 if anonymous */
	const char *path;	/* owned by the map, raw as the kernel wrote it; NULL if none */
};

struct maps {
	struct region *region;	/* sorted by start, never overlapping */
	size_t nr;
	char *text;		/* what the paths point into */
	uint64_t torn_bytes;	/* told twice, because the map changed while it was read */
};

/*
 * Parse F, in the format of /proc/PID/maps, into M, which must be zeroed or released.  Lines are
 * not limited in length.  Returns 0, or -1 with E set and M released.
 */
int maps_parse(struct maps *m, FILE *f, struct err *e);

/*
 * Read the target's maps.  As maps_parse(); a map that changes meanwhile is read again, three times
 * at most, until its size is what the kernel says it is.
 */
int maps_read(struct maps *m, const struct target *t, struct err *e);

/* Free what M owns, not M itself.  Safe on a zeroed or half-built map. */
void maps_release(struct maps *m);
#define auto_maps __attribute__((cleanup(maps_release)))

/* Bytes mapped, as VmSize counts: x86-64's [vsyscall] is listed but is not the process's. */
uint64_t maps_size(const struct maps *m);
bool region_is_vsyscall(const struct region *r);

/* The region that holds A, or NULL. */
const struct region *maps_find(const struct maps *m, raddr a);

/* ---- objects: the ELF files that are mapped --------------------------------------------------- */

struct image;

struct object {
	struct image *image;	/* owned by the list */
	raddr start, end;	/* all of its segments, bss included */
	const char *path;	/* as in maps; owned by the map the list was made from */
	bool is_executable;	/* the program itself */
	bool is_loader;		/* ld.so */
	bool is_libc;		/* DT_SONAME is libc.so.6 */
};

struct objects {
	struct object *v;	/* sorted by start */
	size_t nr, room;
};

/*
 * Find the ELF objects in M: every file mapping at offset 0 that begins with an ELF header.  An
 * object that cannot be read is left out.  O must be zeroed or released and must not outlive M.
 */
int objects_find(struct objects *o, const struct maps *m, const struct target *t, struct err *e);
void objects_release(struct objects *o);
#define auto_objects __attribute__((cleanup(objects_release)))

/* The object that A lies in, or NULL. */
const struct object *objects_at(const struct objects *o, raddr a);

/* ---- arenas: where glibc malloc keeps its heaps ------------------------------------------------ */

/* One 64 MiB-aligned piece of a thread arena (struct heap_info, malloc/arena.c). */
struct arena_heap {
	raddr start;		/* of the heap_info */
	uint64_t size_bytes;	/* in use by the arena: heap_info.size */
	uint64_t mapped_bytes;	/* made readable and writable: heap_info.mprotect_size */
};

struct arena {
	raddr addr;		/* struct malloc_state; its mutex is the int at offset 0 */
	bool is_main;
	struct arena_heap *heap;	/* owned; none for the main arena */
	size_t nr_heaps;
	pid_t *tid;		/* owned; threads attached to it, as far as they could be told */
	size_t nr_tids;
};

/*
 * The arenas in the order of the ring that starts at main_arena, which is malloc_info's order.
 */
struct arenas {
	struct arena *v;
	size_t nr, room;
	uint64_t heap_max_bytes;	/* HEAP_MAX_SIZE: 64 MiB on 64 bit */
	bool is_ring_closed;	/* false: memory is damaged or changed; what is here may lack some */
	int64_t tls_offset_bytes;	/* from a thread's robust list head to the pointer to its
					 * arena; 0 if that cannot be told */
};

/*
 * Find main_arena by the shape of its bins in libc's writable data, then the ring and the heaps
 * (malloc/malloc.c struct malloc_state, 2.17 to 2.44).  Nothing is stopped.  ERR_UNSUPPORTED when
 * there is no glibc malloc or its layout is not known.
 */
int arenas_find(struct arenas *a, const struct target *t, const struct maps *m,
	const struct objects *o, struct err *e);
void arenas_release(struct arenas *a);
#define auto_arenas __attribute__((cleanup(arenas_release)))

/*
 * Tell which thread uses which arena by the pointer in its TLS, for every thread of the target
 * (at most MAX_THREADS are looked at).
 */
int arenas_find_threads(
	struct arenas *a, const struct target *t, size_t max_threads, struct err *e);

/* The arena thread TID uses, read from its TLS; {0} if it has none yet or it cannot be told. */
raddr arenas_of_thread(const struct arenas *a, const struct target *t, pid_t tid);

/* ---- threads: where their stacks are ----------------------------------------------------------- */

struct thread_stack {
	pid_t tid;		/* 0: its thread has ended, libc keeps it for the next one */
	raddr start, end;	/* all of it, the guard included */
	uint64_t guard_bytes;	/* at its low end; 0 for the main thread, whose guard is no mapping */
	raddr sp;		/* between the guard and here it is unused; 0 if not known */
	bool is_main;
	bool is_guess;		/* told by the mapping around SP; else libc or the kernel says so */
};

struct thread_stacks {
	struct thread_stack *v;	/* sorted by start, never overlapping */
	size_t nr, room;
};

/*
 * Find the stacks of T's threads, and of ended threads if libc keeps them (glibc's
 * pthread_create() does for up to 40 MiB), into S, which must be zeroed or released.  A stack that
 * the program itself made lies where it made it, perhaps in malloc's heap.  Nothing is stopped;
 * without WANT_SP, sp is known only where it was needed.  A stack that cannot be told is left out.
 */
int thread_stacks_find(struct thread_stacks *s, const struct target *t, const struct maps *m,
	const struct objects *o, bool want_sp, struct err *e);
void thread_stacks_release(struct thread_stacks *s);
#define auto_thread_stacks __attribute__((cleanup(thread_stacks_release)))

#endif
