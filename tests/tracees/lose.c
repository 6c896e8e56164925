/* lose: a library that loses a list of five blocks of 72 bytes at each call of lose_list(). */
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	char rest[64];
};

void
lose_list(void)
{
	struct node *volatile list = NULL;

	for (int i = 0; i < 5; i++) {
		struct node *n = calloc(1, sizeof *n);

		if (!n)
			abort();
		n->next = list;
		list = n;
	}
	list = NULL;
}
