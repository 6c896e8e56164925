#include <config.h>

#include "elf/image.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/ptrace.h"
#include "stack/index.h"
#include "stack/memo.h"
#include "stack/rules.h"
#include "stack/source.h"
#include "stack/stack.h"

#include <elf.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

/*
 * Find the entry for IP in the binary search table that DI describes.  libunwind exports this
 * without a declaration for callers with their own find_proc_info (perf is one).
 */
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
	unw_proc_info_t *pi, int need_unwind_info, void *arg);

/* An object's unwind table; PT_GNU_EH_FRAME, .eh_frame_hdr. */
struct table {
	bool is_read, is_indexed;
	unw_dyn_info_t info;	  /* format is 0 if the object has no table that can be searched */
	struct stack_index index; /* instead of the table, if the object has no .eh_frame_hdr */
};

/*
 * libunwind reads the index as memory of the target: that of table N is at INDEX_AT + N *
 * INDEX_BYTES, which is outside of user memory on all processors.
 */
#define INDEX_AT (UINT64_C(1) << 63)
#define INDEX_BYTES (UINT64_C(1) << 36)

#define PAGE_BYTES 4096
/* Number of frames for callers that must know all of them. */
#define NEAR_FRAMES 256

/*
 * Limits for the words that libunwind may read for a frame and for a stack.  A frame takes some
 * hundred, or some thousand in the longest functions; damaged tables may lead to any number.
 */
#define MAX_READS_OF_FRAME ((size_t)1 << 18)
#define MAX_READS ((size_t)1 << 22)

struct walker {
	const struct target *target;
	const struct objects *objects;
	struct object vdso; /* the kernel's object, for stack_walk_far(); image NULL: no vdso */
	bool has_opened_vdso;
	unw_addr_space_t as;
	struct table *table; /* one for each object, and one for the vdso */
	struct memo *memo;   /* of walks of earlier copies; NULL until there is one */
	/* of the present walk */
	const uint64_t *regs;
	raddr sp;
	const char *copy;
	size_t copy_bytes;
	bool has_missed; /* a frame has no table: libunwind guesses from there on */
	size_t nr_reads, nr_reads_before; /* in all, and before this frame */
	/* for stack_walk_far() */
	const struct stack_source *source; /* NULL: in stack_walk() */
	struct memo *noting;		   /* gets what is read; NULL: nothing does */
	bool is_beyond;
	raddr page_at; /* the address of PAGE; {0}: empty */
	char page[PAGE_BYTES];
};

/* Return the object that contains A, or NULL; *RET is its table. */
static const struct object *
walk_object_at(struct walker *w, raddr a, struct table **ret)
{
	const struct object *o = objects_at(w->objects, a);

	if (!o && w->source && w->vdso.image && raddr_in(a, w->vdso.start, w->vdso.end))
		o = &w->vdso;
	*ret = &w->table[o && o != &w->vdso ? (size_t)(o - w->objects->v) : w->objects->nr];
	return o;
}

/* ---- memory ---- */

static bool
stack_walk_is_late(const struct walker *w)
{
	return w->source->deadline_ns && os_now_ns() > w->source->deadline_ns;
}

/* Read from a stopped thread, page by page: the words of a stack are close to each other. */
static int
read_held(struct walker *w, uint64_t addr, uint64_t *ret)
{
	const raddr page = { addr & ~(uint64_t)(PAGE_BYTES - 1) };
	struct err e;

	if (page.v != w->page_at.v) {
		w->page_at.v = 0;
		if (stack_walk_is_late(w) ||
			os_read_present(w->target, page, w->page, PAGE_BYTES, &e) < 0)
			return -1;
		w->page_at = page;
	}
	memcpy(ret, w->page + (addr - page.v), sizeof *ret);
	return 0;
}

/*
 * Read a word that is neither in the copy nor in a file, as it is now.  Do not wait for a missing
 * page: its file may be on a server that does not answer.
 */
