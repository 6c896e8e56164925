/* The facts about a target that are known before any of its threads stops. */
#include <config.h>

#include "inject/target.h"

#include "base/cleanup.h"
#include "elf/image.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "glibc/threads.h"
#include "inject/patch.h"
#include "inject/safety-priv.h"
#include "inject/target-priv.h"
#include "os/answers.h"
#include "os/cgroup.h"
#include "os/diagnose.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- can memdiag call into it ---- */

int
inject_check_state(const struct target *t, struct err *e)
{
	struct os_status s;

	if (t->pid == getpid())
		return err_set_kind(e, ERR_USAGE, 0, "%d is memdiag itself", t->pid);
	if (os_status(t, t->mem_tid, &s, e) < 0)
		return -1;
	if (s.tracer)
		return os_diagnose_eperm(t, "call into it", e);
	if (s.state == 'T' || s.state == 't') {
		err_set_kind(e, ERR_NO_SAFE_POINT, 0,
			"%d (%s) is stopped (state %c): its threads may hold locks, and nothing can be called in it",
			t->pid, t->comm, s.state);
		return err_hint(e, "Continue it first: kill -CONT %d", t->pid);
	}
	if (os_is_frozen(t)) {
		err_set_kind(e, ERR_NO_SAFE_POINT, 0,
			"the cgroup of %d (%s), or one above it, is frozen", t->pid, t->comm);
		return err_hint(e, "Thaw the cgroup first (cgroup.freeze, or freezer.state)");
	}
	if (s.ppid > 1 && os_shares_memory(t->pid, s.ppid))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) is a vfork child: it runs in the memory of its parent %d; "
			"point memdiag at that one when the child has run its program",
			t->pid, t->comm, s.ppid);
	return 0;
}

/* Refuse programs of 32 bits, and of other processors that are emulated. */
static int
target_check_machine(const struct target *t, const struct objects *o, struct err *e)
{
	for (size_t i = 0; i < o->nr; i++) {
		int machine = image_machine(o->v[i].image);

		if (o->v[i].is_executable && machine != arch_machine)
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"%d (%s) is a program for another processor (%s); "
				"memdiag can call into %s programs only",
				t->pid, t->comm,
				machine == EM_386	    ? "i386"
					: machine == EM_ARM ? "32-bit arm"
							    : "unknown",
				arch_name);
	}
	return 0;
}

/* ---- the allocator ---- */

/* Functions that only other allocators export. */
static const struct {
	const char *name, *help;
} other_allocator[] = {
	{ "heaptrack",
		"It passes on each call to the next malloc, which cannot be seen from here: "
		"end the recording and start the program without it" },
	{ "jemalloc",
		"'memdiag info', 'trim' and 'profile' ask jemalloc itself (with --malloc=auto), "
		"where it is a library or the program has symbols" },
	{ "tcmalloc",
		"Ask tcmalloc itself: MallocExtension_GetStats(), "
		"MallocExtension_ReleaseFreeMemory(), TCMALLOC_RELEASE_RATE; 'memdiag count' and "
		"'profile' work, if it is a library" },
	{ "mimalloc",
		"Ask mimalloc itself: mi_stats_print(), mi_collect(true), "
		"MIMALLOC_PURGE_DELAY=0; 'memdiag count' and 'profile' work, if it is a library" },
	{ "tbbmalloc",
		"Ask tbbmalloc itself: scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS)" },
};

static int
refuse_allocator(const struct target *t, const struct object *o, struct err *e)
{
	const char *name = object_allocator(o), *help = "Ask that allocator itself";
	char path[256];

	for (size_t i = 0; name && i < sizeof other_allocator / sizeof *other_allocator; i++)
		if (strcmp(name, other_allocator[i].name) == 0)
			help = other_allocator[i].help;
	err_set_kind(e, ERR_UNSUPPORTED, 0, "%d (%s) does not use glibc malloc but %s%s(%s)",
		t->pid, t->comm, name ? name : "its own", name ? " " : " malloc ",
		text_printable(o->path, path, sizeof path));
	return err_hint(e, "%s; 'memdiag maps' works here", help);
}

