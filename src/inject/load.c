/*
 * A shared library of ours loaded into the target, by its own dlopen().
 */
#include <config.h>

#include "inject/load.h"

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
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/image.h"

/* What dlopen() itself adds to the flags for __libc_dlopen_mode() (include/dlfcn.h, __RTLD_DLOPEN). */
#define DLOPEN_MODE_FLAG 0x80000000u

/* ---- is it there ---- */

/* The object of O with BUILD_ID, or NULL. */
static const struct object *
object_with_id(const struct objects *o, const char *build_id)
{
	char id[128];

	for (size_t i = 0; i < o->nr; i++)
		if (strcmp(image_build_id(o->v[i].image, id, sizeof id), build_id) == 0)
			return &o->v[i];
	return NULL;
}

/* 1 if it is, 0 if it is not, -1 with E. */
static int
look_again(const struct inject_target *it, const struct load *l, struct err *e)
{
	auto_maps struct maps m = { 0 };
	auto_objects struct objects o = { 0 };
	const struct object *found;

	if (maps_read(&m, it->target, e) < 0 || objects_find(&o, &m, it->target, it->objects, e) < 0)
		return -1;
	found = object_with_id(&o, l->build_id);
	if (found)
		l->ret->start = found->start;
	return found != NULL;
}

/* ---- can the target open the file ---- */

/* Whether everybody may read PATH, which is absolute. */
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
 * Find out whether the target must be given a copy.  What is mounted noexec where the target sees it
 * is refused: ld.so would leave its first mapping behind (2.36).
 */
static int
choose_way(const struct target *t, const struct os_status *s, struct load *l, struct err *e)
{
	struct statvfs fs;
	struct stat st;
	auto_fd int fd = -1;

	if (stat(l->path, &st) < 0)
		return err_set(e, errno, "cannot examine %s", l->path);
	fd = os_mapping_open(t, (raddr){ 0 }, l->path, st.st_dev, st.st_ino);
	l->is_copied = fd < 0 || (s->uid != 0 && !is_open_to_all(l->path));
	if (!l->is_copied && fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_NOEXEC)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) cannot load %s: its file system is mounted noexec there", t->pid, t->comm,
			l->path);
	return 0;
}

/* ---- a file in the target's memory ---- */

