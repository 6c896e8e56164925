#include <config.h>

#include "inject/birth.h"

#include "os/memory.h"
#include "os/part.h"
#include "os/proc.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#ifndef SYS_clone3
#define SYS_clone3 435 /* since Linux 5.3, on all processors */
#endif

/*
 * Return the address of the word that S, clone() or clone3(), has the kernel clear when the new
 * thread ends; {0} without such a word.
 */
static raddr
cleared_at_end(const struct target *t, const struct os_syscall *s)
{
	uint64_t args[3]; /* struct clone_args (linux/sched.h): flags, pidfd, child_tid */
	struct err e;

	if (s->nr == SYS_clone)
		return (raddr){ s->arg[0] & CLONE_CHILD_CLEARTID ? s->arg[arch_clone_child_tid]
								 : 0 };
	if (os_read(t, (raddr){ s->arg[0] }, args, sizeof args, &e) < 0)
		return (raddr){ 0 };
	return (raddr){ args[0] & CLONE_CHILD_CLEARTID ? args[2] : 0 };
}

/*
 * Clear that word, as if the thread had ended.  glibc 2.43 takes it for the state of the thread and
 * keeps its stack for ever while it is not 0 (nptl/pthread_create.c, create_thread;
 * nptl/nptl-stack.h, __nptl_stack_in_use).  In earlier releases it is the thread's number, which is
 * still 0.  If this fails, the stack stays.
 */
static void
end_unborn(const struct target *t, pid_t tid)
{
	const uint32_t ended = 0;
	struct os_syscall s;
	struct err e;
	raddr word = { 0 };

	if (os_thread_syscall(t, tid, &s, &e) == 0 && !s.is_running)
		word = cleared_at_end(t, &s);
	if (word.v)
		os_part_write(t, &(struct os_part){ "the number of a thread", word, sizeof ended },
			word, &ended, sizeof ended, &e);
}

/*
 * After ENOSYS glibc tries another system call, and after a signal the kernel makes the call again.
 */
static bool
is_refused_for_good(int64_t result)
{
	return result == -EAGAIN || result == -ENOMEM || result == -EPERM;
}

void
birth_note_exit(const struct target *t, pid_t tid, const struct arch_regs *r)
{
	const long nr = arch_syscall_nr(r);

	if ((nr == SYS_clone || nr == SYS_clone3) && is_refused_for_good(arch_result(r)))
		end_unborn(t, tid);
}
