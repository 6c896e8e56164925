#include <config.h>

#include "os/segment.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "os/os.h"

static bool
is_in_our_namespace(const struct target *t)
{
	struct stat ours, theirs;

	return stat("/proc/self/ns/ipc", &ours) == 0 &&
		fstatat(t->proc_fd, "ns/ipc", &theirs, 0) == 0 && ours.st_ino == theirs.st_ino &&
		ours.st_dev == theirs.st_dev;
}

uint64_t
os_segment_bytes(const struct target *t, int id)
{
	struct shmid_ds segment;

	if (!is_in_our_namespace(t) || shmctl(id, IPC_STAT, &segment) < 0)
		return 0;
	return segment.shm_segsz;
}
