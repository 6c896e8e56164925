#include <config.h>

#include "view/retained-graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "maps/leaves.h"
#include "view/type-name.h"

/* Frames below a stack's blocks: the owner's, and what it is of RSS; and as many as layers has. */
#define STACK_MAX (CENSUS_LAYERS_MAX + 8)
#define NAME_BYTES (2 * TYPE_NAME_BYTES + 32)
/* A type of objects in pools with less is one of the others: one part in so many. */
#define POOLED_PARTS 200

struct graph_work {
	struct profile *p;
	const struct retained_report *r;
	const struct census_layers *l;
	struct err *e;
};

const struct report_words retained_graph_words = { "frames", "paths", "Frames", "HELD BY" };

bool
retained_graph_has_rss(const struct census_answer *s)
{
	return !s->core && s->census.knows_pages &&
		(s->space.rss_from == SPACE_RSS_SCAN || s->space.rss_from == SPACE_RSS_PAGEMAP);
}

uint64_t
retained_graph_bytes(const struct census_answer *s)
{
	return retained_graph_has_rss(s) ? s->space.totals.rss_bytes + s->space.totals.hugetlb_bytes
					 : s->census.in_use.bytes;
}

const char *
retained_graph_title(const struct census_answer *s, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s %d",
		!retained_graph_has_rss(s)		? "blocks of malloc, not RSS, of"
			: s->space.totals.hugetlb_bytes ? "RSS and huge pages of"
							: "RSS of",
		s->target.comm, (int)s->target.pid);
	return buf;
}

/* ---- the profile ---- */

/* Add a frame called NAME. */
static int
graph_add_frame(const struct graph_work *w, const char *name, uint32_t *ret)
{
	return profile_add_frame(w->p, 0, true, 0, ret, w->e) < 0 ||
			profile_add_line(w->p, *ret, name, "", 0, w->e) < 0
		? -1
		: 0;
}

/* Add BYTES with the stack of the NR FRAMES, the leaf first. */
static int
graph_add_bytes(const struct graph_work *w, const uint32_t *frames, size_t nr, uint64_t bytes)
{
	const int64_t value = (int64_t)bytes;
	struct profile_sample sample = { 0 };

	if (!bytes)
		return 0;
	if (profile_stack(w->p, frames, nr, &sample.stack, w->e) < 0)
		return -1;
	return profile_add_sample(w->p, sample, &value, w->e);
}

/* Add BYTES with the frame NAME above the frame BELOW. */
static int
graph_add_part(const struct graph_work *w, uint32_t below, const char *name, uint64_t bytes)
{
	uint32_t frame[2] = { 0, below };

	if (!bytes)
		return 0;
	return graph_add_frame(w, name, &frame[0]) < 0 ? -1 : graph_add_bytes(w, frame, 2, bytes);
}

/* ---- blocks ---- */

static void
graph_name_size(const struct census_frame *frame, char *buf, size_t size)
{
	const bool is_range = frame->first_bytes < frame->last_bytes;
	char first[32], last[32];

	text_bytes(frame->first_bytes, first, sizeof first);
	text_bytes(frame->last_bytes, last, sizeof last);
	snprintf(buf, size, "blocks of %s%s%s (%" PRIu64 ")", first, is_range ? " to " : "",
		is_range ? last : "", frame->blocks);
}

/* Write the name of the type of FRAME to BUF, printable. */
static int
graph_name_type(
	const struct graph_work *w, const struct census_frame *frame, char *buf, size_t size)
{
	auto_free char *name = type_name_of(&w->r->of->types.type.v[frame->number]);
	char printable[TYPE_NAME_BYTES];

	if (!name)
		return err_set(w->e, ENOMEM, "cannot name a type");
	snprintf(buf, size, "%s (%" PRIu64 ")", text_printable(name, printable, sizeof printable),
		frame->blocks);
	return 0;
}

