/*
 * Rows are known again by what does not depend on where memory is: the type by how it is known, its
 * symbol or name, and its file; the root by its kind and name.
 */
#include <config.h>

#include "account/growth-census.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* The most bytes of a part of a label. */
#define PART_BYTES 256

static const char *
growth_text(json_t *row, const char *member)
{
	return json_string_value(json_object_get(row, member));
}

/* Return the member MEMBER of ROW, made printable in BUF; OTHERWISE if it is not a string. */
static const char *
growth_part(json_t *row, const char *member, const char *otherwise, char buf[PART_BYTES])
{
	const char *text = growth_text(row, member);

	return text ? text_abbreviate(text, buf, PART_BYTES) : otherwise;
}

/* Return a key of three parts, of which the last two may be NULL; NULL with E. */
static char *
growth_join_key(const char *a, const char *b, const char *c, struct err *e)
{
	char *key;

	if (asprintf(&key, "%s\t%s\t%s", a, b ? b : "", c ? c : "") >= 0)
		return key;
	err_set(e, ENOMEM, "cannot compare");
	return NULL;
}

/* ---- types ---- */

static char *
types_key(json_t *row, struct err *e)
{
	const char *name = growth_text(row, "name"), *evidence = growth_text(row, "evidence");
	const char *symbol = growth_text(row, "symbol");

	if (!name || !evidence) {
		err_set(e, 0, "a row of its types has no name");
		return NULL;
	}
	if (!json_object_get(row, "symbol")) {
		err_set(e, 0, "a row of its types has no symbol");
		err_hint(e, "An older memdiag has written it; save it again");
		return NULL;
	}
	return growth_join_key(evidence, growth_text(row, "module"), symbol ? symbol : name, e);
}

/* Write the name of a type with how it is known, and its module, to BUF. */
static const char *
types_label(json_t *row, char *buf, size_t size)
{
	char name[PART_BYTES], evidence[PART_BYTES], module[PART_BYTES];
	const char *path = growth_text(row, "module");
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (path)
		text_abbreviate(slash ? slash + 1 : path, module, sizeof module);
	snprintf(buf, size, "%s (%s%s%s)", growth_part(row, "name", "?", name),
		growth_part(row, "evidence", "?", evidence), path ? ", " : "", path ? module : "");
	return buf;
}

static void
types_describe(json_t *row, json_t *to)
{
	json_object_set(to, "evidence", json_object_get(row, "evidence"));
	if (json_object_get(row, "module"))
		json_object_set(to, "module", json_object_get(row, "module"));
}

/* Return the rows with the members NAME of DATA, which are sums; NULL if it lacks one. */
static json_t *
shares_rows(json_t *data, const char *const *name)
{
	json_t *list = json_array();

	for (; *name; name++) {
		json_t *sum = json_object_get(data, *name), *row = json_object();

		if (!json_is_object(sum)) {
			json_decref(row);
			json_decref(list);
			return NULL;
		}
		json_object_set_new(row, "name", json_string(*name));
		json_object_set(row, "bytes", json_object_get(sum, "bytes"));
		json_object_set(row, "blocks", json_object_get(sum, "blocks"));
		json_array_append_new(list, row);
	}
	return list;
}

static json_t *
types_shares(json_t *data)
{
	static const char *const name[] = { "in_use", "proven", "inferred", "global", "unknown",
		NULL };

	return shares_rows(data, name);
}

static json_t *
types_rows(json_t *data)
{
	return json_incref(json_object_get(data, "types"));
}

const struct growth_list types_shares_growth = {
	.member = "shares",
	.title = "SHARE",
	.rows = types_shares,
	.name = growth_name,
	.has_both = true,
	.column = { { "bytes", "BYTES", false }, { "blocks", "BLOCKS", false } },
};

/* The members of the lists whose rows are types. */
#define TYPES_ROWS                                                                                 \
	.name = growth_name, .key = types_key, .text = types_label, .describe = types_describe,    \
	.has_both = true

