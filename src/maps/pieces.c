/*
 * The pieces of a main arena that brk did not serve: something was mapped where it would have grown,
 * or malloc does not use it at all (glibc.malloc.hugetlb=2, 2.35).  sysmalloc() (malloc/malloc.c) has
 * mmap() then, says so in the flags of the arena, and writes down nowhere what it got:
 *
 *	page ->   +---------------------------+
 *	          | nothing                   |  prev_size of the first chunk: there is none before
 *	          | size, with flag 1         |
 *	          | chunks ...                |
 *	          +---------------------------+
 *	          | posts of two words each   |  since top has left it; else top is the last chunk
 *	page ->   +---------------------------+
 */
#include <config.h>

#include "maps/arenas-priv.h"
#include "maps/maps-priv.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define PAGE_BYTES UINT64_C(4096)
#define BUDGET_BYTES (UINT64_C(4) << 30)
#define FLAGS_OFFSET sizeof(int32_t)
#define NONCONTIGUOUS 2
/* The target may be at work on what is walked through. */
#define NR_WALKS 4
#define PREV_INUSE UINT64_C(1)
#define FLAG_BITS UINT64_C(7)
#define HEADER_WORDS 2
#define POSTS_WORDS (2 * HEADER_WORDS)
#define I386_SHIFT 8

struct piece_search {
	const struct target *t;
	struct os_pages *pages;
	raddr top;		/* where the arena says where its top is */
	unsigned int word_bytes;
	uint64_t budget_bytes;	/* what may be read still */
	uint64_t stretch_end;
	struct {
		struct os_page_run *v;
		size_t nr, room;
	} present;		/* of the stretch */
	uint64_t window;	/* where BUF was read from, and how much of it */
	size_t window_bytes;
	char buf[1 << 16];
};

/* ---- present memory ---- */

static int
add_present(const struct os_page_run *run, void *arg)
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
	failed = os_pages_walk(p->pages, start, end, false, add_present, p, e);
	return failed == 1 ? err_set(e, ENOMEM, "cannot look for the main arena") : failed;
}

/* The first run of present pages that ends behind ADDR. */
static size_t
run_at(const struct piece_search *p, uint64_t addr)
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

/* How much is present from ADDR on. */
static uint64_t
present_bytes(const struct piece_search *p, uint64_t addr)
{
	size_t i = run_at(p, addr);

	return i < p->present.nr && p->present.v[i].start.v <= addr
		? p->present.v[i].end.v - addr
		: 0;
}

/*
 * SIZE bytes at ADDR, or NULL if they are not all present.  What is not at hand is read with what
 * lies behind it, AHEAD bytes in all.
 */
static const char *
look(struct piece_search *p, uint64_t addr, size_t size, size_t ahead)
{
	uint64_t present, cost;
	struct err ignored;	/* unmapped meanwhile, or the target has gone: then nothing is there */
	ssize_t n;

	if (addr >= p->window && addr - p->window + size <= p->window_bytes)
		return p->buf + (addr - p->window);
	present = present_bytes(p, addr);
	if (ahead > present)
		ahead = (size_t)present;
	/* To ask takes about as long as to copy a page. */
	cost = ahead > PAGE_BYTES ? ahead : PAGE_BYTES;
	if (ahead < size || cost > p->budget_bytes)
		return NULL;
	p->budget_bytes -= cost;
	n = os_read_some(p->t, (raddr){ addr }, p->buf, ahead, &ignored);
	p->window = addr;
	p->window_bytes = n > 0 ? (size_t)n : 0;
	return p->window_bytes >= size ? p->buf : NULL;
}

/* The size and flags of the chunk at ADDR, 0 if they cannot be read. */
static uint64_t
size_at(struct piece_search *p, uint64_t addr)
{
	const char *header = look(p, addr, HEADER_WORDS * p->word_bytes, sizeof p->buf);

	return header ? word_from(header + p->word_bytes, p->word_bytes) : 0;
}

/* ---- a piece ---- */

/* A chunk of the main arena, in no mapping of its own, with LEFT bytes to the end of what can be. */
static bool
is_chunk(const struct piece_search *p, uint64_t raw, uint64_t left)
{
	uint64_t bytes = raw & ~FLAG_BITS;

	return !(raw & FLAG_BITS & ~PREV_INUSE) && !(bytes % (HEADER_WORDS * p->word_bytes)) &&
		bytes >= POSTS_WORDS * p->word_bytes && bytes <= left;
}

