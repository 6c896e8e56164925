#include <config.h>

#include "recording/log-writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "os/place.h"
#include "recording/live.h"
#include "recording/log-file.h"
#include "recording/log-format.h"
#include "recording/log-writer-stacks.h"

#define DEFAULT_FILE_BYTES (UINT64_C(100) * 1000 * 1000)
#define LEAST_FILE_BYTES UINT64_C(4096)
#define DEFAULT_FILES 10
/* Records that are compressed at once. */
#define MAX_CHUNK_BYTES ((size_t)64 << 10)
/* The most that a buffer has besides events: a stack and its names, and the maps. */
#define MAX_STACK_BYTES ((size_t)512 << 10)

/* Delay of the next file after a failure: twice as long each time. */
#define LEAST_RETRY_NS UINT64_C(1000000000)
#define MOST_RETRY_NS UINT64_C(64000000000)

struct log_writer_site {
	struct live live;
	uint32_t begin; /* nr_begins of the file that has its stack; 0 if no file has it */
};

struct log_writer {
	char *dir, *name, *start; /* START as in the names of files */
	struct os_place place;	  /* of DIR */
	int dir_fd;		  /* descriptor of DIR, or -1; its name may lead elsewhere by now */
	uint32_t pid, max_files;
	uint64_t opened_ns, realtime_ns, max_file_bytes;
	size_t chunk_bytes, reserve_bytes;

	struct log_file file;	  /* fd -1 without a file, see log_writer_add() */
	struct log_buffer buffer; /* records to be appended to it */
	struct log_stacks stacks;
	struct log_pairs pairs;
	struct {
		struct log_writer_site *v;
		uint32_t nr;
	} sites;
	struct {
		uint32_t *v; /* numbers of the files, the oldest first */
		size_t nr, room;
	} kept;		     /* the existing files */
	uint32_t seq;	     /* of the present file */
	uint32_t nr_begins;  /* files begun, including those that failed */
	uint64_t time_ns;    /* of the last event */
	uint64_t ticks;	     /* that time as written, since opened_ns */
	uint64_t file_ticks; /* last time in the file */
	uint64_t file_events, begin_bytes;
	uint64_t drained_events;		/* part of file_events */
	uint64_t nr_unordered, unordered_bytes; /* from the last moment */
	bool has_lost; /* the present file failed, or the next one could not be begun */
	/* By memdiag's moments: times from the process may be wrong. */
	uint64_t moment_ns, begun_ns;	    /* of the last moment; of the present file */
	uint64_t retry_ns, retry_within_ns; /* when the next file may be begun */
	struct err failure;		    /* why the last attempt failed */
	struct log_written sum;
};

/* ---- names of files ---- */

/*
 * Return the path of a file, which the caller frees; NULL if memory runs out.  The names of one log
 * sort in the order of its files.
 */
static char *
log_writer_path_of(const struct log_writer *w, uint32_t seq)
{
	char *path;

	return asprintf(&path, "%s/memdiag.%s.%" PRIu32 ".%06" PRIu32 "%s", w->dir, w->start,
		       w->pid, seq, log_file_suffix) < 0
		? NULL
		: path;
}

/* Return the time as "20261123-154501.417", in UTC. */
static char *
start_text(uint64_t realtime_ns)
{
	const time_t seconds = (time_t)(realtime_ns / 1000000000);
	char date[32], *text;
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(date, sizeof date, "%Y%m%d-%H%M%S", &tm) ||
		asprintf(&text, "%s.%03u", date,
			(unsigned int)(realtime_ns % 1000000000 / 1000000)) < 0)
		return NULL;
	return text;
}

static void
forget_file(struct log_writer *w, size_t i)
{
	w->kept.nr--;
	memmove(w->kept.v + i, w->kept.v + i + 1, (w->kept.nr - i) * sizeof *w->kept.v);
}

/* Remove the oldest files until NR are left.  0, or -1 with E. */
static int
remove_files(struct log_writer *w, uint32_t nr, struct err *e)
{
	while (w->kept.nr > nr) {
		auto_free char *path = log_writer_path_of(w, w->kept.v[0]);

		if (!path)
			return err_set(e, ENOMEM, "cannot remove a file of the log");
		if (unlinkat(w->dir_fd, log_file_name(path), 0) == 0)
			w->sum.nr_removed++;
		else if (errno != ENOENT && errno != ENOTDIR)
			return err_set(e, errno, "cannot remove '%s'", path);
		forget_file(w, 0);
	}
	return 0;
}

/* ---- writing ---- */

