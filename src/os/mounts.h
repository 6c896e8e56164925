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
 * Store in BUF the type of the file system that is mounted from device DEV where T sees it
 * ("ext4").  0, or -1 if not found: for a deleted file, a part of btrfs.
 */
int os_mounted_type(const struct target *t, uint64_t dev, char *buf, size_t size);

/*
 * Return whether DEV is the kernel's own tmpfs, which contains all memory that is shared without a
 * file system and is not mounted anywhere (mm/shmem.c, shm_mnt).
 */
bool os_is_kernels_tmpfs(uint64_t dev);

#endif
