/* Find jemalloc in a process. */
#include <config.h>

#include "jemalloc/find.h"

#include "arch/arch.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "elf/image.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "glibc/process.h"
#include "inject/target.h"
#include "inject/tls.h"
#include "jemalloc/jemalloc-priv.h"
#include "os/memory.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * configure --with-jemalloc-prefix: empty on Linux by default; je_ when embedded in programs;
 * Rust's.
 */
static const char *const prefixes[] = { "", "je_", "_rjem_" };
#define NR_PREFIXES (sizeof prefixes / sizeof *prefixes)

/* ---- use by a thread ---- */

/*
 * True if the thread has used jemalloc, which keeps all data of a thread in one thread-local
 * variable (include/jemalloc/internal/tsd.h).  Its first use in a thread selects or creates an
 * arena, and gives the thread a cache. memdiag must not cause either.
 */
static bool
find_has_used(const struct inject_allocator *a, const struct target *t, pid_t tid, raddr tp)
{
	return inject_tls_is_used(&((const struct jemalloc *)a)->tls, t, tid, tp);
}

/* ---- in a library ---- */

static bool
find_mallctl(struct jemalloc *j, const struct object *o)
{
	struct image_symbol s;
	char name[32];

	for (size_t i = 0; i < NR_PREFIXES; i++) {
		snprintf(name, sizeof name, "%smallctl", prefixes[i]);
		if (image_find(o->image, name, &s) < 0 || s.type != STT_FUNC)
			continue;
		snprintf(j->prefix, sizeof j->prefix, "%s", prefixes[i]);
		j->mallctl = s.addr;
		return true;
	}
	return false;
}

static bool
find_in_library(struct jemalloc *j, const struct object *o, const struct target *t)
{
	const char *name = object_allocator(o);

	if (o->is_executable || (name && strcmp(name, "jemalloc") != 0) || !find_mallctl(j, o))
		return false;
	j->serves_malloc = true;
	j->code[0] = (struct inject_code){ o->start, o->end };
	j->inject.nr_code = 1;
	inject_tls_find(&j->tls, o, t);
	return true;
}

/* ---- in the program ---- */

/*
 * jemalloc's functions shared by several of its files are named je_... or PREFIXje_... (configure
 * --with-private-namespace).  Functions of a single file may have any name, but lie between them: a
 * linker places the code of a library together, in each of .text.unlikely, .text and so on.  All
 * functions between two close ones of jemalloc's are jemalloc's, if no other global function lies
 * between them.
 */
#define NEAR_BYTES (UINT64_C(64) << 10)

struct jemalloc_function {
	raddr start, end;
	bool is_ours, is_local;
};

struct jemalloc_program {
	raddr mallctl[NR_PREFIXES];
	raddr tsd; /* in the thread-local block */
	uint64_t tsd_bytes;
	struct {
		struct jemalloc_function *v;
		size_t nr, room;
	} function;
};

/* Its public functions (jemalloc.h), without the prefix; configure cannot omit any of them. */
static const char *const public_function[] = { "aligned_alloc", "calloc", "dallocx", "free",
	"mallctl", "mallctlbymib", "mallctlnametomib", "malloc", "malloc_stats_print",
	"malloc_usable_size", "mallocx", "nallocx", "posix_memalign", "rallocx", "realloc",
	"sallocx", "sdallocx", "xallocx" };

/*
 * True for a public name, ignoring a compiler's suffix for a part of a function (.cold, .part.0,
 * .constprop.0).
 */
static bool
is_public(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof public_function / sizeof *public_function; i++)
		if (strlen(public_function[i]) == len &&
			strncmp(name, public_function[i], len) == 0)
			return true;
	return false;
}

static bool
is_jemallocs(const char *name)
{
	for (size_t i = 0; i < NR_PREFIXES; i++) {
		const size_t n = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], n) == 0 &&
			(strncmp(name + n, "je_", 3) == 0 ||
				is_public(name + n, strcspn(name + n, "."))))
			return true;
	}
	return false;
}

static int
note_entries(const char *name, const struct image_symbol *s, void *arg)
{
	struct jemalloc_program *p = arg;

	for (size_t i = 0; i < NR_PREFIXES; i++)
		if (s->type == STT_FUNC && strncmp(name, prefixes[i], strlen(prefixes[i])) == 0 &&
			strcmp(name + strlen(prefixes[i]), "mallctl") == 0)
			p->mallctl[i] = s->addr;
	if (s->type == STT_TLS && is_jemallocs(name) && strstr(name, "tsd_tls")) {
		p->tsd = s->addr;
		p->tsd_bytes = s->size_bytes;
	}
	return 0;
}

static int
find_note_function(const char *name, const struct image_symbol *s, void *arg)
{
	struct jemalloc_program *p = arg;
	struct jemalloc_function *f = s->type == STT_FUNC ? array_add(&p->function) : NULL;

	if (!f)
		return s->type == STT_FUNC;
	*f = (struct jemalloc_function){ .start = s->addr,
		.end = raddr_add(s->addr, s->size_bytes),
		.is_ours = is_jemallocs(name),
		.is_local = s->is_local };
	return 0;
}

