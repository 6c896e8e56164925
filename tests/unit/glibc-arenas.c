/*
 * The arenas of a child that says how many there are, against its own malloc_info().
 */
#include <config.h>

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "elf/image.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "glibc/arena-heaps.h"
#include "glibc/arena-threads.h"
#include "glibc/arenas.h"
#include "glibc/threads.h"
#include "heap/malloc-info.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/ptrace.h"
#include "fake-malloc.h"
#include "tap.h"

#define NR_THREADS 20
#define BLOCK_BYTES 100000 /* below the threshold of mmap */

/* Look for the arenas anew. */
static int
view_arenas(struct view *v, struct arenas *a)
{
	int status;

	arenas_release(a);
	status = arenas_find(a, &v->t, &v->p.maps, &v->p.objects, NULL, &v->e);
	if (status < 0)
		printf("# %s\n", v->e.msg);
	return status;
}

/* ---- against malloc_info ---- */

/*
 * It lies nearer to struct pthread than libc's own pointer to the arena, and holds an arena, too,
 * but only in one thread.
 */
static __thread volatile uintptr_t decoy = 1;
static pthread_barrier_t barrier;
static sem_t has_arena;
static void *volatile kept[4000];

/* The arena of a block near the start of its heap: the first word of a heap points there. */
static uintptr_t
arena_of_block(uintptr_t block)
{
	return *(uintptr_t *)(block & ~((UINT64_C(8) << 20) - 1));
}

static void *
use_arena(void *arg)
{
	void *volatile p = malloc(1000); /* volatile: or the compiler does without */

	if (arg == kept)
		sem_post(&has_arena);
	pthread_barrier_wait(&barrier); /* all have their arena */
	if (arg == kept)
		for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
			kept[i] = malloc(BLOCK_BYTES);
	if (arg)
		printf("thread %d %p\n", gettid(), p);
	pthread_barrier_wait(&barrier);
	while (arg)
		pause();
	return NULL;
}

/*
 * NR_THREADS threads with an arena each, one of them with several heaps.  Its arena is the first,
 * so the last in the ring, which begins with the newest.  One thread ends.
 */
static void
many_arenas(void *arg)
{
	pthread_t thread[NR_THREADS];

	mallopt(M_ARENA_MAX, NR_THREADS + 1);
	mallopt(M_MMAP_THRESHOLD, 2 * BLOCK_BYTES);
	pthread_barrier_init(&barrier, NULL, NR_THREADS + 1);
	sem_init(&has_arena, 0, 0);
	(void)arg;
	pthread_create(&thread[0], NULL, use_arena, (void *)kept);
	sem_wait(&has_arena);
	for (int i = 1; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, use_arena, i == 7 ? NULL : thread);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	pthread_join(thread[7], NULL);
	decoy = arena_of_block((uintptr_t)kept[0]);
	malloc_info(0, stdout);
	child_ready();
}

static void
same_as_malloc_info(const struct arenas *a, const char *xml)
{
	auto_malloc_info struct malloc_info mi = { 0 };
	bool same_heaps = true, same_size = true;
	size_t most = 0;
	struct err e;

	ok(malloc_info_parse(&mi, xml, strlen(xml), &e) == 0, "malloc_info can be read");
	is_u64(mi.heap.nr, NR_THREADS + 1, "malloc_info lists an arena for each thread");
	if (!is_u64(a->nr, mi.heap.nr, "and so do we"))
		return;
	for (size_t i = 1; i < a->nr; i++) {
		uint64_t size = 0;

		for (size_t j = 0; j < a->v[i].nr_heaps; j++)
			size += a->v[i].heap[j].size_bytes;
		same_heaps &= a->v[i].nr_heaps == mi.heap.v[i].nr_subheaps;
		same_size &= size == mi.heap.v[i].aspace_bytes;
		most = most < a->v[i].nr_heaps ? a->v[i].nr_heaps : most;
	}
	ok(same_heaps, "as many heaps in each, in malloc_info's order");
	ok(most > 5, "one has several (%zu)", most);
	ok(same_size, "of malloc_info's sizes");
}

static bool
holds(const struct arena *a, uint64_t addr)
{
	for (size_t i = 0; i < a->nr_heaps; i++)
		if (raddr_in((raddr){ addr }, a->heap[i].start,
			    raddr_add(a->heap[i].start, a->heap[i].size_bytes)))
			return true;
	return false;
}

