/* A program as one writes it for MemTracer's header. */
#include "memtracer/mt_info.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <sys/mman.h>

extern "C" void *__libc_malloc(std::size_t size);

static int failed;
static void *volatile block;

static void
expect(const char *what, std::size_t before, long want)
{
	long got = static_cast<long>(memtracer::allocated_memory() - before);

	if (got != want) {
		std::fprintf(stderr, "%s: %ld, not %ld\n", what, got, want);
		failed = 1;
	}
}

#define EXPECT(want, ...)                                                                          \
	do {                                                                                       \
		std::size_t before = memtracer::allocated_memory();                                \
		__VA_ARGS__;                                                                       \
		expect(#__VA_ARGS__, before, want);                                                \
	} while (0)

struct alignas(64) wide {
	char v[64];
};

int
main()
{
	EXPECT(1024, block = std::malloc(1024));
	EXPECT(-1024, std::free(block));
	EXPECT(1000, block = std::calloc(10, 100));
	EXPECT(-1000, std::free(block));
	EXPECT(10, block = std::realloc(nullptr, 10));
	EXPECT(0, block = std::realloc(block, 1));	/* nothing is given back */
	EXPECT(90, block = std::realloc(block, 100));
	EXPECT(-100, std::free(block));
	EXPECT(4, block = new int);
	EXPECT(-4, delete static_cast<int *>(block));
	EXPECT(400, block = new int[100]);
	EXPECT(-400, delete[] static_cast<int *>(block));
	EXPECT(64, block = new wide);
	EXPECT(-64, delete static_cast<wide *>(block));
	EXPECT(1024, block = mmap(nullptr, 1024, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	EXPECT(-1024, munmap(block, 1024));
	EXPECT(1024, block = __libc_malloc(1024));
	EXPECT(-1024, std::free(block));
	EXPECT(1024, block = __builtin_malloc(1024));
	EXPECT(-1024, std::free(block));
	EXPECT(1 << 30, block = std::malloc(1 << 30));
	EXPECT(-(1 << 30), std::free(block));
	EXPECT(0, try { throw std::runtime_error("a long message that is no short string at all"); }
		catch (const std::exception &) {});
	std::printf("%zu %zu\n", memtracer::meta_memory() % 8, memtracer::memory_limit());
	return failed;
}
