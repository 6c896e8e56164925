#include <config.h>

#include "cmd/borrow.h"

#include <unistd.h>

#include "inject/job.h"
#include "jemalloc/find.h"
#include "ui/output.h"

#define DEFAULT_WAIT_NS (UINT64_C(5) * 1000000000)

/* Words of --thread, and of --mode, its former name, by enum inject_mode. */
static const char *const thread_names[] = {
	[INJECT_MODE_AUTO] = "auto",
	[INJECT_MODE_HELPER] = "helper",
	[INJECT_MODE_THREAD] = "own",
	NULL,
};

static const struct ui_option options[] = {
	{ .group = 2, .help = "The borrowed thread:" },
	{ "wait", 0, "DURATION", 2,
		"try for DURATION to find a thread that can be borrowed safely (5s)", UI_DURATION,
		UI_AT(struct inject_options, wait_ns), .preset = DEFAULT_WAIT_NS },
	{ "thread", 0, "WHICH", 2,
		"auto (default); helper: it makes a thread that does the work; own: it does the "
		"work itself, as in a process with one thread; may deadlock with several",
		UI_WORD, UI_AT(struct inject_options, mode), .words = thread_names },
	{ "mode", 0, "MODE", 2, NULL, UI_WORD, UI_AT(struct inject_options, mode),
		.words = inject_mode_name, .wrong = "is not a mode: say " },
	{ 0 },
};

const struct ui_syntax borrow_syntax = { .options = options };

static const char *const malloc_names[] = {
	[MALLOC_AUTO] = "auto",
	[MALLOC_GLIBC] = "glibc",
	[MALLOC_JEMALLOC] = "jemalloc",
	NULL,
};

static const struct ui_option malloc_options[] = {
	{ "malloc", 0, "WHICH", 1,
		"choose the malloc of a process that has two: auto, jemalloc if it is loaded "
		"(default); glibc; jemalloc",
		UI_WORD, 0, sizeof(enum malloc_choice), .words = malloc_names,
		.wrong = "is no malloc: say " },
	{ 0 },
};

const struct ui_syntax borrow_malloc_syntax = { .options = malloc_options };

/* On a terminal, the reason for a wait is printed after this time, once. */
#define TELL_AFTER_NS UINT64_C(1000000000)

static const struct ui_options *waiting_opt;

static void
print_waiting(const char *why, uint64_t waited_ns)
{
	if (!waiting_opt || waited_ns < TELL_AFTER_NS || !isatty(STDERR_FILENO))
		return;
	ui_note(waiting_opt, "waiting for a thread that can be borrowed; the last one: %s", why);
	waiting_opt = NULL;
}

void
borrow_limit(struct inject_options *inject, const struct ui_options *ui)
{
	if (inject->wait_ns > ui->timeout_ns / 2)
		inject->wait_ns = ui->timeout_ns / 2;
	inject->timeout_ns = ui->timeout_ns - inject->wait_ns;
	inject->waiting = print_waiting;
	waiting_opt = ui;
}
