/*
 * core: a core file, opened in place of a process.
 */
#ifndef MEMDIAG_OS_CORE_H
#define MEMDIAG_OS_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "os/os.h"

/*
 * Open the core file PATH as a target: written by the kernel, gcore or systemd-coredump, of an
 * x86-64, i386 or aarch64 process.  It supports those functions below that need no living process;
 * the others fail with ERR_UNSUPPORTED.  Data that it leaves out because a file has it is read from
 * that file, if the build-id shows that it is the same file: SYSROOT is where to search for files
 * before their original paths, NULL for no such directory.  A core file that was cut off is read as
 * far as it goes.  Not thread-safe.  T need not be initialised.  Fails with ERR_UNSUPPORTED if PATH
 * is not a core file or has an unsupported kind.
 */
int target_open_core(struct target *t, const char *path, const char *sysroot, struct err *e);

/*
 * Call FN with ARG for each set of registers that the core file T has of thread TID: the BYTES
 * at AT
 * are words of the processor, and some numbers of the kernel (struct elf_prstatus).  *RET_SP is its
 * stack pointer.  Returns 0, or -1 without such a thread.
 */
int os_core_each_regset(const struct target *t, pid_t tid,
	void (*fn)(const char *at, size_t bytes, void *arg), void *arg, raddr *ret_sp);

/* Facts about a core file, for remarks. */
struct os_core_facts {
	const char *path;	/* as given; owned by the target */
	int signal;		/* the signal that ended the process, 0 if it was not a signal */
	uint64_t memory_bytes;	/* bytes of memory that were written */
	uint64_t missing_bytes; /* bytes that the file lacks because it was cut off */
	/* no ELF header of a mapped file was written; headers identify files */
	bool lacks_headers;
	/* not even stacks were written, because of /proc/PID/coredump_filter */
	bool is_filtered;
};

/* Return false if T is a process. */
bool os_core_facts(const struct target *t, struct os_core_facts *ret);

#endif
