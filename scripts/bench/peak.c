/*
 * peak COMMAND...: run it and print on stderr the most memory it had resident, in KiB, how much
 * processor time it took, and how much time in all, in microseconds.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

int
main(int argc, char **argv)
{
	long long start = now_us();
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
	fprintf(stderr, "%ld %lld %lld\n", use.ru_maxrss,
		(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000LL + use.ru_utime.tv_usec +
			use.ru_stime.tv_usec,
		now_us() - start);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
