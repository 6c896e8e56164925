#!/bin/sh
# Programs that lock themselves in after a profile has begun: a sample makes no system call that they do not make
# themselves, so they live on.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"

cat >"$dir/locked.c" <<'END'
/* locked FILTER WHEN: says "ready", waits for a line where WHEN is "later", locks itself in, allocates, says "alive". */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_barrier_t begun;
static const char *filter;
static __attribute__((noinline)) void work(int n)
{
	while (n--) {
		void *volatile block = malloc(1000);

		free(block);
	}
}
static void lock_in(unsigned int nr)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof f / sizeof *f, f };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p) != 0)
		exit(77);
}
static void *run(void *arg)
{
	work(500); /* malloc() makes system calls in a new thread */
	pthread_barrier_wait(&begun);
	if (strcmp(filter, "strict") == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
			return arg;
		work(20000);
		syscall(SYS_exit, 0);
	}
	work(20000);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t thread;

	filter = argv[1];
	setvbuf(stdout, NULL, _IOLBF, 256);
	pthread_barrier_init(&begun, NULL, 2);
	work(500);
	pthread_create(&thread, NULL, run, NULL);
	puts("ready");
	if (argc > 2)
		getchar();
	if (strcmp(filter, "open") == 0)
		lock_in(SYS_openat);
	if (strcmp(filter, "clock") == 0)
		lock_in(SYS_clock_gettime);
	if (strcmp(filter, "pid") == 0)
		lock_in(SYS_getpid);
	if (strcmp(filter, "munlock") == 0)
		lock_in(SYS_munlock);
	if (strcmp(filter, "limits") == 0)
		lock_in(SYS_prlimit64);
	pthread_barrier_wait(&begun);
	if (strcmp(filter, "strict") != 0)
		work(20000);
	if (strcmp(filter, "munlock") == 0 || strcmp(filter, "limits") == 0)
		for (int i = 0; i < 100000; i++)
			*(void *volatile *)malloc(1000) = NULL;
	pthread_join(thread, NULL);
	puts("alive");
	return 0;
}
END
${CC:-cc} -O1 -g -pthread -o "$dir/locked" "$dir/locked.c" || skip_all 'no compiler'
"$dir/locked" open >"$dir/alone"
[ $? -ne 77 ] || skip_all 'no seccomp filters here'

lives_on_under()
{
	"$MEMDIAG" run -q --profile=1K -o "$dir/p" -- "$dir/locked" "$1" >"$dir/out" 2>"$dir/err" &&
		grep -q '^alive$' "$dir/out"
}

# What is noted of each block takes more memory as the heap grows.
lives_on_recorded()
{
	"$MEMDIAG" run -q --record -o "$dir/p" -- "$dir/locked" "$1" >"$dir/out" 2>"$dir/err" &&
		grep -q '^alive$' "$dir/out"
}

lives_on_after_record()
{
	start_command "$dir/locked" "$1" later
	exits 0 memdiag record start --pid "$tracee_pid" && tell go && wait "$tracee_pid" &&
		grep -q '^alive$' "$dir/$tracee_pid.out"
}

lives_on_after_start()
{
	start_command "$dir/locked" "$1" later
	exits 0 memdiag profile start --rate 1K --pid "$tracee_pid" && tell go && wait "$tracee_pid" &&
		grep -q '^alive$' "$dir/$tracee_pid.out"
}

for filter in open clock pid strict; do
	check "$filter: under memdiag run" each_of 8 lives_on_under $filter
	check "$filter: while it is profiled" each_of 8 lives_on_after_start $filter
done
# A child that locks itself in, and then becomes another program: "started" if that ends with 0.
cat >"$dir/start.c" <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int lock_in(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof f / sizeof *f, f };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}
int main(void)
{
	int status = 1;
	pid_t pid;

	free(malloc(100));
	pid = fork();
	if (pid == 0) {
		if (!lock_in())
			execl("/bin/true", "true", (char *)NULL);
		_exit(99);
	}
	if (waitpid(pid, &status, 0) == pid && status == 0)
		puts("started");
	return 0;
}
END
starts_under()
{
	"$MEMDIAG" run -q "$@" -o "$dir/p" -- "$dir/start" >"$dir/out" 2>"$dir/err" && grep -q '^started$' "$dir/out"
}
if ${CC:-cc} -o "$dir/start" "$dir/start.c" && [ "$("$dir/start")" = started ]; then
	for job in profile record; do
		check "$job: a child that locks itself in starts a program" starts_under --$job
	done
else
	skip 'a child that locks itself in starts a program' 'it cannot do so without the agent'
fi

for filter in munlock limits; do
	check "$filter: the heap grows while all is recorded, under memdiag run" lives_on_recorded $filter
	check "$filter: and in a process that ran already" lives_on_after_record $filter
done
finish
