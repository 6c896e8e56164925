/*
 * exact [requested] [other]: each call counts for what it is, to the byte.  With "other" it is not
 * glibc's malloc that is called.
 */
#include "count.h"

static bool requested, is_other;

/* Weak: none of the libcs has all of these. */
#define WEAK __attribute__((weak))
WEAK void *__libc_malloc(size_t);
WEAK void __libc_free(void *);
WEAK void *__libc_calloc(size_t, size_t);
WEAK void *__libc_realloc(void *, size_t);
WEAK void *__libc_memalign(size_t, size_t);
WEAK void *__libc_valloc(size_t);
WEAK void *__libc_pvalloc(size_t);
WEAK void cfree(void *);
WEAK void free_sized(void *, size_t);
WEAK void free_aligned_sized(void *, size_t, size_t);

/* The bytes that BLOCK of SIZE must count for. */
static long
worth(size_t size)
{
	return requested ? (long)size : (long)malloc_usable_size(block);
}

/* Another malloc aligns a block for no more than there is room for. */
static bool
is_aligned(size_t size)
{
	return (uintptr_t)block % (is_other && size < 16 ? 8 : 16) == 0;
}

/* Its first and its last bytes: to touch all of a large one takes longer than all the rest. */
static void
fill(void)
{
	const size_t size = malloc_usable_size(block), some = size < 200000 ? size : 200000;

	memset(block, 0x5a, some);
	memset((char *)block + size - some, 0x5a, some);
}

