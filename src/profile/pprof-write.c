#include <config.h>

#include "profile/pprof-write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "profile/allocators.h"
#include "profile/gzip.h"
#include "profile/hash.h"
#include "profile/symbols.h"
#include "profile/pprof.pb-c.h"

#define CHUNK_BYTES 65536
/* Each sample has at most two labels for its thread and one for its size. */
#define MAX_LABELS 3

/*
 * Consecutive messages are merged into one (a property of protocol buffers), so each sample,
 * location and string is written as a Profile that has nothing else, and nothing is kept in memory.
 */
struct pprof_writer {
	const struct profile *p;
	FILE *f;
	z_stream z;
	bool has_z;
	struct {
		uint8_t *v;
		size_t nr, room;
	} packed; /* room for a message */
	struct {
		uint64_t *v;
		size_t nr, room;
	} ids; /* room for the locations of a stack */
	struct {
		const char **v; /* by number; the first is "" */
		size_t nr, room;
	} strings;
	struct hash by_string;
	uint64_t *mapping_id; /* of each mapping: the program's is 1 */
	uint8_t *mapping_has; /* HAS_ of each mapping */
};

/* Bits of mapping_has: a mapping has frames; some of them lack a function, a file or a line. */
enum { HAS_FRAMES = 1, LACKS_FUNCTIONS = 2, LACKS_FILES = 4, LACKS_LINES = 8 };

static void
pprof_write_writer_release(struct pprof_writer *w)
{
	if (w->has_z)
		deflateEnd(&w->z);
	free(w->packed.v);
	free(w->ids.v);
	free(w->strings.v);
	hash_release(&w->by_string);
	free(w->mapping_id);
	free(w->mapping_has);
}
#define auto_writer __attribute__((cleanup(pprof_write_writer_release)))

static int
pprof_write_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot write the profile");
}

/* ---- bytes ---- */

/* Compress the data at z.next_in, and write it. */
static int
put_bytes(struct pprof_writer *w, int flush, struct err *e)
{
	uint8_t out[CHUNK_BYTES];
	int r;

	do {
		w->z.next_out = out;
		w->z.avail_out = sizeof out;
		r = deflate(&w->z, flush);
		if (r == Z_STREAM_ERROR)
			return err_set(e, 0, "cannot compress the profile");
		fwrite(out, 1, sizeof out - w->z.avail_out, w->f);
	} while (!w->z.avail_out);
	return 0;
}

static int
pprof_write_put(struct pprof_writer *w, const Pprof__Profile *m, struct err *e)
{
	size_t size = pprof__profile__get_packed_size(m);

	if (size > UINT32_MAX / 2)
		return err_set(e, EFBIG, "cannot write the profile");
	if (size > w->packed.room && array_reserve(&w->packed, 2 * size) < 0)
		return pprof_write_no_memory(e);
	w->z.next_in = w->packed.v;
	w->z.avail_in = (uInt)pprof__profile__pack(m, w->packed.v);
	return put_bytes(w, Z_NO_FLUSH, e);
}

/* Return the number of the string S, which must stay; -1 if memory runs out. */
static int64_t
pprof_write_number_of(struct pprof_writer *w, const char *s)
{
	uint32_t hash = hash_bytes(s, strlen(s));
	const struct hash_slot *slot;
	const char **string;

	for (size_t at = hash; (slot = hash_next(&w->by_string, hash, &at));)
		if (strcmp(w->strings.v[slot->number_1 - 1], s) == 0)
			return slot->number_1 - 1;
	string = array_add(&w->strings);
	if (!string || hash_add(&w->by_string, hash, w->strings.nr - 1) < 0)
		return -1;
	*string = s;
	return (int64_t)w->strings.nr - 1;
}

/* ---- messages ---- */

static int
put_types(struct pprof_writer *w, struct err *e)
{
	const struct profile *p = w->p;
	Pprof__ValueType type = PPROF__VALUE_TYPE__INIT, *types[1] = { &type };
	Pprof__Profile m = PPROF__PROFILE__INIT;

	m.n_sample_type = 1;
	m.sample_type = types;
	for (size_t i = 0; i < p->types.nr; i++) {
		type.type = pprof_write_number_of(w, p->types.v[i].name);
		type.unit = pprof_write_number_of(w, p->types.v[i].unit);
		if (type.type < 0 || type.unit < 0)
			return pprof_write_no_memory(e);
		if (pprof_write_put(w, &m, e) < 0)
			return -1;
	}
	return 0;
}

static void
set_label(Pprof__Label *label, int64_t key, int64_t str, int64_t num, int64_t unit)
{
	*label = (Pprof__Label)PPROF__LABEL__INIT;
	label->key = key;
	label->str = str;
	label->num = num;
	label->num_unit = unit;
}

