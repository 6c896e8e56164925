/* type-name: names of types and owners of a census, as people read them. */
#ifndef MEMDIAG_VIEW_TYPE_NAME_H
#define MEMDIAG_VIEW_TYPE_NAME_H

#include <jansson.h>
#include <stddef.h>

#include "census/owners.h"
#include "census/type-table.h"

/* The room for a name in a table; JSON has all of it. */
#define TYPE_NAME_BYTES 256

/* The name of what is in CPython's pools without a type. */
#define TYPE_NAME_NO_OBJECT "no object: tables of dictionaries, values"

/* Return the name of TYPE as in the source, which the caller frees; NULL without memory. */
char *type_name_of(const struct census_type *type);

/* Return the members that identify TYPE as JSON: name, symbol, evidence and module. */
json_t *type_name_to_json(const struct census_type *type);

/* Return the last part of PATH; "" for NULL. */
const char *type_name_module(const char *path);

/* Write an owner as in "global cache (server)", made printable, to BUF; return BUF. */
const char *type_name_owner(const struct census_owner *owner, const struct census_type_table *types,
	char *buf, size_t size);

/* Return what identifies an owner as JSON. */
json_t *type_name_owner_to_json(
	const struct census_owner *owner, const struct census_type_table *types);

#endif
