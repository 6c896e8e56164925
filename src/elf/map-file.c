#include <config.h>

#include "elf/map-file.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A path of PATH_MAX bytes, each of them a newline, takes 16 KiB. */
#define LINE_BYTES 65536
/* A process has 65,530 by default (vm.max_map_count). */
#define MAX_MAPPINGS (1U << 24)
#define PAGE_BYTES UINT64_C(4096)

struct map_reader {
	struct map_file *f;
	struct err *e;
	struct {
		struct region *v;
		size_t nr, room;
	} region;
	struct smaps_entry entry; /* for the last region */
	size_t line;		  /* the line being read, from 1 */
	size_t mapping_line;	  /* the line of the last region */
	size_t other_line;	  /* the first line after the mappings that belongs to no mapping */
	bool is_binary;		  /* a line is not text */
};

static int __attribute__((format(printf, 3, 4)))
refuse_at(const struct map_reader *r, size_t line, const char *fmt, ...)
{
	char why[256];
	__builtin_va_list ap;

	__builtin_va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	__builtin_va_end(ap);
	return err_set(r->e, 0, "cannot read %s, line %zu: %s", r->f->name, line, why);
}
#define refuse_line(r, ...) refuse_at((r), (r)->line, __VA_ARGS__)
#define refuse_mapping(r, ...) refuse_at((r), (r)->mapping_line, __VA_ARGS__)

/* ---- the numbers of one mapping ---- */

static const char *
first_field(unsigned int fields)
{
	for (unsigned int i = 0; i < NR_SMAPS_FIELDS; i++)
		if (fields & SMAPS_BIT(i))
			return smaps_field_names[i];
	return "";
}

/*
 * Check the values of ENTRY against its size.  Swap is not bounded: for shared memory it includes
 * what other processes have in the file.
 */
static int
check_sizes(const struct map_reader *r, const struct smaps_entry *entry)
{
	const uint64_t size = entry->end.v - entry->start.v;
	const struct {
		enum smaps_field field;
		uint64_t bytes;
	} part[] = {
		{ SMAPS_RSS, entry->rss_bytes },
		{ SMAPS_PSS, entry->pss_bytes },
		{ SMAPS_PRIVATE_DIRTY, entry->private_bytes },
		{ SMAPS_SHARED_DIRTY, entry->dirty_bytes },
		{ SMAPS_LOCKED, entry->locked_bytes },
		{ SMAPS_ANONYMOUS, entry->anonymous_bytes },
		{ SMAPS_ANON_HUGE, entry->anon_huge_bytes },
		{ SMAPS_PRIVATE_HUGETLB, entry->hugetlb_bytes },
	};

	if (entry->fields & SMAPS_BIT(SMAPS_SIZE) && entry->size_bytes != size)
		return refuse_mapping(
			r, "the mapping has %" PRIu64 " kB, and its Size is another", size / 1024);
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if (part[i].bytes > size)
			return refuse_mapping(r, "%s is more than the mapping has",
				smaps_field_names[part[i].field]);
	return 0;
}

/* Finish the last region.  All mappings have the same fields as the first. */
static int
end_mapping(struct map_reader *r, bool is_last)
{
	struct map_file *f = r->f;
	unsigned int missing, surplus;
	struct smaps_entry *entry;

	if (!r->region.nr)
		return 0;
	if (r->region.nr == 1)
		f->fields = r->entry.fields;
	missing = f->fields & ~r->entry.fields;
	surplus = r->entry.fields & ~f->fields;
	if (missing && is_last && r->region.nr > 1) {
		f->cut_line = r->mapping_line;
		r->region.nr--;
		return 0;
	}
	if (missing)
		return refuse_mapping(
			r, "the mapping has no %s, and others have", first_field(missing));
	if (surplus)
		return refuse_mapping(
			r, "the mapping has %s, and others do not", first_field(surplus));
	if (!f->fields)
		return 0;
	if (!(f->fields & SMAPS_BIT(SMAPS_RSS)))
		return refuse_mapping(r, "the mapping has no Rss");
	entry = array_add(&f->entry);
	if (!entry)
		return err_set(r->e, ENOMEM, "cannot keep the mappings of %s", f->name);
	*entry = r->entry;
	return check_sizes(r, entry);
}

/* ---- lines ---- */

static bool
is_prot(const char *prot)
{
	return (prot[0] == 'r' || prot[0] == '-') && (prot[1] == 'w' || prot[1] == '-') &&
		(prot[2] == 'x' || prot[2] == '-') && (prot[3] == 'p' || prot[3] == 's');
}

/*
 * Check that NEW comes after all others; else the file has been changed or contains two processes.
 */
static int
map_file_check_order(const struct map_reader *r, const struct region *new)
{
	const struct region *last = r->region.nr ? &r->region.v[r->region.nr - 1] : NULL;

	if (!last || new->start.v >= last->end.v)
		return 0;
	if (new->start.v >= last->start.v)
		return refuse_line(r,
			"the mapping overlaps that of line %zu: the process changed while it was saved; "
			"save it again",
			r->mapping_line);
	return refuse_line(r,
		"its address is below that of line %zu: two processes, which belong in a file each, or lines in another order",
		r->mapping_line);
}

