#include <config.h>

#include "recording/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "recording/log-reader.h"
#include "recording/reading.h"

/*
 * Events that are read at once, and how often follow_read() does so.  With more intervals than
 * MANY_INTERVALS it returns earlier, so that they are consumed and need not become longer.
 */
#define BATCH 512
#define BATCHES 256
#define MANY_INTERVALS ((size_t)16 << 10)

struct follow {
	struct log *log; /* the caller's; the first NEXT of its files are taken */
	size_t next;
	char *dir;		    /* directory of the files, owned */
	struct recording_log which; /* the log */
	struct history h;
	struct history_reading d;

	struct log_part *part;	 /* the present file; NULL before the first */
	struct log_file_at file; /* owned: the file that PART reads */
	uint64_t base_ticks;	 /* time 0 */
	uint32_t number;	 /* of the last file */
	bool is_whole;		 /* the previous file has its end, and no file is missing */
	bool is_closed;		 /* the log has its end, or is damaged */
	bool has_time;		 /* the first event of the file was read */
	bool is_settled;	 /* the amounts live at its beginning are known and are in H */
	bool has_comments;	 /* those of the first file were added */
	uint64_t nr_bytes;	 /* of PART, at the end of the last round */
	bool has_current;	 /* H also has the present interval */
	uint64_t dropped_ns;	 /* end of the dropped intervals */
	struct {
		struct live *v; /* by site, when PART begins */
		size_t nr, room;
	} begin;
};

static int
follow_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot follow the log");
}

/* ---- beginning ---- */

static char *
directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int
follow_new(struct follow **ret, struct recording *r, uint64_t interval_ns, struct err *e)
{
	struct log *l = log_of(r);
	struct follow *f;

	if (!l || l->files.v[0].fd < 0)
		return err_set_kind(e, ERR_USAGE, 0,
			"only a log can be followed: a directory, a file in it, or that of a process");
	f = calloc(1, sizeof *f);
	if (!f)
		return follow_no_memory(e);
	f->file.fd = -1;
	f->log = l;
	f->h.interval_ns = interval_ns;
	f->d.h = &f->h;
	f->which = (struct recording_log){ l->files.v[0].head.realtime_ns,
		l->files.v[0].head.opened_ns };
	f->dir = directory_of(l->files.v[0].path);
	if (f->dir) {
		*ret = f;
		return 0;
	}
	follow_free(f);
	return follow_no_memory(e);
}

static void
follow_release_file(struct follow *f)
{
	if (f->part)
		recording_free(&f->part->r);
	f->part = NULL;
	cleanup_fd(&f->file.fd);
	f->file.fd = -1;
	free(take_ptr(&f->file.path));
}

void
follow_free(struct follow *f)
{
	if (!f)
		return;
	follow_release_file(f);
	history_release(&f->h);
	free(f->begin.v);
	free(f->dir);
	free(f);
}

/* ---- files ---- */

/* Read FROM, which is taken over, from its beginning.  0, or -1 with E. */
static int
follow_open_part(struct follow *f, struct log_file_at *from, struct err *e)
{
	const bool is_first = !f->part;
	struct stream *s;

	follow_release_file(f);
	f->file = *from;
	*from = (struct log_file_at){ .fd = -1 };
	s = log_open_stream(f->log, &f->file, e);
	if (!s || log_part_open(&f->part, s, f->file.path, e) < 0)
		return -1;
	f->part->is_followed = true;
	f->is_settled = is_first;
	f->has_time = false;
	f->begin.nr = 0;
	f->nr_bytes = 0;
	return 0;
}

/* Begin with the first file, which contains time 0. */
static int
follow_begin(struct follow *f, struct err *e)
{
	f->part->base_ticks = f->base_ticks = f->part->head.ticks;
	f->number = (uint32_t)f->part->head.number;
	return log_say_begin(f->log, &f->part->head, e);
}

/* Continue with a file that follows the last one. */
static int
follow_go_on(struct follow *f, struct err *e)
{
	const uint64_t begins = f->part->head.ticks;
	const uint32_t number = (uint32_t)f->part->head.number;
	char shown[256];

	if (begins < f->base_ticks || (begins - f->base_ticks) * LOG_TICK_NS < f->h.end_ns)
		return err_set(e, 0, "cannot follow '%s': its times go back",
			text_printable(f->file.path, shown, sizeof shown));
	f->part->base_ticks = f->base_ticks;
	if (f->part->r.ops->rewind(&f->part->r, e) < 0)
		return -1;
	if (number != f->number + 1)
		f->is_whole = false;
	f->number = number;
	return 0;
}

