/*
 * Where a thread's struct pthread is.  The kernel tells of a process where the robust futex list of
 * each thread begins.  In a core file that is not, but the thread pointer is; struct pthread is at it
 * (x86) or ends there (aarch64), and what surrounds the list is the same in every release of 64 bit
 * (nptl/descr.h, 2.4 to 2.44):
 *
 *	-0x10	tid
 *	 -0x8	robust_prev
 *	    0	robust_head.list	<- the head
 *	  0x8	robust_head.futex_offset: from the link in a mutex to its lock, -32
 */
#include <config.h>

#include "maps/maps-priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* struct pthread has about 0x900 bytes, and this is in its first half. */
#define PTHREAD_BYTES 0x900
#define FUTEX_OFFSET -32

struct around {
	int32_t tid, unused;
	uint64_t prev, head;
	int64_t futex_offset;
};

/* Look for it from FROM on. */
static raddr
search(const struct target *t, raddr from, pid_t tid)
{
	char buf[PTHREAD_BYTES];
	struct around here;
	struct err e;
	ssize_t n = os_read_some(t, from, buf, sizeof buf, &e);

	for (size_t at = 0; n > 0 && at + sizeof here <= (size_t)n; at += sizeof here.head) {
		memcpy(&here, buf + at, sizeof here);
		if (here.tid == tid && here.futex_offset == FUTEX_OFFSET)
			return raddr_add(from, at + offsetof(struct around, head));
	}
	return (raddr){ 0 };
}

raddr
thread_head(const struct target *t, pid_t tid)
{
	raddr head = { 0 }, pointer;

	if (os_robust_list(t, tid, &head) == 0 || os_thread_pointer(t, tid, &pointer) < 0)
		return head;
	head = search(t, pointer, tid);
	return head.v ? head : search(t, (raddr){ pointer.v - PTHREAD_BYTES }, tid);
}

int
threads_list(struct threads *threads, const struct target *t, size_t max, struct err *e)
{
	auto_free pid_t *tids = NULL;
	size_t nr;

	if (os_threads(t, max, &tids, &nr, e) < 0)
		return -1;
	threads->v = calloc(nr, sizeof *threads->v);
	if (!threads->v)
		return err_set(e, ENOMEM, "cannot list the threads of %d", t->pid);
	threads->nr = threads->room = nr;
	for (size_t i = 0; i < nr; i++)
		threads->v[i] = (struct thread){ tids[i], thread_head(t, tids[i]) };
	return 0;
}

void
threads_release(struct threads *threads)
{
	free(threads->v);
	*threads = (struct threads){ 0 };
}
