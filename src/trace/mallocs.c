#include <config.h>

#include "trace/mallocs.h"

#include <string.h>

#include "profile/allocators.h"

/* Return NAME without the prefix of glibc's internal calls, which debug information contains. */
static const char *
mallocs_plain_name(const char *name)
{
	return name + (strncmp(name, "__GI_", 5) == 0 ? 5 : 0);
}

/* True for libc's names of functions that only make a traced call. */
static bool
is_wrapper(const char *name)
{
	static const char *const names[] = { "mmap", "mmap64", "munmap", "mremap", "brk", "sbrk",
		"madvise", "posix_madvise", "shmat", "shmdt", "syscall" };

	name = mallocs_plain_name(name);
	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool
is_mallocs_name(const char *name)
{
	static const char *const others[] = { "free", "__libc_free", "malloc_trim" };

	name = mallocs_plain_name(name);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(name, others[i]) == 0)
			return true;
	return is_allocator(name) && !is_wrapper(name);
}

/* True if TEST is true for a function of frame F. */
static bool
mallocs_has_name(
	const struct profile *p, const struct profile_frame *f, bool (*test)(const char *name))
{
	for (uint32_t i = 0; i < f->nr_lines; i++)
		if (test(p->functions.v[p->lines.v[f->first_line + i].function].name))
			return true;
	return false;
}

/* Return the path of the frame's object; "" for anonymous code. */
static const char *
mallocs_path_of(const struct profile *p, const struct profile_frame *f)
{
	return f->mapping_1 ? p->mappings.v[f->mapping_1 - 1].path : "";
}

/* Paths of a profile are equal if their pointers are. */
uint32_t
trace_nr_mallocs(const struct profile *p, uint32_t stack)
{
	const struct profile_stack *s = &p->stacks.v[stack];
	const uint32_t *frame = &p->stack_frames.v[s->first];
	const char *first = s->nr ? mallocs_path_of(p, &p->frames.v[frame[0]]) : "";
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct profile_frame *f = &p->frames.v[frame[i]];
		const char *path = mallocs_path_of(p, f);
		const bool is_library = is_allocator_library(path);

		if (path != first && !is_library)
			break;
		if (is_library || mallocs_has_name(p, f, is_mallocs_name))
			nr = i + 1;
	}
	return nr;
}

bool
trace_begins_with_wrapper(const struct profile *p, uint32_t stack)
{
	const struct profile_stack *s = &p->stacks.v[stack];

	return s->nr && mallocs_has_name(p, &p->frames.v[p->stack_frames.v[s->first]], is_wrapper);
}
