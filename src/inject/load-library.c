/* Load our shared library into the target by its own dlopen(). */
#include <config.h>

#include "inject/load-library.h"

#include "base/cleanup.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "glibc/process.h"
#include "inject/call.h"
#include "inject/job.h"
#include "inject/load-filters.h"
#include "inject/load-priv.h"
#include "inject/needs.h"
#include "os/children.h"
#include "os/descriptors.h"
#include "os/mapping.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/part.h"
#include "os/proc.h"
#include "os/status.h"
#include "os/stranger.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The flag that dlopen() itself adds for __libc_dlopen_mode() (include/dlfcn.h, __RTLD_DLOPEN). */
#define DLOPEN_MODE_FLAG 0x80000000u

/* ---- is it loaded already ---- */

/* Return the object of O with BUILD_ID, or NULL. */
static const struct object *
object_with_id(const struct objects *o, const char *build_id)
{
	char id[128];

	for (size_t i = 0; i < o->nr; i++)
		if (strcmp(image_build_id(o->v[i].image, id, sizeof id), build_id) == 0)
			return &o->v[i];
	return NULL;
}

/* Return 1 if L is loaded, 0 if not, -1 with E. */
static int
find_loaded(const struct inject_target *callee, const struct load *l, struct err *e)
{
	auto_process struct process now = { 0 };
	const struct object *found;

	if (process_read_with(&now, callee->target,
		    &(struct process_sources){ .known = callee->process }, e) < 0)
		return -1;
	found = object_with_id(&now.objects, l->build_id);
	if (found)
		l->ret->start = found->start;
	return found != NULL;
}

/* ---- can the target open the file ---- */

/* Return whether all users may read PATH, which is absolute. */
static bool
is_open_to_all(const char *path)
{
	char part[PATH_MAX];
	struct stat st;

	for (const char *end = path; (end = strchr(end + 1, '/'));) {
		snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
		if (stat(part, &st) < 0 || !(st.st_mode & S_IXOTH))
			return false;
	}
	return stat(path, &st) == 0 && st.st_mode & S_IROTH;
}

/*
 * Determine whether the target must be given a copy.  A file that the target sees on a file system
 * mounted noexec is refused: ld.so would not unmap its first mapping (2.36).
 */
static int
choose_way(const struct target *t, const struct os_status *s, struct load *l, struct err *e)
{
	struct statvfs fs;
	struct stat st;
	auto_fd int fd = -1;

	if (stat(l->path, &st) < 0)
		return err_set(e, errno, "cannot examine %s", l->path);
	fd = os_file_open(t, l->path, st.st_dev, st.st_ino);
	l->is_copied = fd < 0 || (s->uid != 0 && !is_open_to_all(l->path));
	if (!l->is_copied && fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_NOEXEC)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) cannot load %s: its file system is mounted noexec there", t->pid,
			t->comm, l->path);
	return 0;
}

/* ---- a file in the target's memory ---- */

static int
load_library_fill(int to, const char *path, struct err *e)
{
	struct stat st;
	auto_fd int from = os_open_at(AT_FDCWD, path, OS_REGULAR);

	if (from < 0 || fstat(from, &st) < 0)
		return err_set(e, errno, "cannot read %s", path);
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);

		if (n <= 0)
			return err_set(e, n ? errno : EIO, "cannot copy %s", path);
		left -= n;
	}
	return 0;
}

/* Return the file name at the end of L's path, which the copy also gets. */
static const char *
load_library_base_name(const struct load *l)
{
	return strrchr(l->path, '/') + 1;
}

/*
 * Fill descriptor FD of the target, the memfd that C has just made, with L's file.  The target may
 * replace it later: then dlopen() loads other code, which is the target's own.
 */
static int
fill_there(const struct load *l, const struct worker *c, int fd, struct err *e)
{
	auto_fd int ours =
		os_copy_memfd(c->callee->target, c->tid, fd, load_library_base_name(l), e);

	return ours < 0 ? -1 : load_library_fill(ours, l->path, e);
}

/* ---- system calls whose results stay in the target ---- */

