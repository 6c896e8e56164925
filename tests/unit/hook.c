/*
 * hook PID set LIBRARY NAME...: have PID load LIBRARY and hook each function NAME of libc's with the
 * library's hook_NAME.
 * hook PID cycle TIMES LIBRARY NAME...: set and lift that so often.
 * hook PID lift: lift what is set.
 * hook PID count LIBRARY NAME: the library's number NAME.
 * hook PID byte NAME VALUE: the first byte of libc's function NAME becomes VALUE, as a debugger would
 * have it; says what it was.
 * hook PID text LIBRARY: all of the code and of the global offset tables, but the library's, to stdout.
 *
 * set and lift say how many entries and slots changed and how many already were, how often all threads
 * were stopped, how long one of them was, in nanoseconds a thread, and how many entries and slots are
 * somebody else's now; exits as memdiag does.  In the environment are HOOK_WAIT, how many nanoseconds to wait for a safe
 * moment; HOOK_FAILS, a function whose beginning cannot be written; HOOK_STANDS, one in whose first bytes a
 * thread seems to be at the first look; HOOK_MEANWHILE, a command to run before threads are first
 * stopped.  No test by itself: live tests call it.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "inject/arch.h"
#include "inject/inject.h"
#include "ui/ui.h"

#define MAX_HOOKS 16

static struct inject_options opt = { .wait_ns = 5000000000, .timeout_ns = 10000000000 };

static raddr fails_at, stands_at;	/* {0}: nowhere */
static const char *meanwhile;

int __real_os_poke(pid_t tid, raddr to, const void *from, size_t size, struct err *e);
int __wrap_os_poke(pid_t tid, raddr to, const void *from, size_t size, struct err *e);
raddr __real_arch_pc(const struct arch_regs *regs);
raddr __wrap_arch_pc(const struct arch_regs *regs);
int __real_os_trace(void (*fn)(void *arg), void *arg, struct err *e);
int __wrap_os_trace(void (*fn)(void *arg), void *arg, struct err *e);

int
__wrap_os_poke(pid_t tid, raddr to, const void *from, size_t size, struct err *e)
{
	if (fails_at.v && raddr_in(to, fails_at, raddr_add(fails_at, size)))
		return err_set(e, EIO, "cannot write code: the test will have it so");
	return __real_os_poke(tid, to, from, size, e);
}

raddr
__wrap_arch_pc(const struct arch_regs *regs)
{
	const raddr at = stands_at;

	stands_at.v = 0;
	return at.v ? raddr_add(at, 2) : __real_arch_pc(regs);
}

int
__wrap_os_trace(void (*fn)(void *arg), void *arg, struct err *e)
{
	if (meanwhile && system(meanwhile) != 0)
		return err_set(e, 0, "%s", meanwhile);
	meanwhile = NULL;
	return __real_os_trace(fn, arg, e);
}

/* What is known of the target at one moment. */
struct sight {
	struct maps m;
	struct objects o;
	struct arenas a;
	struct inject_target *it;
};

static int
look(struct sight *s, const struct target *t, struct err *e)
{
	*s = (struct sight){ 0 };
	return maps_read(&s->m, t, e) < 0 || objects_find(&s->o, &s->m, t, NULL, e) < 0 ||
			inject_target_new(&s->it, t, &s->m, &s->o, e) < 0 ||
			arenas_find(&s->a, t, &s->m, &s->o, NULL, e) < 0
		? -1
		: 0;
}

static void
look_away(struct sight *s)
{
	inject_target_free(s->it);
	arenas_release(&s->a);
	objects_release(&s->o);
	maps_release(&s->m);
}

static int
symbol_of(const struct object *o, const char *prefix, const char *name, struct image_symbol *ret,
	struct err *e)
{
	char full[64];

	snprintf(full, sizeof full, "%s%s", prefix, name);
	if (o && image_find(o->image, full, ret) == 0)
		return 0;
	return err_set_kind(e, ERR_FAILED, 0, "there is no %s", full);
}

static const struct object *
libc_of(const struct objects *o)
{
	for (size_t i = 0; i < o->nr; i++)
		if (o->v[i].is_libc)
			return &o->v[i];
	return NULL;
}

/* Load LIBRARY, and fill HOOK for each of the NR names. */
static int
prepare(const struct target *t, const char *library, char **name, size_t nr,
	struct inject_hook *hook, struct err *e)
{
	struct inject_library loaded;
	struct inject_report report;
	struct sight s;
	int failed = look(&s, t, e) < 0 ||
		inject_load(s.it, &s.a, &opt, library, &loaded, &report, e) < 0;

	look_away(&s);
	if (failed || look(&s, t, e) < 0)
		return -1;
	for (size_t i = 0; i < nr && !failed; i++) {
		struct image_symbol function, to, real;

		failed = symbol_of(libc_of(&s.o), "", name[i], &function, e) < 0 ||
			symbol_of(objects_at(&s.o, loaded.start), "hook_", name[i], &to, e) < 0 ||
			symbol_of(objects_at(&s.o, loaded.start), "real_", name[i], &real, e) < 0;
		if (!failed)
			hook[i] = (struct inject_hook){ name[i], function.addr, function.size_bytes,
				to.addr, real.addr };
	}
	look_away(&s);
	return failed ? -1 : 0;
}

static void
say(const struct inject_hooked *h)
{
	printf("%zu %zu %zu %zu %" PRIu64 " %zu\n", h->nr_entries, h->nr_slots, h->nr_already,
		h->nr_tries, h->freeze.nr_threads ? h->freeze.longest_ns / h->freeze.nr_threads : 0,
		h->nr_foreign);
}

