#include <config.h>

#include "agent/note/sites.h"

#include <string.h>
#include <time.h>

#include "agent/base/compiler.h"
#include "agent/base/lock.h"
#include "agent/base/sys.h"
#include "wire/wire.h"

struct wire_sites *sites;
/* memdiag finds the sites by this symbol. */
extern EXPORT struct wire_sites *agent_sites __asm__(WIRE_SITES_SYMBOL)
	__attribute__((alias("sites")));

/* ---- readers ---- */

static int nr_readers;
static bool is_closed; /* no reader may enter: a thread waits for the last one to leave */

bool
sites_hold(void)
{
	__atomic_add_fetch(&nr_readers, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&is_closed, __ATOMIC_SEQ_CST) &&
		__atomic_load_n(&sites, __ATOMIC_SEQ_CST))
		return true;
	sites_let_go();
	return false;
}

void
sites_let_go(void)
{
	__atomic_sub_fetch(&nr_readers, 1, __ATOMIC_SEQ_CST);
}

void
sites_begin_child(void)
{
	nr_readers = 0;
	is_closed = false;
}

/* A reader writes a file within some hundredths of a second. */
#define DROP_TRIES 2000
#define DROP_PAUSE_NS 1000000

bool
sites_drop(void)
{
	const struct timespec pause = { .tv_nsec = DROP_PAUSE_NS };
	struct wire_sites *was = sites;
	bool is_left = false;

	__atomic_store_n(&is_closed, true, __ATOMIC_SEQ_CST);
	for (int tries = 0; !is_left && tries < DROP_TRIES; tries++) {
		is_left = !__atomic_load_n(&nr_readers, __ATOMIC_SEQ_CST);
		if (!is_left)
			sys_call(SYS_nanosleep, &pause, NULL);
	}
	if (is_left) {
		__atomic_store_n(&sites, NULL, __ATOMIC_SEQ_CST);
		sys_call(SYS_munmap, was, was->size_bytes);
	}
	__atomic_store_n(&is_closed, false, __ATOMIC_SEQ_CST);
	return is_left;
}

/* ---- number of nodes and sites ---- */

/* Numbers that are available in any case. */
#define LEAST_NODES (UINT32_C(1) << 16)
#define LEAST_SITES (UINT32_C(1) << 13)

struct wire_sites_size
sites_fit(struct wire_sites_size size, uint64_t limit_bytes)
{
	while ((size.max_sites > LEAST_SITES || size.nr_log_blocks) &&
		wire_sites_make(NULL, &size) > limit_bytes) {
		if (size.max_sites > LEAST_SITES)
			size.max_sites /= 2;
		if (size.max_nodes > LEAST_NODES)
			size.max_nodes /= 2;
		size.nr_log_blocks /= 2;
	}
	return size;
}

/* ---- nodes ---- */

/*
 * The order in which buckets are searched for a child: first those of a cache line of the parent,
 * then a line in the first part of all buckets, then in a part four times as large, and so on.
 * Nodes that were created one after another, as for a stack, have adjacent lines, and few nodes
 * need few pages.
 *
 * A bucket contains the child's number and some bits of its hash, so that other children need not
 * be read.
 */
#define LINE_BITS 4 /* number of buckets */
#define LINE_NODES_BITS 3
#define FIRST_PART_BITS 12
#define PART_BITS 2
#define NODE_BITS 22
_Static_assert(WIRE_SITES_MAX_NODES <= UINT32_C(1) << NODE_BITS, "a bucket has room for a node");

