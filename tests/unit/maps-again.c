/*
 * An address space that is read again and again is what it is when read for the first time: a child
 * changes its mappings, pages, arenas and threads at random, and waits while both are read.
 */
#include <config.h>

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "maps/space.h"
#include "os/target.h"
#include "tests/unit/draw.h"
#include "tests/unit/tap.h"

#define STEPS 400
#define NR_BLOCKS 64
#define NR_AREAS 16
#define MAX_THREADS 12
#define AREA_BYTES (64 * 4096)

/* ---- the child ---- */

static int wake[2];

/* A thread takes an arena, and ends when it is told to. */
static void *
use_arena(void *arg)
{
	char *block = malloc(50000);
	char byte;

	memset(block, 1, 50000);
	if (write(*(int *)arg, "", 1) != 1 || read(wake[0], &byte, 1) != 1)
		_exit(1);
	free(block);
	return NULL;
}

static void
change_threads(void)
{
	static pthread_t threads[MAX_THREADS];
	static int nr;
	static int begun[2];
	char byte;

	if (!begun[1] && pipe(begun) < 0)
		_exit(1);
	if (nr == MAX_THREADS || (nr && draw(3) == 0)) {
		/* One of them ends, any; which has to be waited for is not known. */
		for (int i = 0; i < nr; i++)
			if (write(wake[1], "", 1) != 1)
				_exit(1);
		while (nr)
			pthread_join(threads[--nr], NULL);
	} else if (pthread_create(&threads[nr], NULL, use_arena, &begun[1]) == 0) {
		nr++;
		if (read(begun[0], &byte, 1) != 1)
			_exit(1);
	}
}

static void
change_blocks(void)
{
	static void *block[NR_BLOCKS];
	const size_t i = draw(NR_BLOCKS);
	const size_t size = draw(4) ? draw(20000) : 100000 + draw(400000);

	free(block[i]);
	block[i] = malloc(size);
	if (block[i])
		memset(block[i], 2, size);
}

static void
change_mappings(void)
{
	static char *area[NR_AREAS];
	const size_t i = draw(NR_AREAS);

	if (!area[i]) {
		area[i] = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
			(draw(2) ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1, 0);
		return;
	}
	switch (draw(4)) {
	case 0:
		munmap(area[i], AREA_BYTES);
		area[i] = NULL;
		return;
	case 1:
		mprotect(area[i] + 4096 * draw(32), 4096, PROT_READ);
		return;
	case 2:
		madvise(area[i], AREA_BYTES, MADV_DONTNEED);
		return;
	default:
		if (mprotect(area[i], AREA_BYTES, PROT_READ | PROT_WRITE) == 0)
			memset(area[i] + 4096 * draw(32), 3, 4096 * (1 + draw(31)));
	}
}

/* A thread that takes and gives back the end of its arena's heap, whose mapping stays as it is. */
static void *
resize_arena(void *arg)
{
	const int *ends = arg;
	char *block[12] = { 0 };
	char byte;

	while (read(ends[0], &byte, 1) == 1) {
		for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
			if (byte == 'a' && (block[i] = malloc(60000)))
				memset(block[i], 5, 60000);
			if (byte == 'f')
				free(block[i]);
		}
		if (write(ends[3], "", 1) != 1)
			break;
	}
	return NULL;
}

static void
change_arena(void)
{
	static int ends[4]; /* of two pipes: to the thread, and from it */
	static bool has_blocks;
	pthread_t thread;
	char byte;

	if (!ends[1] &&
		(pipe(ends) < 0 || pipe(ends + 2) < 0 ||
			pthread_create(&thread, NULL, resize_arena, ends) != 0))
		_exit(1);
	has_blocks = !has_blocks;
	if (write(ends[1], has_blocks ? "a" : "f", 1) != 1 || read(ends[2], &byte, 1) != 1)
		_exit(1);
}

/*
 * First leave the end of the heap free; then give it back, and put another mapping in its place,
 * which the kernel merges with the heap: brk alone has changed.
 */
