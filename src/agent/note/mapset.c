#include <config.h>

#include "agent/note/mapset.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/note/log.h"
#include "agent/base/mapping.h"
#include "agent/base/memory.h"
#include "agent/note/sites.h"
#include "agent/base/sys.h"

/* A call of mmap() or mremap().  The pieces of the mapping are the parts that are left. */
struct mapset_entry {
	uint64_t counted_bytes;
	uint32_t nr_pieces;
	uint32_t site;
};

/*
 * A node of the tree, which is sorted by addresses and, from top to bottom, by random numbers.  So
 * the tree is flat on average, whatever the order of calls.
 */
struct mapset_piece {
	uintptr_t start, end;
	struct mapset_piece *left, *right;
	struct mapset_entry *mapping;
	uint32_t random;
	uint32_t call;	    /* the call that unmaps it; 0 if it stays */
	unsigned int state; /* enum page_state */
};

static struct mapset_piece *tree;

/* The queue of mappings in the log.  The thread that holds the lock appends to it. */
static struct log_queue queue = { .place = LOG_PLACE_OF_MAPPINGS };

/* ---- the lock ---- */

#define LOOKS 100
#define WAIT_SECONDS 2

static uint32_t lock_word; /* 0: free, 1: held, 2: held and another thread waits */
static bool is_stuck;	   /* its holder did not release it in time: do not wait again */

static bool
take_at_once(uint32_t to)
{
	uint32_t was = 0;

	return __atomic_compare_exchange_n(
		&lock_word, &was, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void
mapset_lose(void)
{
	__atomic_add_fetch(&sites->nr_mappings_lost, 1, __ATOMIC_RELAXED);
	log_drop(0);
}

static bool
take_lock(void)
{
	const struct timespec most = { .tv_sec = WAIT_SECONDS };
	bool is_mine = false;

	for (int i = 0; i < LOOKS; i++)
		if (take_at_once(1)) {
			is_stuck = false;
			return true;
		}
	/* Another thread may declare the lock stuck while this thread takes it. */
	while (!is_stuck && !is_mine) {
		is_mine = !__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE);
		if (!is_mine &&
			sys_call(SYS_futex, &lock_word, FUTEX_WAIT_PRIVATE, 2, &most) == -ETIMEDOUT)
			is_stuck = true;
	}
	if (!is_mine)
		mapset_lose();
	return is_mine;
}

static void
drop_lock(void)
{
	if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2)
		sys_call(SYS_futex, &lock_word, FUTEX_WAKE_PRIVATE, 1, NULL);
}

/* ---- memory ---- */

union mapset_slot {
	struct mapset_piece piece;
	struct mapset_entry mapping;
	union mapset_slot *next;
};

/*
 * The largest number of slots.  With a limit of addresses, the slots get only a part of them, but
 * at least LEAST_SLOTS.  All slots are mapped at the beginning: later, the kernel might map them
 * where the program has unmapped a range that it will unmap again together with its surroundings.
 */
#define MOST_SLOTS ((size_t)1 << 20)
#define LEAST_SLOTS ((size_t)4096)
#define SLOTS_PART 256

static struct {
	union mapset_slot *slot;
	size_t nr, nr_used; /* counted from the first slot; slots that were used at least once */
	union mapset_slot *free;
	size_t nr_free;
} pool;

/* True if NR more objects fit. */
static bool
mapset_has_room(size_t nr)
{
	return pool.nr_free + pool.nr - pool.nr_used >= nr;
}

static void *
new_slot(void)
{
	union mapset_slot *s = pool.free;

	if (!s)
		return &pool.slot[pool.nr_used++];
	pool.free = s->next;
	pool.nr_free--;
	return s;
}

static void
free_slot(void *slot)
{
	union mapset_slot *s = slot;

	s->next = pool.free;
	pool.free = s;
	pool.nr_free++;
}

/* ---- the tree ---- */

/* Split T into two trees: the pieces that begin below AT, and the rest. */
static void
mapset_split(
	struct mapset_piece *t, uintptr_t at, struct mapset_piece **low, struct mapset_piece **high)
{
	while (t) {
		if (t->start < at) {
			*low = t;
			low = &t->right;
			t = t->right;
		} else {
			*high = t;
			high = &t->left;
			t = t->left;
		}
	}
	*low = *high = NULL;
}

