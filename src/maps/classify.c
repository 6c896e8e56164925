/*
 * Assign each byte to a leaf.  The first match counts: the kernel's own mappings, devices, hugetlb,
 * shared memory, stacks, objects, malloc, files, and the rest by size.
 */
#include <config.h>

#include "maps/classify.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "os/answers.h"
#include "os/mapping.h"
#include "os/os.h"
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MIB (UINT64_C(1) << 20)

struct classifier {
	struct space *s;
	const struct target *t; /* NULL: a saved map, without its process */
	const struct spans *spans;
	size_t next_span;
	bool has_java, has_mimalloc;
	struct {
		struct {
			uint64_t dev;
			enum os_fs fs;
		} * v;
		size_t nr, room;
	} file_systems;
	/* the file last checked whose name looks deleted */
	struct {
		uint64_t dev, inode;
		bool is_deleted;
	} last;
};

/* The class of a region by itself. */
struct classify_look {
	enum leaf_kind kind;
	enum confidence confidence;
	int32_t object;
	pid_t tid;
	bool is_tmpfs; /* its file is in memory */
	bool is_continued;
	bool is_open; /* spans may give a better class */
};

static bool
classify_begins(const char *s, const char *with)
{
	/* Called for each file, with a dozen words: nearly all of them differ at once. */
	while (*with && *s == *with) {
		s++;
		with++;
	}
	return !*with;
}

/* ---- the names ---- */

/*
 * Names that begin with a bracket.  "[anon: glibc: ...]" comes from glibc 2.39+ with
 * glibc.mem.decorate_maps=1 (sysdeps/unix/sysv/linux/setvmaname.c); it shows what the region was
 * when it was made, so structures in memory take precedence.
 */
static const struct special {
	const char *prefix;
	enum leaf_kind kind;
	bool is_open;
	bool has_tid;
} specials[] = {
	{ "[heap]", LEAF_MAIN_HEAP, true },
	{ "[stack:", LEAF_THREAD_STACK, true, true }, /* from 3.4 to 4.4 */
	{ "[stack]", LEAF_MAIN_STACK, true },
	{ "[anon: glibc: malloc arena", LEAF_ARENA, true },
	{ "[anon: glibc: malloc", LEAF_CHUNK, true },
	{ "[anon: glibc: pthread stack: ", LEAF_THREAD_STACK, true, true },
	{ "[anon: glibc: pthread user stack: ", LEAF_THREAD_STACK, true, true },
	{ "[anon: glibc: unused stack", LEAF_CACHED_STACK, true },
	{ "[anon:", LEAF_NAMED, true },
	/* vdso, vvar, vvar_vclock, vsyscall, uprobes, sigpage ... */
	{ "[", LEAF_VDSO, false },
};

/* Return the class by the special name of R. */
static const struct special *
special_of(const struct region *r)
{
	const struct special *s = specials;

	while (!classify_begins(r->path, s->prefix))
		s++; /* the last entry matches all */
	return s;
}

static bool
by_special_name(struct classify_look *v, const struct region *r)
{
	const struct special *s;

	if (!region_is_special(r))
		return false;
	s = special_of(r);
	v->kind = s->kind;
	v->confidence = CONFIDENCE_EXACT;
	v->is_open = s->is_open;
	if (s->has_tid)
		v->tid = (pid_t)strtol(r->path + strlen(s->prefix), NULL, 10);
	/* The inaccessible tail of a named arena is its reserve. */
	if (region_is_reserve(r) && s->kind == LEAF_ARENA)
		v->kind = LEAF_ARENA_RESERVE;
	return true;
}

static bool
is_device_name(const char *path)
{
	static const char *const devices[] = { "anon_inode:", "/[aio]",
		"/dmabuf:", "socket:", "/drm mm object", "/i915" };

	if (classify_begins(path, "/dev/"))
		return !classify_begins(path, "/dev/shm/") && !classify_begins(path, "/dev/zero") &&
			!classify_begins(path, "/dev/hugepages/");
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (classify_begins(path, devices[i]))
			return true;
	return false;
}

/* ---- files ---- */

/* Return the file system by a name, if the kernel cannot be asked. */
static enum os_fs
fs_by_name(const struct region *r)
{
	if (classify_begins(r->path, "/anon_hugepage") ||
		classify_begins(r->path, "/dev/hugepages/"))
		return OS_FS_HUGETLB;
	if (classify_begins(r->path, "/SYSV") || classify_begins(r->path, "/memfd:") ||
		classify_begins(r->path, "/dev/") || classify_begins(r->path, "[anon_shmem:"))
		return OS_FS_TMPFS;
	return OS_FS_OTHER;
}

