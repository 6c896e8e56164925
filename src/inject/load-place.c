/*
 * Put our shared library into a program that has no dynamic linker: memdiag does the work of one.
 * The borrowed thread maps the file's segments; the data to write there is prepared here.
 */
#include <config.h>

#include "inject/load-place.h"

#include "base/cleanup.h"
#include "base/debug.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "inject/job.h"
#include "inject/load-priv.h"
#include "inject/needs.h"
#include "inject/patch.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/part.h"
#include "os/proc.h"
#include "os/status.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct load_place_work {
	struct load load;
	uint64_t page_bytes;
	const Elf64_Phdr *written; /* the one segment that is writable */
	unsigned char *data;	   /* its final contents, to the end of a page */
	uint64_t data_bytes;
	struct load_calls calls;
	uint64_t fd;	/* descriptor of the library in the target */
	raddr reserved; /* start of its addresses */
	uint64_t reserved_bytes;
	uint64_t base; /* added to the addresses in the file */
	int (*fn)(const struct os_part *library, void *arg, struct err *e);
	void *arg;
};

static void
place_release(struct load_place_work *p)
{
	load_release(&p->load);
	free(p->data);
}

static uint64_t
load_place_page_floor(const struct load_place_work *p, uint64_t address)
{
	return address & ~(p->page_bytes - 1);
}

static uint64_t
page_ceil(const struct load_place_work *p, uint64_t address)
{
	return load_place_page_floor(p, address + p->page_bytes - 1);
}

/* ---- the data ---- */

struct relocating {
	const struct load_place_work *place;
	uint64_t base;
	struct err *e;
};

static int
relocate_one(const struct image_relocation *r, void *arg)
{
	const struct relocating *x = arg;
	const struct load_place_work *p = x->place;
	const uint64_t at = r->at.v - p->written->p_vaddr;
	uint64_t word;

	if (!arch_relocate(r, x->base, &word))
		return err_set_kind(x->e, ERR_UNSUPPORTED, 0,
			"%s has relocations of a kind (%u) that only a dynamic linker knows",
			p->load.path, (unsigned int)r->type);
	if (at > p->written->p_filesz - sizeof word)
		return err_set_kind(x->e, ERR_UNSUPPORTED, 0,
			"%s has relocations where it is not written to", p->load.path);
	memcpy(p->data + at, &word, sizeof word);
	return 0;
}

static int
relocate(struct load_place_work *p, uint64_t base, struct err *e)
{
	struct relocating x = { p, base, e };

	return image_each_relocation(p->load.image, relocate_one, &x);
}

/* ---- can it be done ---- */

/* Copy the data as ld.so does, with zeroes after the bytes of the file. */
static int
load_place_copy_data(struct load_place_work *p, struct err *e)
{
	const unsigned char *bytes =
		image_initial(p->load.image, (raddr){ p->written->p_vaddr }, p->written->p_filesz);

	p->data_bytes =
		page_ceil(p, p->written->p_vaddr + p->written->p_filesz) - p->written->p_vaddr;
	p->data = bytes ? calloc(1, p->data_bytes) : NULL;
	if (!p->data)
		return err_set(e, 0, "cannot copy %s", p->load.path);
	memcpy(p->data, bytes, p->written->p_filesz);
	return 0;
}

static int
load_place_check_segments(struct load_place_work *p, struct err *e)
{
	for (size_t i = 0; i < image_nr_phdrs(p->load.image); i++) {
		const Elf64_Phdr *s = image_phdr(p->load.image, i);
		bool is_good = true;

		if (s->p_type == PT_LOAD && s->p_flags & PF_W) {
			is_good = !p->written && s->p_filesz >= sizeof(uint64_t);
			p->written = s;
		} else if (s->p_type == PT_LOAD) {
			is_good = s->p_memsz == s->p_filesz;
		} else if (s->p_type == PT_TLS) {
			is_good = !s->p_filesz && s->p_memsz <= arch_spare.bytes;
		}
		if (!is_good)
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"%s has segments that only a dynamic linker knows", p->load.path);
	}
	return p->written ? 0 : err_set(e, 0, "%s is not written to", p->load.path);
}

/*
 * Check that the words of a thread's control block that the library will use as its thread-local
 * words have their initial value.  A thread without a list of robust mutexes is not one of libc's,
 * or not yet.
 */