/* On i386 since 2.26 chunks are moved so that their blocks are aligned to 16 bytes. */
static unsigned int
shift_max(const struct piece_search *p)
{
	return p->word_bytes == 4 ? I386_SHIFT : 0;
}

/* Where the first chunk is in the piece that begins at START, 0 if none does. */
static uint64_t
first_chunk(struct piece_search *p, uint64_t start)
{
	unsigned int word = p->word_bytes;

	for (unsigned int offset = 0; offset <= shift_max(p); offset += I386_SHIFT) {
		const char *header = look(p, start + offset, HEADER_WORDS * word, HEADER_WORDS * word);
		uint64_t raw = header ? word_from(header + word, word) : 0;

		if (header && !word_from(header, word) && raw & PREV_INUSE &&
			is_chunk(p, raw, p->stretch_end - start - offset))
			return start + offset;
	}
	return 0;
}

/* Whether the posts are at ADDR that are behind the last chunk of what top has left. */
static bool
has_posts(struct piece_search *p, uint64_t addr)
{
	unsigned int word = p->word_bytes, header = HEADER_WORDS * word;
	const char *posts = look(p, addr, 2 * header, 2 * header);

	/* Whether the chunk before them is in use the first one says. */
	return posts && (word_from(posts + word, word) & ~PREV_INUSE) == header &&
		word_from(posts + header + word, word) == (header | PREV_INUSE);
}

/* Whether top, which is the last chunk of its piece, is in [START, END) now. */
static bool
has_top(const struct piece_search *p, uint64_t start, uint64_t end)
{
	char word[sizeof(uint64_t)];
	struct err ignored;

	return os_read(p->t, p->top, word, p->word_bytes, &ignored) == 0 &&
		raddr_in((raddr){ word_from(word, p->word_bytes) }, (raddr){ start }, (raddr){ end });
}

/* The end of the piece that begins with CHUNK, by going from one to the next; 0 if it has none. */
static uint64_t
walk(struct piece_search *p, uint64_t chunk)
{
	uint64_t start = chunk, posts = POSTS_WORDS * p->word_bytes, raw, end;

	while (raw = size_at(p, chunk), is_chunk(p, raw, p->stretch_end - chunk))
		chunk += raw & ~FLAG_BITS;
	if (chunk % PAGE_BYTES == 0)
		return has_top(p, start, chunk) ? chunk : 0;
	end = (chunk + posts + PAGE_BYTES - 1) & -PAGE_BYTES;
	return end - chunk - posts <= shift_max(p) && has_posts(p, chunk) ? end : 0;
}

/*
 * The end of the piece that begins at START, 0 if none does.  How large it is only the walk tells:
 * MMAP_AS_MORECORE_SIZE, 1 MiB, or what was asked for if that is more; but since 2.35 that is so for
 * the first one, and others are as large as brk would have grown.
 */
static uint64_t
piece_end(struct piece_search *p, uint64_t start)
{
	uint64_t chunk = first_chunk(p, start), end = 0;

	for (int i = 0; chunk && !end && i < NR_WALKS; i++) {
		p->window_bytes = 0;
		end = walk(p, chunk);
	}
	return end;
}

/* ---- the search ---- */

bool
piece_search_next(struct piece_search *p, raddr at, raddr *ret_start, raddr *ret_end)
{
	for (size_t i = run_at(p, at.v); i < p->present.nr; i++) {
		raddr page = p->present.v[i].start;

		if (page.v < at.v)
			page = at;
		for (; page.v < p->present.v[i].end.v; page.v += PAGE_BYTES) {
			uint64_t end = piece_end(p, page.v);

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

/* ---- its beginning ---- */

struct piece_search *
piece_search_new(const struct target *t, struct os_pages *pages, const struct arenas *a)
{
	raddr main_arena = a->v[0].addr;
	struct piece_search *p;
	struct err ignored;
	int32_t flags;

	if (os_read(t, raddr_add(main_arena, FLAGS_OFFSET), &flags, sizeof flags, &ignored) < 0 ||
		!(flags & NONCONTIGUOUS))
		return NULL;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->t = t;
	p->pages = pages;
	p->top = raddr_add(main_arena, a->bins_offset - 2 * a->word_bytes);
	p->word_bytes = a->word_bytes;
	p->budget_bytes = BUDGET_BYTES;
	return p;
}

void
piece_search_free(struct piece_search *p)
{
	if (p)
		free(p->present.v);
	free(p);
}
