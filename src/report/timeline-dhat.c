#include <config.h>

#include "report/timeline-dhat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ui/json.h"

#define NS_PER_MS 1000000
/* Blocks with a shorter life are "short-lived": a tick of heaptrack's clock. */
#define SHORT_MS 10

/* Return "0x1234: function (file.c:12)", DHAT's format; LINE may be NULL. */
static json_t *
timeline_dhat_frame_json(
	const struct profile *p, const struct profile_frame *f, const struct profile_line *line)
{
	const char *object = f->mapping_1 ? p->mappings.v[f->mapping_1 - 1].path : "???";
	const struct profile_function *fn = line ? &p->functions.v[line->function] : NULL;
	auto_free char *text = NULL;
	int r;

	if (fn && *fn->file)
		r = asprintf(&text, "0x%" PRIX64 ": %s (%s:%" PRIu32 ")", profile_frame_pc(f),
			fn->name, fn->file, line->line);
	else
		r = asprintf(&text, "0x%" PRIX64 ": %s (in %s)", profile_frame_pc(f),
			fn ? fn->name : "???", object);
	if (r < 0) {
		text = NULL;
		return NULL;
	}
	return ui_json_string(text);
}

/* Return all frames; FIRST gets, for each frame, the number of its first line, the innermost. */
static json_t *
timeline_dhat_frames_json(const struct profile *p, json_int_t *first)
{
	json_t *list = json_array();

	json_array_append_new(list, json_string("[root]"));
	for (size_t i = 0; i < p->frames.nr; i++) {
		const struct profile_frame *f = &p->frames.v[i];

		first[i] = (json_int_t)json_array_size(list);
		for (uint32_t k = 0; k < f->nr_lines; k++)
			json_array_append_new(list,
				timeline_dhat_frame_json(p, f, &p->lines.v[f->first_line + k]));
		if (!f->nr_lines)
			json_array_append_new(list, timeline_dhat_frame_json(p, f, NULL));
	}
	return list;
}

static json_t *
timeline_dhat_stack_json(
	const struct profile *p, const struct profile_stack *stack, const json_int_t *first)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < stack->nr; i++) {
		uint32_t frame = p->stack_frames.v[stack->first + i];
		uint32_t nr = p->frames.v[frame].nr_lines;

		for (uint32_t k = 0; k < (nr ? nr : 1); k++)
			json_array_append_new(list, json_integer(first[frame] + k));
	}
	return list;
}

static json_t *
point_json(const struct profile *p, size_t sample, const json_int_t *first)
{
	static const struct {
		const char *key, *type;
	} members[] = {
		{ "tb", "alloc_space" },
		{ "tbk", "alloc_objects" },
		{ "tl", "lives_time" },
		{ "mb", "max_space" },
		{ "mbk", "max_objects" },
		{ "gb", "peak_space" },
		{ "gbk", "peak_objects" },
		{ "eb", "inuse_space" },
		{ "ebk", "inuse_objects" },
	};
	const int64_t *values = profile_values(p, sample);
	json_t *point = json_object();

	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		int type = profile_find_type(p, members[i].type);

		json_object_set_new(
			point, members[i].key, json_integer(type < 0 ? 0 : values[type]));
	}
	json_object_set_new(point, "fs",
		timeline_dhat_stack_json(p, &p->stacks.v[p->samples.v[sample].stack], first));
	return point;
}

int
timeline_print_dhat(const struct timeline_view *v, const struct profile *p, struct ui_output *out,
	struct err *e)
{
	static const char command[] = "command: ";
	auto_free json_int_t *first = calloc(p->frames.nr + 1, sizeof *first);
	json_auto_t *document =
		json_pack("{s:i, s:s, s:s, s:b, s:b, s:s, s:s, s:i, s:s, s:I, s:I, s:I}",
			"dhatFileVersion", 2, "mode", "heap", "verb", "Allocated", "bklt", 1,
			"bkacc", 0, "tu", "ms", "Mtu", "s", "tuth", SHORT_MS, "cmd", "???", "pid",
			(json_int_t)p->pid, "te", (json_int_t)(v->h->end_ns / NS_PER_MS), "tg",
			(json_int_t)(v->h->peak.at_ns / NS_PER_MS));
	json_t *points = json_array();

	json_object_set_new(document, "pps", points);
	if (!first || !document)
		return err_set(e, ENOMEM, "cannot write JSON");
	if (v->file)
		json_object_set_new(document, "cmd", ui_json_string(v->file));
	for (size_t i = 0; i < p->comments.nr; i++)
		if (strncmp(p->comments.v[i], command, strlen(command)) == 0)
			json_object_set_new(document, "cmd",
				ui_json_string(p->comments.v[i] + strlen(command)));
	json_object_set_new(document, "ftbl", timeline_dhat_frames_json(p, first));
	for (size_t i = 0; i < p->samples.nr; i++)
		if (json_array_append_new(points, point_json(p, i, first)) < 0)
			return err_set(e, ENOMEM, "cannot write JSON");
	return ui_json_print(document, out, e);
}
