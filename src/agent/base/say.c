#include <config.h>

#include "agent/base/say.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "agent/base/sys.h"

#define ROOM 512

struct say_line {
	char text[ROOM];
	size_t len;
};

static void
say_add(struct say_line *l, char c)
{
	if (l->len < ROOM - 1)
		l->text[l->len++] = c;
}

static void
say_add_number(struct say_line *l, uint64_t n)
{
	char digits[20];
	size_t nr = 0;

	do
		digits[nr++] = (char)('0' + n % 10);
	while (n /= 10);
	while (nr)
		say_add(l, digits[--nr]);
}

#define BIT(sig) (UINT64_C(1) << ((sig)-1))
/*
 * The signals that a write may raise: no reader, the file has its largest size, another process
 * group owns the terminal.
 */
#define OF_WRITING (BIT(SIGPIPE) | BIT(SIGXFSZ) | BIT(SIGTTOU))

/*
 * Wait up to one second for a slow reader.  Without a deadline, a reader that never reads would
 * block the program forever; without the agent it would continue or end at its limit.
 */
static bool
is_read(void)
{
	struct pollfd p = { .fd = 2, .events = POLLOUT };
	struct timespec patience = { .tv_sec = 1 };
	const uint64_t all = UINT64_MAX;

	return sys_call(SYS_ppoll, &p, 1, &patience, &all, sizeof all) != 0;
}

/*
 * Write the line in one call, so that lines of several processes do not mix.  A line that cannot be
 * written is lost.  The signal that the write raised would end the program and is removed, but a
 * signal that was already pending stays.
 */
static void
agent_say_end(struct say_line *l)
{
	const struct timespec at_once = { 0 };
	const uint64_t blocked = OF_WRITING;
	uint64_t was = 0, before = 0, ours;

	l->text[l->len++] = '\n';
	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &was, sizeof was);
	sys_call(SYS_rt_sigpending, &before, sizeof before);
	ours = OF_WRITING & ~before;
	if (is_read() && sys_failed(sys_call(SYS_write, 2, l->text, l->len)))
		sys_call(SYS_rt_sigtimedwait, &ours, NULL, &at_once, sizeof ours);
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &was, NULL, sizeof was);
}

void
say(const char *fmt, const uint64_t *numbers)
{
	struct say_line l = { .len = 0 };

	for (; *fmt; fmt++) {
		if (fmt[0] == '%' && fmt[1] == 'u') {
			say_add_number(&l, *numbers++);
			fmt++;
		} else {
			say_add(&l, *fmt);
		}
	}
	agent_say_end(&l);
}

void
say_string(const char *before, const char *string)
{
	struct say_line l = { .len = 0 };

	for (; *before; before++)
		say_add(&l, *before);
	for (; *string; string++)
		say_add(&l, (unsigned char)*string < ' ' || *string == 0x7f ? '?' : *string);
	agent_say_end(&l);
}
