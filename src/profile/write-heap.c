#include <config.h>

#include "profile/write-heap.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/profile-priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * Estimates are written unscaled, as "@ heapprofile", which no reader scales.  Below the header and
 * below the mappings are memdiag's own lines:
 *
 *	# memdiag heap 1
 *	# values inuse_objects/count inuse_space/bytes ...	all types, in the order of "#+"
 *	# period BYTES						mean distance of samples
 *	# pid PID; # time NANOSECONDS; # comment TEXT
 *	# thread TID NAME					the first is number 1
 *	  3: 300 [ 5: 500] @ 0x4011d0 0x401200			a stack, for all readers
 *	#+ THREAD BYTES VALUE...				of that stack: thread and size, or 0
 *	# build-id START ID					of the mapping at START
 *	# name ADDRESS LINE<tab>FILE<tab>FUNCTION		inside out
 *	# end							the file is whole
 *
 * Names are escaped as text_escape() does.
 */

/* bufio.Scanner of go refuses lines of 64 KiB. */
#define MAX_LINE_BYTES 60000
#define MAX_DEPTH 3000

struct heap_writer {
	const struct profile *p;
	FILE *f;
	int type[4];	/* of the columns: counts and bytes in use, allocated; -1 if missing */
	size_t *first;	/* first sample of each stack, in order, and one more */
	size_t *order;	/* samples by stack */
	size_t nr_deep; /* stacks that were cut */
};

static void
write_heap_writer_release(struct heap_writer *w)
{
	free(w->first);
	free(w->order);
}
#define auto_writer __attribute__((cleanup(write_heap_writer_release)))

static void
write_heap_put_escaped(FILE *f, const char *s)
{
	char text[MAX_LINE_BYTES / 2];

	fputs(text_escape(s, text, sizeof text), f);
}

/* Frames without an address (of a language without addresses) get a unique, unused one. */
#define NO_ADDRESS (UINT64_C(1) << 48)

/* Return the address that frame I is written with. */
static uint64_t
return_address(const struct profile *p, uint32_t i)
{
	const struct profile_frame *frame = &p->frames.v[i];

	return frame->address ? frame->address + frame->is_exact : NO_ADDRESS + i;
}

/* ---- samples by stack ---- */

static int
sort_samples(struct heap_writer *w, struct err *e)
{
	const struct profile *p = w->p;
	size_t sum = 0;

	w->first = calloc(p->stacks.nr + 2, sizeof *w->first);
	w->order = calloc(p->samples.nr + 1, sizeof *w->order);
	if (!w->first || !w->order)
		return err_set(e, ENOMEM, "cannot write the profile");
	for (size_t i = 0; i < p->samples.nr; i++)
		w->first[p->samples.v[i].stack + 2]++;
	for (size_t i = 0; i < p->stacks.nr + 2; i++) {
		sum += w->first[i];
		w->first[i] = sum;
	}
	for (size_t i = 0; i < p->samples.nr; i++)
		w->order[w->first[p->samples.v[i].stack + 1]++] = i;
	return 0;
}

/* Sum up the four columns of STACK. */
static int
write_heap_sum_up(const struct heap_writer *w, size_t stack, int64_t ret[4], struct err *e)
{
	memset(ret, 0, 4 * sizeof *ret);
	for (size_t k = w->first[stack]; k < w->first[stack + 1]; k++) {
		const int64_t *values = profile_values(w->p, w->order[k]);

		for (size_t i = 0; i < w->p->types.nr; i++)
			if (values[i] < 0)
				return err_set_kind(e, ERR_USAGE, 0,
					"cannot write a difference as a .heap file: it has negative values; "
					"use --format=pprof");
		for (size_t i = 0; i < 4; i++)
			if (w->type[i] >= 0 &&
				__builtin_add_overflow(ret[i], values[w->type[i]], &ret[i]))
				return err_set(e, EOVERFLOW, "cannot add up the profile");
	}
	/* Readers refuse bytes without blocks. */
	for (size_t i = 0; i < 4; i += 2)
		if (!ret[i] && ret[i + 1])
			ret[i] = 1;
	if (w->type[3] < 0)
		memcpy(&ret[2], &ret[0], 2 * sizeof *ret);
	return 0;
}

