/*
 * core: a core file, opened in place of a process.
 */
#ifndef MEMDIAG_OS_CORE_H
#define MEMDIAG_OS_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/os.h"

/*
 * Take the core file PATH for a target: written by the kernel, gcore or systemd-coredump, of an
 * x86-64, i386 or aarch64 process.  It answers what it can of what is below, and fails with
 * ERR_UNSUPPORTED where it takes a living process.  What it leaves out because a file has it is
 * read from that file, if the build-id shows that it is the one: SYSROOT is where to look for files
 * before they are looked for where they were, NULL for nowhere.  A core file that was cut off is
 * read as far as it goes.  Not safe for two threads.  T need not be initialised.  Fails with
 * ERR_UNSUPPORTED for what is no core file or one of another kind.
 */
int target_open_core(struct target *t, const char *path, const char *sysroot, struct err *e);

/* The remarks on a core file. */
struct os_core_facts {
	const char *path;	/* as given; owned by the target */
	int signal;		/* that ended the process, 0 if none did */
	uint64_t memory_bytes;	/* that were written */
	uint64_t missing_bytes; /* of which the file does not have: it was cut off */
	/* no ELF header of a mapped file was written, by which files are known */
	bool lacks_headers;
	/* not even stacks were written: /proc/PID/coredump_filter is to blame */
	bool is_filtered;
};

/* False when T is a process. */
bool os_core_facts(const struct target *t, struct os_core_facts *ret);

#endif
