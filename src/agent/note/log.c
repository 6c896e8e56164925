#include <config.h>

#include "agent/note/log.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "agent/base/memory.h"
#include "agent/base/real.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"

static struct log_own nothing;
struct log_own *log_own = &nothing;

/* ---- the time ---- */

/*
 * CLOCK_MONOTONIC_COARSE is read without a system call, whatever the clock source is: do_coarse()
 * of lib/vdso/gettimeofday.c; before Linux 5.3 vclock_gettime.c of x86, and the vDSO of arm64.
 */
static int (*read_clock)(clockid_t, struct timespec *);

#if defined __x86_64__
#define CLOCK_SYMBOL "__vdso_clock_gettime"
#else
#define CLOCK_SYMBOL "__kernel_clock_gettime"
#endif

static uint64_t
log_now_ns(void)
{
	struct timespec t;

	read_clock(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The load bias of the object with HEADER: its address minus the address in its file. */
static uintptr_t
bias_of(const ElfW(Ehdr) * header, const ElfW(Phdr) * ph)
{
	for (int i = 0; i < header->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			return (uintptr_t)header + ph[i].p_offset - ph[i].p_vaddr;
	return (uintptr_t)header;
}

static bool
find_clock(const void *vdso)
{
	const ElfW(Ehdr) *header = vdso;
	struct dl_phdr_info info = { 0 };
	struct timespec t;

	if (read_clock || !header)
		return read_clock;
	info.dlpi_phdr = (const void *)((uintptr_t)header + header->e_phoff);
	info.dlpi_phnum = header->e_phnum;
	info.dlpi_addr = bias_of(header, info.dlpi_phdr);
	read_clock =
		(int (*)(clockid_t, struct timespec *))real_symbol(&info, CLOCK_SYMBOL, STT_FUNC);
	if (read_clock && read_clock(CLOCK_MONOTONIC_COARSE, &t) != 0)
		read_clock = NULL;
	return read_clock;
}

/* ---- beginning ---- */

static bool
make_own(void)
{
	struct log_own *own;

	if (log_own != &nothing)
		return true;
	own = memory_map(-1, 0, agent_page_bytes);
	if (!own)
		return false;
	sys_call(SYS_madvise, own, agent_page_bytes, MADV_WIPEONFORK);
	memory_note(WIRE_MEMORY_THREADS, own, agent_page_bytes);
	log_own = own;
	return true;
}

/*
 * True if the thread may read the counter of wire_stamp(). prctl() can make that raise SIGSEGV
 * (PR_SET_TSC), which threads and children inherit.
 */
static bool
may_stamp(void)
{
	int how = PR_TSC_ENABLE;

	sys_call(SYS_prctl, PR_GET_TSC, &how);
	return how == PR_TSC_ENABLE;
}

bool
log_prepare(const void *vdso)
{
	return may_stamp() && find_clock(vdso) && make_own();
}

void
agent_log_begin(struct wire_log *l, bool wants_open)
{
	if (l && wants_open) {
		l->opened_ns = log_now_ns();
		l->is_open = 1;
		/* Last: until then memdiag opens no log. */
		__atomic_store_n(&l->nr_openings, 1, __ATOMIC_RELEASE);
	}
	if (l || log_own->log)
		log_own->log = l;
}

/* ---- blocks ---- */

/* An event takes at most four words: two for a time, and two for the event. */
#define MOST_WORDS 4
#define BLOCK_WORDS (sizeof((struct wire_log_block *)0)->word / sizeof(uint64_t))

static void
note_touched(struct wire_log *l, uint32_t nr)
{
	uint32_t was = __atomic_load_n(&l->nr_touched, __ATOMIC_RELAXED);

	while (was < nr &&
		!__atomic_compare_exchange_n(
			&l->nr_touched, &was, nr, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/*
 * Set the lowest clear bit among the first NR bits of WORD.  Returns its index, or 64 if all are
 * set.
 */
static uint32_t
log_set_bit(uint64_t *word, uint32_t nr)
{
	const uint64_t mask = nr < 64 ? (UINT64_C(1) << nr) - 1 : UINT64_MAX;
	uint64_t was = __atomic_load_n(word, __ATOMIC_RELAXED), bit;

	do {
		if (!(~was & mask))
			return 64;
		bit = ~was & -~was;
	} while (!__atomic_compare_exchange_n(
		word, &was, was | bit, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return (uint32_t)__builtin_ctzll(bit);
}

/* An owner and, in the upper half, its is_full. */
typedef uint64_t __attribute__((may_alias)) owner_and_full;
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the owner is the lower half");

/* Make PLACE the owner of B.  False if B was not free. */
static bool
own_block(struct wire_log_block *b, uint32_t place)
{
	const uint64_t mine = place + UINT64_C(1);
	uint64_t nobody = 0;

	return __atomic_compare_exchange_n((owner_and_full *)&b->owner, &nobody, mine, false,
		__ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * Take the lowest free block, since a block that was never used takes more memory.  NULL if all are
 * taken.
 */
static struct wire_log_block *
take_block(struct wire_log *l, uint32_t place)
{
	/* Read once: it becomes 0 in a child that a signal handler forks meanwhile. */
	const uint32_t nr = l->nr_blocks;

	for (uint32_t first = 0; first < nr; first += 64) {
		uint64_t *word = &wire_log_taken(l)[first / 64];
		uint32_t i;

		while ((i = log_set_bit(word, nr - first)) < 64) {
			note_touched(l, first + i + 1);
			if (own_block(wire_log_block(l, first + i), place))
				return wire_log_block(l, first + i);
		}
	}
	return NULL;
}

/* Give Q another block at the time NOW.  False if all are taken. */
static bool
next_block(struct log_queue *q, struct wire_log *l, uint32_t opening, uint64_t now)
{
	if (q->block)
		__atomic_store_n(&q->block->is_full, 1, __ATOMIC_RELEASE);
	q->block = q->failed_ns == now ? NULL : take_block(l, q->place);
	if (!q->block) {
		q->failed_ns = now;
		return false;
	}
	q->failed_ns = 0;
	q->opening = opening;
	q->nr_words = 0;
	q->time_ns = 0;
	q->block->nr_words = 0;
	q->block->opening = opening;
	__atomic_store_n(&q->block->number, ++q->nr_blocks, __ATOMIC_RELEASE);
	return true;
}

/* ---- events ---- */

void
log_drop(uint64_t bytes)
{
	struct wire_log *l = log_own->log;

	if (!l || !l->is_open)
		return;
	__atomic_add_fetch(&l->nr_dropped, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&l->dropped_bytes, bytes, __ATOMIC_RELAXED);
}

static inline void
agent_log_put(struct log_queue *q, uint64_t word)
{
	q->block->word[q->nr_words++] = word;
}

/* Append a time to Q: the clock shows NOW, and the counter STAMP. */
static inline void
log_put_time(struct log_queue *q, uint64_t now, uint64_t stamp)
{
	agent_log_put(q, wire_log_time(now));
	agent_log_put(q, stamp);
	q->time_ns = now;
	q->stamp = stamp;
}

/*
 * The place that is alone, read after the counter.  A processor may read memory before the counter,
 * unless the address depends on the counter.
 */
static inline uint32_t
alone_after(const struct wire_log *l, uint64_t stamp)
{
#if defined __x86_64__
	__asm__ volatile("and $0, %0" : "+r"(stamp) : : "cc");
#elif defined __aarch64__
	__asm__ volatile("and %0, %0, xzr" : "+r"(stamp));
#else
	stamp = 0;
#endif
	return __atomic_load_n((const uint32_t *)((uintptr_t)&l->alone + stamp), __ATOMIC_ACQUIRE);
}

/* More turns than this, each within WIRE_LOG_FRESH of the last time, cost more than stamps do. */
#define MOST_TURNS 4

/*
 * Make the place of Q the only one that appends, or one of several.  The other places append before
 * the stamp, or see this change.  If another place has become alone since, it may have a lower
 * stamp for an event that it appends after this one.  Get another stamp, shared with that place.
 * The other places then have no reason to be alone, so this ends.
 */
static SLOW uint64_t
log_take_turn(struct log_queue *q, struct wire_log *l)
{
	uint64_t stamp = wire_stamp();
	uint32_t turn;

	if (stamp - q->stamp >= WIRE_LOG_FRESH)
		q->nr_turns = 0;
	turn = q->nr_turns++ < MOST_TURNS ? q->place + 1 : WIRE_LOG_TOGETHER;
	for (;;) {
		__atomic_exchange_n(&l->alone, turn, __ATOMIC_SEQ_CST);
		stamp = wire_stamp();
		if (LIKELY(alone_after(l, stamp) == turn))
			break;
		turn = WIRE_LOG_TOGETHER;
	}
	log_put_time(q, log_now_ns(), stamp);
	return stamp;
}

/*
 * stamp_own() and the functions below return 0 if another place has taken the turn, which this
 * thread would not notice otherwise.
 */
static inline uint64_t
stamp_own(struct log_queue *q, const struct wire_log *l, uint32_t turn)
{
	const uint64_t stamp = wire_stamp();

	if (UNLIKELY(turn && alone_after(l, stamp) != turn))
		return 0;
	if (UNLIKELY(!q->time_ns || stamp - q->stamp >= WIRE_LOG_FRESH))
		log_put_time(q, log_now_ns(), stamp);
	return stamp;
}

static inline uint64_t
stamp_of_time(struct log_queue *q, const struct wire_log *l)
{
	const uint64_t now = log_now_ns();
	uint64_t stamp;

	if (LIKELY(q->time_ns == now))
		return q->stamp;
	stamp = wire_stamp();
	if (UNLIKELY(alone_after(l, stamp) != q->place + 1))
		return 0;
	log_put_time(q, now, stamp);
	return stamp;
}

/*
 * Begin an event: set its mark, then get its stamp.  A later reader that sees the mark knows that
 * an event may come which is older than those that other places append.
 */
static inline uint64_t
begin_stamp(struct log_queue *q, struct wire_log *l)
{
	uint64_t stamp = 0;
	uint32_t turn;

	__atomic_store_n(&q->block->nr_words, q->nr_words | WIRE_LOG_IS_STAMPING, __ATOMIC_RELAXED);
	if (q->place == LOG_PLACE_OF_MAPPINGS)
		return stamp_own(q, l, 0);
	turn = __atomic_load_n(&l->alone, __ATOMIC_RELAXED);
	if (LIKELY(turn == q->place + 1))
		stamp = stamp_of_time(q, l);
	else if (turn == WIRE_LOG_TOGETHER)
		stamp = stamp_own(q, l, turn);
	return LIKELY(stamp) ? stamp : log_take_turn(q, l);
}

/*
 * Make room for an event of BYTES in another block, as that of Q is full.  False: the event is
 * dropped.
 */
static SLOW bool
log_make_room(struct log_queue *q, struct wire_log *l, uint32_t opening, uint64_t bytes)
{
	if (next_block(q, l, opening, log_now_ns()))
		return true;
	log_drop(bytes);
	return false;
}

/*
 * Make room for an event of BYTES in Q, after its time; *RET_STAMP is its stamp.  False: the event
 * is dropped, or no log is open.
 */
static inline bool
begin_event(struct log_queue *q, uint64_t bytes, uint64_t *ret_stamp)
{
	struct wire_log *l = log_own->log;
	const uint32_t opening = l ? __atomic_load_n(&l->is_open, __ATOMIC_RELAXED) : 0;

	if (UNLIKELY(!opening))
		return false;
	if (UNLIKELY(
		    !q->block || q->opening != opening || q->nr_words > BLOCK_WORDS - MOST_WORDS) &&
		!log_make_room(q, l, opening, bytes))
		return false;
	*ret_stamp = begin_stamp(q, l);
	return true;
}

static inline void
end_event(struct log_queue *q)
{
	__atomic_store_n(&q->block->nr_words, q->nr_words, __ATOMIC_RELEASE);
}

void
log_append(struct log_queue *q, enum wire_log_kind kind, uint32_t site, uint64_t bytes)
{
	uint64_t stamp;

	if (UNLIKELY(!begin_event(q, bytes, &stamp)))
		return;
	agent_log_put(q, wire_log_event(kind, site, bytes, stamp));
	if (UNLIKELY(bytes >= WIRE_LOG_MANY_BYTES))
		agent_log_put(q, bytes);
	end_event(q);
}

void
log_append_mapping(struct log_queue *q, enum wire_log_kind kind, uint32_t site, uint64_t bytes)
{
	uint64_t stamp;

	if (!begin_event(q, bytes, &stamp))
		return;
	agent_log_put(q, wire_log_event(WIRE_LOG_ALLOCATED, site, WIRE_LOG_MANY_BYTES, stamp));
	agent_log_put(q, wire_log_mapping(kind, bytes));
	end_event(q);
}
