/*
 * kernel-workers: io_uring reads a pipe on behalf of the process, in threads of the kernel's that
 * belong to the process and never run its code.  Exits with 77 where io_uring is not available.
 *	kernel-workers [NAME]	call these threads so
 */
#include "tracee.h"

#include <dirent.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define NR_READS 3

static void *
map_ring(int ring, size_t size, off_t offset)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, offset);

	if (at == MAP_FAILED)
		tracee_fail("mmap of a ring");
	return at;
}

/*
 * Call the thread TID NAME, if the kernel has named it before: it does so when the thread runs for
 * the first time.
 */
static bool
rename_worker(const char *tid, const char *name)
{
	char path[300], comm[16] = "";
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%s/comm", tid);
	f = fopen(path, "r+e");
	if (!f)
		return false;
	if (fgets(comm, sizeof comm, f) && strncmp(comm, "iou-wrk", 7) == 0) {
		rewind(f);
		fputs(name, f);
	}
	fclose(f);
	return strncmp(comm, "iou-wrk", 7) == 0;
}

/* At least one worker, and all that are there then. */
static void
rename_workers(const char *name)
{
	size_t nr = 0;

	while (!nr) {
		DIR *tasks = opendir("/proc/self/task");
		struct dirent *task;

		if (!tasks)
			tracee_fail("/proc/self/task");
		while ((task = readdir(tasks)))
			nr += rename_worker(task->d_name, name);
		closedir(tasks);
	}
}

int
main(int argc, char **argv)
{
	static char buf[NR_READS];
	struct io_uring_params p = { 0 };
	struct io_uring_sqe *entry;
	unsigned int *array;
	int ends[2], ring;
	char *queue;

	if (pipe(ends) < 0)
		tracee_fail("pipe");
	ring = (int)syscall(SYS_io_uring_setup, NR_READS, &p);
	if (ring < 0)
		return 77;
	queue = map_ring(ring, p.sq_off.array + p.sq_entries * sizeof *array, IORING_OFF_SQ_RING);
	entry = map_ring(ring, p.sq_entries * sizeof *entry, IORING_OFF_SQES);
	array = (unsigned int *)(void *)(queue + p.sq_off.array);
	for (unsigned int i = 0; i < NR_READS; i++) {
		entry[i] = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
			.fd = ends[0],
			.addr = (uintptr_t)&buf[i],
			.len = 1,
			.flags = IOSQE_ASYNC };
		array[i] = i;
	}
	__atomic_store_n(
		(unsigned int *)(void *)(queue + p.sq_off.tail), NR_READS, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, NR_READS, 0, 0, NULL, 0) != NR_READS)
		tracee_fail("io_uring_enter");
	if (argc > 1)
		rename_workers(argv[1]);
	tracee_use_malloc();
	tracee_ready();
	return tracee_park();
}
