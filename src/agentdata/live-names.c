#include <config.h>

#include "agentdata/live-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void
live_names_release(struct live_names *n)
{
	symbols_close(n->symbols);
	profile_free(n->all);
	n->symbols = NULL;
	n->all = NULL;
}

static int
live_names_open(struct live_names *n, struct err *e)
{
	n->all = profile_new();
	if (!n->all)
		return err_set(e, ENOMEM, "cannot name functions");
	n->files = (struct symbols_files){ live_files_mapped, live_files_perf_map, &n->live };
	return symbols_open(
		&n->symbols, n->all, &(struct symbols_options){ .files = &n->files }, e);
}

/* ---- mappings ---- */

/* Return whether A and B map the same file in the same place, perhaps other parts of it. */
static bool
is_same_mapping(const struct profile_mapping *a, const struct profile_mapping *b)
{
	return a->start - a->offset_bytes == b->start - b->offset_bytes &&
		strcmp(a->path, b->path) == 0 &&
		(!*a->build_id || !*b->build_id || strcmp(a->build_id, b->build_id) == 0);
}

/* Find or add M in ALL, as mapping_1 of a frame. */
static int
map(struct profile *all, const struct profile_mapping *m, uint32_t *ret_1, struct err *e)
{
	for (size_t i = 0; i < all->mappings.nr; i++)
		if (is_same_mapping(&all->mappings.v[i], m)) {
			*ret_1 = (uint32_t)i + 1;
			return 0;
		}
	if (profile_add_mapping(all, m->start, m->end, m->offset_bytes, m->path, m->build_id, e) <
		0)
		return -1;
	all->mappings.v[all->mappings.nr - 1].offset_kind = m->offset_kind;
	*ret_1 = (uint32_t)all->mappings.nr;
	return 0;
}

/* ---- frames ---- */

/*
 * Find or add frame F of P in N.  Returns 1 if the address was in another mapping before: a library
 * was unloaded; -1 with E.
 */
static int
find_frame(struct live_names *n, const struct profile *p, const struct profile_frame *f,
	uint32_t *ret, struct err *e)
{
	const size_t before = n->all->frames.nr;
	uint32_t mapping_1 = 0;

	if ((f->mapping_1 && map(n->all, &p->mappings.v[f->mapping_1 - 1], &mapping_1, e) < 0) ||
		profile_frame(n->all, f->address, f->is_exact, ret, e) < 0)
		return -1;
	if (n->all->frames.nr > before)
		n->all->frames.v[*ret].mapping_1 = mapping_1;
	return n->all->frames.v[*ret].mapping_1 != mapping_1;
}

/* Find all frames of P without names; 1 and -1 as find_frame(). */
static int
find_frames(struct live_names *n, const struct profile *p, uint32_t *number, struct err *e)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < p->frames.nr; i++)
		if (!p->frames.v[i].nr_lines && p->frames.v[i].address)
			status = find_frame(n, p, &p->frames.v[i], &number[i], e);
	return status;
}

/* Copy the names of the frames NUMBER to P. */
static int
copy_names(const struct profile *all, struct profile *p, const uint32_t *number, struct err *e)
{
	for (uint32_t i = 0; i < p->frames.nr; i++) {
		const struct profile_frame *f = &all->frames.v[number[i]];

		if (p->frames.v[i].nr_lines || !p->frames.v[i].address)
			continue;
		for (uint32_t k = 0; k < f->nr_lines; k++) {
			const struct profile_line *l = &all->lines.v[f->first_line + k];
			const struct profile_function *fn = &all->functions.v[l->function];

			if (profile_add_line(p, i, fn->name, fn->file, l->line, e) < 0)
				return -1;
		}
	}
	return 0;
}

int
live_names_find(
	struct live_names *n, struct profile *p, const struct process *process, struct err *e)
{
	auto_free uint32_t *number = calloc(p->frames.nr + 1, sizeof *number);
	int status;

	if (!number)
		return err_set(e, ENOMEM, "cannot name functions");
	n->live.process = process;
	if (!n->all && live_names_open(n, e) < 0)
		return -1;
	status = find_frames(n, p, number, e);
	if (status > 0) {
		live_names_release(n);
		if (live_names_open(n, e) < 0)
			return -1;
		status = find_frames(n, p, number, e);
	}
	if (status < 0 || (process && symbols_update(n->symbols, e) < 0) ||
		copy_names(n->all, p, number, e) < 0)
		return -1;
	return process ? 0 : symbols_find(p, &(struct symbols_options){ .program = NULL }, e);
}