static const struct arena *
arena_of(const struct arenas *a, pid_t tid)
{
	for (size_t i = 0; i < a->nr; i++)
		for (size_t j = 0; j < a->v[i].nr_tids; j++)
			if (a->v[i].tid[j] == tid)
				return &a->v[i];
	return NULL;
}

static void
wait_all_paused(const struct target *t, const char *said)
{
	int tid;

	for (; (said = strstr(said, "thread ")); said++)
		if (sscanf(said, "thread %d", &tid) == 1)
			view_wait_paused(t, tid);
}

/* Each "thread TID BLOCK" that the child said: the block lies in the arena of the thread. */
static void
same_threads(struct arenas *a, const struct target *t, const char *said)
{
	auto_threads struct threads threads = { 0 };
	size_t nr = 0, nr_right = 0, nr_right_alone = 0;
	uint64_t block;
	struct err e;
	int tid;

	ok(threads_list(&threads, t, SIZE_MAX, &e) == 0 &&
			arenas_find_threads(a, t, &threads, &e) == 0,
		"the threads are found");
	for (; (said = strstr(said, "thread ")); said++) {
		const struct arena *used;

		if (sscanf(said, "thread %d %" SCNx64, &tid, &block) != 2)
			continue;
		nr++;
		used = arena_of(a, tid);
		nr_right += used && holds(used, block);
		nr_right_alone += used && arenas_of_thread(a, t, tid).v == used->addr.v;
	}
	is_u64(nr, NR_THREADS - 1, "all threads but one are left");
	is_u64(nr_right, nr, "each has its arena");
	is_u64(nr_right_alone, nr, "asked alone, too");
	ok(a->nr && a->v[0].nr_tids == 1 && a->v[0].tid[0] == t->pid,
		"the main thread has the main arena");
	is_u64(arenas_of_thread(a, t, 0x7ffffff0).v, 0, "a thread that is not there has none");
}

/* ---- damage ---- */

static uint64_t
peek(struct view *v, uint64_t at)
{
	uint64_t word = 0;

	if (os_read(&v->t, (raddr){ at }, &word, sizeof word, &v->e) < 0)
		ok(false, "%s", v->e.msg);
	return word;
}

static void
poke(struct view *v, uint64_t at, uint64_t word)
{
	if (!view_write(&v->t, (raddr){ at }, &word, sizeof word))
		ok(false, "%s", v->e.msg);
}

/* Where in the arena the first word from START to END is. */
static uint64_t
word_in_arena(struct view *v, const struct arena *a, uint64_t start, uint64_t end)
{
	for (uint64_t at = a->addr.v; at < a->addr.v + 0x900; at += sizeof at)
		if (peek(v, at) >= start && peek(v, at) < end)
			return at;
	ok(false, "the word is in the arena");
	return a->addr.v;
}

/* With WORD at AT only the first NR_KEPT arenas are found, and it is said that some may lack. */
static void
damaged(struct view *v, const struct arenas *whole, const char *what, uint64_t at, uint64_t word,
	size_t nr_kept)
{
	auto_arenas struct arenas a = { 0 };
	uint64_t before = peek(v, at);
	bool same = true;

	poke(v, at, word);
	if (ok(view_arenas(v, &a) == 0, "%s: arenas are found", what)) {
		ok(!a.is_ring_closed, "it is said that some may lack");
		is_u64(a.nr, nr_kept, "what can be trusted is kept");
		for (size_t i = 0; i < a.nr && i < whole->nr; i++)
			same &= a.v[i].addr.v == whole->v[i].addr.v &&
				a.v[i].nr_heaps <= whole->v[i].nr_heaps;
		ok(same, "nothing was invented");
	}
	poke(v, at, before);
}

