/*
 * mapping: the files that are mapped in a target, and their file systems.
 */
#ifndef MEMDIAG_OS_MAPPING_H
#define MEMDIAG_OS_MAPPING_H

#include <stdint.h>

#include "base/raddr.h"

struct target;

enum os_fs {
	/* not mounted where the process sees it, and it takes CAP_SYS_ADMIN to ask */
	OS_FS_UNKNOWN,
	OS_FS_TMPFS,   /* memory: tmpfs, memfd, System V, shared anonymous */
	OS_FS_HUGETLB, /* pages from the hugetlb pool */
	OS_FS_OTHER,
};

/* The kind of file system, device DEV, of the file that is mapped at exactly [START, END). */
enum os_fs os_mapping_fs(const struct target *t, raddr start, raddr end, uint64_t dev);

/*
 * Open the file of DEV and INODE if the process finds it by the name PATH.  Returns a descriptor or
 * -1, which also means that the process has another file of that name, or none.
 */
int os_file_open(const struct target *t, const char *path, uint64_t dev, uint64_t inode);

/*
 * Open the file that is mapped at exactly [START, END), if it can be reached and is the very one:
 * of a process by its name PATH with DEV and INODE, or by its place, which takes a capability; of a
 * core file by the build-id.  END is {0} where it is not known.  Returns a descriptor or -1.
 */
int os_mapping_open(const struct target *t, raddr start, raddr end, const char *path, uint64_t dev,
	uint64_t inode);

/*
 * Open what process PID, which may be another one by now, has mapped at exactly [START, END), and
 * what it finds by the absolute name PATH: regular files that the caller knows again by their
 * contents.  A descriptor, or -1.
 */
int os_pid_mapping_open(int64_t pid, uint64_t start, uint64_t end);
int os_pid_file_open(int64_t pid, const char *path);

#endif