static int
refuse_static(const struct target *t, const struct image *image, struct err *e)
{
	if (image_is_from_memory(image))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) is linked statically, and its file, which has its symbols, cannot be opened from here; "
			"run memdiag as root where the process runs; 'memdiag maps' works here",
			t->pid, t->comm);
	if (!image_has_symbols(image))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) is linked statically and stripped of its symbols: cannot find its malloc; "
			"'memdiag maps' works here",
			t->pid, t->comm);
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"%d (%s) is linked statically, and its malloc is not glibc's (Go brings its own allocator); "
		"'memdiag maps' works here",
		t->pid, t->comm);
}

static int
refuse_no_libc(const struct inject_target *callee, struct err *e)
{
	const struct target *t = callee->target;

	for (size_t i = 0; i < callee->process->objects.nr; i++) {
		const char *soname = image_soname(callee->process->objects.v[i].image);
		const char *path = callee->process->objects.v[i].path;

		if ((soname && strstr(soname, "musl")) || (path && strstr(path, "musl")))
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"%d (%s) runs with musl, whose malloc cannot be asked or trimmed; "
				"'memdiag maps' works here",
				t->pid, t->comm);
	}
	for (size_t i = 0; i < callee->process->objects.nr; i++)
		if (callee->process->objects.v[i].is_executable &&
			image_is_static(callee->process->objects.v[i].image))
			return refuse_static(t, callee->process->objects.v[i].image, e);
	if (objects_check_loaded(&callee->process->objects, t, e) < 0)
		return -1;
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"%d (%s) has no glibc mapped; 'memdiag maps' works here", t->pid, t->comm);
}

/*
 * Refuse several libcs (dlmopen): which one's threads and errno a borrowed thread has is unknown.
 */
static int
refuse_several_libcs(const struct inject_target *callee, struct err *e)
{
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"%d (%s) has %s and more than one libc: nothing of it can be called; "
		"'memdiag maps' works here",
		callee->target->pid, callee->target->comm, callee->allocator->name);
}

static int
check_allocator(struct inject_target *callee, struct err *e)
{
	const struct object *o;
	size_t nr_libcs = 0;

	for (size_t i = 0; i < callee->process->objects.nr; i++)
		if (callee->process->objects.v[i].is_libc) {
			callee->libc = &callee->process->objects.v[i];
			nr_libcs++;
		}
	if (!callee->libc)
		return refuse_no_libc(callee, e);
	if (callee->allocator)
		return nr_libcs == 1 ? 0 : refuse_several_libcs(callee, e);
	o = objects_malloc(&callee->process->objects, callee->target);
	if (!o && objects_check_loaded(&callee->process->objects, callee->target, e) < 0)
		return -1;
	if (!o) {
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"cannot find the library that provides malloc in %d (%s): the dynamic linker's list cannot be read",
			callee->target->pid, callee->target->comm);
		return objects_are_of_valgrind(&callee->process->objects)
			? err_hint(e,
				  "It runs under valgrind, which has a malloc of its own: see valgrind --tool=massif or --leak-check")
			: -1;
	}
	if (!o->is_libc)
		return refuse_allocator(callee->target, o, e);
	callee->libc = o; /* with dlmopen two may exist: this one serves the program */
	return 0;
}

int
inject_check_files(const struct inject_target *callee, struct err *e)
{
	const struct object *of[] = { callee->libc, callee->pthread, callee->dl };
	const struct target *t = callee->target;

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		auto_free char *name = NULL;

		if (!of[i] || !of[i]->path || of[i]->path[0] != '/')
			continue;
		if (asprintf(&name, "root%s", of[i]->path) < 0)
			return err_set_kind(e, ERR_FAILED, 0, "no memory");
		if (!os_file_answers(t, name, of[i]->dev))
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"cannot call into %d (%s): the file system of its libc does not answer, and a call could wait for it for ever",
				t->pid, t->comm);
	}
	return 0;
}

/* ---- addresses ---- */