static int
map_file_take_mapping(struct map_reader *r, const struct region *new)
{
	struct region *added;

	if (r->other_line)
		return refuse_line(r,
			"a mapping after line %zu, which is not part of the same process: two processes, which belong in separate files, or missing lines",
			r->other_line);
	if (new->path && strcmp(new->path, "[rollup]") == 0)
		return refuse_line(
			r, "this is of smaps_rollup, which has sums only: save /proc/PID/smaps");
	if (new->start.v % PAGE_BYTES || new->end.v % PAGE_BYTES || !is_prot(new->prot))
		return refuse_line(r, "this is not what Linux writes for a mapping");
	if (end_mapping(r, false) < 0 || map_file_check_order(r, new) < 0)
		return -1;
	if (r->region.nr >= MAX_MAPPINGS)
		return refuse_line(r, "more than %u mappings", MAX_MAPPINGS);
	added = array_add(&r->region);
	if (!added)
		return err_set(r->e, ENOMEM, "cannot keep the mappings of %s", r->f->name);
	*added = *new;
	r->entry = (struct smaps_entry){ .start = new->start, .end = new->end };
	r->mapping_line = r->line;
	return 0;
}

/* Return whether a word of LINE is the protection of a mapping. */
static bool
has_prot(const char *line)
{
	for (; *line; line += strcspn(line, " ")) {
		line += strspn(line, " ");
		if (strcspn(line, " ") == 4 && is_prot(line))
			return true;
	}
	return false;
}

/*
 * Return whether LINE begins like a mapping's line, but is damaged or cut off.  Before the mappings
 * lines of a log may begin with a date or a UUID.
 */
static bool
is_damaged_mapping(const struct map_reader *r, const char *line)
{
	const size_t digits = strspn(line, "0123456789abcdef");

	if (digits >= 8 && line[digits] == '-')
		return r->region.nr || has_prot(line);
	return digits && !line[digits] && r->region.nr;
}

/* Handle a line between two mappings, or before or after all of them. */
static int
take_other(struct map_reader *r, const char *line)
{
	struct smaps_entry none = { 0 };
	const bool is_within = r->region.nr && !r->other_line;
	enum smaps_line kind;

	if (!*line)
		return 0;
	if (is_damaged_mapping(r, line))
		return refuse_line(r, "the line of the mapping is damaged, or is cut off");
	kind = smaps_take_line(is_within ? &r->entry : &none, line);
	if (!is_within)
		return none.fields != SMAPS_BIT(SMAPS_RSS)
			? 0
			: refuse_line(r,
				  "Rss of no mapping: the line of the mapping is missing or damaged");
	if (kind == SMAPS_BAD)
		return refuse_line(r, "'%.*s' has no number of kB, or is there a second time",
			(int)strcspn(line, ":"), line);
	if (kind == SMAPS_OTHER)
		r->other_line = r->line;
	return 0;
}

static int
take_file_line(struct map_reader *r, char *line, size_t len)
{
	struct region new;

	r->is_binary = memchr(line, '\0', len) || len > LINE_BYTES;
	if (memchr(line, '\0', len))
		return refuse_line(r, "it contains a NUL byte, so it is not text");
	if (len > LINE_BYTES)
		return refuse_line(r, "the line is longer than %d bytes", LINE_BYTES);
	while (len && line[len - 1] == '\r')
		line[--len] = '\0';
	line += strspn(line, " \t");
	return region_parse(&new, line) ? map_file_take_mapping(r, &new) : take_other(r, line);
}

static int
take_file_lines(struct map_reader *r, char *text, size_t len)
{
	char *end = text + len, *newline;

	for (char *line = text; line < end; line = newline + 1) {
		newline = memchr(line, '\n', (size_t)(end - line));
		if (!newline)
			newline = end;
		*newline = '\0';
		r->line++;
		if (take_file_line(r, line, (size_t)(newline - line)) < 0)
			return -1;
	}
	if (!r->region.nr)
		return err_set_kind(r->e, ERR_UNSUPPORTED, 0,
			"cannot read %s: it has no line of /proc/PID/maps or smaps", r->f->name);
	return end_mapping(r, true);
}

int
map_file_parse(struct map_file *f, const char *name, char *text, size_t len, struct err *e)
{
	struct map_reader r = { .f = f, .e = e };
	int failed;

	*f = (struct map_file){ .name = name };
	failed = take_file_lines(&r, text, len);
	f->maps.region = r.region.v;
	f->maps.nr = r.region.nr;
	if (failed && r.is_binary && !r.region.nr)
		e->kind = ERR_UNSUPPORTED;
	if (failed)
		map_file_release(f);
	return failed;
}

void
map_file_release(struct map_file *f)
{
	regions_release(&f->maps);
	free(f->entry.v);
	*f = (struct map_file){ 0 };
}
