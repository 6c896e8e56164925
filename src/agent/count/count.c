#include <config.h>

#include "agent/count/count.h"

#include <linux/membarrier.h>
#include <signal.h>
#include <time.h>

#include "agent/base/family.h"
#include "agent/base/lock.h"
#include "agent/base/mode.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"

/*
 * The slack of a grant: what a thread may take beyond its need.  With less than LEAST_SLACK,
 * threads would contend for the lock too often.  MOST_SLACK is the largest block that glibc serves
 * from a heap (DEFAULT_MMAP_THRESHOLD_MAX, malloc/malloc.c): larger blocks cost a system call
 * anyway.
 */
#define LEAST_SLACK (INT64_C(64) << 10)
#define MOST_SLACK (INT64_C(32) << 20)
/*
 * Grants are part of the peak, since other threads do not see how much of a grant is used.  A grant
 * that would raise the peak is limited: all slack together to 1/PEAK_PART of the taken bytes, but
 * at least LEAST_PEAK_SLACK for each thread.
 */
#define PEAK_PART 512
#define LEAST_PEAK_SLACK (INT64_C(2) << 10)
/* The slack of a thread that must ask for more although some is left: see recall_slack(). */
#define RECALLED INT64_C(-1)
/*
 * Near a limit, a thread whose share is smaller than this gets no slack: taking the slack back
 * would cost more than it saves.
 */
#define WORTH_SLACK (INT64_C(4) << 10)
/*
 * A thread whose request was refused may use the reserve for blocks of up to this size, until twice
 * the reserve is free below the limit.
 */
#define RESERVE_BLOCK 1024
/*
 * A thread that is busy for longer than this was stopped or left the call by longjmp(): it keeps
 * its grant.
 */
#define BUSY_NS (UINT64_C(2) * 1000000000)

static struct lock lock;
static bool has_barrier; /* membarrier() works */

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

static int64_t
count_live_of(const struct wire_thread *t)
{
	return __atomic_load_n(&t->live_bytes, __ATOMIC_ACQUIRE);
}

void
count_forget_lock(void)
{
	lock = (struct lock){ 0 };
}

/* Let T grow from LIVE_BYTES by SLACK_BYTES, and shrink by twice that before it returns some. */
static void
grant(struct wire_thread *t, int64_t live_bytes, int64_t slack_bytes)
{
	int64_t granted = live_bytes + slack_bytes, peak = t->peak_bytes;

	__atomic_store_n(&t->granted_bytes, granted, __ATOMIC_RELAXED);
	__atomic_store_n(&t->ceiling_bytes, granted < peak ? granted : peak, __ATOMIC_RELAXED);
	__atomic_store_n(&t->floor_bytes, live_bytes - 2 * slack_bytes, __ATOMIC_RELAXED);
}

/*
 * Make T take the lock for its next block. granted_bytes is kept, to show how much of it is unused.
 */
static void
suspend_grant(struct wire_thread *t)
{
	__atomic_store_n(&t->ceiling_bytes, INT64_MIN, __ATOMIC_RELAXED);
	__atomic_store_n(&t->floor_bytes, INT64_MAX, __ATOMIC_RELAXED);
}

static bool
is_suspended(const struct wire_thread *t)
{
	return __atomic_load_n(&t->floor_bytes, __ATOMIC_RELAXED) == INT64_MAX;
}