static uint64_t
hash(uint32_t parent, uint64_t address)
{
	return (address ^ (uint64_t)parent << 40 ^ parent) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint32_t
nth_bucket(uint32_t parent, uint32_t hash, uint32_t n)
{
	const uint32_t round = n >> LINE_BITS, in_line = (1u << LINE_BITS) - 1,
		       bits = FIRST_PART_BITS + PART_BITS * round;
	uint32_t at = parent >> LINE_NODES_BITS << LINE_BITS;

	if (UNLIKELY(round))
		at = (bits < 32 ? hash & ((UINT32_C(1) << bits) - 1) : hash) + (round << LINE_BITS);
	return (at & ~in_line) | ((hash + n) & in_line);
}

static inline uint32_t
node_in(uint32_t bucket)
{
	return bucket & ((UINT32_C(1) << NODE_BITS) - 1);
}

static inline bool
is_child(uint32_t node, uint32_t parent, uint64_t address)
{
	const struct wire_node *n = &wire_nodes(sites)[node];

	return __atomic_load_n(&n->address, __ATOMIC_ACQUIRE) == address && n->parent == parent;
}

/* Add a node to which no bucket refers yet; 0 if no room is left. */
static uint32_t
sites_new_node(uint32_t parent, uint64_t address)
{
	uint32_t node;

	if (__atomic_load_n(&sites->nr_nodes, __ATOMIC_RELAXED) >= sites->max_nodes)
		return 0;
	node = __atomic_fetch_add(&sites->nr_nodes, 1, __ATOMIC_RELAXED);
	if (node >= sites->max_nodes)
		return 0;
	wire_nodes(sites)[node].parent = parent;
	__atomic_store_n(&wire_nodes(sites)[node].address, address, __ATOMIC_RELEASE);
	return node;
}

/*
 * A bucket is filled only if it is empty, and never emptied.  If two threads search for the same
 * child, the second one finds the first one's.  Its own node stays unused, or a thread finds it as
 * the node that follows its parent: then the same stack exists twice.
 */
static __attribute__((noinline)) uint32_t
find_child(uint32_t parent, uint64_t address)
{
	const uint64_t h = hash(parent, address);
	const uint32_t mask = sites->nr_buckets - 1, tag = (uint32_t)h >> NODE_BITS << NODE_BITS;
	uint32_t *bucket = wire_buckets(sites), was, made = 0;

	for (uint32_t n = 0;; n++) {
		uint32_t *const b = &bucket[nth_bucket(parent, (uint32_t)(h >> 32), n) & mask];

		was = __atomic_load_n(b, __ATOMIC_ACQUIRE);
		if (!was && !made) {
			made = sites_new_node(parent, address);
			if (!made)
				return UINT32_MAX;
		}
		if (!was &&
			__atomic_compare_exchange_n(
				b, &was, made | tag, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
			return made;
		if (((was ^ tag) >> NODE_BITS) == 0 && is_child(node_in(was), parent, address))
			return node_in(was);
	}
}

uint32_t
sites_child(uint32_t parent, uint64_t address)
{
	if (UNLIKELY(parent == UINT32_MAX))
		return UINT32_MAX;
	/* In a stack whose frames were all new, each node is followed by its child. */
	if (LIKELY(parent + 1 < sites->max_nodes) && is_child(parent + 1, parent, address))
		return parent + 1;
	return find_child(parent, address);
}

/* ---- functions of an interpreter ---- */

/* Get the nodes of a text up to NODE, the last one first.  Returns their number. */
static uint32_t
sites_text_path(uint32_t node, uint32_t path[WIRE_MAX_TEXT_NODES])
{
	uint32_t nr = 0;

	for (; node && nr < WIRE_MAX_TEXT_NODES; node = wire_nodes(sites)[node].parent)
		path[nr++] = node;
	return nr;
}

static bool
sites_is_line(uint32_t node)
{
	return wire_label_of(wire_nodes(sites)[node].address) == WIRE_LABEL_LINE;
}

const char *
sites_function(uint32_t number, char text[WIRE_MAX_TEXT_BYTES], uint32_t *ret_line)
{
	const struct wire_node *line = &wire_nodes(sites)[number];
	const uint32_t name =
		sites_is_line(line->parent) ? wire_nodes(sites)[line->parent].parent : line->parent;
	uint32_t path[WIRE_MAX_TEXT_NODES], nr = sites_text_path(name, path);
	char *at = text;

	*ret_line = (uint32_t)wire_label_value(line->address);
	while (nr--)
		for (int shift = 8 * (WIRE_TEXT_BYTES - 1); shift >= 0; shift -= 8)
			*at++ = (char)(wire_nodes(sites)[path[nr]].address >> shift);
	at[0] = at[1] = '\0';
	at = text + strlen(text) + 1;
	return *at ? at : NULL;
}

/* ---- sites ---- */

static uint32_t
new_site(uint32_t node)
{
	uint32_t site;

	if (__atomic_load_n(&sites->nr_sites, __ATOMIC_RELAXED) >= sites->max_sites)
		return 0;
	site = __atomic_fetch_add(&sites->nr_sites, 1, __ATOMIC_RELAXED);
	if (site >= sites->max_sites)
		return 0;
	__atomic_store_n(&wire_site(sites, site)->node, node, __ATOMIC_RELAXED);
	return site;
}

/* The site of NODE; NONE if no room is left. */
static uint32_t
site_or(uint32_t node, uint32_t none)
{
	uint32_t *site, was, made;

	if (node == UINT32_MAX)
		return none;
	site = &wire_nodes(sites)[node].site;
	was = __atomic_load_n(site, __ATOMIC_ACQUIRE);
	if (was)
		return was;
	made = new_site(node);
	if (!made)
		return none;
	if (__atomic_compare_exchange_n(
		    site, &was, made, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		return made;
	__atomic_store_n(&wire_site(sites, made)->node, 0, __ATOMIC_RELAXED);
	return was;
}

uint32_t
sites_of(uint32_t node)
{
	return site_or(node, WIRE_SITE_OF_NONE);
}

uint32_t
sites_of_mapping(uint32_t node)
{
	return site_or(node, WIRE_SITE_OF_NO_MAPPING);
}

/* ---- counters ---- */

/* Number of checks within which a holder on another processor is done. */
#define LOOKS 100

static void
sites_lock(struct wire_site *s)
{
	for (int i = 0; i < LOOKS && __atomic_load_n(&s->lock, __ATOMIC_RELAXED); i++)
		;
	lock_take_word(&s->lock);
}

static void
unlock(struct wire_site *s)
{
	lock_drop_word(&s->lock);
}

/* Keep the values that S has had since the last peak, before they change. */
static void
sites_keep_peak(struct wire_site *s)
{
	const uint32_t epoch = __atomic_load_n(&sites->epoch, __ATOMIC_ACQUIRE);

	if (s->epoch == epoch)
		return;
	s->peak = (struct wire_amount){ s->allocated.units - s->freed.units,
		s->allocated.bytes - s->freed.bytes };
	s->epoch = epoch;
}

static void
agent_sites_add(struct wire_amount *to, struct wire_amount amount)
{
	to->units += amount.units;
	to->bytes += amount.bytes;
}

/* More bytes are live than ever: the present values of each site are its part of the peak. */
static void
sites_raise_peak(int64_t live)
{
	int64_t peak = __atomic_load_n(&sites->peak_bytes, __ATOMIC_RELAXED);

	while (live > peak)
		if (__atomic_compare_exchange_n(&sites->peak_bytes, &peak, live, true,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_add_fetch(&sites->epoch, 1, __ATOMIC_RELEASE);
			return;
		}
}

int64_t
sites_add_live(int64_t bytes)
{
	return __atomic_add_fetch(&sites->live_bytes, bytes, __ATOMIC_RELAXED) +
		__atomic_load_n(&sites->alone_bytes, __ATOMIC_RELAXED);
}

int64_t
sites_change_live(int64_t bytes)
{
	const int64_t live = sites_add_live(bytes);

	sites_raise_peak(live);
	return live;
}

void
sites_add(uint32_t site, struct wire_amount amount)
{
	struct wire_site *s = wire_site(sites, site);

	sites_lock(s);
	sites_keep_peak(s);
	agent_sites_add(&s->allocated, amount);
	s->nr_allocated++;
	unlock(s);
	__atomic_add_fetch(&sites->nr_samples, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&sites->allocated_bytes, amount.bytes, __ATOMIC_RELAXED);
	sites_change_live((int64_t)amount.bytes);
}

void
sites_subtract(uint32_t site, struct wire_amount amount, bool is_temporary)
{
	struct wire_site *s = wire_site(sites, site);

	sites_lock(s);
	sites_keep_peak(s);
	agent_sites_add(&s->freed, amount);
	s->nr_freed++;
	if (is_temporary)
		agent_sites_add(&s->temporary, amount);
	unlock(s);
	__atomic_add_fetch(&sites->nr_freed, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&sites->live_bytes, (int64_t)amount.bytes, __ATOMIC_RELAXED);
}

/* ---- mappings ---- */

void
sites_map(uint32_t site, struct wire_amount amount)
{
	struct wire_site *s = wire_site(sites, site);
	const uint64_t nr = amount.units / WIRE_BLOCK_UNITS;

	agent_sites_add(&s->allocated, amount);
	s->nr_allocated++;
	sites->nr_mapped += nr;
	sites->nr_mappings += (int64_t)nr;
	sites->mapped_bytes += (int64_t)amount.bytes;
	if (sites->mapped_bytes > sites->mapped_peak_bytes)
		sites->mapped_peak_bytes = sites->mapped_bytes;
}

void
sites_unmap(uint32_t site, struct wire_amount amount)
{
	struct wire_site *s = wire_site(sites, site);

	agent_sites_add(&s->freed, amount);
	s->nr_freed++;
	sites->nr_mappings -= (int64_t)(amount.units / WIRE_BLOCK_UNITS);
	sites->mapped_bytes -= (int64_t)amount.bytes;
}
