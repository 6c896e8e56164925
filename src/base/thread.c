#include <config.h>

#include "base/thread.h"

#include <signal.h>

bool
thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	bool is_started;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	is_started = pthread_create(ret, NULL, fn, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return is_started;
}
