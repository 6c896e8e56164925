/*
 * stderr HOW: a program that has changed its stream of standard error.
 *
 *	closed	fclose(), as daemons do
 *	moved	it leads to another descriptor
 *	locked	its lock is not libc's own, so it looks like no stream of glibc's
 *	socket	descriptor 2 is a connection, as that of a server's client is after close(2)
 *	data	descriptor 2 is a file that is read and written
 */
#include "tracee.h"

#include <semaphore.h>
#include <sys/mman.h>
#include <sys/socket.h>

static uint64_t lock[16];

/* Descriptor 2 becomes what FD is. */
static void
become_second(int fd)
{
	if (fd < 0 || dup2(fd, 2) < 0)
		tracee_fail("dup2");
}

static sem_t has_arena;

static void *
have_arena(void *arg)
{
	tracee_use_malloc();
	sem_post(&has_arena);
	return tracee_wait_for_ever(arg);
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int pair[2];

	if (strcmp(how, "closed") == 0)
		fclose(stderr);
	else if (strcmp(how, "moved") == 0)
		stderr->_fileno = dup(2);
	else if (strcmp(how, "locked") == 0)
		stderr->_lock = (void *)lock;
	else if (strcmp(how, "socket") == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
		become_second(pair[0]);
	else if (strcmp(how, "data") == 0)
		become_second(memfd_create("data", 0));
	else
		return 99;
	sem_init(&has_arena, 0, 0);
	tracee_thread(have_arena, NULL);
	sem_wait(&has_arena);
	tracee_ready();
	return tracee_park();
}
