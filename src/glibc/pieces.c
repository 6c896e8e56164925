/*
 * The pieces of a main arena that brk did not serve: something was mapped where it would have
 * grown, or malloc does not use brk at all (glibc.malloc.hugetlb=2, 2.35).  sysmalloc()
 * (malloc/malloc.c) then uses mmap(), sets a flag in the arena, and does not record the memory it
 * got:
 *
 *	page ->   +---------------------------+
 *	          | nothing                   |  prev_size of the first chunk: none before it
 *	          | size, with flag 1         |
 *	          | chunks ...                |
 *	          +---------------------------+
 *	          | posts of two words each   |  since top has left it; else top is the last chunk
 *	page ->   +---------------------------+
 */
#include <config.h>

#include "glibc/pieces.h"

#include "base/array.h"
#include "base/word.h"
#include "glibc/top.h"
#include "os/memory.h"
#include "os/pages.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_BYTES UINT64_C(4096)
#define BUDGET_BYTES (UINT64_C(4) << 30)
#define FLAGS_OFFSET sizeof(int32_t)
#define NONCONTIGUOUS 2
/* The target may be changing the memory during the walk. */
#define NR_WALKS 4
#define PREV_INUSE UINT64_C(1)
#define FLAG_BITS UINT64_C(7)
#define HEADER_WORDS 2
#define POSTS_WORDS (2 * HEADER_WORDS)
#define I386_SHIFT 8
#define NR_BINS 127
#define BINMAP_BYTES 16
/* Maximum bytes that main_gaps_find() reads before it has found a gap. */
#define PEEK_BYTES (UINT64_C(32) << 20)
/* Heaps larger than this are sampled first. */
#define SMALL_BYTES (UINT64_C(4) << 20)
#define NR_SAMPLES 32
#define NR_IN_A_ROW 3

struct piece_search {
	const struct target *t;
	struct os_pages *pages;
	const struct regions *m; /* for main_pieces_find() */
	struct main_pieces *found;
	uint64_t found_bytes, want_bytes;
	raddr top; /* address of the arena's pointer to its top */
	unsigned int word_bytes;
	uint64_t budget_bytes; /* bytes that may still be read */
	uint64_t stretch_end;
	struct {
		struct os_page_run *v;
		size_t nr, room;
	} present;	 /* in the stretch */
	uint64_t window; /* address from which BUF was read */
	size_t window_bytes;
	char buf[1 << 16];
};

/* ---- present memory ---- */

static int
pieces_add_present(const struct os_page_run *run, void *arg)
{
	struct piece_search *p = arg;
	struct os_page_run *last = p->present.nr ? &p->present.v[p->present.nr - 1] : NULL;

	if (!run->is_present)
		return 0;
	if (last && last->end.v == run->start.v) {
		last->end = run->end;
		return 0;
	}
	last = array_add(&p->present);
	if (!last)
		return 1;
	*last = *run;
	return 0;
}

int
piece_search_in(struct piece_search *p, raddr start, raddr end, struct err *e)
{
	int failed;

	p->stretch_end = end.v;
	p->window_bytes = 0;
	p->present.nr = 0;
	/*
	 * brk need not begin at a page boundary: until 2.34 ld.so takes memory for GLIBC_TUNABLES
	 * (elf/dl-tunables.c).
	 */
	failed = os_pages_walk(p->pages, (raddr){ start.v & -PAGE_BYTES },
		(raddr){ (end.v + PAGE_BYTES - 1) & -PAGE_BYTES }, false, pieces_add_present, p, e);
	return failed == 1 ? err_set(e, ENOMEM, "cannot look for the main arena") : failed;
}

