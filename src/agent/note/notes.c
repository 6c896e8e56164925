#include <config.h>

#include "agent/note/notes.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "agent/base/memory.h"
#include "agent/base/real.h"
#include "agent/base/sys.h"
#include "agent/note/mapset.h"
#include "agent/note/sampled.h"
#include "agent/note/shadow.h"
#include "agent/note/table.h"
#include "unwind/cache.h"

uint32_t notes_turn;
unsigned char *notes_of_all;
bool notes_are_closed;
bool notes_have_table;
void (*notes_after_note)(void);

/* ---- one event at a time ---- */

bool
notes_enter_shared(struct notes *n)
{
	uintptr_t nobody = 0;

	return __atomic_compare_exchange_n(
		&n->noter, &nobody, thread_stack(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void
notes_leave_slowly(void)
{
	void (*const begin_child)(void) = notes_after_note;

	notes_after_note = NULL;
	if (begin_child)
		begin_child();
}

void
notes_lose(uint64_t bytes)
{
	if (!sites_hold())
		return;
	__atomic_add_fetch(&sites->nr_lost, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sites->lost_bytes, bytes, __ATOMIC_RELAXED);
	log_drop(bytes);
	sites_let_go();
}

void
notes_miss(void)
{
	if (!sites_hold())
		return;
	__atomic_add_fetch(&sites->nr_missed, 1, __ATOMIC_RELAXED);
	/* The size of the block is unknown. */
	log_drop(0);
	sites_let_go();
}

/* ---- beginning ---- */

static int is_claimed;

bool
notes_claim(void)
{
	return !__atomic_exchange_n(&is_claimed, 1, __ATOMIC_ACQUIRE);
}

void
notes_unclaim(void)
{
	__atomic_store_n(&is_claimed, 0, __ATOMIC_RELEASE);
}

/* Only the first places have more, and only if addresses are not limited. */
#define MORE_PLACES 256
static struct stack_more *more_of_all;

static size_t
more_bytes(void)
{
	return (segment->max_threads < MORE_PLACES ? segment->max_threads : MORE_PLACES) *
		sizeof *more_of_all;
}

static void
make_more(void)
{
	if (more_of_all || segment_address_limit() != UINT64_MAX)
		return;
	more_of_all = memory_map(-1, 0, more_bytes());
	if (more_of_all)
		memory_note(WIRE_MEMORY_THREADS, more_of_all, more_bytes());
}

struct stack_more *
notes_more(const struct notes *n)
{
	const size_t i = (size_t)((const unsigned char *)n - notes_of_all) / NOTES_BYTES;

	return more_of_all && i < MORE_PLACES && i < segment->max_threads ? &more_of_all[i] : NULL;
}

static bool
make_notes(void)
{
	const size_t bytes = segment->max_threads * NOTES_BYTES;

	if (notes_of_all)
		return true;
	notes_of_all = memory_map(-1, 0, bytes);
	if (!notes_of_all)
		return false;
	memory_note(WIRE_MEMORY_THREADS, notes_of_all, bytes);
	make_more();
	memory_note(WIRE_MEMORY_LIVE_SET, sampled_filter, sizeof sampled_filter);
	return true;
}

/* Make each thread start again: immediately, unless it is just writing its countdown. */
static void
next_turn(void)
{
	struct wire_thread *t = wire_threads(segment);

	notes_turn++;
	for (uint32_t i = 0; i < segment->nr_threads; i++)
		t[i].countdown_bytes = 0;
}

static void
forget_blocks(void)
{
	sampled_forget();
	mapset_forget();
	shadow_forget();
	table_forget();
}

/* A thread records an event in a few microseconds, unless it gets no processor. */
#define LEAVE_TRIES 2000
#define LEAVE_PAUSE_NS 1000000

/*
 * Wait until no thread is recording.  False if one still is.  After the first pause, each thread
 * has seen that the notes are closed, or its mark is visible: no processor delays a store for that
 * long.
 */
static bool
wait_until_all_left(void)
{
	const struct timespec pause = { .tv_nsec = LEAVE_PAUSE_NS };
	uint32_t i = 0;

	for (int tries = 0; tries < LEAVE_TRIES; tries++) {
		sys_call(SYS_nanosleep, &pause, NULL);
		while (i < segment->nr_threads &&
			!__atomic_load_n(
				&notes_of(wire_threads(segment) + i)->noter, __ATOMIC_SEQ_CST))
			i++;
		if (i == segment->nr_threads)
			return true;
	}
	return false;
}

static bool
drop_earlier(void)
{
	const struct wire_sites *earlier = sites;

	if (!earlier)
		return true;
	if (!wait_until_all_left() || !sites_drop())
		return false;
	agent_log_begin(NULL, false);
	forget_blocks();
	memory_forget(earlier);
	return true;
}

/* The program gets nearly all of the addresses within its limit. */
#define ADDRESSES_PART 64
/* The part of a record's memory for sites and log; live blocks get the rest. */
#define SITES_PART 2

/* The size of the sites for S, within all limits.  A file may have room for more. */
static struct wire_sites_size
size_of(const struct notes_start *s)
{
	struct wire_sites_size size = s->size;

	if (wire_capture_of(s->period_bytes) == WIRE_PROFILE || !log_prepare(stack_vdso()))
		size.nr_log_blocks = 0;
	if (s->max_bytes)
		size = sites_fit(size, s->max_bytes / SITES_PART);
	return sites_fit(size, segment_address_limit() / ADDRESSES_PART);
}

/*
 * Map memory for live blocks, in addition to sites of SITES_BYTES.  False if no room is available.
 */
static bool
make_live_set(const struct notes_start *s, uint64_t sites_bytes)
{
	const uint64_t most = segment_address_limit() / ADDRESSES_PART;
	const uint64_t room = !s->max_bytes  ? UINT64_MAX
		: s->max_bytes > sites_bytes ? s->max_bytes - sites_bytes
					     : 0;

	shadow_limit(room);
	sampled_limit(room);
	notes_have_table =
		wire_capture_of(s->period_bytes) == WIRE_RECORD && s->live_set == WIRE_LIVE_TABLE;
	return !notes_have_table || table_begin(room < most ? room : most);
}

static struct wire_sites *
new_sites(const struct notes_start *s)
{
	const struct wire_sites_size size = size_of(s);
	struct wire_sites *new = memory_map(s->fd, s->offset_bytes, wire_sites_make(NULL, &size));
	struct timespec now = { 0 };

	if (!new)
		return NULL;
	if (!make_live_set(s, wire_sites_make(NULL, &size))) {
		sys_call(SYS_munmap, new, wire_sites_make(NULL, &size));
		return NULL;
	}
	sys_call(SYS_clock_gettime, CLOCK_REALTIME, &now);
	wire_sites_make(new, &size);
	new->pid = segment->pid;
	new->started_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	new->period_bytes = s->period_bytes;
	sys_call(SYS_prctl, PR_GET_NAME, new->name);
	unwind_forget();
	new->triggers = s->triggers;
	new->triggers.next_bytes = s->triggers.interval_bytes;
	new->triggers.next_high_bytes = WIRE_HIGH_LEAST_BYTES;
	memory_note(WIRE_MEMORY_SITES, new, new->size_bytes);
	agent_log_begin(wire_log_of(new), s->opens_log);
	return new;
}

static bool
make_blocks(const struct notes_start *s)
{
	return mapset_begin(segment_address_limit()) &&
		(wire_capture_of(s->period_bytes) == WIRE_PROFILE || real_has_headers);
}

bool
notes_begin(const struct notes_start *s)
{
	bool is_ready;

	__atomic_store_n(&notes_are_closed, true, __ATOMIC_SEQ_CST);
	is_ready = make_notes() && make_blocks(s) && stack_begin() && drop_earlier();
	if (is_ready) {
		next_turn();
		sites = new_sites(s);
	}
	__atomic_store_n(&notes_are_closed, false, __ATOMIC_SEQ_CST);
	return is_ready && sites;
}

/* Release the pages; the mapping stays. */
static void
forget_notes(void)
{
	if (notes_of_all)
		memory_clear(notes_of_all, segment->nr_threads * NOTES_BYTES);
	if (more_of_all)
		memory_clear(more_of_all, more_bytes());
}

bool
notes_end(void)
{
	__atomic_store_n(&notes_are_closed, true, __ATOMIC_SEQ_CST);
	if (!notes_of_all || !wait_until_all_left())
		return false;
	forget_blocks();
	forget_notes();
	return true;
}

/* ---- in a forked child ---- */

/*
 * End the event in progress in private memory of the child, where no thread holds a lock: the
 * mapped sites are the parent's.  The head of the sites is kept for values that were read from it.
 * Its PID is 0, which no process has, so no file is written from it.  Without memory, the parent
 * gets the event twice.
 */
static void
part_from_parent(void)
{
	const struct wire_sites head = *sites;
	const long at = sys_call(SYS_mmap, sites, head.size_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (sys_failed(at))
		return;
	*sites = head;
	sites->pid = 0;
}

void
notes_after_fork(struct wire_thread *forker, void (*begin_child)(void))
{
	const bool is_noting = notes_of_all && sites &&
		notes_of(forker ? forker : place_shared())->noter == thread_stack();

	is_claimed = 0;
	/* The event was already moved: this is the child of a child that has not continued yet. */
	if (!is_noting && !notes_after_note) {
		begin_child();
		return;
	}
	part_from_parent();
	notes_are_closed = true;
	notes_after_note = begin_child;
}

/*
 * The other threads of the parent do not exist here, whatever they were recording.  Their notes
 * stay mapped, since this thread may be about to write to them.
 */
void
notes_forget_parents(struct wire_sites *parents)
{
	forget_notes();
	next_turn();
	forget_blocks();
	sites_begin_child();
	if (parents) {
		memory_forget(parents);
		sys_call(SYS_munmap, parents, parents->size_bytes);
	}
	notes_are_closed = false;
}

bool
notes_begin_child(const struct notes_start *s, struct wire_sites *parents)
{
	notes_forget_parents(parents);
	sites = make_notes() && make_blocks(s) ? new_sites(s) : NULL;
	return sites;
}
