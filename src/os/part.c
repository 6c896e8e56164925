#include <config.h>

#include "os/part.h"

#include "os/os.h"
#include "os/ptrace-priv.h"
#include "os/write-priv.h"

static int
part_check(const struct target *t, const struct os_part *p, raddr to, size_t size, struct err *e)
{
	const uint64_t offset = to.v - p->start.v;

	if (p->start.v && to.v >= p->start.v && offset <= p->size_bytes &&
		size <= p->size_bytes - offset)
		return 0;
	return err_set_kind(e, ERR_FAILED, 0,
		"memdiag would have written %zu bytes at " PRIraddr
		" of %d (%s), outside of %s; nothing was written",
		size, to.v, t->pid, t->comm, p->what);
}

int
os_part_write(const struct target *t, const struct os_part *p, raddr to, const void *from,
	size_t size, struct err *e)
{
	return part_check(t, p, to, size, e) < 0 ? -1 : os_write(t, to, from, size, e);
}

int
os_part_poke(const struct target *t, const struct os_part *p, pid_t tid, raddr to, const void *from,
	size_t size, struct err *e)
{
	return part_check(t, p, to, size, e) < 0 ? -1 : os_poke(tid, to, from, size, e);
}
