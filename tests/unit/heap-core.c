/*
 * The heaps in a core file are those that the process had: to the byte in the kernel's, with pages
 * known as far as possible in gcore's, and marked where a file was cut off.
 */
#include <config.h>

#include <elf.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "heap/xml.h"
#include "os/clock.h"
#include "os/core.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/status.h"
#include "child.h"
#include "core-of.h"
#include "tap.h"
#include "zero-page.h"

#define NR_THREADS 3
#define NR_BLOCKS 3000

/* ---- the child ---- */

static pthread_barrier_t barrier;

/* Blocks of all sizes, two of three freed again; and the last of them, which leaves a large top. */
static void *
use_malloc(void *arg)
{
	char *block[NR_BLOCKS];

	for (size_t i = 0; i < NR_BLOCKS; i++) {
		size_t size = (i * 7919 + (size_t)arg) % 9000;

		block[i] = malloc(size);
		memset(block[i], i % 5 ? 0x5a : 0, size); /* some are all zeroes */
	}
	for (size_t i = 0; i < NR_BLOCKS; i++)
		if (i % 3 || i > NR_BLOCKS / 2)
			free(block[i]);
	pthread_barrier_wait(&barrier);
	while (getpid() != gettid())
		pause();
	return NULL;
}

static void
run(void *dir)
{
	static char buffer[1 << 16];
	pthread_t thread;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	printf(core_allow(dir) ? "core\n" : "no core\n");
	pthread_barrier_init(&barrier, NULL, NR_THREADS);
	for (size_t i = 1; i < NR_THREADS; i++)
		pthread_create(&thread, NULL, use_malloc, (void *)i);
	use_malloc(NULL);
	malloc_info(0, stdout);
	child_ready();
}

/* ---- what is compared ---- */

static bool
is_same_sum(struct heap_sum a, struct heap_sum b)
{
	return a.count == b.count && a.bytes == b.bytes;
}

/* All but pages. */
static bool
has_same_chunks(const struct heap_arena *a, const struct heap_arena *b)
{
	return a->addr.v == b->addr.v && a->attached == b->attached &&
		a->system_bytes == b->system_bytes && a->top.addr.v == b->top.addr.v &&
		a->top.bytes == b->top.bytes && is_same_sum(a->in_use, b->in_use) &&
		is_same_sum(a->cached, b->cached) && is_same_sum(a->fast, b->fast) &&
		is_same_sum(a->binned, b->binned) && a->overhead_bytes == b->overhead_bytes &&
		memcmp(a->used_size, b->used_size, sizeof a->used_size) == 0 &&
		memcmp(a->free_size, b->free_size, sizeof a->free_size) == 0 &&
		memcmp(a->largest, b->largest, sizeof a->largest) == 0;
}

static bool
has_same_pages(const struct heap_arena *a, const struct heap_arena *b)
{
	return a->has_pages && b->has_pages && a->resident_bytes == b->resident_bytes &&
		memcmp(a->page_bytes, b->page_bytes, sizeof a->page_bytes) == 0 &&
		a->live_resident_bytes == b->live_resident_bytes &&
		a->stranded_bytes == b->stranded_bytes && a->trim.rss_bytes == b->trim.rss_bytes;
}

static bool
has_fewer_pages(const struct heap_arena *live, const struct heap_arena *core)
{
	return core->has_pages && core->resident_bytes < live->resident_bytes &&
		core->resident_bytes > live->resident_bytes / 2;
}

static bool
has_same_threads(const struct heap *a, const struct heap *b)
{
	bool same = a->thread.nr == b->thread.nr && a->thread.nr == NR_THREADS;

	for (size_t i = 0; same && i < a->thread.nr; i++)
		same = a->thread.v[i].tid == b->thread.v[i].tid &&
			a->thread.v[i].arena.v == b->thread.v[i].arena.v &&
			is_same_sum(a->thread.v[i].cached, b->thread.v[i].cached);
	return same;
}

static bool
view_core(struct view *v, const char *path)
{
	*v = (struct view){ .t = TARGET_NONE };
	return ok(target_open_core(&v->t, path, NULL, &v->e) == 0 &&
			process_read(&v->p, &v->t, &v->e) == 0,
		"%s can be looked at %s", path, v->e.msg);
}

static bool
read_heap(struct heap *h, struct view *v)
{
	static const struct heap_options opt = { .max_stop_ns = 300000000000, .want_uss = true };

	return ok(heap_read(h, &v->p, &opt, &v->e) == 0, "its heaps can be read %s", v->e.msg);
}

