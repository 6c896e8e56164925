/*
 * jemalloc's own account, through mallctl(): the totals, then each arena.  One call of
 * mallctl("epoch") takes the statistics, and all other calls read them (src/ctl.c, ctl_refresh()).
 */
#include <config.h>

#include "jemalloc/ask.h"

#include "base/array.h"
#include "base/text.h"
#include "glibc/arenas.h"
#include "inject/job.h"
#include "inject/needs.h"
#include "jemalloc/jemalloc-priv.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After this time no more arenas are read in a borrowed thread, which has work to do. */
#define BORROWED_NS 20000000

/* MALLCTL_ARENAS_ALL, since 5.0. */
#define ALL_ARENAS 4096

/* A larger number of slots cannot be jemalloc's (MALLOCX_ARENA_LIMIT, internal/arena_types.h). */
#define MAX_ARENAS 4096

void
jemalloc_stats_release(struct jemalloc_stats *s)
{
	free(s->arena);
	*s = (struct jemalloc_stats){ 0 };
}

/* ---- totals ---- */

enum {
	EPOCH, /* first: it takes the statistics */
	JE_VERSION,
	HAS_STATS,
	HAS_PROF,
	IS_PROF_ON,
	IS_PROF_ACTIVE,
	LG_PROF_SAMPLE,
	BACKGROUND_THREAD,
	DIRTY_DECAY,
	MUZZY_DECAY,
	NARENAS,
	MAX_AUTOMATIC,
	PAGE,
	ALLOCATED,
	ACTIVE,
	METADATA,
	RESIDENT,
	MAPPED,
	RETAINED,
	NR_WHOLE
};

static int
ask_whole(const struct ctls *in, struct jemalloc_stats *s, uint64_t *ret_epoch, struct err *e)
{
	struct ctl v[NR_WHOLE] = {
		[EPOCH] = { .name = "epoch", .size_bytes = 8, .new_bytes = 8, .new = 1 },
		[JE_VERSION] = CTL_ASK("version", 8),
		[HAS_STATS] = CTL_ASK("config.stats", 1),
		[HAS_PROF] = CTL_ASK("config.prof", 1),
		[IS_PROF_ON] = CTL_ASK("opt.prof", 1),
		[IS_PROF_ACTIVE] = CTL_ASK("prof.active", 1),
		[LG_PROF_SAMPLE] = CTL_ASK("prof.lg_sample", 8),
		[BACKGROUND_THREAD] = CTL_ASK("background_thread", 1),
		[DIRTY_DECAY] = CTL_ASK("arenas.dirty_decay_ms", 8),
		[MUZZY_DECAY] = CTL_ASK("arenas.muzzy_decay_ms", 8),
		[NARENAS] = CTL_ASK("arenas.narenas", 4),
		[MAX_AUTOMATIC] = CTL_ASK("opt.narenas", 4),
		[PAGE] = CTL_ASK("arenas.page", 8),
		[ALLOCATED] = CTL_ASK("stats.allocated", 8),
		[ACTIVE] = CTL_ASK("stats.active", 8),
		[METADATA] = CTL_ASK("stats.metadata", 8),
		[RESIDENT] = CTL_ASK("stats.resident", 8),
		[MAPPED] = CTL_ASK("stats.mapped", 8),
		[RETAINED] = CTL_ASK("stats.retained", 8),
	};

	if (ctl_make(in, v, NR_WHOLE, e) < 0)
		return -1;
	*ret_epoch = v[EPOCH].value;
	ctl_string(in, &v[JE_VERSION], s->version, sizeof s->version);
	s->has_stats = v[HAS_STATS].value == 1;
	s->has_prof = v[HAS_PROF].value == 1;
	s->is_prof_on = v[IS_PROF_ON].value == 1;
	s->is_prof_active = v[IS_PROF_ACTIVE].value == 1;
	s->lg_prof_sample = v[LG_PROF_SAMPLE].value;
	s->background_thread = v[BACKGROUND_THREAD].value;
	s->has_decay = v[DIRTY_DECAY].is_known && v[MUZZY_DECAY].is_known;
	s->dirty_decay_ms = (int64_t)v[DIRTY_DECAY].value;
	s->muzzy_decay_ms = (int64_t)v[MUZZY_DECAY].value;
	s->narenas = v[NARENAS].value;
	s->max_arenas = v[MAX_AUTOMATIC].value;
	s->page_bytes = v[PAGE].value;
	s->allocated_bytes = v[ALLOCATED].value;
	s->active_bytes = v[ACTIVE].value;
	s->metadata_bytes = v[METADATA].value;
	s->resident_bytes = v[RESIDENT].value;
	s->mapped_bytes = v[MAPPED].value;
	s->retained_bytes = v[RETAINED].value;
	return 0;
}

/* ---- each arena ---- */

enum {
	NR_THREADS,
	PACTIVE,
	PDIRTY,
	PMUZZY,
	SMALL,
	LARGE,
	BASE,
	INTERNAL,
	CACHED,
	ARENA_RESIDENT,
	ARENA_MAPPED,
	ARENA_RETAINED,
	NR_OF_ARENA
};

