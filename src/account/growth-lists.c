#include <config.h>

#include "account/growth-lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "account/growth-census.h"
#include "account/growth-mappings.h"
#include "base/text.h"
#include "maps/leaves.h"

/* ---- names of rows ---- */

/* Name an arena by its address, which is fixed; its number changes when others are created. */
static const char *
arena_name(json_t *row, char *buf, size_t size)
{
	const char *address = json_string_value(json_object_get(row, "address"));
	json_t *index = json_object_get(row, "index");
	char printable[64];

	if (json_is_true(json_object_get(row, "main")))
		snprintf(buf, size, "main arena");
	else if (address)
		snprintf(buf, size, "arena %s",
			text_printable(address, printable, sizeof printable));
	else if (json_is_integer(index))
		snprintf(buf, size, "arena %" JSON_INTEGER_FORMAT, json_integer_value(index));
	else
		return NULL;
	return buf;
}

/* Return a name such as "free trimmable" for "free_trimmable". */
static const char *
kind_name(json_t *row, char *buf, size_t size)
{
	const char *kind = json_string_value(json_object_get(row, "kind"));

	if (!kind)
		return NULL;
	text_printable(kind, buf, size);
	for (char *p = buf; *p; p++)
		if (*p == '_')
			*p = ' ';
	return buf;
}

static const char *
size_name(json_t *row, char *buf, size_t size)
{
	json_t *from = json_object_get(row, "from_bytes"), *to = json_object_get(row, "to_bytes");
	char a[32], b[32];

	if (!json_is_integer(from))
		return NULL;
	text_bytes((uint64_t)json_integer_value(from), a, sizeof a);
	if (!json_is_integer(to))
		snprintf(buf, size, "%s and more", a);
	else
		snprintf(buf, size, "%s to %s", a,
			text_bytes((uint64_t)json_integer_value(to), b, sizeof b));
	return buf;
}

static const char *
mmapped_name(json_t *row, char *buf, size_t size)
{
	(void)row;
	snprintf(buf, size, "blocks with a mapping of their own");
	return buf;
}

/* ---- lists ---- */

const struct growth_list maps_growth = {
	.member = "groups",
	.title = "GREW",
	.name = growth_name,
	.label = leaf_label,
	.column = {
		{ "virt_bytes", "VIRT", false },
		{ "rss_bytes", "RSS", false },
		{ "swap_bytes", "SWAP", false },
		{ "hugetlb_bytes", "HUGETLB", true },
		{ "count", "COUNT", false },
	},
	.sort = 1,
};

const struct growth_list mappings_growth = {
	.member = "mappings",
	.title = "MAPPING",
	.name = growth_mapping_name,
	.column = {
		{ "virt_bytes", "VIRT", false },
		{ "rss_bytes", "RSS", false },
		{ "swap_bytes", "SWAP", false },
		{ "hugetlb_bytes", "HUGETLB", true },
	},
	.sort = 1,
};

static const struct growth_list accounting = {
	.member = "accounting",
	.title = "RESIDENT, FOR WHAT",
	.name = kind_name,
	.column = { { "bytes", "RSS", false } },
};

static const struct growth_list mmapped = {
	.member = "mmapped",
	.title = "LARGE BLOCKS",
	.name = mmapped_name,
	.column = { { "bytes", "SIZE", false }, { "count", "COUNT", false } },
};

static const struct growth_list info_arenas = {
	.member = "arenas",
	.title = "ARENA",
	.name = arena_name,
	.column = {
		{ "system_bytes", "SYSTEM", false },
		{ "in_use_bytes", "IN USE", false },
		{ "fast_bytes", "FAST", true },
		{ "rest_bytes", "REST", false },
		{ "resident_bytes", "RESIDENT", false },
	},
	.sort = 4,
};

static const struct growth_list heap_arenas = {
	.member = "arenas",
	.title = "ARENA",
	.name = arena_name,
	.column = {
		{ "system_bytes", "SYSTEM", false },
		{ "in_use_bytes", "IN USE", false },
		{ "cached_bytes", "CACHED", false },
		{ "stranded_bytes", "STRANDED", false },
		{ "top_bytes", "TOP", false },
		{ "resident_bytes", "RESIDENT", false },
	},
	.sort = 5,
};

static const struct growth_list heap_sizes = {
	.member = "sizes",
	.title = "CHUNKS OF",
	.name = size_name,
	.column = {
		{ "in_use_bytes", "IN USE", false },
		{ "in_use_chunks", "CHUNKS", false },
		{ "free_bytes", "FREE", false },
	},
};

static const struct comparable comparables[] = {
	{ "info", { &accounting, &mmapped, &info_arenas } },
	{ "maps", { &maps_growth } },
	{ "heap", { &accounting, &mmapped, &heap_arenas, &heap_sizes } },
	{ "types",
		{ &types_shares_growth, &types_growth, &types_below_growth,
			&types_pooled_growth } },
	{ "retained", { &retained_shares_growth, &retained_roots_growth, &retained_types_growth } },
};

const struct comparable maps_by_mapping = { "maps", { &mappings_growth } };

const struct comparable *
comparable_find(const char *command)
{
	for (size_t i = 0; i < sizeof comparables / sizeof *comparables; i++)
		if (strcmp(comparables[i].command, command) == 0)
			return &comparables[i];
	return NULL;
}
