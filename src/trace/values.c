#include <config.h>

#include "trace/values.h"

#include <errno.h>

#include "base/cleanup.h"

/* ---- types ---- */

#define NR_TYPES 4

struct type {
	const char *name, *unit;
};

static const struct type types[2][NR_TYPES] = {
	{ { "mapped_alloc_objects", "count" }, { "mapped_alloc_space", "bytes" },
		{ "mapped_space", "bytes" }, { "resident_space", "bytes" } },
	{ { "faults", "count" }, { "major_faults", "count" }, { "touched_space", "bytes" },
		{ "resident_space", "bytes" } },
};

static int
values_add_types(struct profile *p, bool faults, struct err *e)
{
	for (size_t i = 0; i < NR_TYPES; i++)
		if (profile_add_type(p, types[faults][i].name, types[faults][i].unit, e) < 0)
			return -1;
	return 0;
}

/* ---- values ---- */

static int
values_add_samples(
	struct profile *p, const struct trace_program *program, bool faults, struct err *e)
{
	for (size_t i = 0; i < program->stacks.nr; i++) {
		const struct profile_sample sample = { .stack = (uint32_t)i };
		const struct trace_sums *s = &program->stacks.v[i].sums;
		int64_t values[NR_TYPES];

		if (faults) {
			values[0] = (int64_t)(s->nr_minor + s->nr_major);
			values[1] = (int64_t)s->nr_major;
			values[2] = (int64_t)s->touched_bytes;
		} else {
			values[0] = (int64_t)s->nr_maps;
			values[1] = (int64_t)s->mapped_bytes;
			values[2] = (int64_t)s->left_bytes;
		}
		values[3] = (int64_t)s->resident_bytes;
		if ((values[0] || values[2]) && profile_add_sample(p, sample, values, e) < 0)
			return -1;
	}
	return 0;
}

int
trace_profile(struct profile **ret, const struct trace *trace, bool faults, struct err *e)
{
	auto_profile struct profile *p = profile_new();

	if (!p)
		return err_set(e, ENOMEM, "cannot make a profile");
	if (values_add_types(p, faults, e) < 0)
		return -1;
	for (size_t i = 0; i < trace->programs.nr; i++) {
		struct trace_program *program = trace->programs.v[i];

		if (values_add_types(program->profile, faults, e) < 0 ||
			values_add_samples(program->profile, program, faults, e) < 0 ||
			profile_append(p, program->profile, e) < 0)
			return -1;
	}
	p->pid = trace->programs.nr ? trace->programs.v[0]->pid : 0;
	*ret = take_ptr(&p);
	return 0;
}