static void
same(const struct heap *live, const struct heap *core, const char *said, bool by_kernel)
{
	size_t nr_chunks = 0, nr_pages = 0;
	auto_text struct text xml = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < live->arena.nr && i < core->arena.nr; i++) {
		const struct heap_arena *a = &live->arena.v[i], *b = &core->arena.v[i];

		nr_chunks += has_same_chunks(a, b);
		nr_pages += by_kernel ? has_same_pages(a, b) : has_fewer_pages(a, b);
	}
	is_u64(core->arena.nr, live->arena.nr, "as many arenas");
	is_u64(nr_chunks, live->arena.nr, "each with the same chunks");
	if (by_kernel && !kernel_has_zero_page())
		skip("on the same pages", "this kernel writes pages that were not there");
	else
		is_u64(nr_pages, live->arena.nr,
			by_kernel ? "on the same pages" : "on those pages that are not all zeroes");
	ok(has_same_threads(live, core), "threads cache the same");
	ok(core->certainty == HEAP_EXACT, "nothing is more certain than what cannot move");
	ok(core->is_resident_least == !by_kernel, "it is said when there may have been more pages");
	ok(core->nr_stops == 0 && !core->has_uss,
		"nothing was stopped, what was shared is not known");
	ok(heap_write_xml(core, &xml, &e) == 0 && strcmp(xml.v, strchr(said, '<')) == 0,
		"malloc_info would have said the same");
}

/* ---- cut off ---- */

/*
 * Have the segment that begins at START end the core file PATH, of which only the first KEPT_BYTES
 * are there.  Returns where the file ended before.
 */
static off_t
cut_segment(const char *path, raddr start, uint64_t kept_bytes, Elf64_Phdr *was, off_t *ret_at)
{
	auto_fd int fd = open(path, O_RDWR);
	auto_free char *data = malloc(kept_bytes);
	off_t end = lseek(fd, 0, SEEK_END), at = sizeof(Elf64_Ehdr);
	Elf64_Phdr p;

	while (pread(fd, &p, sizeof p, at) == sizeof p && p.p_vaddr != start.v)
		at += (off_t)sizeof p;
	*was = p;
	*ret_at = at;
	if (pread(fd, data, kept_bytes, (off_t)p.p_offset) != (ssize_t)kept_bytes ||
		pwrite(fd, data, kept_bytes, end) != (ssize_t)kept_bytes)
		abort();
	p.p_offset = (Elf64_Off)end;
	if (pwrite(fd, &p, sizeof p, at) != sizeof p)
		abort();
	return end;
}

static void
put_back(const char *path, off_t end, const Elf64_Phdr *was, off_t at)
{
	auto_fd int fd = open(path, O_RDWR);

	if (pwrite(fd, was, sizeof *was, at) != sizeof *was || ftruncate(fd, end) < 0)
		abort();
}

/* Arena I lies last in the core file PATH, and only a KEPT'th of it is there. */
static void
test_cut_arena(const struct heap *live, const char *path, size_t i, uint64_t kept)
{
	const struct heap_arena *cut = &live->arena.v[i];
	raddr start = { cut->addr.v & ~((UINT64_C(64) << 20) - 1) };
	uint64_t kept_bytes = cut->system_bytes / kept & ~UINT64_C(4095);
	auto_heap struct heap h = { 0 };
	struct os_core_facts facts;
	struct view v;
	Elf64_Phdr was;
	off_t at, end = cut_segment(path, start, kept_bytes, &was, &at);

	if (view_core(&v, path) && os_core_facts(&v.t, &facts) && read_heap(&h, &v) &&
		is_u64(h.arena.nr, live->arena.nr, "all arenas are seen")) {
		is_u64(facts.missing_bytes, was.p_filesz - kept_bytes,
			"it is said what is missing");
		for (size_t k = 0; k < h.arena.nr; k++)
			if (k == i)
				ok(h.arena.v[k].certainty == HEAP_APPROXIMATE,
					"the one that was cut is marked: %s", h.arena.v[k].why);
			else
				/* It is marked, too, if a thread's cache leads into the cut one. */
				ok(has_same_chunks(&h.arena.v[k], &live->arena.v[k]),
					"another is right");
		ok(h.certainty == HEAP_APPROXIMATE, "and so all of it");
	}
	view_release(&v);
	put_back(path, end, &was, at);
}

