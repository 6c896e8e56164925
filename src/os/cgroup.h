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
 * Store the path of the target's cgroup, as the kernel has it, in BUF: that of v2, else of v1's
 * hierarchy of systemd or of memory.  Untrusted.  False if it cannot be read, or does not fit.
 */
bool os_cgroup_path(const struct target *t, char *buf, size_t size);

/*
 * Store the memory limit and use of the target's cgroup (v2 memory.max, v1 memory.limit_in_bytes):
 * of the group with the least room on the visible path to the root.  File pages that the kernel
 * drops before it kills (inactive_file) do not count as used.  Returns 0, or -1 if no limit was
 * found.
 */
int os_cgroup_memory(const struct target *t, uint64_t *ret_limit_bytes, uint64_t *ret_used_bytes);

/*
 * The parts of what the group of os_cgroup_memory() uses, from its memory.stat, in bytes: anonymous
 * memory, shared memory including files of tmpfs, and kernel memory.  False if no such group was
 * found.
 */
struct os_cgroup_parts {
	uint64_t anon_bytes, shmem_bytes, kernel_bytes;
};
bool os_cgroup_parts(const struct target *t, struct os_cgroup_parts *ret);

/*
 * Store up to ROOM processes of the target's own cgroup in PIDS, and return their number; 0 also if
 * they are unknown.
 */
size_t os_cgroup_processes(const struct target *t, pid_t *pids, size_t room);

/*
 * The memory that the target may still get before its cgroup, or one of its ancestors, reaches a
 * limit: the kernel then kills a process, or makes it wait.  Clean file pages do not count as used,
 * because the kernel takes them first.
 */
struct os_memory_room {
	uint64_t bytes; /* UINT64_MAX: no visible limit */
	uint64_t limit_bytes;
	const char *limit_name; /* "memory.max" ...; static */
};

void os_memory_room(const struct target *t, struct os_memory_room *ret);

/*
 * The processor time per period that the target's cgroup, or the strictest of its ancestors, may
 * use.
 */
struct os_cpu_quota {
	uint64_t quota_us, period_us;
};

/* Return false if no quota is visible. */
bool os_cpu_quota(const struct target *t, struct os_cpu_quota *ret);

/*
 * Return whether the quota, or that of an ancestor, is used up in the present periods: measures for
 * up to 0.24 s.
 */
bool os_is_throttled(const struct target *t);

/* Return whether the cgroup of the target, or an ancestor of it, is frozen or about to be. */
bool os_is_frozen(const struct target *t);

#endif
