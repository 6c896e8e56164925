#include <config.h>

#include "view/type-name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/demangle.h"
#include "ui/json.h"

/* Return whether the name of TYPE is mangled. */
static bool
is_mangled(const struct census_type *type)
{
	return type->evidence == CENSUS_RTTI || type->evidence == CENSUS_VTABLE;
}

char *
type_name_of(const struct census_type *type)
{
	static const char kind[] = "typeinfo for ";
	char *mangled, *name;

	if (!is_mangled(type))
		return strdup(type->name);
	/* A class has no symbol, but its type_info has one. */
	if (asprintf(&mangled, "_ZTI%s", type->name) < 0)
		return NULL;
	name = demangle(mangled);
	free(mangled);
	if (name && strncmp(name, kind, sizeof kind - 1) == 0)
		memmove(name, name + sizeof kind - 1, strlen(name + sizeof kind - 1) + 1);
	return name ? name : strdup(type->name);
}

json_t *
type_name_to_json(const struct census_type *type)
{
	auto_free char *name = type_name_of(type);

	return json_pack("{s:o, s:o, s:s, s:o}", "name", ui_json_string(name ? name : type->name),
		"symbol", is_mangled(type) ? ui_json_string(type->name) : json_null(), "evidence",
		census_evidence_name(type->evidence), "module",
		type->path ? ui_json_string(type->path) : json_null());
}

const char *
type_name_module(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return !path ? "" : slash ? slash + 1 : path;
}

const char *
type_name_owner(const struct census_owner *owner, const struct census_type_table *types, char *buf,
	size_t size)
{
	char name[TYPE_NAME_BYTES], module[TYPE_NAME_BYTES];
	auto_free char *source = owner->name ? demangle(owner->name) : NULL;

	text_printable(type_name_module(owner->path), module, sizeof module);
	if (owner->kind == CENSUS_STACK && owner->tid)
		snprintf(buf, size, "stack of thread %d", (int)owner->tid);
	else if (owner->kind == CENSUS_OBJECT)
		snprintf(buf, size, "objects of Python: %s",
			owner->type
				? text_printable(types->type.v[owner->type].name, name, sizeof name)
				: "other types");
	else if (owner->kind == CENSUS_STACK)
		snprintf(buf, size, "stack");
	else if (owner->name)
		snprintf(buf, size, "global %s (%s)",
			text_printable(source ? source : owner->name, name, sizeof name), module);
	else if (owner->path)
		snprintf(buf, size, "data of %s", module);
	else
		snprintf(buf, size, "mapping " PRIraddr, owner->start.v);
	return buf;
}

static const char *
type_name_owner_kind(const struct census_owner *owner)
{
	static const char *const name[] = {
		[CENSUS_GLOBAL] = "global",
		[CENSUS_STACK] = "stack",
		[CENSUS_REGISTER] = "stack",
		[CENSUS_MAPPING] = "mapping",
		[CENSUS_OBJECT] = "object",
	};

	return name[owner->kind];
}

json_t *
type_name_owner_to_json(const struct census_owner *owner, const struct census_type_table *types)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kind", type_name_owner_kind(owner),
		"symbol", owner->name ? ui_json_string(owner->name) : json_null(), "module",
		owner->path ? ui_json_string(owner->path) : json_null(), "address",
		owner->start.v ? ui_json_address(owner->start) : json_null(), "tid",
		owner->tid ? json_integer(owner->tid) : json_null(), "type",
		owner->type ? ui_json_string(types->type.v[owner->type].name) : json_null());
}
