#include <config.h>

#include "cmd/run-capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/run-sites.h"
#include "agentdata/sites.h"
#include "base/cleanup.h"
#include "capture/log-record.h"
#include "capture/profile-file.h"
#include "capture/profile-watch.h"
#include "cmd/overhead.h"
#include "os/child.h"
#include "os/life.h"
#include "profile/read.h"
#include "profile/symbols.h"
#include "report/calls.h"
#include "report/report.h"
#include "report/text.h"
#include "ui/json.h"
#include "ui/units.h"
#include "view/capture-result.h"
#include "view/log-state.h"

/* ---- options ---- */

static void
run_capture_set_record(
	struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct run_capture_options *o = input;
	enum record_mode mode = RECORD_MEM_FAST;

	if (arg && !record_mode_parse(arg, &o->overhead, &mode))
		ui_option_refuse(state, row, arg);
	o->records = mode != RECORD_CLOSED;
	o->logs = mode == RECORD_LOG_FAST;
}

#define AT(member) UI_AT(struct run_capture_options, member)
#define GIVEN(member) UI_GIVEN(struct run_capture_options, member)

static const struct ui_option options[] = {
	{ "profile", 0, "RATE", 2,
		"take samples from the first call of malloc, one for RATE bytes allocated "
		"(512K), and write PREFIX.PID.*.heap when it ends (--output PREFIX)",
		PROFILE_RATE, AT(period_bytes), GIVEN(is_wanted), .may_lack_arg = true },
	{ "record", 0, "MODE", 2,
		"record every block from the first call of malloc: mem-fast: write the file as "
		"--profile does (default); log-fast: write each event to files in the directory "
		"--output; mem-record and log-record: the same with --live-set table; closed: "
		"nothing",
		UI_WORD, .may_lack_arg = true, .words = record_mode_names,
		.wrong = "is not a mode: say ", .set = run_capture_set_record },
	{ "symbols-inside", 0, NULL, 2,
		"write the names of functions into the file, so that it can be read elsewhere",
		UI_FLAG, AT(symbols_inside) },
	{ "leak-check", 0, "SIZE", 2,
		"exit with status 23 if the program exits with 0 and more than SIZE is in use "
		"then (0); every block is recorded, unless --profile has a rate",
		UI_SIZE, AT(leak_bytes), GIVEN(has_leak_check), .may_lack_arg = true },
	{ 0 },
};

static void
run_capture_check(struct argp_state *state, void *input)
{
	const struct run_capture_options *o = input;

	if (o->overhead.is_any && !o->records && !o->has_leak_check)
		argp_error(state, "--max-overhead and --live-set are for a record: add --record");
	if (o->records && (o->period_bytes || o->triggers.is_any))
		argp_error(state,
			"a record is of all blocks, and its file is written at the end: --profile has rates, and files meanwhile");
}

static const struct ui_child children[] = {
	{ &triggers_syntax, offsetof(struct run_capture_options, triggers) },
	{ &overhead_syntax, offsetof(struct run_capture_options, overhead) },
	{ 0 },
};

const struct ui_syntax run_capture_syntax = {
	.options = options,
	.children = children,
	.conclude = run_capture_check,
};

void
run_capture_conclude(struct run_capture_options *o)
{
	o->is_wanted |= o->records || o->has_leak_check || o->triggers.is_any;
	o->records |= o->has_leak_check && !o->period_bytes && !o->triggers.is_any;
	if (!o->records && !o->period_bytes)
		o->period_bytes = o->has_leak_check ? 1 : PROFILE_DEFAULT_PERIOD_BYTES;
}

/* ---- the file shared with the agents ---- */

/* A program that has taken a slot. */
struct slot {
	pid_t pid;	   /* 0: it has recorded nothing yet */
	uint32_t nr_files; /* number of files written, set when it has ended */
	struct profile_watch watch;
	uint64_t start; /* os_life_start(); 0: it had already ended */
	bool is_ours;	/* PID is valid in memdiag's PID namespace */
	/* The log of the program, while it is written and afterwards. */
	struct log_session *log; /* owned; NULL: not open */
	bool has_log_ended;
	struct err log_failure; /* the reason why it could not be opened yet */
	struct log_state log_state;
	char *log_file; /* owned: its only log file; NULL: it has several, or no file */
};

