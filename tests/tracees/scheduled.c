/*
 * scheduled POLICY: two threads wait, the first under POLICY, which is idle or fifo, the second
 * under the ordinary one; main waits inside stdio.  Before "ready" it says "ordinary TID".
 */
#include "tracee.h"

#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>

static sem_t is_waiting;

static void *
be_scheduled(void *arg)
{
	int policy = (int)(intptr_t)arg;
	struct sched_param p = { .sched_priority = policy == SCHED_FIFO };

	tracee_use_malloc();
	if (sched_setscheduler(0, policy, &p) != 0)
		tracee_fail("sched_setscheduler");
	if (policy == SCHED_OTHER)
		tracee_say("ordinary %ld", syscall(SYS_gettid));
	sem_post(&is_waiting);
	return tracee_wait_for_ever(arg);
}

int
main(int argc, char **argv)
{
	int policy = argc > 1 && strcmp(argv[1], "fifo") == 0 ? SCHED_FIFO : SCHED_IDLE;
	char line[64];

	sem_init(&is_waiting, 0, 0);
	tracee_thread(be_scheduled, (void *)(intptr_t)policy);
	sem_wait(&is_waiting);
	tracee_thread(be_scheduled, (void *)(intptr_t)SCHED_OTHER);
	sem_wait(&is_waiting);
	tracee_ready();
	while (tracee_command_in_stdio(line, sizeof line))
		;
	return tracee_end();
}