/* Take the file of FILES with the least number after the last one.  1: done, 0: no such file. */
static int
take_next(struct follow *f, struct log_files *files, struct err *e)
{
	for (size_t i = 0; i < files->nr; i++)
		if (files->v[i].head.number > f->number)
			return follow_open_part(f, &files->v[i], e) < 0 || follow_go_on(f, e) < 0
				? -1
				: 1;
	return 0;
}

/* Continue with the next file.  1: done, 0: it does not exist yet, -1 with E. */
static int
next_file(struct follow *f, struct err *e)
{
	struct log_files files = { .v = NULL };
	struct err ignored;
	int r = 0;

	if (f->next < f->log->files.nr) {
		const bool is_first = f->next == 0;

		if (follow_open_part(f, &f->log->files.v[f->next++], e) < 0)
			return -1;
		return (is_first ? follow_begin : follow_go_on)(f, e) < 0 ? -1 : 1;
	}
	/* The directory may have been removed, and may come again. */
	if (log_files_find(&files, f->dir, &f->which, &ignored) == 0)
		r = take_next(f, &files, e);
	log_files_release(&files);
	return r;
}

/* ---- what is live when a file begins ---- */

static bool
is_as_before(const struct follow *f, size_t site)
{
	static const struct history_site no_site = { 0 };
	static const struct live nothing = { .kind = LIVE_OF_NOTHING };
	const struct history_site *s = site < f->h.sites.nr ? &f->h.sites.v[site] : &no_site;
	const struct live *a = &s->live, *b = site < f->begin.nr ? &f->begin.v[site] : &nothing;

	return a->amount.blocks == b->amount.blocks && a->amount.bytes == b->amount.bytes &&
		(!a->amount.blocks || a->kind == b->kind);
}

static bool
follow_continues(const struct follow *f)
{
	const size_t nr = f->h.sites.nr > f->begin.nr ? f->h.sites.nr : f->begin.nr;

	for (size_t i = 0; i < nr; i++)
		if (!is_as_before(f, i))
			return false;
	return f->is_whole;
}

static bool
is_live(const struct event *v)
{
	return v->kind == EVENT_LIVE || v->kind == EVENT_LIVE_MAPPED;
}

static int
note_live(struct follow *f, const struct event *v, struct err *e)
{
	while (f->begin.nr <= v->site)
		if (!array_add(&f->begin))
			return follow_no_memory(e);
	/* The reader of the file has refused amounts that are too large. */
	return live_add(&f->begin.v[v->site], v) == LIVE_ADDED
		? 0
		: err_set(e, 0, "cannot follow the log: a site has blocks and mappings");
}