/* Make the labels of S at LABELS; return their number. */
static size_t
make_labels(struct pprof_writer *w, const struct profile_sample *s, Pprof__Label *labels)
{
	const struct profile_thread *t = s->thread_1 ? &w->p->threads.v[s->thread_1 - 1] : NULL;
	size_t nr = 0;

	if (s->size_bytes)
		set_label(&labels[nr++], pprof_write_number_of(w, "bytes"), 0,
			(int64_t)s->size_bytes, pprof_write_number_of(w, "bytes"));
	if (t && *t->name)
		set_label(&labels[nr++], pprof_write_number_of(w, "thread"),
			pprof_write_number_of(w, t->name), 0, 0);
	if (t && t->tid)
		set_label(&labels[nr++], pprof_write_number_of(w, "tid"), 0, t->tid, 0);
	return nr;
}

static int
put_sample(struct pprof_writer *w, size_t i, struct err *e)
{
	const struct profile_sample *s = &w->p->samples.v[i];
	const struct profile_stack *stack = &w->p->stacks.v[s->stack];
	Pprof__Label labels[MAX_LABELS],
		*label[MAX_LABELS] = { &labels[0], &labels[1], &labels[2] };
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples[1] = { &sample };
	Pprof__Profile m = PPROF__PROFILE__INIT;

	if (stack->nr > w->ids.room && array_reserve(&w->ids, 2 * (size_t)stack->nr) < 0)
		return pprof_write_no_memory(e);
	for (size_t k = 0; k < stack->nr; k++)
		w->ids.v[k] = w->p->stack_frames.v[stack->first + k] + UINT64_C(1);
	sample.n_location_id = stack->nr;
	sample.location_id = w->ids.v;
	sample.n_value = w->p->types.nr;
	sample.value = (int64_t *)(uintptr_t)profile_values(w->p, i);
	sample.n_label = make_labels(w, s, labels);
	sample.label = label;
	m.n_sample = 1;
	m.sample = samples;
	return pprof_write_put(w, &m, e);
}

/* Number the mappings.  The program is the first, which pprof takes for the main binary. */
static int
number_mappings(struct pprof_writer *w, struct err *e)
{
	const struct profile *p = w->p;
	int program = symbols_main_mapping(p);
	uint64_t id = program < 0 ? 1 : 2;

	w->mapping_id = calloc(p->mappings.nr + 1, sizeof *w->mapping_id);
	w->mapping_has = calloc(p->mappings.nr + 1, sizeof *w->mapping_has);
	if (!w->mapping_id || !w->mapping_has)
		return pprof_write_no_memory(e);
	for (size_t i = 0; i < p->mappings.nr; i++)
		w->mapping_id[i] = (int)i == program ? 1 : id++;
	for (size_t i = 0; i < p->frames.nr; i++) {
		const struct profile_frame *f = &p->frames.v[i];
		uint8_t has = HAS_FRAMES | (f->nr_lines ? 0 : LACKS_FUNCTIONS);

		for (size_t k = 0; k < f->nr_lines; k++) {
			const struct profile_line *l = &p->lines.v[f->first_line + k];

			has |= *p->functions.v[l->function].file ? 0 : LACKS_FILES;
			has |= l->line ? 0 : LACKS_LINES;
		}
		if (f->mapping_1)
			w->mapping_has[f->mapping_1 - 1] |= has;
	}
	return 0;
}

static int
pprof_write_put_mapping(struct pprof_writer *w, size_t i, struct err *e)
{
	const struct profile_mapping *from = &w->p->mappings.v[i];
	uint8_t has = w->mapping_has[i];
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *mappings[1] = { &mapping };
	Pprof__Profile m = PPROF__PROFILE__INIT;

	mapping.id = w->mapping_id[i];
	mapping.memory_start = from->start;
	mapping.memory_limit = from->end;
	mapping.file_offset = from->offset_bytes;
	mapping.filename = pprof_write_number_of(w, from->path);
	mapping.build_id = pprof_write_number_of(w, from->build_id);
	/* If one of these is set, pprof looks up no names itself. */
	mapping.has_functions = has && !(has & LACKS_FUNCTIONS);
	mapping.has_filenames = mapping.has_functions && !(has & LACKS_FILES);
	mapping.has_line_numbers = mapping.has_functions && !(has & LACKS_LINES);
	mapping.has_inline_frames = mapping.has_line_numbers;
	m.n_mapping = 1;
	m.mapping = mappings;
	return mapping.filename < 0 || mapping.build_id < 0 ? pprof_write_no_memory(e)
							    : pprof_write_put(w, &m, e);
}

static int
pprof_write_put_mappings(struct pprof_writer *w, struct err *e)
{
	int program = symbols_main_mapping(w->p);

	if (program >= 0 && pprof_write_put_mapping(w, (size_t)program, e) < 0)
		return -1;
	for (size_t i = 0; i < w->p->mappings.nr; i++)
		if ((int)i != program && pprof_write_put_mapping(w, i, e) < 0)
			return -1;
	return 0;
}

