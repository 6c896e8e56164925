/*
 * 'memdiag maps' notes when it takes much memory of its own.  That needs more mappings than a
 * system allows by default, so the size is the test's.
 */
#include <config.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/command.h"
#include "maps/maps.h"
#include "tap.h"

static uint64_t own_bytes;

uint64_t __wrap_space_own_bytes(const struct space *s);

uint64_t
__wrap_space_own_bytes(const struct space *s)
{
	(void)s;
	return own_bytes;
}

/* Its message on standard error if it takes BYTES of memory; -1 if it fails. */
static int
notes(uint64_t bytes, char *buf, size_t size)
{
	char pid[16];
	char *argv[] = { (char[]){ "maps" }, pid, NULL };
	int out = dup(1), err = dup(2), file = memfd_create("notes", 0), status;
	struct err e = { 0 };

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	own_bytes = bytes;
	fflush(stdout);
	dup2(file, 2);
	dup2(open("/dev/null", O_WRONLY), 1);
	status = command_find("maps")->run(2, argv, &e);
	fflush(stdout);
	fflush(stderr);
	dup2(out, 1);
	dup2(err, 2);
	memset(buf, 0, size);
	if (status < 0 || pread(file, buf, size - 1, 0) < 0) {
		printf("# %s\n", e.msg);
		return -1;
	}
	return status;
}

int
main(void)
{
	char text[4096];

	ok(notes(UINT64_C(64) << 20, text, sizeof text) >= 0, "maps with 64 MiB of its own");
	ok(!strstr(text, "memdiag needs"), "says nothing of that");
	ok(notes((UINT64_C(65) << 20) + 1, text, sizeof text) >= 0, "maps with a MiB more");
	ok(strstr(text, "memdiag needs 65 MiB of memory for ") && strstr(text, " mappings: "),
		"says how much");
	ok(strstr(text, "memory cgroup"), "and where it should not run");
	return tap_end();
}
