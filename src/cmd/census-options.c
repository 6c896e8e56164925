#include <config.h>

#include "cmd/census-options.h"

#include "diagnose/census.h"
#include "heap/heap.h"
#include "ui/options.h"

#define AT(member) UI_AT(struct census_question, member)

static const struct ui_option options[] = {
	{ .group = 2, .help = "How it is read:" },
	{ "max-stop", 0, "DURATION", 2, "stop the process for at most DURATION at a time (200ms)",
		UI_DURATION, AT(max_stop_ns) },
	{ "fork", 0, NULL, 2, "have the process fork, and read the copy: a much shorter stop",
		UI_FLAG, AT(by_fork) },
	{ "core", 0, "FILE", 2, "read a core file instead of a process", UI_FILE, AT(core) },
	{ "sysroot", 0, "DIR", 2,
		"look below DIR for the program and the libraries that the core names",
		UI_DIRECTORY, AT(sysroot) },
	{ 0 },
};

#define RULE(kind, a, b, why) UI_RULE(kind, struct census_question, a, b, why)

static const struct ui_rule rules[] = {
	RULE(UI_EXCLUDES, core, ui.asked.nr, "a core file or a process, not both"),
	RULE(UI_EXCLUDES, core, by_fork, "a core file does not fork"),
	RULE(UI_NEEDS, sysroot, core, "--sysroot is for --core"),
	RULE(UI_WANTS, core, ui.asked.nr, "which process? use --pid PID, or --core FILE"),
	{ 0 },
};

static const struct ui_child children[] = {
	{ &ui_options_syntax, offsetof(struct census_question, ui) },
	{ &ui_memory_syntax, offsetof(struct census_question, ui) },
	{ 0 },
};

const struct ui_syntax census_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
};

void
census_question_begin(struct census_question *q)
{
	q->ui.pid_optional = true;
	q->max_stop_ns = HEAP_DEFAULT_STOP_NS;
}
