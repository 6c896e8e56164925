/* The memory in a core file, and which of its pages were present. */
#include <config.h>

#include "os/core-memory.h"

#include "base/cleanup.h"
#include "os/core-files.h"
#include "os/core-segments.h"
#include "os/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Number of bytes searched for zeroes at a time. */
#define PIECE_BYTES (UINT64_C(1) << 20)

/* ---- reading ---- */

/* As pread(), from the part of the file that a mapping covers. */
static ssize_t
read_mapped_file(const struct core_file *f, uint64_t offset, char *to, size_t size)
{
	uint64_t left = offset < f->mapped_bytes ? f->mapped_bytes - offset : 0;
	ssize_t n;

	if (size > left)
		size = left;
	n = pread(f->fd, to, size, (off_t)offset);
	if (n >= 0)
		memset(to + n, 0, size - (size_t)n);
	return n < 0 ? -1 : (ssize_t)size;
}

/* As pread(), from address A, at most to the end of its piece; 0 if no piece contains A. */
static ssize_t
core_memory_read_once(const struct core *c, raddr a, char *to, size_t size)
{
	const struct core_segment *s = core_segment_from(c, a);
	const struct core_mapping *m;
	const struct core_file *f;
	uint64_t left;

	if (!s || a.v < s->start.v)
		return 0;
	if (a.v - s->start.v < s->data_bytes)
		return core_read_segment(c, s, a, to, size);
	m = core_mapping_at(c, a);
	f = m ? core_file_of(c, m) : NULL;
	if (!f)
		return 0;
	left = (m->end.v < s->end.v ? m->end.v : s->end.v) - a.v;
	return read_mapped_file(
		f, m->offset_bytes + (a.v - m->start.v), to, size < left ? size : left);
}

ssize_t
core_read_some(const struct core *c, raddr from, void *to, size_t size, struct err *e)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = core_memory_read_once(
			c, raddr_add(from, done), (char *)to + done, size - done);

		if (n < 0)
			return err_set(e, errno, "cannot read %s", c->path);
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* ---- pages ---- */

struct core_memory_walk {
	const struct core *c;
	int (*fn)(const struct os_page_run *run, void *arg);
	void *arg;
	struct err *e;
	raddr start, end; /* a run that is not reported yet: the next one may continue it */
};

static int
report_present(struct core_memory_walk *w)
{
	struct os_page_run run = { .start = w->start, .end = w->end, .is_present = true };

	return run.start.v < run.end.v ? w->fn(&run, w->arg) : 0;
}

/* Add [START, END) to the present pages. */
static int
core_memory_add_present(struct core_memory_walk *w, uint64_t start, uint64_t end)
{
	uint64_t mask = w->c->page_bytes - 1;
	int stop = 0;

	start &= ~mask;
	end = (end + mask) & ~mask;
	if (start > w->end.v) {
		stop = report_present(w);
		w->start.v = start;
	}
	w->end.v = end;
	return stop;
}

/* Walk the part [FROM, TO) of segment S's data by the holes of the file. */
static int
walk_holes(struct core_memory_walk *w, const struct core_segment *s, uint64_t from, uint64_t to)
{
	uint64_t bias = s->start.v - s->offset; /* converts a file offset to an address */

	while (from < to) {
		off_t data = lseek(w->c->fd, (off_t)(from - bias), SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(w->c->fd, data, SEEK_HOLE);
		uint64_t start = (uint64_t)data + bias, end = (uint64_t)hole + bias;
		int stop;

		if (data < 0 && errno != ENXIO)
			return err_set(w->e, errno, "cannot find the holes of %s", w->c->path);
		if (hole < 0 || start >= to)
			return 0;
		stop = core_memory_add_present(w, start, end < to ? end : to);
		if (stop)
			return stop;
		from = end;
	}
	return 0;
}

static bool
is_zero(const char *at, size_t size)
{
	return !size || (!*at && memcmp(at, at + 1, size - 1) == 0);
}

/* As walk_holes(), but by pages that are not all zero. */
static int
walk_nonzero(struct core_memory_walk *w, const struct core_segment *s, uint64_t from, uint64_t to)
{
	auto_free char *piece = malloc(PIECE_BYTES);
	uint64_t page = w->c->page_bytes;

	if (!piece)
		return err_set(w->e, ENOMEM, "cannot read %s", w->c->path);
	while (from < to) {
		uint64_t want = to - from < PIECE_BYTES ? to - from : PIECE_BYTES;
		ssize_t n = pread(w->c->fd, piece, want, (off_t)(s->offset + (from - s->start.v)));

		if (n < 0)
			return err_set(w->e, errno, "cannot read %s", w->c->path);
		if (!n)
			return 0;
		for (uint64_t at = 0; at < (uint64_t)n; at += page) {
			uint64_t len = (uint64_t)n - at < page ? (uint64_t)n - at : page;
			int stop = is_zero(piece + at, len)
				? 0
				: core_memory_add_present(w, from + at, from + at + len);

			if (stop)
				return stop;
		}
		from += (uint64_t)n;
	}
	return 0;
}

int
core_pages_walk(const struct core *c, raddr start, raddr end,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e)
{
	struct core_memory_walk w = { .c = c, .fn = fn, .arg = arg, .e = e };
	const struct core_segment *s = core_segment_from(c, start);

	for (; s && s < c->segment.v + c->segment.nr && s->start.v < end.v; s++) {
		/* The page at which the file was cut off may be incomplete: leave it out. */
		uint64_t data_end = s->there_bytes == s->data_bytes
			? s->start.v + s->data_bytes
			: (s->start.v + s->there_bytes) & -c->page_bytes;
		uint64_t from = start.v > s->start.v ? start.v : s->start.v;
		uint64_t to = end.v < data_end ? end.v : data_end;
		int stop =
			c->has_holes ? walk_holes(&w, s, from, to) : walk_nonzero(&w, s, from, to);

		if (stop)
			return stop;
	}
	return report_present(&w);
}
