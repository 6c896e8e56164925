#include <config.h>

#include "agent/count.h"

#include <linux/membarrier.h>
#include <errno.h>
#include <time.h>

#include "agent/lock.h"

/*
 * What a thread is granted beyond its need, at least; less makes threads meet too often.  At most:
 * the largest block that glibc serves from a heap (DEFAULT_MMAP_THRESHOLD_MAX, malloc/malloc.c), as
 * larger ones cost a system call anyway.
 */
#define LEAST_SLACK (INT64_C(64) << 10)
#define MOST_SLACK (INT64_C(32) << 20)
/* Less than this is not worth to be taken back again. */
#define WORTH_SLACK (INT64_C(4) << 10)
/*
 * Those who were refused may use the reserve for blocks as large as this, until as much as the reserve
 * is free again beside it: then they need it no more.
 */
#define RESERVE_BLOCK 1024
/* A thread that stays busy so long is stopped, or left it by longjmp(): its grant stays. */
#define BUSY_NS (UINT64_C(2) * 1000000000)

static struct lock lock;
static bool has_barrier;	/* membarrier() works */

bool
count_lock(void)
{
	return lock_take(&lock);
}

void
count_unlock(void)
{
	lock_drop(&lock);
}

struct wire_thread *
count_shared(void)
{
	return wire_threads(segment);
}

static int64_t
live_of(const struct wire_thread *t)
{
	return __atomic_load_n(&t->live_bytes, __ATOMIC_ACQUIRE);
}

void
count_forget_lock(void)
{
	lock = (struct lock){ 0 };
}

/* T may grow from LIVE by SLACK, and shrink by twice that until it gives some back. */
static void
grant(struct wire_thread *t, int64_t live_bytes, int64_t slack_bytes)
{
	int64_t granted = live_bytes + slack_bytes, peak = t->peak_bytes;

	__atomic_store_n(&t->granted_bytes, granted, __ATOMIC_RELAXED);
	__atomic_store_n(&t->ceiling_bytes, granted < peak ? granted : peak, __ATOMIC_RELAXED);
	__atomic_store_n(&t->floor_bytes, live_bytes - 2 * slack_bytes, __ATOMIC_RELAXED);
}

/* T can neither take nor give without the lock. */
static void
grant_nothing(struct wire_thread *t)
{
	__atomic_store_n(&t->granted_bytes, INT64_MIN, __ATOMIC_RELAXED);
	__atomic_store_n(&t->ceiling_bytes, INT64_MIN, __ATOMIC_RELAXED);
	__atomic_store_n(&t->floor_bytes, INT64_MAX, __ATOMIC_RELAXED);
}

/* What is granted will be used without asking: so it is part of the most that there may have been. */
static void
set_taken(int64_t bytes)
{
	__atomic_store_n(&segment->taken_bytes, bytes, __ATOMIC_RELEASE);
	if (bytes > segment->taken_peak_bytes)
		segment->taken_peak_bytes = bytes;
}

/* ---- taking grants back ---- */

