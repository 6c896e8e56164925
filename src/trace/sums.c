#include <config.h>

#include "trace/sums.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "os/segment.h"
#include "os/status.h"

static int
sums_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep what was mapped");
}

static uint64_t
sums_bytes_of(struct trace_range r)
{
	return r.end - r.start;
}

/* ---- System V segments, whose sizes are not in the arguments ---- */

/* Return the segment at ADDRESS, NULL if unknown. */
static struct trace_range *
find_segment(struct trace_program *p, uint64_t address)
{
	for (size_t i = 0; i < p->segments.nr; i++)
		if (p->segments.v[i].start == address)
			return &p->segments.v[i];
	return NULL;
}

/* munmap() and SHM_REMAP may have removed an older segment that began at the same address. */
static int
add_segment(struct trace_program *p, struct trace_range r, struct err *e)
{
	struct trace_range *s = find_segment(p, r.start);

	if (!s)
		s = array_add(&p->segments);
	if (!s)
		return sums_no_memory(e);
	*s = r;
	return 0;
}

/*
 * Return the present mapping of segment ID at ADDRESS, including the pieces it was split into if a
 * part was protected: the kernel uses ID as the inode of its file (ipc/shm.c, newseg()).  Empty if
 * the segment was detached since, or another one is mapped.
 */
static struct trace_range
mapped_segment(const struct regions *maps, uint64_t address, uint64_t id)
{
	const struct region *r = regions_find(maps, (raddr){ address });
	const struct region *end = maps->region + maps->nr;
	struct trace_range found = { address, address };

	for (; r && r < end && r->start.v == found.end && r->path &&
		strncmp(r->path, "/SYSV", 5) == 0 && r->inode == id &&
		r->offset_bytes == found.end - address;
		r++)
		found.end = r->end.v;
	return found;
}

/*
 * Return the segment that C attached at ADDRESS, as reported by the kernel.  Otherwise read the
 * mapping; if the process has detached it, read the segment itself.  Empty if the segment was
 * removed as well.
 */
static struct trace_range
sums_segment_at(struct trace_program *p, uint64_t address, const struct trace_entry *c)
{
	const uint64_t id = c->arg[0];
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct trace_range r = { address, address };
	struct err e;

	r.end += c->mapped_bytes;
	if (!p->is_open || c->mapped_bytes)
		return r;
	if (trace_program_read(p, &e) == 0)
		r = mapped_segment(&p->process.maps, address, id);
	if (!sums_bytes_of(r))
		r.end += (os_segment_bytes(&p->target, (int)id) + page_bytes - 1) &
			~(page_bytes - 1);
	return r;
}

/* Forget the segment at ADDRESS, and return it; empty if unknown. */
static struct trace_range
sums_take_segment(struct trace_program *p, uint64_t address)
{
	struct trace_range *s = find_segment(p, address);
	struct trace_range r = { address, address };

	if (s) {
		r = *s;
		*s = p->segments.v[--p->segments.nr];
	}
	return r;
}

static int
sums_attach(
	struct trace_program *p, const struct trace_entry *c, struct trace_effect *f, struct err *e)
{
	if (c->call == TRACE_SHMAT) {
		f->mapped = sums_segment_at(p, f->address, c);
		f->unmapped = f->mapped; /* SHM_REMAP */
		f->bytes = sums_bytes_of(f->mapped);
		f->is_size_unknown = !f->bytes;
		return add_segment(p, f->mapped, e);
	}
	if (c->call == TRACE_SHMDT) {
		f->unmapped = sums_take_segment(p, f->address);
		f->bytes = sums_bytes_of(f->unmapped);
		f->is_size_unknown = !f->bytes;
	}
	return 0;
}