struct run_slots {
	struct slot *v; /* owned */
	uint32_t nr, room;
	struct err failure; /* the first failure to write a file; no text: all succeeded */
	uint32_t nr_failed;
};

int
run_capture_begin(struct run_capture *p, struct err *e)
{
	if (!p->opt->is_wanted)
		return p->opt->symbols_inside
			? err_set(e, 0,
				  "--symbols-inside is for a profile: add --profile or --record")
			: 0;
	p->slots = calloc(1, sizeof *p->slots);
	if (!p->slots)
		return err_set(e, ENOMEM, "cannot take a profile");
	if ((p->opt->logs ? log_record_make_dir(p->opt->prefix, p->dir, e)
			  : profile_file_check(p->opt->prefix, e)) < 0 ||
		run_sites_make(&p->fd, e) < 0)
		return -1;
	os_fd_path(p->fd, p->path, sizeof p->path);
	return 0;
}

void
run_capture_set(const struct run_capture *p, struct wire_settings *s)
{
	const struct wire_triggers *t = &p->opt->triggers.wanted;

	if (p->fd < 0)
		return;
	s->profiles = true;
	s->records = p->opt->records;
	s->log_blocks = p->opt->logs ? RUN_SITES_LOG_BLOCKS : 0;
	s->max_bytes = p->opt->overhead.max_bytes;
	s->live_set = p->opt->overhead.live_set;
	s->rate_bytes = p->opt->period_bytes;
	s->sites = p->path;
	s->dump_interval_bytes = t->interval_bytes;
	s->above_bytes = t->above_bytes;
	s->threshold_bytes = t->threshold_bytes;
	s->high_water = t->high_water;
}

/* ---- while the programs run ---- */

static void
note_failure(struct run_slots *s, const struct err *e)
{
	if (!s->nr_failed++)
		s->failure = *e;
}

/* Return the number of files for programs that ran earlier in the process of slot I. */
static uint32_t
nr_before(const struct run_slots *s, uint32_t i)
{
	uint32_t nr = 0;

	for (uint32_t k = 0; k < i; k++)
		if (s->v[k].pid == s->v[i].pid)
			nr += s->v[k].watch.head->nr_dumps + 1;
	return nr;
}

static struct log_source
run_capture_source_of(const struct run_capture *p, uint32_t i)
{
	return (struct log_source){ .fd = p->fd, .offset = run_sites_offset(i) };
}

/*
 * Open the log of slot I.  Return false if that fails for now, for example because too many files
 * are open; the caller retries.
 */
static bool
run_capture_open_log(struct run_capture *p, uint32_t i)
{
	struct slot *slot = &p->slots->v[i];
	const struct log_session_settings settings = {
		.source = run_capture_source_of(p, i),
		.dir = p->dir,
		.pid = slot->pid,
		.rss_pid = slot->is_ours ? slot->pid : 0,
	};

	if (slot->log || slot->has_log_ended)
		return true;
	/* Other programs may have a log even if this one fails. */
	return log_session_open(&slot->log, &settings, &slot->log_failure) == 0 ||
		slot->log_failure.kind == ERR_UNSUPPORTED;
}

static void
close_log(struct run_capture *p, struct slot *slot)
{
	struct log_session *log = take_ptr(&slot->log);
	struct err e;

	slot->has_log_ended = true;
	if (log && log_session_close(log, &e) < 0)
		note_failure(p->slots, &e);
}

/* Write the rest of the log: the program has ended, or memdiag is about to. */
static void
end_log(struct run_capture *p, uint32_t i)
{
	const struct log_source source = run_capture_source_of(p, i);
	struct slot *slot = &p->slots->v[i];
	struct log_session_sum sum;
	struct err e;

	if (!slot->log)
		return;
	if (log_head_close(&source, &e) < 0 || log_session_round(slot->log, true, &e) < 0)
		note_failure(p->slots, &e);
	sum = log_session_sum(slot->log);
	if (sum.written.nr_lost)
		note_failure(p->slots, &sum.failure);
	log_record_keep_sum(slot->log, p->dir, 0, &slot->log_state);
	if (sum.written.nr_files == 1 && sum.written.file)
		slot->log_file = strdup(sum.written.file);
	close_log(p, slot);
}

static void
write_log(struct run_capture *p, struct slot *slot)
{
	struct err e;

	if (!slot->log || log_session_round(slot->log, false, &e) == 0)
		return;
	note_failure(p->slots, &e);
	close_log(p, slot);
}

