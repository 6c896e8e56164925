/*
 * freed-large: a thread that waits inside malloc() for its arena's lock, and a large aligned block.
 * Some time after malloc() was hooked the block is given back; then the thread may go on.
 *	sum	answers "BYTES BLOCKS", usable
 *	wait	answers "done" when all of that is over
 */
#include "tracee.h"

#include <dlfcn.h>
#include <limits.h>
#include <linux/futex.h>
#include <malloc.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE_BYTES ((size_t)4096)
#define HEAP_BYTES                                                                                 \
	((uintptr_t)64 << 20) /* each begins at a multiple (HEAP_MAX_SIZE, malloc/arena.c) */
#define LEAD_BYTES ((size_t)1 << 20)
#define CODE_BYTES 16
#define MAX_WAITS 300000

static unsigned char code[CODE_BYTES]; /* of malloc() before it is hooked */
static const void *code_at;
static void *large;
static _Atomic(atomic_int *) locked;
static atomic_bool is_over;

/*
 * Heaps begin with a pointer to their arena, and that with its lock (malloc/arena.c,
 * malloc/malloc.c).
 */
static void *
wait_in_malloc(void *arg)
{
	uintptr_t small = (uintptr_t)malloc(1000);
	atomic_int *lock = *(atomic_int **)(small & ~(HEAP_BYTES - 1));
	void *volatile block;

	*lock = 1;
	locked = lock;
	block = malloc(10 * PAGE_BYTES);
	free(block);
	is_over = true;
	for (;;)
		pause();
	return arg;
}

/* Between the looks of memdiag nothing changes but that the block goes. */
static void *
give_back(void *arg)
{
	tracee_use_malloc(); /* memdiag may borrow this thread */
	for (int i = 0; i < MAX_WAITS && memcmp(code, code_at, CODE_BYTES) == 0; i++)
		usleep(1000);
	usleep(300000);
	free(large);
	large = NULL;
	usleep(100000);
	*locked = 0;
	syscall(SYS_futex, locked, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	for (;;)
		pause();
	return arg;
}

/* The bytes that memalign() leaves out in front of the block could be miscounted. */
static void
take_large(void)
{
	for (size_t lead = 0; lead < LEAD_BYTES; lead = ((const size_t *)large)[-2]) {
		free(large);
		/* The next one is not put where the last one was. */
		mmap(NULL, HEAP_BYTES / 4, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);
		if (posix_memalign(&large, HEAP_BYTES, 100 * PAGE_BYTES) != 0)
			tracee_fail("posix_memalign");
	}
}

int
main(void)
{
	char line[64];

	code_at = dlsym(RTLD_DEFAULT, "malloc");
	memcpy(code, code_at, CODE_BYTES);
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	take_large();
	tracee_thread(wait_in_malloc, NULL);
	while (!locked)
		usleep(1000);
	tracee_thread(give_back, NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		while (strcmp(line, "wait") == 0 && !is_over)
			usleep(1000);
		if (strcmp(line, "sum") == 0)
			tracee_say("%zu %d", malloc_usable_size(large), large != NULL);
		else
			tracee_say("done");
	}
	return tracee_end();
}
