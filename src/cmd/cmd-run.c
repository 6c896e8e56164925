#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cmd/agent-file.h"
#include "cmd/command.h"
#include "cmd/counted.h"
#include "cmd/program.h"

#define SEGMENT_BYTES WIRE_SEGMENT_BYTES(WIRE_MAX_THREADS)

struct options {
	struct ui_options ui;
	uint64_t limit_bytes;	/* 0: none */
	enum wire_on_limit on_limit;
	bool has_on_limit;
	enum wire_account account;
	uint64_t interval_ms;	/* 0: no lines */
	bool follows;
};

/* What is run. */
struct run {
	const struct options *opt;
	char path[PATH_MAX];
	char **argv;
	char **environment;	/* owned, but not what it points to; with two places for ours */
	size_t nr_environment;
	char agent[PATH_MAX];
	int segment_fd;
	char segment_path[64];
	struct wire_segment *segment;	/* NULL: the agent makes one of its own */
	struct os_end end;
	const struct wire_segment *counted;	/* at the end; NULL: the agent has not been there */
};

/* ---- options ---- */

enum { KEY_LIMIT = 0x3000, KEY_ON_LIMIT, KEY_INTERVAL, KEY_FOLLOW, KEY_ACCOUNT };

static const struct argp_option options[] = {
	{ "limit", KEY_LIMIT, "SIZE", 0, "what it may have at most: 512M, 2G (no limit)", 1 },
	{ "on-limit", KEY_ON_LIMIT, "ACTION", 0,
		"exit: say so and end with 255 (default); enomem: the call fails; abort: dump core; "
		"signal: SIGTERM, and the call fails; report: say so and go on", 1 },
	{ "print-interval", KEY_INTERVAL, "DURATION", 0,
		"a line with the numbers on standard error at once and so often: 1000 (milliseconds), "
		"5s", 1 },
	{ "follow-children", KEY_FOLLOW, NULL, 0,
		"count the processes that it starts as well, each with a limit of its own", 1 },
	{ "account", KEY_ACCOUNT, "BYTES", 0,
		"usable: what blocks have room for (default); requested: what was asked for, which "
		"takes 8 more for each block", 1 },
	{ 0 },
};

/* The index of ARG in NAMES; else argp exits, saying WHY. */
static unsigned int
choose(struct argp_state *state, const char *arg, const char *const *names, const char *why)
{
	for (unsigned int i = 0; names[i]; i++)
		if (strcmp(arg, names[i]) == 0)
			return i;
	ui_refuse(state, arg, why);
	return 0;
}

/* A bare number is of milliseconds, as MT_PRINT_INTERVAL_MS is. */
static bool
parse_interval(const char *arg, uint64_t *ret_ms)
{
	char with_unit[32];
	uint64_t ns;

	snprintf(with_unit, sizeof with_unit, "%s%s", arg,
		arg[strspn(arg, "0123456789")] ? "" : "ms");
	if (!ui_parse_duration(with_unit, &ns) || ns < 1000000)
		return false;
	*ret_ms = ns / 1000000;
	return true;
}

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ui;
		return 0;
	case KEY_LIMIT:
		if (!ui_parse_size(arg, &o->limit_bytes) || !o->limit_bytes)
			ui_refuse(state, arg, "is not a size: say 512K, 64M or 2G");
		return 0;
	case KEY_ON_LIMIT:
		o->has_on_limit = true;
		o->on_limit = choose(state, arg, wire_on_limit_names,
			"is nothing to do: say exit, enomem, abort, signal or report");
		return 0;
	case KEY_INTERVAL:
		if (!parse_interval(arg, &o->interval_ms))
			ui_refuse(state, arg, "is not a duration: say 1000 (milliseconds), 5s or 1m");
		return 0;
	case KEY_FOLLOW:
		o->follows = true;
		return 0;
	case KEY_ACCOUNT:
		o->account = choose(state, arg, wire_account_names,
			"is no way to count: say usable or requested");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = ui_output_children,
	.args_doc = "[--] PROGRAM [ARGUMENT...]",
	.doc = "Run a program with the agent in front of its malloc: every block and mapping is "
	       "counted, and a limit is held to the byte. When it has ended, a line with the numbers "
	       "is written to standard error.\v"
	       "With --quiet and without --output the program takes memdiag's place, and nothing is "
	       "written: it has the process id, and nobody stands in between.\n\n"
	       "Examples:\n"
	       "  memdiag run -- ./observer -f observer.ini\n"
	       "  memdiag run --limit 2G -- ./observer\n"
	       "  memdiag run --limit 64M --on-limit=enomem -- make check\n"
	       "  memdiag run --print-interval 1000 -q -- ./observer\n"
	       "  memdiag run --json -o counted.json -- ./observer\n\n"
	       "While it runs, 'memdiag status --pid PID' tells more. A program that the agent cannot "
	       "be preloaded into (static, setuid, of another libc) is not started.\n\n"
	       "Exit status: 0 done, or any other that the program ends with; 255 at the limit; 125 "
	       "memdiag failed, 126 the program cannot be run, 127 there is none.",
};