static void
test_damaged_heaps(struct view *v, const struct arenas *a, const struct arena *big)
{
	size_t last = big->nr_heaps - 1, at = (size_t)(big - a->v);
	uint64_t first = big->heap[0].start.v, newest = big->heap[1].start.v;
	uint64_t oldest = big->heap[last].start.v;

	damaged(v, a, "a first heap of another arena", first, a->v[1].addr.v, at);
	damaged(v, a, "a first heap with one before it", first + 8, newest, at);
	damaged(v, a, "a first heap that is huge", first + 16, UINT64_C(1) << 40, at);
	damaged(v, a, "a first heap of nothing", first + 16, 0, at);
	damaged(v, a, "a heap of another arena", newest, a->v[1].addr.v, a->nr);
	damaged(v, a, "a heap of odd size", newest + 16, 0x1001, a->nr);
	damaged(v, a, "a heap larger than its mapping", newest + 16, 65 << 20, a->nr);
	damaged(v, a, "a heap mapped beyond its end", newest + 24, 65 << 20, a->nr);
	damaged(v, a, "a heap after itself", newest + 8, newest, a->nr);
	damaged(v, a, "a circle of heaps", oldest + 8, newest, a->nr);
	damaged(v, a, "a small circle of heaps", oldest + 8, oldest, a->nr);
	damaged(v, a, "a heap after none", newest + 8, 0, a->nr);
	damaged(v, a, "a heap after what is not mapped", newest + 8, UINT64_C(0x7000) << 32, a->nr);
	/* Something that looks like a heap, but lies where none can be. */
	for (int i = 0; i < 4; i++)
		poke(v, newest + 0x8000 + i * 8, peek(v, oldest + i * 8));
	damaged(v, a, "a heap after one within another", newest + 8, newest + 0x8000, a->nr);
	damaged(v, a, "a top that points nowhere",
		word_in_arena(v, big, newest, newest + (64 << 20)), 0x1230, a->nr);
}

static size_t
nr_heaps(const struct arenas *a, size_t first, size_t end)
{
	size_t sum = 0;

	for (size_t i = first; i < end; i++)
		sum += a->v[i].nr_heaps;
	return sum;
}

static uint64_t
heap_bytes(const struct arenas *a, size_t first, size_t end)
{
	uint64_t sum = 0;

	for (size_t i = first; i < end; i++)
		for (size_t j = 0; j < a->v[i].nr_heaps; j++)
			sum += a->v[i].heap[j].size_bytes;
	return sum;
}

/* So many heaps belong to none of the arenas that are found now. */
static void
strays(struct view *v, size_t nr, uint64_t bytes, const char *what)
{
	auto_arenas struct arenas a = { 0 };
	auto_pages struct os_pages *pages = NULL;
	struct stray_heaps s = { 0 };
	uint64_t present = view_present_bytes(v);

	view_arenas(v, &a);
	if (ok(os_pages_open(&pages, &v->t, OS_PAGES_AUTO, &v->e) == 0, "pages can be read"))
		arenas_find_strays(&a, &v->t, &v->p.maps, pages, &s);
	is_u64(s.nr, nr, what);
	is_u64(s.bytes, bytes, "and their bytes");
	is_u64(view_present_bytes(v), present, "looking made no page present");
}

static void
test_damaged_ring(struct view *v, const struct arenas *a)
{
	uint64_t next = word_in_arena(v, &a->v[10], a->v[11].addr.v, a->v[11].addr.v + 1);
	uint64_t main_next = word_in_arena(v, &a->v[0], a->v[1].addr.v, a->v[1].addr.v + 1);
	auto_arenas struct arenas none = { 0 };

	damaged(v, a, "a ring that turns back early", next, a->v[5].addr.v, 11);
	damaged(v, a, "an arena before itself", next, a->v[10].addr.v, 11);
	damaged(v, a, "a ring that ends", next, 0, 11);
	damaged(v, a, "a ring into nowhere", next, UINT64_C(0x4141414141414141), 11);
	damaged(v, a, "a ring into what is not mapped", next, (UINT64_C(0x7000) << 32) + 0x30, 11);
	damaged(v, a, "an arena that is not where its heap says", next,
		a->v[6].heap[0].start.v + 0x20, 11);
	strays(v, 0, 0, "all is well");
	poke(v, next, 0);
	strays(v, nr_heaps(a, 11, a->nr), heap_bytes(a, 11, a->nr), "a ring that ends");
	poke(v, next, a->v[11].addr.v);
	poke(v, main_next, a->v[8].addr.v);
	strays(v, nr_heaps(a, 1, 8), heap_bytes(a, 1, 8), "a ring that leaves out some");
	poke(v, main_next, 0x30);
	ok(view_arenas(v, &none) < 0 && v->e.kind == ERR_UNSUPPORTED && !none.v,
		"a ring that never begins: nothing is found");
	poke(v, main_next, a->v[1].addr.v);
}