/* True if the process of slot I has taken another slot since. */
static bool
has_next_slot(const struct run_slots *s, uint32_t i)
{
	for (uint32_t k = i + 1; k < s->nr; k++)
		if (s->v[k].pid == s->v[i].pid)
			return true;
	return false;
}

/* True if the program of slot I seems to have ended or been replaced, judging by its PID. */
static bool
seems_over(const struct run_slots *s, uint32_t i)
{
	const struct slot *slot = &s->v[i];

	if (!slot->start || os_life_start(slot->pid) != slot->start)
		return true;
	/* An exec may still fail while the old mappings exist. */
	return slot->watch.head->nr_leaving &&
		(has_next_slot(s, i) || !os_life_maps(slot->pid, WIRE_PROFILES_NAME));
}

enum elsewhere { NOT_KNOWN, NOWHERE, ELSEWHERE };

/*
 * Confirm seems_over() by looking for the shared file in other processes; *KNOWN keeps the result
 * for other slots.
 */
static bool
run_capture_is_over(const struct run_slots *s, uint32_t i, enum elsewhere *known)
{
	if (!seems_over(s, i))
		return false;
	if (*known == NOT_KNOWN)
		*known = os_life_is_elsewhere(WIRE_PROFILES_NAME) ? ELSEWHERE : NOWHERE;
	return *known == NOWHERE;
}

/*
 * Write the new data of all logs.  Logs of ended programs are closed at once: a run may start more
 * programs than memdiag can have files open.
 */
static void
write_logs(struct run_capture *p)
{
	enum elsewhere known = NOT_KNOWN;
	struct run_slots *s = p->slots;
	bool may_open = true;

	for (uint32_t i = 0; i < s->nr; i++) {
		struct slot *slot = &s->v[i];

		if (!slot->pid || slot->has_log_ended)
			continue;
		if (!slot->log)
			may_open = may_open && run_capture_open_log(p, i);
		if (!slot->log)
			continue;
		if (run_capture_is_over(s, i, &known))
			end_log(p, i);
		else
			write_log(p, slot);
	}
}

static void
open_slot(struct run_capture *p, uint32_t i)
{
	struct slot *slot = &p->slots->v[i];
	struct wire_sites *head = slot->pid ? NULL : run_sites_map(p->fd, i);

	if (!head)
		return;
	slot->pid = (pid_t)head->pid;
	slot->watch = (struct profile_watch){
		.fd = p->fd,
		.offset_bytes = run_sites_offset(i),
		.head = head,
		.file = {
			.prefix = p->opt->prefix,
			.pid = slot->pid,
			.symbols_inside = p->opt->symbols_inside,
		},
		.ui = &p->ui,
		.is_silent = p->ui.json,
	};
	slot->watch.file.number = nr_before(p->slots, i);
	slot->start = p->opt->logs ? os_life_start(slot->pid) : 0;
	slot->is_ours = slot->start && os_life_maps(slot->pid, WIRE_PROFILES_NAME);
}

/* Return false if memory is exhausted. */
static bool
open_slots(struct run_capture *p, uint32_t *ret_lost)
{
	struct run_slots *s = p->slots;
	const uint32_t nr = run_sites_nr(p->fd, ret_lost);

	if (nr > s->room) {
		struct slot *v = reallocarray(s->v, 2 * nr, sizeof *v);

		if (!v)
			return false;
		memset(v + s->room, 0, (2 * nr - s->room) * sizeof *v);
		s->v = v;
		s->room = 2 * nr;
	}
	s->nr = nr;
	for (uint32_t i = 0; i < nr; i++)
		open_slot(p, i);
	return true;
}

static void
run_capture_look(struct run_capture *p)
{
	uint32_t nr_lost;
	struct err e;

	if (!open_slots(p, &nr_lost))
		return;
	for (uint32_t i = 0; i < p->slots->nr; i++)
		if (p->slots->v[i].pid && profile_watch_look(&p->slots->v[i].watch, NULL, &e) < 0)
			note_failure(p->slots, &e);
	if (p->opt->logs)
		write_logs(p);
}

void
run_capture_tick(void *arg)
{
	run_capture_look(arg);
}

