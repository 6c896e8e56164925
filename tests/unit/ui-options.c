/* The options that every command takes; what argp refuses is seen in a child. */
#include <config.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "ui/exit.h"
#include "ui/options.h"
#include "ui/processes.h"
#include "ui/ui.h"

static char said[4096];

static const struct ui_child children[] = { { &ui_options_syntax, 0 }, { 0 } };
static const struct ui_syntax plain = { .children = children, .doc = "Do it.\vExamples: none." };

/* Parse "memdiag test ARG..." in a child; its exit status, with what it printed in said. */
static int
parse_in_child(char **argv, int argc)
{
	int pipe_fd[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	fflush(stdout);
	if (pipe(pipe_fd) < 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		struct ui_options o = { 0 };

		dup2(pipe_fd[1], STDOUT_FILENO);
		dup2(pipe_fd[1], STDERR_FILENO);
		close(pipe_fd[0]);
		close(pipe_fd[1]);
		ui_parse(&plain, argc, argv, &o);
		exit(0);
	}
	close(pipe_fd[1]);
	while ((n = read(pipe_fd[0], said + len, sizeof said - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	close(pipe_fd[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* One option, or none when ARG is NULL, that must be refused with WORDS. */
static void
refused(const char *arg, const char *words)
{
	char name[] = "memdiag test", *copy = strdup(arg ? arg : "");
	char *argv[] = { name, copy, NULL };
	int status = parse_in_child(argv, arg ? 2 : 1);

	ok(status == UI_USAGE && strstr(said, words), "%s: a usage error that says '%s'",
		arg ? arg : "nothing", words);
	if (status != UI_USAGE || !strstr(said, words))
		printf("# exit %d: %s\n", status, said);
	ok(strchr(said, '\033') == NULL, "and no escape byte reaches the terminal");
	free(copy);
}

static void
helps(const char *arg)
{
	char name[] = "memdiag test", *copy = strdup(arg);
	char *argv[] = { name, copy, NULL };

	ok(parse_in_child(argv, 2) == 0 && strstr(said, "--pid=PID") &&
			strstr(said, "Examples: none."),
		"%s prints the help and exits 0", arg);
	ok(!strstr(said, "Mandatory or optional arguments"), "without argp's note on arguments");
	free(copy);
}

static void
test_good(void)
{
	char a0[] = "memdiag test", a1[] = "--json", a2[] = "4711", a3[] = "-o", a4[] = "x";
	char a5[] = "-fbqvv", a6[] = "--timeout=1.5s", a7[] = "-p4711";
	char *argv[] = { a0, a1, a2, a3, a4, a5, a6, a7, NULL };
	struct ui_options o = { 0 };

	ui_parse(&plain, 8, argv, &o);
	is_u64(o.asked.nr, 1, "the PID may be said twice");
	is_u64((uint64_t)o.asked.v[0].pid, 4711, "a bare number is a PID");
	free(o.asked.v);
	ok(o.json && o.force && o.bytes && o.quiet && o.verbose == 2, "flags");
	is_str(o.output, "x", "-o");
	is_u64(o.timeout_ns, 1500000000, "--timeout");
}

static void
test_names(void)
{
	char a0[] = "memdiag test", a1[] = "7zip", a2[] = "-p7,8", a3[] = "-p", a4[] = "a,b",
	     a5[] = "8", a6[] = "7zip";
	char *argv[] = { a0, a1, a2, a3, a4, a5, a6, NULL };
	struct ui_options o = { .takes_several = true };

	ui_parse(&plain, 7, argv, &o);
	is_u64(o.asked.nr, 4, "processes are each kept once");
	/* argp takes options first. */
	ok(o.asked.nr == 4 && o.asked.v[0].pid == 7 && o.asked.v[1].pid == 8 && !o.asked.v[2].pid &&
			strcmp(o.asked.v[2].name, "a,b") == 0 &&
			strcmp(o.asked.v[3].name, "7zip") == 0,
		"numbers are PIDs, all else is a name");
	free(o.asked.v);
}

static void
test_find(void)
{
	struct ui_options o = { 0 };
	struct err e = { 0 };

	ok(ui_find_process(&o, &e) == 0 && o.pid == 0, "nobody was asked for: nobody is found");
	o.asked.v = calloc(1, sizeof *o.asked.v);
	o.asked.nr = o.asked.room = 1;
	o.asked.v[0].name = "ui-options";
	ok(ui_find_process(&o, &e) < 0 && e.kind == ERR_GONE &&
			strstr(e.msg, "called 'ui-options'"),
		"a program does not find itself by its name");
	ok(!o.asked.v, "and keeps nothing");
}

static void
test_numbers(void)
{
	uint64_t n = 7;

	ok(ui_parse_size("512K", &n) && n == 512 << 10, "512K");
	ok(ui_parse_size("0", &n) && n == 0, "0");
	ok(ui_parse_size("1.5GiB", &n) && n == UINT64_C(3) << 29, "1.5GiB");
	ok(ui_parse_size("2t", &n) && n == UINT64_C(2) << 40, "2t");
	ok(ui_parse_size("64MB", &n) && n == 64 << 20, "64MB is 64M");
	n = 7;
	ok(!ui_parse_size("", &n) && !ui_parse_size("-1", &n) && !ui_parse_size("1Q", &n) &&
			!ui_parse_size("0X10", &n) && !ui_parse_size("inf", &n) &&
			!ui_parse_size("9e30", &n) && !ui_parse_size("99999999T", &n) &&
			!ui_parse_size(" 1", &n) && !ui_parse_size("1 K", &n),
		"what is no size");
	is_u64(n, 7, "leaves the result alone");
	ok(ui_parse_duration("250ms", &n) && n == 250000000, "250ms");
	ok(ui_parse_duration("3", &n) && n == UINT64_C(3000000000), "seconds if no unit");
	ok(ui_parse_duration("2m", &n) && n == UINT64_C(120000000000), "2m is minutes");
	ok(ui_parse_duration("1h", &n) && n == UINT64_C(3600000000000), "1h is an hour");
	ok(!ui_parse_duration("5K", &n), "5K is no duration");
}

int
main(void)
{
	struct ui_options o = { 0 };
	char name[] = "memdiag test", one[] = "1";
	char *argv[] = { name, one, NULL };
	char *two[] = { name, one, one, NULL };

	ui_parse(&plain, 2, argv, &o);
	is_u64(o.timeout_ns, UINT64_C(30000000000), "30 s if nothing is said");
	free(o.asked.v);
	test_good();
	refused(NULL, "which process?");
	refused("--pid=0", "'0' is not a process id");
	refused("--pid=-1", "'-1' is not a process id");
	refused("-1", "invalid option");
	refused("9999999999", "'9999999999' is not a process id");
	refused("4194305", "'4194305' is not a process id");
	refused("99999999999999999999999", "is not a process id");
	refused("1,", "'1,' is not a process id");
	refused("1,,2", "'1,,2' is not a process id");
	refused("1,2", "two processes: one at a time");
	refused(" 12", "is not a process id");
	refused("+12", "is not a process id");
	refused("--pid=", "'' is not a process id");
	refused("--timeout=\033[31m\n", "'\\033[31m\\012' is not a duration");
	refused("--timeout=soon", "'soon' is not a duration");
	refused("--timeout=0", "'0' is too short");
	refused("--frobnicate", "unrecognized option");
	two[2] = strdup("2");
	ok(parse_in_child(two, 3) == UI_USAGE && strstr(said, "one at a time"),
		"two process ids are refused");
	ok(strstr(said, "maps, info, heap, trim and status take several"),
		"and the commands that take them are named");
	free(two[2]);
	helps("--help");
	helps("-h");
	test_names();
	test_find();
	test_numbers();
	return tap_end();
}
