#include <config.h>

#include "capture/jemalloc-process.h"

#include <inttypes.h>

#include "elf/link-map.h"
#include "inject/target.h"

/* Return whether the agent is loaded: then it takes the samples. */
static bool
has_agent(const struct process *p)
{
	for (size_t i = 0; i < p->objects.nr; i++)
		if (object_is_agent(&p->objects.v[i]))
			return true;
	return false;
}

int
jemalloc_process_open(struct jemalloc_process *p, const struct target *t, enum malloc_choice choice,
	struct err *e)
{
	int found;

	*p = (struct jemalloc_process){ .inject = NULL };
	if (process_read(&p->process, t, e) < 0)
		return -1;
	if (choice != MALLOC_JEMALLOC && has_agent(&p->process))
		return 0;
	found = jemalloc_find(&p->jemalloc, &p->process, choice, e);
	if (found <= 0)
		return found;
	return inject_check_state(t, e) < 0 ||
			inject_target_learn_other(&p->inject, &p->process, &p->jemalloc.inject, e) <
				0
		? -1
		: 1;
}

void
jemalloc_process_release(struct jemalloc_process *p)
{
	inject_target_free(p->inject);
	process_release(&p->process);
	*p = (struct jemalloc_process){ .inject = NULL };
}

int
jemalloc_process_rate(uint64_t period_bytes, uint64_t *ret, struct err *e)
{
	uint64_t lg = 0;

	while (lg < 63 && UINT64_C(1) << lg < period_bytes)
		lg++;
	if (UINT64_C(1) << lg != period_bytes)
		return err_set_kind(e, ERR_USAGE, 0,
			"jemalloc takes samples at powers of two only: --rate %" PRIu64
			" or %" PRIu64 ", for example",
			UINT64_C(1) << lg, lg ? UINT64_C(1) << (lg - 1) : 1);
	*ret = lg;
	return 0;
}
