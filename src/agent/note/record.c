#include <config.h>

#include "agent/note/record.h"

#include "agent/base/block.h"
#include "agent/base/compiler.h"
#include "agent/base/segment.h"
#include "agent/base/sys.h"
#include "agent/base/thread.h"
#include "agent/note/log.h"
#include "agent/note/notes.h"
#include "agent/note/shadow.h"
#include "agent/note/sites.h"
#include "agent/note/stack.h"
#include "agent/note/table.h"
#include "unwind/unwind.h"

/* ---- the global sum ---- */

/*
 * If several threads record, each collects some bytes before it adds them to the global sum.  All
 * of them together hold back at most this part of the sum, which limits its error.  A thread holds
 * back at most MOST_PENDING_BYTES, with which additions are rare enough.
 */
#define PENDING_PART 512
#define MOST_PENDING_BYTES (INT64_C(64) << 10)

/*
 * The threads of the first places may hold back any number of bytes that they have freed: they can
 * allocate these again without a new peak.  A thread whose sum exceeds the peak first asks these
 * threads for the bytes that they hold back.
 */
#define NR_HOLDERS 64

/*
 * True if N's thread is the only one, which has place 1.  A second thread may have started
 * meanwhile, so the bytes that a thread adds while it is alone are kept in a separate sum.
 */
static inline bool
record_is_alone(const struct notes *n)
{
	return segment->nr_threads <= 2 && n == notes_of(wire_threads(segment) + 1);
}

/* If a second thread starts just now, the peak is wrong by the bytes that it is adding. */
static inline void
raise_peak_alone(int64_t live)
{
	if (live <= sites->peak_bytes)
		return;
	sites->peak_bytes = live;
	__atomic_store_n(&sites->epoch, sites->epoch + 1, __ATOMIC_RELEASE);
}

/*
 * Bring R's part of the global sum to LIVE bytes.  The sum is briefly too low rather than too high:
 * a thread that adds to it afterwards notices a low sum, but a peak that is too high would stay.
 * False if another thread changed the part meanwhile.
 */
