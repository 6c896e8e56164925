/*
 * malloc_trim in a thread whose registers hold no argument that a system call could take: what we
 * call on the way must not find them there.
 */
#include <config.h>

#include "child.h"
#include "glibc/arenas.h"
#include "inject/malloc.h"
#include "inject/target.h"

static volatile int is_over;

static void
be_over(int sig)
{
	(void)sig;
	is_over = 1;
}

/* Compute, with an invalid address where a fourth argument goes, until a signal comes. */
static void
spin(void *arg)
{
	(void)arg;
	signal(SIGUSR1, be_over);
	puts("ready");
	fflush(stdout);
#if defined __x86_64__
	__asm__ volatile("1: cmpl $0, %0; je 1b" : : "m"(is_over), "c"(-1L) : "cc");
#elif defined __aarch64__
	register long x3 __asm__("x3") = -1;

	__asm__ volatile("1: ldr w9, %0\n\tcbz w9, 1b" : : "m"(is_over), "r"(x3) : "x9");
#else
	while (!is_over)
		;
#endif
}

int
main(void)
{
	const struct inject_options opt = { .wait_ns = 300000000000, .timeout_ns = 300000000000 };
	auto_arenas struct arenas a = { 0 };
	struct child c;
	struct inject_target *callee = NULL;
	struct inject_report report;
	struct err e = { 0 };
	struct view v;

	if (skip_if_sanitized("malloc_trim comes back"))
		return tap_end();
	c = child_start(spin, NULL);
	view_take(&v, c.pid);
	ok(inject_target_new(&callee, &v.p, &e) == 0 &&
			arenas_find(&a, &v.t, &v.p.maps, &v.p.objects, NULL, &e) == 0,
		"and be called into %s", e.msg);
	ok(inject_malloc_trim(callee, &a, &opt, 0, &report, &e) == 0, "malloc_trim comes back %s",
		e.msg);
	kill(c.pid, SIGUSR1);
	ok(child_end(&c), "the child ends well");
	inject_target_free(callee);
	view_release(&v);
	return tap_end();
}
