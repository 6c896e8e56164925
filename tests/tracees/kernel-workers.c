/*
 * kernel-workers: io_uring reads a pipe on behalf of the process, in threads of the kernel's that
 * belong to the process and never run its code.  Exits with 77 where io_uring is not available.
 */
#include "tracee.h"

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

int
main(void)
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
	tracee_use_malloc();
	tracee_ready();
	return tracee_park();
}