static const struct {
	const char *name;
	size_t size_bytes;
} of_arena[NR_OF_ARENA] = {
	[NR_THREADS] = { "nthreads", 4 },
	[PACTIVE] = { "pactive", 8 },
	[PDIRTY] = { "pdirty", 8 },
	[PMUZZY] = { "pmuzzy", 8 },
	[SMALL] = { "small.allocated", 8 },
	[LARGE] = { "large.allocated", 8 },
	[BASE] = { "base", 8 },
	[INTERNAL] = { "internal", 8 },
	[CACHED] = { "tcache_bytes", 8 },
	[ARENA_RESIDENT] = { "resident", 8 },
	[ARENA_MAPPED] = { "mapped", 8 },
	[ARENA_RETAINED] = { "retained", 8 },
};

static uint64_t
plus(uint64_t a, uint64_t b)
{
	return a == JEMALLOC_UNKNOWN || b == JEMALLOC_UNKNOWN ? JEMALLOC_UNKNOWN : a + b;
}

static uint64_t
ask_pages(const struct jemalloc_stats *s, uint64_t nr)
{
	return nr == JEMALLOC_UNKNOWN || s->page_bytes == JEMALLOC_UNKNOWN ? JEMALLOC_UNKNOWN
									   : nr * s->page_bytes;
}

/* Number of arenas queried in one batch. */
#define AT_ONCE (CTL_MAX / NR_OF_ARENA)

static void
ask_add_arena(struct jemalloc_stats *s, uint32_t nr, const struct ctl v[NR_OF_ARENA])
{
	struct jemalloc_arena *a = &s->arena[s->nr_arenas++];

	*a = (struct jemalloc_arena){ .nr = nr,
		.nr_threads = v[NR_THREADS].value,
		.allocated_bytes = plus(v[SMALL].value, v[LARGE].value),
		.active_bytes = ask_pages(s, v[PACTIVE].value),
		.dirty_bytes = ask_pages(s, v[PDIRTY].value),
		.muzzy_bytes = ask_pages(s, v[PMUZZY].value),
		.metadata_bytes = plus(v[BASE].value, v[INTERNAL].value),
		.cached_bytes = v[CACHED].value,
		.resident_bytes = v[ARENA_RESIDENT].value,
		.mapped_bytes = v[ARENA_MAPPED].value,
		.retained_bytes = v[ARENA_RETAINED].value };
	s->dirty_bytes = plus(s->dirty_bytes, a->dirty_bytes);
	s->muzzy_bytes = plus(s->muzzy_bytes, a->muzzy_bytes);
	s->cached_bytes = plus(s->cached_bytes, a->cached_bytes);
}

/* Query the COUNT arenas NR, at most AT_ONCE. */
static int
ask_some(const struct ctls *in, struct jemalloc_stats *s, const uint32_t *nr, size_t count,
	struct err *e)
{
	struct ctl v[CTL_MAX] = { 0 };

