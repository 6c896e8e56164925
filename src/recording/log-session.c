#include <config.h>

#include "recording/log-session.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/ahead.h"
#include "os/clock.h"
#include "os/counter.h"
#include "os/life.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "wire/maps-text.h"
#include "wire/maps.h"

struct log_session {
	struct log_session_settings set;
	struct wire_sites head; /* from the last round */
	uint32_t opening;	/* of the log that is being written */
	uint64_t ahead_ns;	/* of the process's clock, modulo 2^64: see find_ahead() */
	bool is_over;		/* it was ended, or opened again */
	struct log_drain *drain;
	struct log_writer *writer;
	struct wire_log_writer said; /* last state reported in the head of the log */
	bool has_all;		     /* the last round was made */
	struct err failure;	     /* of a file that could not be written; no kind if all could */
	struct text maps;
	uint32_t nr_maps_nodes; /* when they were read */
	char *merged;		/* owned: the present and past mappings (wire/maps.h) */
};

/* ---- the head of a log ---- */

static int
read_sites_head(struct wire_sites *ret, const struct log_source *s, struct err *e)
{
	if (log_source_read(s, 0, ret, sizeof *ret, e) < 0)
		return -1;
	return wire_sites_is_valid(ret, UINT64_MAX)
		? 0
		: err_set_kind(e, ERR_UNSUPPORTED, 0,
			  "what was recorded is of another memdiag, or damaged");
}

static int
no_log(struct err *e)
{
	err_set_kind(e, ERR_UNSUPPORTED, 0, "the record has no log");
	return err_hint(e,
		"It was begun without one (--mode log-fast begins one), or the process has no memory for one (ulimit -v, ulimit -d, its cgroup), no vDSO, or has forbidden itself the time stamp counter");
}

/* Read the head; store its place in *RET_AT. */
static int
log_session_read_head(
	struct wire_log *ret, uint64_t *ret_at, const struct log_source *s, struct err *e)
{
	struct wire_sites head;

	if (read_sites_head(&head, s, e) < 0)
		return -1;
	if (!head.log_at)
		return no_log(e);
	*ret_at = head.log_at;
	if (log_source_read(s, head.log_at, ret, sizeof *ret, e) < 0)
		return -1;
	ret->writer.dir[sizeof ret->writer.dir - 1] = '\0';
	return ret->magic == WIRE_LOG_MAGIC ? 0 : no_log(e);
}

int
log_head_read(struct wire_log *ret, const struct log_source *s, struct err *e)
{
	uint64_t at;

	return log_session_read_head(ret, &at, s, e);
}

int
log_head_close(const struct log_source *s, struct err *e)
{
	const uint32_t closed = 0;
	struct wire_log l;
	uint64_t at;

	if (log_session_read_head(&l, &at, s, e) < 0)
		return -1;
	return log_source_write(
		s, at + offsetof(struct wire_log, is_open), &closed, sizeof closed, e);
}

int
log_head_set_files(const struct log_source *s, uint32_t max_files, struct err *e)
{
	struct wire_log l;
	uint64_t at;

	if (log_session_read_head(&l, &at, s, e) < 0)
		return -1;
	return log_source_write(s, at + offsetof(struct wire_log, writer.max_files), &max_files,
		sizeof max_files, e);
}

/* ---- names ---- */

static int
give_site(void *context, uint32_t site, struct wire_site *ret, struct err *e)
{
	const struct log_session *s = context;

	if (site >= s->head.max_sites)
		return err_set(e, 0, "the log is damaged: it has site %" PRIu32, site);
	return log_source_read(&s->set.source, s->head.sites_at + (uint64_t)site * sizeof *ret, ret,
		sizeof *ret, e);
}

static int
give_node(void *context, uint32_t node, struct wire_node *ret, struct err *e)
{
	const struct log_session *s = context;

	if (node >= s->head.max_nodes)
		return err_set(e, 0, "the log is damaged: it has node %" PRIu32, node);
	return log_source_read(&s->set.source, s->head.nodes_at + (uint64_t)node * sizeof *ret, ret,
		sizeof *ret, e);
}