static uint64_t
now_ns(void)
{
	struct timespec t = { 0 };

	sys_call(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool
wait_until_idle(const struct wire_thread *t)
{
	const struct timespec moment = { .tv_nsec = 50000 };
	uint64_t until = 0;

	for (unsigned int turn = 0; __atomic_load_n(&t->is_busy, __ATOMIC_ACQUIRE); turn++) {
		if (turn < 100) {
			sys_call(SYS_sched_yield, 0);
			continue;
		}
		if (!until)
			until = now_ns() + BUSY_NS;
		else if (now_ns() > until)
			return false;
		sys_call(SYS_nanosleep, &moment, NULL);
	}
	return true;
}

/*
 * Take from every thread what it was granted and does not use.  Afterwards taken_bytes is the exact
 * sum, and no thread can take or give without the lock.
 */
static void
revoke(struct wire_thread *self)
{
	struct wire_thread *t = wire_threads(segment);
	uint32_t nr = segment->nr_threads;
	int64_t was, taken = segment->taken_bytes;

	for (uint32_t i = 1; i < nr; i++) {
		t[i].slack_bytes = t[i].granted_bytes;	/* kept there for a moment */
		grant_nothing(&t[i]);
	}
	/*
	 * Now each thread has seen that it has none, or is seen to be busy with the old one.  Nobody
	 * has slack where there is no barrier.
	 */
	if (has_barrier)
		sys_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	for (uint32_t i = 1; i < nr; i++) {
		was = t[i].slack_bytes;
		t[i].slack_bytes = 0;
		if (&t[i] != self && !wait_until_idle(&t[i])) {
			t[i].granted_bytes = was;	/* and it has to ask */
			continue;
		}
		taken -= was - live_of(&t[i]);
		grant(&t[i], live_of(&t[i]), 0);
	}
	set_taken(taken);
}

/* ---- the slow ways ---- */

static bool
fits(struct wire_thread *self, int64_t need, int64_t bytes)
{
	int64_t limit = segment->limit_bytes;

	if (segment->on_limit == WIRE_REPORT || need <= 0)
		return true;
	if (!(self->is_refused && bytes <= RESERVE_BLOCK))
		limit -= segment->reserve_bytes;
	return need <= limit && segment->taken_bytes <= limit - need;
}

/* How much a thread that takes or gives BYTES is to have beyond its need, which makes TAKEN in all. */
static int64_t
slack_for(struct wire_thread *self, int64_t bytes, int64_t taken)
{
	int64_t slack = self->slack_bytes, share;

	if (slack < bytes)
		slack = bytes;
	if (slack < LEAST_SLACK)
		slack = LEAST_SLACK;
	if (slack > MOST_SLACK)
		slack = MOST_SLACK;
	if (segment->limit_bytes != INT64_MAX && !segment->is_reported) {
		/* Four times: so that all threads can go on for a while. */
		share = (segment->limit_bytes - segment->reserve_bytes - taken) / 4 /
			segment->nr_threads;
		if (slack > share)
			slack = share;
		if (slack < WORTH_SLACK || !has_barrier)
			slack = 0;
	}
	self->slack_bytes = slack;
	return slack;
}

/* Whether a limit that is not held is passed for the first time. */
static bool
must_report(void)
{
	if (segment->on_limit != WIRE_REPORT || segment->is_reported ||
		segment->taken_bytes <= segment->limit_bytes)
		return false;
	revoke(NULL);
	segment->is_reported = segment->taken_bytes > segment->limit_bytes;
	return segment->is_reported;
}

static bool
take_shared(struct wire_thread *self, int64_t bytes)
{
	if (!fits(self, bytes, bytes))
		revoke(self);
	if (!fits(self, bytes, bytes))
		return false;
	set_taken(segment->taken_bytes + bytes);
	self->live_bytes += bytes;
	if (self->live_bytes > self->peak_bytes)
		self->peak_bytes = self->live_bytes;
	return true;
}

static bool
take_own(struct wire_thread *self, int64_t bytes)
{
	int64_t live = live_of(self) + bytes, slack, taken;

	if (!fits(self, live - self->granted_bytes, bytes))
		revoke(self);
	if (!fits(self, live - self->granted_bytes, bytes))
		return false;
	taken = segment->taken_bytes + live - self->granted_bytes;
	slack = slack_for(self, bytes, taken);
	set_taken(taken + slack);
	self->live_bytes = live;
	if (live > self->peak_bytes)
		self->peak_bytes = live;
	grant(self, live, slack);
	return true;
}

/* Within its grant, but more than ever. */
static bool
take_new_peak(struct wire_thread *self, int64_t bytes)
{
	bool is_granted;
	int64_t live;

	count_begin(self);
	live = self->live_bytes + bytes;
	is_granted = live <= __atomic_load_n(&self->granted_bytes, __ATOMIC_RELAXED);
	if (is_granted) {
		__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
		self->peak_bytes = live;
		/* If the grant is taken back just now, this is set again when we are idle. */
		__atomic_store_n(&self->ceiling_bytes, live, __ATOMIC_RELAXED);
	}
	count_end(self);
	return is_granted;
}

bool
count_take_slowly(struct wire_thread *self, int64_t bytes)
{
	bool is_taken, is_passed;

	if (take_new_peak(self, bytes))
		return true;
	if (!count_lock()) {
		self->live_bytes += bytes;	/* granted with what comes next */
		return true;
	}
	is_taken = self == count_shared() ? take_shared(self, bytes) : take_own(self, bytes);
	is_passed = is_taken && must_report();
	if (!is_taken)
		segment->nr_refused++;
	else if (self->is_refused &&
		segment->taken_bytes <= segment->limit_bytes - 2 * segment->reserve_bytes)
		self->is_refused = 0;
	count_unlock();
	if (is_passed)
		limit_passed((size_t)bytes);
	return is_taken;
}

void
count_give_slowly(struct wire_thread *self, int64_t bytes)
{
	int64_t slack, taken;
	bool is_locked = count_lock();

	self->live_bytes -= bytes;
	if (!is_locked)
		return;
	if (self == count_shared()) {
		set_taken(segment->taken_bytes - bytes);
	} else {
		taken = segment->taken_bytes - (self->granted_bytes - self->live_bytes);
		slack = slack_for(self, bytes, taken);
		set_taken(taken + slack);
		grant(self, self->live_bytes, slack);
	}
	count_unlock();
}

/* ---- places ---- */

static void
move_in(struct wire_thread *t, uint32_t tid)
{
	t->tid = tid;
	t->is_busy = 0;
	t->is_inside = 0;
	t->is_refused = 0;
	t->first_bytes = t->live_bytes;
}

static bool
has_ended(uint32_t tid)
{
	return sys_call(SYS_tgkill, segment->pid, tid, 0) == -ESRCH;
}

/*
 * A place whose thread has ended, among TRIES from where the last look ended.  NULL: there is none.
 */
static struct wire_thread *
left_place(uint32_t tid, uint32_t tries)
{
	static uint32_t at;
	struct wire_thread *t = wire_threads(segment);
	uint32_t nr = segment->nr_threads;

	for (uint32_t i = 0; i < tries; i++) {
		at = at + 1 < nr ? at + 1 : 1;
		/* A number is given to a new thread only after the old one has ended. */
		if (t[at].tid == tid || has_ended(t[at].tid))
			return &t[at];
	}
	return NULL;
}

/*
 * In a static program a thread that has ended leaves its words to the next one on the same stack
 * (inject_place() in memdiag's inject/): so its place goes to that one and to nobody else.  No two threads
 * have the same list at once.
 */
static struct wire_thread *
place_of_stack(void)
{
	struct wire_thread *t = wire_threads(segment);
	const uint32_t nr = segment->nr_threads;
	uint64_t list = 0, size;

	sys_call(SYS_get_robust_list, 0, &list, &size);
	if (!list)
		return NULL;
	for (uint32_t i = 1; i < nr; i++)
		if (t[i].robust_list == list)
			return &t[i];
	if (nr == segment->max_threads)
		return NULL;
	t[nr].robust_list = list;
	segment->nr_threads++;
	return &t[nr];
}

/* The first hundred threads have a place without asking who has ended. */
#define PLACES_AT_ONCE 100
/* So many are asked whether they have ended, as long as there are new places. */
#define LOOKS_AT_ONCE 32

static struct wire_thread *
place_of_thread(uint32_t tid)
{
	struct wire_thread *t = NULL;

	if (segment->nr_threads == segment->max_threads)
		t = left_place(tid, segment->nr_threads);
	else if (segment->nr_threads > PLACES_AT_ONCE)
		t = left_place(tid, LOOKS_AT_ONCE);
	if (!t && segment->nr_threads < segment->max_threads)
		t = &wire_threads(segment)[segment->nr_threads++];
	return t;
}

struct wire_thread *
count_register(void)
{
	uint32_t tid = (uint32_t)sys_call(SYS_gettid, 0);
	struct wire_thread *t;

	if (!count_lock())
		return NULL;
	t = live_page_bytes() ? place_of_stack() : place_of_thread(tid);
	if (t)
		move_in(t, tid);
	count_unlock();
	return t;
}

/* ---- the beginning ---- */

static void
find_barrier(void)
{
	has_barrier = !sys_failed(sys_call(
		SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
}

void
count_init(void)
{
	segment->nr_threads = 1;
	grant_nothing(count_shared());
	set_taken(segment->base_bytes);
	find_barrier();
}

/* The one thread of a forked child goes on with all that its parent's threads had. */
void
count_init_child(void)
{
	struct wire_thread *self = count_shared();
	uint32_t nr = segment->nr_threads;

	for (uint32_t i = 1; i < nr; i++) {
		self->live_bytes += wire_threads(segment)[i].live_bytes;
		self->nr_allocated += wire_threads(segment)[i].nr_allocated;
		self->nr_freed += wire_threads(segment)[i].nr_freed;
		wire_threads(segment)[i] = (struct wire_thread){ 0 };
	}
	self->peak_bytes = live_of(self);
	segment->nr_threads = 1;
	set_taken(segment->base_bytes + live_of(self));
	segment->taken_peak_bytes = segment->taken_bytes;
	find_barrier();
}
