/*
 * array: a growing array of one type, doubled when full; large arrays use huge pages.
 *
 *	struct { struct region *v; size_t nr, room; } found = { 0 };
 *	struct region *r = array_add(&found);	(NULL: no memory, nothing changed)
 *	free(found.v);
 */
#ifndef MEMDIAG_BASE_ARRAY_H
#define MEMDIAG_BASE_ARRAY_H

#include <stddef.h>

/*
 * Make sure that *V, of ROOM elements of SIZE bytes, has space for NR + 1.  Returns 0, or -1 with
 * all unchanged.
 */
int array_grow_(void **v, size_t nr, size_t *room, size_t size);

/* As array_grow_(), with space for WANT elements in one step. */
int array_reserve_(void **v, size_t want, size_t *room, size_t size);

/*
 * Make space for WANT elements in all, if the number is known beforehand.  Returns 0, or -1 when
 * there is no memory.
 */
#define array_reserve(a, want)                                                                     \
	({                                                                                         \
		void *v_ = (a)->v;                                                                 \
		int failed_ = array_reserve_(&v_, want, &(a)->room, sizeof *(a)->v);               \
		(a)->v = v_;                                                                       \
		failed_;                                                                           \
	})

/* Add a zeroed element at the end and return a pointer to it, or NULL when there is no memory. */
#define array_add(a)                                                                               \
	({                                                                                         \
		__typeof__((a)->v) new_ = NULL;                                                    \
		void *v_ = (a)->v;                                                                 \
		if (array_grow_(&v_, (a)->nr, &(a)->room, sizeof *(a)->v) == 0) {                  \
			(a)->v = v_;                                                               \
			new_ = &(a)->v[(a)->nr++];                                                 \
			*new_ = (__typeof__(*new_)){ 0 };                                          \
		}                                                                                  \
		new_;                                                                              \
	})

#endif
