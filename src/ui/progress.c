/*
 * Show a line on a terminal's standard error when work takes longer than a second: the current
 * action, and the time it has taken.  A separate thread writes it, as the work cannot be
 * interrupted.
 */
#include <config.h>

#include "ui/progress.h"

#include "base/debug.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 1000
#define NEXT_MS 500

/* Move to the start of the line, and erase it (ECMA-48). */
#define CLEAR "\r\033[K"

/* True while the line is visible. */
static volatile sig_atomic_t is_shown;

struct ui_progress {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended; /* HAS_ENDED was set */
	bool has_ended;
	const char *what;
};

static void
add_ms(struct timespec *t, long ms)
{
	t->tv_nsec += ms % 1000 * 1000000;
	t->tv_sec += ms / 1000 + t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
}

static void *
progress_show(void *arg)
{
	struct ui_progress *p = arg;
	struct timespec next;
	unsigned int ms = FIRST_MS;

	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&p->lock);
	for (add_ms(&next, FIRST_MS); !p->has_ended; add_ms(&next, NEXT_MS), ms += NEXT_MS) {
		while (!p->has_ended &&
			pthread_cond_timedwait(&p->ended, &p->lock, &next) != ETIMEDOUT)
			;
		if (p->has_ended)
			break;
		is_shown = 1;
		dprintf(STDERR_FILENO, CLEAR "memdiag: %s, %u.%u s", p->what, ms / 1000,
			ms % 1000 / 100);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct ui_progress *
ui_progress_begin(const struct ui_options *opt, const char *what)
{
	struct ui_progress *p;
	pthread_condattr_t attr;

	if (opt->quiet || debug_is_enabled() || !isatty(STDERR_FILENO))
		return NULL;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->what = what;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->ended, &attr);
	pthread_condattr_destroy(&attr);
	if (thread_start(&p->thread, progress_show, p))
		return p;
	free(p);
	return NULL;
}

void
ui_progress_end(struct ui_progress *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->has_ended = true;
	pthread_cond_signal(&p->ended);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	free(p);
	ui_progress_clear();
}

void
ui_progress_clear(void)
{
	if (is_shown && write(STDERR_FILENO, CLEAR, sizeof CLEAR - 1) < 0)
		return; /* the terminal has gone */
	is_shown = 0;
}