/* Join two trees; all of LOW is below HIGH. */
static struct mapset_piece *
mapset_join(struct mapset_piece *low, struct mapset_piece *high)
{
	struct mapset_piece *root, **to = &root;

	while (low && high) {
		if (low->random > high->random) {
			*to = low;
			to = &low->right;
			low = low->right;
		} else {
			*to = high;
			to = &high->left;
			high = high->left;
		}
	}
	*to = low ? low : high;
	return root;
}

/* The first piece that ends above AT. */
static struct mapset_piece *
mapset_find(uintptr_t at)
{
	struct mapset_piece *found = NULL;

	for (struct mapset_piece *t = tree; t;) {
		if (t->end > at) {
			found = t;
			t = t->left;
		} else {
			t = t->right;
		}
	}
	return found;
}

/* Remove the first piece from *T, and return it. */
static struct mapset_piece *
take_first(struct mapset_piece **t)
{
	struct mapset_piece *first;

	while ((*t)->left)
		t = &(*t)->left;
	first = *t;
	*t = first->right;
	first->right = NULL;
	return first;
}

static uint32_t
next_random(void)
{
	static uint32_t random = 2463534242;

	random ^= random << 13;
	random ^= random >> 17;
	random ^= random << 5;
	return random;
}

/* ---- pieces ---- */

static void
mapset_count(struct mapset_entry *m, uint64_t bytes)
{
	const bool is_first = !m->counted_bytes;

	if (!bytes)
		return;
	m->counted_bytes += bytes;
	sites_map(m->site, (struct wire_amount){ is_first ? WIRE_BLOCK_UNITS : 0, bytes });
	log_append_mapping(&queue, is_first ? WIRE_LOG_MAPPED : WIRE_LOG_GROWN, m->site, bytes);
}

static void
uncount(struct mapset_entry *m, uint64_t bytes)
{
	bool is_last;

	if (!bytes)
		return;
	m->counted_bytes -= bytes;
	is_last = !m->counted_bytes;
	sites_unmap(m->site, (struct wire_amount){ is_last ? WIRE_BLOCK_UNITS : 0, bytes });
	log_append_mapping(&queue, is_last ? WIRE_LOG_UNMAPPED : WIRE_LOG_SHRUNK, m->site, bytes);
}

static uint64_t
counted_bytes(const struct mapset_piece *p)
{
	return p->state & PAGE_COUNTS ? p->end - p->start : 0;
}

static struct mapset_piece *
new_piece(uintptr_t start, uintptr_t end, struct mapset_entry *m, unsigned int state)
{
	struct mapset_piece *p = new_slot();

	*p = (struct mapset_piece){
		.start = start, .end = end, .mapping = m, .random = next_random(), .state = state
	};
	m->nr_pieces++;
	return p;
}

static void
mapset_insert(struct mapset_piece *p)
{
	struct mapset_piece *low, *high;

	mapset_split(tree, p->start, &low, &high);
	tree = mapset_join(mapset_join(low, p), high);
}

static void
mapset_free_piece(struct mapset_piece *p)
{
	struct mapset_entry *m = p->mapping;

	free_slot(p);
	if (!--m->nr_pieces)
		free_slot(m);
}

static bool
mapset_is_inside(const struct mapset_piece *p, uintptr_t at)
{
	return p && p->start < at;
}

/* The number of additional pieces if [START, END) is cut out. */
static size_t
nr_cuts(uintptr_t start, uintptr_t end)
{
	return (size_t)mapset_is_inside(mapset_find(start), start) +
		mapset_is_inside(mapset_find(end), end);
}

/* Split the piece that contains AT into two. */
static void
mapset_cut(uintptr_t at)
{
	struct mapset_piece *p = mapset_find(at), *rest;

	if (!mapset_is_inside(p, at))
		return;
	rest = new_piece(at, p->end, p->mapping, p->state);
	rest->call = p->call;
	p->end = at;
	mapset_insert(rest);
}

