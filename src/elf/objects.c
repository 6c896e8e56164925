#include <config.h>

#include "elf/objects.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "os/os.h"
#include "os/proc.h"

/* Maximum distance from an object's first mapping to its code, in mappings. */
#define LOOK_AHEAD 16

static bool
is_same_file(const struct region *a, const struct region *b)
{
	return a->inode == b->inode && a->dev == b->dev;
}

/*
 * Return whether region I looks like the start of a loaded object: the beginning of a file that is
 * also mapped executable shortly after.  A server may have 60,000 data files mapped; reading each
 * one's first bytes would be slow, and would pull in pages that the target has not touched.
 */
static bool
is_candidate(const struct regions *m, size_t i)
{
	const struct region *first = &m->region[i];

	if (!region_has_file(first) || first->offset_bytes || !first->path)
		return false;
	for (size_t j = i; j < m->nr && j < i + LOOK_AHEAD; j++) {
		const struct region *r = &m->region[j];

		if (!region_has_file(r))
			continue;
		if (!is_same_file(first, r))
			return false;
		if (r->prot[2] == 'x')
			return true;
		if (j > i && !r->offset_bytes) /* another mapping of the start of the same file */
			return false;
	}
	return false;
}

/* The values that the kernel passed to the program when it started; 0 for missing ones. */
struct auxv {
	raddr phdr; /* in the program */
	raddr base; /* of ld.so */
	raddr vdso;
};

static struct auxv
read_auxv(const struct target *t)
{
	auto_text struct text text = { 0 };
	struct auxv a = { 0 };
	uint64_t first;
	size_t word;
	struct err e;

	if (os_proc_read(t, 0, "auxv", &text, &e) < 0 || text.len < sizeof first)
		return a;
	/*
	 * Pairs of words of the target.  Types are small, so a large value is two words of 32 bits.
	 */
	memcpy(&first, text.v, sizeof first);
	word = first > UINT32_MAX ? 4 : 8;
	for (size_t at = 0; at + 2 * word <= text.len; at += 2 * word) {
		uint64_t type = 0, value = 0;

		memcpy(&type, text.v + at, word);
		memcpy(&value, text.v + at + word, word);
		if (type == AT_PHDR)
			a.phdr.v = value;
		else if (type == AT_BASE)
			a.base.v = value;
		else if (type == AT_SYSINFO_EHDR)
			a.vdso.v = value;
	}
	return a;
}

/*
 * Return whether SONAME is a name of ld.so on the architectures of glibc (sysdeps, shlib-versions).
 */
static bool
is_loader_name(const char *soname)
{
	return strncmp(soname, "ld-linux", 8) == 0 || strncmp(soname, "ld64.so", 7) == 0 ||
		strncmp(soname, "ld.so", 5) == 0;
}

/*
 * Return DT_SONAME; if it cannot be read, as in a core file without its files, the file name, which
 * is usually the same.
 */
static const char *
objects_name_of(const struct image *image, const char *path)
{
	const char *soname = image_soname(image), *base = strrchr(path, '/');

	return soname || !base ? soname : base + 1;
}

/*
 * Return whether SONAME is libc's.  Until 2.33 the file is named after its release (Makerules,
 * libc-$(version).so), and libc.so.6 is a link to it.
 */
static bool
is_libc_name(const char *soname)
{
	return strcmp(soname, "libc.so.6") == 0 || strncmp(soname, "libc-2.", 7) == 0;
}

/*
 * Return whether a program contains glibc, and its malloc: no other malloc has a malloc_info(),
 * which comes from the same file as malloc (malloc/malloc.c).
 */
static bool
has_glibc(const struct image *image)
{
	struct image_symbol malloc, alias, info;

	return image_is_static(image) && image_find(image, "malloc", &malloc) == 0 &&
		image_find(image, "__libc_malloc", &alias) == 0 && malloc.addr.v == alias.addr.v &&
		image_find(image, "malloc_info", &info) == 0;
}

static void
objects_describe(struct object *o, const struct region *r, const struct auxv *a)
{
	const char *soname = objects_name_of(o->image, r->path);

	image_extent(o->image, &o->start, &o->end);
	o->path = r->path;
	o->dev = r->dev;
	o->inode = r->inode;
	o->is_executable = raddr_in(a->phdr, o->start, o->end);
	/* AT_BASE is missing when the user started ld.so itself, with the program as argument. */
	o->is_loader =
		a->base.v ? raddr_in(a->base, o->start, o->end) : soname && is_loader_name(soname);
	o->is_libc = (soname && is_libc_name(soname)) || has_glibc(o->image);
}

static int
objects_by_start(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return x->start.v < y->start.v ? -1 : x->start.v > y->start.v;
}

/*
 * Return the image of the object that begins with R, from KNOWN if possible; NULL if it cannot be
 * opened.
 */