static int
graph_name(const struct graph_work *w, const struct census_frame *frame, char *buf, size_t size)
{
	switch (frame->kind) {
	case CENSUS_FRAME_ALL:
		snprintf(buf, size, "blocks of malloc (%" PRIu64 ")", frame->held.blocks);
		return 0;
	case CENSUS_FRAME_OWNER:
		type_name_owner(&w->r->owners->owner.v[frame->number], &w->r->of->types, buf, size);
		return 0;
	case CENSUS_FRAME_SHARED:
		snprintf(buf, size, "several roots together");
		return 0;
	case CENSUS_FRAME_UNREACHABLE:
		snprintf(buf, size, "unreachable: see memdiag leaks");
		return 0;
	case CENSUS_FRAME_OTHERS:
		snprintf(buf, size, "others (%" PRIu64 ")", frame->blocks);
		return 0;
	case CENSUS_FRAME_SIZE:
		graph_name_size(frame, buf, size);
		return 0;
	default:
		return graph_name_type(w, frame, buf, size);
	}
}

/* Fill FRAME with the frame of each of the layers', and OWN with the bytes of its own blocks. */
static int
graph_name_all(const struct graph_work *w, uint32_t *frame, uint64_t *own)
{
	const struct census_frame *v = w->l->frame.v;
	char name[NAME_BYTES];

	for (size_t i = 0; i < w->l->frame.nr; i++) {
		if (graph_name(w, &v[i], name, sizeof name) < 0 ||
			graph_add_frame(w, name, &frame[i]) < 0)
			return -1;
		own[i] += v[i].held.bytes;
		if (i)
			own[v[i].parent] -= v[i].held.bytes;
	}
	return 0;
}

/* Add the blocks by what holds them. */
static int
graph_add_blocks(const struct graph_work *w)
{
	const struct census_frame *v = w->l->frame.v;
	const size_t nr = w->l->frame.nr;
	auto_free uint32_t *frame = calloc(nr, sizeof *frame);
	auto_free uint64_t *own = calloc(nr, sizeof *own);
	uint32_t stack[STACK_MAX];

	if (!frame || !own)
		return err_set(w->e, ENOMEM, "cannot draw what is held");
	if (graph_name_all(w, frame, own) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		size_t depth = 0;

		for (size_t at = i; at && depth < STACK_MAX - 1; at = v[at].parent)
			stack[depth++] = frame[at];
		stack[depth++] = frame[0];
		if (graph_add_bytes(w, stack, depth, own[i]) < 0)
			return -1;
	}
	return 0;
}

/* ---- all other memory ---- */

/* Add what malloc has besides the bytes of blocks. */
static int
graph_add_rest_of_malloc(const struct graph_work *w, const uint64_t *bytes)
{
	const uint64_t blocks = w->l->frame.v[0].held.bytes;
	uint64_t all = 0;
	uint32_t frame;

	for (unsigned int kind = 0; kind < NR_LEAF_KINDS; kind++)
		if (leaf_kind_group((enum leaf_kind)kind) == GROUP_HEAP)
			all += bytes[kind];
	/* Blocks that were allocated after the pages were counted are more. */
	if (all <= blocks)
		return 0;
	if (graph_add_frame(w, "free inside malloc, and headers of blocks", &frame) < 0)
		return -1;
	return graph_add_bytes(w, &frame, 1, all - blocks);
}

/* Add BYTES as the frames NAME, GROUP. */
static int
graph_add_objects(
	const struct graph_work *w, const char *name, const uint32_t *below, uint64_t bytes)
{
	uint32_t frame[3] = { 0, below[0], below[1] };

	if (!bytes)
		return 0;
	return graph_add_frame(w, name, &frame[0]) < 0 ? -1 : graph_add_bytes(w, frame, 3, bytes);
}

