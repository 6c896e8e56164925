/*
 * zombie-leader [later]: main has ended, another thread goes on.  With "later" it ends on the
 * command "end", after which "map" maps 3 MiB.
 */
#include "tracee.h"

#include <sys/mman.h>

static pthread_t main_thread;

static pthread_t other_thread;

/* Until the end of standard input, as tracee_park(). */
static void *
map_on_command(void *arg)
{
	char line[64];

	if (pthread_join(main_thread, NULL) != 0)
		tracee_fail("pthread_join");
	tracee_say("done");
	while (tracee_command(line, sizeof line)) {
		if (mmap(NULL, (size_t)3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0) == MAP_FAILED)
			tracee_fail("mmap");
		tracee_say("done");
	}
	exit(tracee_end());
	return arg;
}

static void
end_later(void)
{
	char line[64];

	tracee_ready();
	if (!tracee_command(line, sizeof line))
		exit(tracee_end());
	if (pthread_create(&other_thread, NULL, map_on_command, NULL) != 0)
		tracee_fail("pthread_create");
	pthread_exit(NULL);
}

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
main(int argc, char **argv)
{
	(void)argv;
	main_thread = pthread_self();
	if (argc > 1)
		end_later();
	tracee_thread(go_on, NULL);
	pthread_exit(NULL);
}