/* Return the first run of present pages that ends after ADDR. */
static size_t
pieces_run_at(const struct piece_search *p, uint64_t addr)
{
	size_t from = 0, to = p->present.nr;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (p->present.v[middle].end.v <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Return how many bytes are present from ADDR on. */
static uint64_t
present_bytes(const struct piece_search *p, uint64_t addr)
{
	size_t i = pieces_run_at(p, addr);

	return i < p->present.nr && p->present.v[i].start.v <= addr ? p->present.v[i].end.v - addr
								    : 0;
}

/*
 * Return SIZE bytes at ADDR, or NULL if they are not all present.  If they are not in the window,
 * read AHEAD bytes from ADDR on.
 */
static const char *
bytes_at(struct piece_search *p, uint64_t addr, size_t size, size_t ahead)
{
	uint64_t present, cost;
	/* unmapped meanwhile, or the target has ended: the bytes are missing */
	struct err ignored;
	ssize_t n;

	if (addr >= p->window && addr - p->window + size <= p->window_bytes)
		return p->buf + (addr - p->window);
	present = present_bytes(p, addr);
	if (ahead > present)
		ahead = (size_t)present;
	/* A request takes about as long as copying a page. */
	cost = ahead > PAGE_BYTES ? ahead : PAGE_BYTES;
	if (ahead < size || cost > p->budget_bytes)
		return NULL;
	p->budget_bytes -= cost;
	n = os_read_some(p->t, (raddr){ addr }, p->buf, ahead, &ignored);
	p->window = addr;
	p->window_bytes = n > 0 ? (size_t)n : 0;
	return p->window_bytes >= size ? p->buf : NULL;
}

/* Return the size and flags of the chunk at ADDR, 0 if they cannot be read. */
static uint64_t
size_at(struct piece_search *p, uint64_t addr)
{
	const char *header = bytes_at(p, addr, HEADER_WORDS * p->word_bytes, sizeof p->buf);

	return header ? word_from(header + p->word_bytes, p->word_bytes) : 0;
}

/* ---- a piece ---- */

/*
 * Return whether RAW can be the size of a chunk of the main arena, without its own mapping, with
 * LEFT bytes to the end of the stretch.
 */
static bool
pieces_is_chunk(const struct piece_search *p, uint64_t raw, uint64_t left)
{
	uint64_t bytes = raw & ~FLAG_BITS;

	return !(raw & FLAG_BITS & ~PREV_INUSE) && !(bytes % (HEADER_WORDS * p->word_bytes)) &&
		bytes >= POSTS_WORDS * p->word_bytes && bytes <= left;
}

/*
 * Return the maximum shift of a first chunk: on i386 since 2.26 chunks are shifted, so that their
 * blocks are aligned to 16 bytes.
 */
static unsigned int
shift_max(const struct piece_search *p)
{
	return p->word_bytes == 4 ? I386_SHIFT : 0;
}

/* Return the first chunk of the piece that begins at START, 0 if no piece begins there. */
static uint64_t
pieces_first_chunk(struct piece_search *p, uint64_t start)
{
	unsigned int word = p->word_bytes;

	for (unsigned int offset = 0; offset <= shift_max(p); offset += I386_SHIFT) {
		const char *header =
			bytes_at(p, start + offset, HEADER_WORDS * word, HEADER_WORDS * word);
		uint64_t raw = header ? word_from(header + word, word) : 0;

		if (header && !word_from(header, word) && raw & PREV_INUSE &&
			pieces_is_chunk(p, raw, p->stretch_end - start - offset))
			return start + offset;
	}
	return 0;
}

/* Return whether the fence posts that follow the last chunk, where top has left, are at ADDR. */
static bool
has_posts(struct piece_search *p, uint64_t addr)
{
	unsigned int word = p->word_bytes, header = HEADER_WORDS * word;
	const char *posts = bytes_at(p, addr, 2 * header, 2 * header);

	/* The first post's flag shows whether the chunk before them is in use. */
	return posts && (word_from(posts + word, word) & ~PREV_INUSE) == header &&
		word_from(posts + header + word, word) == (header | PREV_INUSE);
}

/* Return the current top, which is the last chunk of its piece; 0 if it cannot be read. */
static uint64_t
top_now(const struct piece_search *p)
{
	char word[sizeof(uint64_t)];
	struct err ignored;

	return os_read_present(p->t, p->top, word, p->word_bytes, &ignored) < 0
		? 0
		: word_from(word, p->word_bytes);
}

/*
 * Return the end of the piece that begins with CHUNK, by walking the chunks; 0 if it has no valid
 * end.  Another piece may follow top immediately.
 */
static uint64_t
pieces_walk(struct piece_search *p, uint64_t chunk)
{
	uint64_t posts = POSTS_WORDS * p->word_bytes, top = top_now(p), raw, end;
	bool has_top = false;

	while (!has_top &&
		(raw = size_at(p, chunk), pieces_is_chunk(p, raw, p->stretch_end - chunk))) {
		has_top = chunk == top;
		chunk += raw & ~FLAG_BITS;
	}
	if (chunk % PAGE_BYTES == 0)
		return has_top ? chunk : 0;
	/* The rest of top may be too small for a chunk: then it is another fence post. */
	for (unsigned int more = 0; more <= HEADER_WORDS * p->word_bytes;
		more += HEADER_WORDS * p->word_bytes) {
		end = (chunk + more + posts + PAGE_BYTES - 1) & -PAGE_BYTES;
		if (end - chunk - more - posts <= shift_max(p) && has_posts(p, chunk) &&
			has_posts(p, chunk + more))
			return end;
	}
	return 0;
}

/*
 * Return the end of the piece that begins at START, 0 if no piece begins there.  Only the walk
 * shows its size: MMAP_AS_MORECORE_SIZE, 1 MiB, or the size of the request if that is larger; since
 * 2.35 that holds for the first one, and others are as large as brk would have grown.
 */
static uint64_t
pieces_piece_end(struct piece_search *p, uint64_t start)
{
	uint64_t chunk = pieces_first_chunk(p, start), end = 0;

	for (int i = 0; chunk && !end && i < NR_WALKS; i++) {
		p->window_bytes = 0;
		end = pieces_walk(p, chunk);
	}
	return end;
}

/* ---- the search ---- */

bool
piece_search_next(struct piece_search *p, raddr at, raddr *ret_start, raddr *ret_end)
{
	for (size_t i = pieces_run_at(p, at.v); i < p->present.nr; i++) {
		raddr page = p->present.v[i].start;

		if (page.v < at.v)
			page = at;
		for (; page.v < p->present.v[i].end.v; page.v += PAGE_BYTES) {
			uint64_t end = pieces_piece_end(p, page.v);

			if (p->budget_bytes < PAGE_BYTES)
				return false;
			if (!end)
				continue;
			*ret_start = page;
			ret_end->v = end;
			return true;
		}
	}
	return false;
}

/* ---- starting a search ---- */

/* As piece_search_new(), but also for an arena that claims to be contiguous.  NULL: no memory. */
static struct piece_search *
search_new(const struct target *t, struct os_pages *pages, const struct arenas *a)
{
	struct piece_search *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->t = t;
	p->pages = pages;
	p->top = top_chunk_at(a, 0);
	p->word_bytes = a->word_bytes;
	p->budget_bytes = BUDGET_BYTES;
	return p;
}

struct piece_search *
piece_search_new(const struct target *t, struct os_pages *pages, const struct arenas *a)
{
	return main_arena_is_contiguous(t, a) ? NULL : search_new(t, pages, a);
}

void
piece_search_free(struct piece_search *p)
{
	if (p)
		free(p->present.v);
	free(p);
}

/* ---- all pieces ---- */

bool
main_arena_is_contiguous(const struct target *t, const struct arenas *a)
{
	struct err ignored;
	int32_t flags;

	return os_read_present(t, raddr_add(a->v[0].addr, FLAGS_OFFSET), &flags, sizeof flags,
		       &ignored) < 0 ||
		!(flags & NONCONTIGUOUS);
}

/*
 * Return the size of the main arena: in malloc_state next is followed by next_free (2.12),
 * attached_threads (2.23), system_mem and max_system_mem.  0 if unknown.
 */
static uint64_t
pieces_system_bytes(const struct target *t, const struct arenas *a, uint64_t most)
{
	uint64_t at = a->bins_offset + (uint64_t)NR_BINS * 2 * a->word_bytes + BINMAP_BYTES +
		a->word_bytes;
	char words[4 * sizeof(uint64_t)];
	struct err ignored;

	if (os_read_present(t, raddr_add(a->v[0].addr, at), words, 4 * a->word_bytes, &ignored) < 0)
		return 0;
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t system = word_from(words + i * a->word_bytes, a->word_bytes);
		uint64_t max = word_from(words + (i + 1) * a->word_bytes, a->word_bytes);

		if (system >= PAGE_BYTES && system <= most && max >= system)
			return system;
	}
	return 0;
}

void
main_heap_find(const struct target *t, struct os_pages *pages, const struct arenas *a,
	raddr brk_start, raddr *ret_start, raddr *ret_end)
{
	raddr brk = arenas_brk(a, t);
	struct top_chunk top;
	uint64_t system;

	brk.v = (brk.v + PAGE_BYTES - 1) & -PAGE_BYTES;
	*ret_start = brk_start;
	*ret_end = brk;
	if (!main_arena_is_contiguous(t, a) || !top_chunk_read(&top, t, pages, a, 0))
		return;
	/* The top of an unused arena is its own empty bin, outside of brk's memory. */
	if (top.start.v < brk_start.v || (brk.v && top.end.v > brk.v))
		return;
	ret_end->v = (top.end.v + PAGE_BYTES - 1) & -PAGE_BYTES;
	system = pieces_system_bytes(t, a, top.end.v - brk_start.v);
	if (system)
		ret_start->v = (top.end.v - system) & -PAGE_BYTES;
}

static int
note_piece(struct piece_search *p, uint64_t start, uint64_t end, struct err *e)
{
	struct main_piece *piece = array_add(p->found);

	if (!piece)
		return err_set(e, ENOMEM, "cannot list the pieces of the main arena");
	*piece = (struct main_piece){ { start }, { end } };
	p->found_bytes += end - start;
	return 0;
}

/*
 * Return the start of the present pages after the page of AT; the end of the stretch if not found.
 */
static uint64_t
next_present(const struct piece_search *p, uint64_t at)
{
	size_t i = pieces_run_at(p, at);

	if (i < p->present.nr && p->present.v[i].start.v <= at)
		i++;
	return i < p->present.nr ? p->present.v[i].start.v : p->stretch_end;
}

/*
 * Return the first place from AT on that can have the header of a first chunk: brk's memory
 * continues at any place where a chunk can begin (sysmalloc(), front_misalign).  0 if not found.
 */
static uint64_t
next_header(struct piece_search *p, uint64_t at)
{
	unsigned int word = p->word_bytes, step = HEADER_WORDS * word;

	while (at < p->stretch_end && p->budget_bytes >= sizeof p->buf) {
		const char *header = bytes_at(p, at, step, sizeof p->buf);
		uint64_t end = p->window + p->window_bytes;

		if (!header) {
			at = next_present(p, at);
			continue;
		}
		for (; at + step <= end; at += step, header += step) {
			uint64_t raw = word_from(header + word, word);

			if (raw & PREV_INUSE && !word_from(header, word) &&
				pieces_is_chunk(p, raw, p->stretch_end - at))
				return at;
		}
	}
	return 0;
}

/*
 * Return the next run of chunks in brk's memory from AT on, wherever another user has moved brk to;
 * 0 if not found.
 */
static uint64_t
run_behind(struct piece_search *p, uint64_t at, uint64_t *ret_end)
{
	uint64_t step = HEADER_WORDS * p->word_bytes;

	for (at = next_header(p, at); at; at = next_header(p, at + step)) {
		uint64_t end = pieces_walk(p, at);

		if (end) {
			*ret_end = end;
			return at;
		}
	}
	return 0;
}

/*
 * Find the memory from brk, from START up to END.  As long as brk serves malloc, malloc counts the
 * memory that other users took between two runs as its own (sysmalloc(), malloc/malloc.c).
 */
static int
pieces_find_runs(
	struct piece_search *p, uint64_t start, uint64_t end, bool counts_gaps, struct err *e)
{
	uint64_t run_end = 0, gaps = 0;

	if (piece_search_in(p, (raddr){ start }, (raddr){ end }, e) < 0)
		return -1;
	for (uint64_t run = run_behind(p, start, &run_end); run;) {
		uint64_t before = run_end;

		if (note_piece(p, run, run_end, e) < 0)
			return -1;
		if (p->found_bytes + gaps >= p->want_bytes)
			break;
		run = run_behind(p, before, &run_end);
		gaps += counts_gaps && run ? run - before : 0;
	}
	return 0;
}

/* Find the memory from mmap() between START and END. */
static int
find_mapped(struct piece_search *p, uint64_t start, uint64_t end, struct err *e)
{
	raddr at = { start }, piece;

	if (start >= end)
		return 0;
	if (piece_search_in(p, at, (raddr){ end }, e) < 0)
		return -1;
	while (piece_search_next(p, at, &piece, &at))
		if (note_piece(p, piece.v, at.v, e) < 0)
			return -1;
	return 0;
}

/* Return the first heap of a thread arena that ends after AT; UINT64_MAX if not found. */
static uint64_t
next_heap(const struct arenas *a, uint64_t at)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < a->nr; i++)
		for (size_t k = 0; k < a->v[i].nr_heaps; k++) {
			uint64_t start = a->v[i].heap[k].start.v;

			if (start + a->heap_max_bytes > at && start < next)
				next = start;
		}
	return next;
}