int
trace_account_begin(struct trace_program *p, struct err *e)
{
	const struct regions *maps = &p->process.maps;
	struct os_stat stat;
	struct err ignored;

	/* An empty heap has no mapping. */
	if (os_stat(&p->target, &stat, &ignored) == 0)
		p->brk = stat.start_brk.v;
	for (size_t i = 0; i < maps->nr; i++) {
		const struct region *r = &maps->region[i];

		if (region_is_heap(r))
			p->brk = r->end.v;
		if (r->path && strncmp(r->path, "/SYSV", 5) == 0 &&
			add_segment(p, (struct trace_range){ r->start.v, r->end.v }, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- sums ---- */

/* Record that memory of a stack was removed. */
static void
sums_free_piece(const struct ledger_piece *piece, void *arg)
{
	struct trace_program *p = arg;

	p->stacks.v[piece->owner].sums.freed_bytes += piece->end - piece->start;
}

/* Moved memory replaces the memory at its destination. */
static int
sums_apply(struct trace_program *p, const struct trace_effect *f, uint32_t stack)
{
	struct ledger *l = &p->ledger;
	int status = ledger_cut(l, f->unmapped.start, f->unmapped.end, sums_free_piece, p);

	if (sums_bytes_of(f->from)) {
		status |= ledger_cut(l, f->to, f->to + sums_bytes_of(f->from), sums_free_piece, p);
		status |= ledger_move(l, f->from.start, f->from.end, f->to);
	}
	status |= ledger_cut(l, f->mapped.start, f->mapped.end, sums_free_piece, p);
	return stack == TRACE_NO_STACK
		? status
		: status | ledger_add(l, f->mapped.start, f->mapped.end, stack);
}

static void
sums_add_up(struct trace_sums *s, const struct trace_entry *c, const struct trace_effect *f)
{
	if (c->call == TRACE_MADVISE) {
		s->nr_discards++;
		s->discarded_bytes += f->bytes;
	} else if (sums_bytes_of(f->mapped)) {
		s->nr_maps++;
		s->mapped_bytes += sums_bytes_of(f->mapped);
	} else if (sums_bytes_of(f->unmapped)) {
		s->nr_unmaps++;
		s->unmapped_bytes += sums_bytes_of(f->unmapped);
	}
}

int
trace_account_fault(struct trace_program *p, uint64_t address, uint32_t stack, uint32_t weight,
	bool is_major, struct err *e)
{
	struct trace_touch *touch = array_add(&p->touches);
	struct trace_sums *sums = &p->stacks.v[stack].sums;

	if (!touch)
		return sums_no_memory(e);
	*touch = (struct trace_touch){ address, stack, weight };
	*(is_major ? &sums->nr_major : &sums->nr_minor) += weight;
	sums->touched_bytes += weight * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

/*
 * True if the call is too small, for calls whose size is known only when they return: the kernel
 * did not compare it.
 */
static bool
is_too_small(const struct trace_entry *c, const struct trace_effect *f, uint64_t min_bytes)
{
	return f->bytes < min_bytes &&
		(c->call == TRACE_BRK || c->call == TRACE_SHMAT || c->call == TRACE_SHMDT);
}

int
trace_account(struct trace_program *p, const struct trace_entry *entry, uint64_t result,
	uint32_t stack, uint64_t min_bytes, struct trace_effect *ret, struct err *e)
{
	const bool failed = trace_error(entry->call, result) != 0;

	*ret = trace_effect_of(entry, result, p->brk, (uint64_t)sysconf(_SC_PAGESIZE));
	if (entry->call == TRACE_BRK)
		p->brk = result;
	if (!failed && sums_attach(p, entry, ret, e) < 0)
		return -1;
	if (is_too_small(entry, ret, min_bytes))
		stack = TRACE_NO_STACK;
	if (sums_apply(p, ret, stack) < 0)
		return sums_no_memory(e);
	if (stack != TRACE_NO_STACK && failed)
		p->stacks.v[stack].sums.nr_failed++;
	else if (stack != TRACE_NO_STACK)
		sums_add_up(&p->stacks.v[stack].sums, entry, ret);
	return 0;
}
