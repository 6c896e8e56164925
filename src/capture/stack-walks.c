#include <config.h>

#include "capture/stack-walks.h"

#include <errno.h>

#include "base/array.h"

const char *const stacks_end_names[] = { "complete", "cut", "broken", "missing" };

enum stacks_end
stacks_end_of(const struct stack *s)
{
	return !s->nr		 ? STACKS_MISSING
		: s->is_complete ? STACKS_COMPLETE
		: s->is_cut	 ? STACKS_CUT
				 : STACKS_BROKEN;
}

static int
add_marks(struct stacks_marks *marks, const struct stack *s, struct err *e)
{
	for (size_t i = 0; i < s->nr; i++) {
		uint8_t *mark = array_add(marks);

		if (!mark)
			return err_set(e, ENOMEM, "cannot keep stacks");
		*mark = (uint8_t)((s->frame[i].is_guess ? STACKS_BY_FRAME_POINTER : 0) |
			(s->frame[i].is_signal ? STACKS_SIGNAL : 0));
	}
	return 0;
}

/* A frame below a trampoline was interrupted, and did not call: its PC is exact. */
int
stacks_add_walk(struct profile *p, struct stacks_marks *marks, const struct stack *s, uint32_t *ret,
	struct err *e)
{
	const size_t nr_before = p->stacks.nr;
	uint32_t frame[STACK_MAX_FRAMES];

	for (size_t i = 0; i < s->nr; i++) {
		const bool is_exact = !i || s->frame[i].is_signal || s->frame[i - 1].is_signal;

		if (profile_frame(p, s->frame[i].pc.v, is_exact, &frame[i], e) < 0)
			return -1;
	}
	if (profile_stack(p, frame, s->nr, ret, e) < 0)
		return -1;
	return p->stacks.nr > nr_before ? add_marks(marks, s, e) : 0;
}