static int
target_find_function(const struct inject_target *callee, const char *name, raddr *ret)
{
	const struct object *in[] = { callee->libc, callee->pthread, callee->dl };
	struct image_symbol s;

	for (size_t i = 0; i < sizeof in / sizeof *in; i++)
		if (in[i] && image_find(in[i]->image, name, &s) == 0 && s.type == STT_FUNC) {
			*ret = s.addr;
			return 0;
		}
	return -1;
}

static const struct object *
object_named(const struct objects *o, const char *name)
{
	for (size_t i = 0; i < o->nr; i++) {
		const char *soname = image_soname(o->v[i].image);

		if (soname && strcmp(soname, name) == 0)
			return &o->v[i];
	}
	return NULL;
}

static int
find_stderr(struct inject_target *callee, struct err *e)
{
	struct image_symbol s;

	/* The variable stderr may be a copy in the executable; the object never is. */
	if (image_find(callee->libc->image, "_IO_2_1_stderr_", &s) < 0)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the libc of %d (%s) has no stderr stream", callee->target->pid,
			callee->target->comm);
	callee->stderr_stream = s.addr;
	return 0;
}

static int
find_restorers(struct inject_target *callee, struct err *e)
{
	callee->restorer =
		arch_find_restorer(callee->target, &callee->process->objects, callee->libc);
	if (callee->pthread)
		callee->pthread_restorer = arch_find_restorer(
			callee->target, &callee->process->objects, callee->pthread);
	return callee->restorer.v ? 0
				  : err_set_kind(e, ERR_UNSUPPORTED, 0,
					    "the signal return stub of %d (%s) was not found",
					    callee->target->pid, callee->target->comm);
}

/*
 * sigblock() makes a single system call, which each new thread makes by itself since 2.32, so that
 * every seccomp filter that lets the program have threads allows it.  pthread_sigmask() is in libc
 * since 2.32 as well (nptl/Versions), and was in libpthread before.
 */
static void
find_start_routine(struct inject_target *callee)
{
	struct image_symbol s;

	if (image_find(callee->libc->image, "pthread_sigmask", &s) == 0 &&
		image_find(callee->libc->image, "sigblock", &s) == 0 && s.type == STT_FUNC)
		callee->fn.sigblock = s.addr;
}

/*
 * Find the functions.  A static program has only those of libc's functions that it uses.
 * Operations that need more of them are not offered there, nor those that would make it load a
 * libc: its dlopen() does (elf/dl-support.c).
 */
static int
find_functions(struct inject_target *callee, struct err *e)
{
	const struct {
		const char *name;
		raddr *to;
		bool is_optional;
	} wanted[] = {
		{ "mmap", &callee->fn.mmap, false },
		{ "munmap", &callee->fn.munmap, false },
		{ "malloc_info", &callee->fn.malloc_info, false },
		{ "malloc_trim", &callee->fn.malloc_trim, false },
		{ "fflush", &callee->fn.fflush, false },
		{ "labs", &callee->fn.labs, false },
		{ "pthread_create", &callee->fn.pthread_create, true },
		{ "memfd_create", &callee->fn.memfd_create, true },
		{ "fcntl", &callee->fn.fcntl, true },
		{ "dup2", &callee->fn.dup2, true },
		{ "close", &callee->fn.close, true },
		{ "__lll_lock_wait_private", &callee->fn.lock, true },
		{ "syscall", &callee->fn.syscall, true },
		{ "madvise", &callee->fn.madvise, true },
		{ "dlopen", &callee->fn.dlopen, true },
		{ "dlerror", &callee->fn.dlerror, true },
		{ "__libc_dlopen_mode", &callee->fn.dlopen_mode, true },
		{ "swab", &callee->fn.swab, true },
	};
	const size_t nr = inject_is_static(callee) ? 2 : sizeof wanted / sizeof *wanted;

	for (size_t i = 0; i < nr; i++)
		if (target_find_function(callee, wanted[i].name, wanted[i].to) < 0 &&
			!wanted[i].is_optional)
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"the libc of %d (%s) has no usable %s()", callee->target->pid,
				callee->target->comm, wanted[i].name);
	find_start_routine(callee);
	if (find_restorers(callee, e) < 0)
		return -1;
	return inject_is_static(callee) ? 0 : find_stderr(callee, e);
}

