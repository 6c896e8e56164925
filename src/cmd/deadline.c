#include <config.h>

#include "cmd/deadline.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "ui/ui.h"

static void
give_up(int sig)
{
	static const char words[] = "memdiag: gave up, --timeout has passed\n";

	(void)sig;
	if (write(STDERR_FILENO, words, sizeof words - 1) < 0) {
		/* Nobody listens; the exit status tells. */
	}
	_exit(UI_FAILED);
}

void
deadline_set(uint64_t ns)
{
	struct itimerval timer = {
		.it_value = { (time_t)(ns / 1000000000), (suseconds_t)(ns / 1000 % 1000000) },
	};

	if (!timer.it_value.tv_sec && !timer.it_value.tv_usec)
		timer.it_value.tv_usec = 1;
	signal(SIGALRM, give_up);
	setitimer(ITIMER_REAL, &timer, NULL);
}
