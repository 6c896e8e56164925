/*
 * load PID LIBRARY [helper|thread]: have PID load LIBRARY.  Says where it is, whether it was there
 * before, in which mode it was loaded, how many arenas there were before and after, and how long
 * the borrowed thread was held in microseconds; exits as memdiag does.  No test by itself: live
 * tests call it.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glibc/arenas.h"
#include "glibc/process.h"
#include "inject/load-library.h"
#include "inject/load.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "os/os.h"
#include "os/target.h"
#include "ui/exit.h"

static enum inject_mode
mode_named(const char *name)
{
	return strcmp(name, "helper") == 0    ? INJECT_MODE_HELPER
		: strcmp(name, "thread") == 0 ? INJECT_MODE_THREAD
					      : INJECT_MODE_AUTO;
}

static int
load(pid_t pid, const char *path, enum inject_mode mode, struct err *e)
{
	const struct inject_options opt = {
		.mode = mode, .wait_ns = 300000000000, .timeout_ns = 300000000000
	};
	auto_target struct target t = TARGET_NONE;
	auto_process struct process p = { 0 };
	auto_arenas struct arenas after = { 0 };
	auto_inject_target struct inject_target *callee = NULL;
	struct loaded_library library;
	struct inject_report report;

	if (target_open(&t, pid, e) < 0 || process_read(&p, &t, e) < 0 ||
		inject_target_new(&callee, &p, e) < 0 || process_find_arenas(&p, NULL, e) < 0 ||
		load_library(callee, &p.arenas, &opt, path, &library, &report, e) < 0 ||
		arenas_find(&after, &t, &p.maps, &p.objects, &p.arenas, e) < 0)
		return -1;
	printf("%#" PRIx64 " %s %s %zu %zu %" PRIu64 "\n", library.start.v,
		library.was_there ? "there" : "new",
		report.mode == INJECT_MODE_HELPER ? "helper" : "thread", p.arenas.nr, after.nr,
		report.held_ns / 1000);
	return 0;
}

int
main(int argc, char **argv)
{
	struct err e = { 0 };

	if (argc > 2 && load(atoi(argv[1]), argv[2], mode_named(argc > 3 ? argv[3] : ""), &e) == 0)
		return 0;
	fprintf(stderr, "load: %s\n", e.msg);
	return (int)ui_exit_of(&e);
}