static int
walk_read_live(struct walker *w, uint64_t addr, uint64_t *ret)
{
	const struct region *r;
	struct err e;

	if (!w->source)
		return os_read_present(w->target, (raddr){ addr }, ret, sizeof *ret, &e);
	r = regions_find(w->source->maps, (raddr){ addr });
	if (!r || r->prot[0] != 'r') {
		memo_spoil(w->noting);
		return -1;
	}
	if (stack_source_changes(w->source, (raddr){ addr })) {
		w->is_beyond = true;
		memo_note_beyond(w->noting, addr);
		if (w->source->is_past)
			return -1;
	}
	memo_spoil(w->noting);
	if (w->source->is_held && addr % sizeof *ret == 0)
		return read_held(w, addr, ret);
	return os_read_present(w->target, (raddr){ addr }, ret, sizeof *ret, &e);
}

static int
read_index(const struct walker *w, uint64_t addr, uint64_t *ret)
{
	const uint64_t table = (addr - INDEX_AT) / INDEX_BYTES;
	const uint64_t at = (addr - INDEX_AT) % INDEX_BYTES / sizeof *ret;

	if (table > w->objects->nr || at >= w->table[table].index.entries.nr)
		return -1;
	memcpy(ret, &w->table[table].index.entries.v[at], sizeof *ret);
	return 0;
}

static int
read_word(struct walker *w, uint64_t addr, uint64_t *ret)
{
	const struct object *o;
	const unsigned char *bytes;
	struct table *table;

	if (addr >= w->sp.v && addr + sizeof *ret <= w->sp.v + w->copy_bytes) {
		memcpy(ret, w->copy + (addr - w->sp.v), sizeof *ret);
		memo_note_word(w->noting, addr, *ret);
		return 0;
	}
	if (addr >= INDEX_AT)
		return read_index(w, addr, ret);
	o = walk_object_at(w, (raddr){ addr }, &table);
	bytes = o ? image_bytes(o->image, (raddr){ addr }, sizeof *ret) : NULL;
	if (!bytes)
		return walk_read_live(w, addr, ret);
	memcpy(ret, bytes, sizeof *ret);
	return 0;
}

static int
access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int is_write, void *arg)
{
	struct walker *w = arg;

	(void)as;
	if (is_write || ++w->nr_reads > MAX_READS ||
		w->nr_reads - w->nr_reads_before > MAX_READS_OF_FRAME)
		return -UNW_EINVAL;
	return read_word(w, addr, value) < 0 ? -UNW_EINVAL : 0;
}

/* ---- registers ---- */

/* Return the index of libunwind's register REG in NT_PRSTATUS, -1 if it does not exist. */
static int
regset_index(unw_regnum_t reg)
{
#if defined __x86_64__
	/* Converts the DWARF order (System V psABI, 3.6.2) to that of struct user_regs_struct. */
	static const int at[] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16 };
#elif defined __aarch64__
	/* x0 to x30, sp, pc: both have the same order. */
	static const int at[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
		19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
#else
	static const int at[] = { -1 };
#endif
	return reg >= 0 && (size_t)reg < sizeof at / sizeof *at ? at[reg] : -1;
}

static int
access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int is_write, void *arg)
{
	struct walker *w = arg;
	int i = regset_index(reg);

	(void)as;
	if (is_write || i < 0)
		return -UNW_EBADREG;
	*value = w->regs[i];
	memo_note_register(w->noting, i, *value);
	return 0;
}

static int
access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int is_write, void *arg)
{
	(void)as, (void)reg, (void)value, (void)is_write, (void)arg;
	return -UNW_EBADREG; /* no CFA is computed from a floating point register */
}

/* ---- unwind tables ---- */

/*
 * Read .eh_frame_hdr (LSB, "The .eh_frame_hdr section"): version 1, the encodings of three fields,
 * then a pointer to .eh_frame, the number of entries, and the entries sorted by address.  All
 * linkers use the encodings that are expected here.
 */
static void
walk_read_table(struct walker *w, const struct object *o, unw_dyn_info_t *di)
{
	static const unsigned char wanted[4] = {
		1, 0x1b /* pcrel | sdata4 */, 0x03 /* udata4 */, 0x3b /* datarel | sdata4 */
	};
	raddr hdr = { 0 };
	uint64_t head, count;

	for (size_t i = 0; i < image_nr_phdrs(o->image); i++)
		if (image_phdr(o->image, i)->p_type == PT_GNU_EH_FRAME)
			hdr.v = image_phdr(o->image, i)->p_vaddr + image_bias(o->image);
	if (!hdr.v || read_word(w, hdr.v, &head) < 0 || memcmp(&head, wanted, sizeof wanted) != 0 ||
		read_word(w, hdr.v + 8, &count) < 0)
		return;
	di->format = UNW_INFO_FORMAT_REMOTE_TABLE;
	di->start_ip = o->start.v;
	di->end_ip = o->end.v;
	di->u.rti.segbase = hdr.v;
	di->u.rti.table_data = hdr.v + 12;
	di->u.rti.table_len = (uint32_t)count * UINT64_C(8) / sizeof(unw_word_t);
}

