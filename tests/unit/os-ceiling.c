/*
 * How much memory memdiag takes itself, by a cgroup of ours and by a number.  Each case has a
 * process of its own, as a ceiling stays.
 */
#include <config.h>

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/ceiling-default.h"
#include "os/ceiling.h"
#include "os/cgroup.h"
#include "os/stranger.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)

static uint64_t room_bytes = UINT64_MAX;

void __wrap_os_memory_room(const struct target *t, struct os_memory_room *ret);

void
__wrap_os_memory_room(const struct target *t, struct os_memory_room *ret)
{
	(void)t;
	*ret = (struct os_memory_room){ .bytes = room_bytes };
}

static void
end(void)
{
	_exit(7);
}

static bool
can_map(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED && munmap(p, bytes) == 0;
}

static uint64_t
limit(void)
{
	struct rlimit l;

	getrlimit(RLIMIT_DATA, &l);
	return l.rlim_cur;
}

/* What FN exits with, in a child. */
static int
status_of(bool (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(!fn());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool
half_of_cgroup(void)
{
	room_bytes = 300 * MIB;
	os_set_ceiling(os_default_ceiling(), end);
	return os_ceiling() == 150 * MIB && can_map(100 * MIB) && !can_map(200 * MIB);
}

static bool
never_too_little(void)
{
	room_bytes = 1;
	os_set_ceiling(os_default_ceiling(), end);
	return os_ceiling() == 64 * MIB;
}

static bool
half_of_machine(void)
{
	const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return os_default_ceiling() >= 64 * MIB && os_default_ceiling() <= all / 2 + 64 * MIB &&
		os_memory_left() <= all / 2;
}

static bool
as_asked_for(void)
{
	room_bytes = 1;
	os_set_ceiling(100 * MIB, end);
	return os_ceiling() == 100 * MIB && os_memory_left() <= 100 * MIB &&
		os_memory_left() > 90 * MIB && can_map(80 * MIB) && !can_map(101 * MIB) &&
		errno == ENOMEM;
}

static bool
never_raised(void)
{
	struct rlimit l;

	os_set_ceiling(100 * MIB, end);
	getrlimit(RLIMIT_DATA, &l);
	l.rlim_cur -= 50 * MIB;
	setrlimit(RLIMIT_DATA, &l);
	os_set_ceiling(100 * MIB, end);
	return limit() == l.rlim_cur && os_memory_left() <= 50 * MIB;
}

static bool
taken(void)
{
	os_set_ceiling(100 * MIB, end);
	return os_take_memory(60 * MIB) && os_memory_left() <= 40 * MIB && !can_map(50 * MIB) &&
		!os_take_memory(60 * MIB) && errno == ENOMEM && os_ceiling() == 100 * MIB;
}

static bool
ends(void)
{
	os_set_ceiling(100 * MIB, end);
	os_end_without_memory();
}

/* A sparse file of BYTES is read, or what E says. */
static bool
reads(uint64_t bytes, struct err *e)
{
	auto_text struct text text = { 0 };
	int fd = memfd_create("file", 0);

	return ftruncate(fd, (off_t)bytes) == 0 && os_read_whole(&text, fd, "NAME", e) == 0 &&
		text.len == bytes;
}

static bool
small_file(void)
{
	struct err e;

	os_set_ceiling(100 * MIB, end);
	return reads(20 * MIB, &e);
}

static bool
large_file(void)
{
	struct err e = { 0 };

	os_set_ceiling(100 * MIB, end);
	return !reads(200 * MIB, &e) && e.code == ENOMEM &&
		strstr(e.msg, "cannot read 'NAME', which has 200.0 MiB: ");
}

static bool
kept_copy(void)
{
	int fd = memfd_create("file", 0);

	os_set_ceiling(100 * MIB, end);
	return fchmod(fd, 0666) == 0 && ftruncate(fd, 200 * MIB) == 0 && os_keep_contents(fd) < 0 &&
		errno == ENOMEM;
}

int
main(void)
{
	const uint64_t before = limit();

	is_u64(os_ceiling(), 0, "at first there is no ceiling");
	ok(status_of(half_of_machine) == 0, "half of the machine without a cgroup's limit");
	ok(status_of(half_of_cgroup) == 0, "half of what a cgroup has left");
	ok(status_of(never_too_little) == 0, "64 MiB where nothing is left");
	ok(status_of(as_asked_for) == 0, "as many bytes as are asked for");
	ok(status_of(never_raised) == 0, "a limit that is lower stays");
	ok(status_of(taken) == 0, "files in memory count");
	ok(status_of(ends) == 7, "a library that cannot go on ends memdiag as was asked for");
	ok(status_of(small_file) == 0, "a file is read");
	ok(status_of(large_file) == 0, "a file that is too large is not, and its size is named");
	ok(status_of(kept_copy) == 0, "nor is one copied that another user can change");
	is_u64(limit(), before, "this process has the limit that it had");
	return tap_end();
}