/* Have C map a page at *RET, and write SIZE bytes of CODE there.  The undo list unmaps it. */
static int
map_code(const struct job *job, struct worker *c, const unsigned char *code, size_t size,
	raddr *ret, struct err *e)
{
	const struct inject_target *callee = c->callee;
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t map[] = { 0, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		(uint64_t)-1, 0 };

	if (worker_syscall(c, callee->fn.mmap, map, 6, job->deadline_ns, "mmap", e) < 0)
		return -1;
	ret->v = (uint64_t)c->result;
	if (worker_promise(c, callee->fn.munmap, (uint64_t[]){ ret->v, page_bytes }, 2, e) < 0)
		return -1;
	return os_part_poke(callee->target,
		&(struct os_part){ "a page for code", *ret, page_bytes }, c->tid, *ret, code, size,
		e);
}

int
load_calls_begin(struct load_calls *ret, const struct job *job, struct worker *c,
	const struct workspace *ws, struct err *e)
{
	ret->words = ws->data;
	return map_code(job, c, arch_make_syscall, arch_make_syscall_bytes, &ret->code, e);
}

int
load_make_syscall(const struct load_calls *calls, const struct job *job, struct worker *c, long nr,
	const uint64_t arg[3], uint64_t offset, const char *did, struct err *e)
{
	const uint64_t all[] = { (uint64_t)nr, arg[0], arg[1], arg[2], 0, calls->words.v + offset };

	return worker_syscall(c, raddr_add(calls->code, arch_make_syscall_offset), all, 6,
		job->deadline_ns, did, e);
}

int
load_promise_close(const struct load_calls *calls, struct worker *c, struct err *e)
{
	const raddr fd = raddr_add(calls->words, LOAD_FD_OFFSET);
	const uint64_t arg[] = { SYS_close, fd.v, 0, 0, 0, calls->words.v + LOAD_RESULT_OFFSET };
	const int64_t none = -1;

	return worker_write(c, fd, &none, sizeof none, e) < 0
		? -1
		: worker_promise(c, calls->code, arg, sizeof arg / sizeof *arg, e);
}

int
load_open_there(const struct load *l, const struct load_calls *calls, const struct job *job,
	struct worker *c, uint64_t *ret_fd, struct err *e)
{
	const raddr path = raddr_add(calls->words, LOAD_PATH_OFFSET);
	const uint64_t copy[] = { path.v, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0 };
	const uint64_t open[] = { (uint64_t)AT_FDCWD, path.v, O_RDONLY | O_CLOEXEC };

	if (load_promise_close(calls, c, e) < 0 ||
		(l->is_copied ? worker_write(c, path, load_library_base_name(l),
					strlen(load_library_base_name(l)) + 1, e)
			      : worker_write(c, path, l->path, strlen(l->path) + 1, e)) < 0 ||
		load_make_syscall(calls, job, c, l->is_copied ? SYS_memfd_create : SYS_openat,
			l->is_copied ? copy : open, LOAD_FD_OFFSET,
			l->is_copied ? "memfd_create" : "opening the library", e) < 0)
		return -1;
	*ret_fd = (uint64_t)c->result;
	return l->is_copied ? fill_there(l, c, (int)*ret_fd, e) : 0;
}

/*
 * Make a copy, and store the name under which C can open it in NAME.  The name contains the
 * thread's number: dlopen() takes a file with the name of a loaded library for that library
 * (elf/dl-load.c, _dl_map_object), and a descriptor's number is soon used again.
 */
static int
copy_to_memory(const struct job *job, struct worker *c, const struct workspace *ws, char *name,
	struct err *e)
{
	struct load_calls calls;
	uint64_t fd;

	return load_calls_begin(&calls, job, c, ws, e) < 0 ||
			load_open_there(job->arg, &calls, job, c, &fd, e) < 0
		? -1
		: os_own_fd_name(c->callee->target, c->tid, (int)fd, name, LOAD_PATH_BYTES, e);
}

/* ---- memory for dlopen() ---- */