/*
 * Make an index in place of a table that the linker has not made.  Only stack_walk_far() uses it: a
 * thread of such a program is never proven safe.
 */
static void
make_index(struct walker *w, const struct object *o, struct table *table)
{
	unw_dyn_info_t *di = &table->info;

	table->is_indexed = true;
	stack_index_make(&table->index, o->image);
	if (!table->index.entries.nr)
		return;
	di->format = UNW_INFO_FORMAT_REMOTE_TABLE;
	di->start_ip = o->start.v;
	di->end_ip = o->end.v;
	di->u.rti.segbase = table->index.base.v;
	di->u.rti.table_data = INDEX_AT + (uint64_t)(table - w->table) * INDEX_BYTES;
	di->u.rti.table_len =
		table->index.entries.nr * sizeof *table->index.entries.v / sizeof(unw_word_t);
}

/*
 * The result of dwarf_search_unwind_table(): the beginning of struct dwarf_cie_info in all releases
 * of libunwind (include/dwarf.h of 1.1 to 1.8).
 */
struct found_rules {
	unw_word_t cie_start, cie_end, fde_start, fde_end, code_align, data_align, return_column;
};

static bool
are_rules_sound(const struct object *o, const unw_proc_info_t *pi)
{
	struct found_rules found;
	struct stack_rules r;

	if (pi->unwind_info_size < (int)sizeof found)
		return false;
	memcpy(&found, pi->unwind_info, sizeof found);
	r.return_column = found.return_column;
	r.cie_bytes = found.cie_end - found.cie_start;
	r.fde_bytes = found.fde_end - found.fde_start;
	r.cie = image_bytes(o->image, (raddr){ found.cie_start }, r.cie_bytes);
	r.fde = image_bytes(o->image, (raddr){ found.fde_start }, r.fde_bytes);
	return r.cie && r.fde && stack_rules_are_sound(&r);
}

static int
find_proc_info(
	unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need_unwind_info, void *arg)
{
	struct walker *w = arg;
	struct table *table;
	const struct object *o = walk_object_at(w, (raddr){ ip }, &table);
	int status = -UNW_ENOINFO;

	if (o && !table->is_read) {
		walk_read_table(w, o, &table->info);
		table->is_read = true;
	}
	if (o && !table->info.format && w->source && !table->is_indexed)
		make_index(w, o, table);
	if (o && table->info.format == UNW_INFO_FORMAT_REMOTE_TABLE)
		status = dwarf_search_unwind_table(as, ip, &table->info, pi, need_unwind_info, w);
	if (status >= 0 && need_unwind_info && !(pi->unwind_info && are_rules_sound(o, pi)))
		status = -UNW_ENOINFO;
	if (status < 0)
		w->has_missed = true;
	return status;
}

static void
put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	/* libunwind frees what dwarf_search_unwind_table() allocated */
	(void)as, (void)pi, (void)arg;
}

/* ---- functions that libunwind requires and memdiag does not need ---- */

static int
no_dynamic_info(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	(void)as, (void)addr, (void)arg;
	return -UNW_ENOINFO;
}

static int
no_resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
	(void)as, (void)c, (void)arg;
	return -UNW_EINVAL;
}

static int
no_name(unw_addr_space_t as, unw_word_t addr, char *buf, size_t size, unw_word_t *offset, void *arg)
{
	(void)as, (void)addr, (void)buf, (void)size, (void)offset, (void)arg;
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = no_dynamic_info,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = no_resume,
	.get_proc_name = no_name,
};

/* ---- the walk ---- */

/* Open the vdso: otherwise a thread that asks for the time has an unknown caller. */
static void
open_vdso(struct walker *w)
{
	struct object *o = &w->vdso;
	struct err ignored;

	if (w->has_opened_vdso)
		return;
	w->has_opened_vdso = true;
	if (w->objects->vdso.v &&
		image_open(&o->image, w->target, &(struct region){ .start = w->objects->vdso },
			NULL, &ignored) == 0)
		image_extent(o->image, &o->start, &o->end);
}

