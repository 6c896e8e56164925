/*
 * exchanger DIR A B: exchanges the names A and B in DIR all the time, as a user does who wants
 * another program to examine one file and to open the other.  Answers each line with the number of
 * exchanges so far.
 */
#include "tracee.h"

#include <fcntl.h>
#include <stdatomic.h>

static atomic_long nr_done;
static char **names;

static void *
exchange(void *arg)
{
	for (;;)
		if (renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0)
			nr_done++;
	return arg;
}

int
main(int argc, char **argv)
{
	char line[64];

	if (argc < 4 || chdir(argv[1]) < 0)
		return 64;
	names = argv + 2;
	tracee_thread(exchange, NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%ld", nr_done);
	return tracee_end();
}