/* Read a text of the agent, of BYTES but at most MOST, at AT.  The caller frees it; NULL with E. */
static char *
log_session_read_text(const struct log_session *s, uint64_t at, uint32_t bytes, uint32_t most,
	size_t *ret_len, struct err *e)
{
	char *text;

	*ret_len = bytes < most ? bytes : most;
	text = malloc(*ret_len + 1);
	if (!text) {
		err_set(e, ENOMEM, "cannot read what is mapped");
		return NULL;
	}
	if (log_source_read(&s->set.source, at, text, *ret_len, e) == 0)
		return text;
	free(text);
	return NULL;
}

/* New code has new nodes: without new nodes, the mappings that matter have not changed. */
static void
log_session_read_maps(struct log_session *s)
{
	struct text now = { 0 };
	struct err ignored;

	if (!s->set.target || s->head.nr_leaving || s->nr_maps_nodes == s->head.nr_nodes)
		return;
	if (os_proc_read(s->set.target, 0, "maps", &now, &ignored) < 0)
		return;
	if (!now.len) {
		text_release(&now);
		return;
	}
	text_release(&s->maps);
	now.len = wire_maps_keep_code(now.v, now.len);
	s->maps = now;
	s->nr_maps_nodes = s->head.nr_nodes;
}

/*
 * Give the mappings.  The agent records them before an exec, and where memdiag cannot read the maps
 * itself.
 */
static int
give_maps(void *context, const char **ret, struct err *e)
{
	struct log_session *s = context;
	const uint32_t which = s->head.maps_now & 1;
	struct wire_maps_texts texts;
	auto_free char *seen = NULL, *agents = NULL;

	log_session_read_maps(s);
	seen = log_session_read_text(
		s, s->head.seen_at, s->head.seen_bytes, WIRE_SEEN_BYTES, &texts.seen_bytes, e);
	if (!seen)
		texts.seen_bytes = 0; /* the process has just ended: its mappings are known */
	if (!s->maps.len)
		agents = log_session_read_text(s, s->head.maps_at + which * WIRE_MAPS_BYTES,
			s->head.maps_bytes[which], WIRE_MAPS_BYTES, &texts.maps_bytes, e);
	else
		texts.maps_bytes = s->maps.len;
	texts.seen = seen ? seen : "";
	texts.maps = s->maps.len ? s->maps.v : agents;
	if (!texts.maps)
		return -1;
	free(s->merged);
	s->merged = wire_maps_text(&texts);
	*ret = s->merged;
	return s->merged ? 0 : err_set(e, ENOMEM, "cannot read what is mapped");
}

/* ---- the reported state ---- */