static int
fill(int to, const char *path, struct err *e)
{
	struct stat st;
	auto_fd int from = open(path, O_RDONLY | O_CLOEXEC);

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

int
load_write_name(const struct load *l, const struct carrier *c, raddr at, struct err *e)
{
	const char *base = strrchr(l->path, '/') + 1;

	return os_write(c->it->target, at, base, strlen(base) + 1, e);
}

int
load_fill(const struct load *l, const struct carrier *c, int fd, struct err *e)
{
	auto_fd int ours = os_open_fd(c->it->target, fd, O_RDWR, e);

	return ours < 0 ? -1 : fill(ours, l->path, e);
}

/*
 * The name under which C can open the copy, into NAME.  It has the thread's number in it: dlopen()
 * takes what has the name of a library that is loaded for that library (elf/dl-load.c,
 * _dl_map_object), and a descriptor's number is soon used again.
 */
static int
copy_to_memory(const struct job *job, struct carrier *c, const struct workspace *ws, char *name,
	struct err *e)
{
	const struct load *l = job->arg;
	const raddr at = raddr_add(ws->data, LOAD_PATH_OFFSET);
	uint64_t fd;

	if (load_write_name(l, c, at, e) < 0 ||
		carrier_syscall(c, c->it->fn.memfd_create, (uint64_t[]){ at.v, MFD_CLOEXEC }, 2,
			job->deadline_ns, "memfd_create", e) < 0)
		return -1;
	fd = (uint64_t)c->result;
	if (carrier_promise(c, c->it->fn.close, &fd, 1, e) < 0 || load_fill(l, c, (int)fd, e) < 0)
		return -1;
	return os_own_fd_name(c->it->target, c->tid, (int)fd, name, LOAD_PATH_BYTES, e);
}

/*
 * dlopen() tries things that fail.  A borrowed thread's errno is put back on the way home, too, with
 * the one old function of libc's that copies and has no variants.
 */
static int
keep_errno(struct carrier *c, const struct workspace *ws, struct err *e)
{
	const raddr at = raddr_add(ws->data, LOAD_ERRNO_OFFSET);
	const uint64_t arg[] = { at.v, c->errno_at.v, sizeof c->errno_was };
	char swapped[sizeof c->errno_was];

	if (c->is_helper || !c->errno_at.v || !c->it->fn.swab.v)
		return 0;
	swab(&c->errno_was, swapped, sizeof swapped);
	if (os_write(c->it->target, at, swapped, sizeof swapped, e) < 0)
		return -1;
	return carrier_undo(c, c->it->fn.swab, arg, 3, e);
}

/* ---- memory for dlopen() ---- */

/*
 * A thread that allocates for the first time is given an arena of its own, perhaps a new one of 64
 * MiB (malloc/arena.c, arena_get2); one that says it uses the main arena takes that.  It must say
 * nothing any more when it ends: ending threads are counted off their arena (arena.c,
 * __malloc_arena_thread_freeres), and this one was never counted in.
 */
static int
lend_arena(struct carrier *c, const struct workspace *ws, struct err *e)
{
	const struct inject_target *it = c->it;
	const uint64_t arg[] = { ws->data.v + LOAD_ZERO_OFFSET, c->arena_slot.v, sizeof(uint64_t) };
	const raddr main_arena = it->arenas->v[0].addr;
	raddr now;

	/* The first thread of a program has the main arena from its first malloc() on. */
	if (!c->arena_slot.v && !c->is_helper && c->tid == it->target->pid)
		return 0;
	if (!c->arena_slot.v || !it->fn.swab.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"where the threads of %d (%s) keep their arena cannot be told: to load a library "
			"would make one more", it->target->pid, it->target->comm);
	if (os_read(it->target, c->arena_slot, &now, sizeof now, e) < 0)
		return -1;
	if (now.v)
		return 0;
	/* A helper that has made no call yet would else still go straight home. */
	if (carrier_promise(c, it->fn.swab, arg, 3, e) < 0)
		return -1;
	return os_write(it->target, c->arena_slot, &main_arena, sizeof main_arena, e);
}

/* ---- loading ---- */

int
load_map_code(const struct job *job, struct carrier *c, const unsigned char *code, size_t size,
	raddr *ret, struct err *e)
{
	const struct inject_target *it = c->it;
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t map[] = { 0, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		(uint64_t)-1, 0 };

	if (carrier_syscall(c, it->fn.mmap, map, 6, job->deadline_ns, "mmap", e) < 0)
		return -1;
	ret->v = (uint64_t)c->result;
	if (carrier_promise(c, it->fn.munmap, (uint64_t[]){ ret->v, page_bytes }, 2, e) < 0)
		return -1;
	return os_poke(c->tid, *ret, code, size, e);
}

/* What dlerror() says in C, which stands after a dlopen() that failed. */
static int
read_dlerror(const struct job *job, struct carrier *c, const struct workspace *ws, char *text,
	size_t size, struct err *e)
{
	const struct inject_target *it = c->it;
	const raddr slot = raddr_add(ws->data, LOAD_RESULT_OFFSET);
	const uint64_t arg[] = { it->fn.dlerror.v, slot.v };
	enum carrier_end end;
	raddr code, said;
	ssize_t n;

	if (load_map_code(job, c, arch_call_and_store, arch_call_and_store_bytes, &code, e) < 0 ||
		carrier_call(c, code, arg, 2, job->deadline_ns, &end, e) < 0)
		return -1;
	if (end != CARRIER_RETURNED)
		return carrier_explain(c, end, "dlerror", e);
	if (os_read(it->target, slot, &said, sizeof said, e) < 0)
		return -1;
	n = said.v ? os_read_some(it->target, said, text, size - 1, e) : 0;
	text[n > 0 ? n : 0] = '\0';
	return 0;
}

static int
explain_failure(const struct job *job, struct carrier *c, const struct workspace *ws, struct err *e)
{
	const struct load *l = job->arg;
	const struct target *t = c->it->target;
	char text[400] = "", printable[400];
	struct err ignored;

	if (c->it->fn.dlerror.v && c->it->fn.dlopen.v)
		read_dlerror(job, c, ws, text, sizeof text, &ignored);
	return err_set_kind(e, ERR_FAILED, 0, "%d (%s) cannot load %s%s: %s", t->pid, t->comm, l->path,
		l->is_copied ? ", which it was given a copy of" : "",
		*text ? text_printable(text, printable, sizeof printable)
		      : "its libc does not say why");
}

static int
call_dlopen(const struct job *job, struct carrier *c, const struct workspace *ws, const char *name,
	struct err *e)
{
	const struct inject_target *it = c->it;
	const raddr at = raddr_add(ws->data, LOAD_PATH_OFFSET);
	uint64_t flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
	struct long_call call = { .name = "dlopen", .fn = it->fn.dlopen, .nr_args = 2,
		.holds_more = true, .deadline_ns = job->deadline_ns };

	if (!call.fn.v) {
		call.fn = it->fn.dlopen_mode;
		flags |= DLOPEN_MODE_FLAG;
	}
	call.arg[0] = at.v;
	call.arg[1] = flags;
	if (os_write(it->target, at, name, strlen(name) + 1, e) < 0)
		return -1;
	return long_call_make(&call, c, ws, &job->report->call_ns, e);
}

static int
load(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e)
{
	struct load *l = job->arg;
	char name[LOAD_PATH_BYTES];
	int found;

	snprintf(name, sizeof name, "%s", l->path);
	if (keep_errno(c, ws, e) < 0 || lend_arena(c, ws, e) < 0 ||
		(l->is_copied && copy_to_memory(job, c, ws, name, e) < 0) ||
		call_dlopen(job, c, ws, name, e) < 0)
		return -1;
	found = look_again(c->it, l, e);
	return found == 0 ? explain_failure(job, c, ws, e) : found < 0 ? -1 : 0;
}

static int
check(const struct inject_target *it, struct load *l, struct err *e)
{
	const struct target *t = it->target;
	struct os_status s;

	if (strlen(l->path) >= LOAD_PATH_BYTES)
		return err_set(e, ENAMETOOLONG, "cannot load %s", l->path);
	if (!*l->build_id)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s has no build-id, by which it would be known again in a process", l->path);
	if (os_status(t, t->mem_tid, &s, e) < 0)
		return -1;
	return inject_refuse_filters(t, e) < 0 ? -1 : choose_way(t, &s, l, e);
}

int
load_open(struct load *l, const struct inject_target *it, const char *path,
	struct inject_library *ret, struct err *e)
{
	const struct object *there;

	*l = (struct load){ .path = realpath(path, NULL), .ret = ret };
	*ret = (struct inject_library){ 0 };
	if (!l->path)
		return err_set(e, errno, "cannot find %s", path);
	if (image_open_file(&l->image, l->path, e) < 0)
		return -1;
	image_build_id(l->image, l->build_id, sizeof l->build_id);
	there = *l->build_id ? object_with_id(it->objects, l->build_id) : NULL;
	if (there) {
		*ret = (struct inject_library){ there->start, true };
		return 1;
	}
	return check(it, l, e);
}

void
load_release(struct load *l)
{
	image_free(l->image);
	free(l->path);
	*l = (struct load){ .path = NULL };
}

static int
check_dlopen(const struct inject_target *it, const struct load *l, struct err *e)
{
	const struct target *t = it->target;

	if (!it->fn.dlopen.v && !it->fn.dlopen_mode.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "the libc of %d (%s) has no dlopen()", t->pid,
			t->comm);
	if (l->is_copied && (!it->fn.memfd_create.v || !it->fn.close.v))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) cannot open %s, and its libc is too old to be given a copy in memory "
			"(memfd_create, 2.27)", t->pid, t->comm, l->path);
	return 0;
}

int
inject_load(struct inject_target *it, const struct arenas *a, const struct inject_options *opt,
	const char *path, struct inject_library *ret, struct inject_report *report, struct err *e)
{
	auto_load struct load l = { .path = NULL };
	struct job job = { .it = it, .opt = opt, .report = report, .run = load, .arg = &l };
	int status = load_open(&l, it, path, ret, e);

	*report = (struct inject_report){ 0 };
	if (status)
		return status < 0 ? -1 : 0;
	return check_dlopen(it, &l, e) < 0 ? -1 : job_run(&job, a, e);
}
