#include <config.h>

#include "view/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "view/parts.h"

/* The index behind the last thread that has the same stack as thread FIRST. */
static size_t
end_of_group(const struct stacks *s, size_t first)
{
	size_t end = first + 1;

	while (end < s->threads.nr && s->threads.v[end].stack == s->threads.v[first].stack)
		end++;
	return end;
}

static size_t
count_groups(const struct stacks *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->threads.nr; i = end_of_group(s, i))
		nr++;
	return nr;
}

/* The mapping that FRAME is in, NULL for memory without a file and without a name. */
static const struct profile_mapping *
mapping_of(const struct profile *p, const struct profile_frame *frame)
{
	return frame->mapping_1 ? &p->mappings.v[frame->mapping_1 - 1] : NULL;
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* ---- text ---- */

static void
put(FILE *f, const char *untrusted)
{
	const size_t size = strlen(untrusted) * 4 + 1; /* each byte may become \ooo */
	auto_free char *text = malloc(size);

	fputs(text ? text_printable(untrusted, text, size) : "?", f);
}

/* "12 threads: 4711 worker, 4712 worker ..." */
static int
put_threads(const struct stacks *s, size_t first, size_t end, struct ui_output *out, struct err *e)
{
	char name[64], *words = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&words, &size);

	if (!f)
		return err_set(e, ENOMEM, "cannot print threads");
	fprintf(f, end - first == 1 ? "%zu thread: " : "%zu threads: ", end - first);
	for (size_t i = first; i < end; i++) {
		const struct stacks_thread *th = &s->threads.v[i];
		const char *raw = s->p->threads.v[th->thread_1 - 1].name;

		fprintf(f, "%s%d %s", i > first ? ", " : "", (int)th->tid,
			text_escape(raw, name, sizeof name));
	}
	if (fclose(f) == 0)
		ui_wrap(out, 0, words);
	free(words);
	return 0;
}

static void
put_function(const struct profile *p, const struct profile_line *line, FILE *f)
{
	const struct profile_function *function = &p->functions.v[line->function];

	put(f, function->name);
	if (!*function->file)
		return;
	fputs(" at ", f);
	put(f, base_name(function->file));
	if (line->line)
		fprintf(f, ":%" PRIu32, line->line);
}

/* Where FRAME is that has no name. */
static void
put_place(const struct profile *p, const struct profile_frame *frame, FILE *f)
{
	const struct profile_mapping *m = mapping_of(p, frame);

	if (!m) {
		fputs("? (memory without a file)", f);
		return;
	}
	fputs("? (", f);
	put(f, base_name(m->path));
	fprintf(f, "+0x%" PRIx64 ")", profile_frame_pc(frame) - m->start + m->offset_bytes);
}

/* The frames from AT on, before END, that are the same: one function that calls itself. */
static size_t
count_same(const struct stacks *s, size_t at, size_t end)
{
	const uint32_t *frame = s->p->stack_frames.v;
	size_t nr = 1;

	while (at + nr < end && frame[at + nr] == frame[at] &&
		s->marks.v[at + nr] == s->marks.v[at])
		nr++;
	return nr;
}

/*
 * Frame NR of a stack.  Functions that are inlined come first, the one that they are in last.
 */
static void
put_frame(const struct stacks *s, size_t at, size_t nr, size_t nr_same, FILE *f)
{
	const struct profile *p = s->p;
	const struct profile_frame *frame = &p->frames.v[p->stack_frames.v[at]];
	const struct profile_mapping *m = mapping_of(p, frame);

	fprintf(f, "  #%-3zu 0x%016" PRIx64 " ", nr, frame->address);
	if (!frame->nr_lines)
		put_place(p, frame, f);
	for (uint32_t i = 0; i < frame->nr_lines; i++) {
		if (i)
			fprintf(f, " [inlined]\n%*s", 26, "");
		put_function(p, &p->lines.v[frame->first_line + i], f);
	}
	if (frame->nr_lines && m) {
		fputs(" in ", f);
		put(f, base_name(m->path));
	}
	if (s->marks.v[at] & STACKS_SIGNAL)
		fputs(" [signal handler called]", f);
	if (s->marks.v[at] & STACKS_BY_FRAME_POINTER)
		fputs(" [by frame pointer]", f);
	if (nr_same > 1)
		fprintf(f, " [%zu times, to #%zu]", nr_same, nr + nr_same - 1);
	fputc('\n', f);
}