/* As find_mapped(), in [START, END), which may contain heaps of thread arenas as well. */
static int
find_around_heaps(
	struct piece_search *p, const struct arenas *a, uint64_t start, uint64_t end, struct err *e)
{
	while (start < end) {
		uint64_t heap = next_heap(a, start);

		if (find_mapped(p, start, heap < end ? heap : end, e) < 0)
			return -1;
		if (heap >= end)
			return 0;
		start = heap + a->heap_max_bytes;
	}
	return 0;
}

static int
pieces_by_start(const void *a, const void *b)
{
	const struct main_piece *x = a, *y = b;

	return x->start.v < y->start.v ? -1 : x->start.v > y->start.v;
}

static bool
may_hold_pieces(const struct region *r)
{
	return region_may_be_malloc(r) && r->prot[1] == 'w';
}

/*
 * Return the end of the memory that continues from region I: after fork() the kernel does not merge
 * additions.
 */
static uint64_t
memory_end(const struct regions *m, size_t i)
{
	while (i + 1 < m->nr && m->region[i + 1].start.v == m->region[i].end.v &&
		may_hold_pieces(&m->region[i + 1]))
		i++;
	return m->region[i].end.v;
}

/*
 * Search brk's memory from BRK on, and the memory before it and elsewhere for pieces from mmap().
 */
