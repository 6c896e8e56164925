/*
 * liar WHAT: a program whose malloc_info tells lies.  It puts a jump to its own function over
 * libc's, as whoever wants to mislead memdiag could.
 *
 *	huge		a gigabyte
 *	long		a megabyte, more than memdiag has room for
 *	entities	an entity bomb
 *	nul		bytes of zero and escapes in it
 *	unbalanced	elements that are not closed
 *	nonsense	no XML at all
 *	numbers		numbers that fit nowhere
 *	nothing		no byte
 *	endless		never returns
 *	crash		kills the calling thread, and so the process
 */
#include "tracee.h"

#include <malloc.h>
#include <semaphore.h>
#include <sys/mman.h>

static const char *what;
static sem_t never;

static void
tell_much(FILE *f, long nr_heaps)
{
	fputs("<malloc version=\"1\">\n", f);
	for (long i = 0; i < nr_heaps; i++)
		fputs("<heap nr=\"0\"><sizes></sizes><total type=\"fast\" count=\"0\" size=\"0\"/>"
		      "</heap>                              \n",
			f);
	fputs("</malloc>\n", f);
}

static void
tell_entities(FILE *f)
{
	fputs("<!DOCTYPE malloc [<!ENTITY a0 \"lies lies lies lies\">", f);
	for (int i = 1; i < 30; i++)
		fprintf(f, "<!ENTITY a%d \"&a%d;&a%d;&a%d;&a%d;\">", i, i - 1, i - 1, i - 1, i - 1);
	fputs("]><malloc version=\"1\">&a29;</malloc>", f);
}

static int
lie(int options, FILE *f)
{
	(void)options;
	if (strcmp(what, "huge") == 0)
		tell_much(f, 10000000);
	else if (strcmp(what, "long") == 0)
		tell_much(f, 10000);
	else if (strcmp(what, "entities") == 0)
		tell_entities(f);
	else if (strcmp(what, "nul") == 0)
		fwrite("<malloc version=\"\33[2J\0\">\n<heap nr=\"0\">\0</heap></malloc>", 1, 54,
			f);
	else if (strcmp(what, "unbalanced") == 0)
		fputs("<malloc version=\"1\"><heap nr=\"0\"><sizes><heap nr=\"1\"></malloc>", f);
	else if (strcmp(what, "nonsense") == 0)
		fputs("\33]0;owned\7 no XML \33[31m at all", f);
	else if (strcmp(what, "numbers") == 0)
		fputs("<malloc version=\"1\"><heap nr=\"-1\"><sizes><size from=\"99999999999999999"
		      "999999\" to=\"-5\" total=\"x\" count=\"18446744073709551616\"/></sizes>"
		      "<system type=\"current\" size=\"-1\"/></heap></malloc>",
			f);
	else if (strcmp(what, "endless") == 0)
		while (sem_wait(&never) != 0)
			;
	else if (strcmp(what, "crash") == 0)
		abort();
	return 0;
}

/* movabs $lie, %rax; jmp *%rax */
static void
replace_malloc_info(void)
{
	unsigned char jump[12] = { 0x48, 0xb8, [10] = 0xff, 0xe0 };
	uintptr_t at = (uintptr_t)malloc_info, to = (uintptr_t)lie;
	uintptr_t page = at & ~(uintptr_t)4095;

	memcpy(jump + 2, &to, sizeof to);
	if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		tracee_fail("mprotect");
	memcpy((void *)at, jump, sizeof jump);
	if (mprotect((void *)page, 8192, PROT_READ | PROT_EXEC) != 0)
		tracee_fail("mprotect");
}

static void *
wait_for_ever(void *arg)
{
	while (sem_wait(&never) != 0)
		;
	return arg;
}

int
main(int argc, char **argv)
{
	void *volatile block; /* so that the two calls stay */

	what = argc > 1 ? argv[1] : "nothing";
	sem_init(&never, 0, 0);
	block = malloc(1); /* without it there are no arenas to ask about */
	free(block);
	replace_malloc_info();
	if (argc > 2)
		tracee_thread(wait_for_ever, NULL);
	tracee_ready();
	return tracee_park();
}
