/*
 *	root	[]	1 GiB each: region -> entry: node | has tags | state of units whose tag has
 *			no state
 *	node	tag[]	2 MiB each: has words | state of pages whose word has no state
 *		word[][] 16 pages each, 4 bits for each: state; 0: the tag's state
 *
 * (With pages of 4 KiB.) A state lower in the table overrides those above it, so part of a large
 * range can be changed without splitting the range.  Lower levels are allocated at their first use
 * and kept.
 */
#include <config.h>

#include "agent/count/pages.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/base/memory.h"
#include "agent/base/segment.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"

#define PAGES_PER_WORD 16
#define WORDS_PER_UNIT 32
#define PAGES_PER_UNIT (PAGES_PER_WORD * WORDS_PER_UNIT)
#define UNITS_PER_NODE 512
#define PAGES_PER_NODE (PAGES_PER_UNIT * UNITS_PER_NODE)
#define NODES_PER_REGION 512
#if defined __aarch64__
#define ADDRESS_BITS 48
#else
#define ADDRESS_BITS 47
#endif
#define REGIONS ((UINT64_C(1) << ADDRESS_BITS) / 4096 / PAGES_PER_NODE / NODES_PER_REGION)

/* Bit 0 of each of the sixteen pages. */
#define EACH UINT64_C(0x1111111111111111)

struct pages_node {
	uint64_t word[UNITS_PER_NODE][WORDS_PER_UNIT];
	/*
	 * For each page the number of its bytes that do not count because a mapping ends in it;
	 * NULL if the unit has no such page.
	 */
	uint16_t *tails[UNITS_PER_NODE];
	uint8_t tag[UNITS_PER_NODE];
} __attribute__((aligned(4096))); /* leaves low bits of an entry free for flags */
#define TAG_HAS_WORDS 0x80

struct pages_region {
	uint64_t entry[NODES_PER_REGION];
};
/* Bits of an entry. */
#define HAS_TAGS UINT64_C(16)
#define NODE_BITS UINT64_C(0x0000fffffffff000)
#define START_SHIFT 48 /* above the node: the start of counting, see starts() */

/*
 * Enough for most programs.  A page from the kernel might lie where the program has just unmapped
 * something that it is about to map over.
 */
#define FIRST_REGIONS 4
#define FIRST_NODES 8
#define FIRST_TAILS 32

static struct pages_region *root[REGIONS];
static struct pages_region first_regions[FIRST_REGIONS];
static struct pages_node first_nodes[FIRST_NODES];
static uint16_t first_tails[FIRST_TAILS][PAGES_PER_UNIT];
static unsigned int used_regions, used_nodes, used_tails;
/* Nodes of an earlier start of counting, all zero. */
static struct pages_node *spare_node;

/* ---- memory for the table ---- */

/*
 * Return a table of SIZE bytes: one of the NR at FIRST or, when all are used, one from the kernel.
 * NULL if no memory is available.
 */
