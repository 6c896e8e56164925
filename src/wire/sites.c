#include <config.h>

#include "wire/sites.h"

#include "wire/log.h"

#define PAGE_BYTES UINT64_C(4096)

static uint64_t
sites_whole_pages(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* Half of the buckets stay empty, so that a search is short. */
static uint32_t
buckets_for(uint32_t max_nodes)
{
	uint32_t nr = 1024;

	while (nr / 2 < max_nodes && nr < UINT32_C(1) << 31)
		nr *= 2;
	return nr;
}

static uint64_t
log_bytes(uint32_t nr_blocks)
{
	return nr_blocks ? WIRE_LOG_HEADER_BYTES + (uint64_t)nr_blocks * WIRE_LOG_BLOCK_BYTES : 0;
}

/* The head of sites with room for SIZE. */
static struct wire_sites
make_head(const struct wire_sites_size *size)
{
	struct wire_sites head = {
		.header_bytes = WIRE_SITES_HEADER_BYTES,
		.node_bytes = sizeof(struct wire_node),
		.site_bytes = sizeof(struct wire_site),
		.max_nodes = size->max_nodes,
		.nr_buckets = buckets_for(size->max_nodes),
		.max_sites = size->max_sites,
		.nodes_at = WIRE_SITES_HEADER_BYTES,
		.nr_nodes = 1,
		.nr_sites = WIRE_SITE_OF_NO_MAPPING + 1,
	};

	head.buckets_at = head.nodes_at +
		sites_whole_pages((uint64_t)head.max_nodes * sizeof(struct wire_node));
	head.sites_at =
		head.buckets_at + sites_whole_pages((uint64_t)head.nr_buckets * sizeof(uint32_t));
	head.maps_at = head.sites_at +
		sites_whole_pages((uint64_t)head.max_sites * sizeof(struct wire_site));
	head.seen_at = head.maps_at + 2 * WIRE_MAPS_BYTES;
	head.size_bytes = head.seen_at + WIRE_SEEN_BYTES;
	if (size->nr_log_blocks)
		head.log_at = head.size_bytes;
	head.size_bytes += log_bytes(size->nr_log_blocks);
	return head;
}

uint64_t
wire_sites_make(struct wire_sites *s, const struct wire_sites_size *size)
{
	const struct wire_sites head = make_head(size);

	if (!s)
		return head.size_bytes;
	*s = head;
	if (head.log_at) {
		wire_log_of(s)->magic = WIRE_LOG_MAGIC;
		wire_log_of(s)->nr_blocks = size->nr_log_blocks;
	}
	__atomic_store_n(&s->magic, WIRE_SITES_MAGIC, __ATOMIC_RELEASE);
	return head.size_bytes;
}

/* The number of blocks in the log of S; 0 if its sizes are wrong. */
static uint32_t
nr_log_blocks(const struct wire_sites *s)
{
	const uint64_t nr = (s->size_bytes - s->log_at) / WIRE_LOG_BLOCK_BYTES;

	return !s->log_at || nr > WIRE_LOG_MAX_BLOCKS ? 0 : (uint32_t)nr;
}

bool
wire_sites_is_valid(const struct wire_sites *s, uint64_t size)
{
	struct wire_sites_size size_of_it = { s->max_nodes, s->max_sites, nr_log_blocks(s) };
	struct wire_sites want;

	if (s->magic != WIRE_SITES_MAGIC || !s->max_nodes ||
		s->max_sites <= WIRE_SITE_OF_NO_MAPPING || s->max_nodes > WIRE_SITES_MAX_NODES ||
		s->max_sites > WIRE_SITES_MAX_SITES)
		return false;
	want = make_head(&size_of_it);
	return s->header_bytes == want.header_bytes && s->node_bytes == want.node_bytes &&
		s->site_bytes == want.site_bytes && s->nr_buckets == want.nr_buckets &&
		s->nodes_at == want.nodes_at && s->buckets_at == want.buckets_at &&
		s->sites_at == want.sites_at && s->maps_at == want.maps_at &&
		s->seen_at == want.seen_at && s->log_at == want.log_at &&
		s->size_bytes == want.size_bytes && s->size_bytes <= size;
}

/* The amount of S that was freed so far, by any thread. */
static struct wire_amount
sites_freed(const struct wire_site *s)
{
	return (struct wire_amount){ s->freed.units + s->freed_elsewhere.units,
		s->freed.bytes + s->freed_elsewhere.bytes };
}

struct wire_amount
wire_site_live(const struct wire_site *s)
{
	const struct wire_amount freed = sites_freed(s);

	if (freed.bytes > s->allocated.bytes || freed.units >= s->allocated.units)
		return (struct wire_amount){ 0 };
	return (struct wire_amount){ s->allocated.units - freed.units,
		s->allocated.bytes - freed.bytes };
}

struct wire_amount
wire_site_peak(const struct wire_sites *s, const struct wire_site *site)
{
	return site->epoch == s->epoch ? site->peak : wire_site_live(site);
}

uint64_t
wire_objects(struct wire_amount a)
{
	const uint64_t nr =
		a.units / WIRE_BLOCK_UNITS + (a.units % WIRE_BLOCK_UNITS >= WIRE_BLOCK_UNITS / 2);

	return nr || !a.bytes ? nr : 1;
}

uint64_t
wire_size_class(uint64_t size)
{
	unsigned int shift;

	if (size <= 16)
		return 16;
	/* The two bits after the first one choose the class. */
	shift = 61 - (unsigned int)__builtin_clzll(size - 1);
	return (((size - 1) >> shift) + 1) << shift;
}
