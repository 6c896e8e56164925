#include <config.h>

#include "recording/log-stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "wire/maps-text.h"
#include "wire/sites.h"

/* A path of nodes is no longer, unless it was made by hand. */
#define MAX_DEPTH WIRE_MAX_PATH

static int
log_stacks_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot name the stacks of the log");
}

/* ---- mappings ---- */

/*
 * Add a line "START-END rwxp OFFSET DEVICE INODE PATH", of code in a file.  1: done, 0: the line is
 * different.
 */
static int
add_mapping(struct log *l, const char *line, size_t len, uint32_t text)
{
	struct log_mapping m = { .text = text, .build_id = "" }, *added;
	char prot[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &m.start, &m.end,
		    prot, &m.offset_bytes, &at) < 4 ||
		!at || (size_t)at >= len || strlen(prot) < 3 || prot[2] != 'x' || line[at] != '/' ||
		m.start >= m.end)
		return 0;
	m.path = profile_string(l->r.facts, line + at, len - (size_t)at);
	added = m.path ? array_add(&l->mappings) : NULL;
	if (!added)
		return -1;
	*added = m;
	return 1;
}

/* Set the build-id of the mapping before LINE, if LINE contains it. */
static int
log_stacks_add_id(struct log *l, const char *line)
{
	struct log_mapping *m = l->mappings.nr ? &l->mappings.v[l->mappings.nr - 1] : NULL;
	char id[WIRE_MAX_ID_BYTES];

	if (!m || !wire_maps_id(line, m->start, id))
		return 0;
	m->build_id = profile_string(l->r.facts, id, strlen(id));
	return m->build_id ? 0 : -1;
}

static int
add_mappings(struct log *l, uint32_t text)
{
	char *line = l->names.texts.v[text];

	while (*line) {
		char *end = strchrnul(line, '\n');
		const char was = *end;
		int r;

		/* sscanf() measures its whole input. */
		*end = '\0';
		r = *line == '#' ? log_stacks_add_id(l, line)
				 : add_mapping(l, line, (size_t)(end - line), text);
		*end = was;
		if (r < 0)
			return -1;
		line = was ? end + 1 : end;
	}
	return 0;
}