static bool
set_told(struct notes_recorder *r, int64_t live)
{
	int64_t told = __atomic_load_n(&r->told_bytes, __ATOMIC_RELAXED);
	const int64_t more = live - told;
	bool is_set;

	if (more < 0)
		sites_add_live(more);
	is_set = __atomic_compare_exchange_n(
		&r->told_bytes, &told, live, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	if (is_set && more > 0)
		sites_add_live(more);
	else if (!is_set && more < 0)
		sites_add_live(-more);
	return is_set;
}

/*
 * Add the live bytes of the holders to the global sum; changes that they make at this moment may be
 * missing.
 */
static void
ask_holders(void)
{
	for (uint32_t i = 1; i < segment->nr_threads && i <= NR_HOLDERS; i++) {
		struct notes *n = notes_of(wire_threads(segment) + i);
		struct notes_recorder *r = &n->of.recorder;

		if (__atomic_load_n(&n->turn, __ATOMIC_ACQUIRE) != notes_turn)
			continue;
		/* LIVE_BYTES may have changed before TOLD_BYTES did. */
		for (int tries = 0; tries < 2; tries++) {
			const int64_t live = __atomic_load_n(&r->live_bytes, __ATOMIC_RELAXED);

			if (live == __atomic_load_n(&r->told_bytes, __ATOMIC_RELAXED))
				break;
			set_told(r, live);
		}
	}
}

static bool
is_holder(const struct notes *n)
{
	return n > notes_of(wire_threads(segment)) &&
		n <= notes_of(wire_threads(segment) + NR_HOLDERS);
}

/*
 * Add the live bytes of N's thread to the global sum: they differ from its share by more than is
 * allowed.
 */
static SLOW void
tell(struct notes *n)
{
	struct notes_recorder *r = &n->of.recorder;
	int64_t live, part;

	if (!__atomic_load_n(&sites->has_rough_peak, __ATOMIC_RELAXED))
		__atomic_store_n(&sites->has_rough_peak, 1, __ATOMIC_RELAXED);
	while (!set_told(r, r->live_bytes))
		;
	live = sites_add_live(0);
	if (live > __atomic_load_n(&sites->peak_bytes, __ATOMIC_RELAXED)) {
		ask_holders();
		live = sites_change_live(0);
	}
	part = live / PENDING_PART / segment->nr_threads;
	r->most_ahead_bytes = part < 0 ? 0 : part > MOST_PENDING_BYTES ? MOST_PENDING_BYTES : part;
	r->most_behind_bytes = is_holder(n) ? MOST_PENDING_BYTES : r->most_ahead_bytes;
}

static inline void
change_live(struct notes *n, int64_t bytes)
{
	struct notes_recorder *r = &n->of.recorder;
	int64_t ahead;

	if (LIKELY(record_is_alone(n))) {
		const int64_t alone = sites->alone_bytes + bytes;

		__atomic_store_n(&sites->alone_bytes, alone, __ATOMIC_RELAXED);
		raise_peak_alone(alone + __atomic_load_n(&sites->live_bytes, __ATOMIC_RELAXED));
		return;
	}
	__atomic_store_n(&r->live_bytes, r->live_bytes + bytes, __ATOMIC_RELAXED);
	ahead = r->live_bytes - __atomic_load_n(&r->told_bytes, __ATOMIC_RELAXED);
	if (UNLIKELY(ahead > r->most_ahead_bytes || ahead < -r->most_behind_bytes))
		tell(n);
}

/* ---- sites ---- */

static inline uint64_t
now(const uint64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

static inline void
add_plainly(struct wire_amount *to, uint64_t bytes)
{
	__atomic_store_n(&to->units, to->units + WIRE_BLOCK_UNITS, __ATOMIC_RELAXED);
	__atomic_store_n(&to->bytes, to->bytes + bytes, __ATOMIC_RELAXED);
}

static inline void
record_add_shared(struct wire_amount *to, uint64_t bytes)
{
	__atomic_add_fetch(&to->units, WIRE_BLOCK_UNITS, __ATOMIC_RELAXED);
	__atomic_add_fetch(&to->bytes, bytes, __ATOMIC_RELAXED);
}

/*
 * S was unchanged since the peak before EPOCH: keep its values.  If several threads find this, one
 * of them does it.  A thread that was delayed after it read EPOCH may be too late for a later
 * epoch.
 */
static inline void
keep_peak_of(struct wire_site *s, uint32_t epoch)
{
	uint32_t was = __atomic_load_n(&s->epoch, __ATOMIC_RELAXED);
	const struct wire_amount live = { now(&s->allocated.units) - now(&s->freed.units) -
			now(&s->freed_elsewhere.units),
		now(&s->allocated.bytes) - now(&s->freed.bytes) - now(&s->freed_elsewhere.bytes) };

	if ((int32_t)(epoch - was) <= 0 ||
		!__atomic_compare_exchange_n(
			&s->epoch, &was, epoch, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&s->peak.units, live.units, __ATOMIC_RELAXED);
	__atomic_store_n(&s->peak.bytes, live.bytes, __ATOMIC_RELAXED);
}

/* Keep the values that S has had since the last peak, before they change. */
static inline void
record_keep_peak(struct wire_site *s)
{
	const uint32_t epoch = __atomic_load_n(&sites->epoch, __ATOMIC_ACQUIRE);

	if (UNLIKELY(__atomic_load_n(&s->epoch, __ATOMIC_RELAXED) != epoch))
		keep_peak_of(s, epoch);
}

/* If half of the sites are used, as by many short-lived threads, further threads share sites. */
static SLOW uint32_t
record_find_site(struct notes *n, struct stack_result *stack)
{
	const uint32_t node = stack->node;
	const bool is_own = node != UINT32_MAX &&
		__atomic_load_n(&sites->nr_sites, __ATOMIC_RELAXED) < sites->max_sites / 2;
	uint32_t site;

	if (is_own)
		site = sites_of(
			sites_child(node, wire_label(WIRE_LABEL_THREAD, n->of.recorder.tid)));
	else
		site = sites_of(node);
	if (is_own && site != WIRE_SITE_OF_NONE)
		__atomic_store_n(
			&wire_site(sites, site)->owner, n->of.recorder.tid, __ATOMIC_RELAXED);
	if (node != UINT32_MAX && site != WIRE_SITE_OF_NONE)
		stack->site = site;
	return site;
}

static inline uint32_t
site_of(struct notes *n, struct stack_result *stack)
{
	return LIKELY(stack->site) ? stack->site : record_find_site(n, stack);
}

static SLOW void
begin_turn(struct notes *n)
{
	const size_t at = (size_t)((unsigned char *)n - notes_of_all);

	n->of.recorder.live_bytes = n->of.recorder.told_bytes = 0;
	n->of.recorder.most_ahead_bytes = n->of.recorder.most_behind_bytes = 0;
	n->of.recorder.log = (struct log_queue){ .place = (uint32_t)(at / NOTES_BYTES) };
}

/* This is the first call of the thread, or the thread has taken the place of another. */
static SLOW void
record_move_in(struct notes *n, uint32_t tid)
{
	if (n->turn != notes_turn)
		begin_turn(n);
	/* From now on, other threads read the members that begin_turn() has set. */
	__atomic_store_n(&n->turn, notes_turn, __ATOMIC_RELEASE);
	n->of.recorder.last = NULL;
	n->of.recorder.tid = tid;
	stack_init(&n->stack, notes_more(n));
}

static inline void
agent_record_prepare(struct notes *n)
{
	const uint32_t tid = thread_id();

	if (UNLIKELY(n->of.recorder.tid != tid || n->turn != notes_turn))
		record_move_in(n, tid);
}

void
record_prepare(struct wire_thread *self)
{
	agent_record_prepare(notes_of(self));
}

/* ---- the log ---- */

static inline void
record_append(struct notes *n, enum wire_log_kind kind, uint32_t site, uint64_t bytes)
{
	if (log_is_open())
		log_append(&n->of.recorder.log, kind, site, bytes);
}

/* ---- events ---- */

static SLOW void
forget_one(uint64_t bytes)
{
	__atomic_add_fetch(&sites->nr_forgotten, 1, __ATOMIC_RELAXED);
	log_drop(bytes);
}

/* The block is not recorded, so its later free would be unknown. */
static SLOW void
lack_room(uint64_t bytes)
{
	record_add_shared(&sites->no_room, bytes);
	log_drop(bytes);
}

/*
 * Subtract BYTES of SITE, which were freed.  IS_LAST: at the address that the thread has allocated
 * last.  The bytes are temporary unless another thread has allocated that address since.  Returns
 * the kind of the log's event.
 */
INLINE enum wire_log_kind
record_subtract(struct notes *n, uint32_t site, uint64_t bytes, bool is_last)
{
	struct wire_site *s = wire_site(sites, site);
	bool is_soon = is_last;

	record_keep_peak(s);
	if (LIKELY(s->owner == n->of.recorder.tid)) {
		add_plainly(&s->freed, bytes);
		if (is_last)
			add_plainly(&s->temporary, bytes);
	} else {
		record_add_shared(&s->freed_elsewhere, bytes);
		is_soon = is_last && !s->owner;
		if (is_soon)
			record_add_shared(&s->temporary, bytes);
	}
	change_live(n, -(int64_t)bytes);
	return is_soon ? WIRE_LOG_FREED_SOON : WIRE_LOG_FREED;
}

/* A block of EARLIER had this address, and its free was missed. */
static SLOW void
record_end_earlier(struct notes *n, uint32_t earlier, uint64_t bytes)
{
	record_append(n, record_subtract(n, earlier, bytes, false), earlier, bytes);
}

static bool __attribute__((noinline))
keep_in_table(struct notes *n, const void *block, uint32_t site, uint64_t bytes)
{
	uint64_t earlier_bytes;
	const uint32_t earlier = table_take(block, &earlier_bytes);

	if (UNLIKELY(earlier))
		record_end_earlier(n, earlier, earlier_bytes);
	return table_put(block, site, bytes);
}

/* Record that BLOCK of BYTES is live and belongs to SITE.  False if no room is left. */
INLINE bool
record_keep(struct notes *n, const void *block, uint32_t site, uint64_t bytes)
{
	uint64_t earlier_bytes;
	uint32_t *words, earlier;

	if (UNLIKELY(notes_have_table))
		return keep_in_table(n, block, site, bytes);
	words = shadow_words(block);
	if (UNLIKELY(!words))
		words = shadow_make(block);
	if (UNLIKELY(!words))
		return false;
	if (UNLIKELY(bytes >> SHADOW_LEAF_BITS) && !chunk_is_mmapped(block))
		shadow_prepare(block, bytes);
	earlier = shadow_take(words, &earlier_bytes);
	if (UNLIKELY(earlier))
		record_end_earlier(n, earlier, earlier_bytes);
	shadow_set(words, site, bytes);
	return true;
}

INLINE void
record_take(struct notes *n, const void *block, size_t size)
{
	struct wire_site *s;
	uint32_t site;

	agent_record_prepare(n);
	/* The walk takes as long as it takes to load these. */
	if (LIKELY(!notes_have_table))
		__builtin_prefetch(shadow_words(block), 1);
	else
		table_prefetch(block);
	site = site_of(n, stack_find(&n->stack));
	n->of.recorder.last = block;
	if (UNLIKELY(!record_keep(n, block, site, size))) {
		lack_room(size);
		return;
	}
	s = wire_site(sites, site);
	record_keep_peak(s);
	if (LIKELY(s->owner == n->of.recorder.tid))
		add_plainly(&s->allocated, size);
	else
		record_add_shared(&s->allocated, size);
	change_live(n, (int64_t)size);
	record_append(n, WIRE_LOG_ALLOCATED, site, size);
}

void *
record_taken(struct wire_thread *self, void *block, size_t size)
{
	struct notes *n;

	if (UNLIKELY(!block || notes_are_off()))
		return block;
	n = notes_of(self);
	if (UNLIKELY(!notes_enter(self, n))) {
		notes_lose(size);
		return block;
	}
	record_take(n, block, size);
	notes_leave(n);
	return block;
}

static SLOW uint64_t
record_note_before(void *block)
{
	const uint64_t bytes = block_usable(block);

	record_add_shared(&sites->before, bytes);
	return bytes;
}

/* Remove BLOCK from the live blocks.  Returns its site; 0 if it is unknown. */
static inline uint32_t
record_forget(const void *block, uint64_t *ret_bytes)
{
	uint32_t *words;

	if (UNLIKELY(notes_have_table))
		return table_take(block, ret_bytes);
	words = shadow_words(block);
	return LIKELY(words) ? shadow_take(words, ret_bytes) : 0;
}

/*
 * BLOCK is about to be freed or resized; RET gets its data.  The log gets the event of a resize
 * when that has succeeded.
 */
INLINE void
give(struct notes *n, void *block, bool is_resized, struct record_resize *ret)
{
	enum wire_log_kind kind;

	agent_record_prepare(n);
	ret->site = record_forget(block, &ret->bytes);
	if (UNLIKELY(!ret->site)) {
		ret->bytes = record_note_before(block);
		return;
	}
	kind = record_subtract(
		n, ret->site, ret->bytes, !is_resized && n->of.recorder.last == block);
	if (!is_resized)
		record_append(n, kind, ret->site, ret->bytes);
}

void *
record_giving(struct wire_thread *self, void *block)
{
	struct record_resize was = { .bytes = 0 };
	struct notes *n;

	if (UNLIKELY(!block || notes_are_off()))
		return block;
	n = notes_of(self);
	if (LIKELY(notes_enter(self, n))) {
		give(n, block, false, &was);
		notes_leave(n);
	} else {
		notes_miss();
	}
	return block;
}

/* ---- resized ---- */

void
record_resizing(struct wire_thread *self, void *old, struct record_resize *ret)
{
	struct notes *n;

	*ret = (struct record_resize){ .bytes = 0 };
	if (UNLIKELY(notes_are_off()))
		return;
	n = notes_of(self);
	if (LIKELY(notes_enter(self, n))) {
		ret->turn = notes_turn;
		give(n, old, true, ret);
		notes_leave(n);
	} else {
		notes_miss();
	}
}

static inline void
record_take_back(struct wire_amount *from, uint64_t bytes)
{
	__atomic_sub_fetch(&from->units, WIRE_BLOCK_UNITS, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&from->bytes, bytes, __ATOMIC_RELAXED);
}

/*
 * Record the block again, as its resize failed.  Unlike a new block, it is not counted as
 * allocated.
 */
static SLOW void
keep_resized(struct wire_thread *self, const void *old, const struct record_resize *was)
{
	struct notes *n = notes_of(self);

	if (!was->bytes && !was->site)
		return;
	if (!notes_enter(self, n)) {
		if (was->site)
			notes_lose(was->bytes);
		return;
	}
	/* If recording has started again meanwhile, the block is not in the new notes. */
	if (was->turn == notes_turn && was->site) {
		struct wire_site *s = wire_site(sites, was->site);

		record_keep_peak(s);
		record_take_back(&s->freed_elsewhere, was->bytes);
		change_live(n, (int64_t)was->bytes);
		if (!record_keep(n, old, was->site, was->bytes))
			forget_one(was->bytes);
	} else if (was->turn == notes_turn) {
		record_take_back(&sites->before, was->bytes);
	}
	notes_leave(n);
}

/* Append the free of the resized block to the log. */
static inline void
append_resized(struct notes *n, const struct record_resize *was)
{
	if (was->site && was->turn == notes_turn)
		record_append(n, WIRE_LOG_FREED, was->site, was->bytes);
}

static SLOW void
drop_resized(const struct record_resize *was)
{
	if (!was->site || !sites_hold())
		return;
	log_drop(was->bytes);
	sites_let_go();
}

/* The block was freed, and no other block replaces it. */
static SLOW void
freed_resized(struct wire_thread *self, const struct record_resize *was)
{
	struct notes *n = notes_of(self);

	if (notes_enter(self, n)) {
		append_resized(n, was);
		notes_leave(n);
	} else {
		drop_resized(was);
	}
}

static void
taken_for(struct wire_thread *self, const void *block, size_t size, const struct record_resize *was)
{
	struct notes *n = notes_of(self);

	if (LIKELY(notes_enter(self, n))) {
		append_resized(n, was);
		record_take(n, block, size);
		notes_leave(n);
	} else {
		notes_lose(size);
		drop_resized(was);
	}
}

void *
record_resized(struct wire_thread *self, void *old, void *block, size_t size,
	const struct record_resize *r)
{
	if (notes_are_off())
		return block;
	if (LIKELY(block))
		taken_for(self, block, size, r);
	else if (size)
		keep_resized(self, old, r);
	else
		freed_resized(self, r);
	return block;
}
