/*
 * The arena that each thread uses.  glibc keeps the pointer in thread-local storage (thread_arena,
 * malloc/arena.c), where it has no symbol, and no release fixes its place.  But the kernel shows
 * where a thread's robust futex list begins: in its struct pthread, next to the thread-local
 * storage; the distance from there to the pointer is the same in all threads:
 *
 *	+-- static TLS of all objects -------------+-- struct pthread -----------------------+
 *	| ...  thread_arena  ...                   | tcb, dtv ...  robust_head ...           |
 *	+------------------------------------------+-----------------------------------------+
 *	          ^                                                ^
 *	          +------------- tls_offset_bytes -----------------+  get_robust_list(2)
 *
 * That is x86's order; where TLS is on the other side (arm64) the arenas of threads stay unknown.
 */
#include <config.h>

#include "glibc/arena-threads.h"

#include "base/cleanup.h"
#include "base/debug.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "glibc/arena-heaps-priv.h"
#include "glibc/arena-threads-priv.h"
#include "glibc/threads.h"
#include "os/memory.h"

#include <errno.h>
#include <stdlib.h>

/* At least the distance from the start of struct pthread to robust_head, 0x2e0 on x86-64. */
#define PTHREAD_BYTES 0x400
/* An object with more TLS than this has a damaged header. */
#define TLS_MAX_BYTES (UINT64_C(1) << 20)
#define WORDS_AT_ONCE 64
#define NR_SAMPLES 16

/*
 * Copy the SIZE bytes at OFFSET from the head of each of THREADS; zeroes if a thread has no head.
 */
static int
read_behind(const struct target *t, const struct threads *threads, int64_t offset, size_t size,
	void *to, struct err *e)
{
	auto_free raddr *from = calloc(threads->nr, sizeof *from);

	if (!from)
		return err_set(e, ENOMEM, "cannot list the threads' arenas");
	for (size_t i = 0; i < threads->nr; i++)
		if (threads->v[i].head.v)
			from[i] = raddr_add(threads->v[i].head, (uint64_t)offset);
	return os_read_each(t, from, threads->nr, size, to, e);
}

/* Return the words at OFFSET from the head of each of THREADS; 0 if a thread has no head. */
static uint64_t *
arena_threads_words_at(
	const struct target *t, const struct threads *threads, int64_t offset, struct err *e)
{
	auto_free uint64_t *words = calloc(threads->nr, sizeof *words);

	if (!words) {
		err_set(e, ENOMEM, "cannot list the threads' arenas");
		return NULL;
	}
	if (read_behind(t, threads, offset, sizeof *words, words, e) < 0)
		return NULL;
	return take_ptr(&words);
}

/*
 * Return whether nearly all threads have an arena or NULL at OFFSET; a thread made by a raw clone()
 * has other TLS.
 */
static bool
threads_agree(const struct arenas *a, const struct target *t, const struct threads *threads,
	int64_t offset)
{
	struct err e;
	auto_free uint64_t *words = arena_threads_words_at(t, threads, offset, &e);
	size_t nr_bad = 0;

	if (!words)
		return false;
	for (size_t i = 0; i < threads->nr; i++)
		nr_bad += words[i] && !arena_at(a, (raddr){ words[i] });
	return nr_bad * 4 <= threads->nr;
}

/*
 * Search the DEPTH_BYTES before the I-th head for an arena's address, nearest first, so that no
 * page is read beyond the one that has it.  Returns its offset from the head, or 0.
 */
static int64_t
search_before(const struct arenas *a, const struct target *t, const struct threads *threads,
	size_t i, uint64_t depth_bytes)
{
	const raddr head = threads->v[i].head;
	uint64_t words[WORDS_AT_ONCE];
	uint64_t depth = 0;
	struct err e;

	while (head.v && depth < depth_bytes) {
		depth += sizeof words;
		if (os_read_present(t, (raddr){ head.v - depth }, words, sizeof words, &e) < 0)
			return 0;
		for (size_t w = WORDS_AT_ONCE; w-- > 0;) {
			int64_t offset = (int64_t)(w * sizeof *words) - (int64_t)depth;

			if (arena_at(a, (raddr){ words[w] }) &&
				threads_agree(a, t, threads, offset))
				return offset;
		}
	}
	return 0;
}

/* Return an upper bound of the static TLS of a thread. */
static uint64_t
tls_bytes(const struct objects *o)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < o->nr; i++)
		for (size_t j = 0; j < image_nr_phdrs(o->v[i].image); j++) {
			const Elf64_Phdr *p = image_phdr(o->v[i].image, j);

			if (p->p_type == PT_TLS && p->p_memsz < TLS_MAX_BYTES)
				sum += p->p_memsz + p->p_align % TLS_MAX_BYTES;
		}
	return sum < TLS_MAX_BYTES ? sum : TLS_MAX_BYTES;
}

void
arenas_learn_tls_offset(struct arenas *a, const struct target *t, const struct objects *o)
{
	auto_threads struct threads threads = { 0 };
	struct err e;

	if (threads_list(&threads, t, NR_SAMPLES, &e) < 0)
		return;
	for (size_t i = 0; i < threads.nr && !a->tls_offset_bytes; i++)
		a->tls_offset_bytes =
			search_before(a, t, &threads, i, PTHREAD_BYTES + tls_bytes(o));
	debug("a thread's arena is %" PRId64 " bytes from its robust list head",
		a->tls_offset_bytes);
}

static int
arena_threads_add_thread(struct arena *arena, pid_t tid, struct err *e)
{
	pid_t *bigger = reallocarray(arena->tid, arena->nr_tids + 1, sizeof *arena->tid);

	if (!bigger)
		return err_set(e, ENOMEM, "cannot list the threads of an arena");
	arena->tid = bigger;
	arena->tid[arena->nr_tids++] = tid;
	return 0;
}

int
arenas_find_threads(
	struct arenas *a, const struct target *t, const struct threads *threads, struct err *e)
{
	auto_free uint64_t *words = NULL;

	if (!a->tls_offset_bytes)
		return 0;
	words = arena_threads_words_at(t, threads, a->tls_offset_bytes, e);
	if (!words)
		return -1;
	for (size_t i = 0; i < threads->nr; i++) {
		struct arena *arena = arena_at(a, (raddr){ words[i] });

		if (arena && arena_threads_add_thread(arena, threads->v[i].tid, e) < 0)
			return -1;
	}
	return 0;
}

raddr
arenas_slot_of_thread(const struct arenas *a, const struct target *t, pid_t tid)
{
	raddr head = a->tls_offset_bytes ? thread_robust_head(t, tid) : (raddr){ 0 };

	if (!head.v)
		return (raddr){ 0 };
	return raddr_add(head, (uint64_t)a->tls_offset_bytes);
}

raddr
arenas_of_thread(const struct arenas *a, const struct target *t, pid_t tid)
{
	raddr slot = arenas_slot_of_thread(a, t, tid), found = { 0 };
	struct err e;

	if (!slot.v || os_read_present(t, slot, &found.v, sizeof found.v, &e) < 0 ||
		!arena_at(a, found))
		return (raddr){ 0 };
	return found;
}
