/*
 * malloc_trim in the one thread of an event loop, which waits from the same place each time: no
 * wait may end with the registers, or the result, of another one.
 */
#include <config.h>

#include <errno.h>
#include <sys/epoll.h>

#include "child.h"
#include "inject/inject.h"

#define NR_TRIMS 40
#define NR_BLOCKS 100000

/* epoll_wait(EP, EV, 1, 1000), with TAG in a register that the call must keep. */
static long
wait_with_tag(int ep, struct epoll_event *ev, uint64_t tag, uint64_t *ret_tag)
{
	register long timeout_ms __asm__("r10") = 1000;
	long result = SYS_epoll_wait;

	__asm__ volatile("mov %[tag], %%rbx\n\tsyscall\n\tmov %%rbx, %[got]"
			 : [got] "=r"(*ret_tag), "+a"(result)
			 : [tag] "r"(tag), "D"((long)ep), "S"(ev), "d"(1L), "r"(timeout_ms)
			 : "rbx", "rcx", "r11", "memory");
	return result;
}

/* Write a byte a few times a millisecond. */
static void
be_client(int to)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (write(to, "x", 1) == 1)
		usleep(200);
	_exit(0);
}

static void
watch(int ep, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
		abort();
}

/* Free chunks that malloc_trim() looks through while the client writes. */
static void
fill_heap(void)
{
	static void *block[NR_BLOCKS];

	for (size_t i = 0; i < NR_BLOCKS; i++)
		memset(block[i] = malloc(500), 1, 500);
	for (size_t i = 0; i < NR_BLOCKS; i += 2)
		free(block[i]);
}

static void
loop(void *arg)
{
	int pipe_fd[2], ep = epoll_create1(EPOLL_CLOEXEC);
	/* in memory: what is in a register is put back with the others */
	static volatile uint64_t nr, nr_wrong;
	bool is_over = false;

	(void)arg;
	if (ep < 0 || pipe(pipe_fd) < 0)
		abort();
	if (!fork())
		be_client(pipe_fd[1]);
	close(pipe_fd[1]);
	watch(ep, pipe_fd[0]);
	watch(ep, 0);
	fill_heap();
	puts("ready");
	fflush(stdout);
	while (!is_over) {
		struct epoll_event ev = { 0 };
		uint64_t tag = 0;
		long result;
		char c;

		result = wait_with_tag(ep, &ev, ++nr, &tag);
		nr_wrong += tag != nr || result != 1;
		if (ev.data.fd == pipe_fd[0])
			nr_wrong += read(pipe_fd[0], &c, 1) != 1;
		else
			is_over = read(0, &c, 1) == 0;
	}
	_exit(nr_wrong ? 1 : 0);
}

static void
test_trims(struct view *v, enum inject_mode mode)
{
	const struct inject_options opt = { .mode = mode,
		.wait_ns = UINT64_C(300000000000),
		.timeout_ns = UINT64_C(300000000000) };
	auto_inject_target struct inject_target *it = NULL;
	struct inject_report report;
	int nr_done = 0;

	if (!ok(inject_target_new(&it, &v->p, &v->e) == 0 &&
			    process_find_arenas(&v->p, NULL, &v->e) == 0,
		    "%s: the event loop can be called into %s", inject_mode_name[mode], v->e.msg))
		return;
	for (int i = 0; i < NR_TRIMS; i++)
		nr_done += inject_malloc_trim(it, &v->p.arenas, &opt, 0, &report, &v->e) == 0;
	ok(nr_done == NR_TRIMS, "%s: it is trimmed %d times of %d", inject_mode_name[mode], nr_done,
		NR_TRIMS);
}

static void
test_mode(enum inject_mode mode)
{
	struct child c = child_start(loop, NULL);
	struct view v;

	if (ok(c.is_ready, "%s: an event loop is ready", inject_mode_name[mode]) &&
		view_take(&v, c.pid)) {
		test_trims(&v, mode);
		view_release(&v);
	}
	ok(child_end(&c), "%s: each wait ended with its own registers and result",
		inject_mode_name[mode]);
}

int
main(void)
{
	if (skip_if_sanitized("malloc_trim comes back"))
		return tap_end();
	test_mode(INJECT_MODE_THREAD);
	test_mode(INJECT_MODE_HELPER);
	return tap_end();
}