static uint32_t
log_session_count(uint64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Report all members but max_files, which other memdiags may change. */
static int
say_numbers(struct log_session *s, struct err *e)
{
	const struct log_written w = log_writer_sum(s->writer);
	const struct log_drain_state d = log_drain_state(s->drain);
	const uint64_t from = offsetof(struct wire_log_writer, nr_files),
		       to = offsetof(struct wire_log_writer, dir);

	s->said.nr_files = w.nr_files;
	s->said.nr_removed = w.nr_removed;
	s->said.nr_damaged = log_session_count(d.nr_damaged);
	s->said.nr_events = w.nr_events;
	s->said.nr_lost = w.nr_lost;
	s->said.nr_unmatched = w.nr_unmatched;
	s->said.raw_bytes = w.raw_bytes;
	s->said.file_bytes = w.file_bytes;
	s->said.round_ns = os_now_ns();
	return log_source_write(&s->set.source,
		s->head.log_at + offsetof(struct wire_log, writer) + from,
		(const char *)&s->said + from, to - from, e);
}

/* ---- beginning ---- */

#define MAX_NAMES 100

/* A smaller difference comes from ticks, or from a change of the real time. */
#define LEAST_AHEAD_NS UINT64_C(1000000000)

/*
 * Return how far the CLOCK_MONOTONIC of the process is ahead of ours, in another time namespace.  A
 * process that is known only by its log L, which it has opened itself, has recorded the real time
 * as well, which is the same in all namespaces.
 */
static uint64_t
find_ahead(const struct log_session *s, const struct wire_log *l)
{
	uint64_t ahead_ns = 0;
	bool is_little;

	if (s->set.target)
		return os_clock_ahead(s->set.target, &ahead_ns) ? ahead_ns : 0;
	ahead_ns = (l->opened_ns - s->head.started_ns) - (os_now_ns() - os_real_ns());
	is_little = ahead_ns < LEAST_AHEAD_NS || UINT64_MAX - ahead_ns < LEAST_AHEAD_NS;
	return l->nr_openings != 1 || is_little ? 0 : ahead_ns;
}

static int
open_writer(struct log_session *s, const struct wire_log *l, struct err *e)
{
	const struct log_namer names = { s, give_site, give_node, give_maps };
	const uint64_t now_ns = os_now_ns() + s->ahead_ns;
	struct log_settings settings = { .dir = s->set.dir,
		.name = s->head.name,
		.pid = (uint32_t)s->set.pid,
		.opened_ns = l->opened_ns && l->opened_ns <= now_ns ? l->opened_ns : now_ns,
		.max_file_bytes = s->set.max_file_bytes,
		.max_files = s->set.max_files };

	s->head.name[sizeof s->head.name - 1] = '\0';
	settings.realtime_ns = os_real_ns() - (now_ns - settings.opened_ns);
	/* Programs that a process runs in turn may begin in the same millisecond. */
	for (unsigned int i = 0; log_writer_open(&s->writer, &settings, &names, e) < 0; i++) {
		if (e->code != EEXIST || i == MAX_NAMES)
			return -1;
		settings.realtime_ns += 1000000;
	}
	s->said.realtime_ns = settings.realtime_ns;
	s->said.opened_ns = settings.opened_ns;
	return 0;
}

static int
log_session_begin(struct log_session *s, struct err *e)
{
	struct wire_log l;
	uint64_t at;

	/* The head is of use only once it is open, as log_drain_new() finds. */
	if (read_sites_head(&s->head, &s->set.source, e) < 0 ||
		log_session_read_head(&l, &at, &s->set.source, e) < 0 ||
		log_drain_new(&s->drain, &s->set.source, &s->head, os_counter_is_steady(), e) < 0 ||
		log_session_read_head(&l, &at, &s->set.source, e) < 0)
		return -1;
	s->ahead_ns = find_ahead(s, &l);
	if (open_writer(s, &l, e) < 0)
		return -1;
	s->opening = l.is_open;
	s->said.pid = (uint32_t)getpid();
	s->said.max_files = s->set.max_files;
	snprintf(s->said.dir, sizeof s->said.dir, "%s", s->set.dir);
	return log_source_write(&s->set.source, s->head.log_at + offsetof(struct wire_log, writer),
		&s->said, sizeof s->said, e);
}

static void
log_session_release(struct log_session *s)
{
	log_drain_free(s->drain);
	text_release(&s->maps);
	free(s->merged);
	free(s);
}

int
log_session_open(struct log_session **ret, const struct log_session_settings *set, struct err *e)
{
	struct log_session *s = calloc(1, sizeof *s);
	struct err ignored;

	if (!s)
		return err_set(e, ENOMEM, "cannot write a log");
	s->set = *set;
	if (log_session_begin(s, e) == 0) {
		*ret = s;
		return 0;
	}
	if (s->writer)
		log_writer_close(s->writer, &ignored);
	log_session_release(s);
	return -1;
}

/* ---- rounds ---- */

static int
log_session_add(void *context, const struct event *v, size_t nr, struct err *e)
{
	struct log_session *s = context;
	struct err why;

	(void)e;
	/* The writer continues, and counts the lost events. */
	if (log_writer_add(s->writer, v, nr, &why) < 0)
		s->failure = why;
	return 0;
}

static uint64_t
rss_bytes(const struct log_session *s)
{
	struct os_status status;
	struct err ignored;

	/* By then it may be that of the program that the process executes. */
	if (s->head.nr_leaving)
		return 0;
	if (!s->set.target)
		return s->set.rss_pid ? os_life_rss(s->set.rss_pid) : 0;
	return os_status(s->set.target, 0, &status, &ignored) == 0 ? status.vm_rss_bytes : 0;
}

/*
 * Apply MAX_FILES.  Another memdiag may have changed it, or the process: that must not keep more
 * files than the user has allowed at the beginning.
 */
static int
obey_files(struct log_session *s, uint32_t max_files, struct err *e)
{
	const uint32_t most = log_writer_most_files(s->set.max_files);

	if (max_files > most) {
		max_files = most;
		if (log_head_set_files(&s->set.source, most, e) < 0)
			return -1;
	}
	if (max_files == s->said.max_files)
		return 0;
	s->said.max_files = max_files;
	return log_writer_set_files(s->writer, max_files, e);
}

/* Read the heads again, after the events, so that their names are known. */
static int
log_session_look(struct log_session *s, struct err *e)
{
	const uint64_t log_at = s->head.log_at;
	struct wire_sites head;
	struct wire_log l;

	if (log_source_read(&s->set.source, 0, &head, sizeof head, e) < 0 ||
		log_source_read(&s->set.source, log_at, &l, sizeof l, e) < 0)
		return -1;
	s->is_over = l.is_open != s->opening;
	s->head.nr_nodes = head.nr_nodes;
	s->head.nr_leaving = head.nr_leaving;
	s->head.maps_now = head.maps_now;
	memcpy(s->head.maps_bytes, head.maps_bytes, sizeof head.maps_bytes);
	s->head.seen_bytes = head.seen_bytes;
	return obey_files(s, l.writer.max_files, e);
}

/* If no file can be written, log_writer_flush() tries again later. */
static void
write_moment(struct log_session *s, const struct log_moment *m)
{
	struct err why;

	s->said.error = 0;
	if (log_writer_flush(s->writer, m, &why) == 0)
		return;
	s->failure = why;
	s->said.error = why.code ? (uint32_t)why.code : EIO;
}

/* After this many units of a stamp, all processors see the stores of another one. */
#define SEEN_AFTER (UINT64_C(1) << 11)

static int
write_round(struct log_session *s, bool is_last, struct err *e)
{
	const struct log_now now = { os_coarse_ns() + s->ahead_ns, wire_stamp() - SEEN_AFTER };
	const struct log_sink sink = { s, log_session_add };
	struct log_moment moment = { .time_ns = now.ns, .rss_bytes = rss_bytes(s) };
	struct log_drain_state drained;

	if (log_session_look(s, e) < 0 || log_drain_round(s->drain, &now, is_last, &sink, e) < 0)
		return -1;
	drained = log_drain_state(s->drain);
	moment.nr_unordered = drained.nr_unordered;
	moment.unordered_bytes = drained.unordered_bytes;
	moment.nr_dropped = drained.nr_dropped;
	moment.dropped_bytes = drained.dropped_bytes;
	write_moment(s, &moment);
	return 0;
}

int
log_session_round(struct log_session *s, bool is_last, struct err *e)
{
	if (write_round(s, is_last, e) < 0 || say_numbers(s, e) < 0) {
		struct err ignored;

		/*
		 * Report E in the head of the log: no process waits for a writer in the background.
		 */
		s->said.error = e->code ? (uint32_t)e->code : EIO;
		say_numbers(s, &ignored);
		return -1;
	}
	s->has_all = is_last;
	return 0;
}

bool
log_session_is_over(const struct log_session *s)
{
	return s->is_over;
}

uint32_t
log_session_nr_leaving(const struct log_session *s)
{
	return s->head.nr_leaving;
}

struct log_session_sum
log_session_sum(const struct log_session *s)
{
	return (struct log_session_sum){ log_writer_sum(s->writer), log_drain_state(s->drain),
		s->failure };
}

/* Report the end in the head of the log; if the process has ended, that may fail. */
static void
say_end(struct log_session *s)
{
	const uint32_t has_ended = 1;
	struct err ignored;

	log_source_write(&s->set.source,
		s->head.log_at + offsetof(struct wire_log, writer.has_ended), &has_ended,
		sizeof has_ended, &ignored);
}

int
log_session_close(struct log_session *s, struct err *e)
{
	const int failed = log_writer_close(s->writer, e);

	if (!failed && s->has_all)
		say_end(s);
	log_session_release(s);
	return failed;
}