int
walker_new(struct walker **ret, const struct target *t, const struct objects *o, struct err *e)
{
	struct walker *w = calloc(1, sizeof *w);

	if (w) {
		w->target = t;
		w->objects = o;
		w->table = calloc(o->nr + 1, sizeof *w->table);
		w->as = unw_create_addr_space(&accessors, 0);
	}
	if (!w || !w->table || !w->as) {
		walker_free(w);
		return err_set_kind(e, ERR_FAILED, 0, "no memory to unwind stacks");
	}
	/* Cache decoded entries: walking a thread again costs a tenth. */
	unw_set_caching_policy(w->as, UNW_CACHE_GLOBAL);
	*ret = w;
	return 0;
}

void
walker_free(struct walker *w)
{
	if (!w)
		return;
	if (w->as)
		unw_destroy_addr_space(w->as);
	memo_free(w->memo);
	image_free(w->vdso.image);
	for (size_t i = 0; w->table && i <= w->objects->nr; i++)
		free(w->table[i].index.entries.v);
	free(w->table);
	free(w);
}

/*
 * Return whether PC is where a signal handler returns to, which calls rt_sigreturn.  Some releases
 * of libunwind report it for the next frame.
 */
static bool
is_trampoline(struct walker *w, uint64_t pc)
{
#if defined __x86_64__
	/* mov, syscall */
	static const unsigned char code[] = "\x48\xc7\xc0\x0f\0\0\0\x0f\x05";
#elif defined __aarch64__
	/* mov, svc */
	static const unsigned char code[] = "\x68\x11\x80\xd2\x01\0\0\xd4";
#else
	static const unsigned char code[] = "";
#endif
	uint64_t word[2] = { 0, 0 };

	return sizeof code > 1 && pc && read_word(w, pc, &word[0]) == 0 &&
		memcmp(word, code, 8) == 0 &&
		(sizeof code - 1 == 8 ||
			(read_word(w, pc + 8, &word[1]) == 0 &&
				memcmp(word, code, sizeof code - 1) == 0));
}

static bool
walk_add_frame(struct walker *w, unw_cursor_t *c, struct stack *s, size_t max)
{
	struct stack_frame *f = &s->frame[s->nr];

	if (s->nr == max || unw_get_reg(c, UNW_REG_IP, &f->pc.v) < 0 ||
		unw_get_reg(c, UNW_REG_SP, &f->sp.v) < 0)
		return false;
	f->is_signal = is_trampoline(w, f->pc.v);
	f->is_guess = false;
	s->nr++;
	return true;
}

/* Start a walk.  False: nothing to unwind. */
static bool
walk_begin(struct walker *w, const uint64_t *regs, const struct stack_source *source,
	unw_cursor_t *c, struct stack *ret)
{
	w->regs = regs;
	w->source = source;
	w->has_missed = w->is_beyond = false;
	w->nr_reads = w->nr_reads_before = 0;
	w->page_at.v = 0;
	ret->nr = 0;
	ret->is_complete = ret->is_cut = ret->is_beyond = false;
	return unw_init_remote(c, w->as, w) == 0;
}

void
stack_walk(struct walker *w, const uint64_t *regs, raddr sp, const char *copy, size_t copy_bytes,
	struct stack *ret)
{
	unw_cursor_t c;
	int status;

	w->sp = sp;
	w->copy = copy;
	w->copy_bytes = copy_bytes;
	w->noting = NULL;
	if (!walk_begin(w, regs, NULL, &c, ret))
		return;
	do {
		if (!walk_add_frame(w, &c, ret, NEAR_FRAMES))
			return;
		/* Some releases of libunwind mark the frame after the trampoline. */
		ret->frame[ret->nr - 1].is_signal |= unw_is_signal_frame(&c) > 0;
		w->nr_reads_before = w->nr_reads;
		status = unw_step(&c);
	} while (status > 0 && !w->has_missed);
	ret->is_complete = status == 0 && !w->has_missed;
}

/* ---- further, by the frame pointer ---- */

#if defined __x86_64__
enum { REG_FP = 6, NR_REGS = 17 }; /* rbp; rip is the last one */
#elif defined __aarch64__
enum { REG_FP = 29, NR_REGS = 33 };
#else
enum { REG_FP = 0, NR_REGS = 0 };
#endif

