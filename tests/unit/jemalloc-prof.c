/*
 * When jemalloc's profiler can be used, what is to be set if not, and the call that has it write a
 * file.
 */
#include <config.h>

#include <sys/mman.h>
#include <unistd.h>

#include "jemalloc/prof.c"

#include "tap.h"

static void
is_variable(const char *prefix, const char *want)
{
	struct jemalloc j = { .prefix = "" };
	char buf[32];

	snprintf(j.prefix, sizeof j.prefix, "%s", prefix);
	is_str(variable(&j, buf, sizeof buf), want, want);
}

static void
test_check(void)
{
	const struct target t = { .pid = 5, .comm = "it" };
	const struct jemalloc j = { .prefix = "je_", .path = "/bin/it" };
	struct jemalloc_prof p = { .is_built_in = true, .is_enabled = true };
	struct err e = { 0 };

	ok(check_prof(&j, &p, &t, &e) == 0,
		"a program that was started with profiling is profiled");
	p.is_enabled = false;
	ok(check_prof(&j, &p, &t, &e) < 0 && e.kind == ERR_UNSUPPORTED &&
			strstr(e.msg, "opt.prof is false") &&
			strstr(e.msg, "JE_MALLOC_CONF=prof:true"),
		"a program that was started without profiling: what to start it with");
	p.is_built_in = false;
	ok(check_prof(&j, &p, &t, &e) < 0 && e.kind == ERR_UNSUPPORTED &&
			strstr(e.msg, "config.prof is false") && strstr(e.msg, "--enable-prof"),
		"a library without profiling: what to build it with");
}

static void
test_dump(void)
{
	struct dump d = { .fd = 7 };
	struct library_call call = { .block = &d };
	const uint64_t at = 0x7000;

	lay_dump(&call, (raddr){ at });
	is_str(d.control, "prof.dump", "the call is prof.dump");
	is_str(d.path, "/proc/self/fd/7", "the file is a descriptor of the process itself");
	is_u64(d.path_at, at + offsetof(struct dump, path),
		"the path is where the block lies in the process");
	ok(call.nr_args == 5 && call.arg[0] == at + offsetof(struct dump, control) &&
			!call.arg[1] && !call.arg[2] &&
			call.arg[3] == at + offsetof(struct dump, path_at) && call.arg[4] == 8,
		"the arguments point into the block");
}

/* A file of SIZE bytes: it is sealed, and an empty one is a failure. */
static void
is_dump(off_t size, bool want)
{
	const struct target t = { .pid = 5, .comm = "it" };
	const int fd = memfd_create("it", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct err e = { 0 };

	if (fd < 0 || ftruncate(fd, size) < 0)
		exit(99);
	ok((check_dump(&t, fd, &e) == 0) == want, "a dump of %lld bytes is %s", (long long)size,
		want ? "read" : "refused");
	ok(ftruncate(fd, 1) < 0 && ftruncate(fd, size + 1) < 0,
		"a dump of %lld bytes does not change any more", (long long)size);
	close(fd);
}

int
main(void)
{
	is_variable("", "MALLOC_CONF");
	is_variable("je_", "JE_MALLOC_CONF");
	is_variable("_rjem_", "_RJEM_MALLOC_CONF");
	test_check();
	test_dump();
	is_dump(0, false);
	is_dump(100, true);
	is_dump((off_t)1 << 30, true);
	is_dump(((off_t)1 << 30) + 1, false);
	return tap_end();
}
