/*
 * What memdiag report and record report decide before they read anything: which words and types are
 * meant, which options
 * fit together, what is read from a pipe, and whether two profiles are of one record.
 */
#include <config.h>

#include <sys/stat.h>
#include <unistd.h>

#include "cmd/report-work.c"

#include "cmd/record-report.h"
#include "tap.h"

/* ---- which values ---- */

/* A profile with the types of NAMES, of which SHOWN is the first to show. */
static struct profile *
profile_with(const char *const *names, size_t nr, size_t shown)
{
	struct profile *p = profile_new();
	struct err e;

	for (size_t i = 0; i < nr; i++)
		if (profile_add_type(
			    p, names[i], strstr(names[i], "space") ? "bytes" : "count", &e) < 0)
			exit(99);
	p->default_type = shown;
	return p;
}

static const char *const usual[] = { "inuse_objects", "inuse_space", "alloc_objects", "alloc_space",
	"peak_objects", "peak_space", "temporary_objects", "temporary_space", "mapped_objects",
	"mapped_space", "mapped_alloc_objects", "mapped_alloc_space" };

static void
is_type(const struct profile *p, const char *value, bool objects, const char *want)
{
	struct report_work w = { .value = value, .file = "it", .io = { .objects = objects } };
	struct err e = { 0 };
	size_t type = 0;
	const int found = find_type(&w, p, &type, &e);

	if (!ok(want ? found == 0 && strcmp(p->types.v[type].name, want) == 0
		     : found < 0 && e.kind == ERR_USAGE,
		    "--value=%s%s of a profile that shows %s", value ? value : "(none)",
		    objects ? " --objects" : "", p->types.v[p->default_type].name))
		printf("#   got %s, want %s\n", found ? e.msg : p->types.v[type].name,
			want ? want : "an error");
}

static void
test_types(void)
{
	static const char *const plain[] = { "objects", "space" }, *const one[] = { "inuse_space" };
	auto_profile struct profile *p = profile_with(usual, 12, 1), *q = profile_with(plain, 2, 1);
	auto_profile struct profile *r = profile_with(one, 1, 0);

	is_type(p, NULL, false, "inuse_space");
	is_type(p, NULL, true, "inuse_objects");
	is_type(p, "in-use", false, "inuse_space");
	is_type(p, "allocated", false, "alloc_space");
	is_type(p, "allocated", true, "alloc_objects");
	is_type(p, "peak", false, "peak_space");
	is_type(p, "temporary", true, "temporary_objects");
	is_type(p, "mapped", false, "mapped_space");
	is_type(p, "mapped-allocated", true, "mapped_alloc_objects");
	is_type(p, "peak_objects", false, "peak_objects");
	is_type(p, "nothing", false, NULL);
	p->default_type = 3;
	is_type(p, NULL, true, "alloc_objects");
	is_type(q, NULL, false, "space");
	is_type(q, NULL, true, "objects");
	is_type(q, "in-use", false, NULL);
	is_type(r, NULL, true, NULL);
	is_type(r, "allocated", false, NULL);
}

/* ---- one record ---- */

static void
are_same(int64_t pid_a, int64_t pid_b, uint64_t time_a, uint64_t time_b, bool want)
{
	const struct profile a = { .pid = pid_a, .time_ns = time_a },
			     b = { .pid = pid_b, .time_ns = time_b };

	ok(is_same_record(&a, &b) == want, "PID %d and %d, begun at %d and %d: %s record",
		(int)pid_a, (int)pid_b, (int)time_a, (int)time_b, want ? "one" : "another");
}

static void
test_records(void)
{
	are_same(5, 5, 7, 7, true);
	are_same(5, 6, 7, 7, false);
	are_same(5, 5, 7, 8, false);
	are_same(0, 6, 7, 7, true);
	are_same(5, 0, 7, 7, true);
	are_same(5, 5, 0, 8, true);
	are_same(5, 5, 7, 0, true);
}

/* ---- the verb ---- */

static void
is_report_at(int want, const char *words)
{
	char *copy = strdup(words), *rest = NULL, *argv[20];
	int argc = 0;

	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	ok(record_report_at(argc, argv) == want, "'memdiag %s': the verb report is %s", words,
		want ? "found" : "not there");
	free(copy);
}

static void
test_verb(void)
{
	is_report_at(1, "record report 5");
	is_report_at(3, "record -p 5 report");
	is_report_at(2, "record --json report");
	is_report_at(2, "record --pid=5 report");
	is_report_at(5, "record -o out --timeout 5s report");
	is_report_at(0, "record start report");
	is_report_at(0, "record -o report");
	is_report_at(0, "record");
}

/* ---- options that fit together ---- */

static void
begins(struct profile_io_options o, bool json, const struct report_format *format, size_t limit,
	const char *name)
{
	const struct ui_options ui = { .json = json };
	struct err e = { 0 };
	const int status = profile_io_begin(&o, &ui, &e);

	ok(!format ? status < 0 && e.kind == ERR_USAGE
		   : status == 0 && o.format == format && o.limit == limit,
		"%s", name);
}

static void
test_options(void)
{
	const struct profile_io_options begin = PROFILE_IO_BEGIN;
	struct profile_io_options o = begin;

	begins(o, false, &report_format_text, 30, "30 rows of text are the default");
	begins(o, true, &report_format_json, 0, "JSON has all rows");
	o.has_limit = true;
	o.limit = 5;
	begins(o, true, &report_format_json, 5, "JSON has as many rows as asked for");
	o = begin;
	o.calls.focus = "x";
	begins(o, false, &report_format_text, 30, "--focus goes with text");
	o.format = &report_format_pprof;
	begins(o, false, NULL, 0, "--focus does not go with --format=pprof");
	o.format = &report_format_folded;
	begins(o, false, &report_format_folded, 30, "--focus goes with --format=folded");
	o = begin;
	o.calls.hide = "x";
	o.format = &report_format_heap;
	begins(o, false, NULL, 0, "--hide does not go with --format=heap");
	o = begin;
	o.symbols_inside = true;
	begins(o, false, NULL, 0, "--symbols-inside takes --format=heap");
	o.format = &report_format_heap;
	begins(o, false, &report_format_heap, 30, "--symbols-inside goes with --format=heap");
}

/* ---- pipes ---- */

static void
test_pipes(void)
{
	char dir[] = "/tmp/profile-io-XXXXXX", path[64], command[64];
	struct text text = { 0 };
	const char *name = NULL;
	struct err e = { 0 };
	pid_t pid;

	if (!mkdtemp(dir))
		exit(99);
	snprintf(path, sizeof path, "%s/it", dir);
	is_u64((uint64_t)profile_io_read_pipe(&text, &name, path, &e), 0,
		"a file that is missing is no pipe");
	is_u64((uint64_t)profile_io_read_pipe(&text, &name, dir, &e), 0, "a directory is no pipe");
	if (mkfifo(path, 0600) < 0)
		exit(99);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		FILE *f = fopen(path, "w");

		fputs("words", f);
		fclose(f);
		_exit(0);
	}
	ok(profile_io_read_pipe(&text, &name, path, &e) == 1 && text.len == 5 &&
			memcmp(text.v, "words", 5) == 0,
		"a pipe is read to its end");
	is_str(name, path, "a pipe has its own name");
	text_release(&text);
	snprintf(command, sizeof command, "rm -r %s", dir);
	if (system(command) != 0)
		exit(99);
}

int
main(void)
{
	test_types();
	test_records();
	test_verb();
	test_options();
	test_pipes();
	return tap_end();
}
