/*
 * Pairs of malloc and free, of new and delete, and of mmap and munmap: nanoseconds of CPU that one takes,
 * by size and number of threads.  Prints "NAME/SIZE/THREADS NANOSECONDS".  With an argument it says "ready" first,
 * and waits for a line.  PAIRS_MOST=BYTES: only malloc, up to this size.  PAIRS_DEPTH=N: below so many more frames.
 * PAIRS_THREADS=N: with so many threads, too, up to 64.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#define BATCHES 5

struct row {
	void (*pair)(std::size_t size);
	std::size_t size;
	long nr_pairs;
	int depth;
	pthread_barrier_t begin;
};

/* So that no pair is left out because nobody looks at the block. */
static inline void
use(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

static void
malloc_free(std::size_t size)
{
	void *block = std::malloc(size);

	use(block);
	std::free(block);
}

static void
new_delete(std::size_t size)
{
	void *block = ::operator new(size);

	use(block);
	::operator delete(block);
}

/* No page of it is touched: the kernel has the least to do, so this shows the most that a hook adds. */
static void
map_unmap(std::size_t size)
{
	munmap(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), size);
}

static double
cpu_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/* Pairs of R, below DEPTH more frames. */
static __attribute__((noinline)) void
batch_below(const struct row *r, int depth)
{
	if (depth > 0)
		batch_below(r, depth - 1);
	else
		for (long i = 0; i < r->nr_pairs; i++)
			r->pair(r->size);
	__asm__ volatile(""); /* not a loop instead of a call */
}

/* The quickest batch: others were disturbed. */
static void *
measure(void *arg)
{
	struct row *r = static_cast<struct row *>(arg);
	double *best = new double(1e18);

	r->pair(r->size);
	for (int batch = 0; batch < BATCHES; batch++) {
		pthread_barrier_wait(&r->begin);
		double before = cpu_ns();

		batch_below(r, r->depth);
		double took = (cpu_ns() - before) / static_cast<double>(r->nr_pairs);

		*best = took < *best ? took : *best;
	}
	return best;
}

static int
number(const char *variable, int otherwise)
{
	const char *text = std::getenv(variable);

	return text ? std::atoi(text) : otherwise;
}

static void
print_row(const char *name, void (*pair)(std::size_t size), std::size_t size, unsigned nr_threads)
{
	struct row r = { pair, size, size >= 1 << 30 ? 400 : 100000, number("PAIRS_DEPTH", 0), {} };
	pthread_t thread[64];
	double sum = 0;

	pthread_barrier_init(&r.begin, nullptr, nr_threads);
	for (unsigned i = 0; i < nr_threads; i++)
		pthread_create(&thread[i], nullptr, measure, &r);
	for (unsigned i = 0; i < nr_threads; i++) {
		void *best;

		pthread_join(thread[i], &best);
		sum += *static_cast<double *>(best);
		delete static_cast<double *>(best);
	}
	std::printf("%s/%zu/%u %.2f\n", name, size, nr_threads, sum / nr_threads);
}

/* Not in stdio, where nobody may borrow the thread. */
static void
wait_for_line()
{
	char line[16];

	std::puts("ready");
	std::fflush(stdout);
	if (read(0, line, sizeof line) < 0)
		std::exit(1);
}

int
main(int argc, char **)
{
	static const std::size_t sizes[] = { 8, 64, 512, 1024, 1 << 20, 8 << 20, 1 << 30 };
	static const std::size_t mapped_sizes[] = { 4096, 1 << 20 };

	const std::size_t most = static_cast<std::size_t>(number("PAIRS_MOST", 0));

	if (argc > 1)
		wait_for_line();
	const unsigned counts[] = { 1, 2, static_cast<unsigned>(number("PAIRS_THREADS", 2)) };

	for (unsigned i = 0; i < (counts[2] > 2 ? 3 : 2); i++) {
		const unsigned nr_threads = counts[i] > 64 ? 64 : counts[i];

		for (std::size_t size : sizes)
			if (!most || size <= most)
				print_row("MallocFree", malloc_free, size, nr_threads);
		if (most)
			continue;
		for (std::size_t size : sizes)
			print_row("NewDelete", new_delete, size, nr_threads);
		for (std::size_t size : mapped_sizes)
			print_row("MmapMunmap", map_unmap, size, nr_threads);
	}
}
