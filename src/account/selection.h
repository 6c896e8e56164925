/*
 * selection: the requested leaves of an address space, by class, object or address; and the classes
 * that the user defines.
 */
#ifndef MEMDIAG_ACCOUNT_SELECTION_H
#define MEMDIAG_ACCOUNT_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "maps/maps.h"

/* A user-defined class: mappings whose path matches. */
struct user_class {
	const char *name;
	const char *glob;
};

struct user_classes {
	struct user_class *v;
	size_t nr, room;
};

/* A leaf is selected if it meets all given conditions; a zeroed selection selects every leaf. */
struct selection {
	struct user_classes own;
	struct {
		const char **v;
		size_t nr, room;
	} classes;	    /* any of these: a group, a part of a group, or a class in OWN */
	const char *object; /* a pattern for leaf_object(), or for the part after its last slash */
	bool has_range;
	raddr start, end; /* leaves within [start, end) */
};

void selection_release(struct selection *sel);

/* True if SEL selects every leaf. */
bool selection_is_all(const struct selection *sel);
bool selection_takes(const struct selection *sel, const struct space *s, const struct leaf *l);
/* True if SEL selects any leaf of S. */
bool selection_is_any(const struct selection *sel, const struct space *s);

/* True if NAME is a class, or a part of one, as maps names them. */
bool selection_knows_class(const struct selection *sel, const char *name);

/* Return the user-defined class of L, or NULL. */
const char *leaf_user_class(
	const struct user_classes *own, const struct space *s, const struct leaf *l);
/* Return the path of L's object, else the name that the program gave it, else its kind. */
const char *leaf_object(const struct space *s, const struct leaf *l);

#endif
