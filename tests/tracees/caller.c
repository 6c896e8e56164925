/* caller: a library that calls malloc and free, to be loaded when they are hooked. */
#include <stdlib.h>

void
caller_use_malloc(void)
{
	void *volatile block = malloc(100);

	free(block);
}
