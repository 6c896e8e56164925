/* The options with which a profile or a record begins; what argp refuses is seen in a child. */
#include <config.h>

#include <sys/wait.h>
#include <unistd.h>

#include "cmd/overhead.h"
#include "cmd/triggers.h"
#include "tap.h"

/* ---- modes ---- */

static void
is_mode(const char *word, enum record_mode mode, enum wire_live_set live_set)
{
	struct overhead_options o = { .live_set = (enum wire_live_set)0 };
	enum record_mode got = mode == RECORD_CLOSED ? RECORD_LOG_FAST : RECORD_CLOSED;

	ok(record_mode_parse(word, &o, &got) && got == mode && o.live_set == live_set, "--mode=%s",
		word);
}

static void
test_modes(void)
{
	struct overhead_options o = { .live_set = WIRE_LIVE_TABLE };
	enum record_mode mode = RECORD_CLOSED;

	is_mode("mem-fast", RECORD_MEM_FAST, WIRE_LIVE_ARRAY);
	is_mode("mem-record", RECORD_MEM_FAST, WIRE_LIVE_TABLE);
	is_mode("log-fast", RECORD_LOG_FAST, WIRE_LIVE_ARRAY);
	is_mode("log-record", RECORD_LOG_FAST, WIRE_LIVE_TABLE);
	is_mode("closed", RECORD_CLOSED, WIRE_LIVE_ARRAY);
	ok(!record_mode_parse("mem", &o, &mode) && mode == RECORD_CLOSED &&
			o.live_set == WIRE_LIVE_TABLE,
		"an unknown mode changes nothing");
	ok(!record_mode_parse("mem-fastest", &o, &mode), "a longer word is no mode");
}

/* ---- triggers and overhead ---- */

/* Parse "test ARG" in a child: its exit status. */
static int
parse_in_child(const struct ui_syntax *syntax, void *input, const char *arg)
{
	char name[] = "test", *copy = strdup(arg), *argv[] = { name, copy, NULL };
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		argp_err_exit_status = 64;
		ui_parse(syntax, 2, argv, input);
		exit(0);
	}
	waitpid(pid, &status, 0);
	free(copy);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static struct trigger_options
triggers_of(const char *arg)
{
	char name[] = "test", *copy = strdup(arg), *argv[] = { name, copy, NULL };
	struct trigger_options o = { .is_any = false };

	ui_parse(&triggers_syntax, 2, argv, &o);
	free(copy);
	return o;
}

static void
test_triggers(void)
{
	struct trigger_options o = triggers_of("--interval=64M");

	ok(o.is_any && o.wanted.interval_bytes == 64 << 20 && !o.wanted.above_bytes,
		"--interval=64M");
	o = triggers_of("--above=2G");
	ok(o.is_any && o.wanted.above_bytes == UINT64_C(2) << 30 && !o.wanted.interval_bytes,
		"--above=2G");
	o = triggers_of("--threshold=512K");
	ok(o.is_any && o.wanted.threshold_bytes == 512 << 10 && !o.wanted.above_bytes,
		"--threshold=512K");
	o = triggers_of("--high-water");
	ok(o.is_any && o.wanted.high_water && !o.wanted.threshold_bytes, "--high-water");
	o = triggers_of("--above=1");
	is_u64(o.wanted.above_bytes, 1, "--above of one byte");
	is_u64((uint64_t)parse_in_child(&triggers_syntax, &o, "--above=0"), 64,
		"--above of no byte is refused");
	is_u64((uint64_t)parse_in_child(&triggers_syntax, &o, "--interval=8E"), 64,
		"--interval of 2^63 bytes is refused");
	is_u64((uint64_t)parse_in_child(&triggers_syntax, &o, "--threshold=x"), 64,
		"--threshold that is no size is refused");
	is_u64((uint64_t)parse_in_child(&triggers_syntax, &o, "--threshold=4K"), 0,
		"--threshold of 4 KiB is not refused");
}

static void
test_overhead(void)
{
	char name[] = "test", most[] = "--max-overhead=8M", kind[] = "--live-set=table";
	char *argv[] = { name, most, kind, NULL };
	struct overhead_options o = { .is_any = false };

	ui_parse(&overhead_syntax, 3, argv, &o);
	ok(o.is_any && o.max_bytes == 8 << 20 && o.live_set == WIRE_LIVE_TABLE,
		"8M is the least overhead");
	is_u64((uint64_t)parse_in_child(&overhead_syntax, &o, "--max-overhead=8388607"), 64,
		"one byte less than 8M is refused");
	is_u64((uint64_t)parse_in_child(&overhead_syntax, &o, "--live-set=tables"), 64,
		"an unknown live set is refused");
	is_u64((uint64_t)parse_in_child(&overhead_syntax, &o, "--live-set=array"), 0,
		"--live-set=array is not refused");
}

int
main(void)
{
	test_modes();
	test_triggers();
	test_overhead();
	return tap_end();
}
