#include <config.h>

#include "ui/limits.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "os/ceiling-default.h"
#include "os/ceiling.h"
#include "os/child.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/progress.h"

#define MOST "memdiag takes %s at most; --max-memory=SIZE allows more"

static char last_words[128];

/* End memdiag.  This needs no memory, and is safe in a signal handler. */
static void
limits_end(void)
{
	ui_progress_clear();
	if (write(STDERR_FILENO, last_words, strlen(last_words)) < 0) {
		/* Standard error is closed; the exit status is enough. */
	}
	_exit(UI_FAILED);
}

/*
 * Handle the abort of libdw, which asserts that it gets memory for its tables
 * (lib/dynamicsizehash_concurrent.c, 0.188).
 */
static void
aborted(int sig)
{
	(void)sig;
	if (errno == ENOMEM)
		limits_end();
}

void
limits_set_memory(const struct ui_options *opt)
{
	char size[32];

	os_die_first();
	os_set_ceiling(
		opt->max_memory_bytes ? opt->max_memory_bytes : os_default_ceiling(), limits_end);
	snprintf(last_words, sizeof last_words,
		"memdiag: cannot continue: there is no more memory. " MOST "\n",
		text_bytes(os_ceiling(), size, sizeof size));
	signal(SIGABRT, aborted);
}

void
limits_set(const struct ui_options *opt)
{
	limits_set_memory(opt);
	deadline_set(opt->files_timeout_ns);
}

void
limits_hint(struct err *e)
{
	const uint64_t ceiling_bytes = os_ceiling();
	char size[32];

	if (e->code == ENOMEM && ceiling_bytes)
		err_hint(e, MOST, text_bytes(ceiling_bytes, size, sizeof size));
}
