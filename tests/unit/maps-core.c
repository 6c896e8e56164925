/*
 * A core file gives the same results as its process: the kernel's, gcore's, and one whose mapped
 * files are gone.
 */
#define _GNU_SOURCE
#include <config.h>

#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "glibc/arena-threads.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "maps/stacks.h"
#include "os/clock.h"
#include "os/core.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/proc.h"
#include "os/target.h"
#include "child.h"
#include "core-of.h"
#include "tap.h"
#include "zero-page.h"

#define NR_THREADS 3
#define MIB (1 << 20)

/* ---- the child ---- */

static pthread_barrier_t barrier;
static pthread_mutex_t robust;

/* Some blocks, one of them large enough for an arena to take a second heap. */
static void *
use_arena(void *arg)
{
	int nr = arg ? 3000 : 30;

	for (int i = 0; i < nr; i++) {
		char *volatile p = malloc(30000);

		memset(p, i + 1, 30000);
	}
	if (arg) /* a list of robust mutexes that is not empty */
		pthread_mutex_lock(&robust);
	printf("thread %d\n", gettid());
	pthread_barrier_wait(&barrier);
	while (true)
		pause();
	return NULL;
}

static void
run(void *dir)
{
	pthread_mutexattr_t attr;
	pthread_t thread;
	char *volatile p;

	printf(core_allow(dir) ? "core\n" : "no core\n");
	pthread_barrier_init(&barrier, NULL, NR_THREADS + 1);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attr);
	for (long i = 0; i < NR_THREADS; i++)
		pthread_create(&thread, NULL, use_arena, i == 1 ? &thread : NULL);
	pthread_barrier_wait(&barrier);
	p = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p + MIB, 1, MIB);
	p = malloc(2 * MIB); /* a mapping of its own, half of it used */
	memset(p, 1, MIB);
	child_ready();
}

/* ---- what is compared ---- */

/* All that is found in a target. */
struct finding {
	struct view v;
	struct threads threads;
	struct malloc_layout layout;
	struct thread_stacks stacks;
	raddr serves; /* the object whose malloc() is called; 0: not known */
	bool is_found;
};

static void
find(struct finding *f)
{
	struct view *v = &f->v;
	struct err *e = &v->e;
	const struct object *serves;

	f->is_found =
		ok(process_read(&v->p, &v->t, e) == 0 && process_find_arenas(&v->p, NULL, e) == 0 &&
				threads_list(&f->threads, &v->t, 1000, e) == 0 &&
				arenas_find_threads(&v->p.arenas, &v->t, &f->threads, e) == 0 &&
				malloc_layout_find(&f->layout, &v->p, e) == 0 &&
				thread_stacks_find(&f->stacks, &v->t, &v->p.maps, &v->p.objects,
					&f->threads, true, e) == 0,
			"all is found %s", e->msg);
	serves = objects_malloc(&v->p.objects, &v->t);
	if (serves)
		f->serves = serves->start;
}

static void
finding_release(struct finding *f)
{
	thread_stacks_release(&f->stacks);
	threads_release(&f->threads);
	view_release(&f->v);
}
#define auto_finding __attribute__((cleanup(finding_release)))

static bool
open_core(struct finding *f, const char *path, const char *sysroot)
{
	struct err *e = &f->v.e;

	*f = (struct finding){ .v = { .t = TARGET_NONE } };
	if (!ok(target_open_core(&f->v.t, path, sysroot, e) == 0, "%s is a target %s", path,
		    e->msg))
		return false;
	find(f);
	return f->is_found;
}

/* Whether a core file has no name for R, or gcore leaves it out. */
static bool
is_special(const struct region *r)
{
	return region_is_vsyscall(r) || (r->path && strncmp(r->path, "[vvar", 5) == 0);
}

/*
 * Whether PID has asked that R be in no core file (MADV_DONTDUMP), by smaps: from glibc 2.41 on a
 * process has a page of random numbers (MAP_DROPPABLE) that is so.
 */
static bool
is_left_out(pid_t pid, const struct region *r)
{
	char line[512], name[64];
	bool is_here = false, is_left_out = false;
	unsigned long start, end;
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/smaps", (int)pid);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			is_here = start == r->start.v;
		else if (is_here && strncmp(line, "VmFlags:", 8) == 0)
			is_left_out = strstr(line, " dd") != NULL;
	}
	if (f)
		fclose(f);
	return is_left_out;
}

