#include <config.h>

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/export-options.h"
#include "os/installed.h"

/*
 * A separate program serves requests: it is linked without the files of os/ that trace a process or
 * write to it, and the other commands do not load its libraries.
 */
static int
cmd_export_run(int argc, char **argv, struct err *e)
{
	struct export_options o = { 0 };
	char path[PATH_MAX];

	ui_parse(&export_syntax, argc, argv, &o);
	export_matches_release(&o.matches);
	if (os_find_installed(path, sizeof path, OS_EXPORT_FILE, e) < 0)
		return -1;
	execv(path, argv);
	return err_set(e, errno, "cannot execute %s", path);
}

const struct command cmd_export = {
	.name = "export",
	.summary = "serve metrics and profiles of processes, for Prometheus and others",
	.touch = CMD_TOUCHES_NOTHING,
	.syntax = &export_syntax,
	.run = cmd_export_run,
};
