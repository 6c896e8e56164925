#include <config.h>

#include "recording/log-reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "recording/log-stacks.h"

static size_t
nr_parts(const struct recording *r)
{
	const struct log *l = (const struct log *)r;

	return l->files.nr - l->first;
}

static struct log_file_at *
log_reader_file_of(const struct recording *r, size_t part)
{
	const struct log *l = (const struct log *)r;

	return &l->files.v[l->first + part];
}

struct stream *
log_open_stream(const struct log *l, const struct log_file_at *f, struct err *e)
{
	struct stream *s;
	int fd;

	if (f->fd < 0)
		return stream_of_memory(l->data, l->data_bytes, f->path, e);
	fd = dup(f->fd);
	if (fd < 0) {
		err_set(e, errno, "cannot read '%s'", f->path);
		return NULL;
	}
	s = stream_of_file(fd, f->path, e);
	if (s && stream_rewind(s, e) < 0) {
		stream_free(s);
		return NULL;
	}
	return s;
}

bool
log_is_locked(int fd)
{
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

static int
log_reader_open_part(struct recording *r, size_t part, struct recording **ret, struct err *e)
{
	const struct log *l = (const struct log *)r;
	struct log_file_at *f = log_reader_file_of(r, part);
	struct stream *s = log_open_stream(l, f, e);
	struct log_part *p;

	if (!l->is_known)
		f->is_written = log_is_locked(f->fd);
	if (!s || log_part_open(&p, s, f->path, e) < 0)
		return -1;
	p->base_ticks = log_reader_file_of(r, 0)->head.ticks;
	if (p->head.ticks < p->base_ticks || p->head.number != f->head.number) {
		recording_free(&p->r);
		return err_set(e, 0, "cannot read '%s' again: it has changed", f->path);
	}
	if (l->is_known)
		log_part_limit(p, f->nr_bytes);
	*ret = &p->r;
	return 0;
}

/* ---- comments and warnings ---- */

static int comment(struct log *l, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int
comment(struct log *l, struct err *e, const char *fmt, ...)
{
	auto_free char *text = NULL;
	__builtin_va_list ap;
	int n;

	__builtin_va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	__builtin_va_end(ap);
	if (n < 0) {
		text = NULL;
		return err_set(e, ENOMEM, "cannot read the log");
	}
	return profile_comment(l->r.facts, text, e);
}

int
log_say_begin(struct log *l, const struct log_head *h, struct err *e)
{
	const uint64_t ns = h->realtime_ns + h->ticks * LOG_TICK_NS;
	const time_t seconds = (time_t)(ns / 1000000000);
	char date[64] = "?", zone[16] = "", name[512];
	struct tm tm;

	l->r.facts->pid = (int64_t)h->pid;
	l->r.facts->time_ns = ns;
	if (localtime_r(&seconds, &tm)) {
		strftime(date, sizeof date, "%F %T", &tm);
		strftime(zone, sizeof zone, "%z", &tm);
	}
	if (comment(l, e, "%s (%" PRIu64 "), from %s.%03u %s",
		    text_printable(h->name, name, sizeof name), h->pid, date,
		    (unsigned int)(ns / 1000000 % 1000), zone) < 0)
		return -1;
	if (h->ticks)
		return comment(l, e,
			"the log began %" PRIu64 ".%03u s before; its first file is number %" PRIu64
			" now",
			h->ticks / 1000, (unsigned int)(h->ticks % 1000), h->number);
	return 0;
}

int
log_say_before(struct log *l, const struct log_part *p, struct err *e)
{
	const struct amount *live = &p->live_before, *mapped = &p->mapped_before;
	char size[32];

	if (live->blocks &&
		comment(l, e,
			"%" PRId64
			" blocks (%s) were live before; they count as allocated at its begin",
			live->blocks, text_bytes((uint64_t)live->bytes, size, sizeof size)) < 0)
		return -1;
	if (!mapped->blocks)
		return 0;
	return comment(l, e,
		"%" PRId64 " mappings (%s) were there before; they count as mapped at its begin",
		mapped->blocks, text_bytes((uint64_t)mapped->bytes, size, sizeof size));
}

void
log_note_missing(struct log *l, const struct log_part *p)
{
	if (p->nr_dropped > l->nr_dropped) {
		l->nr_dropped = p->nr_dropped;
		l->dropped_bytes = p->dropped_bytes;
	}
	l->lacks_stamps |= !p->has_stamps;
	if (p->nr_unordered > l->nr_unordered) {
		l->nr_unordered = p->nr_unordered;
		l->unordered_bytes = p->unordered_bytes;
	}
	if (p->nr_unmatched > l->nr_unmatched) {
		l->nr_unmatched = p->nr_unmatched;
		l->unmatched_bytes = p->unmatched_bytes;
	}
}

void
log_say_missing(struct log *l)
{
	char size[32];

	if (l->lacks_stamps)
		profile_warn(l->r.facts, false,
			"an older memdiag has written it: where several threads allocate, maxima are not exact");
	if (l->nr_unordered)
		profile_warn(l->r.facts, false,
			"the order of %" PRIu64 " allocations and frees (%s) among those of other "
			"threads is not known: maxima may be off by so much",
			l->nr_unordered, text_bytes(l->unordered_bytes, size, sizeof size));

	if (l->nr_dropped)
		profile_warn(l->r.facts, true,
			"%" PRIu64 " allocations and frees (%s) are missing: the process had no "
			"room for them",
			l->nr_dropped, text_bytes(l->dropped_bytes, size, sizeof size));
	if (l->nr_unmatched)
		profile_warn(l->r.facts, true,
			"%" PRIu64 " events (%s) did not fit to what was live, and are left out",
			l->nr_unmatched, text_bytes(l->unmatched_bytes, size, sizeof size));
}

/* Take over the facts of PART, which was read for the first time. */
static int
log_reader_learn(struct log *l, size_t part, struct log_part *p, struct err *e)
{
	struct log_file_at *f = log_reader_file_of(&l->r, part);
	const bool is_last = part + 1 == nr_parts(&l->r);
	char shown[256];
	int merged;

	f->nr_bytes = p->nr_bytes;
	f->is_whole = p->has_end;
	merged = log_names_merge(&l->names, &p->names);
	if (merged <= 0)
		return merged < 0
			? err_set(e, ENOMEM, "cannot read the log")
			: err_set(e, 0,
				  "cannot read '%s': what it says of stacks differs from the files before it",
				  text_printable(f->path, shown, sizeof shown));
	if (p->r.nr_sites > l->r.nr_sites)
		l->r.nr_sites = p->r.nr_sites;
	if (part == 0 && (log_say_begin(l, &p->head, e) < 0 || log_say_before(l, p, e) < 0))
		return -1;
	log_note_missing(l, p);
	/* A part without an end that is not the last is dropped with those before it. */
	if (!is_last)
		return 0;
	if (p->r.is_partial) {
		l->r.is_partial = true;
		profile_warn(l->r.facts, true, "%s", p->r.facts->warnings.v[0]);
	} else if (!p->has_end && !f->is_written) {
		l->r.is_partial = true;
		profile_warn(l->r.facts, true,
			"'%s' has no end: its writer was ended, and the last events may be missing",
			text_printable(f->path, shown, sizeof shown));
	}
	log_say_missing(l);
	l->is_known = true;
	return 0;
}

static int
part_done(struct recording *r, size_t part, struct recording *opened, struct err *e)
{
	struct log *l = (struct log *)r;

	return l->is_known ? 0 : log_reader_learn(l, part, (struct log_part *)opened, e);
}

static bool
has_begun(const struct recording *opened)
{
	return ((const struct log_part *)opened)->has_begun;
}

static bool
is_whole(const struct recording *r, size_t part)
{
	return log_reader_file_of(r, part)->is_whole;
}

static int
drop_before(struct recording *r, size_t part, struct err *e)
{
	struct log *l = (struct log *)r;
	char shown[256];
	struct profile *facts = profile_new();

	/* Discard the comments and names of the parts so far. */
	if (!facts)
		return err_set(e, ENOMEM, "cannot read the log");
	for (size_t i = 0; i < l->r.facts->warnings.nr; i++)
		profile_warn(facts, false, "%s", l->r.facts->warnings.v[i]);
	profile_free(l->r.facts);
	l->r.facts = facts;
	log_names_release(&l->names);
	l->r.nr_sites = 0;
	l->first += part;
	profile_warn(l->r.facts, true,
		"there is a gap before '%s': it does not begin where the file before ends; "
		"what is before the gap is not shown",
		text_printable(log_reader_file_of(r, 0)->path, shown, sizeof shown));
	return 0;
}

static const struct recording_parts parts = {
	.nr = nr_parts,
	.open = log_reader_open_part,
	.done = part_done,
	.has_begun = has_begun,
	.is_whole = is_whole,
	.drop_before = drop_before,
};

/* ---- a log ---- */

static void
free_log(struct recording *r)
{
	struct log *l = (struct log *)r;

	profile_free(l->r.facts);
	log_files_release(&l->files);
	log_names_release(&l->names);
	free(l->mappings.v);
	hash_release(&l->made.frames);
	free(l->made.of_node_1);
	free(l);
}

static const struct recording_ops ops = {
	.parts = &parts,
	.begin = log_begin,
	.sample = log_sample,
	.free = free_log,
};

struct log *
log_of(struct recording *r)
{
	return r->ops == &ops ? (struct log *)r : NULL;
}

/* Make an empty log; NULL with E. */
static struct log *
log_new(const char *name, struct err *e)
{
	struct log *l = calloc(1, sizeof *l);

	if (l)
		l->r.facts = profile_new();
	if (!l || !l->r.facts) {
		free(l);
		err_set(e, ENOMEM, "cannot read '%s'", name);
		return NULL;
	}
	l->r.ops = &ops;
	l->r.format = "memdiag-log";
	l->r.has_mappings = true;
	return l;
}

/*
 * Open a log of one file: FD, or if that is -1 the LEN bytes at DATA; S is a stream of it.  S and
 * FD are taken over.
 */
static int
log_open_one(struct recording **ret, struct stream *s, int fd, const char *name, const char *data,
	size_t len, struct err *e)
{
	struct log *l = log_new(name, e);
	struct log_file_at *f = l ? array_add(&l->files) : NULL;
	struct log_part *p;

	if (!f) {
		if (fd >= 0)
			close(fd);
	} else {
		l->data = data;
		l->data_bytes = len;
		f->fd = fd;
		f->path = strdup(name);
	}
	if (!f || !f->path) {
		stream_free(s);
		err_set(e, ENOMEM, "cannot read '%s'", name);
	} else if (log_part_open(&p, s, f->path, e) == 0) {
		f->head = p->head;
		recording_free(&p->r);
		*ret = &l->r;
		return 0;
	}
	if (l)
		free_log(&l->r);
	return -1;
}

int
log_open_file(struct recording **ret, struct stream *s, int fd, const char *path, struct err *e)
{
	return log_open_one(ret, s, fd, path, NULL, 0, e);
}

int
log_parse(struct recording **ret, struct stream *s, const char *name, const char *data, size_t len,
	struct err *e)
{
	return log_open_one(ret, s, -1, name, data, len, e);
}

/* Warn of files in the directory that are not read. */
static void
say_others(struct log *l, const char *path)
{
	const struct log_files *f = &l->files;
	char shown[256];

	if (f->nr_others)
		profile_warn(l->r.facts, false,
			"%zu other log%s in '%s'; name a file to read another one", f->nr_others,
			f->nr_others == 1 ? " is" : "s are",
			text_printable(path, shown, sizeof shown));

	if (f->nr_refused)
		profile_warn(
			l->r.facts, true, "%zu files are not read: %s", f->nr_refused, f->e.msg);
	if (f->nr_older)
		profile_warn(l->r.facts, true,
			"%zu older files of the log are not shown: the number %" PRIu64
			" is missing",
			f->nr_older, f->v[0].head.number - 1);
}

int
log_open_directory(
	struct recording **ret, const char *path, const struct recording_log *which, struct err *e)
{
	struct log *l = log_new(path, e);

	if (!l)
		return -1;
	if (log_files_find(&l->files, path, which, e) < 0) {
		free_log(&l->r);
		return -1;
	}
	say_others(l, path);
	*ret = &l->r;
	return 0;
}
