#include <config.h>

#include "stack/stack.h"

#include <elf.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "elf/image.h"

/*
 * libunwind exports this for callers with their own find_proc_info (perf is one), without declaring
 * it: find the entry for IP in the binary search table that DI describes.
 */
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
	unw_proc_info_t *pi, int need_unwind_info, void *arg);

/* Where one object keeps its unwind table; PT_GNU_EH_FRAME, .eh_frame_hdr. */
struct table {
	bool is_read;
	unw_dyn_info_t info;	/* format is 0 if the object has none that can be searched */
};

struct walker {
	const struct target *target;
	const struct objects *objects;
	unw_addr_space_t as;
	struct table *table;	/* one for each object */
	/* of the walk under way */
	const uint64_t *regs;
	raddr sp;
	const char *copy;
	size_t copy_bytes;
	bool has_missed;	/* some frame has no table: libunwind guesses from there on */
};

/* ---- memory ---- */

static int
read_word(struct walker *w, uint64_t addr, uint64_t *ret)
{
	const struct object *o;
	const unsigned char *bytes;
	struct err e;

	if (addr >= w->sp.v && addr + sizeof *ret <= w->sp.v + w->copy_bytes) {
		memcpy(ret, w->copy + (addr - w->sp.v), sizeof *ret);
		return 0;
	}
	o = objects_at(w->objects, (raddr){ addr });
	bytes = o ? image_bytes(o->image, (raddr){ addr }, sizeof *ret) : NULL;
	if (!bytes)
		return os_read(w->target, (raddr){ addr }, ret, sizeof *ret, &e);
	memcpy(ret, bytes, sizeof *ret);
	return 0;
}

static int
access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int is_write, void *arg)
{
	(void)as;
	return is_write || read_word(arg, addr, value) < 0 ? -UNW_EINVAL : 0;
}

/* ---- registers ---- */

/* Where libunwind's register REG stands among the words of NT_PRSTATUS, -1 if it does not. */
static int
regset_index(unw_regnum_t reg)
{
#if defined __x86_64__
	/* The DWARF order (System V psABI, 3.6.2) in that of struct user_regs_struct. */
	static const int at[] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16 };
#elif defined __aarch64__
	/* x0 to x30, sp, pc: the same order in both. */
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
	return 0;
}

static int
access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int is_write, void *arg)
{
	(void)as, (void)reg, (void)value, (void)is_write, (void)arg;
	return -UNW_EBADREG;	/* no CFA is computed from one */
}

/* ---- unwind tables ---- */

/*
 * .eh_frame_hdr (LSB, "The .eh_frame_hdr section"): version 1, the encodings of three fields, then
 * a pointer to .eh_frame, the number of entries, and the entries sorted by address.  All linkers
 * write the encodings that are wanted here.
 */
static void
read_table(struct walker *w, const struct object *o, unw_dyn_info_t *di)
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

static int
find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need_unwind_info,
	void *arg)
{
	struct walker *w = arg;
	const struct object *o = objects_at(w->objects, (raddr){ ip });
	struct table *table = o ? &w->table[o - w->objects->v] : NULL;
	int status = -UNW_ENOINFO;

	if (table && !table->is_read) {
		read_table(w, o, &table->info);
		table->is_read = true;
	}
	if (table && table->info.format == UNW_INFO_FORMAT_REMOTE_TABLE)
		status = dwarf_search_unwind_table(as, ip, &table->info, pi, need_unwind_info, w);
	if (status < 0)
		w->has_missed = true;
	return status;
}

static void
put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as, (void)pi, (void)arg;	/* libunwind frees what dwarf_search_unwind_table() made */
}

/* ---- what libunwind asks for and we have no use for ---- */

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

int
walker_new(
	struct walker **ret, const struct target *t, const struct objects *o, struct err *e)
{
	struct walker *w = calloc(1, sizeof *w);

	if (w) {
		w->target = t;
		w->objects = o;
		w->table = calloc(o->nr ? o->nr : 1, sizeof *w->table);
		w->as = unw_create_addr_space(&accessors, 0);
	}
	if (!w || !w->table || !w->as) {
		walker_free(w);
		return err_set_kind(e, ERR_FAILED, 0, "no memory to unwind stacks");
	}
	/* Decoded entries are kept: a thread that is looked at again costs a tenth. */
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
	free(w->table);
	free(w);
}

static bool
add_frame(unw_cursor_t *c, struct stack *s)
{
	struct stack_frame *f = &s->frame[s->nr];

	if (s->nr == STACK_MAX_FRAMES || unw_get_reg(c, UNW_REG_IP, &f->pc.v) < 0 ||
		unw_get_reg(c, UNW_REG_SP, &f->sp.v) < 0)
		return false;
	f->is_signal = unw_is_signal_frame(c) > 0;
	s->nr++;
	return true;
}

void
stack_walk(struct walker *w, const uint64_t *regs, raddr sp, const char *copy, size_t copy_bytes,
	struct stack *ret)
{
	unw_cursor_t c;
	int status;

	w->regs = regs;
	w->sp = sp;
	w->copy = copy;
	w->copy_bytes = copy_bytes;
	w->has_missed = false;
	ret->nr = 0;
	ret->is_complete = false;
	if (unw_init_remote(&c, w->as, w) < 0)
		return;
	do {
		if (!add_frame(&c, ret))
			return;
		status = unw_step(&c);
	} while (status > 0 && !w->has_missed);
	ret->is_complete = status == 0 && !w->has_missed;
}