static struct image *
image_of(const struct region *r, const struct target *t, const struct objects *known,
	struct image_files *files)
{
	const struct object *o = known ? objects_at(known, r->start) : NULL;
	struct image *image = NULL;
	struct err ignored;

	if (o && o->start.v == r->start.v && o->inode == r->inode && o->dev == r->dev &&
		strcmp(o->path, r->path) == 0)
		return image_share(o->image);
	image_open(&image, t, r, files, &ignored);
	return image;
}

int
objects_find(struct objects *o, const struct regions *m, const struct target *t,
	const struct objects *known, struct image_files *files, struct err *e)
{
	struct auxv a = read_auxv(t);

	*o = (struct objects){ .vdso = a.vdso };
	for (size_t i = 0; i < m->nr; i++) {
		const struct region *r = &m->region[i];
		struct image *image = is_candidate(m, i) ? image_of(r, t, known, files) : NULL;
		struct object *found;

		if (!image)
			continue;
		found = array_add(o);
		if (!found) {
			image_free(image);
			objects_release(o);
			return err_set(e, ENOMEM, "cannot keep the list of objects");
		}
		found->image = image;
		objects_describe(found, r, &a);
	}
	/*
	 * Sort the objects and clip their extents: a damaged header may claim any extent, but no
	 * object reaches into the next.
	 */
	if (o->nr)
		qsort(o->v, o->nr, sizeof *o->v, objects_by_start);
	for (size_t i = 1; i < o->nr; i++)
		if (o->v[i - 1].end.v > o->v[i].start.v)
			o->v[i - 1].end = o->v[i].start;
	return 0;
}

/* ---- without a process ---- */

/* Return whether PATH is a file in memory, whose code a program writes itself. */
static bool
is_file_in_memory(const char *path)
{
	return strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/SYSV", 5) == 0 ||
		strncmp(path, "/dev/", 5) == 0;
}

/* Return the end of the last mapping of the object that begins with region FIRST. */
static raddr
end_of_object(const struct regions *m, size_t first)
{
	const struct region *last = &m->region[first];

	for (size_t i = first + 1; i < m->nr; i++) {
		const struct region *r = &m->region[i];

		if (region_has_file(r) && is_same_file(last, r) && r->offset_bytes &&
			strcmp(r->path ? r->path : "", last->path) == 0)
			last = r;
		else if (region_has_file(r) || r->path || r->start.v != m->region[i - 1].end.v)
			break;
	}
	return last->end;
}

static const char *
objects_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Mark the program: the object before [heap], which brk puts after its bss; else the first one
 * without the name of a library.
 */
static void
infer_executable(struct objects *o, const struct regions *m)
{
	const struct object *below = NULL;
	struct object *found = NULL;

	for (size_t i = 0; i < m->nr && !below; i++)
		if (region_is_heap(&m->region[i]))
			for (size_t k = 0; k < o->nr && o->v[k].start.v < m->region[i].start.v; k++)
				below = &o->v[k];
	for (size_t i = 0; i < o->nr && !found; i++)
		if (!strstr(objects_base_name(o->v[i].path), ".so") &&
			(!below || below == &o->v[i]))
			found = &o->v[i];
	if (found)
		found->is_executable = true;
}

int
objects_infer(struct objects *o, const struct regions *m, struct err *e)
{
	*o = (struct objects){ 0 };
	for (size_t i = 0; i < m->nr; i++) {
		const struct region *r = &m->region[i];
		struct object *found;

		if (r->prot[3] != 'p' || !is_candidate(m, i) || is_file_in_memory(r->path))
			continue;
		found = array_add(o);
		if (!found) {
			objects_release(o);
			return err_set(e, ENOMEM, "cannot keep the list of objects");
		}
		*found = (struct object){
			.start = r->start,
			.end = end_of_object(m, i),
			.path = r->path,
			.dev = r->dev,
			.inode = r->inode,
			.is_loader = is_loader_name(objects_base_name(r->path)),
			.is_libc = is_libc_name(objects_base_name(r->path)),
		};
	}
	infer_executable(o, m);
	return 0;
}

void
objects_release(struct objects *o)
{
	for (size_t i = 0; i < o->nr; i++)
		image_free(o->v[i].image);
	free(o->v);
	*o = (struct objects){ 0 };
}

const struct object *
objects_at(const struct objects *o, raddr a)
{
	size_t low = 0, high = o->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct object *found = &o->v[mid];

		if (a.v < found->start.v)
			high = mid;
		else if (a.v >= found->end.v)
			low = mid + 1;
		else
			return found;
	}
	return NULL;
}

const struct object *
objects_defining(const struct objects *o, const char *name)
{
	struct image_symbol symbol;

	for (size_t i = 0; i < o->nr; i++)
		if (o->v[i].image && image_find(o->v[i].image, name, &symbol) == 0)
			return &o->v[i];
	return NULL;
}