/* Bins come and go: some may be in the middle of it, but not all. */
static void
test_busy_bins(struct view *v, const struct arenas *a)
{
	uint64_t next = word_in_arena(v, &a->v[0], a->v[1].addr.v, a->v[1].addr.v + 1);
	uint64_t bins = next - 16 - 127 * 16;
	auto_arenas struct arenas found = { 0 };
	char before[40 * 16];

	os_read(&v->t, (raddr){ bins }, before, sizeof before, &v->e);
	for (size_t i = 40; i-- > 20;)
		poke(v, bins + i * 16, 1);
	ok(view_arenas(v, &found) == 0 && found.nr == a->nr,
		"20 bins in use do not hide the arena");
	for (size_t i = 20; i-- > 0;)
		poke(v, bins + i * 16, 1);
	ok(view_arenas(v, &found) < 0 && v->e.kind == ERR_UNSUPPORTED, "with 40 it is no arena");
	view_write(&v->t, (raddr){ bins }, before, sizeof before);
}

static void
test_damage(void)
{
	struct child c = child_start(many_arenas, NULL);
	auto_arenas struct arenas a = { 0 }, again = { 0 };
	const struct arena *big = NULL;
	struct view v;

	if (!view_take(&v, c.pid) || !ok(view_arenas(&v, &a) == 0, "damage: all is well before"))
		return;
	for (size_t i = 0; i < a.nr; i++)
		if (a.v[i].nr_heaps > 5)
			big = &a.v[i];
	if (!ok(big && a.nr == NR_THREADS + 1, "there is an arena of several heaps"))
		return;
	test_damaged_heaps(&v, &a, big);
	test_damaged_ring(&v, &a);
	test_busy_bins(&v, &a);
	ok(view_arenas(&v, &again) == 0 && again.is_ring_closed && again.nr == a.nr,
		"all is well after");
	view_release(&v);
	ok(child_end(&c), "damage: the child lives on");
}

/* Found again from what KNOWN says, they are what they are without it, which is A. */
static void
found_again(const struct view *v, const struct arenas *a, const struct arenas *known)
{
	auto_arenas struct arenas again = { 0 };
	size_t nr_same = 0;
	struct err e = { 0 };

	if (!ok(arenas_find(&again, &v->t, &v->p.maps, &v->p.objects, known, &e) == 0 &&
			    again.is_ring_closed,
		    "they are found again %s", e.msg))
		return;
	for (size_t i = 0; i < a->nr && again.nr == a->nr; i++)
		nr_same += again.v[i].addr.v == a->v[i].addr.v &&
			again.v[i].nr_heaps == a->v[i].nr_heaps;
	is_u64(nr_same, a->nr, "  and are the same");
	is_u64((uint64_t)again.tls_offset_bytes, (uint64_t)a->tls_offset_bytes,
		"  threads point to them from the same place");
}

/* Read again they are the same; but when there is no time, only the main arena. */
static void
read_again(const struct view *v, const struct arenas *a)
{
	auto_arenas struct arenas again = { 0 }, late = { 0 };
	size_t nr_same = 0;
	struct err e = { 0 };

	ok(arenas_read_again(&again, &v->t, &v->p.maps, a, 0, &e) == 0 && again.is_ring_closed,
		"they are read again %s", e.msg);
	for (size_t i = 0; i < a->nr && again.nr == a->nr; i++)
		nr_same += again.v[i].addr.v == a->v[i].addr.v &&
			again.v[i].nr_heaps == a->v[i].nr_heaps;
	is_u64(nr_same, a->nr, "  and are the same");
	ok(arenas_read_again(&late, &v->t, &v->p.maps, a, os_now_ns(), &e) == 0 &&
			!late.is_ring_closed && late.nr == 1 && late.v[0].is_main &&
			late.v[0].addr.v == a->v[0].addr.v,
		"  but not when it is too late %s", e.msg);
}

/* The arenas found before are right, old or wrong. */
static void
found_again_from_anything(const struct view *v, const struct arenas *a)
{
	struct arena main_arena = a->v[0], elsewhere = { .addr = { 0x1000 } };
	struct arenas old = { .v = &main_arena, .nr = 1 }, wrong = { .v = &elsewhere, .nr = 1 };
	struct arenas none = { 0 };

	read_again(v, a);
	found_again(v, a, a);
	found_again(v, a, &old);
	found_again(v, a, &wrong);
	found_again(v, a, &none);
}