static int
check_thread(const struct target *t, pid_t tid, size_t *nr_seen, struct err *e)
{
	uint64_t block[ARCH_BLOCK_WORDS], spare[60];
	struct err gone;
	raddr head, tp;

	_Static_assert(sizeof spare <= 480, "more than the processors have");
	if (os_robust_list(t, tid, &head) < 0 || !head.v)
		return 0;
	tp.v = head.v - arch_spare.head;
	if (os_read(t, tp, block, sizeof block, &gone) < 0 ||
		os_read(t, raddr_add(tp, arch_spare.offset), spare, sizeof spare, &gone) < 0)
		return 0;
	if (!arch_is_control_block(block, tp))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the threads of %d (%s) are not like glibc's", t->pid, t->comm);
	for (size_t i = 0; i < sizeof spare / sizeof *spare; i++)
		if (spare[i])
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"the program uses the words of thread %d of %d (%s) that a library needs there",
				tid, t->pid, t->comm);
	++*nr_seen;
	return 0;
}

static int
load_place_check_threads(const struct target *t, struct err *e)
{
	auto_free pid_t *tids = NULL;
	size_t nr = 0, nr_seen = 0;

	if (os_threads(t, SIZE_MAX, &tids, &nr, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++)
		if (check_thread(t, tids[i], &nr_seen, e) < 0)
			return -1;
	return nr_seen ? 0
		       : err_set_kind(e, ERR_UNSUPPORTED, 0, "cannot find the threads of %d (%s)",
				 t->pid, t->comm);
}

static int
check_place(const struct inject_target *callee, struct load_place_work *p, struct err *e)
{
	raddr ignored;
	size_t nr;

	p->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	if (!arch_spare.bytes)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) is linked statically, and on %s memdiag puts no library into such a program",
			callee->target->pid, callee->target->comm, arch_name);
	image_initialisers(p->load.image, &ignored, &nr);
	if (image_has_other_relocations(p->load.image) || !nr)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%s has other relocations than are known here, or no constructor",
			p->load.path);
	if (load_place_check_segments(p, e) < 0 || load_place_copy_data(p, e) < 0 ||
		relocate(p, 0, e) < 0)
		return -1;
	return load_place_check_threads(callee->target, e);
}

/* ---- in the target ---- */

static int
load_place_map(const struct job *job, struct worker *c, raddr at, uint64_t bytes, uint64_t prot,
	uint64_t flags, uint64_t fd, uint64_t offset, struct err *e)
{
	const uint64_t arg[] = { at.v, bytes, prot, MAP_PRIVATE | flags, fd, offset };

	return worker_syscall(
		c, c->callee->fn.mmap, arg, 6, job->deadline_ns, "mapping the library", e);
}

/* Reserve the addresses.  The undo list unmaps all of them. */
static int
load_place_reserve(
	struct load_place_work *p, const struct job *job, struct worker *c, struct err *e)
{
	raddr start, end, at;

	image_extent(p->load.image, &start, &end);
	p->reserved_bytes = page_ceil(p, end.v) - load_place_page_floor(p, start.v);
	/* A hint: near the program, so that functions hooked there need no second jump. */
	at = patch_area_place(
		&c->callee->process->maps, c->callee->libc->start, c->callee->libc->end);
	if (load_place_map(job, c, at, p->reserved_bytes, PROT_NONE, MAP_ANONYMOUS | MAP_NORESERVE,
		    (uint64_t)-1, 0, e) < 0)
		return -1;
	p->reserved.v = (uint64_t)c->result;
	p->base = p->reserved.v - load_place_page_floor(p, start.v);
	return worker_promise(
		c, c->callee->fn.munmap, (uint64_t[]){ p->reserved.v, p->reserved_bytes }, 2, e);
}

static int
map_segment(const struct load_place_work *p, const struct job *job, struct worker *c,
	const Elf64_Phdr *s, struct err *e)
{
	const uint64_t prot = (s->p_flags & PF_R ? PROT_READ : 0) |
		(s->p_flags & PF_W ? PROT_WRITE : 0) | (s->p_flags & PF_X ? PROT_EXEC : 0);
	const uint64_t start = load_place_page_floor(p, s->p_vaddr),
		       end = page_ceil(p, s->p_vaddr + s->p_filesz),
		       end_of_zeroes = page_ceil(p, s->p_vaddr + s->p_memsz);

	if (load_place_map(job, c, (raddr){ p->base + start }, end - start, prot, MAP_FIXED, p->fd,
		    load_place_page_floor(p, s->p_offset), e) < 0)
		return -1;
	return end == end_of_zeroes
		? 0
		: load_place_map(job, c, (raddr){ p->base + end }, end_of_zeroes - end, prot,
			  MAP_FIXED | MAP_ANONYMOUS, (uint64_t)-1, 0, e);
}