/* Add the objects in the pools of CPython by type, above the frame GROUP. */
static int
graph_add_pooled(const struct graph_work *w, uint32_t group)
{
	const struct census_answer *s = w->r->of;
	const struct census_sum *all = &s->census.pooled.all;
	struct census_sum others = { 0 };
	char name[NAME_BYTES], printable[TYPE_NAME_BYTES];
	uint32_t below[2] = { 0, group };

	snprintf(name, sizeof name, "objects in CPython's pools (%" PRIu64 ")", all->blocks);
	if (graph_add_frame(w, name, &below[0]) < 0)
		return -1;
	for (size_t i = 0; i < s->census.pooled.nr; i++) {
		const struct census_sum *sum = &s->census.pooled.v[i];

		if (sum->bytes < all->bytes / POOLED_PARTS) {
			others.blocks += sum->blocks;
			others.bytes += sum->bytes;
			continue;
		}
		snprintf(name, sizeof name, "%s (%" PRIu64 ")",
			i == CENSUS_NO_TYPE ? TYPE_NAME_NO_OBJECT
					    : text_printable(s->types.type.v[i].name, printable,
						      sizeof printable),
			sum->blocks);
		if (graph_add_objects(w, name, below, sum->bytes) < 0)
			return -1;
	}
	snprintf(name, sizeof name, "others (%" PRIu64 ")", others.blocks);
	return graph_add_objects(w, name, below, others.bytes);
}

/* Add the BYTES of each kind of memory that are of GROUP. */
static int
graph_add_group(const struct graph_work *w, enum group group, const uint64_t *bytes)
{
	const struct census_sum *pooled = &w->r->of->census.pooled.all;
	uint64_t all = 0;
	uint32_t frame;

	for (unsigned int kind = 0; kind < NR_LEAF_KINDS; kind++)
		if (leaf_kind_group((enum leaf_kind)kind) == group)
			all += bytes[kind];
	if (!all)
		return 0;
	if (graph_add_frame(w, group_name(group), &frame) < 0)
		return -1;
	/* Pools are somewhere in anonymous memory. */
	if (group == GROUP_ANON && pooled->bytes && pooled->bytes <= all)
		return graph_add_pooled(w, frame) < 0
			? -1
			: graph_add_part(w, frame, "other anonymous memory", all - pooled->bytes);
	for (unsigned int kind = 0; kind < NR_LEAF_KINDS; kind++)
		if (leaf_kind_group((enum leaf_kind)kind) == group &&
			graph_add_part(w, frame, leaf_label(leaf_kind_name((enum leaf_kind)kind)),
				bytes[kind]) < 0)
			return -1;
	return 0;
}

/* Add all resident memory that is not of blocks. */
static int
graph_add_rest(const struct graph_work *w)
{
	const struct space *space = &w->r->of->space;
	uint64_t bytes[NR_LEAF_KINDS] = { 0 };

	for (size_t i = 0; i < space->leaves.nr; i++) {
		const struct leaf *leaf = &space->leaves.v[i];

		bytes[leaf->kind] += leaf->rss_bytes + leaf->hugetlb_bytes;
	}
	for (unsigned int group = 0; group < NR_GROUPS; group++)
		if ((group == GROUP_HEAP ? graph_add_rest_of_malloc(w, bytes)
					 : graph_add_group(w, (enum group)group, bytes)) < 0)
			return -1;
	return 0;
}

/* ---- all of it ---- */

int
retained_graph_make(struct profile **ret, const struct retained_report *r,
	const struct census_layers *l, struct err *e)
{
	auto_profile struct profile *p = profile_new();
	const struct graph_work w = { .p = p, .r = r, .l = l, .e = e };
	const bool has_rss = retained_graph_has_rss(r->of);

	if (!p)
		return err_set(e, ENOMEM, "cannot draw what is held");
	if (profile_add_type(p, has_rss ? "resident_space" : "inuse_space", "bytes", e) < 0 ||
		profile_comment(p,
			"A frame alone leads to the frames below it: they would be freed with it. "
			"The number after a name is that of its blocks.",
			e) < 0 ||
		graph_add_blocks(&w) < 0 || (has_rss && graph_add_rest(&w) < 0))
		return -1;
	*ret = take_ptr(&p);
	return 0;
}
