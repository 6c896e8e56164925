/*
 * hook PID set LIBRARY NAME...: have PID load LIBRARY and hook each function NAME of libc's with
 * the library's hook_NAME. hook PID cycle TIMES LIBRARY NAME...: set and lift that so often. hook
 * PID lift: lift what is set. hook PID count LIBRARY NAME: the library's number NAME. hook PID byte
 * NAME[+N] [VALUE]: byte number N (0) of libc's function NAME becomes VALUE, as a debugger would do
 * it; says what it was.  Without VALUE it only says what it is. hook PID text LIBRARY: all of the
 * code and of the global offset tables, but the library's, to stdout.
 *
 * set and lift say how many entries and slots changed and how many already were, how often all
 * threads were stopped, how long one of them was, in nanoseconds a thread, and how many entries and
 * slots are somebody else's now; exits as memdiag does.  In the environment are HOOK_WAIT, how many
 * nanoseconds to wait for a safe moment; HOOK_FAILS, a function whose beginning cannot be written;
 * HOOK_STANDS, one in whose first bytes a thread seems to be at the first look; HOOK_MEANWHILE, a
 * command to run before threads are first stopped; HOOK_PREFIX, what the names of hooks begin with
 * (hook_).  No test by itself: live tests call it.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "glibc/process.h"
#include "inject/hook.h"
#include "inject/load-library.h"
#include "inject/load.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/target.h"
#include "ui/exit.h"

#define MAX_HOOKS 16
/*
 * Inside the jump, which lies behind a first instruction of one to four bytes: in glibc 2.36 that
 * has two, in 2.43 three.
 */
#define STANDS_AT_BYTE 5

static struct inject_options opt = { .wait_ns = 300000000000, .timeout_ns = 300000000000 };

static raddr fails_at, stands_at; /* {0}: nowhere */
static const char *hooks = "hook_";
static const char *meanwhile;

int __real_os_poke(pid_t tid, raddr to, const void *from, size_t size, struct err *e);
int __wrap_os_poke(pid_t tid, raddr to, const void *from, size_t size, struct err *e);
raddr __real_arch_pc(const struct arch_regs *regs);
raddr __wrap_arch_pc(const struct arch_regs *regs);
int __real_os_detach(pid_t tid, int sig, struct err *e);
int __wrap_os_detach(pid_t tid, int sig, struct err *e);
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
	return stands_at.v ? raddr_add(stands_at, STANDS_AT_BYTE) : __real_arch_pc(regs);
}

/* The first look is over when a thread is let go. */
int
__wrap_os_detach(pid_t tid, int sig, struct err *e)
{
	stands_at.v = 0;
	return __real_os_detach(tid, sig, e);
}

int
__wrap_os_trace(void (*fn)(void *arg), void *arg, struct err *e)
{
	if (meanwhile && system(meanwhile) != 0)
		return err_set(e, 0, "%s", meanwhile);
	meanwhile = NULL;
	return __real_os_trace(fn, arg, e);
}

/* The target as it was read at one moment. */
struct seen {
	struct process p;
	struct inject_target *callee;
};

static int
look(struct seen *s, const struct target *t, struct err *e)
{
	*s = (struct seen){ 0 };
	return process_read(&s->p, t, e) < 0 || inject_target_new(&s->callee, &s->p, e) < 0 ||
			process_find_arenas(&s->p, NULL, e) < 0
		? -1
		: 0;
}

