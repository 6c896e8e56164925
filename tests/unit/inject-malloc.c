/*
 * Calls into a child of ours: what comes back is what the child itself says, and the child goes on
 * as if nothing had been.
 */
#include <config.h>

#include <errno.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/debug.h"
#include "glibc/process.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "os/os.h"
#include "os/status.h"
#include "os/target.h"
#include "tap.h"

struct child {
	pid_t pid;
	int to, from; /* commands to it, answers from it */
};

static void *
wait_for_ever(void *arg)
{
	free(malloc(100)); /* so that it has an arena */
	pthread_barrier_wait(arg);
	for (;;)
		pause();
	return NULL;
}

static void
answer(const char *text, size_t len)
{
	if (write(3, &len, sizeof len) < 0 || write(3, text, len) < 0)
		_exit(9);
}

/* 'i': its own malloc_info; 'q': end. */
static void
serve(void)
{
	static char text[1 << 20];
	FILE *f = fmemopen(text, sizeof text, "w");
	char command;

	setvbuf(f, NULL, _IOFBF, sizeof text / 2);
	answer("ready", 5); /* from here on the heap stays as it is */
	for (;;) {
		struct pollfd p = { .fd = 0, .events = POLLIN };

		if (poll(&p, 1, -1) < 0)
			_exit(errno == EINTR ? 7 : 8); /* nothing may break this off */
		if (read(0, &command, 1) != 1 || command == 'q')
			_exit(0);
		rewind(f);
		malloc_info(0, f);
		fflush(f);
		answer(text, (size_t)ftell(f));
	}
}

static void *blocks[4096];

static void
be_child(int nr_threads)
{
	static pthread_barrier_t barrier;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_barrier_init(&barrier, NULL, (unsigned int)nr_threads + 1);
	for (int i = 0; i < nr_threads; i++)
		pthread_create(&thread, NULL, wait_for_ever, &barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 4096; i++)
		blocks[i] = memset(malloc(20000), 1, 20000);
	for (int i = 0; i < 4000; i++)
		free(blocks[i]);
	serve();
}

static char *
hear(struct child *c)
{
	size_t len, got = 0;
	char *text;

	if (read(c->from, &len, sizeof len) != sizeof len || !(text = calloc(1, len + 1)))
		return NULL;
	while (got < len) {
		ssize_t n = read(c->from, text + got, len - got);

		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return text;
}

static struct child
start(int nr_threads)
{
	struct child c;
	int to[2], from[2];

	if (pipe(to) < 0 || pipe(from) < 0)
		exit(99);
	c.pid = fork();
	if (c.pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 3);
		be_child(nr_threads);
	}
	c.to = to[1];
	c.from = from[0];
	close(to[0]);
	close(from[1]);
	free(hear(&c));
	return c;
}

static char *
ask(struct child *c, char command)
{
	if (write(c->to, &command, 1) != 1)
		return NULL;
	return command == 'q' ? NULL : hear(c);
}

static void
test_one(int nr_threads, enum inject_mode mode, enum inject_capture capture, const char *name)
{
	struct inject_options opt = { .capture = capture,
		.mode = mode,
		.wait_ns = 300000000000,
		.timeout_ns = 300000000000 };
	struct child c = start(nr_threads);
	struct inject_report report;
	struct inject_target *callee = NULL;
	struct target t = TARGET_NONE;
	struct process p = { 0 };
	struct text out = { 0 };
	struct os_status before, after;
	struct err e = { 0 };
	int status = -1;
	char *own;

	ok(target_open(&t, c.pid, &e) == 0 && process_read(&p, &t, &e) == 0 &&
			process_find_arenas(&p, NULL, &e) == 0 &&
			inject_target_new(&callee, &p, &e) == 0,
		"%s: the child is known %s", name, e.msg);
	is_str(inject_libc_version(callee), gnu_get_libc_version(), "its libc's version");
	ok(inject_malloc_info(callee, &p.arenas, &opt, &out, &report, &e) == 0, "malloc_info %s",
		e.msg);
	printf("# mode %d, thread %d, held %.3f ms, call %.3f ms, refused %d\n", report.mode,
		report.tid, (double)report.held_ns / 1e6, (double)report.call_ns / 1e6,
		report.nr_rejected);
	own = ask(&c, 'i');
	ok(own && strcmp(out.v, own) == 0, "the same text as the child writes itself");
	ok(!report.is_cut, "nothing was cut off");
	os_status(&t, 0, &before, &e);
	ok(inject_malloc_trim(callee, &p.arenas, &opt, 0, &report, &e) == 0, "malloc_trim %s",
		e.msg);
	printf("# mode %d, thread %d, held %.3f ms, call %.3f ms, refused %d\n", report.mode,
		report.tid, (double)report.held_ns / 1e6, (double)report.call_ns / 1e6,
		report.nr_rejected);
	os_status(&t, 0, &after, &e);
	ok(after.vm_rss_bytes + (60 << 20) < before.vm_rss_bytes,
		"60 MiB and more were given back");
	is_u64((uint64_t)after.nr_threads, (uint64_t)nr_threads + 1, "no thread is left behind");
	is_u64(after.signals_blocked, before.signals_blocked, "no signal is left blocked");
	ask(&c, 'q');
	waitpid(c.pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends well (%#x)", status);
	text_release(&out);
	inject_target_free(callee);
	process_release(&p);
	target_release(&t);
	free(own);
}

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	if (getenv("DBG"))
		debug_enable();
	if (skip_if_sanitized("calls into a child"))
		return tap_end();
	test_one(0, INJECT_MODE_AUTO, INJECT_CAPTURE_STREAM, "one thread");
	test_one(3, INJECT_MODE_AUTO, INJECT_CAPTURE_STREAM, "four threads");
	test_one(3, INJECT_MODE_THREAD, INJECT_CAPTURE_STREAM, "four threads, without a helper");
	test_one(0, INJECT_MODE_AUTO, INJECT_CAPTURE_FD2, "one thread, by descriptor 2");
	test_one(3, INJECT_MODE_AUTO, INJECT_CAPTURE_FD2, "four threads, by descriptor 2");
	return tap_end();
}
