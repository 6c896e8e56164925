/*
 * /proc/PID/maps, a line per mapping (fs/proc/task_mmu.c, show_map_vma):
 *
 *	start-end prot offset major:minor inode [padding name]
 *
 * Numbers are hexadecimal except the inode.  The name extends from the padding to the end of the
 * line; of all bytes only the newline is escaped, as \012.
 */
#include <config.h>

#include "elf/regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/status.h"

/* Paths, which do not move once they are stored; a list of blocks, the newest first. */
struct paths {
	struct paths *older;
	size_t used, room;
	char v[];
};

/* A block of paths: most processes need one of the least size. */
#define PATHS_LEAST_BYTES 1024
#define PATHS_MOST_BYTES 65536

struct builder {
	struct region *v;
	size_t nr, room;
	struct paths *paths;
	const char *last_path; /* the path stored last: mappings of one file are adjacent */
	const struct regions_listener *listener;
};

static void
paths_free(struct paths *p)
{
	while (p) {
		struct paths *older = p->older;

		free(p);
		p = older;
	}
}

/* Return a copy of PATH that lives as long as the map, or NULL when there is no memory. */
static const char *
keep_path(struct builder *b, const char *path)
{
	size_t size = strlen(path) + 1;

	if (b->last_path && strcmp(b->last_path, path) == 0)
		return b->last_path;
	if (!b->paths || b->paths->room - b->paths->used < size) {
		size_t room = b->paths ? 2 * b->paths->room : PATHS_LEAST_BYTES;
		struct paths *newer;

		if (room > PATHS_MOST_BYTES)
			room = PATHS_MOST_BYTES;
		if (room < size)
			room = size;
		newer = malloc(sizeof *newer + room);
		if (!newer)
			return NULL;
		*newer = (struct paths){ .older = b->paths, .room = room };
		b->paths = newer;
	}
	b->last_path = memcpy(b->paths->v + b->paths->used, path, size);
	b->paths->used += size;
	return b->last_path;
}

/* The value of each hexadecimal digit, plus 1. */
static const unsigned char hex_value[256] = {
	['0'] = 1,
	2,
	3,
	4,
	5,
	6,
	7,
	8,
	9,
	10,
	['A'] = 11,
	12,
	13,
	14,
	15,
	16,
	['a'] = 11,
	12,
	13,
	14,
	15,
	16,
};

/* 64 bits. */
#define HEX_DIGITS_MAX 16

/*
 * Parse a hexadecimal number followed by END_MARK, and move *AT past the mark.  False if the text
 * differs.
 */
static bool
take_hex(const char **at, char end_mark, uint64_t *ret)
{
	const char *s = *at;
	uint64_t n = 0;
	unsigned int digit;

	/*
	 * sscanf() and strtoull() would take most of the time for a target with 100,000 mappings.
	 */
	for (; (digit = hex_value[(unsigned char)*s]) != 0; s++)
		n = (n << 4) + digit - 1;
	if (s == *at || s - *at > HEX_DIGITS_MAX || *s != end_mark)
		return false;
	*at = s + 1;
	*ret = n;
	return true;
}

static bool
take_decimal(const char **at, uint64_t *ret)
{
	const char *s = *at;
	uint64_t n = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		n = n * 10 + (uint64_t)(*s - '0');
	if (s == *at || (*s != ' ' && *s != '\0'))
		return false;
	*at = s;
	*ret = n;
	return true;
}

static bool
take_prot(const char **at, char prot[5])
{
	for (int i = 0; i < 4; i++) {
		if (!(*at)[i])
			return false;
		prot[i] = (*at)[i];
	}
	prot[4] = '\0';
	if ((*at)[4] != ' ')
		return false;
	*at += 5;
	return true;
}

bool
region_parse(struct region *r, const char *at)
{
	uint64_t major, minor;

	if (!take_hex(&at, '-', &r->start.v) || !take_hex(&at, ' ', &r->end.v) ||
		r->start.v >= r->end.v || !take_prot(&at, r->prot) ||
		!take_hex(&at, ' ', &r->offset_bytes) || !take_hex(&at, ':', &major) ||
		!take_hex(&at, ' ', &minor) || !take_decimal(&at, &r->inode))
		return false;
	r->dev = makedev(major, minor);
	/* Blanks before the name are padding; blanks after it belong to the name. */
	while (*at == ' ')
		at++;
	r->path = *at ? at : NULL;
	return true;
}

static int
take_line(struct builder *b, const char *line, struct err *e)
{
	struct region *r = array_add(b);

	if (!r)
		return err_set(e, ENOMEM, "cannot keep the list of mappings");
	if (!region_parse(r, line))
		return err_set(
			e, 0, "line %zu of the list of mappings is not what Linux writes", b->nr);
	if (r->path && !(r->path = keep_path(b, r->path)))
		return err_set(e, ENOMEM, "cannot keep the list of mappings");
	if (b->listener)
		b->listener->region(r, b->listener->arg);
	return 0;
}

/* Take the complete lines of TEXT, and leave the rest in it. */
static int
take_lines(struct builder *b, struct text *text, struct err *e)
{
	char *line = text->v, *end = text->v + text->len, *newline;

	if (memchr(text->v, '\0', text->len))
		return err_set(e, 0, "the list of mappings is not text");
	while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
		*newline = '\0';
		if (take_line(b, line, e) < 0)
			return -1;
		line = newline + 1;
	}
	text->len = (size_t)(end - line);
	memmove(text->v, line, text->len);
	return 0;
}