uint64_t
run_capture_tick_ns(const struct run_capture *p)
{
	if (p->opt->logs)
		return LOG_ROUND_NS;
	return p->opt->triggers.is_any ? PROFILE_WATCH_NS : 0;
}

void
run_capture_release(struct run_capture *p)
{
	if (p->slots) {
		for (uint32_t i = 0; i < p->slots->nr; i++) {
			close_log(p, &p->slots->v[i]);
			free(p->slots->v[i].log_file);
		}
		for (uint32_t i = 0; i < p->slots->nr; i++)
			if (p->slots->v[i].pid)
				run_sites_unmap(p->slots->v[i].watch.head);
		free(p->slots->v);
		free(p->slots);
	}
	cleanup_fd(&p->fd);
}

/* ---- at the end ---- */

static bool
run_capture_is_written(const struct capture_result *one)
{
	return *one->path || one->log.is_there;
}

/* Write the last file of slot I; the path in RET is "" if no data exists. */
static int
run_capture_write_last(
	struct run_capture *p, uint32_t i, pid_t own, struct capture_result *ret, struct err *e)
{
	struct slot *slot = &p->slots->v[i];
	auto_sites struct sites_copy c = { .nr_nodes = 0 };
	struct profile_file file = slot->watch.file;

	if (!slot->pid)
		return 0;
	if (p->opt->logs) {
		run_capture_open_log(p, i);
		if (!slot->log && !slot->has_log_ended)
			note_failure(p->slots, &slot->log_failure);
		end_log(p, i);
		ret->log = slot->log_state;
		ret->log_file = slot->log_file;
	}
	if (sites_read_part(&c, p->fd, run_sites_offset(i), e) < 0)
		return -1;
	/* A shell that only starts programs has nothing to show. */
	ret->sum = sites_add_up(&c);
	if (!ret->sum.allocated.units && slot->pid != own)
		return 0;
	file.kind = PROFILE_LAST;
	file.number += c.head.nr_dumps;
	ret->head = c.head;
	if (p->opt->logs)
		return 0;
	if (profile_file_write(&file, &c, NULL, &p->ui, ret->path, sizeof ret->path, e) == 0)
		return 0;
	*ret->path = '\0';
	return -1;
}

/*
 * Write all files; report the last file of the program itself in OWN.  Return the number of files
 * written.
 */
static uint32_t
run_capture_write_all(struct run_capture *p, pid_t pid, struct capture_result *own)
{
	uint32_t nr_written = 0;
	struct err e;

	for (uint32_t i = 0; i < p->slots->nr; i++) {
		struct capture_result one = { .verb = CAPTURE_ONE_SHOT,
			.is_record = p->opt->records };

		if (run_capture_write_last(p, i, pid, &one, &e) < 0)
			note_failure(p->slots, &e);
		nr_written += run_capture_is_written(&one);
		/*
		 * Needed without a file, too: the results of an earlier program do not describe
		 * this one.
		 */
		if (p->slots->v[i].pid == pid)
			*own = one;
	}
	return nr_written;
}

int
run_capture_write(struct run_capture *p, pid_t pid, struct err *e)
{
	struct run_slots *s = p->slots;

	p->own.verb = CAPTURE_ONE_SHOT;
	if (p->fd < 0)
		return 0;
	run_capture_look(p);
	if (!open_slots(p, &p->nr_lost))
		return err_set(e, ENOMEM, "cannot write the profile");
	p->nr_written = run_capture_write_all(p, pid, &p->own);
	if (!p->nr_written && !s->nr_failed)
		return err_set(e, 0, "it was not profiled: nothing was noted in it");
	if (!s->nr_failed)
		return 0;
	*e = s->failure;
	return s->nr_failed == 1
		? -1
		: err_hint(e, "%" PRIu32 " profiles in all could not be written", s->nr_failed);
}

/* ---- printing ---- */

/* Number of functions listed for blocks still in use in PATH. */
#define MAX_LEAK_ROWS 10

static int
print_in_use(const struct run_capture *p, const char *path, FILE *f, struct err *e)
{
	const struct symbols_options symbols = { .program = NULL };
	struct calls_options options = { .type = 0 };
	auto_profile struct profile *profile = NULL;
	auto_calls struct calls calls = { .p = NULL };
	struct ui_output out = { .f = f };
	struct report_view v = { .c = &calls, .file = path, .ui = &p->ui, .limit = MAX_LEAK_ROWS };

	if (profile_read(&profile, path, e) < 0 || symbols_find(profile, &symbols, e) < 0)
		return -1;
	options.type = (size_t)profile_find_type(profile, "inuse_space");
	v.p = profile;
	return calls_make(&calls, profile, &options, e) < 0 ? -1 : report_print_table(&v, &out, e);
}

