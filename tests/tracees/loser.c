/*
 * loser [threads]: blocks that are lost on command, each from a function that says it; with a
 * second thread that waits.
 *
 *	small N		N blocks of 40 bytes by lose_small()
 *	large N		N blocks of 5,000 bytes by lose_large()
 *	ring N		N rings of two blocks of 72 bytes by lose_rings()
 *	keep N		N blocks of 40 bytes that are held
 */
#include "tracee.h"

#define noinline __attribute__((noinline))

static void *volatile *volatile kept;

static noinline void
lose_small(long nr)
{
	for (long i = 0; i < nr; i++) {
		void *volatile p = malloc(40);

		memset(p, 0x5a, 40);
	}
}

static noinline void
lose_large(long nr)
{
	for (long i = 0; i < nr; i++) {
		void *volatile p = malloc(5000);

		memset(p, 0x5a, 5000);
	}
}

static noinline void
lose_rings(long nr)
{
	for (long i = 0; i < nr; i++) {
		void *volatile *volatile a = calloc(1, 72), *volatile *volatile b = calloc(1, 72);

		*a = (void *)(uintptr_t)b;
		*b = (void *)(uintptr_t)a;
	}
}

static noinline void
keep(long nr)
{
	void *volatile *p = calloc((size_t)nr + 1, sizeof *p);

	for (long i = 1; i <= nr; i++)
		p[i] = malloc(40);
	p[0] = (void *)(uintptr_t)kept;
	kept = p;
}

static noinline void
obey(const char *line)
{
	static const struct {
		const char *name;
		void (*run)(long nr);
	} command[] = { { "small", lose_small }, { "large", lose_large }, { "ring", lose_rings },
		{ "keep", keep } };
	const size_t len = strcspn(line, " ");

	for (size_t i = 0; i < sizeof command / sizeof *command; i++)
		if (strlen(command[i].name) == len && strncmp(line, command[i].name, len) == 0)
			command[i].run(strtol(line + len, NULL, 10));
}

int
main(int argc, char **argv)
{
	char line[64];

	(void)argv;
	if (argc > 1)
		tracee_thread(tracee_wait_for_ever, NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		obey(line);
		tracee_scrub();
		tracee_say("done");
	}
	return tracee_end();
}