static void
test_many_arenas(void)
{
	struct child c = child_start(many_arenas, NULL);
	const char *xml = strstr(c.said, "<malloc");
	auto_arenas struct arenas a = { 0 };
	uint64_t present = 0;
	struct view v;

	if (view_take(&v, c.pid)) {
		wait_all_paused(&v.t, c.said);
		present = view_present_bytes(&v);
	}
	if (ok(view_arenas(&v, &a) == 0, "many arenas: found")) {
		ok(a.is_ring_closed, "the ring is closed");
		is_u64(a.heap_max_bytes, 64 << 20, "heaps are of 64 MiB");
		same_as_malloc_info(&a, xml ? xml : "");
		found_again_from_anything(&v, &a);
		same_threads(&a, &v.t, c.said);
		is_u64(view_present_bytes(&v), present, "looking made no page present");
	}
	view_release(&v);
	ok(child_end(&c), "many arenas: the child lives on");
}

/* ---- other layouts, made by hand ---- */

static int
see_next(raddr at, raddr to, void *arg)
{
	const raddr *main_arena = arg;

	return to.v == main_arena[0].v && at.v == main_arena[1].v;
}

/* Whether main_arena.next is initialised to &main_arena. */
static int
nr_initialised(const struct fake *f, const struct fake_child *fc)
{
	raddr main_arena[2] = { { fc->main_arena }, { fc->main_arena + fake_next_offset(f) } };

	return image_each_pointer(fc->libc.image, see_next, main_arena);
}

static void
same_as_fake(const struct fake *f, const struct arenas *a, const struct fake_child *fc)
{
	is_u64(a->heap_max_bytes, f->heap_max_bytes, "its heaps are as large as they may be");
	is_u64(nr_initialised(f, fc), !image_is_from_memory(fc->libc.image),
		"the file tells where it begins");
	is_u64(a->word_bytes, f->word_bytes, "its words, too");
	is_u64(a->bins_offset, f->bins_offset, "its bins are where they are");
	if (!ok(a->is_ring_closed && a->nr == (f->is_alone ? 1 : 3), "all arenas are in a ring"))
		return;
	is_u64(a->v[0].addr.v, fc->main_arena, "the main arena");
	if (f->is_alone)
		return;
	is_u64(a->v[1].addr.v, fc->two, "then the one after it");
	is_u64(a->v[2].addr.v, fc->one, "then the last");
	is_u64(a->v[0].nr_heaps, 0, "the main arena has no heap");
	is_u64(a->v[1].nr_heaps, 2, "the second has two");
	is_u64(a->v[2].nr_heaps, 1, "the third has one");
	is_u64(a->v[1].heap[1].start.v, fc->two - f->heap_info_bytes + f->heap_max_bytes,
		"the heaps are where they are");
	is_u64(a->v[1].heap[1].mapped_bytes, f->heap_bytes, "and of their size");
}

static void
test_fake(const struct fake *f, bool has_file)
{
	auto_arenas struct arenas a = { 0 };
	struct fake_child fc;

	if (fake_start(&fc, f, has_file)) {
		struct objects fake = { .v = &fc.libc, .nr = 1 };

		if (ok(arenas_find(&a, &fc.v.t, &fc.v.p.maps, &fake, NULL, &fc.v.e) == 0,
			    "arenas %s", fc.v.e.msg))
			same_as_fake(f, &a, &fc);
	}
	fake_end(&fc);
}

/* ---- two libcs ---- */

/* A second libc that has its own malloc; the program goes on with the first. */
static void
load_second_libc(void *arg)
{
	void *second = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	void *(*second_malloc)(size_t) = second ? dlsym(second, "malloc") : NULL;

	(void)arg;
	if (!second_malloc || !second_malloc(1000))
		abort();
	child_ready();
}

static void
test_two_libcs(void)
{
	struct child c = child_start(load_second_libc, NULL);
	auto_arenas struct arenas a = { 0 };
	struct image_symbol s = { 0 };
	const struct object *serves;
	size_t nr_libcs = 0;
	struct view v;

	if (!view_take(&v, c.pid))
		return;
	for (size_t i = 0; i < v.p.objects.nr; i++)
		nr_libcs += v.p.objects.v[i].is_libc;
	is_u64(nr_libcs, 2, "two libcs: both are there");
	serves = objects_malloc(&v.p.objects, &v.t);
	/* A fork has the addresses of its parent. */
	ok(serves && image_find(serves->image, "malloc_info", &s) == 0 &&
			s.addr.v == (uintptr_t)malloc_info,
		"the first serves the program");
	ok(view_arenas(&v, &a) == 0 && serves && objects_at(&v.p.objects, a.v[0].addr) == serves,
		"and has the main arena");
	view_release(&v);
	ok(child_end(&c), "two libcs: the child lives on");
}

/* ---- other programs ---- */

static void
execute(void *arg)
{
	char *const *command = arg;

	execvp(command[0], command);
}