static int
find_by_start(const void *a, const void *b)
{
	const uint64_t x = ((const struct jemalloc_function *)a)->start.v;
	const uint64_t y = ((const struct jemalloc_function *)b)->start.v;

	return x < y ? -1 : x > y;
}

/* Fill J's code from the functions of P.  Return false if it is in too many places. */
static bool
jemalloc_find_code(struct jemalloc *j, struct jemalloc_program *p)
{
	struct inject_code *last = NULL;
	bool is_broken = true; /* by a function of another library */

	qsort(p->function.v, p->function.nr, sizeof *p->function.v, find_by_start);
	for (size_t i = 0; i < p->function.nr; i++) {
		const struct jemalloc_function *f = &p->function.v[i];

		if (!f->is_ours) {
			is_broken |= !f->is_local;
			continue;
		}
		if (is_broken || !last || f->start.v > last->end.v + NEAR_BYTES) {
			if (j->inject.nr_code == JEMALLOC_MAX_CODE)
				return false;
			last = &j->code[j->inject.nr_code++];
			*last = (struct inject_code){ f->start, f->end };
		}
		if (f->end.v > last->end.v)
			last->end = f->end;
		is_broken = false;
	}
	return last != NULL;
}

/* A larger size cannot be jemalloc's; it has 2.6 KiB in 5.3. */
#define MAX_TSD_BYTES 65536

static void
find_tls_of_program(struct jemalloc *j, const struct jemalloc_program *p, const struct object *o)
{
	for (size_t i = 0; i < image_nr_phdrs(o->image); i++) {
		const Elf64_Phdr *ph = image_phdr(o->image, i);
		const int64_t block = ph->p_type == PT_TLS ? arch_tls_of_program(ph) : 0;

		if (!block || !p->tsd_bytes || p->tsd_bytes > MAX_TSD_BYTES ||
			p->tsd.v + p->tsd_bytes > ph->p_memsz)
			continue;
		j->tls.offset = block + (int64_t)p->tsd.v;
		j->tls.bytes = p->tsd_bytes;
		j->tls.image.v = ph->p_vaddr + image_bias(o->image) + p->tsd.v;
		if (p->tsd.v < ph->p_filesz)
			j->tls.image_bytes = ph->p_filesz - p->tsd.v < p->tsd_bytes
				? ph->p_filesz - p->tsd.v
				: p->tsd_bytes;
	}
}

static bool
find_in_program(struct jemalloc *j, const struct object *o)
{
	struct jemalloc_program p = { .tsd_bytes = 0 };
	bool is_found = false;
	size_t i = 0;

	image_each_in_file(o->image, note_entries, &p);
	while (i < NR_PREFIXES && !p.mallctl[i].v)
		i++;
	if (i == NR_PREFIXES)
		return false;
	if (image_each_in_file(o->image, find_note_function, &p) == 0)
		is_found = jemalloc_find_code(j, &p);
	free(p.function.v);
	j->mallctl = p.mallctl[i];
	snprintf(j->prefix, sizeof j->prefix, "%s", prefixes[i]);
	find_tls_of_program(j, &p, o);
	return is_found;
}

/* ---- the choice ---- */

static const struct object *
program_of(const struct process *p)
{
	for (size_t i = 0; i < p->objects.nr; i++)
		if (p->objects.v[i].is_executable && !image_is_static(p->objects.v[i].image))
			return &p->objects.v[i];
	return NULL;
}

static bool
jemalloc_find_in(struct jemalloc *j, const struct process *p)
{
	const struct object *o = objects_malloc(&p->objects, p->target), *program = program_of(p);

	*j = (struct jemalloc){ .prefix = "" };
	j->inject = (struct inject_allocator){
		.name = "jemalloc", .code = j->code, .may_be_called = find_has_used
	};
	if (!o)
		return false;
	if (find_in_library(j, o, p->target)) {
		text_printable(o->path, j->path, sizeof j->path);
		return true;
	}
	/* If a further malloc serves the program, threads are in that one. */
	if (!program || (!o->is_libc && o != program) || !find_in_program(j, program))
		return false;
	j->serves_malloc = o == program;
	text_printable(program->path, j->path, sizeof j->path);
	return true;
}

int
jemalloc_find(struct jemalloc *j, const struct process *p, enum malloc_choice choice, struct err *e)
{
	if (choice == MALLOC_GLIBC)
		return 0;
	if (jemalloc_find_in(j, p))
		return 1;
	if (choice == MALLOC_AUTO)
		return 0;
	err_set_kind(e, ERR_UNSUPPORTED, 0, "%d (%s) has no jemalloc that memdiag can find",
		p->target->pid, p->target->comm);
	return err_hint(e,
		"It must be a library with mallctl(), or in a program that was not stripped of its symbols");
}