static void *
pages_allocate(void *first, unsigned int nr, size_t size, unsigned int *used)
{
	unsigned int i = __atomic_load_n(used, __ATOMIC_RELAXED);
	long at;

	while (i < nr)
		if (__atomic_compare_exchange_n(
			    used, &i, i + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return (char *)first + i * size;
	at = sys_call(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return sys_failed(at) ? NULL : (void *)at;
}

/*
 * Another thread installed its table first.  If the table is one of the first NR, it stays unused.
 */
static void
pages_give_back(void *at, const void *first, unsigned int nr, size_t size)
{
	if ((uintptr_t)at - (uintptr_t)first >= nr * size)
		sys_call(SYS_munmap, at, size);
}

/*
 * The number of starts of counting in a process that ran already, see wire.h: entries of earlier
 * starts are no longer valid.
 */
static uint64_t
starts(void)
{
	return (uint64_t)(segment->nr_starts & 0xffff) << START_SHIFT;
}

static struct pages_region *
region_at(size_t i, bool may_make)
{
	struct pages_region *r = __atomic_load_n(&root[i], __ATOMIC_ACQUIRE), *made;

	if (r || !may_make)
		return r;
	made = pages_allocate(first_regions, FIRST_REGIONS, sizeof *made, &used_regions);
	if (!made ||
		__atomic_compare_exchange_n(
			&root[i], &r, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return made;
	pages_give_back(made, first_regions, FIRST_REGIONS, sizeof *made);
	return r;
}

static struct pages_node *
node_of(uint64_t entry)
{
	return (struct pages_node *)(uintptr_t)(entry & NODE_BITS);
}

/* The present value of the entry AT, without states of an earlier start of counting. */
static uint64_t
entry_now(const uint64_t *at)
{
	uint64_t entry = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	return entry >> START_SHIFT == starts() >> START_SHIFT ? entry : 0;
}

/* Reuse N of an earlier start of counting. memdiag has waited until no thread uses it. */
static void
reuse(struct pages_node *n)
{
	memset(n->word, 0, sizeof n->word);
	memset(n->tag, 0, sizeof n->tag);
	for (size_t i = 0; i < UNITS_PER_NODE; i++)
		if (n->tails[i])
			memset(n->tails[i], 0, sizeof first_tails[0]);
	__atomic_store_n(&spare_node, n, __ATOMIC_RELEASE);
}

/*
 * Replace the value of the entry AT, which entry_now() returned as NOW.  False if it has changed.
 */
static bool
entry_set(uint64_t *at, uint64_t now, uint64_t entry)
{
	uint64_t raw = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	const bool is_old = raw >> START_SHIFT != starts() >> START_SHIFT;
	struct pages_node *left = is_old ? node_of(raw) : NULL;

	if ((is_old ? 0 : raw) != now ||
		!__atomic_compare_exchange_n(at, &raw,
			(entry & ~(UINT64_MAX << START_SHIFT)) | starts(), false, __ATOMIC_ACQ_REL,
			__ATOMIC_ACQUIRE))
		return false;
	if (left)
		reuse(left);
	return true;
}

static struct pages_node *
pages_new_node(void)
{
	struct pages_node *n = __atomic_exchange_n(&spare_node, NULL, __ATOMIC_ACQ_REL);

	return n ? n : pages_allocate(first_nodes, FIRST_NODES, sizeof *n, &used_nodes);
}

/* The node of the entry AT, marked as used; NULL if no memory is available. */
static struct pages_node *
pages_node_at(uint64_t *at)
{
	uint64_t entry = entry_now(at);
	struct pages_node *made = NULL;

	while (!(entry & HAS_TAGS)) {
		if (!node_of(entry) && !made)
			made = pages_new_node();
		if (!node_of(entry) && !made)
			return NULL;
		entry_set(at, entry, entry | HAS_TAGS | (node_of(entry) ? 0 : (uintptr_t)made));
		entry = entry_now(at);
	}
	if (made && node_of(entry) != made)
		pages_give_back(made, first_nodes, FIRST_NODES, sizeof *made);
	return node_of(entry);
}

static uint16_t *
tails_of(struct pages_node *n, size_t unit)
{
	uint16_t *tails = __atomic_load_n(&n->tails[unit], __ATOMIC_ACQUIRE), *made;
	const size_t size = sizeof first_tails[0];

	if (tails)
		return tails;
	made = pages_allocate(first_tails, FIRST_TAILS, size, &used_tails);
	if (!made ||
		__atomic_compare_exchange_n(
			&n->tails[unit], &tails, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return made;
	pages_give_back(made, first_tails, FIRST_TAILS, size);
	return tails;
}

void
pages_unlock(void)
{
	memory_unlock(first_nodes, sizeof first_nodes);
}

/* ---- sixteen pages ---- */

struct pages_change {
	enum {
		PUT,
		LEAVE,
		STAY,
		FORGET,
		PROTECT,
	} how;
	uint64_t states; /* for PUT: one state, sixteen times */
	int prot;
	bool is_trial;
};

/* Bit 0 of each of the sixteen states that is not 0. */
static uint64_t
pages_known(uint64_t w)
{
	w |= w >> 2;
	return (w | w >> 1) & EACH;
}

static uint64_t
counting(uint64_t w)
{
	return w & ~(w >> 3) & EACH;
}

/* The states W, with STATE in place of each 0. */
static uint64_t
with_inherited(uint64_t w, unsigned int state)
{
	return w | (EACH & ~pages_known(w)) * state;
}

static uint64_t
agent_pages_protect(uint64_t w, int prot)
{
	const uint64_t memory = w >> 1 & ~(w >> 2) & ~(w >> 3) & EACH;
	const uint64_t copies = w >> 2 & ~(w >> 1) & ~(w >> 3) & EACH;

	if (prot == PROT_NONE)
		return w & ~memory;
	return w | memory | (prot & PROT_WRITE ? copies : 0);
}

static uint64_t
changed(const struct pages_change *c, uint64_t w)
{
	uint64_t leaving;

	switch (c->how) {
	case PUT:
		return c->states;
	case LEAVE:
		return w | pages_known(w) << 3;
	case STAY:
		return w & ~(EACH << 3);
	case FORGET:
		leaving = w >> 3 & EACH;
		return (w & ~(leaving * PAGE_STATES)) | leaving * PAGE_NOTHING;
	case PROTECT:
		return agent_pages_protect(w, c->prot);
	}
	return w;
}

/* The number of pages of which BITS has bit 0 set; BITS has no other bits. */
static int64_t
nr_set(uint64_t bits)
{
	bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (int64_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* The bytes of the pages in COUNTS, whose tails are TAILS. */
static int64_t
pages_bytes_of(uint64_t counts, uint16_t *tails)
{
	int64_t bytes = nr_set(counts) * (int64_t)agent_page_bytes;

	for (unsigned int i = 0; tails && i < PAGES_PER_WORD; i++)
		if (counts >> 4 * i & 1)
			bytes -= __atomic_load_n(&tails[i], __ATOMIC_RELAXED);
	return bytes;
}

static void
clear_tails(uint64_t mask, uint16_t *tails)
{
	for (unsigned int i = 0; tails && i < PAGES_PER_WORD; i++)
		if (mask >> 4 * i & 1)
			__atomic_store_n(&tails[i], 0, __ATOMIC_RELAXED);
}

/* Change the pages of MASK in the word AT.  A page whose state is 0 has the state INHERITED. */
static int64_t
change_word(uint64_t *at, uint64_t mask, unsigned int inherited, uint16_t *tails,
	const struct pages_change *c)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED), was, now;
	int64_t bytes;

	do {
		was = with_inherited(old, inherited) & mask;
		now = changed(c, was) & mask;
	} while (now != was && !c->is_trial &&
		!__atomic_compare_exchange_n(
			at, &old, (old & ~mask) | now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	bytes = pages_bytes_of(counting(was), tails);
	if (c->how == PUT)
		clear_tails(mask, tails);
	return pages_bytes_of(counting(now), tails) - bytes;
}

/* ---- a unit ---- */

static int64_t
bytes_in_state(uint64_t state, int64_t nr_pages)
{
	return (state & (PAGE_COUNTS | PAGE_LEAVES)) == PAGE_COUNTS
		? nr_pages * (int64_t)agent_page_bytes
		: 0;
}

/* Change all pages of a unit whose words hold no state. */
static int64_t
change_tag(uint8_t *tag, unsigned int inherited, const struct pages_change *c)
{
	const unsigned int now = changed(c, EACH * inherited) & PAGE_STATES;

	if (now != inherited && !c->is_trial)
		__atomic_store_n(tag, (uint8_t)now, __ATOMIC_RELAXED);
	return bytes_in_state(now, PAGES_PER_UNIT) - bytes_in_state(inherited, PAGES_PER_UNIT);
}

/* The words are cleared first, so that the state of each page can be read at any moment. */
static int64_t
put_unit(struct pages_node *n, size_t unit, unsigned int inherited, const struct pages_change *c)
{
	uint16_t *tails = __atomic_load_n(&n->tails[unit], __ATOMIC_ACQUIRE);
	int64_t was = 0;
	uint64_t w;

	for (size_t i = 0; i < WORDS_PER_UNIT; i++) {
		uint16_t *of_word = tails ? tails + i * PAGES_PER_WORD : NULL;

		w = __atomic_exchange_n(&n->word[unit][i], 0, __ATOMIC_RELAXED);
		was += pages_bytes_of(counting(with_inherited(w, inherited)), of_word);
		clear_tails(UINT64_MAX, of_word);
	}
	__atomic_store_n(&n->tag[unit], (uint8_t)(c->states & PAGE_STATES), __ATOMIC_RELAXED);
	return bytes_in_state(c->states & PAGE_STATES, PAGES_PER_UNIT) - was;
}

static uint64_t
mask_of(size_t first, size_t end)
{
	const uint64_t from = UINT64_MAX << 4 * first;

	return end == PAGES_PER_WORD ? from : from & ~(UINT64_MAX << 4 * end);
}

/* Change the pages [FIRST, END) of the unit. */
static int64_t
change_unit(struct pages_node *n, size_t unit, unsigned int above, size_t first, size_t end,
	const struct pages_change *c)
{
	const uint8_t tag = __atomic_load_n(&n->tag[unit], __ATOMIC_RELAXED);
	const unsigned int inherited = tag & PAGE_STATES ? tag & PAGE_STATES : above;
	uint16_t *tails = __atomic_load_n(&n->tails[unit], __ATOMIC_ACQUIRE);
	const bool is_whole = first == 0 && end == PAGES_PER_UNIT;
	int64_t bytes = 0;

	if (is_whole && !(tag & TAG_HAS_WORDS))
		return change_tag(&n->tag[unit], inherited, c);
	if (is_whole && c->how == PUT)
		return put_unit(n, unit, inherited, c);
	if (!(tag & TAG_HAS_WORDS) && !c->is_trial)
		__atomic_fetch_or(&n->tag[unit], TAG_HAS_WORDS, __ATOMIC_RELAXED);
	for (size_t at = first, next; at < end; at = next) {
		const size_t word = at / PAGES_PER_WORD, start = word * PAGES_PER_WORD;

		next = start + PAGES_PER_WORD < end ? start + PAGES_PER_WORD : end;
		bytes += change_word(&n->word[unit][word], mask_of(at - start, next - start),
			inherited, tails ? tails + start : NULL, c);
	}
	return bytes;
}

/* ---- a node, and all of them ---- */

static int64_t
change_units(struct pages_node *n, unsigned int above, size_t first, size_t end,
	const struct pages_change *c)
{
	int64_t bytes = 0;

	for (size_t at = first, next; at < end; at = next) {
		const size_t unit = at / PAGES_PER_UNIT, start = unit * PAGES_PER_UNIT;

		next = start + PAGES_PER_UNIT < end ? start + PAGES_PER_UNIT : end;
		bytes += change_unit(n, unit, above, at - start, next - start, c);
	}
	return bytes;
}

/* Change all pages of an entry. */
static int64_t
change_entry(uint64_t *at, const struct pages_change *c)
{
	const struct pages_change nothing = { .how = PUT };
	uint64_t entry = entry_now(at);
	const unsigned int state = entry & PAGE_STATES;
	const unsigned int now = changed(c, EACH * state) & PAGE_STATES;
	int64_t was = bytes_in_state(state, PAGES_PER_NODE);

	if (entry & HAS_TAGS && c->how != PUT)
		return change_units(node_of(entry), state, 0, PAGES_PER_NODE, c);
	if (entry & HAS_TAGS)
		was = -change_units(node_of(entry), state, 0, PAGES_PER_NODE, &nothing);
	if ((now != state || entry & HAS_TAGS) && !c->is_trial)
		entry_set(at, entry, (entry & NODE_BITS) | now);
	return bytes_in_state(now, PAGES_PER_NODE) - was;
}

/* No memory is available to record a part.  The count then becomes too small, not too large. */
static int64_t
pages_give_up(uint64_t *at)
{
	const struct pages_change nothing = { .how = PUT };

	return change_entry(at, &nothing);
}

/* Change the pages [FIRST, END) of an entry. */
static int64_t
change_part(uint64_t *at, size_t first, size_t end, const struct pages_change *c)
{
	const uint64_t entry = entry_now(at);
	const unsigned int state = entry & PAGE_STATES;
	struct pages_node *n = entry & HAS_TAGS ? node_of(entry) : NULL;

	if (first == 0 && end == PAGES_PER_NODE)
		return change_entry(at, c);
	if (!n &&
		((changed(c, EACH * state) & PAGE_STATES) == state ||
			(!state && c->states == EACH * PAGE_NOTHING)))
		return 0;
	if (!n && c->is_trial)
		return bytes_in_state(
			       changed(c, EACH * state) & PAGE_STATES, (int64_t)(end - first)) -
			bytes_in_state(state, (int64_t)(end - first));
	if (!n)
		n = pages_node_at(at);
	return n ? change_units(n, state, first, end, c) : pages_give_up(at);
}

static uint64_t
page_of(uintptr_t at)
{
	return at >> __builtin_ctzl(agent_page_bytes);
}

static int64_t
agent_pages_change(uintptr_t start, uintptr_t end, const struct pages_change *c)
{
	const uint64_t most = REGIONS * NODES_PER_REGION * PAGES_PER_NODE;
	uint64_t last = page_of(end) + ((end & (agent_page_bytes - 1)) != 0), next;
	const bool may_make = c->how == PUT && c->states != EACH * PAGE_NOTHING;
	int64_t bytes = 0;

	if (last > most)
		last = most;
	for (uint64_t at = page_of(start); at < last; at = next) {
		const uint64_t i = at / PAGES_PER_NODE, from = i * PAGES_PER_NODE;
		struct pages_region *r = region_at(i / NODES_PER_REGION, may_make);

		next = from + PAGES_PER_NODE < last ? from + PAGES_PER_NODE : last;
		if (r)
			bytes += change_part(
				&r->entry[i % NODES_PER_REGION], at - from, next - from, c);
	}
	return bytes;
}

/* ---- public functions ---- */

/*
 * Get the state of PAGE.  Returns the number of pages from PAGE on that certainly have this state.
 */
static uint64_t
state_of_pages(uint64_t page, unsigned int *ret)
{
	const uint64_t i = page / PAGES_PER_NODE;
	const size_t unit = page % PAGES_PER_NODE / PAGES_PER_UNIT, k = page % PAGES_PER_UNIT;
	struct pages_region *r =
		i / NODES_PER_REGION < REGIONS ? region_at(i / NODES_PER_REGION, false) : NULL;
	const uint64_t entry = r ? entry_now(&r->entry[i % NODES_PER_REGION]) : 0;
	unsigned int tag;
	uint64_t word;

	*ret = entry & PAGE_STATES;
	if (!(entry & HAS_TAGS))
		return PAGES_PER_NODE - page % PAGES_PER_NODE;
	tag = __atomic_load_n(&node_of(entry)->tag[unit], __ATOMIC_RELAXED);
	*ret = tag & PAGE_STATES ? tag & PAGE_STATES : *ret;
	if (!(tag & TAG_HAS_WORDS))
		return PAGES_PER_UNIT - k;
	word = with_inherited(
		__atomic_load_n(&node_of(entry)->word[unit][k / PAGES_PER_WORD], __ATOMIC_RELAXED),
		*ret);
	*ret = word >> 4 * (k % PAGES_PER_WORD) & PAGE_STATES;
	return word == EACH * *ret ? PAGES_PER_WORD - k % PAGES_PER_WORD : 1;
}

unsigned int
pages_state(uintptr_t at, uintptr_t end, uintptr_t *ret_next)
{
	const uint64_t page = page_of(at);
	unsigned int state, next_state;
	uint64_t next = page + state_of_pages(page, &state);

	for (uint64_t nr; next * agent_page_bytes < end; next += nr) {
		nr = state_of_pages(next, &next_state);
		if (next_state != state)
			break;
	}
	*ret_next = next * agent_page_bytes < end ? next * agent_page_bytes : end;
	return state;
}

/*
 * Mark MISSING bytes of the page at AT, where a mapping ends, as not counted.  Returns their
 * number.
 */
static int64_t
set_tail(uintptr_t at, size_t missing)
{
	const uint64_t page = page_of(at), i = page / PAGES_PER_NODE;
	struct pages_region *r =
		i / NODES_PER_REGION < REGIONS ? region_at(i / NODES_PER_REGION, false) : NULL;
	struct pages_node *n = r ? pages_node_at(&r->entry[i % NODES_PER_REGION]) : NULL;
	const size_t unit = page % PAGES_PER_NODE / PAGES_PER_UNIT;
	uint16_t *tails = n ? tails_of(n, unit) : NULL;

	if (!tails)
		return 0;
	/* Tails are read only together with the words. */
	__atomic_fetch_or(&n->tag[unit], TAG_HAS_WORDS, __ATOMIC_RELAXED);
	__atomic_store_n(&tails[page % PAGES_PER_UNIT], (uint16_t)missing, __ATOMIC_RELAXED);
	return (int64_t)missing;
}

int64_t
pages_put(uintptr_t start, uintptr_t end, enum page_state state)
{
	const struct pages_change c = { .how = PUT, .states = EACH * state };
	const size_t rest = end & (agent_page_bytes - 1);
	int64_t bytes = agent_pages_change(start, end, &c), missing = 0;
	unsigned int now;

	if (!rest || state == PAGE_NOTHING)
		return bytes;
	state_of_pages(page_of(end), &now);
	if (now == state)
		missing = set_tail(end, agent_page_bytes - rest);
	return state & PAGE_COUNTS ? bytes - missing : bytes;
}

int64_t
pages_leave(uintptr_t start, uintptr_t end)
{
	return agent_pages_change(start, end, &(struct pages_change){ .how = LEAVE });
}

int64_t
pages_stay(uintptr_t start, uintptr_t end)
{
	return agent_pages_change(start, end, &(struct pages_change){ .how = STAY });
}

void
pages_forget(uintptr_t start, uintptr_t end)
{
	agent_pages_change(start, end, &(struct pages_change){ .how = FORGET });
}

int64_t
pages_protect(uintptr_t start, uintptr_t end, int prot, bool is_trial)
{
	return agent_pages_change(start, end,
		&(struct pages_change){ .how = PROTECT, .prot = prot, .is_trial = is_trial });
}
