#include <config.h>

#include "unwind/way.h"

#include "unwind/unwind-priv.h"

void
unwind_way_learn(const struct unwind_stack *s, const struct unwind_regs *regs, uint32_t outside,
	struct unwind_way *ret)
{
	struct unwind_way way = { .pc = regs->pc };
	const struct unwind_frame *f = &s->frame[s->nr - 1];

	ret->pc = 0;
	if (f->pc != regs->pc || f->sp != regs->sp)
		return;
	for (uint32_t i = s->nr - 1; i-- > outside;) {
		f = &s->frame[i];
		if (way.nr == UNWIND_WAY_FRAMES ||
			f->how & (UNWIND_ODD | UNWIND_FROM_FP | UNWIND_EXACT) ||
			!(s->frame[i + 1].how & UNWIND_OF_TABLE))
			return;
		way.at[way.nr] = (uint32_t)(f->sp - unwind_how_ra_at(f->how) - regs->sp);
		if (i > outside)
			way.value[way.nr] = f->pc;
		way.nr++;
		if (!unwind_how_fp_mask(f->how))
			continue;
		way.has_fp = true;
		way.fp_at = (uint32_t)(f->sp - unwind_how_fp_at(f->how) - regs->sp);
	}
	way.sp_at = (uint32_t)(f->sp - regs->sp);
	if (way.nr)
		*ret = way;
}