/* libc's memory lies high, so it is the first to be cut off: then no arena can be found. */
static void
test_cut(const char *path)
{
	auto_heap struct heap h = { 0 };
	struct stat st;
	struct view v;

	if (stat(path, &st) < 0 || truncate(path, st.st_size / 2) < 0)
		abort();
	if (view_core(&v, path))
		ok(heap_read(&h, &v.p, &(struct heap_options){ 0 }, &v.e) < 0 &&
				v.e.kind == ERR_UNSUPPORTED && strstr(v.e.msg, "cut off"),
			"half of it is of no use: %s", v.e.msg);
	view_release(&v);
}

/* ---- all of it ---- */

/* Nothing changes any more when the main thread reads and the others are in pause(). */
static void
wait_asleep(const struct target *t)
{
	auto_free pid_t *tids = NULL;
	struct os_syscall s = { .is_running = true };
	struct err e;
	size_t nr = 0;

	os_threads(t, NR_THREADS, &tids, &nr, &e);
	for (size_t i = 0; i < nr; i++)
		if (tids[i] != t->pid)
			view_wait_paused(t, tids[i]);
	while (os_thread_syscall(t, t->pid, &s, &e) == 0 && (s.is_running || s.nr != SYS_read))
		os_sleep_ns(100000);
}

static void
test_core(const struct heap *live, const char *said, const char *path, bool by_kernel)
{
	auto_heap struct heap h = { 0 };
	struct view v;

	if (view_core(&v, path) && read_heap(&h, &v))
		same(live, &h, said, by_kernel);
	view_release(&v);
}

static void
test(struct child *c, const char *dir, const char *kernel_dir)
{
	auto_heap struct heap live = { 0 };
	char path[CORE_PATH_BYTES];
	struct view v;

	if (!view_take(&v, c->pid))
		return;
	wait_asleep(&v.t);
	if (!read_heap(&live, &v))
		return;
	is_u64(live.arena.nr, NR_THREADS, "an arena for each thread");
	ok(!live.is_resident_least, "all pages of a process are known");
	view_release(&v);
	if (core_by_gcore(c->pid, dir, path))
		test_core(&live, strchr(c->said, '<'), path, false);
	else
		skip("gcore's is as the process", "there is no gcore");
	if (strstr(c->said, "no core"))
		return skip("the kernel's is as the process", "it writes core files elsewhere");
	if (!ok(core_by_kernel(c->pid, kernel_dir, path),
		    "it ends, and the kernel writes a core file"))
		return;
	c->pid = 0;
	test_core(&live, strchr(c->said, '<'), path, true);
	for (uint64_t kept = 2; kept < 30; kept *= 3)
		test_cut_arena(&live, path, 1, kept);
	test_cut_arena(&live, path, 2, 2);
	test_cut(path);
}

static void
run_filtered(void *dir)
{
	auto_fd int fd = open("/proc/self/coredump_filter", O_WRONLY);

	if (core_allow(dir) && write(fd, "0", 1) == 1)
		puts("core");
	child_ready();
}

/* A process whose memory the kernel was asked to leave out. */
static void
test_filtered(const char *dir)
{
	struct child c = child_start(run_filtered, (void *)(uintptr_t)dir);
	auto_heap struct heap h = { 0 };
	char path[CORE_PATH_BYTES];
	struct view v;

	if (!*c.said) {
		skip("a core file without memory", "the kernel writes core files elsewhere");
		child_end(&c);
		return;
	}
	if (!ok(core_by_kernel(c.pid, dir, path), "a core file without memory"))
		return;
	if (view_core(&v, path))
		ok(heap_read(&h, &v.p, &(struct heap_options){ 0 }, &v.e) < 0 &&
				v.e.kind == ERR_UNSUPPORTED && strstr(v.e.msg, "coredump_filter"),
			"is of no use: %s", v.e.msg);
	view_release(&v);
}

int
main(void)
{
	char dir[] = "/tmp/memdiag-core.XXXXXX", kernel_dir[PATH_MAX], command[PATH_MAX];
	struct child c;

	if (skip_if_sanitized("heaps in core files"))
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
	snprintf(kernel_dir, sizeof kernel_dir, "%s/filtered", dir);
	mkdir(kernel_dir, 0700);
	test_filtered(kernel_dir);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command) != 0 || tap_end();
}