/*
 * Return the file system of device DEV, from the kernel.  Asked once for each device: a server may
 * map 60,000 files.
 */
static enum os_fs
ask_fs(struct classifier *c, const struct region *r)
{
	for (size_t i = 0; i < c->file_systems.nr; i++)
		if (c->file_systems.v[i].dev == r->dev)
			return c->file_systems.v[i].fs;
	if (!array_add(&c->file_systems))
		return OS_FS_UNKNOWN;
	c->file_systems.v[c->file_systems.nr - 1].dev = r->dev;
	return c->file_systems.v[c->file_systems.nr - 1].fs =
		       os_mapping_fs(c->t, r->start, r->end, r->dev);
}

static enum os_fs
fs_of(struct classifier *c, const struct region *r)
{
	enum os_fs fs = OS_FS_OTHER;

	if (!c->t)
		fs = OS_FS_UNKNOWN;
	else if (!major(r->dev)) /* not a disk */
		fs = ask_fs(c, r);
	return fs == OS_FS_UNKNOWN ? fs_by_name(r) : fs;
}

/*
 * Return whether the file of R is missing under its name: the kernel appends " (deleted)" to a
 * name, but an existing file may also be called that.
 */
static bool
is_not_there(const struct classifier *c, const struct region *r)
{
	auto_free char *name = NULL;
	auto_fd int fd = -1;
	struct stat st;
	struct err e;

	if (!c->t)
		return true;
	if (asprintf(&name, "root%s", r->path) < 0) {
		name = NULL;
		return true;
	}
	if (!os_file_answers(c->t, name, r->dev))
		return true;
	fd = os_proc_open(c->t, name, O_PATH, &e);
	return fd < 0 || fstat(fd, &st) < 0 || st.st_dev != r->dev || st.st_ino != r->inode;
}

/* Return whether the file of R is deleted; check a file that is mapped many times only once. */
static bool
is_deleted(struct classifier *c, const struct region *r)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(r->path);

	if (len < sizeof mark || strcmp(r->path + len - (sizeof mark - 1), mark) != 0)
		return false;
	if (c->last.inode != r->inode || c->last.dev != r->dev) {
		c->last.dev = r->dev;
		c->last.inode = r->inode;
		c->last.is_deleted = is_not_there(c, r);
	}
	return c->last.is_deleted;
}

/*
 * Return whether R is memory of memfd_secret(), which the kernel counts in RssFile: its file system
 * has no queryable name and no device (mm/secretmem.c).
 */
static bool
is_secret(const struct region *r)
{
	return !major(r->dev) && classify_begins(r->path, "/secretmem");
}

static enum leaf_kind
shm_kind(const struct region *r)
{
	if (classify_begins(r->path, "/SYSV"))
		return LEAF_SHM_SYSV;
	/* ZGC maps its heap several times (zPhysicalMemoryBacking_linux.cpp, JDK 11 to 24). */
	if (classify_begins(r->path, "/memfd:java_heap"))
		return LEAF_SHM_JAVA;
	if (classify_begins(r->path, "/memfd:"))
		return LEAF_SHM_MEMFD;
	if (classify_begins(r->path, "/dev/zero") || classify_begins(r->path, "[anon_shmem:"))
		return LEAF_SHM_ANON;
	return classify_begins(r->path, "/dev/shm/") ? LEAF_SHM_POSIX : LEAF_SHM_TMPFS;
}

/* Return whether ld.so has made A read-only after writing to it. */
static bool
is_relro(const struct object *o, raddr a)
{
	uint64_t vaddr = a.v - image_bias(o->image);

	for (size_t i = 0; i < image_nr_phdrs(o->image); i++) {
		const Elf64_Phdr *p = image_phdr(o->image, i);

		if (p->p_type == PT_GNU_RELRO && vaddr + 4096 > p->p_vaddr &&
			vaddr < p->p_vaddr + p->p_memsz)
			return true;
	}
	return false;
}

/*
 * As is_relro(), without the object's headers: a read-only part that is followed by the writable
 * part both in memory and in the file.
 */
