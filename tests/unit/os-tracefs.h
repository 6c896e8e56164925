/* os-tracefs: what tests of tracepoints share: a private place to mount, and children. */
#ifndef MEMDIAG_TESTS_OS_TRACEFS_H
#define MEMDIAG_TESTS_OS_TRACEFS_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/tracefs.h"
#include "tap.h"

#define DEADLINE_NS UINT64_C(300000000000)

/* The list of mounts, for free(). */
static inline char *
mounts_now(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *text = NULL;
	size_t room = 0;

	if (!f || getdelim(&text, &room, '\0', f) < 0)
		abort();
	fclose(f);
	return text;
}

/* Have mounts of our own that other tests do not change, without a tracefs.  False: not root. */
static inline bool
mounts_unshare(void)
{
	char place[4096], *text, *line, *save = NULL;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	text = mounts_now();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, " - tracefs ") &&
			sscanf(line, "%*s %*s %*s %*s %4095s", place) == 1)
			umount2(place, MNT_DETACH);
	free(text);
	text = mounts_now();
	if (strstr(text, " - tracefs "))
		abort();
	free(text);
	return true;
}

/* Run FN(ARG), which may write to shared memory, in a child.  Whether it has returned true. */
static inline bool
in_child(bool (*fn)(void *arg), void *arg)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn(arg) ? 0 : 1);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

/* Zeroes that children see as well. */
static inline void *
shared_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* Whether E is of KIND and its message has WORD. */
static inline bool
is_error(const struct err *e, enum err_kind kind, const char *word, const char *name)
{
	const bool is_so = e->kind == kind && strstr(e->msg, word);

	if (!ok(is_so, "%s", name))
		printf("#   kind %d, '%s'\n", e->kind, e->msg);
	return is_so;
}

#endif