static void
raise_to(int64_t *peak, int64_t bytes)
{
	int64_t was = __atomic_load_n(peak, __ATOMIC_RELAXED);

	while (bytes > was &&
		!__atomic_compare_exchange_n(
			peak, &was, bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * Take BYTES from the rest below LIMIT.  A thread uses its grant without asking, so the grant
 * counts for taken_peak_bytes from here on.
 */
static bool
count_reserve(int64_t bytes, int64_t limit)
{
	int64_t taken = __atomic_load_n(&segment->taken_bytes, __ATOMIC_RELAXED);

	do {
		if (bytes > 0 && (bytes > limit || taken > limit - bytes))
			return false;
	} while (!__atomic_compare_exchange_n(&segment->taken_bytes, &taken, taken + bytes, true,
		__ATOMIC_RELEASE, __ATOMIC_RELAXED));
	if (!family_take(bytes, limit != INT64_MAX)) {
		__atomic_sub_fetch(&segment->taken_bytes, bytes, __ATOMIC_RELEASE);
		return false;
	}
	raise_to(&segment->taken_peak_bytes, taken + bytes);
	return true;
}

static void
count_release(int64_t bytes)
{
	__atomic_sub_fetch(&segment->taken_bytes, bytes, __ATOMIC_RELEASE);
	family_take(-bytes, false);
}

/* ---- taking grants back ---- */

static uint64_t
count_now_ns(void)
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
			until = count_now_ns() + BUSY_NS;
		else if (count_now_ns() > until)
			return false;
		sys_call(SYS_nanosleep, &moment, NULL);
	}
	return true;
}

/*
 * Take back the unused part of every thread's grant.  Afterwards taken_bytes is the exact sum, and
 * a thread needs the lock to take or give.
 */
static void
count_take_back(struct wire_thread *self)
{
	struct wire_thread *t = wire_threads(segment);
	uint32_t nr = segment->nr_threads;

	for (uint32_t i = 1; i < nr; i++)
		suspend_grant(&t[i]);
	/*
	 * After the barrier, each thread either sees that its grant is suspended or shows by
	 * is_busy that it uses the old one.  Without membarrier(), no thread was granted slack.
	 */
	if (has_barrier)
		sys_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	for (uint32_t i = 1; i < nr; i++) {
		t[i].slack_bytes = 0;
		if (&t[i] != self && !wait_until_idle(&t[i]))
			continue; /* it has to ask for its next block */
		count_release(t[i].granted_bytes - count_live_of(&t[i]));
		grant(&t[i], count_live_of(&t[i]), 0);
	}
}

/* ---- the slow paths ---- */

/* The limit that applies to a block or mapping of BYTES for SELF. */
static int64_t
limit_for(const struct wire_thread *self, int64_t bytes)
{
	if (segment->on_limit == WIRE_REPORT)
		return INT64_MAX;
	if (self->is_refused && bytes <= RESERVE_BLOCK)
		return segment->limit_bytes;
	return segment->limit_bytes - segment->reserve_bytes;
}

/*
 * The part of SLACK that hardly raises the peak if TAKEN bytes are taken so far.  A thread that
 * allocates one block of BYTES after another should not need the lock for each.
 */
static int64_t
within_peak(int64_t slack, int64_t bytes, int64_t taken)
{
	const int64_t nr = segment->nr_threads, seen = segment->seen_peak_bytes;
	int64_t most = taken / PEAK_PART / nr;
	const int64_t room =
		segment->base_bytes + seen + seen / (PEAK_PART / 8) + bytes / 8 - taken;

	/* The peak of a single thread is exact whatever its slack is. */
	if (nr <= 2)
		return slack;
	if (most < LEAST_PEAK_SLACK)
		most = LEAST_PEAK_SLACK;
	if (most < room)
		most = room;
	return slack < most ? slack : most;
}

/*
 * The slack for a thread that takes or gives BYTES, if the sum of all taken bytes is TAKEN
 * afterwards.
 */
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
	slack = within_peak(slack, bytes, taken);
	if (segment->limit_bytes != INT64_MAX && !segment->is_reported) {
		/*
		 * A quarter of each thread's share, so that the other threads can continue for a
		 * while.
		 */
		share = segment->limit_bytes - segment->reserve_bytes - taken;
		if (share > family_share())
			share = family_share();
		share = share / 4 / segment->nr_threads;
		if (share < WORTH_SLACK || !has_barrier)
			slack = 0;
		else if (slack > share)
			slack = share;
	}
	self->slack_bytes = slack;
	return slack;
}

/* True if a limit that is only reported is exceeded for the first time. */
static bool
must_report(void)
{
	if (segment->on_limit != WIRE_REPORT || segment->is_reported ||
		segment->taken_bytes <= segment->limit_bytes)
		return false;
	count_take_back(NULL);
	segment->is_reported = segment->taken_bytes > segment->limit_bytes;
	return segment->is_reported;
}

