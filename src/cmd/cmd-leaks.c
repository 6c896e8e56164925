#include <config.h>

#include "base/cleanup.h"
#include "cmd/census-options.h"
#include "cmd/command.h"
#include "diagnose/leaks.h"
#include "os/os.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "view/leaks.h"
#include "view/type-name.h"

#define DEFAULT_ROWS 16
#define DEFAULT_LOOKS 5
#define DEFAULT_EVERY_NS UINT64_C(1000000000)

/* ---- options ---- */

struct cmd_leaks_options {
	struct leaks_question ask;
	size_t limit;
	uint64_t fail_bytes; /* unreachable bytes above this are exit status 1 */
};

#define AT(member) UI_AT(struct cmd_leaks_options, member)

static const struct ui_option options[] = {
	{ "lines", 'n', "N", 1, "at most N groups; 0 is all of them (16)", UI_NUMBER, AT(limit) },
	{ "fail-bytes", 0, "SIZE", 1, "exit status 1 only for more than SIZE unreachable (0)",
		UI_SIZE, AT(fail_bytes) },
	{ "suppressions", 0, "FILE", 1,
		"leave out the blocks that FILE names, a line each: size:BYTES, shape:ring, type:NAME, module:NAME, leak:NAME",
		UI_FILE, AT(ask.suppressions) },
	{ "no-stop", 0, NULL, 2,
		"do not stop the process, but look several times; approximate, exit status 2",
		UI_FLAG, AT(ask.no_stop) },
	{ "looks", 0, "N", 2,
		"with --no-stop: at most N looks; the last is the one that removes no block (5)",
		UI_NUMBER, AT(ask.nr_looks), .least = 2, .beyond = "is too few: at least 2" },
	{ "every", 0, "DURATION", 2, "with --no-stop: wait DURATION between two looks (1s)",
		UI_DURATION, AT(ask.every_ns) },
	{ "unaligned", 0, NULL, 2,
		"look for pointers at every 4 bytes, as in packed structures and epoll_data",
		UI_FLAG, AT(ask.is_unaligned) },
	{ "mask-tags", 0, NULL, 2,
		"ignore the high 16 bits of pointers, which may be a tag or a counter", UI_FLAG,
		AT(ask.masks_tags) },
	{ 0 },
};

#define RULE(kind, a, b, why) UI_RULE(kind, struct cmd_leaks_options, a, b, why)

static const struct ui_rule rules[] = {
	RULE(UI_EXCLUDES, ask.of.core, ask.no_stop,
		"--no-stop is for a process: a core file is still"),
	RULE(UI_EXCLUDES, ask.of.by_fork, ask.no_stop,
		"--fork stops the process for a moment, --no-stop does not"),
	RULE(UI_NEEDS, ask.nr_looks, ask.no_stop, "--looks is for --no-stop"),
	RULE(UI_NEEDS, ask.every_ns, ask.no_stop, "--every is for --no-stop"),
	{ 0 },
};

static const struct ui_child children[] = {
	{ &census_syntax, offsetof(struct cmd_leaks_options, ask.of) },
	{ 0 },
};

static const struct ui_syntax cmd_leaks_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.args_doc = "[PID]",
	.doc = "Blocks of glibc's malloc that nothing in the process has the address of: no global "
	       "variable, no stack, no register, and no block that is reached from these.\n"
	       "Memory is read, nothing runs in the process. All its threads are stopped once, for "
	       "at most 200 ms (--max-stop); with --fork it makes a copy of itself, which is read.\v"
	       "Examples:\n"
	       "  memdiag leaks --pid 1234\n"
	       "  memdiag leaks --pid 1234 --json -o leaks.json\n"
	       "  memdiag leaks --pid 1234 --max-stop 2s     for a heap of some gigabytes\n"
	       "  memdiag leaks --pid 1234 --fork            of a large one, which stops shortly\n"
	       "  memdiag leaks --pid 1234 --suppressions known.txt --fail-bytes 64K\n"
	       "  memdiag leaks --pid 1234 --no-stop         of a process that must not stop\n"
	       "  memdiag leaks --core core.1234\n\n"
	       "A head is a block that no other unreachable block points to, or one block of a "
	       "ring; a group has the heads of one type, or size, and shape. A pointer that is encoded, or "
	       "that only the kernel has, is not seen: its block is listed as unreachable.\n\n"
	       "Exit status: 0 nothing is unreachable, 1 something is (--fail-bytes), or failed; 2 "
	       "approximate, because not all could be read; the others as everywhere.\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

static int
cmd_leaks_print(const struct leaks_answer *s, const struct cmd_leaks_options *o,
	struct ui_output *out, struct err *e)
{
	json_auto_t *document = NULL;

	if (!o->ask.of.ui.json)
		return leaks_show_text(out, &o->ask.of.ui, s, o->limit, e);
	document = leaks_to_json(s, e);
	return document ? ui_json_print(document, out, e) : -1;
}

static int
cmd_leaks_run(int argc, char **argv, struct err *e)
{
	struct cmd_leaks_options o = {
		.ask.type_name = type_name_of,
		.limit = DEFAULT_ROWS,
	};
	auto_progress struct ui_progress *progress = NULL;
	auto_leaks_answer struct leaks_answer s = { .of.target = TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	census_question_begin(&o.ask.of);
	ui_parse(&cmd_leaks_syntax, argc, argv, &o);
	if (!o.ask.nr_looks)
		o.ask.nr_looks = DEFAULT_LOOKS;
	if (!o.ask.every_ns)
		o.ask.every_ns = DEFAULT_EVERY_NS;
	deadline_set(o.ask.of.ui.timeout_ns);
	limits_set_memory(&o.ask.of.ui);
	progress = ui_progress_begin(&o.ask.of.ui, "reading the blocks");
	if (ui_find_process(&o.ask.of.ui, e) < 0 || ui_output_open(&out, &o.ask.of.ui, e) < 0 ||
		leaks_ask(&s, &o.ask, e) < 0)
		return -1;
	ui_progress_end(take_ptr(&progress));
	if (cmd_leaks_print(&s, &o, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&s.of.warnings, &o.ask.of.ui);
	if (s.of.warnings.is_partial)
		return UI_PARTIAL;
	return s.leaks.all.bytes > o.fail_bytes ? UI_FAILED : UI_DONE;
}

const struct command cmd_leaks = {
	.name = "leaks",
	.summary = "blocks that nothing in the process has the address of",
	.touch = CMD_STOPS_TARGET,
	.syntax = &cmd_leaks_syntax,
	.run = cmd_leaks_run,
};