static bool
is_one(const struct mapset_piece *a, const struct mapset_piece *b)
{
	return a->end == b->start && a->mapping == b->mapping && a->state == b->state &&
		a->call == b->call;
}

/* Join two pieces that meet at AT if they do not differ. */
static void
join_at(uintptr_t at)
{
	struct mapset_piece *a = at ? mapset_find(at - 1) : NULL, *b, *low, *high;

	if (!a || a->end != at)
		return;
	b = mapset_find(at);
	if (!b || !is_one(a, b))
		return;
	mapset_split(tree, at, &low, &high);
	take_first(&high);
	tree = mapset_join(low, high);
	a->end = b->end;
	mapset_free_piece(b);
}

/* ---- a range ---- */

/* A change of all pieces in [START, END), after the range was cut out of its surroundings. */
struct mapset_change {
	enum { REMOVE, LEAVE, END, PROTECT } what;
	uint32_t call;
	enum mapset_end how;
	int prot;
};

/* The state of pages of STATE that get the protection PROT (protect() in pages.c). */
static unsigned int
state_with(unsigned int state, int prot)
{
	if (state & PAGE_MEMORY)
		return prot == PROT_NONE ? state & ~(unsigned int)PAGE_COUNTS : state | PAGE_COUNTS;
	return prot & PROT_WRITE ? state | PAGE_COUNTS : state;
}

static void
set_state(struct mapset_piece *p, unsigned int state)
{
	if (state == p->state)
		return;
	uncount(p->mapping, counted_bytes(p));
	p->state = state;
	mapset_count(p->mapping, counted_bytes(p));
}

static bool
has_left(const struct mapset_piece *p, enum mapset_end how)
{
	return how == MAPSET_LEFT ||
		(how == MAPSET_UNKNOWN &&
			!mapping_is_there(
				p->start, mapping_page_end((void *)p->start, p->end - p->start)));
}

/* Apply C to P.  False if P is gone. */
static bool
change_piece(struct mapset_piece *p, const struct mapset_change *c)
{
	bool stays = c->what != REMOVE;

	if (c->what == LEAVE) {
		p->call = c->call;
	} else if (c->what == END && p->call == c->call) {
		p->call = 0;
		stays = !has_left(p, c->how);
	} else if (c->what == PROTECT) {
		set_state(p, state_with(p->state, c->prot));
	}
	if (!stays)
		uncount(p->mapping, counted_bytes(p));
	return stays;
}

/* Apply C to [START, END).  The caller has checked that the additional pieces fit. */
static void
change_range(uintptr_t start, uintptr_t end, const struct mapset_change *c)
{
	struct mapset_piece *low, *high, *of_range, *kept = NULL;

	mapset_cut(start);
	mapset_cut(end);
	mapset_split(tree, start, &low, &high);
	mapset_split(high, end, &of_range, &high);
	while (of_range) {
		struct mapset_piece *p = take_first(&of_range);

		if (change_piece(p, c))
			kept = mapset_join(kept, p);
		else
			mapset_free_piece(p);
	}
	tree = mapset_join(mapset_join(low, kept), high);
}

static bool
has_any(uintptr_t start, uintptr_t end)
{
	const struct mapset_piece *p = mapset_find(start);

	return p && p->start < end;
}

static void
agent_mapset_change(uintptr_t start, uintptr_t end, const struct mapset_change *c)
{
	if (!take_lock())
		return;
	if (has_any(start, end)) {
		if (mapset_has_room(nr_cuts(start, end)))
			change_range(start, end, c);
		else
			mapset_lose();
	}
	drop_lock();
}

/* ---- public functions ---- */

bool
mapset_may_have(void)
{
	return __atomic_load_n(&tree, __ATOMIC_RELAXED);
}

