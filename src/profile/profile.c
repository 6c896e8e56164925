#include <config.h>

#include "profile/profile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/hash.h"

#define BLOCK_BYTES 65536

/* Hashes by which elements are found, and the memory of strings. */
struct profile_index {
	struct hash strings, frames, stacks, functions;
	struct {
		const char **v;
		size_t nr, room;
	} string;
	struct {
		char **v;
		size_t nr, room;
	} blocks;
	size_t left_bytes; /* of the last block */
};

struct profile *
profile_new(void)
{
	struct profile *p = calloc(1, sizeof *p);

	if (p)
		p->index = calloc(1, sizeof *p->index);
	/* Reserve memory, so that a stack without frames has an address. */
	if (p && (!p->index || array_reserve(&p->stack_frames, 1) < 0)) {
		free(p->index);
		free(p);
		return NULL;
	}
	return p;
}

void
profile_free(struct profile *p)
{
	if (!p)
		return;
	hash_release(&p->index->strings);
	hash_release(&p->index->frames);
	hash_release(&p->index->stacks);
	hash_release(&p->index->functions);
	for (size_t i = 0; i < p->index->blocks.nr; i++)
		free(p->index->blocks.v[i]);
	free(p->index->blocks.v);
	free(p->index->string.v);
	free(p->index);
	free(p->types.v);
	free(p->mappings.v);
	free(p->functions.v);
	free(p->lines.v);
	free(p->frames.v);
	free(p->stack_frames.v);
	free(p->stacks.v);
	free(p->threads.v);
	free(p->samples.v);
	free(p->values.v);
	free(p->comments.v);
	free(p->warnings.v);
	free(p);
}

static int
profile_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep the profile");
}

/* ---- strings ---- */

/* Allocate SIZE bytes that stay as long as the profile. */
static char *
keep_bytes(struct profile_index *index, size_t size)
{
	char **block;

	if (size > index->left_bytes) {
		size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;

		block = array_add(&index->blocks);
		if (!block)
			return NULL;
		*block = malloc(room);
		if (!*block) {
			index->blocks.nr--;
			return NULL;
		}
		index->left_bytes = room;
	}
	/* Strings fill a block from its end. */
	index->left_bytes -= size;
	return index->blocks.v[index->blocks.nr - 1] + index->left_bytes;
}

const char *
profile_string(struct profile *p, const char *s, size_t len)
{
	struct profile_index *index = p->index;
	uint32_t hash;
	const struct hash_slot *slot;
	const char **string;
	char *copy;

	len = strnlen(s, len);
	hash = hash_bytes(s, len);
	for (size_t at = hash; (slot = hash_next(&index->strings, hash, &at));) {
		const char *there = index->string.v[slot->number_1 - 1];

		if (strncmp(there, s, len) == 0 && !there[len])
			return there;
	}
	copy = keep_bytes(index, len + 1);
	string = copy ? array_add(&index->string) : NULL;
	if (!string || hash_add(&index->strings, hash, index->string.nr - 1) < 0)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	*string = copy;
	return copy;
}

static const char *
keep_string(struct profile *p, const char *s)
{
	return profile_string(p, s ? s : "", s ? strlen(s) : 0);
}

/* ---- the parts of a profile ---- */

int
profile_add_type(struct profile *p, const char *name, const char *unit, struct err *e)
{
	struct profile_type *type;

	if (p->types.nr == PROFILE_MAX_TYPES)
		return err_set(e, 0, "it has more than %d types of values", PROFILE_MAX_TYPES);
	type = array_add(&p->types);
	if (!type)
		return profile_no_memory(e);
	type->name = keep_string(p, name);
	type->unit = keep_string(p, unit);
	return type->name && type->unit ? 0 : profile_no_memory(e);
}

int
profile_add_usual_types(struct profile *p, struct err *e)
{
	if (profile_add_type(p, "alloc_objects", "count", e) < 0 ||
		profile_add_type(p, "alloc_space", "bytes", e) < 0 ||
		profile_add_type(p, "inuse_objects", "count", e) < 0 ||
		profile_add_type(p, "inuse_space", "bytes", e) < 0)
		return -1;
	p->default_type = 3;
	return 0;
}

