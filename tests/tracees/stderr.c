/*
 * stderr HOW: a program that has changed its stream of standard error.
 *
 *	closed	fclose(), as daemons do
 *	moved	it leads to another descriptor
 *	locked	its lock is not libc's own, so it looks like no stream of glibc's
 */
#include "tracee.h"

#include <poll.h>

static uint64_t lock[16];

static void *
wait_for_ever(void *arg)
{
	tracee_use_malloc();
	for (;;)
		poll(NULL, 0, -1);
	return arg;
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (strcmp(how, "closed") == 0)
		fclose(stderr);
	else if (strcmp(how, "moved") == 0)
		stderr->_fileno = dup(2);
	else if (strcmp(how, "locked") == 0)
		stderr->_lock = (void *)lock;
	else
		return 99;
	tracee_thread(wait_for_ever, NULL);
	tracee_ready();
	return tracee_park();
}
