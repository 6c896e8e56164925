/*
 * malloc_trim in the one thread of an event loop, which waits from the same place each time: no
 * wait may end with the registers, or the result, of another one.  Also when memdiag gets no
 * processor for so long that the thread ends its sleep and goes home by itself.
 */
#include <config.h>

#include <errno.h>
#include <sys/epoll.h>

#include "child.h"
#include "inject/job.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "os/clock.h"
#include "os/ptrace.h"

#define NR_TRIMS 40
#define NR_LATE 4
#define LATE_NS UINT64_C(600000000) /* longer than the thread sleeps */
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

/* When memdiag gets no processor. */
static enum {
	NEVER,
	BEFORE_A_LOOK, /* at a thread that it has waited for */
	BEFORE_A_STOP, /* of a thread that was asleep */
} is_late;

static size_t nr_overslept;

int __real_os_wait(pid_t tid, uint64_t deadline_ns, struct os_stop *ret, struct err *e);
int __wrap_os_wait(pid_t tid, uint64_t deadline_ns, struct os_stop *ret, struct err *e);
int __real_os_interrupt(pid_t tid, struct err *e);
int __wrap_os_interrupt(pid_t tid, struct err *e);
void __real_borrow_abandon(struct worker *c);
void __wrap_borrow_abandon(struct worker *c);

int
__wrap_os_wait(pid_t tid, uint64_t deadline_ns, struct os_stop *ret, struct err *e)
{
	int failed = __real_os_wait(tid, deadline_ns, ret, e);

	if (is_late == BEFORE_A_LOOK && !failed && ret->kind == OS_STOP_TIMEOUT)
		os_sleep_ns(LATE_NS);
	return failed;
}

int
__wrap_os_interrupt(pid_t tid, struct err *e)
{
	if (is_late == BEFORE_A_STOP)
		os_sleep_ns(LATE_NS);
	return __real_os_interrupt(tid, e);
}

/* For a thread that was borrowed and is home. */
void
__wrap_borrow_abandon(struct worker *c)
{
	nr_overslept += c->is_ours;
	__real_borrow_abandon(c);
}

static const struct inject_options *
patient(enum inject_mode mode)
{
	static struct inject_options opt;

	opt = (struct inject_options){ .mode = mode,
		.wait_ns = UINT64_C(300000000000),
		.timeout_ns = UINT64_C(300000000000) };
	return &opt;
}

static void
test_trims(struct view *v, enum inject_mode mode)
{
	auto_inject_target struct inject_target *callee = NULL;
	struct inject_report report;
	int nr_done = 0;

	if (!ok(inject_target_new(&callee, &v->p, &v->e) == 0 &&
			    process_find_arenas(&v->p, NULL, &v->e) == 0,
		    "%s: the event loop can be called into %s", inject_mode_name[mode], v->e.msg))
		return;
	for (int i = 0; i < NR_TRIMS; i++)
		nr_done += inject_malloc_trim(
				   callee, &v->p.arenas, patient(mode), 0, &report, &v->e) == 0;
	ok(nr_done == NR_TRIMS, "%s: it is trimmed %d times of %d", inject_mode_name[mode], nr_done,
		NR_TRIMS);
}

/* Trim and ask the loop while memdiag is late: only the answer may be lost. */
static void
test_late_calls(struct view *v)
{
	auto_inject_target struct inject_target *callee = NULL;
	const struct inject_options *opt = patient(INJECT_MODE_THREAD);
	struct inject_report report;
	int nr_done = 0, nr_lost = 0;

	if (!ok(inject_target_new(&callee, &v->p, &v->e) == 0 &&
			    process_find_arenas(&v->p, NULL, &v->e) == 0,
		    "late: the event loop can be called into %s", v->e.msg))
		return;
	nr_overslept = 0;
	for (int i = 0; i < NR_LATE; i++) {
		auto_text struct text xml = { 0 };

		is_late = i % 2 ? BEFORE_A_LOOK : BEFORE_A_STOP;
		nr_done += inject_malloc_trim(callee, &v->p.arenas, opt, 0, &report, &v->e) == 0;
		nr_lost +=
			inject_malloc_info(callee, &v->p.arenas, opt, &xml, &report, &v->e) < 0 &&
			v->e.kind == ERR_NO_SAFE_POINT;
	}
	is_late = NEVER;
	ok(nr_done == NR_LATE, "late: it is trimmed %d times of %d %s", nr_done, NR_LATE, v->e.msg);
	ok(nr_lost == NR_LATE, "late: malloc_info's answer is lost %d times of %d %s", nr_lost,
		NR_LATE, v->e.msg);
	is_u64(nr_overslept, 2 * NR_LATE, "late: the thread was home by then each time");
}

static void
test_late(void)
{
	struct child c = child_start(loop, NULL);
	struct view v;

	if (ok(c.is_ready, "late: an event loop is ready") && view_take(&v, c.pid)) {
		test_late_calls(&v);
		view_release(&v);
	}
	ok(child_end(&c), "late: each wait ended with its own registers and result");
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
	test_late();
	return tap_end();
}