int
profile_add_mapping(struct profile *p, uint64_t start, uint64_t end, uint64_t offset_bytes,
	const char *path, const char *build_id, struct err *e)
{
	struct profile_mapping *m = array_add(&p->mappings);

	if (!m)
		return profile_no_memory(e);
	*m = (struct profile_mapping){ start, end, offset_bytes, keep_string(p, path),
		keep_string(p, build_id), PROFILE_OFFSET_IN_FILE };
	return m->path && m->build_id ? 0 : profile_no_memory(e);
}

int
profile_add_frame(struct profile *p, uint64_t address, bool is_exact, uint32_t mapping_1,
	uint32_t *ret, struct err *e)
{
	struct profile_frame *frame;

	if (p->frames.nr >= UINT32_MAX - 1 || !(frame = array_add(&p->frames)))
		return profile_no_memory(e);
	frame->address = address;
	frame->is_exact = is_exact;
	frame->mapping_1 = mapping_1;
	*ret = (uint32_t)(p->frames.nr - 1);
	return 0;
}

int
profile_frame(struct profile *p, uint64_t address, bool is_exact, uint32_t *ret, struct err *e)
{
	uint32_t hash = hash_pair(address, is_exact);
	const struct hash_slot *slot;

	for (size_t at = hash; (slot = hash_next(&p->index->frames, hash, &at));) {
		const struct profile_frame *there = &p->frames.v[slot->number_1 - 1];

		if (there->address == address && there->is_exact == is_exact) {
			*ret = slot->number_1 - 1;
			return 0;
		}
	}
	if (profile_add_frame(p, address, is_exact, 0, ret, e) < 0)
		return -1;
	return hash_add(&p->index->frames, hash, *ret) < 0 ? profile_no_memory(e) : 0;
}

/* Find or add the number of the function NAME in FILE, both strings of P. */
static int
profile_find_function(
	struct profile *p, const char *name, const char *file, uint32_t *ret, struct err *e)
{
	uint32_t hash = hash_pair((uintptr_t)name, (uintptr_t)file);
	const struct hash_slot *slot;
	struct profile_function *function;

	for (size_t at = hash; (slot = hash_next(&p->index->functions, hash, &at));) {
		function = &p->functions.v[slot->number_1 - 1];
		if (function->name == name && function->file == file) {
			*ret = slot->number_1 - 1;
			return 0;
		}
	}
	function = array_add(&p->functions);
	if (!function || hash_add(&p->index->functions, hash, p->functions.nr - 1) < 0)
		return profile_no_memory(e);
	*function = (struct profile_function){ name, file };
	*ret = (uint32_t)(p->functions.nr - 1);
	return 0;
}

int
profile_add_line(struct profile *p, uint32_t frame, const char *name, const char *file,
	uint32_t line, struct err *e)
{
	struct profile_frame *f = &p->frames.v[frame];
	const char *kept_name = keep_string(p, name), *kept_file = keep_string(p, file);
	struct profile_line *l;
	uint32_t function = 0;

	if (f->nr_lines == UINT16_MAX)
		return 0;
	if (!kept_name || !kept_file || p->lines.nr >= UINT32_MAX)
		return profile_no_memory(e);
	if (profile_find_function(p, kept_name, kept_file, &function, e) < 0)
		return -1;
	l = array_add(&p->lines);
	if (!l)
		return profile_no_memory(e);
	*l = (struct profile_line){ function, line };
	if (!f->nr_lines++)
		f->first_line = (uint32_t)(p->lines.nr - 1);
	return 0;
}