/*
 * Bypass hooks of mmap() and munmap(): the counters of the target exclude our mappings.  A hook
 * also makes other system calls, any of which might be mistaken for the one that we wait for.
 */
static int
go_past_hooks(struct inject_target *callee, struct err *e)
{
	auto_free struct patch_area *area = malloc(sizeof *area);

	if (!area)
		return err_set_kind(e, ERR_FAILED, 0, "no memory");
	callee->mmap_entry = callee->fn.mmap;
	if (os_read(callee->target, callee->mmap_entry, &callee->mmap_code,
		    sizeof callee->mmap_code, e) < 0 ||
		patch_area_find(area, callee->target, &callee->process->maps, e) < 0)
		return -1;
	callee->hooks = area->start;
	callee->fn.mmap = patch_area_past(area, callee->target, callee->fn.mmap);
	callee->fn.munmap = patch_area_past(area, callee->target, callee->fn.munmap);
	return 0;
}

/* gnu_get_libc_version() returns a string in libc's read-only data. */
static void
target_read_version(struct inject_target *callee)
{
	struct image_symbol s;
	const unsigned char *text;
	raddr at;

	if (image_find(callee->libc->image, "gnu_get_libc_version", &s) < 0)
		return;
	at = arch_returned_address(callee->libc, s.addr);
	text = at.v ? image_bytes(callee->libc->image, at, sizeof callee->version) : NULL;
	if (text && memchr(text, '\0', sizeof callee->version))
		text_printable((const char *)text, callee->version, sizeof callee->version);
}

/* ---- the target ---- */

int
inject_target_new(struct inject_target **ret, const struct process *p, struct err *e)
{
	return inject_check_state(p->target, e) < 0 ? -1 : inject_target_learn(ret, p, e);
}

int
inject_target_learn(struct inject_target **ret, const struct process *p, struct err *e)
{
	return inject_target_learn_other(ret, p, NULL, e);
}

int
inject_target_learn_other(struct inject_target **ret, const struct process *p,
	const struct inject_allocator *a, struct err *e)
{
	const struct target *t = p->target;
	const struct objects *o = &p->objects;
	struct inject_target *callee = calloc(1, sizeof *callee);

	if (!callee)
		return err_set_kind(e, ERR_FAILED, 0, "no memory");
	callee->target = t;
	callee->process = p;
	callee->allocator = a;
	/* Before 2.34 the thread functions and dlopen are in separate libraries. */
	callee->pthread = object_named(o, "libpthread.so.0");
	callee->dl = object_named(o, "libdl.so.2");
	if (arch_check_process(t, e) < 0 || target_check_machine(t, o, e) < 0 ||
		check_allocator(callee, e) < 0 || find_functions(callee, e) < 0 ||
		go_past_hooks(callee, e) < 0 || safety_learn(callee, e) < 0 ||
		walker_new(&callee->walker, t, o, e) < 0) {
		inject_target_free(callee);
		/*
		 * If the target has ended, an object only seemed to lack something: it was unmapped
		 * meanwhile.
		 */
		return target_is_alive(t)
			? -1
			: err_set_kind(e, ERR_GONE, 0, "process %d has ended", t->pid);
	}
	callee->stacks_lock = stack_cache_lock(t, o);
	target_read_version(callee);
	*ret = callee;
	return 0;
}

void
inject_target_free(struct inject_target *callee)
{
	if (!callee)
		return;
	walker_free(callee->walker);
	free(callee->dangers.v);
	free(callee);
}

bool
inject_is_static(const struct inject_target *callee)
{
	return image_is_static(callee->libc->image);
}

int
inject_check_calls(const struct inject_target *callee, struct err *e)
{
	if (!inject_is_static(callee))
		return 0;
	err_set_kind(e, ERR_UNSUPPORTED, 0,
		"%d (%s) is linked statically, and has not all of the functions that it takes to call malloc_info and malloc_trim",
		callee->target->pid, callee->target->comm);
	return err_hint(e, "'memdiag heap', 'maps' and 'count' work here");
}

const char *
inject_libc_version(const struct inject_target *callee)
{
	return callee->version;
}
