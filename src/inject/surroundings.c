/*
 * The room that the cgroups of a target must have before any call in it: memory, because at its
 * limit the kernel kills a process of the group; and processor time, because without it a borrowed
 * thread stands still.
 */
#include <config.h>

#include "inject/surroundings.h"

#include "os/cgroup.h"
#include "os/os.h"

/*
 * A call takes the pages of its stack, its text and the page tables to these, and a helper also
 * what the kernel keeps for a thread: about 200 KiB.  The kernel charges 256 KiB at a time on each
 * processor (mm/memcontrol.c, MEMCG_CHARGE_BATCH).
 */
#define CALL_ROOM_BYTES (UINT64_C(1) << 20)

/* The longest time that a quota may keep a held thread from running. */
#define MAX_STANDSTILL_US 20000

static int
check_frozen(const struct target *t, struct err *e)
{
	if (!os_is_frozen(t))
		return 0;
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"cannot call into %d (%s): its cgroup, or one above it, is frozen; "
		"nothing was changed",
		t->pid, t->comm);
	return err_hint(e, "Thaw the cgroup first (cgroup.freeze, or freezer.state)");
}

static int
check_memory(const struct target *t, uint64_t needed_bytes, struct err *e)
{
	char room[32], limit[32], needed[32];
	struct os_memory_room r;

	os_memory_room(t, &r);
	if (r.bytes >= needed_bytes)
		return 0;
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"cannot call into %d (%s): its cgroup has %s left below %s (%s), and the call may take %s; "
		"nothing was changed",
		t->pid, t->comm, text_bytes(r.bytes, room, sizeof room), r.limit_name,
		text_bytes(r.limit_bytes, limit, sizeof limit),
		text_bytes(needed_bytes, needed, sizeof needed));
	return err_hint(e,
		"The kernel could kill it for that. Raise the limit for the moment; "
		"'memdiag heap' and 'memdiag info --method=read' need no memory in it");
}

static int
check_quota(const struct target *t, struct err *e)
{
	struct os_cpu_quota q;

	if (!os_cpu_quota(t, &q) || q.quota_us + MAX_STANDSTILL_US >= q.period_us ||
		!os_is_throttled(t))
		return 0;
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"cannot call into %d (%s): its cgroup has used up its processor time (%g ms of each %g ms), so a borrowed thread could stand still for %g ms at a time; "
		"nothing was changed",
		t->pid, t->comm, (double)q.quota_us / 1e3, (double)q.period_us / 1e3,
		(double)(q.period_us - q.quota_us) / 1e3);
	return err_hint(e,
		"Raise the quota for the moment, try again when it is less busy, or say --thread=helper to do it all the same");
}

int
surroundings_check(const struct target *t, const struct inject_options *opt, uint64_t needed_bytes,
	struct err *e)
{
	if (!needed_bytes)
		needed_bytes = CALL_ROOM_BYTES;
	if (check_frozen(t, e) < 0 || check_memory(t, needed_bytes, e) < 0)
		return -1;
	return opt->mode == INJECT_MODE_AUTO ? check_quota(t, e) : 0;
}
