/*
 * places: the place of each thread's counters in the segment.  A place keeps its counters when its
 * thread has ended, and a later thread adds to them.
 */
#include <config.h>

#include "agent/base/places.h"

#include <errno.h>

#include "agent/base/segment.h"
#include "agent/base/state.h"
#include "agent/base/thread.h"

void
place_init(void)
{
	segment->nr_threads = 1;
	thread_find_id();
}

/* Stands for the number of a thread while a thread takes the place; no thread has this number. */
#define TID_TAKEN UINT32_MAX

/* Give the place T of thread WAS to thread TID.  False if another thread took the place first. */
static bool
places_move_in(struct wire_thread *t, uint32_t was, uint32_t tid, uint64_t stack)
{
	if (was == TID_TAKEN ||
		!__atomic_compare_exchange_n(
			&t->tid, &was, TID_TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	t->stack = stack;
	t->is_busy = 0;
	t->is_inside = 0;
	t->is_refused = 0;
	t->first_bytes = t->live_bytes;
	__atomic_store_n(&t->tid, tid, __ATOMIC_RELEASE);
	return true;
}

static bool
places_has_ended(uint32_t tid)
{
	return sys_call(SYS_tgkill, segment->pid, tid, 0) == -ESRCH;
}

static uint32_t
tid_of(const struct wire_thread *t)
{
	return __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE);
}

/* A place that was never used; NULL if no such place is left. */
static struct wire_thread *
new_place(uint32_t tid, uint64_t stack)
{
	uint32_t nr = __atomic_load_n(&segment->nr_threads, __ATOMIC_RELAXED);
	struct wire_thread *t;

	do {
		if (nr == segment->max_threads)
			return NULL;
	} while (!__atomic_compare_exchange_n(
		&segment->nr_threads, &nr, nr + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	t = &wire_threads(segment)[nr];
	return places_move_in(t, 0, tid, stack) ? t : NULL;
}

/*
 * True if calls are sampled or recorded.  Each place then needs 185 KiB for the data of its thread.
 */
static bool
is_noting(void)
{
	return segment->noting != WIRE_NOTE_NOTHING;
}

/* True if T's thread has ended inside a hook: nothing more is recorded at T. */
static bool
was_left_inside(const struct wire_thread *t)
{
	return t->is_inside && is_noting() && segment->nr_threads < segment->max_threads;
}

/*
 * Take the place of an earlier thread on the same stack, which must have ended.  This needs no
 * system call, which a filter might not allow, and most threads run on the stack of an earlier one.
 */
static struct wire_thread *
place_of_stack(uint32_t tid, uint64_t stack)
{
	struct wire_thread *t = wire_threads(segment);
	const uint32_t nr = segment->nr_threads;

	for (uint32_t i = 1; i < nr; i++) {
		const uint32_t of = tid_of(&t[i]); /* first, since a new thread writes it last */

		if (of && t[i].stack == stack && !was_left_inside(&t[i]) &&
			places_move_in(&t[i], of, tid, stack))
			return &t[i];
	}
	return NULL;
}

/*
 * Take a place whose thread has ended, from the next TRIES places after the last search.  NULL if
 * none of them is free.
 */
static struct wire_thread *
left_place(uint32_t tid, uint64_t stack, uint32_t tries)
{
	static uint32_t last;
	struct wire_thread *t = wire_threads(segment);
	uint32_t nr = segment->nr_threads, at = last, of;

	for (uint32_t i = 0; i < tries; i++) {
		at = at + 1 < nr ? at + 1 : 1;
		last = at;
		of = tid_of(&t[at]);
		/* The kernel reuses a thread's number only after that thread has ended. */
		if (of && of != TID_TAKEN && (of == tid || places_has_ended(of)) &&
			places_move_in(&t[at], of, tid, stack))
			return &t[at];
	}
	return NULL;
}

/*
 * In a static program, a thread that has ended leaves its thread-local words to the next thread on
 * the same stack (load_place() in memdiag's load/), so only that thread may take its place.  Two
 * live threads never have the same robust list.
 */
static struct wire_thread *
place_of_list(uint32_t tid)
{
	struct wire_thread *t = wire_threads(segment);
	const uint32_t nr = segment->nr_threads;
	uint64_t list = 0, size;

	sys_call(SYS_get_robust_list, 0, &list, &size);
	if (!list)
		return NULL;
	for (uint32_t i = 1; i < nr; i++)
		if (t[i].robust_list == list && places_move_in(&t[i], tid_of(&t[i]), tid, 0))
			return &t[i];
	t = new_place(tid, 0);
	if (t)
		t->robust_list = list;
	return t;
}

/*
 * The first hundred threads get separate places, so that the bytes that each one has left allocated
 * are shown.
 */
#define PLACES_AT_ONCE 100
/*
 * While calls are sampled or recorded, a thread first tries the place of a thread on the same
 * stack.  After this many places it takes any free place.
 */
#define NOTED_PLACES_AT_ONCE 16
/* Number of threads that the kernel is asked about while unused places remain. */
#define LOOKS_AT_ONCE 32

static struct wire_thread *
place_of_thread(uint32_t tid, uint64_t stack)
{
	const uint32_t nr = segment->nr_threads;
	const bool is_full = nr == segment->max_threads;
	const bool are_many = nr > (is_noting() ? NOTED_PLACES_AT_ONCE : PLACES_AT_ONCE) || is_full;
	struct wire_thread *t = NULL;

	if (are_many || is_noting())
		t = place_of_stack(tid, stack);
	if (!t && are_many)
		t = left_place(tid, stack, is_full ? nr : LOOKS_AT_ONCE);
	return t ? t : new_place(tid, stack);
}

struct wire_thread *
place_register(void)
{
	const uint32_t tid = thread_id();

	return agent_is_static ? place_of_list(tid) : place_of_thread(tid, thread_stack());
}
