/*
 * scale [alone]: with 30,000 mappings one more costs hardly more beside what the kernel takes than
 * with ten.  CPU time of this thread; the kernel's part is measured in turns with the hook's, by
 * the system call itself.  With "alone" the agent does not follow children: what malloc costs in
 * one, beside libc's own.
 */
#include "count.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/syscall.h>
#include <time.h>

#define PAGE 4096
#define FEW 10
#define MANY 30000
#define TURNS 41
#define PAIRS 500
#define TRIES 20 /* other programs may fill the caches: one good try is enough */

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Every second one does not count, so that no two are neighbours in anybody's list. */
static int
prot_of(int i)
{
	return i % 2 ? PROT_NONE : PROT_READ | PROT_WRITE;
}

static double
hooked_maps(void)
{
	double before = now_ns();

	for (int i = 0; i < PAIRS; i++)
		munmap(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			PAGE);
	return now_ns() - before;
}

static double
bare_maps(void)
{
	double before = now_ns();

	for (int i = 0; i < PAIRS; i++)
		syscall(SYS_munmap,
			syscall(SYS_mmap, NULL, PAGE, PROT_READ | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			PAGE);
	return now_ns() - before;
}

static int
compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
		(*(const double *)a < *(const double *)b);
}

/* How many times as long HOOKED takes as BARE: the median of many turns. */
static double
ratio(double (*hooked)(void), double (*bare)(void))
{
	double v[TURNS];

	for (int i = 0; i < TURNS; i++) {
		double bare_ns = bare();

		v[i] = hooked() / bare_ns;
	}
	qsort(v, TURNS, sizeof *v, compare);
	return v[TURNS / 2];
}

static void *(*libc_malloc)(size_t);
static void (*libc_free)(void *);

static double
hooked_blocks(void)
{
	double before = now_ns();

	for (int i = 0; i < 40 * PAIRS; i++)
		take_and_free(64);
	return now_ns() - before;
}

static double
bare_blocks(void)
{
	double before = now_ns();

	for (int i = 0; i < 40 * PAIRS; i++) {
		void *volatile p = libc_malloc(64);

		libc_free(p);
	}
	return now_ns() - before;
}

/*
 * The same of the fastest turn of each: another load, on the same core or cache, makes turns
 * slower, never faster.
 */
static double
least_ratio(double (*hooked)(void), double (*bare)(void))
{
	double hooked_ns = hooked(), bare_ns = bare();

	for (int i = 1; i < TURNS; i++) {
		double ns = hooked();

		hooked_ns = ns < hooked_ns ? ns : hooked_ns;
		ns = bare();
		bare_ns = ns < bare_ns ? ns : bare_ns;
	}
	return hooked_ns / bare_ns;
}

/*
 * It calls the real ones, and does nothing else; it was 2.5 times, with more than half of that for
 * nothing.
 */
static void
try_silent_child(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	double times = HUGE_VAL;
	int status;
	pid_t pid;

	*(void **)&libc_malloc = dlsym(libc, "malloc");
	*(void **)&libc_free = dlsym(libc, "free");
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < TRIES && times > 1.9; i++)
			times = least_ratio(hooked_blocks, bare_blocks);
		printf("# in a child that is not followed malloc and free take %.2f times\n",
			times);
		fflush(stdout);
		_exit(times > 1.9);
	}
	ok(waitpid(pid, &status, 0) == pid && status == 0,
		"a child that is not followed does not pay");
}

int
main(int argc, char **argv)
{
	static char *p[MANY];
	double few, many = HUGE_VAL;

	need_agent();
	if (is_told(argc, argv, "alone")) {
		try_silent_child();
		return tap_end();
	}
	for (int i = 0; i < FEW; i++)
		p[i] = mmap(NULL, PAGE, prot_of(i), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	few = ratio(hooked_maps, bare_maps);
	for (int i = FEW; i < MANY; i++) {
		p[i] = mmap(NULL, PAGE, prot_of(i), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p[i] == MAP_FAILED) {
			puts("1..0 # SKIP there may not be so many mappings");
			return 0;
		}
	}
	/* The kernel puts further ones where this was, above all others. */
	munmap(p[FEW], PAGE);
	for (int i = 0; i < TRIES && many > 1.5 * few; i++)
		many = ratio(hooked_maps, bare_maps);
	ok(many <= 1.5 * few, "%d mappings cost %.2f times the kernel's time, %d %.2f times", FEW,
		few, MANY, many);
	return tap_end();
}