int
profile_stack(struct profile *p, const uint32_t *frames, size_t nr, uint32_t *ret, struct err *e)
{
	size_t kept = nr < PROFILE_MAX_DEPTH ? nr : PROFILE_MAX_DEPTH;
	size_t bytes = kept * sizeof *frames;
	uint32_t hash = hash_bytes(frames, bytes);
	const struct hash_slot *slot;
	struct profile_stack *stack;

	for (size_t at = hash; (slot = hash_next(&p->index->stacks, hash, &at));) {
		stack = &p->stacks.v[slot->number_1 - 1];
		if (stack->nr == kept &&
			(!kept || memcmp(&p->stack_frames.v[stack->first], frames, bytes) == 0)) {
			*ret = slot->number_1 - 1;
			return 0;
		}
	}
	if (p->stack_frames.room - p->stack_frames.nr < kept &&
		array_reserve(&p->stack_frames, 2 * (p->stack_frames.nr + kept)) < 0)
		return profile_no_memory(e);
	stack = array_add(&p->stacks);
	if (!stack || hash_add(&p->index->stacks, hash, p->stacks.nr - 1) < 0)
		return profile_no_memory(e);
	*stack = (struct profile_stack){ p->stack_frames.nr, (uint32_t)kept };
	if (kept)
		memcpy(&p->stack_frames.v[stack->first], frames, bytes);
	p->stack_frames.nr += kept;
	*ret = (uint32_t)(p->stacks.nr - 1);
	return 0;
}

int
profile_thread(
	struct profile *p, int64_t tid, const char *name, uint32_t *ret_thread_1, struct err *e)
{
	const char *kept = keep_string(p, name);
	struct profile_thread *thread;
	size_t i = p->threads.nr;

	if (!kept)
		return profile_no_memory(e);
	/* The last threads are the most frequent. */
	while (i && (p->threads.v[i - 1].tid != tid || p->threads.v[i - 1].name != kept))
		i--;
	if (!i) {
		thread = array_add(&p->threads);
		if (!thread)
			return profile_no_memory(e);
		*thread = (struct profile_thread){ tid, kept };
		i = p->threads.nr;
	}
	*ret_thread_1 = (uint32_t)i;
	return 0;
}

int
profile_add_sample(
	struct profile *p, struct profile_sample sample, const int64_t *values, struct err *e)
{
	struct profile_sample *added = array_add(&p->samples);

	if (!added)
		return profile_no_memory(e);
	*added = sample;
	for (size_t i = 0; i < p->types.nr; i++) {
		int64_t *value = array_add(&p->values);

		if (!value)
			return profile_no_memory(e);
		/* INT64_MIN has no negative. */
		*value = values[i] == INT64_MIN ? -INT64_MAX : values[i];
	}
	return 0;
}

int
profile_comment(struct profile *p, const char *text, struct err *e)
{
	const char *kept = keep_string(p, text);
	const char **comment = kept ? array_add(&p->comments) : NULL;

	if (!comment)
		return profile_no_memory(e);
	*comment = kept;
	return 0;
}

void
profile_warn(struct profile *p, bool is_partial, const char *fmt, ...)
{
	char text[600];
	const char *kept, **warning;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	p->is_partial |= is_partial;
	kept = keep_string(p, text);
	warning = kept ? array_add(&p->warnings) : NULL;
	if (warning)
		*warning = kept;
}

/* ---- lookups ---- */

static int
profile_by_start(const void *a, const void *b)
{
	const struct profile_mapping *x = *(struct profile_mapping *const *)a;
	const struct profile_mapping *y = *(struct profile_mapping *const *)b;

	return (x->start > y->start) - (x->start < y->start);
}

/*
 * Return the last of NR mappings, sorted by start, that begins at or before PC, if it contains PC;
 * else NULL.
 */
static const struct profile_mapping *
mapping_at(struct profile_mapping *const *sorted, size_t nr, uint64_t pc)
{
	size_t from = 0, to = nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (sorted[mid]->start <= pc)
			from = mid + 1;
		else
			to = mid;
	}
	return from && pc < sorted[from - 1]->end ? sorted[from - 1] : NULL;
}

void
profile_find_mappings(struct profile *p)
{
	auto_free struct profile_mapping **sorted = calloc(p->mappings.nr + 1, sizeof *sorted);

	if (!sorted)
		return;
	for (size_t i = 0; i < p->mappings.nr; i++)
		sorted[i] = &p->mappings.v[i];
	qsort(sorted, p->mappings.nr, sizeof *sorted, profile_by_start);
	for (size_t i = 0; i < p->frames.nr; i++) {
		struct profile_frame *frame = &p->frames.v[i];
		const struct profile_mapping *m;

		if (frame->mapping_1)
			continue;
		m = mapping_at(sorted, p->mappings.nr, profile_frame_pc(frame));
		if (m)
			frame->mapping_1 = (uint32_t)(m - p->mappings.v) + 1;
	}
}

