#include <config.h>

#include "cmd/command.h"

#include <string.h>

/* Every command, in the order of the help text: cmd_NAME is defined at the end of cmd-NAME.c. */
#define COMMANDS(X)                                                                                \
	X(info)                                                                                    \
	X(trim)                                                                                    \
	X(maps)                                                                                    \
	X(heap)                                                                                    \
	X(leaks)                                                                                   \
	X(types)                                                                                   \
	X(retained)                                                                                \
	X(trace)                                                                                   \
	X(stacks)                                                                                  \
	X(watch)                                                                                   \
	X(check)                                                                                   \
	X(diff)                                                                                    \
	X(count)                                                                                   \
	X(profile)                                                                                 \
	X(record)                                                                                  \
	X(run)                                                                                     \
	X(report)                                                                                  \
	X(timeline)                                                                                \
	X(status)                                                                                  \
	X(export)                                                                                  \
	X(doctor)

#define DECLARE(name) extern const struct command cmd_##name;
#define POINTER(name) &cmd_##name,

COMMANDS(DECLARE)

const struct command *const commands[] = { COMMANDS(POINTER) NULL };

const struct command *
command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/*
 * Return the number of letters to change, add or drop to turn A into B (Levenshtein); 99 for long
 * words.
 */
static int
distance(const char *a, const char *b)
{
	int row[33];
	size_t na = strlen(a), nb = strlen(b);

	if (na > 32 || nb > 32)
		return 99;
	for (size_t j = 0; j <= nb; j++)
		row[j] = (int)j;
	for (size_t i = 1; i <= na; i++) {
		int diagonal = row[0];

		row[0] = (int)i;
		for (size_t j = 1; j <= nb; j++) {
			int swap = diagonal + (a[i - 1] != b[j - 1]);
			int best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			diagonal = row[j];
			row[j] = swap < best ? swap : best;
		}
	}
	return row[nb];
}

const struct command *
command_guess(const char *name)
{
	const struct command *best = NULL;
	int least = 3;

	for (size_t i = 0; commands[i]; i++) {
		int d = distance(name, commands[i]->name);

		if (d < least) {
			least = d;
			best = commands[i];
		}
	}
	return best;
}