static bool
walk_is_code(const struct walker *w, uint64_t addr)
{
	const struct region *r = regions_find(w->source->maps, (raddr){ addr });

	memo_spoil(w->noting); /* the mappings may change */
	return r && r->prot[2] == 'x';
}

/*
 * Fill REGS, in the layout of NT_PRSTATUS, with those of the caller of C's frame: the frame pointer
 * points to the caller's frame pointer and the return address, on x86-64 and on aarch64.  libunwind
 * takes the initial PC of a cursor as exact, so it gets the call's last byte.
 */
static bool
find_caller(struct walker *w, unw_cursor_t *c, uint64_t *regs)
{
	uint64_t value[NR_REGS + 1] = { 0 }, fp, sp, caller_fp, ra;

	/* Read all of them first: C may read them from REGS. */
	for (int i = 0; i < NR_REGS; i++)
		unw_get_reg(c, i, &value[i]);
	if (!NR_REGS || unw_get_reg(c, REG_FP, &fp) < 0 || unw_get_reg(c, UNW_REG_SP, &sp) < 0 ||
		fp < sp || fp % sizeof fp || read_word(w, fp, &caller_fp) < 0 ||
		read_word(w, fp + 8, &ra) < 0 || !walk_is_code(w, ra - 1))
		return false;
	for (int i = 0; i < NR_REGS; i++)
		regs[regset_index(i)] = value[i];
	regs[regset_index(REG_FP)] = caller_fp;
	regs[regset_index(UNW_TDEP_SP)] = fp + 16;
	regs[regset_index(UNW_TDEP_IP)] = ra - 1;
	return true;
}

/*
 * Step from C, a trampoline if IS_SIGNAL, to its caller: 1, with *IS_GUESS if that is a guess, 0 at
 * the end of the stack, -1 if the caller is unknown.  REGS is room for registers.
 */
static int
step_far(struct walker *w, unw_cursor_t *c, bool is_signal, uint64_t *regs, bool *is_guess)
{
	unw_cursor_t before = *c;
	int status;

	w->has_missed = false;
	w->nr_reads_before = w->nr_reads;
	status = unw_step(c);
	*is_guess = false;
	/* The trampoline of a signal handler is recognized by its code. */
	if (status >= 0 && (!w->has_missed || (status > 0 && is_signal)))
		return status > 0;
	if (!find_caller(w, &before, regs))
		return -1;
	w->regs = regs;
	*is_guess = true;
	return unw_init_remote(c, w->as, w) == 0 ? 1 : -1;
}

static void
walk_far(struct walker *w, const struct stack_source *s, struct stack *ret)
{
	uint64_t regs[STACK_MAX_REGS];
	unw_cursor_t c;
	bool is_guess = false;
	int status = 1;

	open_vdso(w);
	memcpy(regs, s->regs, sizeof regs);
	w->sp = s->sp;
	w->copy = s->copy;
	w->copy_bytes = s->copy_bytes;
	if (!walk_begin(w, s->regs, s, &c, ret))
		return;
	while (status > 0 && walk_add_frame(w, &c, ret, STACK_MAX_FRAMES)) {
		if (is_guess) {
			ret->frame[ret->nr - 1].pc.v++;
			ret->frame[ret->nr - 1].is_guess = true;
		}
		if (stack_walk_is_late(w))
			break;
		status = step_far(w, &c, ret->frame[ret->nr - 1].is_signal, regs, &is_guess);
	}
	ret->is_complete = status == 0;
	ret->is_cut = status > 0 ||
		(status < 0 &&
			(stack_walk_is_late(w) || w->nr_reads > MAX_READS ||
				(s->is_past && w->is_beyond)));
	ret->is_beyond = w->is_beyond;
}

void
stack_walk_far(struct walker *w, const struct stack_source *s, struct stack *ret)
{
	const int pc = regset_index(UNW_TDEP_IP);

	/* A thread that is held is walked once. */
	if (s->is_past && pc >= 0 && !w->memo)
		w->memo = memo_new();
	w->noting = s->is_past ? w->memo : NULL;
	if (w->noting && memo_find(w->noting, s, s->regs[pc], ret))
		return;
	walk_far(w, s, ret);
	memo_keep(w->noting, ret);
}
