/*
 * landlock: a program that has forbidden itself to open files any more, with a thread beside main.
 * Exits with 77 where the kernel has no Landlock.
 */
#include "tracee.h"

#include <poll.h>
#include <sys/syscall.h>

/*
 * linux/landlock.h (5.13) may be missing: the first form of the structure, and three of its rights.
 */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif
#define EXECUTE 1
#define WRITE_FILE 2
#define READ_FILE 4

static void *
use_malloc_and_wait(void *arg)
{
	tracee_use_malloc();
	return tracee_wait_for_ever(arg);
}

int
main(void)
{
	const uint64_t handled = EXECUTE | WRITE_FILE | READ_FILE;
	int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);

	if (rules < 0)
		return 77;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		syscall(SYS_landlock_restrict_self, rules, 0) != 0)
		tracee_fail("landlock");
	tracee_thread(use_malloc_and_wait, NULL);
	tracee_ready();
	return tracee_park();
}
