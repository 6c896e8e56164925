/*
 * mapping: the files that are mapped in a target, and their file systems.
 */
#ifndef MEMDIAG_OS_MAPPING_H
#define MEMDIAG_OS_MAPPING_H

#include <stdint.h>

#include "base/raddr.h"

struct target;

enum os_fs {
	/* not mounted where the process sees it; querying it needs CAP_SYS_ADMIN */
	OS_FS_UNKNOWN,
	OS_FS_TMPFS,   /* memory: tmpfs, memfd, System V, shared anonymous memory */
	OS_FS_HUGETLB, /* pages from the hugetlb pool */
	OS_FS_OTHER,
};

/*
 * Return the kind of the file system, on device DEV, of the file that is mapped at exactly [START,
 * END).
 */
enum os_fs os_mapping_fs(const struct target *t, raddr start, raddr end, uint64_t dev);

/*
 * Open the file of DEV and INODE if the process finds it by the name PATH.  Returns a descriptor or
 * -1, also if the process has another file of that name, or no such file.
 */
int os_file_open(const struct target *t, const char *path, uint64_t dev, uint64_t inode);

/*
 * Open the file that is mapped at exactly [START, END), if it is accessible and the same file: for
 * a process by its name PATH with DEV and INODE, or by its address range, which needs a capability;
 * for a core file by the build-id.  END is {0} if unknown.  Returns a descriptor or -1.
 */
int os_mapping_open(const struct target *t, raddr start, raddr end, const char *path, uint64_t dev,
	uint64_t inode);

/*
 * Open the file that process PID, which may be another one by now, has mapped at exactly [START,
 * END), or that it finds by the absolute name PATH: regular files that the caller recognizes by
 * their contents.  Returns a descriptor, or -1.
 */
int os_pid_mapping_open(int64_t pid, uint64_t start, uint64_t end);
int os_pid_file_open(int64_t pid, const char *path);

#endif