	for (size_t i = 0; i < count * NR_OF_ARENA; i++) {
		v[i].size_bytes = of_arena[i % NR_OF_ARENA].size_bytes;
		snprintf(v[i].name, sizeof v[i].name, "stats.arenas.%" PRIu32 ".%s",
			nr[i / NR_OF_ARENA], of_arena[i % NR_OF_ARENA].name);
	}
	if (count && ctl_make(in, v, count * NR_OF_ARENA, e) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		ask_add_arena(s, nr[i], v + i * NR_OF_ARENA);
	return 0;
}

/* Store the *RET_NR slots that have an arena in NR, which must have space for all slots. */
static int
ask_initialised(
	const struct ctls *in, uint32_t narenas, uint32_t *nr, size_t *ret_nr, struct err *e)
{
	*ret_nr = 0;
	for (uint32_t first = 0; first < narenas; first += CTL_MAX) {
		const uint32_t left = narenas - first, count = left < CTL_MAX ? left : CTL_MAX;
		struct ctl v[CTL_MAX] = { 0 };

		for (uint32_t i = 0; i < count; i++) {
			v[i].size_bytes = 1;
			snprintf(v[i].name, sizeof v[i].name, "arena.%" PRIu32 ".initialized",
				first + i);
		}
		if (ctl_make(in, v, count, e) < 0)
			return -1;
		for (uint32_t i = 0; i < count; i++)
			if (v[i].value == 1)
				nr[(*ret_nr)++] = first + i;
	}
	return 0;
}

/* True if the remaining arenas must be skipped. */
static bool
takes_too_long(const struct ctls *in, uint64_t started_ns)
{
	return !in->worker->is_helper && os_now_ns() - started_ns > BORROWED_NS;
}

static int
ask_arenas(const struct ctls *in, struct jemalloc_stats *s, struct err *e)
{
	const uint64_t started_ns = os_now_ns();
	uint32_t nr[MAX_ARENAS];
	size_t count;

	if (s->narenas > MAX_ARENAS)
		return 0;
	if (ask_initialised(in, (uint32_t)s->narenas, nr, &count, e) < 0)
		return -1;
	s->arena = calloc(count + 1, sizeof *s->arena);
	if (!s->arena)
		return err_set(e, ENOMEM, "cannot list the arenas");
	for (size_t i = 0; i < count; i += AT_ONCE) {
		const size_t left = count - i;

		if (takes_too_long(in, started_ns)) {
			s->nr_unread = left;
			return 0;
		}
		if (ask_some(in, s, nr + i, left < AT_ONCE ? left : AT_ONCE, e) < 0)
			return -1;
	}
	return 0;
}

/* Query the sums from the merged statistics of all arenas if arenas were skipped. */
static int
ask_sums(const struct ctls *in, struct jemalloc_stats *s, struct err *e)
{
	char name[3][96];
	struct ctl v[3] = { 0 };
	static const int which[3] = { PDIRTY, PMUZZY, CACHED };

	if (!s->nr_unread)
		return 0;
	for (int i = 0; i < 3; i++) {
		snprintf(name[i], sizeof name[i], "stats.arenas.%d.%s", ALL_ARENAS,
			of_arena[which[i]].name);
		memcpy(v[i].name, name[i], sizeof v[i].name);
		v[i].size_bytes = 8;
	}
	if (ctl_make(in, v, 3, e) < 0)
		return -1;
	s->dirty_bytes = ask_pages(s, v[0].value);
	s->muzzy_bytes = ask_pages(s, v[1].value);
	s->cached_bytes = v[2].value;
	return 0;
}

static int
ask_all(const struct ctls *in, struct jemalloc_stats *s, struct err *e)
{
	struct ctl later = CTL_ASK("epoch", 8);
	uint64_t epoch;

	if (ask_whole(in, s, &epoch, e) < 0 || ask_arenas(in, s, e) < 0 || ask_sums(in, s, e) < 0 ||
		ctl_make(in, &later, 1, e) < 0)
		return -1;
	s->is_torn = later.value != epoch;
	return 0;
}

/* ---- as jobs ---- */

struct asking {
	const struct jemalloc *j;
	struct jemalloc_stats *before, *after; /* AFTER: for a purge; NULL: only query */
	uint64_t max_bytes;
};

/* Check that S allows the purge that A requests. */
static int
check_purge(const struct asking *a, const struct worker *c, struct err *e)
{
	const struct target *t = c->callee->target;
	const uint64_t bytes = plus(a->before->dirty_bytes, a->before->muzzy_bytes);
	char size[32];

	if (bytes == JEMALLOC_UNKNOWN)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the jemalloc of %d (%s), %s, is older than 5.0 or has no statistics: memdiag does not know how to purge it",
			t->pid, t->comm, a->before->version);
	if (c->is_helper || bytes <= a->max_bytes)
		return 0;
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"to give back %s, the borrowed thread of %d (%s) could be held for longer than --max-lock; "
		"nothing was changed",
		text_bytes(bytes, size, sizeof size), t->pid, t->comm);
	return err_hint(e,
		"Allow it more with --max-lock, or have a new thread do it with --thread=helper");
}

static int
purge_and_ask(const struct ctls *in, struct jemalloc_stats *after, struct err *e)
{
	struct inject_report *report = in->job->report;
	struct ctl purge = { .name = "arena.4096.purge" };
	uint64_t took_ns;

	if (ctl_make(in, &purge, 1, e) < 0)
		return -1;
	took_ns = report->call_ns;
	if (ask_all(in, after, e) < 0)
		return err_context(e, "its free pages were given back, but");
	report->call_ns = took_ns;
	return 0;
}

static int
jemalloc_ask_for(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	const struct asking *a = job->arg;
	const struct ctls in = { a->j, job, c, ws };

	if (ask_all(&in, a->before, e) < 0)
		return -1;
	if (!a->after)
		return 0;
	if (check_purge(a, c, e) < 0)
		return -1;
	job->report->call_ns = 0;
	return purge_and_ask(&in, a->after, e);
}

static int
ask_run(struct asking *asking, struct inject_target *callee, const struct inject_options *opt,
	struct inject_report *report, struct err *e)
{
	static const struct arenas none;
	struct job job = { .callee = callee,
		.needs = NEEDS_TRIM,
		.opt = opt,
		.report = report,
		.run = jemalloc_ask_for,
		.arg = asking,
		.buffer_bytes = CTL_BUFFER_BYTES };

	return job_run(&job, &none, e);
}

int
jemalloc_ask(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, struct jemalloc_stats *ret, struct inject_report *report,
	struct err *e)
{
	struct asking asking = { .j = j, .before = ret };

	if (ask_run(&asking, callee, opt, report, e) == 0)
		return 0;
	jemalloc_stats_release(ret);
	return -1;
}

int
jemalloc_purge(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, uint64_t max_bytes, struct jemalloc_stats *before,
	struct jemalloc_stats *after, struct inject_report *report, struct err *e)
{
	struct asking asking = { .j = j, .before = before, .after = after, .max_bytes = max_bytes };

	if (ask_run(&asking, callee, opt, report, e) == 0)
		return 0;
	jemalloc_stats_release(before);
	jemalloc_stats_release(after);
	return -1;
}