static int
map_segments(
	const struct load_place_work *p, const struct job *job, struct worker *c, struct err *e)
{
	for (size_t i = 0; i < image_nr_phdrs(p->load.image); i++) {
		const Elf64_Phdr *s = image_phdr(p->load.image, i);

		if (s->p_type == PT_LOAD && map_segment(p, job, c, s, e) < 0)
			return -1;
	}
	return 0;
}

/* Protect the memory that the program must not write to after it has been relocated. */
static int
load_place_protect(
	const struct load_place_work *p, const struct job *job, struct worker *c, struct err *e)
{
	for (size_t i = 0; i < image_nr_phdrs(p->load.image); i++) {
		const Elf64_Phdr *s = image_phdr(p->load.image, i);
		const uint64_t start = load_place_page_floor(p, s->p_vaddr),
			       end = load_place_page_floor(p, s->p_vaddr + s->p_memsz);

		if (s->p_type == PT_GNU_RELRO &&
			load_make_syscall(&p->calls, job, c, SYS_mprotect,
				(uint64_t[]){ p->base + start, end - start, PROT_READ },
				LOAD_RESULT_OFFSET, "mprotect", e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Call the constructors in their order, without arguments.  Unmapping the library is the topmost
 * call of the undo list until the last constructor is called: that one finishes also if we die, and
 * the library is ready then.  It may write over the frame that was dropped; if it faults, the frame
 * is written again.
 */
static int
initialise(const struct load_place_work *p, const struct job *job, struct worker *c, struct err *e)
{
	const struct undo unmap = c->undo[c->nr_undo - 1];
	const uint64_t none[] = { 0, 0, 0 };
	enum worker_end end = WORKER_RETURNED;
	bool is_last = false;
	struct err ours;
	raddr at, fn;
	size_t nr;

	image_initialisers(p->load.image, &at, &nr);
	for (size_t i = 0; i < nr && end == WORKER_RETURNED; i++) {
		if (os_read(c->callee->target, (raddr){ p->base + at.v + i * sizeof fn }, &fn,
			    sizeof fn, e) < 0)
			return -1;
		is_last = i == nr - 1;
		if (is_last)
			worker_drop(c);
		if (worker_call(c, fn, none, 3, job->deadline_ns, &end, e) < 0)
			return -1;
	}
	if (end == WORKER_RETURNED)
		return 0;
	if (end == WORKER_FAULT && is_last &&
		worker_undo(c, unmap.fn, unmap.arg, unmap.nr_args, &ours) < 0)
		debug("the library stays: %s", ours.msg);
	return worker_explain(c, end, "a constructor of the library", e);
}

static int
inject_load_place(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	struct load_place_work *p = job->arg;
	struct os_part library = { .what = "the library" };
	size_t level;

	if (load_calls_begin(&p->calls, job, c, ws, e) < 0 || load_place_reserve(p, job, c, e) < 0)
		return -1;
	library.start = p->reserved;
	library.size_bytes = p->reserved_bytes;
	level = c->nr_undo;
	if (load_open_there(&p->load, &p->calls, job, c, &p->fd, e) < 0 ||
		map_segments(p, job, c, e) < 0 ||
		worker_unwind(c, level, job->deadline_ns, e) < 0 || relocate(p, p->base, e) < 0 ||
		os_part_write(c->callee->target, &library, (raddr){ p->base + p->written->p_vaddr },
			p->data, p->data_bytes, e) < 0 ||
		load_place_protect(p, job, c, e) < 0 || p->fn(&library, p->arg, e) < 0 ||
		initialise(p, job, c, e) < 0)
		return -1;
	p->load.ret->start = p->reserved;
	return 0;
}

int
load_place(struct inject_target *callee, const struct arenas *a, const struct inject_options *opt,
	const char *path, int (*fn)(const struct os_part *library, void *arg, struct err *e),
	void *arg, struct loaded_library *ret, struct inject_report *report, struct err *e)
{
	__attribute__((cleanup(place_release))) struct load_place_work p = { .fn = fn, .arg = arg };
	struct job job = { .callee = callee,
		.needs = NEEDS_LOAD,
		.opt = opt,
		.report = report,
		.run = inject_load_place,
		.arg = &p,
		.needed_bytes = LOAD_ROOM_BYTES };
	int status = load_open(&p.load, callee, path, ret, e);

	*report = (struct inject_report){ 0 };
	if (status)
		return status < 0 ? -1 : 0;
	return check_place(callee, &p, e) < 0 ? -1 : job_run(&job, a, e);
}
