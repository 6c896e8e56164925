/*
 * The address of a thread's struct pthread.  The kernel reports where the robust futex list of each
 * thread of a process begins.  A core file has the thread pointer instead; struct pthread begins
 * there (x86) or ends there (aarch64), and the members around the list are the same in every 64-bit
 * release (nptl/descr.h, 2.4 to 2.44):
 *
 *	-0x20	list, of all stacks of a kind
 *	-0x10	tid
 *	 -0x8	robust_prev
 *	    0	robust_head.list	<- the head
 *	  0x8	robust_head.futex_offset: from the link in a mutex to its lock, -32
 */
#include <config.h>

#include "glibc/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "os/core-proc.h"
#include "os/frozen.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/status.h"

/* struct pthread has about 0x900 bytes; the list is in its first half. */
#define PTHREAD_BYTES 0x900
#define FUTEX_OFFSET -32
#define LIST_OFFSET 0x20

struct around {
	int32_t tid, unused;
	uint64_t prev, head;
	int64_t futex_offset;
};

/* Search for thread TID's list from FROM on. */
static raddr
threads_search(const struct target *t, raddr from, pid_t tid)
{
	char buf[PTHREAD_BYTES];
	struct around here;
	struct err e;
	ssize_t n = os_read_present_some(t, from, buf, sizeof buf, &e);

	for (size_t at = 0; n > 0 && at + sizeof here <= (size_t)n; at += sizeof here.head) {
		memcpy(&here, buf + at, sizeof here);
		if (here.tid == tid && here.futex_offset == FUTEX_OFFSET)
			return raddr_add(from, at + offsetof(struct around, head));
	}
	return (raddr){ 0 };
}

raddr
thread_robust_head(const struct target *t, pid_t tid)
{
	raddr head = { 0 }, pointer;

	if (os_robust_list(t, tid, &head) == 0 || os_thread_pointer(t, tid, &pointer) < 0)
		return head;
	head = threads_search(t, pointer, tid);
	return head.v ? head : threads_search(t, (raddr){ pointer.v - PTHREAD_BYTES }, tid);
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
		threads->v[i] = (struct thread){ tids[i], thread_robust_head(t, tids[i]) };
	return 0;
}

void
threads_release(struct threads *threads)
{
	free(threads->v);
	*threads = (struct threads){ 0 };
}

/* ---- the lists of stacks ---- */

/* The last members of struct rtld_global (sysdeps/generic/ldsodefs.h, 2.34 to 2.44), 64 bit. */
struct stack_lists {
	/* stacks that libc did not make; the main thread's is the last */
	uint64_t user_next, user_prev;
	uint64_t cache_next, cache_prev;
	uint64_t cache_bytes, in_flight;
	int32_t lock;
};

/* Return whether the list whose head at HEAD points to NEXT continues there. */
static bool
is_list(const struct target *t, raddr head, uint64_t next)
{
	uint64_t node[2];
	struct err e;

	return os_read_present(t, (raddr){ next }, node, sizeof node, &e) == 0 && node[1] == head.v;
}

raddr
stack_cache_lock(const struct target *t, const struct objects *o)
{
	raddr head = thread_robust_head(t, os_main_thread(t)), main_node = { head.v - LIST_OFFSET },
	      at;
	const struct object *loader;
	struct stack_lists l;
	struct err e;

	if (!head.v || os_read_present(t, main_node, &at.v, sizeof at.v, &e) < 0)
		return (raddr){ 0 };
	loader = objects_at(o, at);
	if (!loader || !loader->is_loader || os_read_present(t, at, &l, sizeof l, &e) < 0 ||
		l.user_prev != main_node.v || l.cache_bytes % 4096 ||
		!is_list(t, raddr_add(at, offsetof(struct stack_lists, cache_next)), l.cache_next))
		return (raddr){ 0 };
	return raddr_add(at, offsetof(struct stack_lists, lock));
}