static bool
is_like_relro(const struct region *r, const struct region *end)
{
	const struct region *next = r + 1;

	return next < end && next->prot[1] == 'w' && next->start.v == r->end.v &&
		next->dev == r->dev && next->inode == r->inode && r->offset_bytes &&
		next->offset_bytes == r->offset_bytes + (r->end.v - r->start.v);
}

/* Return which part of an object a mapping of its file is. */
static enum leaf_kind
object_part(const struct object *o, const struct region *r, const struct regions *m)
{
	enum leaf_kind part;

	if (r->prot[2] == 'x')
		part = LEAF_SO_TEXT;
	else if (r->prot[1] == 'w')
		part = LEAF_SO_DATA;
	else if (r->prot[0] != 'r')
		part = LEAF_SO_PADDING;
	else
		part = (o->image ? is_relro(o, r->start) : is_like_relro(r, m->region + m->nr))
			? LEAF_SO_RELRO
			: LEAF_SO_RODATA;
	return o->is_executable ? part - LEAF_SO_TEXT + LEAF_EXE_TEXT : part;
}

static bool
by_object(struct classifier *c, struct classify_look *v, const struct region *r)
{
	const struct object *o = objects_at(&c->s->process->objects, r->start);

	if (!o || strcmp(o->path, r->path) != 0)
		return false;
	v->kind = object_part(o, r, &c->s->process->maps);
	v->confidence = o->image ? CONFIDENCE_VERIFIED : CONFIDENCE_GUESS;
	v->object = (int32_t)(o - c->s->process->objects.v);
	return true;
}

static void
by_file(struct classifier *c, struct classify_look *v, const struct region *r)
{
	enum os_fs fs = fs_of(c, r);

	v->is_tmpfs = fs == OS_FS_TMPFS;
	if (by_object(c, v, r))
		return;
	v->confidence = CONFIDENCE_EXACT;
	if (is_device_name(r->path)) {
		v->kind = LEAF_DEVICE;
		v->confidence = CONFIDENCE_GUESS;
	} else if (fs == OS_FS_HUGETLB) {
		v->kind = LEAF_HUGETLB;
	} else if (v->is_tmpfs) {
		/* Executable without an ELF header: code that the program writes itself. */
		v->kind = r->prot[2] == 'x' ? LEAF_JIT : shm_kind(r);
	} else if (is_secret(r)) {
		v->kind = LEAF_SHM_MEMFD;
	} else if (is_deleted(c, r)) {
		v->kind = LEAF_FILE_DELETED;
	} else {
		v->kind = r->prot[3] == 's' ? LEAF_FILE_SHARED : LEAF_FILE_PRIVATE;
	}
}

/* ---- memory without a name ---- */

enum leaf_kind
leaf_of_size(uint64_t bytes)
{
	if (bytes < MIB)
		return LEAF_ANON_SMALL;
	return bytes < 64 * MIB ? LEAF_ANON_MEDIUM : LEAF_ANON_LARGE;
}

static void
by_shape(const struct classifier *c, struct classify_look *v, const struct region *r)
{
	uint64_t size = r->end.v - r->start.v;

	v->is_open = true;
	v->confidence = CONFIDENCE_GUESS;
	/* Addresses that the Go runtime requests for its arenas (runtime/malloc.go, arenaHint). */
	if (r->start.v >> 32 == 0xc0 && r->prot[1] == 'w') {
		v->kind = LEAF_GO_HEAP;
		return;
	}
	/* HotSpot keeps its heap below 32 GiB to have compressed pointers. */
	if (c->has_java && r->start.v < UINT64_C(32) << 30 && r->prot[1] == 'w') {
		v->kind = LEAF_JAVA_HEAP;
		return;
	}
	/*
	 * mimalloc requests addresses that the kernel does not choose itself
	 * (mi_os_get_aligned_hint, src/os.c; not for more than 1 GiB at once).  Other allocators
	 * take what the kernel gives them, next to the program's own mappings.
	 */
	if (c->has_mimalloc && r->start.v >= UINT64_C(2) << 40 && r->start.v < UINT64_C(30) << 40 &&
		r->prot[1] == 'w') {
		v->kind = LEAF_MIMALLOC_HEAP;
		return;
	}
	v->confidence = CONFIDENCE_EXACT;
	if (r->prot[2] == 'x')
		v->kind = LEAF_JIT;
	else
		v->kind = region_is_reserve(r) ? LEAF_RESERVE : leaf_of_size(size);
}

