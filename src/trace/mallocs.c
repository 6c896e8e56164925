#include <config.h>

#include "trace/mallocs.h"

#include <string.h>

#include "report/allocators.h"

/* mmap() and its kind are no part of malloc, whoever calls them. */
static bool
is_mallocs_name(const char *name)
{
	static const char *const others[] = { "mmap", "mmap64", "mremap" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(name, others[i]) == 0)
			return false;
	return is_allocator(name) || strcmp(name, "free") == 0 || strcmp(name, "malloc_trim") == 0;
}

static bool
has_mallocs_name(const struct profile *p, const struct profile_frame *f)
{
	for (uint32_t i = 0; i < f->nr_lines; i++)
		if (is_mallocs_name(p->functions.v[p->lines.v[f->first_line + i].function].name))
			return true;
	return false;
}

/* "" for code of no file. */
static const char *
path_of(const struct profile *p, const struct profile_frame *f)
{
	return f->mapping_1 ? p->mappings.v[f->mapping_1 - 1].path : "";
}

/* Paths of a profile are equal if their pointers are. */
bool
trace_is_mallocs(const struct profile *p, uint32_t stack)
{
	const struct profile_stack *s = &p->stacks.v[stack];
	const uint32_t *frame = &p->stack_frames.v[s->first];
	const char *first = s->nr ? path_of(p, &p->frames.v[frame[0]]) : "";

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct profile_frame *f = &p->frames.v[frame[i]];
		const char *path = path_of(p, f);

		if (path != first)
			return is_allocator_library(path);
		if (has_mallocs_name(p, f))
			return true;
	}
	return false;
}