static void
put_parts(const struct mapset_part *parts, size_t nr, uint32_t site)
{
	struct mapset_entry *m = nr ? new_slot() : NULL;

	if (!m)
		return;
	*m = (struct mapset_entry){ .site = site, .nr_pieces = 1 };
	for (size_t i = 0; i < nr; i++) {
		const struct mapset_part *p = &parts[i];
		struct mapset_piece *piece;

		if (!p->state || p->state == PAGE_NOTHING)
			continue;
		piece = new_piece(p->start, p->end, m, p->state);
		mapset_insert(piece);
		mapset_count(m, counted_bytes(piece));
	}
	if (!--m->nr_pieces)
		free_slot(m);
}

void
mapset_put(
	uintptr_t start, uintptr_t end, const struct mapset_part *parts, size_t nr, uint32_t site)
{
	if (!take_lock())
		return;
	if (mapset_has_room(nr_cuts(start, end) + (nr ? nr + 1 : 0))) {
		change_range(start, end, &(struct mapset_change){ .what = REMOVE });
		put_parts(parts, nr, site);
	} else {
		mapset_lose();
	}
	drop_lock();
}

void
mapset_leave(uintptr_t start, uintptr_t end, uint32_t call)
{
	agent_mapset_change(start, end, &(struct mapset_change){ .what = LEAVE, .call = call });
}

void
mapset_end(uintptr_t start, uintptr_t end, uint32_t call, enum mapset_end how)
{
	agent_mapset_change(
		start, end, &(struct mapset_change){ .what = END, .call = call, .how = how });
}

/*
 * True if the change of protection has an effect.  Most calls have no effect: they make code
 * writable, and executable again.
 */
static bool
has_other(uintptr_t start, uintptr_t end, int prot)
{
	for (const struct mapset_piece *p = mapset_find(start); p && p->start < end;
		p = mapset_find(p->end))
		if (state_with(p->state, prot) != p->state)
			return true;
	return false;
}

void
mapset_protect(uintptr_t start, uintptr_t end, int prot)
{
	if (!take_lock())
		return;
	if (has_other(start, end, prot)) {
		if (mapset_has_room(nr_cuts(start, end))) {
			change_range(start, end,
				&(struct mapset_change){ .what = PROTECT, .prot = prot });
			join_at(start);
			join_at(end);
		} else {
			mapset_lose();
		}
	}
	drop_lock();
}

static size_t
mapset_read_parts(uintptr_t start, uintptr_t end, struct mapset_part *ret, size_t room)
{
	size_t nr = 0;

	for (const struct mapset_piece *p = mapset_find(start); p && p->start < end;
		p = mapset_find(p->end)) {
		const uintptr_t from = p->start > start ? p->start : start;
		uintptr_t to = mapping_page_end((void *)p->start, p->end - p->start);

		to = to < end ? to : end;
		if (nr &&
			(nr == room || (ret[nr - 1].end == from && ret[nr - 1].state == p->state)))
			ret[nr - 1].end = to;
		else
			ret[nr++] = (struct mapset_part){ from, to, p->state };
	}
	return nr;
}

size_t
mapset_read(uintptr_t start, uintptr_t end, struct mapset_part *ret, size_t room)
{
	size_t nr;

	if (!take_lock())
		return 0;
	nr = mapset_read_parts(start, end, ret, room);
	drop_lock();
	return nr;
}

bool
mapset_begin(uint64_t limit_bytes)
{
	const uint64_t most = limit_bytes / SLOTS_PART / sizeof(union mapset_slot);
	const size_t nr = most > MOST_SLOTS ? MOST_SLOTS : most < LEAST_SLOTS ? LEAST_SLOTS : most;

	if (pool.slot)
		return true;
	pool.slot = memory_map(-1, 0, nr * sizeof(union mapset_slot));
	if (!pool.slot)
		return false;
	pool.nr = nr;
	memory_note(WIRE_MEMORY_LIVE_SET, pool.slot, nr * sizeof(union mapset_slot));
	return true;
}

void
mapset_forget(void)
{
	if (pool.nr_used)
		memory_clear(pool.slot, pool.nr_used * sizeof(union mapset_slot));
	tree = NULL;
	pool.free = NULL;
	pool.nr_free = pool.nr_used = 0;
	queue = (struct log_queue){ .place = LOG_PLACE_OF_MAPPINGS };
	lock_word = 0;
	is_stuck = false;
}