/* The size of one read.  The kernel returns at most a page of text, so this takes many reads. */
#define TEXT_BYTES 65536

static int
take_stream(struct builder *b, FILE *f, struct err *e)
{
	auto_text struct text text = { 0 };
	size_t room = 0, n;

	do {
		if (text.len == room) { /* the first time, or when one line fills the buffer */
			char *bigger = realloc(text.v, room + TEXT_BYTES + 1);

			if (!bigger)
				return err_set(e, ENOMEM, "cannot keep the list of mappings");
			text.v = bigger;
			room += TEXT_BYTES;
		}
		n = fread(text.v + text.len, 1, room - text.len, f);
		if (ferror(f))
			return err_set(e, errno, "cannot read the list of mappings");
		text.len += n;
		if (take_lines(b, &text, e) < 0)
			return -1;
	} while (n);
	text.v[text.len] = '\0';
	return text.len ? take_line(b, text.v, e) : 0;
}

static int
regions_by_start(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	return x->start.v < y->start.v ? -1 : x->start.v > y->start.v;
}

static bool
is_sorted(const struct builder *b)
{
	for (size_t i = 1; i < b->nr; i++)
		if (b->v[i].start.v < b->v[i - 1].end.v)
			return false;
	return true;
}

/*
 * Drop what was listed twice.  The kernel releases the map after every page of text, so a mapping
 * that grew, moved or merged meanwhile may be listed twice.  The first line stays; of a later line
 * only the part beyond it is kept.  Returns the bytes that were dropped.
 */
static uint64_t
drop_overlaps(struct builder *b)
{
	uint64_t dropped = 0, told_to = 0;
	size_t kept = 0;

	if (is_sorted(b))
		return 0;
	qsort(b->v, b->nr, sizeof *b->v, regions_by_start);
	for (size_t i = 0; i < b->nr; i++) {
		struct region r = b->v[i];

		if (r.start.v < told_to) {
			uint64_t cut = (r.end.v < told_to ? r.end.v : told_to) - r.start.v;

			dropped += cut;
			r.start.v += cut;
			if (region_has_file(&r))
				r.offset_bytes += cut;
		}
		if (r.start.v == r.end.v)
			continue;
		told_to = r.end.v;
		b->v[kept++] = r;
	}
	b->nr = kept;
	return dropped;
}

int
regions_parse(struct regions *m, FILE *f, const struct regions_listener *listener, struct err *e)
{
	struct builder b = { .listener = listener };

	*m = (struct regions){ 0 };
	if (take_stream(&b, f, e) < 0) {
		free(b.v);
		paths_free(b.paths);
		return -1;
	}
	m->torn_bytes = drop_overlaps(&b);
	m->region = b.v;
	m->nr = b.nr;
	m->paths = b.paths;
	return 0;
}

uint64_t
regions_size(const struct regions *m)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < m->nr; i++)
		if (!region_is_vsyscall(&m->region[i]))
			bytes += m->region[i].end.v - m->region[i].start.v;
	return bytes;
}

static int
regions_read_once(struct regions *m, const struct target *t,
	const struct regions_listener *listener, struct err *e)
{
	auto_file FILE *f = os_proc_stream(t, "maps", e);

	if (!f)
		return -1;
	setvbuf(f, NULL, _IONBF, 0); /* read directly into the destination */
	if (listener)
		listener->begin(listener->arg);
	if (regions_parse(m, f, listener, e) < 0)
		return err_context(e, "process %d", t->pid);
	return 0;
}

/* Maximum number of reads of a map that changes while it is read. */
#define MAPS_TRIES 3

int
regions_read_with(struct regions *m, const struct target *t,
	const struct regions_listener *listener, struct err *e)
{
	struct os_status before, after;

	*m = (struct regions){ 0 };
	for (int i = 0; i < MAPS_TRIES; i++) {
		uint64_t size;

		regions_release(m);
		if (os_status(t, 0, &before, e) < 0 || regions_read_once(m, t, listener, e) < 0)
			goto fail;
		if (os_status(t, 0, &after, e) < 0)
			goto fail;
		if (!m->nr) { /* the files of a process that has ended meanwhile */
			err_set(e, ESRCH, "process %d has no memory any more", t->pid);
			goto fail;
		}
		size = regions_size(m);
		m->size_before_bytes = before.vm_size_bytes;
		m->size_after_bytes = after.vm_size_bytes;
		if (!m->torn_bytes && (size == before.vm_size_bytes || size == after.vm_size_bytes))
			break;
	}
	return 0;
fail:
	regions_release(m);
	return -1;
}

int
regions_read(struct regions *m, const struct target *t, struct err *e)
{
	return regions_read_with(m, t, NULL, e);
}

void
regions_release(struct regions *m)
{
	free(m->region);
	paths_free(m->paths);
	*m = (struct regions){ 0 };
}

const struct region *
regions_find(const struct regions *m, raddr a)
{
	size_t low = 0, high = m->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct region *r = &m->region[mid];

		if (a.v < r->start.v)
			high = mid;
		else if (a.v >= r->end.v)
			low = mid + 1;
		else
			return r;
	}
	return NULL;
}
