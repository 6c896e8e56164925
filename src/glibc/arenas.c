/*
 * glibc malloc's arenas, found in memory alone: distributions strip main_arena's name, and offsets
 * kept by version would be wrong for every distribution that backports.  One part of struct
 * malloc_state has never changed, the part around its bins (malloc/malloc.c, 2.15 to 2.44):
 *
 *	arena ->  +---------------------------+
 *	          | mutex, flags              |
 *		  | fast bins, if any ...     |  their size differs between releases
 *	          | top, last_remainder       |
 *	bins  ->  | 127 x { fd, bk }          |  an empty bin points to itself, seen as a chunk
 *	          | binmap, 16 bytes          |
 *	next  ->  | next arena, in a ring     |
 *	          +---------------------------+
 */
#include <config.h>

#include "glibc/arenas.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "base/word.h"
#include "elf/image.h"
#include "elf/link-map.h"
#include "elf/symbols.h"
#include "glibc/arena-heaps-priv.h"
#include "glibc/arena-threads-priv.h"
#include "glibc/glibc-priv.h"
#include "os/clock.h"
#include "os/core.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NR_BINS 127
/* A thread may be moving a chunk into or out of a bin during the read. */
#define NR_BINS_WANTED 100
#define BINMAP_BYTES 16
#define PAGE_BYTES 4096
/* libc has 20 KiB; only a damaged program header gives more. */
#define DATA_MAX_BYTES (UINT64_C(1) << 20)
/* At most 0x70 so far; later releases may differ. */
#define BINS_OFFSET_MAX 0xc0
#define NR_HINTS 8
/* glibc's own limit is 8 for each CPU. */
#define ARENAS_MAX 16384
#define MIB (UINT64_C(1) << 20)
/* Maximum growth of a heap since the mappings were listed. */
#define BRK_MORE_BYTES (1024 * MIB)

/* The differences between releases and machines. */
static const struct arenas_layout {
	unsigned int word_bytes;
	unsigned int bins_offset; /* in struct malloc_state */
} layouts[] = {
	{ 8, 0x70 }, /* 2.26's branch to 2.42 */
	{ 8, 0x68 }, /* up to 2.26.0 */
	{ 8, 0x18 }, /* since 2.43, which has no fast bins */
	{ 4, 0x40 }, /* the same releases for i386 */
	{ 4, 0x3c }, /* 2.26.0: 11 fast bins, because the alignment became 16 */
	{ 4, 0x38 },
	{ 4, 0x10 },
};

/*
 * HEAP_MAX_SIZE (malloc/arena.c).  From 2.35 to 2.41 with glibc.malloc.hugetlb=2 it is four times
 * the size of a huge page, even if no huge pages exist.
 */
static const struct heap_max {
	unsigned int word_bytes;
	uint64_t bytes;
} heap_maxes[] = { { 8, 64 * MIB }, { 8, 8 * MIB }, { 8, 4096 * MIB }, { 4, MIB }, { 4, 8 * MIB } };

/* The mappings, listed once more, to find those that are newer than the list we were given. */
struct younger {
	struct regions maps;
	bool is_listed;
};

static void
younger_release(struct younger *y)
{
	regions_release(&y->maps);
}
#define auto_younger __attribute__((cleanup(younger_release)))

struct arenas_search {
	const struct target *t;
	const struct regions *m;
	struct younger *younger;
	uint64_t deadline_ns; /* 0: no deadline */
	unsigned int word_bytes;
	raddr brk; /* the end of [heap] when the mappings were listed */
	/* libc's data, and our copy of them */
	raddr data;
	char *copy;
	size_t size_bytes;
	/* the values being tried */
	uint64_t bins_at; /* offset of main_arena.bins in the data */
	uint64_t bins_offset;
	uint64_t heap_max_bytes;
};

static uint64_t
arenas_word_at(const struct arenas_search *s, const char *buf, uint64_t offset)
{
	return word_from(buf + offset, s->word_bytes);
}

/* Return the distance from bins to next. */
static uint64_t
next_offset(const struct arenas_search *s)
{
	return (uint64_t)NR_BINS * 2 * s->word_bytes + BINMAP_BYTES;
}

/* Return the minimum offset of the bins: mutex and flags, top and last_remainder precede them. */
static unsigned int
bins_offset_min(const struct arenas_search *s)
{
	return 2 * sizeof(int32_t) + 2 * s->word_bytes;
}

/* ---- heaps ---- */

