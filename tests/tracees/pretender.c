/*
 * pretender: a static program that memdiag must not count in.  TAKEN: somebody uses the words of a
 * thread that libc has no use for.  OLD: it has what only a glibc before 2.34 has.
 */
#include "tracee.h"

#if defined OLD
void *volatile __malloc_hook;
#endif

int
main(void)
{
	void *volatile block = malloc(1000);
	char line[16];

#if defined TAKEN && defined __x86_64__
	__asm__ volatile("movq $1, %%fs:0x88" : : : "memory");
#elif defined OLD
	__malloc_hook = NULL;
#endif
	tracee_ready();
	while (tracee_command(line, sizeof line))
		;
	free(block);
	return tracee_end();
}
