#include <config.h>

#include "cmd/live-blocks.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

static bool
live_blocks_has_size(const struct history_choice *choice, uint64_t bytes)
{
	return bytes >= choice->min_bytes && bytes <= choice->max_bytes;
}

void
live_blocks_choose(struct sites_copy *c, const struct live_set *s,
	const struct history_choice *choice, struct history_chosen *chosen)
{
	for (uint32_t i = 0; i < c->nr_sites; i++) {
		struct wire_site *site = &c->site[i];
		const uint32_t node = site->node;

		*site = (struct wire_site){ .node = node };
	}
	for (size_t i = 0; i < s->nr; i++) {
		struct wire_amount *a = &c->site[s->v[i].site].allocated;

		if (!live_blocks_has_size(choice, s->v[i].bytes))
			continue;
		a->units += WIRE_BLOCK_UNITS;
		a->bytes += s->v[i].bytes;
		chosen->certain.blocks++;
		chosen->certain.bytes += (int64_t)s->v[i].bytes;
	}
	chosen->possible = chosen->certain;
	chosen->is_of_memory = true;
}

/* ---- stacks ---- */

/* True if the function, file or object of a frame in STACK matches RE. */
static bool
has_match(const struct profile *p, uint32_t stack, const regex_t *re)
{
	const struct profile_stack *s = &p->stacks.v[stack];

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct profile_frame *f = &p->frames.v[p->stack_frames.v[s->first + i]];

		if (f->mapping_1 &&
			regexec(re, p->mappings.v[f->mapping_1 - 1].path, 0, NULL, 0) == 0)
			return true;
		for (uint32_t k = 0; k < f->nr_lines; k++) {
			const struct profile_function *g =
				&p->functions.v[p->lines.v[f->first_line + k].function];

			if (regexec(re, g->name, 0, NULL, 0) == 0 ||
				regexec(re, g->file, 0, NULL, 0) == 0)
				return true;
		}
	}
	return false;
}

/* Clear WANTED for the stacks of P that do not match PATTERN (IS_FOCUS), or that do. */
static int
filter(bool *wanted, const struct profile *p, const char *pattern, bool is_focus, struct err *e)
{
	regex_t re;

	if (!pattern)
		return 0;
	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return err_set_kind(e, ERR_USAGE, 0, "'%s' is not a regular expression", pattern);
	for (uint32_t i = 0; i < p->stacks.nr; i++)
		wanted[i] = wanted[i] && has_match(p, i, &re) == is_focus;
	regfree(&re);
	return 0;
}

static int
live_blocks_largest_first(const void *a, const void *b)
{
	const struct report_block *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->at.v > y->at.v) - (x->at.v < y->at.v);
}

int
live_blocks_list(struct report_blocks *ret, const struct live_set *s, const struct sites_copy *c,
	const struct profile *p, const uint32_t *stack_of, const struct history_choice *choice,
	const char *focus, const char *ignore, size_t most, struct err *e)
{
	auto_free bool *wanted = malloc(p->stacks.nr + 1);

	if (!wanted)
		return err_set(e, ENOMEM, "cannot list blocks");
	memset(wanted, true, p->stacks.nr + 1);
	if (filter(wanted, p, focus, true, e) < 0 || filter(wanted, p, ignore, false, e) < 0)
		return -1;
	for (size_t i = 0; i < s->nr; i++) {
		const struct live_block *b = &s->v[i];
		const uint32_t stack = stack_of[b->site];
		struct sites_stack of;
		struct report_block *added;

		if (!live_blocks_has_size(choice, b->bytes) || stack >= p->stacks.nr ||
			!wanted[stack])
			continue;
		added = array_add(ret);
		if (!added)
			return err_set(e, ENOMEM, "cannot list blocks");
		*added = (struct report_block){ b->at, b->bytes,
			sites_stack(c, b->site, &of) ? of.tid : 0, stack };
	}
	if (ret->nr)
		qsort(ret->v, ret->nr, sizeof *ret->v, live_blocks_largest_first);
	if (ret->nr > most) {
		ret->nr_more = ret->nr - most;
		ret->nr = most;
	}
	return 0;
}