static raddr
heap_of(const struct arenas_search *s, raddr a)
{
	return (raddr){ a.v & ~(s->heap_max_bytes - 1) };
}

static int
not_a_heap(raddr at, struct err *e)
{
	return err_set(e, EFAULT, "what is at " PRIraddr " is no heap of malloc", at.v);
}

static bool
has_malloc_memory(const struct regions *m, raddr at)
{
	const struct region *r = regions_find(m, at);

	return r && region_may_be_malloc(r);
}

/*
 * Return whether the memory at AT can be malloc's: a pointer in damaged memory, or of a malicious
 * process, may lead to a device, or to a file whose server is dead.
 */
static bool
may_be_heap(const struct arenas_search *s, raddr at)
{
	struct err e;

	if (has_malloc_memory(s->m, at))
		return true;
	if (!s->younger->is_listed && regions_read(&s->younger->maps, s->t, &e) < 0)
		debug("%s", e.msg);
	s->younger->is_listed = true;
	return has_malloc_memory(&s->younger->maps, at);
}

/*
 * Read SIZE bytes, at most a page, from START, where a heap begins, into BUF, and check that they
 * can be the heap_info of ARENA.  The page is present: malloc wrote it.  EFAULT: they cannot.
 */
static int
arenas_read_heap(const struct arenas_search *s, raddr start, raddr arena, char *buf, size_t size,
	struct heap_info *ret, struct err *e)
{
	if (!may_be_heap(s, start))
		return not_a_heap(start, e);
	if (os_read_present(s->t, start, buf, size, e) < 0)
		return -1;
	if (!heap_info_parse(ret, buf, s->word_bytes, s->heap_max_bytes) || ret->arena.v != arena.v)
		return not_a_heap(start, e);
	return 0;
}

static int
arenas_add_heap(struct arena *arena, raddr start, const struct heap_info *info, struct err *e)
{
	struct arena_heap *bigger =
		reallocarray(arena->heap, arena->nr_heaps + 1, sizeof *arena->heap);

	if (!bigger)
		return err_set(e, ENOMEM, "cannot list the heaps of an arena");
	arena->heap = bigger;
	arena->heap[arena->nr_heaps++] = (struct arena_heap){
		.start = start,
		.size_bytes = info->size_bytes,
		.mapped_bytes = info->mprotect_bytes,
	};
	return 0;
}

static bool
arenas_is_late(const struct arenas_search *s)
{
	return s->deadline_ns && os_now_ns() >= s->deadline_ns;
}

/*
 * Add the heaps after the first.  Each points to the previous one, and the newest contains top
 * (sysmalloc() and heap_trim() keep it so).  EFAULT: the chain does not end at the first heap, or
 * not in time.
 */
static int
add_later_heaps(const struct arenas_search *s, struct arena *arena, raddr top, struct err *e)
{
	char buf[HEAP_INFO_WORDS * sizeof(uint64_t)];
	raddr at = heap_of(s, top), mark = { 0 };
	size_t mark_again = 1;

	while (at.v != arena->heap[0].start.v) {
		struct heap_info info;

		/*
		 * Move the mark whenever the number of heaps doubles: a circular chain reaches the
		 * mark again.
		 */
		if (at.v == mark.v || arenas_is_late(s)) {
			arena->nr_heaps = 1;
			return not_a_heap(at, e);
		}
		if (arenas_read_heap(s, at, arena->addr, buf, HEAP_INFO_WORDS * s->word_bytes,
			    &info, e) < 0 ||
			arenas_add_heap(arena, at, &info, e) < 0)
			return -1;
		if (arena->nr_heaps > mark_again) {
			mark = at;
			mark_again *= 2;
		}
		at = info.prev;
	}
	return 0;
}

/* ---- the ring ---- */

/*
 * Add the thread arena at ADDR, with its first heap.  *RET_TOP and *RET_NEXT get its pointers.
 * EFAULT: ADDR is not an arena.
 */
