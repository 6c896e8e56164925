/*
 * contents: blocks without a type, in containers of C++ that are global variables.  It says "contents
 * NUMBER KIND" for the blocks of each kind of 'memdiag types --by=contents', and "holder NUMBER NAME"
 * for the blocks that each variable holds.
 */
#include "tracee.h"

#include <malloc.h>
#include <list>
#include <map>
#include <string>
#include <vector>

static std::list<long> elements;
static std::map<long, std::string> ordered;
static std::vector<std::vector<long>> vectors;
static std::vector<std::string> strings;
static std::vector<void *> zeroed, tables, numbers;
static unsigned long seed = 88172645463325252UL;

static unsigned long
draw()
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A number that is no address: the highest bit is set. */
static long
draw_number()
{
	return static_cast<long>(draw() | 1UL << 63);
}

static std::string
draw_text(size_t bytes)
{
	static const char *const part[] = { "a", "Z", " ", "9", "\n", "ü", "漢" };
	std::string s;

	/* At least half of the block is text. */
	s.reserve(bytes + 4);
	while (s.size() < bytes)
		s += part[draw() % 7];
	return s;
}

static void *
number_block(size_t bytes)
{
	long *p = static_cast<long *>(malloc(bytes));

	for (size_t i = 0; i < malloc_usable_size(p) / sizeof *p; i++)
		p[i] = draw_number();
	return p;
}

static void *
table_block(size_t nr)
{
	void **p = static_cast<void **>(number_block(nr * sizeof(void *)));

	for (size_t i = 0; i < nr; i++)
		p[i] = numbers[(draw() % 100) * 2 + i % 2];
	return p;
}

static void
hold(int nr, const char *name)
{
	tracee_say("holder %d %s", nr, name);
}

int
main()
{
	const int nr = 300;

	/* Vectors that grow would leave addresses in blocks that are used again. */
	vectors.reserve(nr);
	strings.reserve(nr);
	zeroed.reserve(nr + 1);
	tables.reserve(nr);
	numbers.reserve(nr);
	for (int i = 0; i < nr; i++)
		numbers.push_back(number_block(24 + draw() % 300));
	for (int i = 0; i < nr; i++) {
		elements.push_back(draw_number());
		/* Within the node. */
		ordered[draw_number()] = "short";
		vectors.emplace_back(2 + draw() % 50);
		for (long &number : vectors.back())
			number = draw_number();
		strings.push_back(draw_text(24 + draw() % 200));
		zeroed.push_back(calloc(1, 24 + draw() % 3000));
		tables.push_back(table_block(3 + draw() % 40));
	}
	/* Never touched. */
	zeroed.push_back(calloc(1, 4 << 20));
	tracee_say("contents %d node", 2 * nr);
	/*
	 * The vectors' own arrays, too; but the end of the first vector may be the address of a
	 * chunk's header, which in the first words of a block is taken for malloc's.
	 */
	tracee_say("contents %d array", nr + 4);
	tracee_say("contents %d text", nr);
	tracee_say("contents %d zeroes", nr + 1);
	tracee_say("contents %d pointers", nr);
	tracee_say("contents %d other", nr);
	hold(nr, "elements");
	hold(nr, "ordered");
	hold(nr + 1, "vectors");
	hold(nr + 1, "strings");
	hold(nr + 2, "zeroed");
	hold(nr + 1, "tables");
	hold(nr + 1, "numbers");
	tracee_ready();
	return tracee_park();
}