const struct growth_list types_growth = {
	.member = "types",
	.title = "TYPE",
	TYPES_ROWS,
	.column = { { "bytes", "BYTES", false }, { "blocks", "BLOCKS", false } },
};

const struct growth_list types_below_growth = {
	.member = "below",
	.title = "BELOW BLOCKS OF THE TYPE",
	.rows = types_rows,
	TYPES_ROWS,
	.column = { { "below.bytes", "BYTES", false }, { "below.blocks", "BLOCKS", false } },
};

const struct growth_list types_pooled_growth = {
	.member = "pooled",
	.title = "TYPE, IN CPYTHON'S POOLS",
	.rows = types_rows,
	TYPES_ROWS,
	.column = { { "pooled.bytes", "BYTES", false }, { "pooled.blocks", "OBJECTS", false } },
};

/* ---- retained ---- */

static json_t *
retained_shares(json_t *data)
{
	static const char *const name[] = { "in_use", "shared", "unreachable", NULL };

	return shares_rows(data, name);
}

/* Write the name of a root as in "global cache (server)" to BUF; NULL if it has no kind. */
static const char *
root_name(json_t *row, char *buf, size_t size)
{
	char kind[PART_BYTES], symbol[PART_BYTES], module[PART_BYTES], type[PART_BYTES];
	json_t *tid = json_object_get(row, "tid");

	if (!growth_part(row, "kind", NULL, kind))
		return NULL;
	if (json_is_integer(tid))
		snprintf(buf, size, "%s of thread %" JSON_INTEGER_FORMAT, kind,
			json_integer_value(tid));
	else if (growth_text(row, "symbol"))
		snprintf(buf, size, "%s %s (%s)", kind, growth_part(row, "symbol", "", symbol),
			growth_part(row, "module", "?", module));
	else if (growth_text(row, "module"))
		snprintf(buf, size, "data of %s", growth_part(row, "module", "", module));
	else if (strcmp(kind, "object") == 0)
		snprintf(buf, size, "objects of Python: %s",
			growth_part(row, "type", "other types", type));
	else
		snprintf(buf, size, "%ss", kind);
	return buf;
}

static char *
root_key(json_t *row, struct err *e)
{
	const char *kind = growth_text(row, "kind"), *symbol = growth_text(row, "symbol");
	json_t *tid = json_object_get(row, "tid");
	char thread[24];

	if (!kind) {
		err_set(e, 0, "a row of its roots has no kind");
		return NULL;
	}
	snprintf(thread, sizeof thread, "%" JSON_INTEGER_FORMAT, json_integer_value(tid));
	if (json_is_integer(tid))
		return growth_join_key(kind, NULL, thread, e);
	return growth_join_key(
		kind, growth_text(row, "module"), symbol ? symbol : growth_text(row, "type"), e);
}

static void
root_describe(json_t *row, json_t *to)
{
	json_object_set(to, "kind", json_object_get(row, "kind"));
}

static char *
retained_type_key(json_t *row, struct err *e)
{
	const char *name = growth_text(row, "name"), *evidence = growth_text(row, "evidence");

	if (name && evidence)
		return growth_join_key(evidence, NULL, name, e);
	err_set(e, 0, "a row of its types has no name");
	return NULL;
}

const struct growth_list retained_shares_growth = {
	.member = "shares",
	.title = "SHARE",
	.rows = retained_shares,
	.name = growth_name,
	.has_both = true,
	.column = { { "bytes", "BYTES", false }, { "blocks", "BLOCKS", false } },
};

const struct growth_list retained_roots_growth = {
	.member = "roots",
	.title = "ROOT",
	.name = root_name,
	.key = root_key,
	.describe = root_describe,
	.has_both = true,
	.column = { { "retained.bytes", "RETAINED", false },
		{ "retained.blocks", "BLOCKS", false } },
};

const struct growth_list retained_types_growth = {
	.member = "types",
	.title = "TYPE",
	.name = growth_name,
	.key = retained_type_key,
	.text = types_label,
	.describe = types_describe,
	.has_both = true,
	.column = { { "retained.bytes", "RETAINED", false },
		{ "retained.blocks", "BLOCKS", false } },
};