static void
change_brk(bool is_first)
{
	char *end = sbrk(0), *now;

	if (is_first) {
		free(memset(malloc(120000), 6, 120000));
		return;
	}
	malloc_trim(0);
	now = sbrk(0);
	if (now < end)
		mmap(now, (size_t)(end - now), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* Change something, or only pages, at each byte from IN; answer with a byte to OUT. */
static void
run_child(int in, int out)
{
	static char *pages;
	int nr_steps = 0;
	char byte;

	if (pipe(wake) < 0)
		_exit(1);
	pages = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (read(in, &byte, 1) == 1) {
		if (++nr_steps == 50 || nr_steps == 51) {
			change_brk(nr_steps == 50);
			if (write(out, "", 1) != 1)
				break;
			continue;
		}
		switch (draw(7)) {
		case 6:
			change_arena();
			break;
		case 0:
			change_threads();
			break;
		case 1:
			change_blocks();
			break;
		case 2:
			change_mappings();
			break;
		case 3:
			if (draw(8) == 0)
				malloc_trim(0);
			else if (draw(8) == 0)
				sbrk(4096 * (intptr_t)draw(5));
			break;
		default: /* the mappings stay */
			pages[4096 * draw(64)] = 4;
			if (draw(4) == 0)
				madvise(pages, AREA_BYTES, MADV_DONTNEED);
		}
		if (write(out, "", 1) != 1)
			break;
	}
	_exit(0);
}

/* ---- the comparison ---- */

static bool
leaves_are_equal(const struct space *a, const struct space *b, char *why, size_t size)
{
	if (a->leaves.nr != b->leaves.nr) {
		snprintf(why, size, "%zu leaves, not %zu", a->leaves.nr, b->leaves.nr);
		return false;
	}
	for (size_t i = 0; i < a->leaves.nr; i++) {
		const struct leaf *x = &a->leaves.v[i], *y = &b->leaves.v[i];

		if (x->start.v != y->start.v || x->end.v != y->end.v || x->kind != y->kind ||
			x->region != y->region || x->object != y->object || x->arena != y->arena ||
			x->rss_bytes != y->rss_bytes || x->swap_bytes != y->swap_bytes ||
			x->huge_bytes != y->huge_bytes) {
			snprintf(why, size,
				"leaf %" PRIx64 "-%" PRIx64 " %d, not %" PRIx64 "-%" PRIx64 " %d",
				x->start.v, x->end.v, x->kind, y->start.v, y->end.v, y->kind);
			return false;
		}
	}
	return memcmp(&a->totals, &b->totals, sizeof a->totals) == 0 ||
		!snprintf(why, size, "sums");
}

int
main(int argc, char **argv)
{
	const struct space_options options = { 0 };
	unsigned int nr_same = 0, nr_quick = 0;
	int to[2], from[2], steps = (int)tap_share(STEPS);
	struct target t = TARGET_NONE;
	struct space kept = { 0 }, fresh;
	char byte, why[200] = "";
	struct err e = { 0 };
	pid_t child;

	seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 39;
	if (skip_if_sanitized("address spaces that are read again"))
		return tap_end();
	if (pipe(to) < 0 || pipe(from) < 0)
		return 99;
	child = fork();
	if (child == 0) {
		close(to[1]);
		run_child(to[0], from[1]);
	}
	ok(write(to[1], "", 1) == 1 && read(from[0], &byte, 1) == 1 &&
			target_open(&t, child, &e) == 0 && space_read(&kept, &t, &options, &e) == 0,
		"the child is read %s", e.msg);
	for (int i = 0; i < steps; i++) {
		const struct leaf *before = kept.leaves.v;

		if (write(to[1], "", 1) != 1 || read(from[0], &byte, 1) != 1 ||
			space_read_again(&kept, &t, &options, &e) < 0 ||
			space_read(&fresh, &t, &options, &e) < 0) {
			snprintf(why, sizeof why, "%.190s", e.msg);
			break;
		}
		nr_quick += kept.leaves.v == before;
		nr_same += leaves_are_equal(&kept, &fresh, why, sizeof why);
		space_release(&fresh);
	}
	is_u64(nr_same, (uint64_t)steps, "each reading again is a first one");
	if (*why)
		printf("# %s\n", why);
	ok(nr_quick > (unsigned int)steps / 5 && nr_quick < (unsigned int)steps,
		"%u of %d had the same mappings", nr_quick, steps);
	space_release(&kept);
	close(to[1]);
	ok(waitpid(child, NULL, 0) == child, "the child ends");
	target_release(&t);
	return tap_end();
}