/* ---- before it starts ---- */

/* Whether ENTRY of the environment sets NAME. */
static bool
sets(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* A copy of the environment as we were given it: argp is told things by it later. */
static int
keep_environment(struct run *r, struct err *e)
{
	size_t nr = 0;

	while (environ && environ[nr])
		nr++;
	r->environment = calloc(nr + 3, sizeof *r->environment);
	if (!r->environment)
		return err_set(e, ENOMEM, "cannot copy the environment");
	for (size_t i = 0; i < nr; i++)
		if (!sets(environ[i], "LD_PRELOAD") && !sets(environ[i], WIRE_ENVIRONMENT))
			r->environment[r->nr_environment++] = environ[i];
	return 0;
}

/* The file for the counters, which stay in it when the program has ended in whatever way. */
static int
make_segment(struct run *r, struct err *e)
{
	void *mapped = MAP_FAILED;

	r->segment_fd = memfd_create("memdiag-agent", MFD_CLOEXEC);
	if (r->segment_fd >= 0 && ftruncate(r->segment_fd, (off_t)SEGMENT_BYTES) == 0)
		mapped = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			r->segment_fd, 0);
	if (mapped == MAP_FAILED)
		return err_set(e, errno, "cannot make a file in memory for the counters");
	r->segment = mapped;
	r->segment->magic = WIRE_MAGIC;		/* by which the agent knows that it is meant */
	os_fd_path(r->segment_fd, r->segment_path, sizeof r->segment_path);
	return 0;
}

static int
find_agent(struct run *r, struct err *e)
{
	char shown[300];

	if (agent_file_find(r->agent, sizeof r->agent, e) < 0)
		return -1;
	/* ld.so splits at the first two, and expands what begins with the third (ld.so(8)). */
	if (strpbrk(r->agent, " :$"))
		return err_set(e, 0,
			"LD_PRELOAD cannot name %s: install memdiag where no directory has a blank, "
			"colon or dollar sign in its name",
			text_printable(r->agent, shown, sizeof shown));
	return 0;
}

/* ---- starting ---- */

/* What the process that we are tells the agent: the caller's to free, NULL without memory. */
static char *
make_settings(const struct run *r)
{
	const struct options *o = r->opt;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, WIRE_ENVIRONMENT "=pid=%d;account=%s", (int)getpid(),
		wire_account_names[o->account]);
	if (r->segment)
		fprintf(f, ";segment=%s", r->segment_path);
	if (o->limit_bytes)
		fprintf(f, ";limit=%" PRIu64 ";on-limit=%s", o->limit_bytes,
			wire_on_limit_names[o->on_limit]);
	if (o->interval_ms)
		fprintf(f, ";interval=%" PRIu64, o->interval_ms);
	if (o->follows)
		fputs(";follow", f);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* In front of what is there: whose malloc is first, counts. */
static char *
make_preload(const struct run *r)
{
	const char *there = getenv("LD_PRELOAD");
	char *text;

	if (asprintf(&text, "LD_PRELOAD=%s%s%s", r->agent, there && *there ? ":" : "",
		there ? there : "") < 0)
		return NULL;
	return text;
}

/* Become the program of ARG, a struct run.  Returns only if that fails. */
static int
become(void *arg, struct err *e)
{
	struct run *r = arg;
	auto_free char *settings = make_settings(r), *preload = make_preload(r);
	char shown[300];

	if (!settings || !preload)
		return err_set(e, ENOMEM, "cannot make the environment");
	r->environment[r->nr_environment] = settings;
	r->environment[r->nr_environment + 1] = preload;
	execvpe(r->path, r->argv, r->environment);
	return err_set_kind(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_NOT_EXECUTABLE, errno,
		"cannot run %s", text_printable(r->path, shown, sizeof shown));
}

/* ---- when it has ended ---- */

static void
print_text(const struct run *r, const struct wire_totals *sum, const struct ui_options *opt, FILE *f)
{
	char shown[300], elapsed[32];

	fprintf(f, "memdiag: %s: ", text_printable(r->argv[0], shown, sizeof shown));
	if (!r->counted) {
		fputs("was not counted: the agent did not start in it\n", f);
		return;
	}
	fprintf(f, "peak %s, at the end %s in %" PRIu64 " blocks, %" PRIu64
		" blocks allocated; RSS peak %s, %s\n", UI_SIZE(opt, sum->peak_bytes),
		UI_SIZE(opt, sum->live_bytes), sum->nr_live, sum->nr_allocated,
		UI_SIZE(opt, r->end.max_rss_bytes),
		ui_duration(r->end.elapsed_ns, elapsed, sizeof elapsed));
	if (opt->verbose)
		counted_print(r->counted, sum, opt, f);
}

