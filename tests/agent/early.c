/* A library that allocates before the agent has been relocated: in an IFUNC resolver. */
#include <stdlib.h>
#include <string.h>

static void *kept;

static int
answer(void)
{
	return 42;
}

int early_answer(void);

static int (*resolve(void))(void)
{
	char *p = malloc(100), *q = calloc(3, 7);
	void *aligned;

	memset(p, 1, 100);
	p = realloc(p, 1000);
	kept = p;
	if (posix_memalign(&aligned, 256, 10) == 0)
		free(realloc(aligned, 0));
	free(q);
	return answer;
}

int early_answer(void) __attribute__((ifunc("resolve")));

/* By a pointer, so that the relocation is made when the library is loaded. */
int (*const early_pointer)(void) = early_answer;

__attribute__((constructor)) static void
begin(void)
{
	free(kept);
	kept = malloc(10);
}

__attribute__((destructor)) static void
end(void)
{
	free(kept);
}