static int
set(const struct target *t, const struct inject_hook *hook, size_t nr, struct err *e)
{
	struct inject_report report;
	struct inject_hooked hooked;
	struct sight s;
	int failed = look(&s, t, e) < 0 ||
		inject_hooks_set(s.it, &s.a, &opt, hook, nr, &hooked, &report, e) < 0;

	look_away(&s);
	if (!failed)
		say(&hooked);
	return failed ? -1 : 0;
}

static int
lift(const struct target *t, struct err *e)
{
	struct inject_hooked hooked;
	struct sight s;
	int failed = look(&s, t, e) < 0 || inject_hooks_lift(s.it, &opt, &hooked, e) < 0;

	look_away(&s);
	if (!failed)
		say(&hooked);
	return failed ? -1 : 0;
}

static int
set_times(const struct target *t, unsigned long times, char **arg, size_t nr, bool is_cycle,
	struct err *e)
{
	struct inject_hook hook[MAX_HOOKS];

	if (nr > MAX_HOOKS || prepare(t, arg[0], arg + 1, nr, hook, e) < 0)
		return -1;
	while (times--)
		if (set(t, hook, nr, e) < 0 || (is_cycle && lift(t, e) < 0))
			return -1;
	return 0;
}

static int
count(const struct target *t, const char *library, const char *name, struct err *e)
{
	auto_free char *path = realpath(library, NULL);
	struct image_symbol symbol;
	unsigned long value;
	struct sight s;
	int failed = look(&s, t, e);

	for (size_t i = 0; i < s.o.nr && !failed; i++)
		if (path && strcmp(s.o.v[i].path, path) == 0) {
			failed = symbol_of(&s.o.v[i], "", name, &symbol, e) < 0 ||
				os_read(t, symbol.addr, &value, sizeof value, e) < 0;
			if (!failed)
				printf("%lu\n", value);
		}
	look_away(&s);
	return failed;
}

static int
function_of(const struct target *t, const char *name, raddr *ret, struct err *e)
{
	struct image_symbol symbol;
	struct sight s;
	int failed = look(&s, t, e) < 0 || symbol_of(libc_of(&s.o), "", name, &symbol, e) < 0;

	look_away(&s);
	if (!failed)
		*ret = symbol.addr;
	return failed ? -1 : 0;
}

static int
set_byte(const struct target *t, const char *name, const char *value, struct err *e)
{
	const unsigned char byte = (unsigned char)atoi(value);
	unsigned char was;
	raddr at;
	auto_fd int fd = os_proc_open(t, "mem", O_RDWR, e);

	if (fd < 0 || function_of(t, name, &at, e) < 0)
		return -1;
	if (pread(fd, &was, 1, (off_t)at.v) != 1 || pwrite(fd, &byte, 1, (off_t)at.v) != 1)
		return err_set(e, errno, "cannot change %s", name);
	printf("%d\n", was);
	return 0;
}

/* Of every object: what is code, and what is written by ld.so alone. */
static int
text(const struct target *t, const char *library, struct err *e)
{
	auto_maps struct maps m = { 0 };

	if (maps_read(&m, t, e) < 0)
		return -1;
	for (size_t i = 0; i < m.nr; i++) {
		const struct region *r = &m.region[i];
		size_t size = r->end.v - r->start.v;
		auto_free char *copy = malloc(size);

		if (!r->inode || r->prot[1] == 'w' || strstr(r->path, library) || !copy)
			continue;
		if (os_read_some(t, r->start, copy, size, e) > 0)
			fwrite(copy, 1, size, stdout);
	}
	return 0;
}

static int
run(const struct target *t, int argc, char **argv, struct err *e)
{
	const char *what = argv[0];

	if (strcmp(what, "lift") == 0)
		return lift(t, e);
	if (strcmp(what, "set") == 0 && argc > 2)
		return set_times(t, 1, argv + 1, (size_t)argc - 2, false, e);
	if (strcmp(what, "cycle") == 0 && argc > 3)
		return set_times(t, strtoul(argv[1], NULL, 0), argv + 2, (size_t)argc - 3, true, e);
	if (strcmp(what, "count") == 0 && argc == 3)
		return count(t, argv[1], argv[2], e);
	if (strcmp(what, "byte") == 0 && argc == 3)
		return set_byte(t, argv[1], argv[2], e);
	if (strcmp(what, "text") == 0 && argc == 2)
		return text(t, argv[1], e);
	return err_set_kind(e, ERR_USAGE, 0, "what is %s?", what);
}

int
main(int argc, char **argv)
{
	auto_target struct target t = TARGET_NONE;
	const char *wait = getenv("HOOK_WAIT"), *fails = getenv("HOOK_FAILS"),
		   *stands = getenv("HOOK_STANDS");
	struct err e = { 0 };

	if (wait)
		opt.wait_ns = strtoull(wait, NULL, 0);
	meanwhile = getenv("HOOK_MEANWHILE");
	if (argc > 2 && target_open(&t, atoi(argv[1]), &e) == 0 &&
		(!fails || function_of(&t, fails, &fails_at, &e) == 0) &&
		(!stands || function_of(&t, stands, &stands_at, &e) == 0) &&
		run(&t, argc - 2, argv + 2, &e) == 0)
		return 0;
	fprintf(stderr, "hook: %s\n", e.msg);
	return (int)ui_exit_of(&e);
}