/*
 * Make C use the main arena.  A thread that allocates for the first time is given an arena, perhaps
 * a new one of 64 MiB (malloc/arena.c, arena_get2); one whose slot contains the main arena uses
 * that.  The slot must be empty again when the thread ends: ending threads are subtracted from
 * their arena's count (arena.c, __malloc_arena_thread_freeres), and this one was never added.
 */
static int
lend_arena(struct worker *c, const struct workspace *ws, struct err *e)
{
	const struct inject_target *callee = c->callee;
	const uint64_t arg[] = { ws->data.v + LOAD_ZERO_OFFSET, c->arena_slot.v, sizeof(uint64_t) };
	raddr main_arena, now;

	/* With another allocator, this was checked when the thread was borrowed. */
	if (callee->allocator)
		return 0;
	main_arena = callee->arenas->v[0].addr;
	/* The first thread of a program has the main arena from its first malloc() on. */
	if (!c->arena_slot.v && !c->is_helper && c->tid == callee->target->pid)
		return 0;
	if (!c->arena_slot.v || !callee->fn.swab.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"cannot find the arena pointers of the threads of %d (%s): loading the agent could create an arena",
			callee->target->pid, callee->target->comm);
	if (os_read(callee->target, c->arena_slot, &now, sizeof now, e) < 0)
		return -1;
	if (now.v)
		return 0;
	/* Otherwise a helper that has made no call yet would end without this undo. */
	if (worker_promise(c, callee->fn.swab, arg, 3, e) < 0)
		return -1;
	return os_part_write(callee->target,
		&(struct os_part){ "the arena of a thread", c->arena_slot, sizeof main_arena },
		c->arena_slot, &main_arena, sizeof main_arena, e);
}

/* ---- loading ---- */

/* Read the message of dlerror() in C, which is stopped after a dlopen() that failed. */
static int
read_dlerror(const struct job *job, struct worker *c, const struct workspace *ws, char *text,
	size_t size, struct err *e)
{
	const struct inject_target *callee = c->callee;
	const raddr slot = raddr_add(ws->data, LOAD_RESULT_OFFSET);
	const uint64_t arg[] = { callee->fn.dlerror.v, slot.v };
	enum worker_end end;
	raddr code, said;
	ssize_t n;

	if (map_code(job, c, arch_call_and_store, arch_call_and_store_bytes, &code, e) < 0 ||
		worker_call(c, code, arg, 2, job->deadline_ns, &end, e) < 0)
		return -1;
	if (end != WORKER_RETURNED)
		return worker_explain(c, end, "dlerror", e);
	if (os_read(callee->target, slot, &said, sizeof said, e) < 0)
		return -1;
	n = said.v ? os_read_some(callee->target, said, text, size - 1, e) : 0;
	text[n > 0 ? n : 0] = '\0';
	return 0;
}

static int
explain_failure(const struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	const struct load *l = job->arg;
	const struct target *t = c->callee->target;
	char text[400] = "", printable[400];
	struct err ignored;

	if (c->callee->fn.dlerror.v && c->callee->fn.dlopen.v)
		read_dlerror(job, c, ws, text, sizeof text, &ignored);
	err_set_kind(e, ERR_FAILED, 0, "%d (%s) cannot load %s%s: %s", t->pid, t->comm, l->path,
		l->is_copied ? ", which it was given a copy of" : "",
		*text ? text_printable(text, printable, sizeof printable)
		      : "its libc does not say why");
	return l->is_copied && !os_sees_proc(t)
		? err_hint(e,
			  "It sees no /proc, through which the copy is loaded (chroot?): begin before it goes there, or mount proc there")
		: -1;
}

static int
call_dlopen(const struct job *job, struct worker *c, const struct workspace *ws, const char *name,
	struct err *e)
{
	const struct inject_target *callee = c->callee;
	const raddr at = raddr_add(ws->data, LOAD_PATH_OFFSET);
	uint64_t flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
	struct long_call call = { .name = "dlopen",
		.fn = callee->fn.dlopen,
		.nr_args = 2,
		.holds_more = true,
		.deadline_ns = job->deadline_ns };