/* Whether it could be started; says so if not. */
static bool
started(const struct child *c, const char *name)
{
	if (c->is_ready)
		return true;
	ok(true, "%s # SKIP it is not here", name);
	fclose(c->in);
	return false;
}

static bool
has_robust_list(pid_t pid)
{
	void *head = NULL;
	size_t size;

	return syscall(SYS_get_robust_list, pid, &head, &size) == 0 && head;
}

static void
test_program(const char **command, unsigned int word_bytes)
{
	struct child c = child_start(execute, command);
	auto_arenas struct arenas a = { 0 };
	auto_threads struct threads threads = { 0 };
	struct view v;

	if (!started(&c, command[0]))
		return;
	if (view_take(&v, c.pid) &&
		ok(view_arenas(&v, &a) == 0, "%s: arenas are found", *command)) {
		ok(a.is_ring_closed, "the ring is closed");
		is_u64(a.word_bytes, word_bytes, "its words are as wide as they are");
		ok(threads_list(&threads, &v.t, SIZE_MAX, &v.e) == 0 &&
				arenas_find_threads(&a, &v.t, &threads, &v.e) == 0,
			"its threads are looked at");
		/*
		 * By its list of robust mutexes.  The kernel tells of that of a 32-bit thread to
		 * nobody of 64 bits; and before 2.34 a program without libpthread has none
		 * (nptl/nptl-init.c).
		 */
		is_u64(a.v[0].nr_tids, word_bytes == 8 && has_robust_list(c.pid),
			"the main thread has the main arena");
	}
	view_release(&v);
	ok(child_end(&c), "%s lives on", *command);
}

static void
test_foreign(const char **command)
{
	struct child c = child_start(execute, command);
	auto_arenas struct arenas a = { 0 };
	struct view v;

	if (!started(&c, command[0]))
		return;
	if (view_take(&v, c.pid))
		ok(view_arenas(&v, &a) < 0 && v.e.kind == ERR_UNSUPPORTED && !a.v,
			"%s: has no arenas of glibc's", *command);
	view_release(&v);
	ok(child_end(&c), "%s lives on", *command);
}

/* The very test in a process where malloc was set to use huge pages: its heaps are smaller. */
static void
test_small_heaps(void)
{
	const char *command[] = { "/proc/self/exe", "many", NULL };
	struct child c;
	auto_arenas struct arenas a = { 0 };
	struct view v;

	setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=2", 1);
	c = child_start(execute, command);
	unsetenv("GLIBC_TUNABLES");
	if (view_take(&v, c.pid) && ok(view_arenas(&v, &a) == 0, "hugetlb=2: arenas are found")) {
		ok(a.is_ring_closed, "the ring is closed");
		same_as_malloc_info(&a, strstr(c.said, "<malloc"));
	}
	view_release(&v);
	ok(child_end(&c), "hugetlb=2: the child lives on");
}

static void
test_programs(void)
{
	const char *python[] = { "python3", "-c",
		"import threading, sys\n"
		"threading.Thread(target=sys.stdin.read).start()\n"
		"print('ready', flush=True)",
		NULL };
	const char *bash[] = { "bash", "-c", "echo ready; read || :", NULL };
	char i386[4096], fixed[4096], musl[4096];
	const char *dir = getenv("top_builddir");
	const char *idle_i386[] = { i386, "3", NULL }, *idle_static[] = { fixed, "3", NULL };
	const char *idle_musl[] = { musl, NULL };

	snprintf(i386, sizeof i386, "%s/tests/tracees/idle-i386", dir ? dir : ".");
	snprintf(fixed, sizeof fixed, "%s/tests/tracees/idle-static", dir ? dir : ".");
	snprintf(musl, sizeof musl, "%s/tests/tracees/idle-musl", dir ? dir : ".");
	test_program(python, 8);
	test_program(bash, 8);
	test_program(idle_i386, 4);
	test_program(idle_static, 8);
	test_foreign(idle_musl);
}

int
main(int argc, char **argv)
{
	alarm(300);
	if (argc > 1 && strcmp(argv[1], "many") == 0) {
		many_arenas(NULL);
		return 0;
	}
	for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++) {
		test_fake(&fakes[i], false);
		test_fake(&fakes[i], true);
	}
	if (skip_if_sanitized("the arenas of real programs"))
		return tap_end();
	test_many_arenas();
	test_damage();
	test_small_heaps();
	test_two_libcs();
	test_programs();
	return tap_end();
}
