#!/bin/sh
# Forks at bad moments: in a signal handler that came while the agent noted a sample, and while another thread notes
# one.  Parent and child go on, and the child has a profile of its own if it is followed.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh sets and reads the rest
. "$top_srcdir/tests/live/lib.sh"
agent=$top_builddir/libmemdiag-agent.so
[ -e "$agent" ] || skip_all "the agent is not made for this processor"
nr=50

# forks HOW: $nr times, in a handler where the agent is at work; the child goes on behind the handler ("returns"), or
# ends there ("stays").  "threads": in the first thread, while the second one allocates; a second one of the child does
# the rest.  Each child keeps 10 blocks of 777 bytes, and ends with 0.
cat >"$dir/forks.c" <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#if defined __x86_64__
#define PC(u) ((uintptr_t)(u)->uc_mcontext.gregs[REG_RIP])
#else
#define PC(u) ((uintptr_t)(u)->uc_mcontext.pc)
#endif
static volatile int is_child, nr_forks, nr_failed, wanted, stays, is_armed, nr_missed, range_us = 300;
static volatile uintptr_t start, end;
void *volatile kept[10];
__attribute__((noinline)) void keeper(void)
{
	for (int i = 0; i < 10; i++)
		kept[i] = malloc(777);
}
static void find_agent(void)
{
	char line[512], x;
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, f)) {
		unsigned long from, to;
		if (strstr(line, "libmemdiag-agent") && sscanf(line, "%lx-%lx %*c%*c%c", &from, &to, &x) == 3 && x == 'x')
			start = from, end = to;
	}
	fclose(f);
}
static void wait_for_child(pid_t pid)
{
	int status;
	waitpid(pid, &status, 0);
	nr_forks++;
	nr_failed += status != 0;
}
static void on_alarm(int sig, siginfo_t *info, void *context)
{
	const uintptr_t pc = PC((ucontext_t *)context);
	pid_t pid;
	is_armed = 0;
	if (pc < start || pc >= end || is_child || nr_forks == wanted) {
		/* On a slow machine the signal may come before setitimer() returns, and nowhere else. */
		if (!is_child && ++nr_missed % 100 == 0 && range_us < 100000)
			range_us *= 2;
		return;
	}
	pid = fork();
	if (pid) {
		wait_for_child(pid);
		return;
	}
	is_child = 1;
	if (stays) {
		keeper();
		_exit(0);
	}
}
__attribute__((noinline)) void churn(int depth)
{
	void *volatile p;
	if (depth) {
		churn(depth - 1);
		p = NULL;
		return;
	}
	p = malloc(100);
	if (!is_child)
		p = realloc(p, 200);
	free(p);
}
/* Once, at another moment each time: a signal that waits would come where the last one came. */
static void arm(void)
{
	const struct itimerval once = { .it_value = { 0, 1 + rand() % range_us } };
	if (is_armed || is_child)
		return;
	is_armed = 1;
	setitimer(ITIMER_REAL, &once, NULL);
}
static void *churn_for_ever(void *arg)
{
	for (;;)
		churn(20);
	return arg;
}
static void *keep(void *arg)
{
	keeper();
	return arg;
}
static void fork_with_thread(void)
{
	pid_t pid = fork();
	pthread_t t;
	if (pid) {
		wait_for_child(pid);
		return;
	}
	pthread_create(&t, NULL, keep, NULL);
	pthread_join(t, NULL);
	exit(0);
}
int main(int argc, char **argv)
{
	struct sigaction a = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t t;
	wanted = atoi(argv[2]);
	stays = strcmp(argv[1], "stays") == 0;
	puts("ready");
	fflush(stdout);
	for (find_agent(); !end; find_agent())
		usleep(10000); /* for memdiag to find it in no call of malloc */
	if (strcmp(argv[1], "threads") == 0) {
		pthread_create(&t, NULL, churn_for_ever, NULL);
		while (nr_forks < wanted)
			fork_with_thread();
	}
	sigaction(SIGALRM, &a, NULL);
	while (!is_child && nr_forks < wanted) {
		arm();
		churn(20);
	}
	if (is_child)
		keeper();
	return !is_child && nr_failed;
}
END
${CC:-cc} -g -O1 -pthread -o "$dir/forks" "$dir/forks.c" || skip_all "no compiler"

# runs WORDS HOW: with the agent alone; the files are in $dir/run.
runs()
{
	rm -rf "$dir/run"
	mkdir "$dir/run"
	env MEMDIAG_AGENT="profile;rate=1;profile-prefix=$dir/run/p;$1" LD_PRELOAD="$agent" \
		timeout -k 60 600 "$dir/forks" "$2" "$nr"
}

# runs_under_memdiag HOW: the same by memdiag run.
runs_under_memdiag()
{
	rm -rf "$dir/run"
	mkdir "$dir/run"
	memdiag run --profile=1 --follow-children -o "$dir/run/p" -- timeout -k 60 600 "$dir/forks" "$1" "$nr"
}

# have: whether each child has a file, with its blocks in use and at one place.  What ended in it that its parent had
# begun may be allocated, too.
have()
{
	local head
	for head in heapprofile 0x; do
		[ "$(grep -lE "10: *7770 \[.*\] @ $head" "$dir"/run/*.heap | wc -l)" = "$nr" ] || {
			head -qn 1 "$dir"/run/*.heap | sort | uniq -c
			return 1
		}
	done
}

# theirs: whether that is at one place, whatever else there is.
theirs()
{
	[ "$(grep -lE "10: *7770 \[.*\] @ 0x" "$dir"/run/*.heap | wc -l)" = "$nr" ]
}

check 'in a handler, children are not followed: all go on' runs '' returns
check 'in a handler, children are not followed and end there: all go on' runs '' stays
check 'in a handler: all go on' runs follow returns
check 'in a handler: each child has a profile, of its own blocks alone' have
check 'in a handler, children end there: all go on' runs follow stays
check 'in a handler, counting: all go on' runs 'follow;count' returns
check 'in a handler, counting: each child has a profile' have
check 'in a handler, memdiag run: all go on' runs_under_memdiag returns
check 'in a handler, memdiag run: each child has a profile' have
check 'in a handler, memdiag run, children end there: all go on' runs_under_memdiag stays
check 'beside a thread: all go on' runs follow threads
check 'beside a thread: a thread of each child is sampled' theirs

# ---- in a process that ran already, whose children are never followed ----

# lives_on HOW: under a profile by memdiag until it ends; that it did is memdiag's status.
lives_on()
{
	local status=0
	start_command "$dir/forks" "$1" "$nr"
	memdiag profile --at-exit --rate 1 -o "$dir/run/q" --pid "$tracee_pid" || status=$?
	wait "$tracee_pid" && [ "$status" = 2 ]
}
if has_hooks; then
	check 'in a handler, of a process that ran already: all go on' lives_on returns
	check 'in a handler, of a process that ran already, children end there: all go on' lives_on stays
fi
finish