static int
put_location(struct pprof_writer *w, size_t i, struct err *e)
{
	const struct profile_frame *frame = &w->p->frames.v[i];
	auto_free Pprof__Line *lines = calloc(frame->nr_lines + 1u, sizeof *lines);
	auto_free Pprof__Line **line = calloc(frame->nr_lines + 1u, sizeof(Pprof__Line *));
	Pprof__Location location = PPROF__LOCATION__INIT, *locations[1] = { &location };
	Pprof__Profile m = PPROF__PROFILE__INIT;

	if (!lines || !line)
		return pprof_write_no_memory(e);
	location.id = i + 1;
	location.address = profile_frame_pc(frame);
	location.mapping_id = frame->mapping_1 ? w->mapping_id[frame->mapping_1 - 1] : 0;
	for (size_t k = 0; k < frame->nr_lines; k++) {
		lines[k] = (Pprof__Line)PPROF__LINE__INIT;
		lines[k].function_id = w->p->lines.v[frame->first_line + k].function + UINT64_C(1);
		lines[k].line = w->p->lines.v[frame->first_line + k].line;
		line[k] = &lines[k];
	}
	location.n_line = frame->nr_lines;
	location.line = line;
	m.n_location = 1;
	m.location = locations;
	return pprof_write_put(w, &m, e);
}

static int
pprof_write_put_function(struct pprof_writer *w, size_t i, struct err *e)
{
	const struct profile_function *from = &w->p->functions.v[i];
	Pprof__Function function = PPROF__FUNCTION__INIT, *functions[1] = { &function };
	Pprof__Profile m = PPROF__PROFILE__INIT;

	function.id = i + 1;
	function.name = pprof_write_number_of(w, from->name);
	function.system_name = function.name;
	function.filename = pprof_write_number_of(w, from->file);
	m.n_function = 1;
	m.function = functions;
	return function.name < 0 || function.filename < 0 ? pprof_write_no_memory(e)
							  : pprof_write_put(w, &m, e);
}

static int
pprof_write_put_comment(struct pprof_writer *w, const char *text, struct err *e)
{
	int64_t comment = pprof_write_number_of(w, text);
	Pprof__Profile m = PPROF__PROFILE__INIT;

	m.n_comment = 1;
	m.comment = &comment;
	return comment < 0 ? pprof_write_no_memory(e) : pprof_write_put(w, &m, e);
}

/* Write the members that occur once in a profile. */
static int
pprof_write_put_rest(struct pprof_writer *w, struct err *e)
{
	Pprof__ValueType period = PPROF__VALUE_TYPE__INIT;
	Pprof__Profile m = PPROF__PROFILE__INIT;

	period.type = pprof_write_number_of(w, "space");
	period.unit = pprof_write_number_of(w, "bytes");
	m.drop_frames = pprof_write_number_of(w, allocators_regex());
	m.time_nanos = (int64_t)w->p->time_ns;
	m.default_sample_type = pprof_write_number_of(w, w->p->types.v[w->p->default_type].name);
	if (w->p->period_bytes) {
		m.period_type = &period;
		m.period = w->p->period_bytes;
	}
	return pprof_write_put(w, &m, e);
}

/* Write S as UTF-8, as protocol buffers require, whatever bytes the name has. */
static int
pprof_write_put_string(struct pprof_writer *w, const char *s, struct err *e)
{
	size_t size = strlen(s) * 4 + 2;
	auto_free char *text = malloc(size);
	Pprof__Profile m = PPROF__PROFILE__INIT;

	if (!text)
		return pprof_write_no_memory(e);
	text_printable(s, text, size);
	m.n_string_table = 1;
	m.string_table = &text;
	return pprof_write_put(w, &m, e);
}

int
pprof_write(const struct profile *p, FILE *f, struct err *e)
{
	auto_writer struct pprof_writer w = { .p = p, .f = f };

	w.has_z = gzip_begin(&w.z);
	if (!w.has_z)
		return pprof_write_no_memory(e);
	if (pprof_write_number_of(&w, "") < 0)
		return pprof_write_no_memory(e);
	if (number_mappings(&w, e) < 0 || put_types(&w, e) < 0)
		return -1;
	for (size_t i = 0; i < p->samples.nr; i++)
		if (put_sample(&w, i, e) < 0)
			return -1;
	if (pprof_write_put_mappings(&w, e) < 0)
		return -1;
	for (size_t i = 0; i < p->frames.nr; i++)
		if (put_location(&w, i, e) < 0)
			return -1;
	for (size_t i = 0; i < p->functions.nr; i++)
		if (pprof_write_put_function(&w, i, e) < 0)
			return -1;
	for (size_t i = 0; i < p->comments.nr; i++)
		if (pprof_write_put_comment(&w, p->comments.v[i], e) < 0)
			return -1;
	if (pprof_write_put_rest(&w, e) < 0)
		return -1;
	for (size_t i = 0; i < w.strings.nr; i++)
		if (pprof_write_put_string(&w, w.strings.v[i], e) < 0)
			return -1;
	w.z.avail_in = 0;
	return put_bytes(&w, Z_FINISH, e);
}
