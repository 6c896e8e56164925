#include <config.h>

#include "report/frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "ui/json.h"

/* Return the mapping of FRAME, NULL for anonymous memory without a name. */
static const struct profile_mapping *
frames_mapping_of(const struct profile *p, const struct profile_frame *frame)
{
	return frame->mapping_1 ? &p->mappings.v[frame->mapping_1 - 1] : NULL;
}

static const char *
frames_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void
frames_put(FILE *f, const char *untrusted)
{
	const size_t size = strlen(untrusted) * 4 + 1; /* each byte may become \ooo */
	auto_free char *text = malloc(size);

	fputs(text ? text_printable(untrusted, text, size) : "?", f);
}

static void
frames_put_function(const struct profile *p, const struct profile_line *line, FILE *f)
{
	const struct profile_function *function = &p->functions.v[line->function];

	frames_put(f, function->name);
	if (!*function->file)
		return;
	fputs(" at ", f);
	frames_put(f, frames_base_name(function->file));
	if (line->line)
		fprintf(f, ":%" PRIu32, line->line);
}

/* Print the place of FRAME, which has no name. */
static void
put_place(const struct profile *p, const struct profile_frame *frame, FILE *f)
{
	const struct profile_mapping *m = frames_mapping_of(p, frame);

	if (!m) {
		fputs("? (memory without a file)", f);
		return;
	}
	fputs("? (", f);
	frames_put(f, frames_base_name(m->path));
	fprintf(f, "+0x%" PRIx64 ")", profile_frame_pc(frame) - m->start + m->offset_bytes);
}

/* A profile and the marks of its frames. */
struct frames {
	const struct profile *p;
	const struct stacks_marks *marks;
};

/* Return the number of equal frames from AT, before END: a function that calls itself. */
static size_t
count_same(const struct frames *s, size_t at, size_t end)
{
	const uint32_t *frame = s->p->stack_frames.v;
	size_t nr = 1;

	while (at + nr < end && frame[at + nr] == frame[at] &&
		s->marks->v[at + nr] == s->marks->v[at])
		nr++;
	return nr;
}

/*
 * Print frame NR of a stack.  Inlined functions come first, then the function that contains them.
 */
static void
frames_put_frame(const struct frames *s, size_t at, size_t nr, size_t nr_same, FILE *f)
{
	const struct profile *p = s->p;
	const struct profile_frame *frame = &p->frames.v[p->stack_frames.v[at]];
	const struct profile_mapping *m = frames_mapping_of(p, frame);

	fprintf(f, "  #%-3zu 0x%016" PRIx64 " ", nr, frame->address);
	if (!frame->nr_lines)
		put_place(p, frame, f);
	for (uint32_t i = 0; i < frame->nr_lines; i++) {
		if (i)
			fprintf(f, " [inlined]\n%*s", 26, "");
		frames_put_function(p, &p->lines.v[frame->first_line + i], f);
	}
	if (frame->nr_lines && m) {
		fputs(" in ", f);
		frames_put(f, frames_base_name(m->path));
	}
	if (s->marks->v[at] & STACKS_SIGNAL)
		fputs(" [signal handler called]", f);
	if (s->marks->v[at] & STACKS_BY_FRAME_POINTER)
		fputs(" [by frame pointer]", f);
	if (nr_same > 1)
		fprintf(f, " [%zu times, to #%zu]", nr_same, nr + nr_same - 1);
	fputc('\n', f);
}

void
frames_print(const struct profile *p, uint32_t stack, const struct stacks_marks *marks,
	enum stacks_end end, FILE *f)
{
	static const char *const words[] = { [STACKS_COMPLETE] = "",
		[STACKS_CUT] = "(there are more frames)\n",
		[STACKS_BROKEN] = "(the caller is unknown)\n",
		[STACKS_MISSING] = "(the stack could not be read)\n" };
	const struct frames frames = { p, marks };
	const struct profile_stack *s = &p->stacks.v[stack];

	for (size_t i = 0, nr_same; i < s->nr; i += nr_same) {
		nr_same = count_same(&frames, s->first + i, s->first + s->nr);
		frames_put_frame(&frames, s->first + i, i, nr_same, f);
	}
	if (end != STACKS_COMPLETE)
		fprintf(f, "  %s", words[end]);
}

void
frames_print_top(const struct profile *p, uint32_t stack, const struct stacks_marks *marks,
	size_t most, FILE *f)
{
	const struct frames frames = { p, marks };
	const struct profile_stack *s = &p->stacks.v[stack];
	size_t at = 0;

	for (size_t nr_same; at < s->nr && most; at += nr_same, most--) {
		nr_same = count_same(&frames, s->first + at, s->first + s->nr);
		frames_put_frame(&frames, s->first + at, at, nr_same, f);
	}
	if (at < s->nr)
		fprintf(f, "  (%zu more frames)\n", s->nr - at);
}

