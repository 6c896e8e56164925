/*
 * Functions that a borrowed thread may not be in: asked of our own libc.
 */
#define _GNU_SOURCE
#include <config.h>

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "glibc/process.h"
#include "inject/safety-priv.h"
#include "os/os.h"
#include "os/target.h"
#include "tap.h"

static void
danger(const struct inject_target *callee, const char *function, const char *want)
{
	void *at = dlsym(RTLD_DEFAULT, function);
	const char *got = at ? safety_danger_at(callee, (raddr){ (uintptr_t)at + 1 }) : "not found";

	ok(got == want || (got && want && strcmp(got, want) == 0), "%s: %s", function,
		want ? want : "no danger");
	if (got != want && !(got && want && strcmp(got, want) == 0))
		printf("#   got %s\n", got ? got : "no danger");
}

int
main(void)
{
	static const char *const harmless[] = { "read", "poll", "sem_wait", "sem_timedwait",
		"pthread_cond_wait", "nanosleep", "epoll_wait", "strlen", "memcpy", "qsort",
		"getpid", "pthread_join" };
	static const char *const in_stdio[] = { "printf", "fprintf", "vfprintf", "__printf_chk",
		"fgets", "fgets_unlocked", "getline", "__getdelim", "fread", "fwrite", "puts",
		"fflush", "fopen", "fopen64", "_IO_getc", "syslog", "perror", "open_memstream",
		"popen" };
	static const char *const in_malloc[] = { "malloc", "free", "calloc", "realloc",
		"posix_memalign", "malloc_trim", "malloc_info", "mallinfo" };
	struct inject_target callee = { 0 };
	struct process p = { 0 };
	struct target t = TARGET_NONE;
	struct err e = { 0 };

	if (skip_if_sanitized("dangerous places in libc"))
		return tap_end();
	ok(target_open(&t, getpid(), &e) == 0 && process_read(&p, &t, &e) == 0,
		"we know ourselves %s", e.msg);
	callee.target = &t;
	callee.process = &p;
	for (size_t i = 0; i < p.objects.nr; i++)
		if (p.objects.v[i].is_libc)
			callee.libc = &p.objects.v[i];
	ok(callee.libc && safety_learn(&callee, &e) == 0, "learned %zu places %s",
		callee.dangers.nr, e.msg);
	for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
		danger(&callee, harmless[i], NULL);
	for (size_t i = 0; i < sizeof in_stdio / sizeof *in_stdio; i++)
		danger(&callee, in_stdio[i], "stdio");
	for (size_t i = 0; i < sizeof in_malloc / sizeof *in_malloc; i++)
		danger(&callee, in_malloc[i], "malloc");
	danger(&callee, "fork", "fork or thread creation");
#if __GLIBC_PREREQ(2, 34) /* before, in another library than libc */
	danger(&callee, "pthread_create", "fork or thread creation");
#endif
	danger(&callee, "posix_spawn", "fork or thread creation");
	danger(&callee, "setuid", "fork or thread creation");
	danger(&callee, "setresgid", "fork or thread creation");
	danger(&callee, "__tls_get_addr", "ld.so");
	free(callee.dangers.v);
	process_release(&p);
	target_release(&t);
	return tap_end();
}
