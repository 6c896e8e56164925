/*
 * mounts: the type of a mounted file system.
 */
#ifndef MEMDIAG_OS_MOUNTS_H
#define MEMDIAG_OS_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/os.h"

/*
 * The type of the file system that is mounted from device DEV where T sees it ("ext4"), into BUF.
 * 0, or -1 if none: for a deleted file, a part of btrfs.
 */
int os_mounted_type(const struct target *t, uint64_t dev, char *buf, size_t size);

/*
 * Whether DEV is the kernel's own tmpfs, which has all memory that is shared without a file system,
 * and is mounted nowhere (mm/shmem.c, shm_mnt).
 */
bool os_is_kernels_tmpfs(uint64_t dev);

#endif
