#include <config.h>

#include "recording/heaptrack-names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "recording/heaptrack-line.h"
#include "recording/heaptrack-priv.h"

/* heaptrack records 64 frames (src/track/trace.h); a file with more was made by hand. */
#define MAX_DEPTH 1024

static const char *
heaptrack_names_string_of(const struct heaptrack *h, uint32_t string_1)
{
	return string_1 ? h->strings.v[string_1 - 1] : "";
}

static const char *
heaptrack_names_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Return where the arguments of the function NAME begin; its length if it has no arguments. */
static size_t
find_arguments(const char *name)
{
	static const char constant[] = " const", operator[] = "operator";
	size_t len = strlen(name), at, depth = 0, word = strlen(operator);

	if (len > strlen(constant) && strcmp(name + len - strlen(constant), constant) == 0)
		len -= strlen(constant);
	if (!len || name[len - 1] != ')')
		return strlen(name);
	for (at = len; at > 0; at--) {
		if (name[at - 1] == ')')
			depth++;
		else if (name[at - 1] == '(' && --depth == 0)
			break;
	}
	/* Not "(anonymous namespace)", and not operator(). */
	if (at <= 1 || (at > word && strncmp(name + at - 1 - word, operator, word) == 0))
		return strlen(name);
	return at - 1;
}

/*
 * Return the function NAME without its arguments and without the type of its result, which only
 * templates have: as in all profiles.  The caller frees it; NULL if memory runs out.
 */
static char *
heaptrack_names_plain_name(const char *name)
{
	size_t len = find_arguments(name), from = 0, depth = 0;

	if (name[len] && len && name[len - 1] == '>' && !strstr(name, "operator"))
		for (size_t i = 0; i < len; i++) {
			depth += name[i] == '<' || name[i] == '(';
			depth -= depth && (name[i] == '>' || name[i] == ')');
			if (name[i] == ' ' && !depth)
				from = i + 1;
		}
	return strndup(name + from, len - from);
}

/* ---- data for one profile ---- */

int
ht_begin(struct recording *r, struct profile *p, struct err *e)
{
	struct heaptrack *h = (struct heaptrack *)r;

	(void)p;
	free(h->made.frames);
	free(h->made.mappings);
	hash_release(&h->made.by_address);
	h->made.frames = calloc(h->places.nr + 1, sizeof *h->made.frames);
	h->made.mappings = calloc(h->strings.nr + h->modules.nr + 1, sizeof *h->made.mappings);
	return h->made.frames && h->made.mappings ? 0 : ht_no_memory(h, e);
}

/*
 * Find the mapping of a module that contains ADDRESS, + 1.  Where it begins is unknown, so it is
 * the range of the addresses seen so far.
 */
static int
mapping_of_name(struct heaptrack *h, struct profile *p, uint32_t string_1, uint64_t address,
	uint32_t *ret_1, struct err *e)
{
	uint32_t *made_1 = &h->made.mappings[string_1];
	struct profile_mapping *m;

	if (!string_1) {
		*ret_1 = 0;
		return 0;
	}
	if (!*made_1) {
		if (profile_add_mapping(p, address, address, 0,
			    heaptrack_names_string_of(h, string_1), "", e) < 0)
			return -1;
		*made_1 = (uint32_t)p->mappings.nr;
	}
	m = &p->mappings.v[*made_1 - 1];
	m->offset_kind = PROFILE_OFFSET_UNKNOWN;
	if (address < m->start)
		m->start = address;
	if (address >= m->end)
		m->end = address + 1;
	*ret_1 = *made_1;
	return 0;
}

/* Name FRAME like PLACE; a place without a name, by its address and module. */
static int
heaptrack_names_name_frame(const struct heaptrack *h, const struct ht_place *place,
	struct profile *p, uint32_t frame, struct err *e)
{
	const char *module = heaptrack_names_string_of(h, place->module_1);
	auto_free char *address = NULL;

