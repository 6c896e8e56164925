#include <config.h>

#include "cmd/borrow.h"

#include <string.h>
#include <unistd.h>

#include "inject/inject.h"
#include "ui/ui.h"

#define DEFAULT_WAIT_NS (UINT64_C(5) * 1000000000)
enum { KEY_MODE = 0x2000, KEY_WAIT, KEY_MALLOC };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "The borrowed thread:", 2 },
	{ "wait", KEY_WAIT, "DURATION", 0,
		"look this long for a moment when a thread can be borrowed safely (5s)", 2 },
	{ "mode", KEY_MODE, "MODE", 0,
		"auto; helper: it makes a thread that does the work; thread: it does the work "
		"itself, as in a process with one thread; with several, it may deadlock",
		2 },
	{ 0 },
};

bool
borrow_mode(struct inject_options *o, const char *arg)
{
	for (size_t i = 0; inject_mode_name[i]; i++)
		if (strcmp(arg, inject_mode_name[i]) == 0) {
			o->mode = (enum inject_mode)i;
			return true;
		}
	return false;
}

static error_t
borrow_parse_option(int key, char *arg, struct argp_state *state)
{
	struct inject_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		o->wait_ns = DEFAULT_WAIT_NS;
		return 0;
	case KEY_MODE:
		if (!borrow_mode(o, arg))
			ui_refuse(state, arg, "is not a mode: say auto, helper or thread");
		return 0;
	case KEY_WAIT:
		o->wait_ns = ui_duration_option(state, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_option malloc_options[] = {
	{ "malloc", KEY_MALLOC, "WHICH", 0,
		"which malloc is meant in a process that has two: auto: jemalloc if it is there "
		"(default); glibc; jemalloc",
		1 },
	{ 0 },
};

static error_t
parse_malloc_option(int key, char *arg, struct argp_state *state)
{
	static const char *const names[] = {
		[MALLOC_AUTO] = "auto",
		[MALLOC_GLIBC] = "glibc",
		[MALLOC_JEMALLOC] = "jemalloc",
		NULL,
	};
	enum malloc_choice *choice = state->input;

	if (key != KEY_MALLOC)
		return ARGP_ERR_UNKNOWN;
	*choice = (enum malloc_choice)ui_word_option(
		state, arg, names, "is no malloc: say auto, glibc or jemalloc");
	return 0;
}

const struct argp borrow_malloc_argp = { .options = malloc_options, .parser = parse_malloc_option };

const struct argp borrow_argp = { .options = options, .parser = borrow_parse_option };

const struct argp_child borrow_children[] = {
	{ &ui_options_argp, 0, NULL, 0 },
	{ &borrow_argp, 0, NULL, 0 },
	{ 0 },
};

const struct argp_child borrow_several_malloc_children[] = {
	{ &ui_several_argp, 0, NULL, 0 },
	{ &borrow_argp, 0, NULL, 0 },
	{ &borrow_malloc_argp, 0, NULL, 0 },
	{ 0 },
};

/* At a terminal the reason for a wait is printed once. */
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
