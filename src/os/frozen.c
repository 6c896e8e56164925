#include <config.h>

#include "os/frozen.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "os/core.h"
#include "os/frozen-threads-priv.h"
#include "os/proc.h"
#include "os/status.h"
#include "os/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
target_open_frozen(struct target *t, pid_t pid, const struct os_frozen *f, struct err *e)
{
	if (target_open(t, pid, e) < 0)
		return -1;
	t->frozen = f;
	return 0;
}

const struct target *
os_frozen_of(const struct target *t)
{
	return t->frozen ? t->frozen->of : NULL;
}

pid_t
os_main_thread(const struct target *t)
{
	return t->frozen ? t->frozen->of->pid : t->pid;
}

pid_t
os_frozen_helper(const struct target *t)
{
	return t->frozen ? t->frozen->helper : 0;
}

bool
os_is_still(const struct target *t)
{
	return t->core || t->frozen;
}

int
os_each_regset(const struct target *t, pid_t tid,
	void (*fn)(const char *at, size_t bytes, void *arg), void *arg, raddr *ret_sp)
{
	const struct frozen_thread *thread;

	if (t->core)
		return os_core_each_regset(t, tid, fn, arg, ret_sp);
	thread = t->frozen ? frozen_find(t->frozen, tid) : NULL;
	if (!thread)
		return -1;
	for (size_t i = thread->first; i < thread->first + thread->nr_sets; i++)
		fn(t->frozen->bytes.v + t->frozen->set.v[i].at, t->frozen->set.v[i].bytes, arg);
	*ret_sp = thread->syscall.sp;
	return 0;
}
