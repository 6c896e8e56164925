#include <config.h>

#include "view/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "report/frames.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/units.h"
#include "view/durations.h"

/* Return the index after the last thread that has the same stack as thread FIRST. */
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

/* ---- text ---- */

/* Print "12 threads: 4711 worker, 4712 worker ..." */
static int
stacks_put_threads(
	const struct stacks *s, size_t first, size_t end, struct ui_output *out, struct err *e)
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
		if (stacks_put_threads(s, i, end, out, e) < 0)
			return -1;
		if (s->threads.v[i].end == STACKS_MISSING)
			fputs("  (it could not be stopped)\n", out->f);
		else
			frames_print(s->p, s->threads.v[i].stack, &s->marks, s->threads.v[i].end,
				out->f);
	}
	return 0;
}

/* ---- JSON ---- */

static json_t *
stacks_stack_json(const struct stacks *s, size_t first, size_t end)
{
	const struct stacks_thread *th = &s->threads.v[first];
	json_t *threads = json_array();

	for (size_t i = first; i < end; i++)
		json_array_append_new(threads,
			json_pack("{s:i, s:o}", "tid", (int)s->threads.v[i].tid, "name",
				ui_json_string(
					s->p->threads.v[s->threads.v[i].thread_1 - 1].name)));
	return json_pack("{s:o, s:s, s:o}", "threads", threads, "end", stacks_end_names[th->end],
		"frames", frames_json(s->p, th->stack, &s->marks));
}

int
stacks_to_json(const struct stacks *s, json_t *data, struct err *e)
{
	json_t *stop = json_object(), *list = json_array();

	if (stop)
		view_json_set_stop(stop, s->nr_stops, s->stopped_ns, s->longest_ns);
	for (size_t i = 0, end; i < s->threads.nr; i = end) {
		end = end_of_group(s, i);
		json_array_append_new(list, stacks_stack_json(s, i, end));
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