static void
look_away(struct seen *s)
{
	inject_target_free(s->callee);
	process_release(&s->p);
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
prepare(const struct target *t, const char *library, char **name, size_t nr, struct hook *hook,
	struct err *e)
{
	struct loaded_library loaded;
	struct inject_report report;
	struct seen s;
	int failed = look(&s, t, e) < 0 ||
		load_library(s.callee, &s.p.arenas, &opt, library, &loaded, &report, e) < 0;

	look_away(&s);
	if (failed || look(&s, t, e) < 0)
		return -1;
	for (size_t i = 0; i < nr && !failed; i++) {
		struct image_symbol function, to, real;

		failed = symbol_of(libc_of(&s.p.objects), "", name[i], &function, e) < 0 ||
			symbol_of(objects_at(&s.p.objects, loaded.start), hooks, name[i], &to, e) <
				0 ||
			symbol_of(objects_at(&s.p.objects, loaded.start), "real_", name[i], &real,
				e) < 0;
		if (!failed)
			hook[i] = (struct hook){ name[i], function.addr, function.size_bytes,
				PROLOGUE_ANY_ARGS, to.addr, real.addr };
	}
	look_away(&s);
	return failed ? -1 : 0;
}

static void
say(const struct hook_report *h)
{
	printf("%zu %zu %zu %zu %" PRIu64 " %zu\n", h->nr_entries, h->nr_slots, h->nr_already,
		h->nr_tries, h->stop.nr_threads ? h->stop.longest_ns / h->stop.nr_threads : 0,
		h->nr_foreign);
}

static int
set(const struct target *t, const struct hook *hook, size_t nr, struct err *e)
{
	struct inject_report report;
	struct hook_report hooked;
	struct seen s;
	int failed = look(&s, t, e) < 0 ||
		hook_set(s.callee, &s.p.arenas, &opt, hook, nr, &hooked, &report, e) < 0;

	look_away(&s);
	if (!failed)
		say(&hooked);
	return failed ? -1 : 0;
}

static int
lift(const struct target *t, struct err *e)
{
	struct hook_report hooked;
	struct seen s;
	int failed = look(&s, t, e) < 0 || hook_lift(s.callee, &opt, &hooked, e) < 0;

	look_away(&s);
	if (!failed)
		say(&hooked);
	return failed ? -1 : 0;
}

static int
set_times(const struct target *t, unsigned long times, char **arg, size_t nr, bool is_cycle,
	struct err *e)
{
	struct hook hook[MAX_HOOKS];

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
	struct seen s;
	int failed = look(&s, t, e);

	for (size_t i = 0; i < s.p.objects.nr && !failed; i++)
		if (path && strcmp(s.p.objects.v[i].path, path) == 0) {
			failed = symbol_of(&s.p.objects.v[i], "", name, &symbol, e) < 0 ||
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
	struct seen s;
	int failed =
		look(&s, t, e) < 0 || symbol_of(libc_of(&s.p.objects), "", name, &symbol, e) < 0;

	look_away(&s);
	if (!failed)
		*ret = symbol.addr;
	return failed ? -1 : 0;
}

/*
 * Write BYTE at AT, as a debugger does: since 6.12 a kernel may let only the tracer write code
 * (proc_mem.force_override=ptrace).  If there is another tracer it may be refused.
 */
static bool
write_traced(const struct target *t, int mem_fd, raddr at, unsigned char byte)
{
	const bool is_traced = ptrace(PTRACE_SEIZE, t->pid, 0, 0) == 0;
	bool is_written;

	if (is_traced &&
		(ptrace(PTRACE_INTERRUPT, t->pid, 0, 0) < 0 ||
			waitpid(t->pid, NULL, __WALL) != t->pid))
		return false;
	is_written = pwrite(mem_fd, &byte, 1, (off_t)at.v) == 1;
	return (!is_traced || ptrace(PTRACE_DETACH, t->pid, 0, 0) == 0) && is_written;
}

static int
set_byte(const struct target *t, const char *name, const char *value, struct err *e)
{
	const char *plus = strchr(name, '+');
	auto_free char *function = strndup(name, strcspn(name, "+"));
	unsigned char was;
	raddr at;
	auto_fd int fd = os_proc_open(t, "mem", O_RDWR, e);

	if (fd < 0 || !function || function_of(t, function, &at, e) < 0)
		return -1;
	at = raddr_add(at, plus ? strtoul(plus + 1, NULL, 0) : 0);
	if (pread(fd, &was, 1, (off_t)at.v) != 1 ||
		(value && !write_traced(t, fd, at, (unsigned char)atoi(value))))
		return err_set(e, errno, "cannot change %s", name);
	printf("%d\n", was);
	return 0;
}

/* Print of every object its code, and the pages that only ld.so writes. */
static int
text(const struct target *t, const char *library, struct err *e)
{
	auto_regions struct regions m = { 0 };

	if (regions_read(&m, t, e) < 0)
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
	if (strcmp(what, "byte") == 0 && argc > 1)
		return set_byte(t, argv[1], argc > 2 ? argv[2] : NULL, e);
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
	if (getenv("HOOK_PREFIX"))
		hooks = getenv("HOOK_PREFIX");
	if (argc > 2 && target_open(&t, atoi(argv[1]), &e) == 0 &&
		(!fails || function_of(&t, fails, &fails_at, &e) == 0) &&
		(!stands || function_of(&t, stands, &stands_at, &e) == 0) &&
		run(&t, argc - 2, argv + 2, &e) == 0)
		return 0;
	fprintf(stderr, "hook: %s\n", e.msg);
	return (int)ui_exit_of(&e);
}
