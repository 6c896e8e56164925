/*
 * callers [LIBRARY]: calls malloc and free in many ways, once for each line it reads:
 *
 *	direct		by its own name
 *	pointer		through a pointer that was taken when the program began
 *	libc		libc itself does
 *	later		LIBRARY, which is loaded at the first time, does
 *	handler		out of a signal handler
 *	short		no malloc, but a function of libc's that has but two instructions
 */
#include "tracee.h"

#include <dlfcn.h>
#include <signal.h>

static void *(*volatile saved_malloc)(size_t);
static void (*volatile saved_free)(void *);

static void
on_signal(int sig)
{
	(void)sig;
	tracee_use_malloc();
}

static void
call_later(const char *library)
{
	static void (*use_malloc)(void);

	if (!use_malloc) {
		void *handle = dlopen(library, RTLD_NOW);

		use_malloc = handle ? (void (*)(void))dlsym(handle, "caller_use_malloc") : NULL;
	}
	if (!use_malloc)
		tracee_fail("dlopen");
	use_malloc();
}

int
main(int argc, char **argv)
{
	pthread_mutexattr_t attr;
	char line[64];

	saved_malloc = malloc;
	saved_free = free;
	signal(SIGUSR1, on_signal);
	pthread_mutexattr_init(&attr);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "direct") == 0)
			tracee_use_malloc();
		else if (strcmp(line, "pointer") == 0)
			saved_free(saved_malloc(100));
		else if (strcmp(line, "libc") == 0)
			free(strdup(line));
		else if (strcmp(line, "later") == 0 && argc > 1)
			call_later(argv[1]);
		else if (strcmp(line, "handler") == 0)
			raise(SIGUSR1);
		else if (strcmp(line, "short") == 0)
			pthread_mutexattr_destroy(&attr);
		tracee_say("done");
	}
	return tracee_end();
}
