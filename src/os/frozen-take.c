#include <config.h>

#include "os/frozen-take.h"

#include "base/array.h"
#include "os/frozen-threads-priv.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/status.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The largest set of registers: XSAVE with the tiles of AMX is 11 KiB. */
#define REGSET_MAX 16384

int
os_frozen_new(struct os_frozen **ret, const struct target *t, pid_t helper, struct err *e)
{
	*ret = calloc(1, sizeof **ret);
	if (!*ret)
		return err_set(e, ENOMEM, "cannot keep the threads of %d", t->pid);
	(*ret)->of = t;
	(*ret)->helper = helper;
	return 0;
}

void
os_frozen_free(struct os_frozen *f)
{
	if (!f)
		return;
	free(f->thread.v);
	free(f->set.v);
	free(f->bytes.v);
	free(f);
}

/* ---- while the threads are stopped ---- */

/* Keep the registers of set TYPE.  Returns 0, or -1 with E. */
static int
frozen_add_set(struct os_frozen *f, pid_t tid, unsigned int type, struct err *e)
{
	char buf[REGSET_MAX];
	size_t bytes = sizeof buf;
	struct frozen_set *set;

	if (os_get_regset(tid, type, buf, &bytes, e) < 0)
		return -1;
	set = array_add(&f->set);
	if (!set || array_reserve(&f->bytes, f->bytes.nr + bytes) < 0)
		return err_set(e, ENOMEM, "cannot keep the registers of thread %d", tid);
	*set = (struct frozen_set){ f->bytes.nr, bytes };
	memcpy(f->bytes.v + f->bytes.nr, buf, bytes);
	f->bytes.nr += bytes;
	f->thread.v[f->thread.nr - 1].nr_sets++;
	return 0;
}

/* Vector registers hold pointers, too: while memory is copied. */
static int
frozen_add_sets(struct os_frozen *f, pid_t tid, struct err *e)
{
	if (frozen_add_set(f, tid, NT_PRSTATUS, e) < 0)
		return -1;
	if (frozen_add_set(f, tid, NT_X86_XSTATE, e) == 0)
		return 0;
	return frozen_add_set(f, tid, NT_PRFPREG, e);
}

int
os_frozen_add(struct os_frozen *f, pid_t tid, struct err *e)
{
	struct frozen_thread *thread;
	struct os_status status;
	struct err gone;

	if (os_status(f->of, tid, &status, &gone) < 0 || !status.has_memory ||
		os_is_kernel_worker(f->of, tid))
		return 0;
	thread = array_add(&f->thread);
	if (!thread)
		return err_set(e, ENOMEM, "cannot keep thread %d", tid);
	thread->tid = tid;
	thread->first = f->set.nr;
	os_thread_comm(f->of, tid, thread->comm);
	thread->has_robust_list = os_robust_list(f->of, tid, &thread->robust_list) == 0;
	if (os_thread_syscall(f->of, tid, &thread->syscall, e) < 0 ||
		frozen_add_sets(f, tid, e) < 0)
		return -1;
	return 0;
}