static int
add_thread_arena(const struct arenas_search *s, struct arenas *a, raddr addr, raddr *ret_top,
	raddr *ret_next, struct err *e)
{
	char buf[PAGE_BYTES];
	raddr start = heap_of(s, addr);
	uint64_t bins = addr.v - start.v + s->bins_offset;
	size_t size = bins + next_offset(s) + s->word_bytes;
	struct heap_info info;
	struct arena *arena;

	if (!is_behind_heap_info(addr, s->word_bytes, s->heap_max_bytes) || arena_at(a, addr) ||
		a->nr == ARENAS_MAX)
		return not_a_heap(start, e);
	if (arenas_read_heap(s, start, addr, buf, size, &info, e) < 0)
		return -1;
	if (info.prev.v)
		return not_a_heap(start, e);
	arena = array_add(a);
	if (!arena)
		return err_set(e, ENOMEM, "cannot list the arenas");
	arena->addr = addr;
	*ret_top = (raddr){ arenas_word_at(s, buf, bins - 2 * s->word_bytes) };
	*ret_next = (raddr){ arenas_word_at(s, buf, bins + next_offset(s)) };
	return arenas_add_heap(arena, start, &info, e);
}

static int
add_main_arena(const struct arenas_search *s, struct arenas *a, raddr addr, struct err *e)
{
	struct arena *arena = array_add(a);

	if (!arena)
		return err_set(e, ENOMEM, "cannot list the arenas");
	*arena = (struct arena){ .addr = addr, .is_main = true };
	a->word_bytes = s->word_bytes;
	a->bins_offset = (unsigned int)s->bins_offset;
	a->heap_max_bytes = s->heap_max_bytes;
	return 0;
}

/*
 * Walk the ring from the main arena into A, as far as it is valid and time allows; is_ring_closed
 * reports whether it is complete.  -1 with E when the target cannot be read at all.
 */
static int
walk_ring(const struct arenas_search *s, struct arenas *a, struct err *e)
{
	raddr main_arena = { s->data.v + s->bins_at - s->bins_offset };
	raddr top = { 0 }, next = { arenas_word_at(s, s->copy, s->bins_at + next_offset(s)) };
	bool is_whole = true;

	if (next.v != main_arena.v && !is_behind_heap_info(next, s->word_bytes, s->heap_max_bytes))
		return 0;
	if (add_main_arena(s, a, main_arena, e) < 0)
		return -1;
	while (next.v != main_arena.v) {
		if (arenas_is_late(s))
			return 0;
		if (add_thread_arena(s, a, next, &top, &next, e) < 0)
			return e->code == EFAULT ? 0 : -1;
		if (add_later_heaps(s, &a->v[a->nr - 1], top, e) < 0) {
			if (e->code != EFAULT)
				return -1;
			is_whole = false;
		}
	}
	a->is_ring_closed = is_whole;
	return 0;
}

/* ---- the main arena ---- */

static raddr
find_brk(const struct regions *m)
{
	for (size_t i = 0; i < m->nr; i++)
		if (m->region[i].path && strcmp(m->region[i].path, "[heap]") == 0)
			return m->region[i].end;
	return (raddr){ 0 };
}

/*
 * Return whether ADDR can be a free chunk.  A heap may have grown since the mappings were listed.
 */
static bool
is_free_chunk(const struct arenas_search *s, uint64_t addr)
{
	const struct region *r;

	if (!addr || addr % (2 * s->word_bytes))
		return false;
	r = regions_find(s->m, (raddr){ addr });
	return r ? r->prot[1] == 'w' : s->brk.v && addr - s->brk.v < BRK_MORE_BYTES;
}

/*
 * Return whether the two words at OFFSET can be a bin: empty, or with a first and a last chunk.
 * The chunks are not read, which would bring them back from swap.
 */
static bool
is_bin(const struct arenas_search *s, uint64_t offset)
{
	uint64_t self = s->data.v + offset - 2 * s->word_bytes;
	uint64_t fd = arenas_word_at(s, s->copy, offset);
	uint64_t bk = arenas_word_at(s, s->copy, offset + s->word_bytes);

	if (fd == self || bk == self)
		return fd == bk;
	return is_free_chunk(s, fd) && is_free_chunk(s, bk);
}

static void
swap_arenas(struct arenas *a, struct arenas *b)
{
	struct arenas was = *a;

	*a = *b;
	*b = was;
}

/*
 * Try the bins at s->bins_at, BINS_OFFSET from the start of their arena.  A gets the best result,
 * which may be its present value.
 */
static int
try_offset(struct arenas_search *s, uint64_t bins_offset, struct arenas *a, struct err *e)
{
	s->bins_offset = bins_offset;
	for (size_t i = 0; i < sizeof heap_maxes / sizeof *heap_maxes && !a->is_ring_closed; i++) {
		auto_arenas struct arenas tried = { 0 };

		if (heap_maxes[i].word_bytes != s->word_bytes)
			continue;
		s->heap_max_bytes = heap_maxes[i].bytes;
		if (walk_ring(s, &tried, e) < 0)
			return -1;
		if (tried.is_ring_closed || tried.nr > a->nr)
			swap_arenas(a, &tried);
	}
	return 0;
}