/* Add BYTES to counters that several threads share. */
static void
count_add_shared(struct wire_thread *self, int64_t bytes)
{
	raise_to(&self->peak_bytes, __atomic_add_fetch(&self->live_bytes, bytes, __ATOMIC_RELAXED));
}

/*
 * Make threads with a large older grant ask again when they need more; they then get a small one.
 * The caller holds the lock.
 */
static void
recall_slack(uint32_t nr)
{
	struct wire_thread *t = wire_threads(segment);

	for (uint32_t i = 1; i < nr; i++) {
		const int64_t live = count_live_of(&t[i]);

		if (is_suspended(&t[i]) || t[i].slack_bytes == RECALLED ||
			t[i].granted_bytes - live <= LEAST_PEAK_SLACK)
			continue;
		__atomic_store_n(&t[i].slack_bytes, RECALLED, __ATOMIC_RELAXED);
		__atomic_store_n(&t[i].ceiling_bytes, live, __ATOMIC_RELAXED);
	}
}

/*
 * If there may be more live bytes than ever, record their number as the peak.  Returns the unused
 * bytes of all grants.  This is an estimate, as other threads continue meanwhile.
 */
static int64_t
note_peak(void)
{
	const struct wire_thread *t = wire_threads(segment);
	const int64_t taken = segment->taken_bytes - segment->base_bytes;
	const uint32_t nr = segment->nr_threads;
	int64_t live = 0;

	if (taken <= segment->seen_peak_bytes)
		return 0;
	for (uint32_t i = 0; i < nr; i++)
		live += count_live_of(&t[i]);
	raise_to(&segment->seen_peak_bytes, live);
	return taken - live;
}

static void
watch_peak(void)
{
	const uint32_t nr = segment->nr_threads;
	const int64_t slack = note_peak();

	if (nr > 2 && slack > segment->taken_bytes / (PEAK_PART / 4) + nr * LEAST_PEAK_SLACK)
		recall_slack(nr);
}

static bool
take_shared(struct wire_thread *self, int64_t bytes)
{
	const int64_t limit = limit_for(self, bytes);

	if (!count_reserve(bytes, limit)) {
		count_take_back(self);
		if (!count_reserve(bytes, limit))
			return false;
	}
	count_add_shared(self, bytes);
	watch_peak();
	return true;
}

/* Reserve slack for SELF, which takes BYTES.  Returns the slack; 0 if it does not fit. */
static int64_t
reserve_slack(struct wire_thread *self, int64_t bytes)
{
	const int64_t slack = slack_for(self, bytes, segment->taken_bytes);

	return count_reserve(slack, limit_for(self, bytes)) ? slack : 0;
}

static bool
take_own(struct wire_thread *self, int64_t bytes)
{
	const int64_t live = count_live_of(self) + bytes, limit = limit_for(self, bytes);

	if (!count_reserve(live - self->granted_bytes, limit)) {
		count_take_back(self);
		if (!count_reserve(live - self->granted_bytes, limit))
			return false;
	}
	self->live_bytes = live;
	if (live > self->peak_bytes)
		self->peak_bytes = live;
	watch_peak();
	grant(self, live, reserve_slack(self, bytes));
	return true;
}

/* Take BYTES within the grant that set a new peak. */
static bool
take_new_peak(struct wire_thread *self, int64_t bytes)
{
	bool is_granted;
	int64_t live;

	count_begin(self);
	live = self->live_bytes + bytes;
	is_granted = !is_suspended(self) &&
		__atomic_load_n(&self->slack_bytes, __ATOMIC_RELAXED) != RECALLED &&
		live <= __atomic_load_n(&self->granted_bytes, __ATOMIC_RELAXED);
	if (is_granted) {
		__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
		self->peak_bytes = live;
		/*
		 * If the grant is being taken back now, the ceiling is set again when this thread
		 * is idle.
		 */
		__atomic_store_n(&self->ceiling_bytes, live, __ATOMIC_RELAXED);
	}
	count_end(self);
	return is_granted;
}