	if (asprintf(&address, "0x%" PRIx64 "%s%s", place->address, *module ? " in " : "",
		    heaptrack_names_base_name(module)) < 0) {
		address = NULL;
		return ht_no_memory(h, e);
	}
	for (uint32_t i = 0; i < place->nr; i++) {
		const struct ht_frame *f = &h->frames.v[place->first + i];
		auto_free char *shown =
			heaptrack_names_plain_name(heaptrack_names_string_of(h, f->function_1));

		if (!shown)
			return ht_no_memory(h, e);
		if (profile_add_line(p, frame, *shown ? shown : address,
			    heaptrack_names_string_of(h, f->file_1), f->line, e) < 0)
			return -1;
	}
	return place->nr ? 0 : profile_add_line(p, frame, address, "", 0, e);
}

static int
frame_of_place(
	struct heaptrack *h, struct profile *p, uint64_t place_1, uint32_t *ret, struct err *e)
{
	const struct ht_place *place = &h->places.v[place_1 - 1];
	uint32_t mapping_1;

	if (h->made.frames[place_1]) {
		*ret = h->made.frames[place_1] - 1;
		return 0;
	}
	if (mapping_of_name(h, p, place->module_1, place->address, &mapping_1, e) < 0 ||
		profile_add_frame(p, place->address, true, mapping_1, ret, e) < 0)
		return -1;
	h->made.frames[place_1] = *ret + 1;
	return heaptrack_names_name_frame(h, place, p, *ret, e);
}

/* ---- raw files ---- */

static int
mapping_of_module(
	struct heaptrack *h, struct profile *p, uint32_t module_1, uint32_t *ret_1, struct err *e)
{
	const struct ht_module *module = module_1 ? &h->modules.v[module_1 - 1] : NULL;
	uint32_t *made_1 = &h->made.mappings[module_1];

	if (module && !*made_1) {
		if (profile_add_mapping(p, module->start, module->end, module->offset_bytes,
			    heaptrack_names_string_of(h, module->string_1), "", e) < 0)
			return -1;
		*made_1 = (uint32_t)p->mappings.nr;
		p->mappings.v[*made_1 - 1].offset_kind = PROFILE_OFFSET_IS_ADDRESS;
	}
	*ret_1 = *made_1;
	return 0;
}

/* Find or add the frame of a raw address: equal addresses in the same module are one frame. */
static int
frame_of_address(struct heaptrack *h, struct profile *p, const struct ht_node *node, uint32_t *ret,
	struct err *e)
{
	uint32_t hash, mapping_1;
	const struct hash_slot *slot;

	if (mapping_of_module(h, p, node->module_1, &mapping_1, e) < 0)
		return -1;
	hash = hash_pair(node->place, mapping_1);
	for (size_t at = hash; (slot = hash_next(&h->made.by_address, hash, &at));) {
		const struct profile_frame *there = &p->frames.v[slot->number_1 - 1];

		if (there->address == node->place && there->mapping_1 == mapping_1) {
			*ret = slot->number_1 - 1;
			return 0;
		}
	}
	/*
	 * Since heaptrack 1.3 an address is one less than the return address.  Earlier files have
	 * the return address itself, of which pc - 1 is wanted; for files in between, pc - 2 is
	 * also inside the call, which has two bytes or more.
	 */
	if (profile_add_frame(p, node->place, h->version >= 3, mapping_1, ret, e) < 0)
		return -1;
	return hash_add(&h->made.by_address, hash, *ret) < 0 ? ht_no_memory(h, e) : 0;
}

/* ---- stacks ---- */

int
ht_sample(struct recording *r, uint32_t site, struct profile *p, struct profile_sample *ret,
	struct err *e)
{
	struct heaptrack *h = (struct heaptrack *)r;
	uint32_t frames[MAX_DEPTH];
	size_t nr = 0;

	*ret = (struct profile_sample){ 0 };
	for (uint32_t node_1 = h->node_of_site.v[site]; node_1 && nr < MAX_DEPTH;) {
		const struct ht_node *node = &h->nodes.v[node_1 - 1];
		int failed = 0;

		if (h->is_raw)
			failed = frame_of_address(h, p, node, &frames[nr++], e);
		else if (node->place)
			failed = frame_of_place(h, p, node->place, &frames[nr++], e);
		if (failed)
			return -1;
		node_1 = node->parent_1;
	}
	return profile_stack(p, frames, nr, &ret->stack, e);
}
