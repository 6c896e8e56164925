/*
 * filter: a thread that has entered a seccomp filter allocates, maps and frees for the first time
 * after that.  The agent must not make a system call that ends the process.
 */
#include "count.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const int allowed[] = { SYS_read, SYS_write, SYS_exit, SYS_exit_group, SYS_futex, SYS_mmap,
	SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk, SYS_rseq, SYS_set_robust_list,
	/* libc's own, when it makes an arena and when a thread ends */
	SYS_sched_getaffinity, SYS_rt_sigprocmask, SYS_getrandom };
#define NR_ALLOWED (sizeof allowed / sizeof *allowed)

static bool
enter_filter(void)
{
	struct sock_filter filter[2 * NR_ALLOWED + 2];
	struct sock_fprog program = { 0, filter };
	unsigned short nr = 0;

	filter[nr++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NR_ALLOWED; i++) {
		filter[nr++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)allowed[i], 0, 1);
		filter[nr++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[nr++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = nr;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define BYTES 40960

static void *
work(void *how)
{
	const char *first = how;
	void *volatile p; /* or the compiler leaves malloc() out */
	void *map;

	if (!enter_filter())
		_exit(77);
	for (int i = 0; i < 100; i++) {
		if (*first == 'm') {
			map = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			mprotect(map, BYTES, PROT_READ | PROT_WRITE);
			map = mremap(map, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
			munmap(map, 2 * BYTES);
		}
		p = malloc(1000 + (size_t)i * 100);
		free(p);
	}
	return memdiag_live_bytes() ? how : NULL;
}

/* A child that follows: it counts by itself. */
static int
status_of(const char *how)
{
	int status = -1;
	pid_t pid = fork();
	pthread_t thread;
	void *ret;

	if (pid == 0) {
		if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)how) != 0 ||
			pthread_join(thread, &ret) != 0 || !memdiag_is_counting())
			_exit(1);
		_exit(ret ? 0 : 2);
	}
	waitpid(pid, &status, 0);
	return status;
}

int
main(void)
{
	int status;

	need_agent();
	take_and_free(100);
	status = status_of("allocates");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		puts("1..0 # SKIP there are no filters");
		return 0;
	}
	ok(status == 0, "a thread that allocates first under a filter lives on (status %#x)",
		status);
	status = status_of("maps");
	ok(status == 0, "one that maps first, too (status %#x)", status);
	return tap_end();
}
