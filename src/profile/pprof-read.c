#include <config.h>

#include "profile/pprof-read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "os/ceiling.h"
#include "profile/hash.h"
#include "profile/pprof.pb-c.h"

#define BLOCK_BYTES ((size_t)1 << 20)

/* ---- memory of messages, which is freed all at once ---- */

struct pprof_read_pool {
	struct {
		char **v;
		size_t nr, room;
	} blocks;
	size_t left_bytes, all_bytes;
	bool is_full; /* a request for memory has failed */
};

/* Add a block.  An empty message takes two bytes of a file, and a hundred in memory.  0 or -1. */
static int
pool_grow(struct pprof_read_pool *pool, size_t room)
{
	char **block;

	/* Checked now and then: it takes longer than malloc(). */
	if ((room > BLOCK_BYTES || pool->blocks.nr % 64 == 0) && room > os_memory_left())
		return -1;
	block = array_add(&pool->blocks);
	if (!block)
		return -1;
	*block = malloc(room);
	if (!*block) {
		pool->blocks.nr--;
		return -1;
	}
	pool->all_bytes += room;
	pool->left_bytes = room;
	return 0;
}

static void *
pool_alloc(void *data, size_t size)
{
	struct pprof_read_pool *pool = data;
	size_t rounded = (size + 15) & ~(size_t)15;

	if (rounded < size)
		return NULL;
	if (rounded > pool->left_bytes &&
		pool_grow(pool, rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES) < 0) {
		pool->is_full = true;
		return NULL;
	}
	/* Allocate from the end of the block, which stays aligned. */
	pool->left_bytes -= rounded;
	return pool->blocks.v[pool->blocks.nr - 1] + pool->left_bytes;
}

static void
pool_keep(void *data, void *pointer)
{
	(void)data;
	(void)pointer;
}

static void
pool_release(struct pprof_read_pool *pool)
{
	for (size_t i = 0; i < pool->blocks.nr; i++)
		free(pool->blocks.v[i]);
	free(pool->blocks.v);
}
#define auto_pool __attribute__((cleanup(pool_release)))

/* ---- messages ---- */

/* The ids of messages, by which others refer to them. */
struct ids {
	uint64_t *v;
	size_t nr, room;
	struct hash hash;
};

static void
ids_release(struct ids *ids)
{
	free(ids->v);
	hash_release(&ids->hash);
}

/* Find the number of the message with ID; false if it does not exist. */
static bool
pprof_read_find_id(const struct ids *ids, uint64_t id, size_t *ret)
{
	uint32_t hash = hash_pair(id, 0);
	const struct hash_slot *slot;

	for (size_t at = hash; (slot = hash_next(&ids->hash, hash, &at));)
		if (ids->v[slot->number_1 - 1] == id) {
			*ret = slot->number_1 - 1;
			return true;
		}
	return false;
}

struct pprof_reader {
	struct profile *p;
	const char *name;
	const Pprof__Profile *m;
	struct ids locations, mappings, functions;
	struct {
		uint32_t *v;
		size_t nr, room;
	} stack;
};

static void
pprof_read_reader_release(struct pprof_reader *r)
{
	ids_release(&r->locations);
	ids_release(&r->mappings);
	ids_release(&r->functions);
	free(r->stack.v);
}
#define auto_reader __attribute__((cleanup(pprof_read_reader_release)))

static int
wrong(const struct pprof_reader *r, struct err *e, const char *what, size_t i, const char *why)
{
	return err_set(e, 0, "cannot read '%s': %s number %zu %s", r->name, what, i, why);
}

/* Return string number I, "" if it does not exist. */
static const char *
string_at(const struct pprof_reader *r, int64_t i)
{
	return i >= 0 && (uint64_t)i < r->m->n_string_table ? r->m->string_table[i] : "";
}

/* Keep the ID of message number IDS->nr, which must not be 0 and must be unique. */
static int
pprof_read_add_id(
	struct pprof_reader *r, struct ids *ids, uint64_t id, const char *what, struct err *e)
{
	uint64_t *kept;
	size_t at;

	if (!id)
		return wrong(r, e, what, ids->nr, "has no id");
	if (pprof_read_find_id(ids, id, &at))
		return wrong(r, e, what, ids->nr, "has the id of another one");
	kept = array_add(ids);
	if (!kept || hash_add(&ids->hash, hash_pair(id, 0), ids->nr - 1) < 0)
		return err_set(e, ENOMEM, "cannot keep the profile");
	*kept = id;
	return 0;
}

static int
read_types(struct pprof_reader *r, struct err *e)
{
	const char *shown = string_at(r, r->m->default_sample_type);

	if (!r->m->n_sample_type)
		return err_set(e, 0, "cannot read '%s': it has no types of values", r->name);
	for (size_t i = 0; i < r->m->n_sample_type; i++)
		if (profile_add_type(r->p, string_at(r, r->m->sample_type[i]->type),
			    string_at(r, r->m->sample_type[i]->unit), e) < 0)
			return err_context(e, "cannot read '%s'", r->name);
	/* Without a default, pprof shows the last. */
	r->p->default_type = r->p->types.nr - 1;
	if (*shown && profile_find_type(r->p, shown) >= 0)
		r->p->default_type = (size_t)profile_find_type(r->p, shown);
	return 0;
}

static int
pprof_read_mappings(struct pprof_reader *r, struct err *e)
{
	for (size_t i = 0; i < r->m->n_mapping; i++) {
		const Pprof__Mapping *m = r->m->mapping[i];

		if (pprof_read_add_id(r, &r->mappings, m->id, "mapping", e) < 0 ||
			profile_add_mapping(r->p, m->memory_start, m->memory_limit, m->file_offset,
				string_at(r, m->filename), string_at(r, m->build_id), e) < 0)
			return -1;
	}
	return 0;
}

