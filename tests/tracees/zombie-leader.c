/* zombie-leader: main has ended, another thread goes on. */
#include "tracee.h"

static pthread_t main_thread;

static void *
go_on(void *arg)
{
	if (pthread_join(main_thread, NULL) != 0)
		tracee_fail("pthread_join");
	tracee_ready();
	exit(tracee_park());
	return arg;
}

int
main(void)
{
	main_thread = pthread_self();
	tracee_thread(go_on, NULL);
	pthread_exit(NULL);
}
