/*
 * cleanup: locals that free what they own when their block ends.  A room that returns an owned
 * object defines auto_THING next to THING_free(); the ones here are for libc's objects.
 */
#ifndef MEMDIAG_BASE_CLEANUP_H
#define MEMDIAG_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Return the pointer *P and set *P to NULL. */
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(*(p)) taken_ = *(p);                                                    \
		*(p) = NULL;                                                                       \
		taken_;                                                                            \
	})

static inline void
cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void
cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void
cleanup_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define auto_free __attribute__((cleanup(cleanup_free)))
#define auto_fd __attribute__((cleanup(cleanup_fd)))
#define auto_file __attribute__((cleanup(cleanup_file)))

#endif