static int
read_lines(struct pprof_reader *r, const Pprof__Location *l, uint32_t frame, struct err *e)
{
	size_t at;

	for (size_t k = 0; k < l->n_line; k++) {
		const Pprof__Line *line = l->line[k];
		const Pprof__Function *f;
		const char *name;

		if (!pprof_read_find_id(&r->functions, line->function_id, &at))
			return wrong(r, e, "location", frame, "names a function that is missing");
		f = r->m->function[at];
		name = string_at(r, f->name);
		if (!*name)
			name = string_at(r, f->system_name);
		if (profile_add_line(r->p, frame, *name ? name : "?", string_at(r, f->filename),
			    line->line > 0 && line->line < UINT32_MAX ? (uint32_t)line->line : 0,
			    e) < 0)
			return -1;
	}
	return 0;
}

/* Make locations frames with the same numbers. */
static int
read_locations(struct pprof_reader *r, struct err *e)
{
	for (size_t i = 0; i < r->m->n_function; i++)
		if (pprof_read_add_id(r, &r->functions, r->m->function[i]->id, "function", e) < 0)
			return -1;
	for (size_t i = 0; i < r->m->n_location; i++) {
		const Pprof__Location *l = r->m->location[i];
		size_t at = 0;
		uint32_t frame;

		if (l->mapping_id && !pprof_read_find_id(&r->mappings, l->mapping_id, &at))
			return wrong(r, e, "location", i, "is in a mapping that is missing");
		if (pprof_read_add_id(r, &r->locations, l->id, "location", e) < 0 ||
			profile_add_frame(r->p, l->address, true,
				l->mapping_id ? (uint32_t)at + 1 : 0, &frame, e) < 0 ||
			read_lines(r, l, frame, e) < 0)
			return -1;
	}
	return 0;
}

static int
read_labels(
	struct pprof_reader *r, const Pprof__Sample *s, struct profile_sample *ret, struct err *e)
{
	const char *name = "";
	int64_t tid = 0;

	for (size_t k = 0; k < s->n_label; k++) {
		const char *key = string_at(r, s->label[k]->key);

		if (strcmp(key, "bytes") == 0 && s->label[k]->num > 0)
			ret->size_bytes = (uint64_t)s->label[k]->num;
		else if (strcmp(key, "thread") == 0)
			name = string_at(r, s->label[k]->str);
		else if (strcmp(key, "tid") == 0 || strcmp(key, "thread_id") == 0)
			tid = s->label[k]->num;
	}
	return *name || tid ? profile_thread(r->p, tid, name, &ret->thread_1, e) : 0;
}

static int
read_sample(struct pprof_reader *r, size_t i, struct err *e)
{
	const Pprof__Sample *s = r->m->sample[i];
	struct profile_sample sample = { 0 };
	size_t at;

	if (s->n_value != r->p->types.nr)
		return wrong(r, e, "sample", i, "does not have one value of each type");
	r->stack.nr = 0;
	for (size_t k = 0; k < s->n_location_id; k++) {
		uint32_t *frame = array_add(&r->stack);

		if (!frame)
			return err_set(e, ENOMEM, "cannot keep the profile");
		if (!pprof_read_find_id(&r->locations, s->location_id[k], &at))
			return wrong(r, e, "sample", i, "has a location that is missing");
		*frame = (uint32_t)at;
	}
	if (profile_stack(r->p, r->stack.v, r->stack.nr, &sample.stack, e) < 0 ||
		read_labels(r, s, &sample, e) < 0)
		return -1;
	return profile_add_sample(r->p, sample, s->value, e);
}

static int
read_profile(struct pprof_reader *r, struct err *e)
{
	struct profile *p = r->p;

	if (r->m->n_string_table && *r->m->string_table[0])
		return err_set(e, 0, "cannot read '%s': its first string is not empty", r->name);
	if (read_types(r, e) < 0 || pprof_read_mappings(r, e) < 0 || read_locations(r, e) < 0)
		return -1;
	for (size_t i = 0; i < r->m->n_sample; i++)
		if (read_sample(r, i, e) < 0)
			return -1;
	for (size_t i = 0; i < r->m->n_comment; i++)
		if (profile_comment(p, string_at(r, r->m->comment[i]), e) < 0)
			return -1;
	if (r->m->period_type && strcmp(string_at(r, r->m->period_type->unit), "bytes") == 0)
		p->period_bytes = r->m->period;
	p->time_ns = r->m->time_nanos > 0 ? (uint64_t)r->m->time_nanos : 0;
	p->format = "pprof profile.proto";
	return 0;
}

int
pprof_parse(struct profile *p, const char *name, const char *data, size_t len, struct err *e)
{
	auto_pool struct pprof_read_pool pool = { 0 };
	ProtobufCAllocator allocator = { pool_alloc, pool_keep, &pool };
	auto_reader struct pprof_reader r = { .p = p, .name = name };
	char has[32], takes[32];

	r.m = pprof__profile__unpack(&allocator, len, (const uint8_t *)data);
	if (!r.m && pool.is_full)
		return err_set(e, ENOMEM, "cannot read '%s': its %s are %s unpacked", name,
			text_bytes(len, has, sizeof has),
			text_bytes(pool.all_bytes, takes, sizeof takes));
	if (!r.m)
		return err_set(e, 0,
			"cannot read '%s': it is neither a heap profile nor a whole profile.proto of pprof",
			name);
	return read_profile(&r, e);
}