/* ---- one line ---- */

/* Write "worker <- start_thread <- clone3". */
static int
frames_write_line(const struct profile *p, const struct profile_stack *s, uint32_t first, FILE *f)
{
	const uint32_t *number = &p->stack_frames.v[s->first];

	for (uint32_t i = first < s->nr ? first : 0; i < s->nr; i++) {
		const struct profile_frame *frame = &p->frames.v[number[i]];

		for (uint32_t k = 0; k < frame->nr_lines; k++) {
			const struct profile_line *line = &p->lines.v[frame->first_line + k];

			fputs(k ? " <- " : "", f);
			frames_put(f, p->functions.v[line->function].name);
		}
		if (!frame->nr_lines)
			put_place(p, frame, f);
		if (i + 1 < s->nr)
			fputs(" <- ", f);
	}
	return fclose(f);
}

/* Print LINE; if it exceeds NR_COLUMNS characters, "..." replaces its end. */
static void
put_cut(FILE *f, const char *line, int nr_columns)
{
	const char *at = line, *cut = line;
	int nr = 0;

	for (; *at; at++) {
		if ((*at & 0xc0) == 0x80) /* not the first byte of a character */
			continue;
		if (nr++ == nr_columns - 3)
			cut = at;
	}
	if (nr_columns <= 3 || nr <= nr_columns)
		fputs(line, f);
	else
		fprintf(f, "%.*s...", (int)(cut - line), line);
}

void
frames_print_line(const struct profile *p, uint32_t stack, uint32_t first, int nr_columns, FILE *f)
{
	auto_free char *line = NULL;
	size_t size = 0;
	FILE *text = open_memstream(&line, &size);

	if (!text || frames_write_line(p, &p->stacks.v[stack], first, text) != 0)
		return;
	put_cut(f, line, nr_columns);
}

/* ---- JSON ---- */

static json_t *
functions_json(const struct profile *p, const struct profile_frame *frame)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < frame->nr_lines; i++) {
		const struct profile_line *line = &p->lines.v[frame->first_line + i];
		const struct profile_function *function = &p->functions.v[line->function];

		json_array_append_new(list,
			json_pack("{s:o, s:o, s:o}", "name", ui_json_string(function->name), "file",
				*function->file ? ui_json_string(function->file) : json_null(),
				"line", line->line ? json_integer(line->line) : json_null()));
	}
	return list;
}

static json_t *
frames_frame_json(const struct frames *s, size_t at)
{
	const struct profile *p = s->p;
	const struct profile_frame *frame = &p->frames.v[p->stack_frames.v[at]];
	const struct profile_mapping *m = frames_mapping_of(p, frame);
	const uint64_t pc = profile_frame_pc(frame);

	return json_pack("{s:o, s:o, s:o, s:b, s:b, s:o}", "address",
		ui_json_address((raddr){ frame->address }), "object",
		m ? ui_json_string(m->path) : json_null(), "offset",
		m ? ui_json_address((raddr){ pc - m->start + m->offset_bytes }) : json_null(),
		"by_frame_pointer", s->marks->v[at] & STACKS_BY_FRAME_POINTER, "is_signal",
		s->marks->v[at] & STACKS_SIGNAL, "functions", functions_json(p, frame));
}

json_t *
frames_json(const struct profile *p, uint32_t stack, const struct stacks_marks *marks)
{
	const struct frames frames = { p, marks };
	const struct profile_stack *s = &p->stacks.v[stack];
	json_t *list = json_array();

	for (uint32_t i = 0; i < s->nr; i++)
		json_array_append_new(list, frames_frame_json(&frames, s->first + i));
	return list;
}

/* Return "libm.so.6+0x1234", or "?" for anonymous memory. */
static json_t *
place_json(const struct profile *p, const struct profile_frame *frame)
{
	const struct profile_mapping *m = frames_mapping_of(p, frame);
	auto_free char *text = NULL;

	if (!m ||
		asprintf(&text, "%s+0x%" PRIx64, frames_base_name(m->path),
			profile_frame_pc(frame) - m->start + m->offset_bytes) < 0)
		return json_string("?");
	return ui_json_string(text);
}

json_t *
frames_names_json(const struct profile *p, uint32_t stack)
{
	const struct profile_stack *s = &p->stacks.v[stack];
	json_t *list = json_array();

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct profile_frame *frame = &p->frames.v[p->stack_frames.v[s->first + i]];

		for (uint32_t k = 0; k < frame->nr_lines; k++)
			json_array_append_new(list,
				ui_json_string(
					p->functions.v[p->lines.v[frame->first_line + k].function]
						.name));
		if (!frame->nr_lines)
			json_array_append_new(list, place_json(p, frame));
	}
	return list;
}
