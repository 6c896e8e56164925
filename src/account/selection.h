/*
 * selection: the leaves of an address space that are asked for: of some classes, objects or
 * addresses; and the classes that the user makes.
 */
#ifndef MEMDIAG_ACCOUNT_SELECTION_H
#define MEMDIAG_ACCOUNT_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "maps/maps.h"

/* A class of the user's own: mappings whose path matches. */
struct user_class {
	const char *name;
	const char *glob;
};

struct user_classes {
	struct user_class *v;
	size_t nr, room;
};

/* A leaf is selected if it is all of what is given; a zeroed selection takes every leaf. */
struct selection {
	struct user_classes own;
	struct {
		const char **v;
		size_t nr, room;
	} classes;	    /* any of these: a group, a part of one, or of OWN */
	const char *object; /* a pattern for leaf_object(), or for what is behind its last slash */
	bool has_range;
	raddr start, end; /* leaves within [start, end) */
};

void selection_release(struct selection *sel);

/* Whether it takes every leaf. */
bool selection_is_all(const struct selection *sel);
bool selection_takes(const struct selection *sel, const struct space *s, const struct leaf *l);
/* Whether it takes any leaf of S. */
bool selection_is_any(const struct selection *sel, const struct space *s);

/* Whether NAME is a class, or a part of one, as maps names them. */
bool selection_knows_class(const struct selection *sel, const char *name);

/* The class of the user's own that L is in, or NULL. */
const char *leaf_user_class(
	const struct user_classes *own, const struct space *s, const struct leaf *l);
/* The path of what L belongs to, the name that the program gave it, or what it is. */
const char *leaf_object(const struct space *s, const struct leaf *l);

#endif
