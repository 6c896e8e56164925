#include <config.h>

#include "view/top.h"

#include <inttypes.h>
#include <time.h>

#include "base/text.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/units.h"

#define LEAD_COLUMNS 9 /* "PROFILE  ", aligned with verdicts */
/*
 * The error of an estimate from n samples is about 1/sqrt(n) (doc/internals/profile.md): above one
 * third for fewer samples.
 */
#define FEW_SAMPLES 10

static const char *
start_time(const struct profile_top *t, char *buf, size_t size)
{
	const time_t at = (time_t)(t->started_ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&at, &tm) || !strftime(buf, size, "%F %T", &tm))
		snprintf(buf, size, "?");
	return buf;
}

static void
top_print_stack(const struct profile_top *t, const struct profile_top_stack *s,
	const struct ui_options *opt, const struct ui_output *out)
{
	char line[4096], share[16], names[3500], bytes[40];

	snprintf(names, sizeof names, "%s%s%s", s->function, s->caller ? " < " : "",
		s->caller ? s->caller : "");
	text_printable(names, line, sizeof line);
	snprintf(share, sizeof share, "%.1f%%", 100 * profile_top_share(t, s));
	fprintf(out->f, "%*s%12s %7s  %.*s\n", LEAD_COLUMNS, "",
		ui_mark(UI_SIZE(opt, (uint64_t)s->bytes), true, bytes, sizeof bytes), share,
		out->columns > 60 ? out->columns - LEAD_COLUMNS - 22 : 2000, line);
}

static void
top_print_summary(
	const struct profile_top *t, const struct ui_options *opt, const struct ui_output *out)
{
	char text[400], since[64];

	start_time(t, since, sizeof since);
	if (!t->nr_samples)
		snprintf(text, sizeof text,
			"begun %s, and has no sample yet: it takes one for every %s allocated",
			since, UI_SIZE(opt, t->period_bytes));
	else if (!t->nr_stacks)
		snprintf(text, sizeof text,
			"begun %s; nothing of what it has sampled since is in use", since);
	else
		snprintf(text, sizeof text,
			"begun %s; ~%s of what was allocated since is in use, by %" PRIu64
			" sample%s%s",
			since, UI_SIZE(opt, (uint64_t)t->bytes), t->nr_live,
			t->nr_live == 1 ? "" : "s",
			t->nr_live < FEW_SAMPLES ? ": too few to rely on" : "");
	ui_wrap(out, LEAD_COLUMNS, text);
}

void
top_print(const struct profile_top *t, const struct target *target, const struct ui_options *opt,
	const struct ui_output *out)
{
	char next[64];

	if (!t->is_sampling)
		return;
	fputs("\nPROFILE  ", out->f);
	top_print_summary(t, opt, out);
	for (uint32_t i = 0; i < t->nr_stacks; i++)
		top_print_stack(t, &t->stack[i], opt, out);
	snprintf(next, sizeof next, "memdiag profile dump -p %d", (int)target->pid);
	fputs("NEXT     ", out->f);
	ui_wrap(out, LEAD_COLUMNS, next);
}

static json_t *
top_stack_json(const struct profile_top *t, const struct profile_top_stack *s)
{
	return json_pack("{s:o, s:o, s:I, s:f, s:I, s:I}", "function", ui_json_string(s->function),
		"caller", s->caller ? ui_json_string(s->caller) : json_null(), "in_use_bytes",
		(json_int_t)s->bytes, "share", profile_top_share(t, s), "in_use_blocks",
		(json_int_t)s->blocks, "samples", (json_int_t)s->nr_samples);
}

json_t *
top_to_json(const struct profile_top *t)
{
	json_t *list;

	if (!t->is_sampling)
		return json_null();
	list = json_array();
	for (uint32_t i = 0; i < t->nr_stacks; i++)
		json_array_append_new(list, top_stack_json(t, &t->stack[i]));
	return json_pack("{s:I, s:o, s:I, s:I, s:o, s:o}", "started_ns", (json_int_t)t->started_ns,
		"period_bytes", ui_json_number(t->period_bytes), "in_use_bytes",
		(json_int_t)t->bytes, "samples_in_use", (json_int_t)t->nr_live, "samples",
		ui_json_number(t->nr_samples), "stacks", list);
}