#define TAKE(size, call) TAKE_AND_GIVE(size, call, free(block))
#define TAKE_AND_GIVE(size, call, give)                                                            \
	do {                                                                                       \
		char what[128];                                                                    \
		begin_count();                                                                     \
		block = (call);                                                                    \
		snprintf(what, sizeof what, "%s of %zu", #call, (size_t)(size));                   \
		counted(worth(size), what);                                                        \
		ok(is_aligned(size), "%s is aligned", what);                                       \
		fill();                                                                            \
		give;                                                                              \
		snprintf(what, sizeof what, "%s after %s of %zu", #give, #call, (size_t)(size));   \
		counted(0, what);                                                                  \
	} while (0)

static void
try_size(size_t size)
{
	void *p = NULL;

	TAKE(size, malloc(size));
	TAKE(size, calloc(1, size));
	TAKE(size, realloc(NULL, size));
	TAKE(size, reallocarray(NULL, 1, size));
	TAKE(size, memalign(256, size));
	TAKE(size, aligned_alloc(64, size));
	TAKE(size, valloc(size));
	TAKE(size, posix_memalign(&p, 4096, size) ? NULL : p);
	TAKE(size, pvalloc(size));
	TAKE_AND_GIVE(size, malloc(size), cfree(block));
	TAKE_AND_GIVE(size, malloc(size), free_sized(block, size));
	TAKE_AND_GIVE(size, memalign(64, size), free_aligned_sized(block, 64, size));
}

/* By these names it is libc's in any case. */
static void
try_libc_names(size_t size)
{
	if (is_other) {
		begin_count();
		block = __libc_malloc(size);
		block = __libc_realloc(block, size + 1);
		__libc_free(block);
		counted(0, "what libc alone has seen");
		return;
	}
	TAKE(size, __libc_malloc(size));
	TAKE_AND_GIVE(size, __libc_calloc(1, size), __libc_free(block));
	TAKE(size, __libc_realloc(NULL, size));
	TAKE(size, __libc_memalign(64, size));
	TAKE(size, __libc_valloc(size));
	TAKE(size, __libc_pvalloc(size));
}

static void
try_realloc(void)
{
	size_t was;

	begin_count();
	block = realloc(NULL, 10);
	counted(worth(10), "realloc(NULL, 10)");
	block = realloc(block, 100);
	counted(worth(100), "realloc to 100");
	memset(block, 7, 100);
	block = realloc(block, 1 << 20);
	counted(worth(1 << 20), "realloc to 1 MiB");
	ok(((char *)block)[99] == 7, "what was in it is there");
	block = realloc(block, 3 << 20);
	counted(worth(3 << 20), "realloc to 3 MiB");
	block = realloc(block, 1);
	counted(worth(1), "realloc to 1");
	free(block);
	block = memalign(4096, 300);
	block = realloc(block, 5000);
	counted(worth(5000), "realloc of an aligned block");
	block = realloc(block, 5000);
	counted(worth(5000), "realloc to the same");
	was = memdiag_live_blocks();
	block = realloc(block, 0);
	ok(!block || is_other, "realloc to 0 frees");
	free(block);
	counted(0, "realloc to 0");
	is_u64(memdiag_live_blocks(), was - 1, "and it is a block less");
}

/* The usable bytes behind the block, which MemTracer would have used for its own words. */
static void
try_usable(void)
{
	block = malloc(1001);
	ok(malloc_usable_size(block) >= 1001, "malloc_usable_size is no less than was asked for");
	memset(block, 0xff, malloc_usable_size(block));
	begin_count();
	free(block);
	ok((long)(count_before - memdiag_live_bytes()) >= 1001, "and may be used to the last byte");
}

static void
try_failures(void)
{
	volatile size_t huge = SIZE_MAX, half = SIZE_MAX / 2;
	void *p = &p;

	begin_count();
	ok(is_enomem(huge) || (is_other && !block), "malloc(SIZE_MAX) fails");
	ok(!(block = malloc(half)) && !(block = calloc(half, 3)) && !(block = calloc(1, huge)),
		"too large ones fail");
	errno = 0;
	ok(!reallocarray(NULL, half, 3) && errno == ENOMEM, "reallocarray that overflows fails");
	is_u64((uint64_t)posix_memalign(&p, 3, 8), EINVAL, "posix_memalign(3) is refused");
	is_u64((uint64_t)posix_memalign(&p, 16, half), ENOMEM, "posix_memalign of too much fails");
	ok(p == &p, "and leaves the pointer alone");
	free(NULL);
	block = malloc(10);
	ok(!realloc(block, half), "realloc to too much fails");
	free(block);
	counted(0, "nothing of that");
	errno = 123;
	take_and_free(10);
	block = realloc(calloc(1, 10), 1000);
	free(block);
	block = memalign(64, 10);
	free(block);
	free(posix_memalign(&p, 64, 10) == 0 ? p : NULL);
	__asm__ volatile("" : : : "memory"); /* the compiler thinks that it knows errno */
	ok(errno == 123, "calls that succeed keep errno");
	is_u64(malloc_usable_size(NULL), 0, "malloc_usable_size(NULL)");
}

/* A calloc that clears what mmap has cleared already would make it resident. */
static void
try_calloc(void)
{
	unsigned char resident[16] = { 0 };
	size_t size = 64 << 20;
	char *p = calloc(1, size);
	char *page = (char *)(((uintptr_t)p + size / 2) & ~(uintptr_t)4095);

	ok(mincore(page, 4 * 4096, resident) == 0 && !(resident[1] & 1),
		"a large calloc stays untouched");
	ok(page[5] == 0, "and is zero");
	free(p);
}

/*
 * Blocks that need no new grant each: the most there was is still known, and of one thread exactly.
 */
static void
try_peak(void)
{
	static void *many[5000];
	size_t most;

	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		many[i] = malloc(1000);
	most = memdiag_live_bytes();
	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		free(many[i]);
	is_u64(memdiag_peak_bytes(), most, "the peak is the most there was");
}

int
main(int argc, char **argv)
{
	static const size_t sizes[] = { 0, 1, 8, 24, 25, 40, 41, 100, 1000, 1032, 5000, 100000,
		131072, 200000, 1000000, 50000000 };

	need_agent();
	requested = is_told(argc, argv, "requested");
	take_and_free(1);
	is_other = is_told(argc, argv, "other");
	try_peak();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		try_size(sizes[i]);
		try_libc_names(sizes[i]);
	}
	try_realloc();
	try_usable();
	try_failures();
	if (!is_other)
		try_calloc();
	return tap_end();
}