static void
put_stack(const struct stacks *s, const struct stacks_thread *th, FILE *f)
{
	static const char *const end[] = { "", "(there are more frames)\n",
		"(the caller is unknown)\n", "(it could not be stopped)\n" };
	const struct profile_stack *stack = &s->p->stacks.v[th->stack];

	for (size_t i = 0, nr_same; i < stack->nr; i += nr_same) {
		nr_same = count_same(s, stack->first + i, stack->first + stack->nr);
		put_frame(s, stack->first + i, i, nr_same, f);
	}
	if (th->end != STACKS_COMPLETE)
		fprintf(f, "  %s", end[th->end]);
}

int
stacks_print(const struct stacks *s, const struct target *t, struct ui_output *out, struct err *e)
{
	const size_t nr = count_groups(s);
	char longest[32];

	fprintf(out->f, "%s %d: %zu thread%s, %zu different stack%s; longest stop of a thread %s\n",
		t->comm, (int)t->pid, s->threads.nr, s->threads.nr == 1 ? "" : "s", nr,
		nr == 1 ? "" : "s", ui_duration(s->longest_ns, longest, sizeof longest));
	for (size_t i = 0, end; i < s->threads.nr; i = end) {
		end = end_of_group(s, i);
		fputc('\n', out->f);
		if (put_threads(s, i, end, out, e) < 0)
			return -1;
		put_stack(s, &s->threads.v[i], out->f);
	}
	return 0;
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
frame_json(const struct stacks *s, size_t at)
{
	const struct profile *p = s->p;
	const struct profile_frame *frame = &p->frames.v[p->stack_frames.v[at]];
	const struct profile_mapping *m = mapping_of(p, frame);
	const uint64_t pc = profile_frame_pc(frame);

	return json_pack("{s:o, s:o, s:o, s:b, s:b, s:o}", "address",
		ui_json_address((raddr){ frame->address }), "object",
		m ? ui_json_string(m->path) : json_null(), "offset",
		m ? ui_json_address((raddr){ pc - m->start + m->offset_bytes }) : json_null(),
		"by_frame_pointer", s->marks.v[at] & STACKS_BY_FRAME_POINTER, "is_signal",
		s->marks.v[at] & STACKS_SIGNAL, "functions", functions_json(p, frame));
}

static json_t *
stack_json(const struct stacks *s, size_t first, size_t end)
{
	const struct stacks_thread *th = &s->threads.v[first];
	const struct profile_stack *stack = &s->p->stacks.v[th->stack];
	json_t *threads = json_array(), *frames = json_array();

	for (size_t i = first; i < end; i++)
		json_array_append_new(threads,
			json_pack("{s:i, s:o}", "tid", (int)s->threads.v[i].tid, "name",
				ui_json_string(
					s->p->threads.v[s->threads.v[i].thread_1 - 1].name)));
	for (uint32_t i = 0; i < stack->nr; i++)
		json_array_append_new(frames, frame_json(s, stack->first + i));
	return json_pack("{s:o, s:s, s:o}", "threads", threads, "end", stacks_end_names[th->end],
		"frames", frames);
}

int
stacks_to_json(const struct stacks *s, json_t *data, struct err *e)
{
	json_t *stop = json_object(), *list = json_array();

	if (stop)
		view_json_set_stop(stop, s->nr_stops, s->stopped_ns, s->longest_ns);
	for (size_t i = 0, end; i < s->threads.nr; i = end) {
		end = end_of_group(s, i);
		json_array_append_new(list, stack_json(s, i, end));
	}
	if (json_object_set_new(data, "stop", stop) < 0 ||
		json_object_set_new(data, "thread_count", json_integer((json_int_t)s->threads.nr)) <
			0 ||
		json_object_set_new(
			data, "stack_count", json_integer((json_int_t)count_groups(s))) < 0 ||
		json_object_set_new(data, "stacks", list) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	return 0;
}
