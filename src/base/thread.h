/* thread: memdiag's threads other than the main one. */
#ifndef MEMDIAG_BASE_THREAD_H
#define MEMDIAG_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * As pthread_create(), but with all signals blocked: they are for the main thread.  False: not
 * created.
 */
bool thread_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);

#endif
