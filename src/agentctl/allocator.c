/* Find a malloc other than glibc's in a process into which the agent will be loaded. */
#include <config.h>

#include "agentctl/allocator.h"

#include <elf.h>
#include <string.h>

#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "os/os.h"

/*
 * Return whether the thread has used the allocator.  Its first use makes a cache for the thread,
 * and perhaps an arena, which would exist only for us.
 */
static bool
allocator_has_used(const struct inject_allocator *a, const struct target *t, pid_t tid, raddr tp)
{
	return inject_tls_is_used(&((const struct allocator *)a)->tls, t, tid, tp);
}

static const char *
known_library(const struct object *o)
{
	static const char *const known[] = { "jemalloc", "tcmalloc", "mimalloc" };
	const char *name = object_allocator(o);

	for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
		if (strcmp(name, known[i]) == 0)
			return known[i];
	return NULL;
}

/* Search also symbols that are not exported: a program need not export what is linked into it. */
static int
see_name(const char *name, const struct image_symbol *s, void *arg)
{
	static const struct {
		const char *function, *name;
	} known[] = { { "mallctl", "jemalloc" }, { "tc_malloc", "tcmalloc" },
		{ "mi_malloc", "mimalloc" } };
	const char **ret = arg;

	for (size_t i = 0; s->type == STT_FUNC && i < sizeof known / sizeof *known; i++)
		if (strcmp(name, known[i].function) == 0)
			*ret = known[i].name;
	return *ret != NULL;
}

const char *
allocator_in_program(const struct image *program)
{
	const char *name = NULL;

	image_each_in_file(program, see_name, &name);
	return name;
}

/*
 * Return whether the library is for debugging: it records which function allocated a block, and
 * ends the process when another kind of function frees it (gperftools, src/debugallocation.cc).
 * Blocks from before would be such a case.
 */
static bool
is_debugging(const struct object *o)
{
	const char *soname = image_soname(o->image);

	return soname && strstr(soname, "_debug");
}

int
allocator_find(struct allocator *ret, const struct process *p, struct err *e)
{
	const struct object *o = objects_malloc(&p->objects, p->target);
	const char *name;

	if (!o || o->is_libc)
		return 0;
	name = o->is_executable ? allocator_in_program(o->image) : known_library(o);
	if (!name)
		return 0;
	if (o->is_executable) {
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) has %s linked into the program: the agent counts and samples a malloc that is a library of its own",
			p->target->pid, p->target->comm, name);
		return err_hint(e,
			"Link the program with the shared library, or preload that; "
			"'memdiag maps' works here");
	}
	if (is_debugging(o)) {
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) runs with %s, which ends it if a function other than the expected one frees a block",
			p->target->pid, p->target->comm, image_soname(o->image));
		return err_hint(e, "'memdiag run' counts and samples from a program's start");
	}
	*ret = (struct allocator){ .inject = { .name = name,
					   .code = &ret->code,
					   .nr_code = 1,
					   .may_be_called = allocator_has_used },
		.code = { o->start, o->end } };
	inject_tls_find(&ret->tls, o, p->target);
	return 1;
}