static int
pieces_find_all(struct piece_search *p, const struct arenas *a, raddr brk, struct err *e)
{
	const struct region *first = regions_find(p->m, brk);
	uint64_t brk_end = first ? memory_end(p->m, (size_t)(first - p->m->region)) : 0, done = 0;

	bool is_contiguous = main_arena_is_contiguous(p->t, a);

	if (first && pieces_find_runs(p, brk.v, brk_end, is_contiguous, e) < 0)
		return -1;
	if (is_contiguous)
		return 0;
	for (size_t i = 0; i < p->m->nr && p->found_bytes < p->want_bytes; i++) {
		uint64_t start = p->m->region[i].start.v;

		if (!may_hold_pieces(&p->m->region[i]) || start < done)
			continue;
		done = memory_end(p->m, i);
		if (find_around_heaps(p, a, start, brk.v - start < done - start ? brk.v : done, e) <
			0)
			return -1;
	}
	return 0;
}

int
main_pieces_find(struct main_pieces *ret, const struct target *t, const struct regions *m,
	struct os_pages *pages, const struct arenas *a, raddr brk, uint64_t want_bytes,
	struct err *e)
{
	auto_piece_search struct piece_search *p = search_new(t, pages, a);

	main_pieces_release(ret);
	if (!p)
		return err_set(e, ENOMEM, "cannot look for the pieces of the main arena");
	p->m = m;
	p->found = ret;
	p->want_bytes = want_bytes;
	if (pieces_find_all(p, a, brk, e) < 0) {
		main_pieces_release(ret);
		return -1;
	}
	if (ret->nr)
		qsort(ret->v, ret->nr, sizeof *ret->v, pieces_by_start);
	return 0;
}

