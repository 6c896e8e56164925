#include <config.h>

#include <errno.h>

#include "base/err.h"
#include "base/text.h"
#include "tap.h"

static void
printable(const char *in, const char *want, const char *name)
{
	char buf[64];

	is_str(text_printable(in, buf, sizeof buf), want, name);
}

static void
bytes(uint64_t in, const char *want)
{
	char buf[32];

	is_str(text_bytes(in, buf, sizeof buf), want, want);
}

static void
test_err(void)
{
	struct err e = { 0 };

	ok(err_set(&e, ENOENT, "cannot open %s", "x") == -1, "err_set returns -1");
	is_str(e.msg, "cannot open x: No such file or directory", "errno's text is appended");
	is_u64(e.kind, ERR_FAILED, "ENOENT is an ordinary failure");
	err_context(&e, "reading %d", 7);
	is_str(e.msg, "reading 7: cannot open x: No such file or directory", "context goes before");
	err_hint(&e, "Try %s", "y");
	is_str(e.msg, "reading 7: cannot open x: No such file or directory. Try y",
		"a hint goes behind");
	err_set(&e, EPERM, "x");
	is_u64(e.kind, ERR_PERMISSION, "EPERM is a matter of permission");
	err_set(&e, ESRCH, "x");
	is_u64(e.kind, ERR_GONE, "ESRCH means gone");
	for (int i = 0; i < 100; i++)
		err_hint(&e, "and on and on");
	ok(strlen(e.msg) < sizeof e.msg, "a long message is cut, not overrun");
}

int
main(void)
{
	char small[6], long_enough[32];

	printable("plain [heap] name", "plain [heap] name", "plain text stays");
	printable("a\nb\033[31m", "a\\012b\\033[31m", "newline and escape are shown as octal");
	printable("gr\303\274n", "gr\303\274n", "valid UTF-8 stays");
	printable("\303(", "\\303(", "broken UTF-8 is shown as octal");
	printable("\302\233x", "\\302\\233x", "a C1 control is no letter");
	printable("\342\200\256x", "\\342\\200\\256x", "nor is a mark that turns the text around");
	printable("\330\234x", "\\330\\234x", "nor the mark of Arabic letters");
	printable("\300\257", "\\300\\257", "nor an overlong form");
	is_str(text_printable("a\\012", long_enough, sizeof long_enough), "a\\012",
		"a backslash is shown as it is");
	is_str(text_escape("a\\012", long_enough, sizeof long_enough), "a\\\\012",
		"or escaped as well");
	is_str(text_escape("a\n", long_enough, sizeof long_enough), "a\\012",
		"so that a newline differs from what looks like its escape");
	is_str(text_escape("\\\\\\", small, sizeof small), "\\\\\\\\",
		"an escaped backslash is not cut in two");
	is_str(text_printable("abcdefgh", small, sizeof small), "abcde", "cut to fit");
	is_str(text_printable("abcd\n", small, sizeof small), "abcd",
		"an escape is not cut in two");
	is_str(text_abbreviate("abcde", small, sizeof small), "abcde", "what fits is not marked");
	is_str(text_abbreviate("abcdef", small, sizeof small), "ab...", "what was cut is marked");
	is_str(text_abbreviate("a\nbcdef", small, sizeof small), "a...",
		"an escape is left out as a whole, before the mark");
	is_str(text_abbreviate("a\303\274cde", small, sizeof small), "a...",
		"so is a character of two bytes");
	is_str(text_abbreviate("abc", small, 4), "abc", "the least room: what fits");
	is_str(text_abbreviate("abcd", small, 4), "...", "the least room: the mark");
	bytes(0, "0 B");
	bytes(1023, "1023 B");
	bytes(1024, "1.0 KiB");
	bytes(1048575, "1.0 MiB");
	bytes(UINT64_MAX, "16.0 EiB");
	test_err();
	return tap_end();
}
