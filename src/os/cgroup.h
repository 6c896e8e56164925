/*
 * cgroup: the limits of the target's cgroup.
 */
#ifndef MEMDIAG_OS_CGROUP_H
#define MEMDIAG_OS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target;

/*
 * The memory limit and use of the target's cgroup (v2 memory.max, v1 memory.limit_in_bytes): the
 * group with the least room on the visible way to the root.  File pages that the kernel drops
 * before it kills (inactive_file) are not in use.  Returns 0, or -1 if none.
 */
int os_cgroup_memory(const struct target *t, uint64_t *ret_limit_bytes, uint64_t *ret_used_bytes);

/*
 * The parts of what the group of os_cgroup_memory() uses, by its memory.stat, in bytes: anonymous
 * memory, shared memory with files of tmpfs, and memory of the kernel.  False without such a group.
 */
struct os_cgroup_parts {
	uint64_t anon_bytes, shmem_bytes, kernel_bytes;
};
bool os_cgroup_parts(const struct target *t, struct os_cgroup_parts *ret);

/*
 * The processes of the target's own cgroup, at most ROOM of them, into PIDS.  How many; 0 also if
 * they are not known.
 */
size_t os_cgroup_processes(const struct target *t, pid_t *pids, size_t room);

/*
 * How much memory the target may still get before its cgroup, or one of its ancestors, is at a
 * limit: the kernel kills a process then, or makes it wait.  Clean file pages, which it would take
 * first, do not count as used.
 */
struct os_memory_room {
	uint64_t bytes; /* UINT64_MAX: nothing limits it, as far as we see */
	uint64_t limit_bytes;
	const char *limit_name; /* "memory.max" ...; static */
};

void os_memory_room(const struct target *t, struct os_memory_room *ret);

/*
 * The processor time that the target's cgroup, or the strictest of its ancestors, may use in each
 * period.
 */
struct os_cpu_quota {
	uint64_t quota_us, period_us;
};

/* False if there is no quota that we see. */
bool os_cpu_quota(const struct target *t, struct os_cpu_quota *ret);

/*
 * Whether that is used up in these periods, or the quota of an ancestor is: looks for up to 0.24 s.
 */
bool os_is_throttled(const struct target *t);

/* Whether the cgroup of the target is frozen, or about to be; it may be by an ancestor. */
bool os_is_frozen(const struct target *t);

#endif