void
main_pieces_release(struct main_pieces *p)
{
	free(p->v);
	*p = (struct main_pieces){ 0 };
}

/* ---- memory that others took from brk in between ---- */

/* Return whether a row of chunks begins at AT, each leading to the next, within the window. */
static bool
is_row(const struct piece_search *p, uint64_t at)
{
	unsigned int word = p->word_bytes;

	for (int i = 0; i < NR_IN_A_ROW; i++) {
		uint64_t raw;

		if (at - p->window + HEADER_WORDS * word > p->window_bytes)
			return false;
		raw = word_from(p->buf + (at - p->window) + word, word);
		if (!pieces_is_chunk(p, raw, p->stretch_end - at))
			return false;
		at += raw & ~FLAG_BITS;
	}
	return true;
}

/* Return a chunk on PAGE that others follow; 0 if not found. */
static uint64_t
chunk_on(struct piece_search *p, uint64_t page)
{
	unsigned int step = HEADER_WORDS * p->word_bytes;

	p->window_bytes = 0;
	if (!bytes_at(p, page, step, sizeof p->buf))
		return 0;
	for (uint64_t at = page; at < page + PAGE_BYTES; at += step)
		if (is_row(p, at))
			return at;
	return 0;
}

/* Follow the chunks from AT; return the first one at or above TO, 0 if they do not lead there. */
static uint64_t
follow_run(struct piece_search *p, uint64_t at, uint64_t to)
{
	while (at < to) {
		uint64_t raw = size_at(p, at);

		if (!pieces_is_chunk(p, raw, p->stretch_end - at))
			return 0;
		at += raw & ~FLAG_BITS;
	}
	return at;
}