/* Write the buffer to the file.  0, or -1 with E. */
static int
drain(struct log_writer *w, bool is_end, struct err *e)
{
	const uint64_t before = w->file.bytes;
	struct err ignored;

	if ((is_end ? log_file_end : log_file_append)(&w->file, w->buffer.v, w->buffer.nr, e) < 0)
		return -1;
	w->sum.raw_bytes += w->buffer.nr;
	w->sum.file_bytes += w->file.bytes - before;
	w->buffer.nr = 0;
	w->drained_events = w->file_events;
	/* Only now: if no events can be written, the existing ones must stay. */
	if (w->drained_events)
		remove_files(w, w->max_files, &ignored);
	return 0;
}

/* Append a record of NR numbers. */
static int
put_record(
	struct log_writer *w, enum log_code code, const uint64_t *numbers, size_t nr, struct err *e)
{
	uint8_t *at;

	if (log_buffer_reserve(&w->buffer, LOG_MAX_RECORD_BYTES, e) < 0)
		return -1;
	at = w->buffer.v + w->buffer.nr;
	*at++ = (uint8_t)code;
	for (size_t i = 0; i < nr; i++)
		at = log_put(at, numbers[i]);
	w->buffer.nr = (size_t)(at - w->buffer.v);
	return 0;
}

static int
log_writer_end_file(struct log_writer *w, bool is_last, struct err *e)
{
	return put_record(w, LOG_END, (uint64_t[]){ w->file_events, is_last }, 2, e) < 0
		? -1
		: drain(w, true, e);
}

/* ---- the beginning of a file ---- */

static int
log_writer_put_head(struct log_writer *w, struct err *e)
{
	const size_t magic = strlen(LOG_MAGIC), name = strnlen(w->name, LOG_MAX_NAME_BYTES);
	uint8_t *at;

	if (log_buffer_reserve(&w->buffer, magic + name + LOG_MAX_RECORD_BYTES, e) < 0)
		return -1;
	at = w->buffer.v + w->buffer.nr;
	memcpy(at, LOG_MAGIC, magic);
	at = log_put(at + magic, w->pid);
	at = log_put(at, w->seq);
	at = log_put(at, w->realtime_ns);
	at = log_put(at, w->opened_ns);
	at = log_put(at, w->ticks);
	at = log_put(at, name);
	memcpy(at, w->name, name);
	w->buffer.nr = (size_t)(at + name - w->buffer.v);
	return 0;
}

/* Write the stack of SITE, unless it is in the file. */
static int
log_writer_put_site(struct log_writer *w, uint32_t site, struct err *e)
{
	if (w->sites.v[site].begin == w->nr_begins)
		return 0;
	w->sites.v[site].begin = w->nr_begins;
	return log_stacks_put_site(&w->stacks, &w->buffer, site, e);
}

static int
log_writer_put_live(struct log_writer *w, uint32_t site, const struct live *l, struct err *e)
{
	const enum log_code code = l->kind == LIVE_OF_MAPPINGS ? LOG_LIVE_MAPPED : LOG_LIVE;
	const uint64_t numbers[] = { site, (uint64_t)l->amount.blocks, (uint64_t)l->amount.bytes };

	return log_writer_put_site(w, site, e) < 0 || put_record(w, code, numbers, 3, e) < 0 ? -1
											     : 0;
}