static bool
is_same_name(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* IS_EXACT: down to the protection, which gcore does not write for memory that cannot be read. */
static bool
is_same_region(const struct region *a, const struct region *b, bool is_exact)
{
	return b && a->start.v == b->start.v && a->end.v == b->end.v &&
		is_same_name(a->path, b->path) && a->prot[1] == b->prot[1] &&
		a->prot[2] == b->prot[2] && (a->prot[0] == b->prot[0] || !is_exact) &&
		a->offset_bytes == b->offset_bytes && !a->inode == !b->inode;
}

static void
same_maps(pid_t pid, const struct regions *live, const struct regions *core, bool is_exact)
{
	size_t nr = 0, nr_live = 0, nr_core = 0;

	for (size_t i = 0; i < live->nr; i++) {
		const struct region *r = &live->region[i];

		if (is_special(r) || is_left_out(pid, r))
			continue;
		nr_live++;
		if (is_same_region(r, regions_find(core, r->start), is_exact))
			nr++;
		else
			printf("# %" PRIx64 "-%" PRIx64 " %s %s\n", r->start.v, r->end.v, r->prot,
				r->path ? r->path : "");
	}
	for (size_t i = 0; i < core->nr; i++) {
		const struct region *r = regions_find(live, core->region[i].start);

		nr_core += !r || !is_special(r);
	}
	is_u64(nr, nr_live, "each mapping is in the core file, with its name");
	is_u64(nr_core, nr_live, "and no other");
}

static void
same_objects(const struct finding *live, const struct finding *core, bool has_files)
{
	const struct objects *a = &live->v.p.objects, *b = &core->v.p.objects;
	bool same = true;

	if (!is_u64(b->nr, a->nr, "as many objects"))
		return;
	for (size_t i = 0; i < a->nr; i++) {
		char id[2][128];

		same &= a->v[i].start.v == b->v[i].start.v && a->v[i].end.v == b->v[i].end.v &&
			a->v[i].is_libc == b->v[i].is_libc &&
			a->v[i].is_loader == b->v[i].is_loader &&
			a->v[i].is_executable == b->v[i].is_executable &&
			image_is_from_memory(b->v[i].image) == !has_files &&
			strcmp(image_build_id(a->v[i].image, id[0], sizeof id[0]),
				image_build_id(b->v[i].image, id[1], sizeof id[1])) == 0;
	}
	ok(same, "which are the same ones");
	is_u64(core->serves.v, has_files ? live->serves.v : 0,
		has_files ? "one of them serves malloc"
			  : "without files malloc's library is unknown");
	ok(a->vdso.v == b->vdso.v, "the same vdso");
}

static bool
is_same_arena(const struct arena *a, const struct arena *b)
{
	bool same = a->addr.v == b->addr.v && a->is_main == b->is_main &&
		a->nr_heaps == b->nr_heaps && a->nr_tids == b->nr_tids;

	for (size_t i = 0; same && i < a->nr_heaps; i++)
		same = memcmp(&a->heap[i], &b->heap[i], sizeof a->heap[i]) == 0;
	for (size_t i = 0; same && i < a->nr_tids; i++)
		same = a->tid[i] == b->tid[i];
	return same;
}

static void
same_arenas(const struct finding *live, const struct finding *core)
{
	const struct arenas *a = &live->v.p.arenas, *b = &core->v.p.arenas;
	size_t nr = 0;

	for (size_t i = 0; i < a->nr && i < b->nr; i++)
		nr += is_same_arena(&a->v[i], &b->v[i]);
	is_u64(b->nr, a->nr, "as many arenas");
	is_u64(nr, a->nr, "each with the same heaps and threads");
	is_u64(b->heap_max_bytes, a->heap_max_bytes, "of the same size at most");
	ok(b->is_ring_closed, "that is all of them");
	ok(a->tls_offset_bytes && a->tls_offset_bytes == b->tls_offset_bytes,
		"threads point to them from the same place");
	is_str(core->layout.era, live->layout.era, "the same layout");
	ok(memcmp(&live->layout.params, &core->layout.params, sizeof live->layout.params) == 0 &&
			memcmp(&live->layout.tcache, &core->layout.tcache,
				sizeof live->layout.tcache) == 0,
		"with the same settings");
}

static void
same_stacks(const struct thread_stacks *a, const struct thread_stacks *b)
{
	size_t nr = 0;

	for (size_t i = 0; i < a->nr && i < b->nr; i++)
		nr += a->v[i].start.v == b->v[i].start.v && a->v[i].end.v == b->v[i].end.v &&
			a->v[i].tid == b->v[i].tid && a->v[i].is_main == b->v[i].is_main &&
			raddr_in(b->v[i].sp, b->v[i].start, b->v[i].end);
	is_u64(b->nr, a->nr, "as many stacks");
	is_u64(nr, a->nr, "each of its thread");
}

/* Memory of which all is known: it belongs to no other process. */
static bool
is_private(const struct region *r)
{
	return !r->inode && r->prot[1] == 'w' && (!r->path || strcmp(r->path, "[heap]") == 0);
}

/*
 * Guards are no memory: from 2.42 on glibc makes those of stacks inside the mapping
 * (nptl/allocatestack.c).
 */
static int
sum_run(const struct os_page_run *run, void *arg)
{
	*(uint64_t *)arg += run->is_guard ? 0 : run->end.v - run->start.v;
	return 0;
}

/* Pages of private memory: as many as there were, or fewer where zero pages are unknown. */
static void
same_pages(
	struct finding *core, const uint64_t *live_bytes, const struct regions *live, bool is_exact)
{
	auto_pages struct os_pages *pages = NULL;
	size_t nr = 0, nr_same = 0;
	uint64_t sum = 0;

	if (os_pages_open(&pages, &core->v.t, OS_PAGES_AUTO, &core->v.e) < 0)
		return (void)ok(false, "%s", core->v.e.msg);
	for (size_t i = 0; i < live->nr; i++) {
		const struct region *r = &live->region[i];
		uint64_t bytes = 0;

		if (!is_private(r))
			continue;
		nr++;
		os_pages_walk(pages, r->start, r->end, false, sum_run, &bytes, &core->v.e);
		sum += bytes;
		nr_same += is_exact ? bytes == live_bytes[i] : bytes <= live_bytes[i];
		if (bytes != live_bytes[i])
			printf("# %" PRIx64 ": %" PRIu64 " bytes of %" PRIu64 "\n", r->start.v,
				bytes, live_bytes[i]);
	}
	ok(os_pages_by(pages) == (is_exact ? OS_PAGES_HOLES : OS_PAGES_NONZERO), "pages are known");
	if (is_exact && !kernel_has_zero_page())
		skip("those that were present", "this kernel writes pages that were not there");
	else
		is_u64(nr_same, nr,
			is_exact ? "those that were present" : "of those that were present");
	ok(sum > 80 * MIB, "of %" PRIu64 " bytes", sum);
}

static size_t
count_different(const char *x, const char *y, size_t n)
{
	size_t nr = 0;

	for (size_t i = 0; i < n; i++)
		nr += x[i] != y[i];
	return nr;
}

/* But for each thread's struct rseq, where the kernel writes on which CPU it ran last. */
static void
same_memory(struct finding *a, struct finding *b)
{
	static char x[MIB], y[MIB];
	size_t nr_different = 0;
	bool same = true;

	for (size_t i = 0; i < a->v.p.maps.nr; i++) {
		const struct region *r = &a->v.p.maps.region[i];

		if (!is_private(r))
			continue;
		for (raddr at = r->start; at.v < r->end.v; at = raddr_add(at, sizeof x)) {
			size_t n = r->end.v - at.v < sizeof x ? r->end.v - at.v : sizeof x;
			ssize_t got = os_read_some(&a->v.t, at, x, n, &a->v.e);

			same &= got == os_read_some(&b->v.t, at, y, n, &b->v.e) && got >= 0;
			nr_different += same ? count_different(x, y, (size_t)got) : 0;
		}
	}
	ok(same && nr_different <= (NR_THREADS + 1) * 32,
		"memory is the same in both (%zu bytes not)", nr_different);
}

static void
same(const struct finding *live, struct finding *core, const uint64_t *live_bytes, bool by_kernel,
	bool has_files)
{
	same_maps(live->v.t.pid, &live->v.p.maps, &core->v.p.maps, by_kernel);
	same_objects(live, core, has_files);
	same_arenas(live, core);
	same_stacks(&live->stacks, &core->stacks);
	same_pages(core, live_bytes, &live->v.p.maps, by_kernel);
}

/* ---- without files ---- */

/* Rename every object in the core file PATH, as if it had been somewhere else. */
static bool
rename_objects(const struct finding *live, const char *path)
{
	auto_fd int fd = open(path, O_RDWR);
	size_t notes_max = MIB;
	char *notes = mmap(NULL, notes_max, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (notes == MAP_FAILED)
		return false;
	for (size_t i = 0; i < live->v.p.objects.nr; i++) {
		const char *name = live->v.p.objects.v[i].path;
		size_t len = strlen(name) + 1;
		char *at = notes, *end = notes + notes_max;

		while ((at = memmem(at, (size_t)(end - at), name, len)))
			at[1] = '\x01';
	}
	munmap(notes, notes_max);
	return true;
}

static size_t
nr_from_memory(const struct objects *o)
{
	size_t nr = 0;

	for (size_t i = 0; i < o->nr; i++)
		nr += image_is_from_memory(o->v[i].image);
	return nr;
}

static void
test_without_files(const struct finding *live, const char *path)
{
	char libc[PATH_MAX] = "";

	for (size_t i = 0; i < live->v.p.objects.nr; i++)
		if (live->v.p.objects.v[i].is_libc)
			snprintf(libc, sizeof libc, "%s", live->v.p.objects.v[i].path);
	if (!ok(rename_objects(live, path), "its files are nowhere"))
		return;
	{
		auto_finding struct finding f;

		if (open_core(&f, path, NULL)) {
			same_objects(live, &f, false);
			same_arenas(live, &f);
		}
	}
	{
		auto_finding struct finding f;

		if (open_core(&f, path, dirname(libc))) {
			ok(nr_from_memory(&f.v.p.objects) < f.v.p.objects.nr,
				"those in the sysroot are found");
			same_arenas(live, &f);
		}
	}
}

/* ---- all of it ---- */

/* Count the present bytes of each region by PAGEMAP_SCAN: without zero pages. */
static bool
count_pages(const struct finding *f, uint64_t *bytes)
{
	auto_pages struct os_pages *pages = NULL;
	struct err e;

	if (os_pages_open(&pages, &f->v.t, OS_PAGES_SCAN, &e) < 0)
		return false;
	for (size_t i = 0; i < f->v.p.maps.nr; i++)
		if (is_private(&f->v.p.maps.region[i]))
			os_pages_walk(pages, f->v.p.maps.region[i].start, f->v.p.maps.region[i].end,
				false, sum_run, &bytes[i], &e);
	return true;
}

/* Nothing changes any more: the threads are in pause(), the main one reads. */
static void
wait_all_asleep(const struct target *t, const char *said)
{
	struct os_syscall syscall = { .is_running = true };
	struct err e;
	int tid;

	while (os_thread_syscall(t, t->pid, &syscall, &e) == 0 &&
		(syscall.is_running || syscall.nr != SYS_read))
		os_sleep_ns(100000);

	for (; (said = strstr(said, "thread ")); said++)
		if (sscanf(said, "thread %d", &tid) == 1)
			view_wait_paused(t, tid);
}

static void
test(struct child *c, const char *dir, const char *kernel_dir)
{
	auto_finding struct finding live = { .v = { .t = TARGET_NONE } };
	auto_finding struct finding gcore = { .v = { .t = TARGET_NONE } };
	auto_finding struct finding kernel = { .v = { .t = TARGET_NONE } };
	auto_free uint64_t *bytes = NULL;
	char gcore_path[CORE_PATH_BYTES], path[CORE_PATH_BYTES];
	bool has_gcore, has_kernel;

	if (!ok(target_open(&live.v.t, c->pid, &live.v.e) == 0, "a child %s", live.v.e.msg))
		return;
	wait_all_asleep(&live.v.t, c->said);
	find(&live);
	bytes = calloc(live.v.p.maps.nr, sizeof *bytes);
	if (!live.is_found || !bytes || !count_pages(&live, bytes))
		return (void)skip("core files are compared", "this kernel has no PAGEMAP_SCAN");
	is_u64(live.v.p.arenas.nr, NR_THREADS + 1, "it has an arena for each thread");

	has_gcore = core_by_gcore(c->pid, dir, gcore_path);
	if (!has_gcore)
		skip("gcore's is as the process", "there is no gcore");
	else if (open_core(&gcore, gcore_path, NULL))
		same(&live, &gcore, bytes, false, true);
	has_kernel = strstr(c->said, "no core") == NULL;
	if (!has_kernel)
		return skip("the kernel's is as the process", "it writes core files elsewhere");
	if (!ok(core_by_kernel(c->pid, kernel_dir, path),
		    "it ends, and the kernel writes a core file"))
		return;
	c->pid = 0;
	if (open_core(&kernel, path, NULL))
		same(&live, &kernel, bytes, true, true);
	if (gcore.is_found && kernel.is_found)
		same_memory(&gcore, &kernel);
	test_without_files(&live, path);
}

int
main(void)
{
	char dir[] = "/tmp/memdiag-core.XXXXXX", kernel_dir[PATH_MAX], command[PATH_MAX];
	struct child c;

	if (skip_if_sanitized("core files are as the process"))
		return tap_end();
	if (!mkdtemp(dir))
		abort();
	snprintf(kernel_dir, sizeof kernel_dir, "%s/kernel", dir);
	mkdir(kernel_dir, 0700);
	c = child_start(run, kernel_dir);
	if (ok(c.is_ready, "a child is ready"))
		test(&c, dir, kernel_dir);
	if (c.pid)
		child_end(&c);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command) != 0 || tap_end();
}