int
profile_find_type(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->types.nr; i++)
		if (strcmp(p->types.v[i].name, name) == 0)
			return (int)i;
	return -1;
}

bool
profile_is_bytes(const struct profile_type *type)
{
	return strcmp(type->unit, "bytes") == 0;
}

/* ---- combining profiles ---- */

/* Append BASE's frames to those of P, with their mappings. */
static int
append_frames(struct profile *p, const struct profile *base, struct err *e)
{
	uint32_t before = (uint32_t)p->mappings.nr, frame;

	for (size_t i = 0; i < base->mappings.nr; i++) {
		const struct profile_mapping *m = &base->mappings.v[i];

		if (profile_add_mapping(
			    p, m->start, m->end, m->offset_bytes, m->path, m->build_id, e) < 0)
			return -1;
		p->mappings.v[p->mappings.nr - 1].offset_kind = m->offset_kind;
	}
	for (size_t i = 0; i < base->frames.nr; i++) {
		const struct profile_frame *f = &base->frames.v[i];

		if (profile_add_frame(p, f->address, f->is_exact,
			    f->mapping_1 ? f->mapping_1 + before : 0, &frame, e) < 0)
			return -1;
		for (size_t k = 0; k < f->nr_lines; k++) {
			const struct profile_line *l = &base->lines.v[f->first_line + k];
			const struct profile_function *fn = &base->functions.v[l->function];

			if (profile_add_line(p, frame, fn->name, fn->file, l->line, e) < 0)
				return -1;
		}
	}
	return 0;
}

/*
 * Append SIGN times one sample of BASE, whose frames begin at FIRST in P; TYPE_1 has P's number of
 * each type + 1.
 */
static int
append_sample(struct profile *p, const struct profile *base, size_t i, int sign, uint32_t first,
	const uint32_t *type_1, uint32_t *room, struct err *e)
{
	struct profile_sample s = base->samples.v[i];
	const struct profile_stack *stack = &base->stacks.v[s.stack];
	int64_t values[PROFILE_MAX_TYPES] = { 0 };

	for (size_t k = 0; k < stack->nr; k++)
		room[k] = base->stack_frames.v[stack->first + k] + first;
	if (profile_stack(p, room, stack->nr, &s.stack, e) < 0)
		return -1;
	if (s.thread_1) {
		const struct profile_thread *t = &base->threads.v[s.thread_1 - 1];

		if (profile_thread(p, t->tid, t->name, &s.thread_1, e) < 0)
			return -1;
	}
	for (size_t k = 0; k < base->types.nr; k++)
		if (type_1[k])
			values[type_1[k] - 1] = sign * profile_values(base, i)[k];
	return profile_add_sample(p, s, values, e);
}

static int
profile_append_one(struct profile *p, const struct profile *base, int sign, struct err *e)
{
	uint32_t type_1[PROFILE_MAX_TYPES];
	uint32_t first = (uint32_t)p->frames.nr;
	auto_free uint32_t *room = malloc(PROFILE_MAX_DEPTH * sizeof *room);

	if (!room)
		return profile_no_memory(e);
	for (size_t k = 0; k < base->types.nr; k++)
		type_1[k] = (uint32_t)(profile_find_type(p, base->types.v[k].name) + 1);
	if (append_frames(p, base, e) < 0)
		return -1;
	for (size_t i = 0; i < base->samples.nr; i++)
		if (append_sample(p, base, i, sign, first, type_1, room, e) < 0)
			return -1;
	return 0;
}

int
profile_append(struct profile *p, const struct profile *other, struct err *e)
{
	return profile_append_one(p, other, 1, e);
}

int
profile_subtract(struct profile *p, const struct profile *base, const char *must, struct err *e)
{
	if (profile_find_type(p, must) < 0 || profile_find_type(base, must) < 0)
		return err_set(e, 0, "they do not both have values of type %s", must);
	return profile_append_one(p, base, -1, e);
}