/*
 * Return whether [START, END) may contain a gap that is a considerable part of it.  A large gap may
 * lie where no chunks are found and the chunks before it do not lead past it.  Pages that are not
 * present take no memory.
 */
static bool
may_have_gap(struct piece_search *p, uint64_t start, uint64_t end)
{
	uint64_t step = ((end - start) / NR_SAMPLES + PAGE_BYTES - 1) & -PAGE_BYTES, at = start;

	if (end - start <= SMALL_BYTES)
		return true;
	for (uint64_t page = start + step; page < end; page += step) {
		uint64_t chunk;

		if (page < at || !present_bytes(p, page))
			continue;
		chunk = chunk_on(p, page);
		at = chunk ? chunk : follow_run(p, at, page);
		if (!at)
			return true;
	}
	return false;
}

/*
 * Store the gaps between the runs in [START, END), of which the first begins on the first page.
 * Returns 0 even if the runs do not lead to END, or -1 with E.
 */
static int
find_gaps(struct piece_search *p, uint64_t start, uint64_t end, struct err *e)
{
	uint64_t run_end = 0, run, gap;

	if (piece_search_in(p, (raddr){ start }, (raddr){ end }, e) < 0)
		return -1;
	p->budget_bytes = PEEK_BYTES;
	if (!may_have_gap(p, start, end))
		return 0;
	run = run_behind(p, start, &run_end);
	if (!run || run - start >= PAGE_BYTES)
		return 0;
	p->budget_bytes = BUDGET_BYTES;
	for (gap = run_end; gap < end && (run = run_behind(p, gap, &run_end)); gap = run_end)
		if (run > gap && note_piece(p, gap, run, e) < 0)
			return -1;
	if (run_end != end)
		main_pieces_release(p->found);
	return 0;
}

int
main_gaps_find(struct main_pieces *ret, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, struct err *e)
{
	auto_piece_search struct piece_search *p = NULL;

	main_pieces_release(ret);
	if (!main_arena_is_contiguous(t, a))
		return 0;
	p = search_new(t, pages, a);
	if (!p)
		return err_set(e, ENOMEM, "cannot look for the pieces of the main arena");
	p->found = ret;
	if (find_gaps(p, start.v, end.v, e) < 0) {
		main_pieces_release(ret);
		return -1;
	}
	return 0;
}