/* Return whether the four columns contain all of STACK. */
static bool
is_plain(const struct heap_writer *w, size_t stack, const int64_t columns[4])
{
	const struct profile_sample *s;
	const int64_t *values;

	if (w->first[stack + 1] - w->first[stack] != 1)
		return false;
	s = &w->p->samples.v[w->order[w->first[stack]]];
	if (s->thread_1 || s->size_bytes)
		return false;
	values = profile_values(w->p, w->order[w->first[stack]]);
	for (int i = 0; i < (int)w->p->types.nr; i++) {
		size_t k = 0;

		while (k < 4 && w->type[k] != i)
			k++;
		if (k == 4 ? values[i] != 0 : values[i] != columns[k])
			return false;
	}
	return true;
}

static void
write_heap_put_hex(FILE *f, uint64_t n)
{
	char text[19], *at = text + sizeof text;

	do
		*--at = "0123456789abcdef"[n & 15];
	while (n >>= 4);
	*--at = 'x';
	*--at = '0';
	*--at = ' ';
	fwrite(at, 1, (size_t)(text + sizeof text - at), f);
}

static void
put_stack(struct heap_writer *w, size_t stack, const int64_t c[4])
{
	const struct profile_stack *s = &w->p->stacks.v[stack];
	size_t nr = s->nr < MAX_DEPTH ? s->nr : MAX_DEPTH;

	w->nr_deep += s->nr > nr;
	fprintf(w->f, "%6" PRId64 ": %8" PRId64 " [%6" PRId64 ": %8" PRId64 "] @", c[0], c[1], c[2],
		c[3]);
	for (size_t i = 0; i < nr; i++)
		write_heap_put_hex(w->f, return_address(w->p, w->p->stack_frames.v[s->first + i]));
	fputc('\n', w->f);
}

static void
put_details(struct heap_writer *w, size_t stack)
{
	for (size_t k = w->first[stack]; k < w->first[stack + 1]; k++) {
		const struct profile_sample *s = &w->p->samples.v[w->order[k]];

		fprintf(w->f, "#+ %" PRIu32 " %" PRIu64, s->thread_1, s->size_bytes);
		for (size_t i = 0; i < w->p->types.nr; i++)
			fprintf(w->f, " %" PRId64, profile_values(w->p, w->order[k])[i]);
		fputc('\n', w->f);
	}
}

/* ---- before and after the stacks ---- */

static void
write_heap_put_head(struct heap_writer *w, const int64_t c[4])
{
	const struct profile *p = w->p;

	fprintf(w->f,
		"heap profile: %6" PRId64 ": %8" PRId64 " [%6" PRId64 ": %8" PRId64
		"] @ heapprofile\n" HEAP_MARK "\n# values",
		c[0], c[1], c[2], c[3]);
	for (size_t i = 0; i < p->types.nr; i++)
		fprintf(w->f, " %s/%s", p->types.v[i].name, p->types.v[i].unit);
	fputc('\n', w->f);
	if (p->period_bytes)
		fprintf(w->f, "# period %" PRId64 "\n", p->period_bytes);
	if (p->pid)
		fprintf(w->f, "# pid %" PRId64 "\n", p->pid);
	if (p->time_ns)
		fprintf(w->f, "# time %" PRIu64 "\n", p->time_ns);
	for (size_t i = 0; i < p->comments.nr; i++) {
		fputs("# comment ", w->f);
		write_heap_put_escaped(w->f, p->comments.v[i]);
		fputc('\n', w->f);
	}
	for (size_t i = 0; i < p->threads.nr; i++) {
		fprintf(w->f, "# thread %" PRId64 " ", p->threads.v[i].tid);
		write_heap_put_escaped(w->f, p->threads.v[i].name);
		fputc('\n', w->f);
	}
}

