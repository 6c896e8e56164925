/*
 * peak COMMAND...: run it and print on stderr the most memory it had resident, in KiB, and how much
 * processor time it took, in microseconds.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	pid_t pid = argc > 1 ? fork() : -1;
	struct rusage use;
	int status;

	if (pid < 0)
		return 99;
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	wait4(pid, &status, 0, &use);
	fprintf(stderr, "%ld %lld\n", use.ru_maxrss,
		(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000LL + use.ru_utime.tv_usec +
			use.ru_stime.tv_usec);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