/* True if the sites end at an exec of the process: the next program found no free slot. */
static bool
is_of_earlier(const struct run_capture *p)
{
	return p->own.head.nr_leaving;
}

static uint64_t
in_use_bytes(const struct run_capture *p)
{
	return p->own.sum.live.bytes;
}

bool
run_capture_leaks(const struct run_capture *p)
{
	return p->opt->has_leak_check && !is_of_earlier(p) && in_use_bytes(p) > p->opt->leak_bytes;
}

static void
print_leaks(const struct run_capture *p, FILE *f)
{
	struct err e;

	fprintf(f, "memdiag: %s in use at exit, of which %s are allowed (--leak-check)\n",
		UI_SIZE(&p->ui, in_use_bytes(p)), UI_SIZE(&p->ui, p->opt->leak_bytes));
	if (*p->own.path && print_in_use(p, p->own.path, f, &e) < 0)
		fprintf(f, "memdiag: %s\n", e.msg);
}

static uint64_t
nr_not_printed(const struct run_capture *p)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < p->slots->nr; i++)
		nr += p->slots->v[i].watch.nr_not_printed;
	return nr;
}

static uint32_t
nr_others(const struct run_capture *p)
{
	return p->nr_written - run_capture_is_written(&p->own);
}

void
run_capture_print(const struct run_capture *p, FILE *f)
{
	if (p->fd < 0)
		return;
	if (run_capture_is_written(&p->own)) {
		struct capture_result own = p->own;

		/* The directory suffices if it has no other log. */
		if (!nr_others(p))
			own.log_file = NULL;
		capture_result_print(&own, NULL, &p->ui, f);
	}
	if (*p->own.path && is_of_earlier(p))
		fputs("memdiag: the program that it became was not profiled: the file has what "
		      "was before\n",
			f);
	if (nr_others(p) && p->opt->logs)
		fprintf(f, "memdiag: logs of %" PRIu32 " more programs were written\n",
			nr_others(p));
	else if (nr_others(p))
		fprintf(f, "memdiag: %" PRIu32 " more profile%s written: %s.*.heap\n", nr_others(p),
			nr_others(p) == 1 ? " was" : "s were",
			p->opt->prefix ? p->opt->prefix : "memdiag");
	if (p->nr_lost)
		fprintf(f,
			"memdiag: %" PRIu32 " processes were not profiled: there were too many\n",
			p->nr_lost);
	if (nr_not_printed(p))
		fprintf(f,
			"memdiag: %" PRIu64 " more large calls, from stacks that were printed, or "
			"too many at a time\n",
			nr_not_printed(p));
	if (run_capture_leaks(p))
		print_leaks(p, f);
	else if (p->opt->has_leak_check && is_of_earlier(p))
		fputs("memdiag: it is not known what was in use at exit (--leak-check): the "
		      "program that it became was not profiled\n",
			f);
}

static json_t *
leaks_json(const struct run_capture *p)
{
	return p->opt->has_leak_check && is_of_earlier(p) ? json_null()
							  : json_boolean(run_capture_leaks(p));
}

int
run_capture_to_json(const struct run_capture *p, json_t *data, struct err *e)
{
	const struct wire_sites *head = &p->own.head;
	json_t *profile;

	if (p->fd < 0)
		return 0;
	profile = json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o}", "file",
		*p->own.path ? ui_json_string(p->own.path) : json_null(), "other_files",
		(json_int_t)nr_others(p), "period_bytes", (json_int_t)p->opt->period_bytes,
		"samples", (json_int_t)head->nr_samples, "in_use_bytes",
		(json_int_t)in_use_bytes(p), "allocated_bytes",
		(json_int_t)p->own.sum.allocated.bytes, "became_unprofiled", is_of_earlier(p),
		"leaks", leaks_json(p), "log", log_state_json(&p->own.log));
	return json_object_set_new(data, "profile", profile) < 0
		? err_set(e, ENOMEM, "cannot write JSON")
		: 0;
}