enum count_answer
count_take_slowly(struct wire_thread *self, int64_t bytes)
{
	bool is_taken, is_passed;

	if (take_new_peak(self, bytes))
		return COUNT_TAKEN;
	if (!count_lock()) {
		self->live_bytes += bytes; /* granted together with the next request */
		return COUNT_TAKEN;
	}
	is_taken = self == place_shared() ? take_shared(self, bytes) : take_own(self, bytes);
	is_passed = is_taken && must_report();
	if (!is_taken)
		segment->nr_refused++;
	else if (self->is_refused &&
		segment->taken_bytes <= segment->limit_bytes - 2 * segment->reserve_bytes)
		self->is_refused = 0;
	count_unlock();
	if (is_passed)
		return COUNT_PASSED;
	return is_taken ? COUNT_TAKEN : COUNT_REFUSED;
}

void
count_give_slowly(struct wire_thread *self, int64_t bytes)
{
	if (self == place_shared()) {
		count_add_shared(self, -bytes);
		count_release(bytes);
		return;
	}
	if (!count_lock()) {
		self->live_bytes -= bytes;
		return;
	}
	self->live_bytes -= bytes;
	count_release(self->granted_bytes - self->live_bytes);
	grant(self, self->live_bytes, reserve_slack(self, bytes));
	count_unlock();
}

/* ---- mappings ---- */

/*
 * Move MARK from its value to TO.  If another thread suspends the grant meanwhile, MARK stays NONE.
 */
static void
move_mark(int64_t *mark, int64_t none, int64_t to)
{
	int64_t was = __atomic_load_n(mark, __ATOMIC_RELAXED);

	if (was != none)
		__atomic_compare_exchange_n(
			mark, &was, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/*
 * Add BYTES, which may be negative, to SELF's live bytes and to its grant, so that the unused part
 * is unchanged.
 */
static void
shift(struct wire_thread *self, int64_t bytes)
{
	const int64_t live = own_fetch_add(&self->live_bytes, bytes) + bytes;
	const int64_t granted = own_fetch_add(&self->granted_bytes, bytes) + bytes;

	if (live > self->peak_bytes)
		self->peak_bytes = live;
	move_mark(&self->floor_bytes, INT64_MAX, self->floor_bytes + bytes);
	move_mark(&self->ceiling_bytes, INT64_MIN,
		granted < self->peak_bytes ? granted : self->peak_bytes);
}

static void
count_add_mapped(int64_t bytes)
{
	__atomic_add_fetch(&segment->mapped_bytes, bytes, __ATOMIC_RELAXED);
}

/*
 * False if the bytes do not fit or grants are being taken back.  If memdiag stops the process here,
 * is_busy shows that the two sums of this thread disagree.
 */
static bool
change_at_once(struct wire_thread *self, int64_t bytes, int64_t limit)
{
	const uint32_t was_busy = self->is_busy;
	bool is_done;

	if (self == place_shared()) {
		is_done = count_reserve(bytes, limit);
		if (is_done) {
			count_add_shared(self, bytes);
			count_add_mapped(bytes);
		}
		return is_done;
	}
	count_begin(self);
	is_done = !is_suspended(self) && (bytes < 0 || count_reserve(bytes, limit));
	if (is_done) {
		shift(self, bytes);
		count_add_mapped(bytes);
	}
	if (is_done && bytes < 0)
		count_release(-bytes);
	__atomic_store_n(&self->is_busy, was_busy, __ATOMIC_RELEASE);
	return is_done;
}

/* All signals are blocked, including the cancellation signal, so the lock is always released. */
static enum count_answer
change_with_lock(struct wire_thread *self, int64_t bytes)
{
	const uint64_t all = UINT64_MAX;
	uint64_t was = 0;
	enum count_answer answer = COUNT_TAKEN;

	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &was, sizeof was);
	if (bytes < 0)
		count_give_slowly(self, -bytes);
	else
		answer = count_take_slowly(self, bytes);
	if (answer != COUNT_REFUSED)
		count_add_mapped(bytes);
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &was, NULL, sizeof was);
	return answer;
}

/* Only a mapping of at least 1/MAPPING_PART of the peak makes this thread check for a new peak. */
#define MAPPING_PART 128

