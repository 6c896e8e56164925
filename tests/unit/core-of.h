/* core-of: have the core file of a process written, by the kernel or by gcore. */
#ifndef MEMDIAG_TESTS_CORE_OF_H
#define MEMDIAG_TESTS_CORE_OF_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A directory of ours and a name in it. */
#define CORE_PATH_BYTES (PATH_MAX + 256)

/*
 * For the child: let the kernel write its core file into DIR, where nothing else is.  False where
 * it writes them elsewhere: that is a setting of the machine, and ours to leave alone.
 */
static inline bool
core_allow(const char *dir)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char pattern[256] = "|";
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY);
	bool is_here = fd >= 0 && read(fd, pattern, sizeof pattern - 1) > 0 &&
		!strchr(pattern, '|') && !strchr(pattern, '/');

	close(fd);
	return is_here && setrlimit(RLIMIT_CORE, &limit) == 0 && chdir(dir) == 0;
}

/* The path of the one file in DIR into PATH; false if none. */
static inline bool
core_path(const char *dir, char path[CORE_PATH_BYTES])
{
	DIR *d = opendir(dir);
	bool found = false;

	for (struct dirent *entry; d && (entry = readdir(d));)
		if (entry->d_name[0] != '.') {
			snprintf(path, CORE_PATH_BYTES, "%s/%s", dir, entry->d_name);
			found = true;
		}
	if (d)
		closedir(d);
	return found;
}

/*
 * End the child PID, which has done core_allow(DIR), by a signal; its core file's path into PATH.
 */
static inline bool
core_by_kernel(pid_t pid, const char *dir, char path[CORE_PATH_BYTES])
{
	int status = 0;

	kill(pid, SIGABRT);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WCOREDUMP(status) && core_path(dir, path);
}

/* Have gcore write one of PID, which runs on, to DIR/gcore.PID; false where there is no gcore. */
static inline bool
core_by_gcore(pid_t pid, const char *dir, char path[CORE_PATH_BYTES])
{
	char command[PATH_MAX + 64];

	snprintf(command, sizeof command, "gcore -o %s/gcore %d >/dev/null 2>&1", dir, pid);
	snprintf(path, CORE_PATH_BYTES, "%s/gcore.%d", dir, pid);
	return system(command) == 0 && access(path, R_OK) == 0;
}

#endif