/* Start again from what is live in the file at TIME_NS: events are missing before it. */
static int
skip_gap(struct follow *f, uint64_t time_ns, struct err *e)
{
	char shown[256];

	profile_warn(f->log->r.facts, true,
		"there is a gap before '%s': it does not begin where the file before ends; "
		"what was allocated and freed is counted from there on",
		text_printable(f->file.path, shown, sizeof shown));
	if (history_reading_skip(&f->d, time_ns, e) < 0)
		return -1;
	for (size_t i = 0; i < f->begin.nr; i++) {
		const struct live *b = &f->begin.v[i];
		const struct event v = { time_ns, (uint64_t)b->amount.bytes, (uint32_t)i,
			b->kind == LIVE_OF_MAPPINGS ? EVENT_LIVE_MAPPED : EVENT_LIVE,
			(uint64_t)b->amount.blocks };

		if (b->amount.blocks &&
			history_reading_add(&f->d, (uint32_t)f->begin.nr, &v, 1, e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Record what is live, from the NR events V at the beginning of a file other than the first; store
 * how many of them were used in *RET.
 */
static int
settle(struct follow *f, const struct event *v, size_t nr, size_t *ret, struct err *e)
{
	size_t i = f->has_time ? 0 : 1;

	f->has_time = true;
	for (; i < nr && is_live(&v[i]); i++)
		if (note_live(f, &v[i], e) < 0)
			return -1;
	*ret = i;
	if (i == nr && !f->part->has_begun)
		return 0;
	f->is_settled = true;
	return follow_continues(f)
		? 0
		: skip_gap(f, (f->part->head.ticks - f->part->base_ticks) * LOG_TICK_NS, e);
}

/* ---- reading ---- */

/* Read the next events of the present file; store their number in *RET.  0, or -1 with E. */
static int
read_events(struct follow *f, size_t *ret, struct err *e)
{
	struct recording *r = &f->part->r;
	struct event v[BATCH];
	size_t first = 0;

	if (r->ops->next(r, v, BATCH, ret, e) < 0)
		return -1;
	/* A file without events also begins with what is live, which is known once it has begun. */
	if (!*ret && (f->is_settled || !f->part->has_begun))
		return 0;
	if (!f->d.has_begun)
		history_reading_begin(&f->d, v, true);
	if (!f->is_settled && settle(f, v, *ret, &first, e) < 0)
		return -1;
	if (first < *ret && history_reading_add(&f->d, r->nr_sites, v + first, *ret - first, e) < 0)
		return -1;
	if (f->has_comments || !f->part->has_begun)
		return 0;
	f->has_comments = true;
	return log_say_before(f->log, f->part, e);
}

/* The present file was read to its current end; WAS_LOCKED before that.  0, or -1 with E. */
static int
end_part(struct follow *f, bool was_locked, enum follow_state *ret, struct err *e)
{
	const bool has_grown = f->part->nr_bytes != f->nr_bytes, has_end = f->part->has_end;
	int r;

	f->nr_bytes = f->part->nr_bytes;
	if (f->part->r.is_partial)
		profile_warn(f->log->r.facts, true, "%s", f->part->r.facts->warnings.v[0]);
	log_note_missing(f->log, f->part);
	f->is_closed = f->part->is_last || f->part->r.is_partial;
	*ret = f->is_closed ? FOLLOW_CLOSED : FOLLOW_WAIT;
	/* If files cannot be locked, a file that grows is being written. */
	if (f->is_closed || (!has_end && (was_locked || has_grown)))
		return 0;
	f->is_whole = has_end;
	r = next_file(f, e);
	*ret = r ? FOLLOW_MORE : FOLLOW_LEFT;
	return r < 0 ? -1 : 0;
}

int
follow_read(struct follow *f, enum follow_state *ret, struct err *e)
{
	size_t nr = 1, nr_before;
	bool is_locked;

	f->h.intervals.nr -= f->has_current;
	f->has_current = false;
	*ret = f->is_closed ? FOLLOW_CLOSED : FOLLOW_MORE;
	if (f->is_closed || (!f->part && next_file(f, e) < 0))
		return f->is_closed ? 0 : -1;
	is_locked = log_is_locked(f->file.fd);
	log_part_resume(f->part);
	nr_before = f->h.intervals.nr;
	for (int i = 0; i < BATCHES && nr && f->h.intervals.nr - nr_before < MANY_INTERVALS; i++)
		if (read_events(f, &nr, e) < 0)
			return -1;
	return nr ? 0 : end_part(f, is_locked, ret, e);
}

/* ---- the result ---- */

const struct history *
follow_history(const struct follow *f)
{
	return &f->h;
}

int
follow_show(struct follow *f, struct err *e)
{
	if (!f->d.has_begun || f->has_current)
		return 0;
	if (history_reading_end(&f->d, e) < 0)
		return -1;
	f->has_current = true;
	return 0;
}

uint64_t
follow_interval_ns(const struct follow *f, size_t i)
{
	const uint64_t ns = (f->h.first_interval + i) * f->h.interval_ns;

	return ns > f->dropped_ns ? ns : f->dropped_ns;
}

void
follow_drop(struct follow *f)
{
	f->h.intervals.nr = 0;
	f->h.first_interval = f->d.interval;
	f->dropped_ns = f->d.interval * f->h.interval_ns;
}

void
follow_end(struct follow *f, bool is_left)
{
	char shown[256];

	if (is_left)
		profile_warn(f->log->r.facts, true,
			"'%s' has no end: its writer was ended, and the last events may be missing",
			text_printable(f->file.path, shown, sizeof shown));
	log_say_missing(f->log);
}
