#include <config.h>

#include "recording/heaptrack-raw.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Read the name of a module, which is preceded by its length since version 3. */
static int
read_name(struct heaptrack *h, struct ht_line *l, const char **ret, size_t *ret_len, struct err *e)
{
	const char *space;
	uint64_t len;

	if (h->version >= 3) {
		if (!ht_number(l, &len) || len > (uint64_t)(l->end - l->at))
			return ht_fail(h, e, "the length of a name is wrong");
	} else {
		space = memchr(l->at, ' ', (size_t)(l->end - l->at));
		len = (uint64_t)((space ? space : l->end) - l->at);
	}
	*ret = l->at;
	*ret_len = (size_t)len;
	l->at += len;
	if (l->at < l->end && *l->at++ != ' ')
		return ht_fail(h, e, "the length of a name is wrong");
	return 0;
}

/* Find or add the module equal to M; store its number in *RET. */
static int
keep_module(struct heaptrack *h, struct ht_module m, uint32_t *ret, struct err *e)
{
	uint32_t hash = hash_pair(m.start, m.end);
	const struct hash_slot *slot;
	struct ht_module *added;

	for (size_t at = hash; (slot = hash_next(&h->by_place, hash, &at));) {
		const struct ht_module *there = &h->modules.v[slot->number_1 - 1];

		if (there->start == m.start && there->end == m.end &&
			there->offset_bytes == m.offset_bytes && there->string_1 == m.string_1) {
			*ret = slot->number_1 - 1;
			return 0;
		}
	}
	added = array_add(&h->modules);
	if (!added || hash_add(&h->by_place, hash, h->modules.nr - 1) < 0)
		return ht_no_memory(h, e);
	*added = m;
	*ret = (uint32_t)(h->modules.nr - 1);
	return 0;
}

/* Find or add the string NAME; an earlier module may have it already. */
static int
heaptrack_raw_find_string(
	struct heaptrack *h, const char *name, size_t len, uint32_t *ret_1, struct err *e)
{
	const char *kept = profile_string(h->r.facts, name, len);
	uint32_t hash = hash_pair((uintptr_t)kept, 0);
	const struct hash_slot *slot;

	if (!kept)
		return ht_no_memory(h, e);
	for (size_t at = hash; (slot = hash_next(&h->by_string, hash, &at));)
		if (h->strings.v[slot->number_1 - 1] == kept) {
			*ret_1 = slot->number_1;
			return 0;
		}
	if (ht_add_string(h, name, len, ret_1, e) < 0)
		return -1;
	return hash_add(&h->by_string, hash, *ret_1 - 1) < 0 ? ht_no_memory(h, e) : 0;
}

int
ht_read_module(struct heaptrack *h, struct ht_line l, struct err *e)
{
	struct ht_module m = { 0 };
	uint64_t base, offset, bytes;
	uint32_t *mapped, number = 0;
	const char *name = NULL;
	size_t len = 0;

	if (read_name(h, &l, &name, &len, e) < 0)
		return -1;
	if (len == 1 && *name == '-') {
		h->mapped.nr = 0;
		return 0;
	}
	m.string_1 = h->program_1;
	if ((len != 1 || *name != 'x' || !m.string_1) &&
		heaptrack_raw_find_string(h, name, len, &m.string_1, e) < 0)
		return -1;
	if (!ht_number(&l, &base))
		return ht_fail(h, e, "a module without an address");
	while (ht_number(&l, &offset) && ht_number(&l, &bytes)) {
		m.start = base + offset;
		m.end = m.start + bytes;
		m.offset_bytes = offset;
		if (keep_module(h, m, &number, e) < 0)
			return -1;
		mapped = array_add(&h->mapped);
		if (!mapped)
			return ht_no_memory(h, e);
		*mapped = number;
	}
	h->is_mapped_sorted = false;
	return 0;
}

static int
heaptrack_raw_by_start(const void *a, const void *b, void *arg)
{
	const struct ht_module *v = arg;
	uint64_t x = v[*(const uint32_t *)a].start, y = v[*(const uint32_t *)b].start;

	return (x > y) - (x < y);
}

uint32_t
ht_find_module(struct heaptrack *h, uint64_t address)
{
	size_t from = 0, to = h->mapped.nr;

	if (!h->is_mapped_sorted && to)
		qsort_r(h->mapped.v, to, sizeof *h->mapped.v, heaptrack_raw_by_start, h->modules.v);
	h->is_mapped_sorted = true;
	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (h->modules.v[h->mapped.v[mid]].start <= address)
			from = mid + 1;
		else
			to = mid;
	}
	return from && address < h->modules.v[h->mapped.v[from - 1]].end ? h->mapped.v[from - 1] + 1
									 : 0;
}