enum count_answer
count_take_mapping(struct wire_thread *self, int64_t bytes)
{
	const bool may_report = segment->on_limit == WIRE_REPORT && !segment->is_reported;
	enum count_answer answer = COUNT_TAKEN;

	if (bytes == 0)
		return COUNT_TAKEN;
	if (!change_at_once(
		    self, bytes, may_report ? segment->limit_bytes : limit_for(self, bytes)))
		answer = change_with_lock(self, bytes);
	if (answer != COUNT_REFUSED && bytes > segment->seen_peak_bytes / MAPPING_PART)
		note_peak();
	return answer;
}

enum count_answer
count_change_mapping(struct wire_thread *self, int64_t bytes)
{
	if (!bytes || change_at_once(self, bytes, INT64_MAX))
		return COUNT_TAKEN;
	return change_with_lock(self, bytes);
}

/* ---- requests of the program ---- */

/* A thread uses its grant unobserved, so the peak may be above the one that note_peak() found. */
void
count_add_up(struct wire_totals *ret)
{
	wire_add_up(segment, segment->nr_threads, ret);
	raise_to(&segment->seen_peak_bytes, (int64_t)ret->live_bytes - segment->before_bytes);
}

uint64_t
count_live_bytes(void)
{
	struct wire_totals sum;

	count_add_up(&sum);
	return sum.live_bytes + (uint64_t)segment->base_bytes;
}

/*
 * A block that another thread is adding at this moment is missed, as in every peak of several
 * threads.
 */
void
count_reset_peak(void)
{
	struct wire_thread *t = wire_threads(segment);
	const uint32_t nr = segment->nr_threads;

	if (!count_lock())
		return;
	recall_slack(nr);
	for (uint32_t i = 0; i < nr; i++) {
		const int64_t live = count_live_of(&t[i]);

		__atomic_store_n(&t[i].peak_bytes, live, __ATOMIC_RELAXED);
		if (!is_suspended(&t[i]) && t[i].ceiling_bytes > live)
			__atomic_store_n(&t[i].ceiling_bytes, live, __ATOMIC_RELAXED);
	}
	/* Without a limit other threads do not set is_busy. */
	if (mode_of_counter() == AGENT_GUARDED || nr <= 2)
		count_take_back(NULL);
	__atomic_store_n(&segment->taken_peak_bytes, segment->taken_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&segment->mapped_peak_bytes, segment->mapped_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&segment->seen_peak_bytes, 0, __ATOMIC_RELAXED);
	note_peak();
	count_unlock();
}

/*
 * Set the limit, and take back all grants, since they may exceed it.  A thread whose call began
 * without a limit has not set is_busy; the sum may stay wrong by the size of its block.
 */
bool
count_set_limit(int64_t bytes)
{
	if (!count_lock())
		return false;
	settings.limit_bytes = segment->limit_bytes = bytes;
	segment->is_reported = 0;
	segment_set_reserve();
	mode_choose();
	count_take_back(NULL);
	count_unlock();
	return true;
}

/* ---- the beginning ---- */

static void
find_barrier(void)
{
	has_barrier = !sys_failed(
		sys_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
}

void
count_init(void)
{
	suspend_grant(place_shared());
	segment->taken_bytes = segment->taken_peak_bytes = segment->base_bytes;
	find_barrier();
}

/* The only thread of a forked child takes over the counts of all threads of its parent. */
void
count_init_child(void)
{
	struct wire_thread *self = place_shared();
	uint32_t nr = segment->nr_threads;

	for (uint32_t i = 1; i < nr; i++) {
		self->live_bytes += wire_threads(segment)[i].live_bytes;
		self->nr_allocated += wire_threads(segment)[i].nr_allocated;
		self->nr_freed += wire_threads(segment)[i].nr_freed;
		self->freed_bytes += wire_threads(segment)[i].freed_bytes;
		wire_threads(segment)[i] = (struct wire_thread){ 0 };
	}
	self->peak_bytes = count_live_of(self);
	segment->nr_threads = 1;
	segment->taken_bytes = segment->taken_peak_bytes =
		segment->base_bytes + count_live_of(self);
	segment->seen_peak_bytes = count_live_of(self);
	find_barrier();
}