/*
 * Try the bins at s->bins_at with every layout.  An unknown layout needs a closed ring; for a known
 * one a damaged ring is accepted.
 */
static int
try_layouts(struct arenas_search *s, struct arenas *a, struct err *e)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts && !a->is_ring_closed; i++)
		if (layouts[i].word_bytes == s->word_bytes &&
			try_offset(s, layouts[i].bins_offset, a, e) < 0)
			return -1;
	for (unsigned int offset = bins_offset_min(s);
		offset <= BINS_OFFSET_MAX && !a->is_ring_closed; offset += s->word_bytes) {
		auto_arenas struct arenas tried = { 0 };

		if (try_offset(s, offset, &tried, e) < 0)
			return -1;
		if (tried.is_ring_closed)
			swap_arenas(a, &tried);
	}
	return 0;
}

/*
 * Search the copied data for the bins.  Only a closed ring proves a place: a window of 127 bins
 * that is off by a few still contains enough of them.
 */
static int
arenas_search_data(struct arenas_search *s, struct arenas *a, struct err *e)
{
	size_t nr = s->size_bytes / s->word_bytes;
	size_t past = 2 * NR_BINS;
	/* nr_good[i]: number of bins before word i, in steps of two words */
	auto_free uint32_t *nr_good = calloc(nr + 2, sizeof *nr_good);

	if (!nr_good)
		return err_set(e, ENOMEM, "cannot look for the main arena");
	for (size_t i = 0; i + 1 < nr; i++)
		nr_good[i + 2] = nr_good[i] + is_bin(s, i * s->word_bytes);
	for (size_t i = 0; i + past + BINMAP_BYTES / s->word_bytes < nr; i++) {
		if (nr_good[i + past] - nr_good[i] < NR_BINS_WANTED)
			continue;
		s->bins_at = i * s->word_bytes;
		if (try_layouts(s, a, e) < 0)
			return -1;
		if (a->is_ring_closed)
			return 0;
	}
	return 0;
}

/* Copy the SIZE_BYTES at DATA.  The copy is the caller's to free; NULL with E on failure. */
static char *
arenas_copy_data(struct arenas_search *s, raddr data, size_t size_bytes, struct err *e)
{
	auto_free char *copy = malloc(size_bytes);
	ssize_t n;

	if (!copy) {
		err_set(e, ENOMEM, "cannot look for the main arena");
		return NULL;
	}
	n = os_read_present_some(s->t, data, copy, size_bytes, e);
	if (n < 0)
		return NULL;
	s->data = data;
	s->copy = copy;
	s->size_bytes = (size_t)n;
	return take_ptr(&copy);
}

/* Search the SIZE_BYTES at DATA. */
static int
search_at(struct arenas_search *s, raddr data, size_t size_bytes, struct arenas *a, struct err *e)
{
	auto_free char *copy = arenas_copy_data(s, data, size_bytes, e);

	return copy ? arenas_search_data(s, a, e) : -1;
}

/* ---- by the initialiser ---- */

/*
 * Possible addresses of main_arena, each found by a pointer that points to a suitable distance
 * before itself.
 */
struct hint {
	raddr arena;
	uint64_t bins_offset;
};

struct hints {
	const struct arenas_search *s;
	size_t nr;
	struct hint v[NR_HINTS];
};

/*
 * Add a hint for the pointer AT if it can be main_arena.next, which is initialised to &main_arena.
 * The distance is measured instead of taken from a list: this also finds the arenas of unknown
 * releases.
 */
static int
see_pointer(raddr at, raddr to, void *arg)
{
	struct hints *h = arg;
	uint64_t bins = at.v - to.v - next_offset(h->s);

	if (bins < bins_offset_min(h->s) || bins > BINS_OFFSET_MAX || bins % h->s->word_bytes)
		return 0;
	h->v[h->nr++] = (struct hint){ to, bins };
	return h->nr == NR_HINTS;
}