static struct classify_look
look_at(struct classifier *c, const struct region *r)
{
	struct classify_look v = { .object = -1 };

	if (by_special_name(&v, r))
		return v;
	/* A private mapping of /dev/zero has no file pages. */
	if (region_has_file(r) && r->path && strcmp(r->path, "/dev/zero") != 0)
		by_file(c, &v, r);
	else
		by_shape(c, &v, r);
	return v;
}

/* ---- leaves ---- */

static int
classify_add_leaf(struct classifier *c, uint32_t region, uint64_t start, uint64_t end,
	const struct classify_look *v, int32_t arena)
{
	struct leaf *l = array_add(&c->s->leaves);

	if (!l)
		return -1;
	l->start.v = start;
	l->end.v = end;
	l->region = region;
	l->kind = (uint8_t)v->kind;
	l->confidence = (uint8_t)v->confidence;
	l->object = v->object;
	l->tid = v->tid;
	l->is_tmpfs = v->is_tmpfs;
	l->is_continued = v->is_continued;
	l->arena = arena;
	return 0;
}

/* Return whether SPAN can apply to a region with R's protection. */
static bool
classify_fits(const struct span *span, const struct region *r)
{
	return span->kind != LEAF_ARENA_RESERVE || region_is_reserve(r);
}

static struct classify_look
look_of(const struct span *span, const struct region *r)
{
	struct classify_look look = {
		.kind = span->kind,
		.confidence = span->confidence,
		.object = span->object,
		.tid = span->tid,
		.is_continued = span->start.v < r->start.v,
	};

	if (span->kind == LEAF_SO_BSS && region_is_reserve(r))
		look.kind = LEAF_SO_PADDING;
	else if (span->kind == LEAF_EXE_BSS && region_is_reserve(r))
		look.kind = LEAF_EXE_PADDING;
	return look;
}

/* Cut region I at the spans in it. */
static int
classify_cut(struct classifier *c, uint32_t i, const struct classify_look *v)
{
	const struct region *r = &c->s->process->maps.region[i];
	uint64_t at = r->start.v;
	size_t k = c->next_span;

	for (; k < c->spans->nr && c->spans->v[k].start.v < r->end.v; k++) {
		const struct span *span = &c->spans->v[k];
		struct classify_look here = look_of(span, r);
		uint64_t start = span->start.v > at ? span->start.v : at;
		uint64_t end = span->end.v < r->end.v ? span->end.v : r->end.v;

		if (!classify_fits(span, r))
			continue;
		if (start > at && classify_add_leaf(c, i, at, start, v, -1) < 0)
			return -1;
		if (classify_add_leaf(c, i, start, end, &here, span->arena) < 0)
			return -1;
		at = end;
	}
	return at < r->end.v ? classify_add_leaf(c, i, at, r->end.v, v, -1) : 0;
}

static bool
is_java(const struct objects *o)
{
	for (size_t i = 0; i < o->nr; i++) {
		const char *name = strrchr(o->v[i].path, '/');

		if (name && classify_begins(name, "/libjvm.so"))
			return true;
	}
	return false;
}

static bool
is_mimalloc(const struct object *o)
{
	const char *name = o ? object_allocator(o) : NULL;

	return name && strcmp(name, "mimalloc") == 0;
}

static int
classify_all(struct classifier *c)
{
	for (uint32_t i = 0; i < c->s->process->maps.nr; i++) {
		const struct region *r = &c->s->process->maps.region[i];
		struct classify_look v;

		if (region_is_vsyscall(r)) /* not process memory: not in VmSize */
			continue;
		v = look_at(c, r);
		while (c->next_span < c->spans->nr && c->spans->v[c->next_span].end.v <= r->start.v)
			c->next_span++;
		if ((v.is_open ? classify_cut(c, i, &v)
			       : classify_add_leaf(c, i, r->start.v, r->end.v, &v, -1)) < 0)
			return -1;
	}
	return 0;
}

int
space_classify(struct space *s, const struct spans *spans, const struct target *t, struct err *e)
{
	struct classifier c = {
		.s = s,
		.t = t,
		.spans = spans,
		.has_java = is_java(&s->process->objects),
		.has_mimalloc = is_mimalloc(s->malloc_object),
	};
	int failed = array_reserve(&s->leaves, s->process->maps.nr + spans->nr) < 0 ||
		classify_all(&c) < 0;

	free(c.file_systems.v);
	return failed ? err_set(e, ENOMEM, "cannot keep what is where") : 0;
}
