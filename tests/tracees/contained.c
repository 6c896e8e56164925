/*
 * contained PROGRAM ARGUMENTS...: become PROGRAM under a system call filter like Docker's default
 * one: what a container may not do fails with EPERM, and clone3() with ENOSYS, so that libc takes
 * clone().
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFUSE(nr, with)                                                                           \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (with))

static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	REFUSE(SYS_clone3, ENOSYS),
	REFUSE(SYS_acct, EPERM),
	REFUSE(SYS_add_key, EPERM),
	REFUSE(SYS_bpf, EPERM),
	REFUSE(SYS_clock_adjtime, EPERM),
	REFUSE(SYS_clock_settime, EPERM),
	REFUSE(SYS_delete_module, EPERM),
	REFUSE(SYS_finit_module, EPERM),
	REFUSE(SYS_init_module, EPERM),
	REFUSE(SYS_kcmp, EPERM),
	REFUSE(SYS_kexec_load, EPERM),
	REFUSE(SYS_keyctl, EPERM),
	REFUSE(SYS_mount, EPERM),
	REFUSE(SYS_open_by_handle_at, EPERM),
	REFUSE(SYS_perf_event_open, EPERM),
	REFUSE(SYS_pivot_root, EPERM),
	REFUSE(SYS_process_vm_readv, EPERM),
	REFUSE(SYS_process_vm_writev, EPERM),
	REFUSE(SYS_ptrace, EPERM),
	REFUSE(SYS_quotactl, EPERM),
	REFUSE(SYS_reboot, EPERM),
	REFUSE(SYS_request_key, EPERM),
	REFUSE(SYS_setns, EPERM),
	REFUSE(SYS_settimeofday, EPERM),
	REFUSE(SYS_swapoff, EPERM),
	REFUSE(SYS_swapon, EPERM),
	REFUSE(SYS_umount2, EPERM),
	REFUSE(SYS_unshare, EPERM),
	REFUSE(SYS_userfaultfd, EPERM),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int
main(int argc, char **argv)
{
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("contained");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
