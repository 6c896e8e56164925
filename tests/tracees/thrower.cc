/*
 * thrower: a C++ program that throws and catches.  Speaks the protocol of tracee.h, and of ledger.c what
 * is needed here: "sum", which is always nothing, and "throw N".
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unistd.h>

static void
say(const char *words)
{
	if (write(1, words, strlen(words)) < 0)
		_exit(99);
}

static void
throw_often(long nr)
{
	while (nr-- > 0)
		try {
			std::string text(static_cast<std::size_t>(nr % 1000), 'x');

			throw std::runtime_error(text + " and more, so that it is no short string");
		} catch (const std::exception &e) {
			if (!e.what())
				_exit(99);
		}
}

int
main()
{
	char line[64];
	ssize_t n;

	throw_often(1);
	say("ready\n");
	while ((n = read(0, line, sizeof line - 1)) > 0) {
		line[n] = '\0';
		if (strncmp(line, "throw ", 6) == 0)
			throw_often(atol(line + 6));
		say(strncmp(line, "sum", 3) == 0 ? "0 0\n" : "done\n");
	}
	say("alive\n");
	return 0;
}
