#include <config.h>

#include "trace/pairs.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int
by_tid(const void *a, const void *b)
{
	const struct trace_pending *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

void
trace_pairs_release(struct trace_pairs *p)
{
	tdestroy(p->root, free);
	*p = (struct trace_pairs){ 0 };
}

int
trace_pairs_enter(struct trace_pairs *pairs, const struct trace_pending *p, bool *ret_lost)
{
	struct trace_pending **found = tfind(p, &pairs->root, by_tid);
	struct trace_pending *added;

	*ret_lost = found != NULL;
	if (found) {
		**found = *p;
		return 0;
	}
	added = malloc(sizeof *added);
	if (!added)
		return -1;
	*added = *p;
	if (!tsearch(added, &pairs->root, by_tid)) {
		free(added);
		return -1;
	}
	pairs->nr++;
	return 0;
}

bool
trace_pairs_has(const struct trace_pairs *pairs, const struct trace_pending *p)
{
	struct trace_pending *const *found = tfind(p, (void **)&pairs->root, by_tid);

	return found && (*found)->generation != p->generation &&
		(*found)->entry.call == p->entry.call &&
		memcmp((*found)->entry.arg, p->entry.arg, sizeof p->entry.arg) == 0;
}

struct trace_pending *
trace_pairs_find(const struct trace_pairs *pairs, pid_t tid)
{
	const struct trace_pending key = { .tid = tid };
	struct trace_pending **found = tfind(&key, (void **)&pairs->root, by_tid);

	return found ? *found : NULL;
}

bool
trace_pairs_leave(
	struct trace_pairs *pairs, pid_t tid, enum trace_call call, struct trace_pending *ret)
{
	const struct trace_pending key = { .tid = tid };
	struct trace_pending **found = tfind(&key, &pairs->root, by_tid), *p;

	if (!found)
		return false;
	p = *found;
	*ret = *p;
	tdelete(p, &pairs->root, by_tid);
	free(p);
	pairs->nr--;
	return call == TRACE_NR_CALLS || ret->entry.call == call;
}
