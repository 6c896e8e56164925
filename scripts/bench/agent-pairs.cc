/*
 * Pairs of malloc and free, and of new and delete: nanoseconds of CPU that one takes, by size and
 * number of threads.  Prints "NAME/SIZE/THREADS NANOSECONDS".  With an argument it says "ready" first,
 * and waits for a line.
 */
#include <pthread.h>
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

static double
cpu_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
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

		for (long i = 0; i < r->nr_pairs; i++)
			r->pair(r->size);
		double took = (cpu_ns() - before) / static_cast<double>(r->nr_pairs);

		*best = took < *best ? took : *best;
	}
	return best;
}

static void
print_row(const char *name, void (*pair)(std::size_t size), std::size_t size, unsigned nr_threads)
{
	struct row r = { pair, size, size >= 1 << 30 ? 400 : 100000, {} };
	pthread_t thread[2];
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

	if (argc > 1)
		wait_for_line();
	for (unsigned nr_threads = 1; nr_threads <= 2; nr_threads++) {
		for (std::size_t size : sizes)
			print_row("MallocFree", malloc_free, size, nr_threads);
		for (std::size_t size : sizes)
			print_row("NewDelete", new_delete, size, nr_threads);
	}
}
