#include <config.h>

#include "cmd/command.h"
#include "diagnose/doctor.h"
#include "os/os.h"
#include "os/target.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/ui.h"
#include "view/doctor.h"

/* ---- options ---- */

static const struct ui_child children[] = { { &ui_options_syntax, 0 }, { 0 } };

static const struct ui_syntax cmd_doctor_syntax = {
	.children = children,
	.args_doc = "[PID]",
	.doc = "What memdiag can read and do in a process, and what prevents the rest, one line "
	       "for each. Without a process: what this machine allows.\v"
	       "Nothing is stopped and nothing is changed in the process.\n\n"
	       "Examples:\n"
	       "  memdiag doctor\n"
	       "  memdiag doctor --pid 1234\n\n"
	       "The exit status is 2 if any line begins with 'no'.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

static int
cmd_doctor_run(int argc, char **argv, struct err *e)
{
	struct ui_options o = { .pid_optional = true };
	auto_target struct target t = TARGET_NONE;
	auto_findings struct findings fs = { 0 };
	auto_output struct ui_output out = { 0 };
	const struct target *of = NULL;

	ui_parse(&cmd_doctor_syntax, argc, argv, &o);
	deadline_set(o.timeout_ns);
	if (ui_find_process(&o, e) < 0 || ui_output_open(&out, &o, e) < 0 ||
		(o.pid && target_open(&t, o.pid, e) < 0))
		return -1;
	doctor_check_machine(&fs);
	if (o.pid) {
		of = &t;
		doctor_check_process(&fs, of);
	}
	if (!o.json)
		doctor_show_text(&fs, &out, of);
	else if (doctor_show_json(&fs, &out, of, e) < 0)
		return -1;
	if (ui_output_close(&out, e) < 0)
		return -1;
	return findings_count(&fs, FINDING_NO) ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "what memdiag can do with a process, and what prevents the rest",
	.touch = CMD_READS_TARGET,
	.syntax = &cmd_doctor_syntax,
	.run = cmd_doctor_run,
};