static int
put_all_live(struct log_writer *w, struct err *e)
{
	for (uint32_t i = 0; i < w->sites.nr; i++) {
		const struct live *l = &w->sites.v[i].live;

		if (l->amount.blocks && log_writer_put_live(w, i, l, e) < 0)
			return -1;
		if (w->buffer.nr >= w->chunk_bytes && drain(w, false, e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Open the directory if necessary.  Its name is looked up again only if it was removed, and then in
 * the directory that it was in.
 */
static int
have_directory(struct log_writer *w, struct err *e)
{
	struct stat st;

	if (w->dir_fd >= 0 && fstat(w->dir_fd, &st) == 0 && st.st_nlink)
		return 0;
	cleanup_fd(&w->dir_fd);
	w->dir_fd = os_place_open_dir(&w->place, true);
	return w->dir_fd < 0 ? err_set(e, errno, "cannot make the directory '%s'", w->dir) : 0;
}

static int
create_file(struct log_writer *w, struct err *e)
{
	auto_free char *path = NULL;

	if (have_directory(w, e) < 0)
		return -1;
	path = log_writer_path_of(w, w->seq + 1);
	if (!path)
		return err_set(e, ENOMEM, "cannot write the log");
	return log_file_create(&w->file, w->dir_fd, path, e);
}

/* Write the beginning of a file, before its first event. */
static int
put_begin(struct log_writer *w, struct err *e)
{
	w->nr_begins++;
	w->buffer.nr = 0;
	w->file_ticks = w->ticks;
	w->file_events = w->drained_events = 0;
	w->pairs = (struct log_pairs){ 0 };
	log_stacks_restart(&w->stacks);
	return log_writer_put_head(w, e) < 0 ||
			log_stacks_put_maps(&w->stacks, &w->buffer, true, e) < 0 ||
			put_all_live(w, e) < 0
		? -1
		: drain(w, false, e);
}

static int
remove_present(const struct log_writer *w)
{
	return unlinkat(w->dir_fd, log_file_name(w->file.path), 0);
}

/* Begin the next file with the live amounts.  0, or -1 with E and without a file. */
static int
begin_file(struct log_writer *w, struct err *e)
{
	uint32_t *kept;

	/* If one too many has no events yet, or could not be removed, make no other file. */
	if (remove_files(w, w->max_files, e) < 0)
		return -1;
	kept = array_add(&w->kept);
	if (!kept)
		return err_set(e, ENOMEM, "cannot write the log");
	*kept = w->seq + 1;
	if (create_file(w, e) < 0) {
		w->kept.nr--;
		return -1;
	}
	w->seq++;
	w->sum.nr_files++;
	if (put_begin(w, e) < 0) {
		log_file_abandon(&w->file);
		remove_present(w);
		w->kept.nr--;
		w->seq--;
		w->sum.nr_files--;
		return -1;
	}
	w->begin_bytes = w->file.bytes;
	w->begun_ns = w->moment_ns;
	w->has_lost = false;
	return 0;
}

/* Write the buffer, and begin another file if this one is full.  0, or -1 with E. */
static int
drain_and_rotate(struct log_writer *w, struct err *e)
{
	if (drain(w, false, e) < 0)
		return -1;
	if (w->file.bytes + w->reserve_bytes <= w->max_file_bytes ||
		w->file.bytes < 2 * w->begin_bytes)
		return 0;
	return log_writer_end_file(w, false, e) < 0 ? -1 : begin_file(w, e);
}

/* ---- events ---- */

/* Make room for SITE. */
static int
reserve_site(struct log_writer *w, uint32_t site, struct err *e)
{
	uint32_t nr = w->sites.nr ? w->sites.nr : 1024;
	struct log_writer_site *bigger;

	if (site < w->sites.nr)
		return 0;
	while (nr <= site)
		nr *= 2;
	bigger = realloc(w->sites.v, nr * sizeof *bigger);
	if (!bigger)
		return err_set(e, ENOMEM, "cannot keep what is live");
	memset(bigger + w->sites.nr, 0, (nr - w->sites.nr) * sizeof *bigger);
	w->sites.v = bigger;
	w->sites.nr = nr;
	return 0;
}

static int
log_writer_put_time(struct log_writer *w, struct err *e)
{
	const uint64_t ticks = w->ticks - w->file_ticks;

	w->file_ticks = w->ticks;
	return ticks ? put_record(w, LOG_TIME, &ticks, 1, e) : 0;
}

static void
log_writer_set_time(struct log_writer *w, uint64_t time_ns)
{
	const uint64_t ticks = time_ns > w->opened_ns ? (time_ns - w->opened_ns) / LOG_TICK_NS : 0;

	w->time_ns = time_ns;
	if (ticks > w->ticks && ticks < LOG_MAX_TICKS)
		w->ticks = ticks;
}

static inline bool
is_pair(const struct log_pair *p, const struct event *v)
{
	return p->bytes == v->bytes && p->site == v->site && p->is_used;
}

/* Write an event whose pair is in no dictionary. */
static int
put_written(struct log_writer *w, const struct event *v, struct log_pair *first,
	struct log_pair *second, struct err *e)
{
	*first = *second = (struct log_pair){ v->bytes, v->site, true };
	return log_writer_put_site(w, v->site, e) < 0 ||
			put_record(w, (enum log_code)(LOG_WRITTEN + v->kind),
				(uint64_t[]){ v->site, v->bytes }, 2, e) < 0
		? -1
		: 0;
}

static int
log_writer_put_mapping(struct log_writer *w, const struct event *v, struct err *e)
{
	return log_writer_put_site(w, v->site, e) < 0 ||
			put_record(w, (enum log_code)(LOG_MAPPED + v->kind - EVENT_MAPPED),
				(uint64_t[]){ v->site, v->bytes }, 2, e) < 0
		? -1
		: 0;
}

static inline int
put_event(struct log_writer *w, const struct event *v, struct err *e)
{
	const uint32_t slot = log_slot(v->site, v->bytes);
	struct log_pair *first = &w->pairs.first[slot % LOG_FIRST_SLOTS], *second;
	uint8_t *at = w->buffer.v + w->buffer.nr;

	if (is_pair(first, v)) {
		*at = (uint8_t)(LOG_FIRST + v->kind * LOG_FIRST_SLOTS + slot % LOG_FIRST_SLOTS);
		w->buffer.nr++;
		return 0;
	}
	second = &w->pairs.second[slot];
	if (!is_pair(second, v))
		return put_written(w, v, first, second, e);
	*first = *second;
	*at++ = (uint8_t)(LOG_SECOND + v->kind * 16 + (slot >> 8));
	*at = (uint8_t)slot;
	w->buffer.nr += 2;
	return 0;
}

/*
 * Give up a file that could not be written, by E.  A gap in the numbers shows that the next file
 * does not continue it.
 */
static void
give_up_file(struct log_writer *w, const struct err *e)
{
	const bool was_good = w->file.fd >= 0 && w->moment_ns - w->begun_ns >= MOST_RETRY_NS;

	/* Remove the present file if it has no event: it would replace one that has some. */
	if (w->file.fd >= 0 && !w->drained_events && w->kept.nr >= 2 && remove_present(w) == 0) {
		w->sum.nr_files--;
		forget_file(w, w->kept.nr - 1);
	}
	log_file_abandon(&w->file);
	w->buffer.nr = 0;
	w->seq += !w->has_lost;
	w->has_lost = true;
	w->failure = *e;
	w->retry_within_ns = was_good || !w->retry_within_ns ? LEAST_RETRY_NS
		: w->retry_within_ns < MOST_RETRY_NS	     ? 2 * w->retry_within_ns
							     : MOST_RETRY_NS;
	w->retry_ns = w->moment_ns + w->retry_within_ns;
}

static inline int
write_event(struct log_writer *w, const struct event *v, struct err *e)
{
	if ((w->ticks != w->file_ticks && log_writer_put_time(w, e) < 0) ||
		log_buffer_reserve(&w->buffer, LOG_MAX_RECORD_BYTES, e) < 0 ||
		(event_is_of_mapping(v->kind) ? log_writer_put_mapping(w, v, e)
					      : put_event(w, v, e)) < 0)
		return -1;
	w->file_events++;
	w->sum.nr_events++;
	return 0;
}

/* Add V, which counts from here on, also if it cannot be written.  0, or -1 with E. */
static inline int
log_writer_add_event(struct log_writer *w, const struct event *v, struct err *e)
{
	if (v->kind > EVENT_SHRUNK || v->site >= WIRE_SITES_MAX_SITES) {
		w->sum.nr_unmatched++;
		return 0;
	}
	if (v->site >= w->sites.nr && reserve_site(w, v->site, e) < 0)
		return -1;
	if (v->time_ns != w->time_ns)
		log_writer_set_time(w, v->time_ns);
	if (live_add(&w->sites.v[v->site].live, v) != LIVE_ADDED) {
		w->sum.nr_unmatched++;
		w->sum.unmatched_bytes += v->bytes;
		return 0;
	}
	if (w->file.fd >= 0)
		return write_event(w, v, e);
	w->sum.nr_lost++;
	return 0;
}

int
log_writer_add(struct log_writer *w, const struct event *v, size_t nr, struct err *e)
{
	int failed = 0;

	for (size_t i = 0; i < nr; i++) {
		/* Before the event counts: another file begins with the amounts live before it. */
		if (w->buffer.nr >= w->chunk_bytes && drain_and_rotate(w, e) < 0) {
			give_up_file(w, e);
			failed = -1;
		}
		if (log_writer_add_event(w, &v[i], e) < 0) {
			give_up_file(w, e);
			failed = -1;
		}
	}
	return failed;
}

/* ---- rounds ---- */

/* Write the number of unordered events since the last moment, unless it is 0. */
static int
put_unordered(struct log_writer *w, const struct log_moment *m, struct err *e)
{
	const uint64_t numbers[] = { m->nr_unordered - w->nr_unordered,
		m->unordered_bytes - w->unordered_bytes, m->nr_unordered, m->unordered_bytes };

	if (!numbers[0])
		return 0;
	w->nr_unordered = m->nr_unordered;
	w->unordered_bytes = m->unordered_bytes;
	return put_record(w, LOG_UNORDERED, numbers, sizeof numbers / sizeof *numbers, e);
}

static int
put_moment(struct log_writer *w, const struct log_moment *m, struct err *e)
{
	const uint64_t numbers[] = { m->rss_bytes, m->nr_dropped, m->dropped_bytes,
		w->sum.nr_unmatched, w->sum.unmatched_bytes };

	if (put_unordered(w, m, e) < 0)
		return -1;
	log_writer_set_time(w, m->time_ns);
	return log_stacks_put_maps(&w->stacks, &w->buffer, false, e) < 0 ||
			log_writer_put_time(w, e) < 0
		? -1
		: put_record(w, LOG_MOMENT, numbers, sizeof numbers / sizeof *numbers, e);
}

/* Check that the open file still has a name, or begin one.  0, or -1 with E. */
static int
have_file(struct log_writer *w, struct err *e)
{
	return w->file.fd >= 0 ? log_file_check(&w->file, e) : begin_file(w, e);
}

int
log_writer_flush(struct log_writer *w, const struct log_moment *m, struct err *e)
{
	if (m->time_ns > w->moment_ns)
		w->moment_ns = m->time_ns;
	if (w->file.fd < 0 && w->moment_ns < w->retry_ns) {
		*e = w->failure;
		return -1;
	}
	if (have_file(w, e) == 0 && put_moment(w, m, e) == 0 && drain_and_rotate(w, e) == 0)
		return 0;
	give_up_file(w, e);
	return -1;
}

uint32_t
log_writer_most_files(uint32_t max_files)
{
	return max_files ? max_files : DEFAULT_FILES;
}

int
log_writer_set_files(struct log_writer *w, uint32_t max_files, struct err *e)
{
	w->max_files = log_writer_most_files(max_files);
	return remove_files(w, w->max_files, e);
}

struct log_written
log_writer_sum(const struct log_writer *w)
{
	struct log_written sum = w->sum;

	sum.nr_unknown = w->stacks.nr_unknown;
	sum.file = w->file.fd >= 0 ? w->file.path : NULL;
	return sum;
}

/* ---- the log ---- */

static void
writer_free(struct log_writer *w)
{
	log_file_release(&w->file);
	os_place_release(&w->place);
	cleanup_fd(&w->dir_fd);
	log_stacks_release(&w->stacks);
	free(w->buffer.v);
	free(w->sites.v);
	free(w->kept.v);
	free(w->dir);
	free(w->name);
	free(w->start);
	free(w);
}

int
log_writer_open(struct log_writer **ret, const struct log_settings *s,
	const struct log_namer *names, struct err *e)
{
	struct log_writer *w = calloc(1, sizeof *w);

	if (!w)
		return err_set(e, ENOMEM, "cannot write the log");
	w->file.fd = w->dir_fd = -1;
	w->place = OS_PLACE_NONE;
	w->stacks.names = *names;
	w->pid = s->pid;
	w->opened_ns = w->time_ns = w->moment_ns = s->opened_ns;
	w->realtime_ns = s->realtime_ns;
	w->max_files = log_writer_most_files(s->max_files);
	w->dir = strdup(s->dir);
	w->name = strdup(s->name);
	w->start = start_text(s->realtime_ns);
	w->max_file_bytes = s->max_file_bytes ? s->max_file_bytes : DEFAULT_FILE_BYTES;
	if (w->max_file_bytes < LEAST_FILE_BYTES)
		w->max_file_bytes = LEAST_FILE_BYTES;
	w->chunk_bytes =
		w->max_file_bytes / 16 < MAX_CHUNK_BYTES ? w->max_file_bytes / 16 : MAX_CHUNK_BYTES;
	w->reserve_bytes = log_file_bound(w->chunk_bytes) +
		(w->max_file_bytes / 8 < MAX_STACK_BYTES ? w->max_file_bytes / 8 : MAX_STACK_BYTES);
	if (!w->dir || !w->name || !w->start)
		err_set(e, ENOMEM, "cannot write the log");
	else if (os_place_find(&w->place, w->dir, e) == 0 && begin_file(w, e) == 0) {
		*ret = w;
		return 0;
	}
	writer_free(w);
	return -1;
}

int
log_writer_close(struct log_writer *w, struct err *e)
{
	struct err ignored;
	int failed;

	if (!w)
		return 0;
	failed = w->file.fd >= 0 ? log_writer_end_file(w, true, e) : 0;
	if (failed)
		log_file_abandon(&w->file);
	else
		/* The last file may have no events, and the others are one too many. */
		remove_files(w, w->max_files, &ignored);
	writer_free(w);
	return failed;
}