static int
print_json(const struct run *r, const struct wire_totals *sum, struct ui_output *out, struct err *e)
{
	json_auto_t *document = ui_json_new("run", NULL);
	json_t *data = json_object_get(document, "data");
	int status = r->end.status;
	json_t *end = json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I}",
		"program", ui_json_string(r->argv[0]),
		"exit_status", WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null(),
		"signal", WIFSIGNALED(status) ? json_integer(WTERMSIG(status)) : json_null(),
		"elapsed_ns", (json_int_t)r->end.elapsed_ns,
		"user_ns", (json_int_t)r->end.user_ns,
		"system_ns", (json_int_t)r->end.system_ns,
		"max_rss_bytes", (json_int_t)r->end.max_rss_bytes);

	if (json_object_update_new(data, end) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	if (!r->counted)
		ui_json_warn(document, true, "not counted: the agent did not start in it");
	else if (counted_to_json(r->counted, sum, data, e) < 0)
		return -1;
	return ui_json_print(document, out, e);
}

static int
report(struct run *r, struct ui_output *out, struct err *e)
{
	const struct ui_options *opt = &r->opt->ui;
	/* What the program has left behind may write to it still. */
	auto_free struct wire_segment *copy = malloc(SEGMENT_BYTES);
	struct wire_totals sum = { 0 };

	if (copy)
		memcpy(copy, r->segment, SEGMENT_BYTES);
	if (copy && wire_is_valid(copy, SEGMENT_BYTES)) {
		wire_add_up(copy, copy->nr_threads, &sum);
		r->counted = copy;
	}
	if (!opt->json)
		print_text(r, &sum, opt, out->f);
	else if (print_json(r, &sum, out, e) < 0)
		return -1;
	return ui_output_close(out, e);
}

/* ---- both ---- */

static void
run_release(struct run *r)
{
	free(r->environment);
	cleanup_fd(&r->segment_fd);
	if (r->segment)
		munmap(r->segment, SEGMENT_BYTES);
}

/*
 * A report takes somebody who is there when the program has ended, in whatever way.  That is we as its
 * parent, as a shell waits for us: a process on the side would write when the prompt is back.  Where
 * none is wanted the program takes our place instead, as with env(1).
 */
static bool
wants_report(const struct options *o)
{
	return !o->ui.quiet || o->ui.output || o->ui.json;
}

static int
run_and_report(struct run *r, struct err *e)
{
	auto_output struct ui_output out = { 0 };
	const struct ui_options *opt = &r->opt->ui;

	if (ui_output_open_beside(&out, opt, e) < 0 || make_segment(r, e) < 0 ||
		os_run_child(become, r, &r->end, e) < 0)
		return -1;
	/* A reader of ours that went away is no reason not to end as the program did. */
	signal(SIGPIPE, SIG_IGN);
	if (report(r, &out, e) < 0 && (opt->output || opt->json))
		return -1;
	return os_end_as(r->end.status);
}

static int
run_program(struct run *r, struct err *e)
{
	if (!*r->argv)
		return err_set(e, 0, "which program? say it behind the options. Try "
			"'memdiag run --help'");
	if (r->opt->has_on_limit && !r->opt->limit_bytes)
		return err_set(e, 0, "--on-limit says what happens at the limit: --limit is missing");
	if (find_agent(r, e) < 0 || program_find(r->argv[0], r->path, sizeof r->path, e) < 0 ||
		program_check(r->path, r->agent, e) < 0)
		return -1;
	return wants_report(r->opt) ? run_and_report(r, e) : become(r, e);
}

static int
run(int argc, char **argv, struct err *e)
{
	struct options opt = { 0 };
	__attribute__((cleanup(run_release))) struct run r = { .opt = &opt, .segment_fd = -1 };
	int status = keep_environment(&r, e);

	/* What we exit with must not be one of the program's. */
	argp_err_exit_status = UI_NOT_RUN;
	if (status == 0) {
		r.argv = argv + ui_parse_until_word(&argp, argc, argv, &opt);
		status = run_program(&r, e);
	}
	if (status < 0 && e->kind != ERR_NOT_FOUND && e->kind != ERR_NOT_EXECUTABLE)
		e->kind = ERR_NOT_RUN;
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.summary = "run a program, count every byte, hold a limit",
	.touch = CMD_STARTS_PROGRAM,
	.run = run,
};
