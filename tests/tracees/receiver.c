/*
 * receiver HOW: one thread receives messages, another sends each in two pieces with a moment in
 * between.  HOW is recv-waitall, which wants the whole message, or read-timeout, recv-timeout,
 * which wait for one byte on a socket with a timeout (SO_RCVTIMEO).  No signal is ever handled
 * here, so none may come short or with EINTR. main waits inside stdio.
 *
 *	check	-> "broken" with the first that did, or "whole" with the number of messages
 */
#include "tracee.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/time.h>

#define PIECE_BYTES 3000

static int pair[2];
static size_t want_bytes;
static int flags = -1; /* -1: read(), not recv() */
static atomic_ulong nr_messages;
static char broken[64];
static atomic_bool is_broken;

static void
send_piece(size_t bytes)
{
	static const char piece[PIECE_BYTES];
	struct timespec pause = { 0, 50000 };

	if (write(pair[1], piece, bytes) != (ssize_t)bytes)
		tracee_fail("write");
	nanosleep(&pause, NULL);
}

static void *
send_for_ever(void *arg)
{
	for (;;) {
		send_piece(want_bytes - want_bytes / 2);
		if (want_bytes > 1)
			send_piece(want_bytes / 2);
	}
	return arg;
}

static void *
receive_for_ever(void *arg)
{
	char buf[2 * PIECE_BYTES];

	tracee_use_malloc();
	for (;;) {
		ssize_t n = flags < 0 ? read(pair[0], buf, want_bytes)
				      : recv(pair[0], buf, want_bytes, flags);

		if (n != (ssize_t)want_bytes && !is_broken) {
			snprintf(broken, sizeof broken, "broken: %zd of %zu bytes, %s", n,
				want_bytes, n < 0 ? strerror(errno) : "no error");
			is_broken = true;
		}
		nr_messages++;
	}
	return arg;
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct timeval timeout = { 60, 0 };
	char line[64];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		tracee_fail("socketpair");
	want_bytes = 1;
	if (strcmp(how, "recv-waitall") == 0) {
		want_bytes = 2 * PIECE_BYTES;
		flags = MSG_WAITALL;
	} else {
		setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
		flags = strcmp(how, "recv-timeout") == 0 ? 0 : -1;
	}
	tracee_thread(receive_for_ever, NULL);
	tracee_thread(send_for_ever, NULL);
	tracee_ready();
	while (tracee_command_in_stdio(line, sizeof line)) {
		if (is_broken)
			tracee_say("%s", broken);
		else
			tracee_say("whole %lu", nr_messages);
	}
	return tracee_end();
}