static void
write_heap_put_mappings(struct heap_writer *w)
{
	char path[8192];

	fputs("\nMAPPED_LIBRARIES:\n", w->f);
	for (size_t i = 0; i < w->p->mappings.nr; i++) {
		const struct profile_mapping *m = &w->p->mappings.v[i];

		/* Other programs would look names up at wrong places of the file. */
		if (m->offset_kind != PROFILE_OFFSET_IN_FILE)
			continue;
		fprintf(w->f,
			"%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64
			" 00:00 0                 %s\n",
			m->start, m->end, m->offset_bytes,
			text_printable(m->path, path, sizeof path));
	}
	for (size_t i = 0; i < w->p->mappings.nr; i++)
		if (*w->p->mappings.v[i].build_id) {
			fprintf(w->f, "# build-id 0x%" PRIx64 " ", w->p->mappings.v[i].start);
			write_heap_put_escaped(w->f, w->p->mappings.v[i].build_id);
			fputc('\n', w->f);
		}
}

static void
put_names(struct heap_writer *w, bool all)
{
	const struct profile *p = w->p;

	for (uint32_t i = 0; i < p->frames.nr; i++) {
		const struct profile_frame *frame = &p->frames.v[i];

		/* No reader can find the name of a place that is not in a file. */
		if (!all && frame->mapping_1 && frame->address &&
			p->mappings.v[frame->mapping_1 - 1].offset_kind == PROFILE_OFFSET_IN_FILE)
			continue;
		for (size_t k = 0; k < frame->nr_lines; k++) {
			const struct profile_line *l = &p->lines.v[frame->first_line + k];

			fprintf(w->f, "# name 0x%" PRIx64 " %" PRIu32 "\t", return_address(p, i),
				l->line);
			write_heap_put_escaped(w->f, p->functions.v[l->function].file);
			fputc('\t', w->f);
			write_heap_put_escaped(w->f, p->functions.v[l->function].name);
			fputc('\n', w->f);
		}
	}
}

/* ---- the file ---- */

/* Sum up all stacks. */
static int
total_up(const struct heap_writer *w, int64_t ret[4], struct err *e)
{
	int64_t c[4];

	memset(ret, 0, 4 * sizeof *ret);
	for (size_t s = 0; s < w->p->stacks.nr; s++) {
		if (write_heap_sum_up(w, s, c, e) < 0)
			return -1;
		for (size_t i = 0; i < 4; i++)
			if (__builtin_add_overflow(ret[i], c[i], &ret[i]))
				return err_set(e, EOVERFLOW, "cannot add up the profile");
	}
	return 0;
}

/* Check that each type's name can be a word of the file. */
static int
check_types(const struct heap_writer *w, struct err *e)
{
	if (w->type[0] < 0 || w->type[1] < 0)
		return err_set(e, 0,
			"cannot write a .heap file: the profile does not have inuse_objects and inuse_space");
	for (size_t i = 0; i < w->p->types.nr; i++)
		if (strpbrk(w->p->types.v[i].name, " /\t\n\r\\") ||
			strpbrk(w->p->types.v[i].unit, " /\t\n\r\\"))
			return err_set(e, 0,
				"cannot write a .heap file: the name of a type of values has a space or a slash");
	return 0;
}

int
heap_write(const struct profile *p, FILE *f, bool with_names, struct err *e)
{
	auto_writer struct heap_writer w = { .p = p,
		.f = f,
		.type = { profile_find_type(p, "inuse_objects"),
			profile_find_type(p, "inuse_space"), profile_find_type(p, "alloc_objects"),
			profile_find_type(p, "alloc_space") } };
	int64_t c[4];

	if (check_types(&w, e) < 0 || sort_samples(&w, e) < 0 || total_up(&w, c, e) < 0)
		return -1;
	write_heap_put_head(&w, c);
	for (size_t s = 0; s < p->stacks.nr; s++) {
		if (w.first[s] == w.first[s + 1])
			continue;
		if (write_heap_sum_up(&w, s, c, e) < 0)
			return -1;
		put_stack(&w, s, c);
		if (!is_plain(&w, s, c))
			put_details(&w, s);
	}
	write_heap_put_mappings(&w);
	put_names(&w, with_names);
	if (w.nr_deep)
		fprintf(f, "# comment %zu stacks were cut at %d frames\n", w.nr_deep, MAX_DEPTH);
	fputs(HEAP_END "\n", f);
	return 0;
}
