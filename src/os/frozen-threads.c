/* The threads of a process of which there is a copy: what other files of os/ answer for them. */
#include <config.h>

#include "os/frozen-threads-priv.h"

#include "os/os.h"

#include <errno.h>
#include <stdlib.h>

static int
frozen_compare(const void *tid, const void *thread)
{
	const pid_t wanted = *(const pid_t *)tid;
	const pid_t found = ((const struct frozen_thread *)thread)->tid;

	return (wanted > found) - (wanted < found);
}

const struct frozen_thread *
frozen_find(const struct os_frozen *f, pid_t tid)
{
	return f->thread.nr
		? bsearch(&tid, f->thread.v, f->thread.nr, sizeof *f->thread.v, frozen_compare)
		: NULL;
}

int
frozen_threads(
	const struct os_frozen *f, size_t max, pid_t **ret_tids, size_t *ret_nr, struct err *e)
{
	const size_t nr = f->thread.nr < max ? f->thread.nr : max;
	pid_t *tids = calloc(nr + 1, sizeof *tids);

	if (!tids)
		return err_set(e, ENOMEM, "cannot list the threads of %d", f->of->pid);
	for (size_t i = 0; i < nr; i++)
		tids[i] = f->thread.v[i].tid;
	*ret_tids = tids;
	*ret_nr = nr;
	return 0;
}

static int
frozen_miss(pid_t tid, struct err *e)
{
	return err_set(e, ESRCH, "thread %d was not there", tid);
}

int
frozen_syscall(const struct os_frozen *f, pid_t tid, struct os_syscall *ret, struct err *e)
{
	const struct frozen_thread *thread = frozen_find(f, tid);

	if (!thread)
		return frozen_miss(tid, e);
	*ret = thread->syscall;
	return 0;
}

int
frozen_robust_list(const struct os_frozen *f, pid_t tid, raddr *ret)
{
	const struct frozen_thread *thread = frozen_find(f, tid);

	if (!thread || !thread->has_robust_list)
		return -1;
	*ret = thread->robust_list;
	return 0;
}