static int
try_hint(struct arenas_search *s, const struct hint *hint, struct arenas *a, struct err *e)
{
	size_t size = hint->bins_offset + next_offset(s) + s->word_bytes, nr_good = 0;
	auto_free char *copy = arenas_copy_data(s, hint->arena, size, e);

	if (!copy)
		return -1;
	s->bins_at = hint->bins_offset;
	for (size_t i = 0; i < NR_BINS && s->size_bytes == size; i++)
		nr_good += is_bin(s, s->bins_at + i * 2 * s->word_bytes);
	return nr_good < NR_BINS_WANTED ? 0 : try_offset(s, hint->bins_offset, a, e);
}

/*
 * Search where the initialised pointers of LIBC point; the memory there must look like an arena,
 * too.
 */
static int
search_hints(struct arenas_search *s, const struct image *libc, struct arenas *a, struct err *e)
{
	struct hints h = { .s = s };

	image_each_pointer(libc, see_pointer, &h);
	for (size_t i = 0; i < h.nr && !a->is_ring_closed; i++)
		if (try_hint(s, &h.v[i], a, e) < 0)
			return -1;
	return 0;
}

/* ---- by the bins ---- */

/*
 * Search the writable segments of LIBC.  main_arena has an initialiser (its ring of one), so it is
 * in the part that comes from the file and not in bss: all of that part is in memory since it was
 * relocated, and reading it changes nothing.
 */
static int
search_libc(struct arenas_search *s, const struct image *libc, struct arenas *a, struct err *e)
{
	for (size_t i = 0; i < image_nr_phdrs(libc) && !a->is_ring_closed; i++) {
		const Elf64_Phdr *p = image_phdr(libc, i);
		raddr start = { image_bias(libc) + p->p_vaddr };

		if (p->p_type == PT_LOAD && p->p_flags & PF_W && p->p_filesz <= DATA_MAX_BYTES &&
			search_at(s, start, p->p_filesz, a, e) < 0)
			return -1;
	}
	return 0;
}

/* Return the program if it has no dynamic linker, and so contains its malloc. */
static const struct object *
find_static(const struct objects *o)
{
	for (size_t i = 0; i < o->nr; i++)
		if (o->v[i].is_executable && image_is_static(o->v[i].image))
			return &o->v[i];
	return NULL;
}

/*
 * Return the object whose malloc has the arenas.  dlmopen() and LD_AUDIT bring further libcs: then
 * it is the one that serves the program.
 */
static const struct object *
arenas_find_malloc(const struct objects *o, const struct target *t)
{
	const struct object *libc = NULL, *serves;
	size_t nr = 0;

	for (size_t i = 0; i < o->nr; i++) {
		if (!o->v[i].is_libc)
			continue;
		libc = &o->v[i];
		nr++;
	}
	if (!nr)
		return find_static(o);
	if (nr == 1)
		return libc;
	serves = objects_malloc(o, t);
	return serves && serves->is_libc ? serves : libc;
}

/* Report WHY no arena was found, or that a core file lacks the necessary memory. */
static int
not_found(const struct target *t, const struct objects *o, const char *why, struct err *e)
{
	struct os_core_facts f = { .missing_bytes = 0 };

	/* An ending process loses its mappings first. */
	if (!t->core && !target_is_alive(t))
		return err_set_kind(e, ERR_GONE, 0, "process %d (%s) has ended", t->pid, t->comm);
	if (objects_check_loaded(o, t, e) < 0)
		return -1;
	err_set_kind(e, ERR_UNSUPPORTED, 0, "process %d %s", t->pid, why);
	os_core_facts(t, &f);
	if (f.missing_bytes)
		err_hint(e,
			"But its core file was cut off: %" PRIu64 " of %" PRIu64
			" bytes of memory are not in it",
			f.missing_bytes, f.memory_bytes);
	else if (f.lacks_headers)
		err_hint(e,
			"But its core file has no ELF headers, by which libraries are known: have it written with bit 4 set, as by: echo 0x33 > /proc/PID/coredump_filter (core(5))");
	else if (f.is_filtered)
		err_hint(e,
			"But its core file lacks anonymous memory: see coredump_filter in core(5)");
	return -1;
}

/* Report why no arena was found in a process with glibc. */
static int
not_used(const struct target *t, const struct regions *m, const struct objects *o, struct err *e)
{
	const struct object *serves = objects_malloc(o, t);

	if (serves && !serves->is_libc)
		return not_found(t, o, "has not used glibc's malloc", e);
	if (objects_are_of_valgrind(o))
		return not_found(t, o, "runs under valgrind, which has a malloc of its own", e);
	/* malloc gets its first memory there, by brk(). */
	if (!find_brk(m).v) {
		not_found(t, o, "has no heap: it has not called malloc yet", e);
		return e->kind == ERR_UNSUPPORTED ? err_hint(e, "'memdiag maps' shows what it has")
						  : -1;
	}
	return not_found(t, o, "has not used glibc's malloc, or its layout is not known", e);
}