	if (!call.fn.v) {
		call.fn = callee->fn.dlopen_mode;
		flags |= DLOPEN_MODE_FLAG;
	}
	call.arg[0] = at.v;
	call.arg[1] = flags;
	if (worker_write(c, at, name, strlen(name) + 1, e) < 0)
		return -1;
	return long_call_make(&call, c, ws, &job->report->call_ns, e);
}

static int
load_library_load(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	struct load *l = job->arg;
	const uint64_t since_ticks = os_boot_ticks();
	char name[LOAD_PATH_BYTES];
	int found;

	snprintf(name, sizeof name, "%s", l->path);
	/* dlopen() tries calls that fail. */
	if (worker_keep_errno(c, raddr_add(ws->data, LOAD_ERRNO_OFFSET), e) < 0 ||
		lend_arena(c, ws, e) < 0 ||
		(l->is_copied && copy_to_memory(job, c, ws, name, e) < 0) ||
		call_dlopen(job, c, ws, name, e) < 0)
		return -1;
	if (c->is_helper)
		job->report->nr_children =
			os_children_since(c->callee->target, since_ticks, &job->report->child);
	found = find_loaded(c->callee, l, e);
	/*
	 * Landlock may forbid the target to open the file, which is invisible from outside; but it
	 * does not restrict files that are open already.
	 */
	if (found == 0 && !l->is_copied) {
		l->is_copied = true;
		if (copy_to_memory(job, c, ws, name, e) < 0 || call_dlopen(job, c, ws, name, e) < 0)
			return -1;
		found = find_loaded(c->callee, l, e);
	}
	return found == 0 ? explain_failure(job, c, ws, e) : found < 0 ? -1 : 0;
}

int
load_open(struct load *l, const struct inject_target *callee, const char *path,
	struct loaded_library *ret, struct err *e)
{
	const struct object *there;
	const struct target *t;
	struct os_status s;

	*l = (struct load){ .path = realpath(path, NULL), .ret = ret };
	*ret = (struct loaded_library){ 0 };
	if (!l->path)
		return err_set(e, errno, "cannot find %s", path);
	if (image_open_file(&l->image, l->path, e) < 0)
		return -1;
	image_build_id(l->image, l->build_id, sizeof l->build_id);
	there = *l->build_id ? object_with_id(&callee->process->objects, l->build_id) : NULL;
	if (there) {
		*ret = (struct loaded_library){ there->start, true };
		return 1;
	}
	t = callee->target;
	if (strlen(l->path) >= LOAD_PATH_BYTES)
		return err_set(e, ENAMETOOLONG, "cannot load %s", l->path);
	if (!*l->build_id)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s has no build-id, by which it would be known again in a process",
			l->path);
	if (os_status(t, t->mem_tid, &s, e) < 0)
		return -1;
	return load_refuse_filters(t, e) < 0 ? -1 : choose_way(t, &s, l, e);
}

void
load_release(struct load *l)
{
	image_free(l->image);
	free(l->path);
	*l = (struct load){ .path = NULL };
}

static int
check_dlopen(const struct inject_target *callee, struct err *e)
{
	const struct target *t = callee->target;

	if (!callee->fn.dlopen.v && !callee->fn.dlopen_mode.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "the libc of %d (%s) has no dlopen()",
			t->pid, t->comm);
	return 0;
}

int
load_library(struct inject_target *callee, const struct arenas *a, const struct inject_options *opt,
	const char *path, struct loaded_library *ret, struct inject_report *report, struct err *e)
{
	auto_load struct load l = { .path = NULL };
	struct job job = { .callee = callee,
		.needs = NEEDS_LOAD,
		.opt = opt,
		.report = report,
		.run = load_library_load,
		.arg = &l,
		.needed_bytes = LOAD_ROOM_BYTES,
		.is_loading = true };
	int status = load_open(&l, callee, path, ret, e);

	*report = (struct inject_report){ 0 };
	if (status)
		return status < 0 ? -1 : 0;
	return check_dlopen(callee, e) < 0 ? -1 : job_run(&job, a, e);
}