/* Return the first mapping of TEXT: those of a text follow those of the texts before. */
static size_t
first_mapping(const struct log *l, uint32_t text)
{
	size_t first = 0, end = l->mappings.nr;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;

		if (l->mappings.v[middle].text < text)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* Return the mapping that contained ADDRESS when TEXT was written, + 1. */
static size_t
find_mapping(const struct log *l, uint64_t address, uint32_t text)
{
	for (size_t i = first_mapping(l, text); i < l->mappings.nr; i++) {
		const struct log_mapping *m = &l->mappings.v[i];

		if (m->text != text)
			break;
		if (address > m->start && address <= m->end)
			return i + 1;
	}
	return 0;
}

/*
 * Return the mapping of NODE, + 1.  NODE's maps record follows it if the mappings had changed.  A
 * mapping that was unmapped before is in the previous text.
 */
static size_t
log_stacks_mapping_of(const struct log *l, const struct log_node *node)
{
	size_t found_1 = 0;

	if (node->text < l->names.texts.nr)
		found_1 = find_mapping(l, node->address, node->text);
	if (!found_1 && node->text)
		found_1 = find_mapping(l, node->address, node->text - 1);
	return found_1;
}

/* Find or add it as a mapping of P, + 1: equal ones of several texts are one. */
static int
make_mapping(struct log *l, struct profile *p, size_t mapping_1, uint32_t *ret_1, struct err *e)
{
	struct log_mapping *m = mapping_1 ? &l->mappings.v[mapping_1 - 1] : NULL;

	*ret_1 = 0;
	if (!m)
		return 0;
	for (size_t i = 0; i < l->mappings.nr && !m->made_1; i++) {
		const struct log_mapping *other = &l->mappings.v[i];

		if (other->made_1 && other->start == m->start && other->end == m->end &&
			other->offset_bytes == m->offset_bytes && other->path == m->path &&
			strcmp(other->build_id, m->build_id) == 0)
			m->made_1 = other->made_1;
	}
	if (!m->made_1) {
		if (profile_add_mapping(
			    p, m->start, m->end, m->offset_bytes, m->path, m->build_id, e) < 0)
			return -1;
		m->made_1 = (uint32_t)p->mappings.nr;
	}
	*ret_1 = m->made_1;
	return 0;
}

int
log_begin(struct recording *r, struct profile *p, struct err *e)
{
	struct log *l = (struct log *)r;

	(void)p;
	hash_release(&l->made.frames);
	free(l->made.of_node_1);
	l->made.of_node_1 = calloc(l->names.nodes.nr + 1, sizeof *l->made.of_node_1);
	if (!l->made.of_node_1)
		return log_stacks_no_memory(e);
	if (!l->mappings.nr)
		for (size_t i = 0; i < l->names.texts.nr; i++)
			if (add_mappings(l, (uint32_t)i) < 0)
				return log_stacks_no_memory(e);
	for (size_t i = 0; i < l->mappings.nr; i++)
		l->mappings.v[i].made_1 = 0;
	return 0;
}

/* ---- functions of an interpreter ---- */

struct code {
	char text[WIRE_MAX_TEXT_NODES * WIRE_TEXT_BYTES + 1];
	const char *file, *function;
	uint32_t line;
};

/* Return the nodes of a text up to node NUMBER, the last one first.  0 if it is damaged. */
static size_t
log_stacks_text_path(const struct log_names *n, uint32_t number, uint64_t path[WIRE_MAX_TEXT_NODES])
{
	size_t nr = 0;

	while (number) {
		const struct log_node *node = log_names_node(n, number);

		if (!node || nr == WIRE_MAX_TEXT_NODES ||
			wire_label_of(node->address) != WIRE_LABEL_TEXT)
			return 0;
		path[nr++] = node->address;
		number = node->parent;
	}
	return nr;
}

/* Return the node NUMBER if it is a line. */
static const struct log_node *
log_stacks_find_line(const struct log_names *n, uint64_t number)
{
	const struct log_node *node =
		number < WIRE_SITES_MAX_NODES ? log_names_node(n, (uint32_t)number) : NULL;

	return node && wire_label_of(node->address) == WIRE_LABEL_LINE ? node : NULL;
}

/*
 * Find the function that ADDRESS, a label CODE, refers to (wire/sites.h).  False if it is damaged.
 */
static bool
log_stacks_find_code(const struct log_names *n, uint64_t address, struct code *ret)
{
	const uint64_t number = wire_label_value(address);
	const struct log_node *line = log_stacks_find_line(n, number), *first;
	uint64_t path[WIRE_MAX_TEXT_NODES];
	char *at = ret->text;
	size_t nr;

	if (!line)
		return false;
	ret->line = (uint32_t)wire_label_value(line->address);
	/* The running line is below the line where the function begins. */
	first = log_stacks_find_line(n, line->parent);
	nr = log_stacks_text_path(n, first ? first->parent : line->parent, path);
	while (nr--)
		for (int shift = 8 * (WIRE_TEXT_BYTES - 1); shift >= 0; shift -= 8)
			*at++ = (char)(path[nr] >> shift);
	*at = '\0';
	ret->file = ret->text;
	ret->function = memchr(ret->text, '\0', (size_t)(at - ret->text));
	return ret->function && ++ret->function < at && *ret->function;
}

/* ---- stacks ---- */

/* Find or add the frame of NODE: equal addresses in the same mapping are one frame. */
static int
make_frame(
	struct log *l, struct profile *p, const struct log_node *node, uint32_t *ret, struct err *e)
{
	const bool is_code = wire_label_of(node->address) == WIRE_LABEL_CODE;
	const struct hash_slot *slot;
	uint32_t hash, mapping_1;
	struct code code;

	if (make_mapping(l, p, is_code ? 0 : log_stacks_mapping_of(l, node), &mapping_1, e) < 0)
		return -1;
	hash = hash_pair(node->address, mapping_1);
	for (size_t at = hash; (slot = hash_next(&l->made.frames, hash, &at));) {
		const struct profile_frame *there = &p->frames.v[slot->number_1 - 1];

		if (there->address == node->address && there->mapping_1 == mapping_1) {
			*ret = slot->number_1 - 1;
			return 0;
		}
	}
	if (profile_add_frame(p, node->address, false, mapping_1, ret, e) < 0)
		return -1;
	if (hash_add(&l->made.frames, hash, *ret) < 0)
		return log_stacks_no_memory(e);
	if (!is_code || !log_stacks_find_code(&l->names, node->address, &code))
		return 0;
	return profile_add_line(p, *ret, code.function, code.file, code.line, e);
}

static int
frame_of(
	struct log *l, struct profile *p, const struct log_node *node, uint32_t *ret, struct err *e)
{
	uint32_t *made_1 = &l->made.of_node_1[node - l->names.nodes.v];

	if (!*made_1) {
		if (make_frame(l, p, node, ret, e) < 0)
			return -1;
		*made_1 = *ret + 1;
	}
	*ret = *made_1 - 1;
	return 0;
}

/* Make a frame for a stack without frames. */
static int
make_unknown(struct profile *p, bool is_none, uint32_t *ret, struct err *e)
{
	return profile_add_frame(p, 0, true, 0, ret, e) < 0
		? -1
		: profile_add_line(p, *ret,
			  is_none ? "[no room for more stacks]" : "[unknown stack]", "", 0, e);
}

int
log_sample(struct recording *r, uint32_t site, struct profile *p, struct profile_sample *ret,
	struct err *e)
{
	struct log *l = (struct log *)r;
	const uint32_t node_1 = site < l->names.sites.nr ? l->names.sites.v[site] : 0;
	const struct log_node *node;
	uint32_t frames[MAX_DEPTH];
	size_t nr = 0;
	uint64_t tid = 0;

	*ret = (struct profile_sample){ 0 };
	for (uint32_t number = node_1 ? node_1 - 1 : 0; number && nr < MAX_DEPTH;
		number = node->parent) {
		node = log_names_node(&l->names, number);
		if (!node)
			break;
		switch (wire_label_of(node->address)) {
		case WIRE_LABEL_NONE:
		case WIRE_LABEL_CODE:
			if (frame_of(l, p, node, &frames[nr++], e) < 0)
				return -1;
			break;
		case WIRE_LABEL_SIZE:
			ret->size_bytes = wire_label_value(node->address);
			break;
		case WIRE_LABEL_THREAD:
			tid = wire_label_value(node->address);
			break;
		default:
			break;
		}
	}
	if (!nr && make_unknown(p, site == WIRE_SITE_OF_NONE, &frames[nr++], e) < 0)
		return -1;
	return profile_stack(p, frames, nr, &ret->stack, e) < 0 ||
			(tid && profile_thread(p, (int64_t)tid, "", &ret->thread_1, e) < 0)
		? -1
		: 0;
}
