/*
 * starter WAY PROGRAM [ARGUMENT...]: becomes another program, or starts one and waits for it, in
 * one of the ways that libc has. No tracee: it ends as the program does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Returns only if that fails. */
static void
become(const char *way, char **argv)
{
	const char *path = argv[0], *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (strcmp(way, "execv") == 0)
		execv(path, argv);
	else if (strcmp(way, "execve") == 0)
		execve(path, argv, environ);
	else if (strcmp(way, "execvp") == 0)
		execvp(name, argv);
	else if (strcmp(way, "execvpe") == 0)
		execvpe(name, argv, environ);
	else if (strcmp(way, "fexecve") == 0)
		fexecve(open(path, O_RDONLY), argv, environ);
	else if (strcmp(way, "execl") == 0)
		execl(path, path, argv[1], argv[1] ? argv[2] : NULL, NULL);
	else if (strcmp(way, "execlp") == 0)
		execlp(name, path, argv[1], argv[1] ? argv[2] : NULL, NULL);
	else if (strcmp(way, "execle") == 0)
		execle(path, path, argv[1], argv[1] ? argv[2] : NULL, NULL, environ);
	perror(way);
	_exit(126);
}

static int
status_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int
spawned(int failed, pid_t pid)
{
	int status = 0;

	if (failed) {
		fprintf(stderr, "posix_spawn: %s\n", strerror(failed));
		return 126;
	}
	return waitpid(pid, &status, 0) == pid ? status_of(status) : 125;
}

int
main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "";
	char *dash = argc > 2 ? strchr(argv[1], '-') : NULL, **program = argv + 2;
	pid_t pid = 0;
	int failed;

	if (argc < 3)
		return 64;
	if (strncmp(way, "posix_spawn", 11) == 0) {
		failed = way[11] ? posix_spawnp(&pid, strrchr(*program, '/') + 1, NULL, NULL,
					   program, environ)
				 : posix_spawn(&pid, *program, NULL, NULL, program, environ);
		return spawned(failed, pid);
	}
	if (strcmp(way, "system") == 0)
		return status_of(system(*program));
	if (strcmp(way, "popen") == 0)
		return status_of(pclose(popen(*program, "w")));
	/* fork-execv, vfork-execv ... */
	if (dash && strncmp(way, "vfork", 5) == 0)
		pid = vfork();
	else if (dash)
		pid = fork();
	if (pid == 0)
		become(dash ? dash + 1 : way, program);
	return spawned(pid < 0 ? errno : 0, pid);
}