/* Return the address of __curbrk, in a static program or in libc. */
static raddr
find_brk_at(const struct object *libc)
{
	struct image_symbol s;

	return image_find(libc->image, "__curbrk", &s) < 0 ? (raddr){ 0 } : s.addr;
}

raddr
arenas_brk(const struct arenas *a, const struct target *t)
{
	char word[sizeof(uint64_t)];
	struct err e;

	if (!a->brk_at.v || os_read_present(t, a->brk_at, word, a->word_bytes, &e) < 0)
		return (raddr){ 0 };
	return (raddr){ word_from(word, a->word_bytes) };
}

int
arenas_find(struct arenas *a, const struct target *t, const struct regions *m,
	const struct objects *o, const struct arenas *known, struct err *e)
{
	auto_arenas struct arenas found = { 0 };
	auto_younger struct younger younger = { 0 };
	const struct object *libc = arenas_find_malloc(o, t);
	struct arenas_search s = { .t = t, .m = m, .younger = &younger };
	struct err why;

	if (!libc)
		return not_found(t, o, "has no glibc mapped", e);
	s.brk = find_brk(m);
	s.word_bytes = image_class(libc->image) == ELFCLASS64 ? 8 : 4;
	/* An invalid pointer must not set E: the search continues. */
	if (known && known->nr &&
		try_hint(&s, &(struct hint){ known->v[0].addr, known->bins_offset }, &found, &why) <
			0)
		arenas_release(&found);
	if ((!found.is_ring_closed && search_hints(&s, libc->image, &found, &why) < 0) ||
		(!found.is_ring_closed && search_libc(&s, libc->image, &found, &why) < 0)) {
		*e = why;
		return err_context(e, "looking for malloc's arenas in %d", t->pid);
	}
	/* A main arena alone that does not lead back to itself was found by chance. */
	if (!found.is_ring_closed && found.nr < 2)
		return not_used(t, m, o, e);
	found.tls_offset_bytes = known ? known->tls_offset_bytes : 0;
	found.brk_at = known ? known->brk_at : find_brk_at(libc);
	if (!found.tls_offset_bytes)
		arenas_learn_tls_offset(&found, t, o);
	debug("%zu arenas, main at " PRIraddr "%s", found.nr, found.v[0].addr.v,
		found.is_ring_closed ? "" : ", ring damaged");
	*a = found;
	found = (struct arenas){ 0 };
	return 0;
}

int
arenas_read_again(struct arenas *a, const struct target *t, const struct regions *m,
	const struct arenas *known, uint64_t deadline_ns, struct err *e)
{
	auto_arenas struct arenas found = { 0 };
	auto_younger struct younger younger = { 0 };
	struct arenas_search s = { .t = t,
		.m = m,
		.younger = &younger,
		.deadline_ns = deadline_ns,
		.word_bytes = known->word_bytes,
		.bins_at = known->bins_offset };
	size_t size = known->bins_offset + next_offset(&s) + s.word_bytes;
	raddr main_arena = known->v[0].addr;
	auto_free char *copy = arenas_copy_data(&s, main_arena, size, e);
	struct err why; /* invalid pointers are skipped */

	if (!copy)
		return -1;
	if (s.size_bytes < size)
		return err_set(e, EFAULT, "cannot read the main arena of %d", t->pid);
	if (try_offset(&s, known->bins_offset, &found, &why) < 0) {
		*e = why;
		return -1;
	}
	/* The main arena has not moved, whatever its pointers lead to. */
	s.heap_max_bytes = known->heap_max_bytes;
	if (!found.nr && add_main_arena(&s, &found, main_arena, e) < 0)
		return -1;
	found.tls_offset_bytes = known->tls_offset_bytes;
	found.brk_at = known->brk_at;
	swap_arenas(a, &found);
	return 0;
}

void
arenas_release(struct arenas *a)
{
	for (size_t i = 0; i < a->nr; i++) {
		free(a->v[i].heap);
		free(a->v[i].tid);
	}
	free(a->v);
	*a = (struct arenas){ 0 };
}
