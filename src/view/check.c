#include <config.h>

#include "view/check.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "ui/units.h"

#define TEXT_BYTES 1024

/* Print TEXT without control characters, and without |, which ends the text for people. */
static void
check_put(FILE *f, const char *text)
{
	char printable[TEXT_BYTES];

	text_abbreviate(text, printable, sizeof printable);
	for (char *at = printable; (at = strchr(at, '|'));)
		*at = '/';
	fputs(printable, f);
}

static void
check_begin(FILE *f, enum check_state state)
{
	static const char *const names[] = { [CHECK_OK] = "OK",
		[CHECK_WARNING] = "WARNING",
		[CHECK_CRITICAL] = "CRITICAL",
		[CHECK_UNKNOWN] = "UNKNOWN" };

	fprintf(f, "MEMDIAG %s - ", names[state]);
}

void
check_print_unknown(FILE *f, const char *text)
{
	check_begin(f, CHECK_UNKNOWN);
	check_put(f, text);
	fputc('\n', f);
}

/* ---- text ---- */

static const char *
check_number(const struct ui_options *ui, enum metric m, uint64_t number, char *buf, size_t size)
{
	if (metric_is_bytes(m))
		return ui_size(ui, number, buf, size);
	snprintf(buf, size, "%" PRIu64, number);
	return buf;
}

/* Return the first condition of Q with metric M, or NULL. */
static const struct condition *
check_first(const struct check_question *q, enum metric m)
{
	for (size_t i = 0; i < q->condition.nr; i++)
		if (q->condition.v[i].metric == m)
			return &q->condition.v[i];
	return NULL;
}

/*
 * Return the process that is nearest to C's threshold, or farthest beyond it; NULL if the value of
 * none is known.
 */
static const struct check_process *
check_extreme(const struct check_answer *a, const struct condition *c)
{
	const bool wants_most = c->compare <= CONDITION_FROM;
	const struct check_process *best = NULL;

	for (size_t i = 0; i < a->process.nr; i++) {
		const struct check_process *p = &a->process.v[i];

		if (!p->knows[c->metric])
			continue;
		if (!best ||
			(wants_most ? p->value[c->metric] > best->value[c->metric]
				    : p->value[c->metric] < best->value[c->metric]))
			best = p;
	}
	return best;
}

static void
check_put_process(FILE *f, const struct check_process *p)
{
	check_put(f, p->name[0] ? p->name : "process");
	fprintf(f, " %d: ", (int)p->pid);
}

/* Print "rss 3.5 GiB > 80%limit (3.2 GiB)". */
static void
check_put_condition(FILE *f, const struct ui_options *ui, const struct check_process *p,
	const struct condition *c)
{
	const uint64_t limit = condition_threshold(c, p->whole_bytes[c->whole]);
	char value[32], threshold[32];

	check_number(ui, c->metric, p->value[c->metric], value, sizeof value);
	check_number(ui, c->metric, limit, threshold, sizeof threshold);
	fprintf(f, "%s %s %s ", metric_name(c->metric), value, condition_operator(c));
	if (c->whole)
		fprintf(f, "%g%%%s (%s)", (double)c->number / 1000, condition_whole_name(c->whole),
			threshold);
	else
		fputs(threshold, f);
}

/* Print the conditions that hold for the worst process. */
static void
check_put_reasons(FILE *f, const struct check_answer *a, const struct check_question *q)
{
	const char *comma = "";
	size_t nr = 0;

	check_put_process(f, a->worst);
	for (size_t i = 0; i < q->condition.nr; i++) {
		const struct condition *c = &q->condition.v[i];

		if (c->is_critical != (a->state == CHECK_CRITICAL) || !check_holds(c, a->worst))
			continue;
		fputs(comma, f);
		check_put_condition(f, &q->ui, a->worst, c);
		comma = ", ";
	}
	if (a->worst->is_approximate)
		fputs(", approximate", f);
	for (size_t i = 0; i < a->process.nr; i++)
		nr += a->process.v[i].state == a->state;
	if (a->process.nr > 1)
		fprintf(f, "; %zu of %zu processes", nr, a->process.nr);
}

/* Print the value of each metric. */
static void
check_put_values(FILE *f, const struct check_answer *a, const struct check_question *q)
{
	const char *comma = "";

	if (a->process.nr == 1)
		check_put_process(f, a->worst);
	else
		fprintf(f, "%zu processes: ", a->process.nr);
	for (int m = 0; m < NR_METRICS; m++) {
		const struct condition *c = check_first(q, (enum metric)m);
		const struct check_process *p = c ? check_extreme(a, c) : NULL;
		char value[32];

		if (!p)
			continue;
		fprintf(f, "%s%s %s", comma, metric_name((enum metric)m),
			check_number(&q->ui, (enum metric)m, p->value[m], value, sizeof value));
		comma = ", ";
	}
}

/* ---- perfdata ---- */

/* Print a range as plugins write it: an alert is raised outside of it, ends included. */
static void
check_put_range(FILE *f, struct condition_range r)
{
	fputc(';', f);
	if (r.is_empty)
		return;
	if (r.least)
		fprintf(f, "%" PRIu64 ":", r.least);
	if (r.most < UINT64_MAX)
		fprintf(f, "%" PRIu64, r.most);
}

/* Print the most that the value of P can be, if a condition is a part of that. */
static void
check_put_most(
	FILE *f, const struct check_question *q, const struct check_process *p, enum metric m)
{
	for (size_t i = 0; i < q->condition.nr; i++) {
		const struct condition *c = &q->condition.v[i];

		if (c->metric == m && c->whole && p->whole_bytes[c->whole]) {
			fprintf(f, "%" PRIu64, p->whole_bytes[c->whole]);
			return;
		}
	}
}

static void
check_put_metric(FILE *f, const struct check_answer *a, const struct check_question *q,
	enum metric m, const struct condition *c)
{
	const struct check_process *p = check_extreme(a, c);

	if (!p) {
		fprintf(f, " '%s'=U;;;;", metric_name(m));
		return;
	}
	fprintf(f, " '%s'=%" PRIu64 "%s", metric_name(m), p->value[m],
		metric_is_bytes(m) ? "B" : "");
	check_put_range(f, check_range(q, p, m, false));
	check_put_range(f, check_range(q, p, m, true));
	fputs(";0;", f);
	check_put_most(f, q, p, m);
}

void
check_print(FILE *f, const struct check_answer *a, const struct check_question *q)
{
	check_begin(f, a->state);
	if (a->state == CHECK_UNKNOWN) {
		check_put_process(f, a->worst);
		check_put(f, a->worst->why);
	} else if (a->state == CHECK_OK) {
		check_put_values(f, a, q);
	} else {
		check_put_reasons(f, a, q);
	}
	fputs(" |", f);
	for (int m = 0; m < NR_METRICS; m++) {
		const struct condition *c = check_first(q, (enum metric)m);

		if (c)
			check_put_metric(f, a, q, (enum metric)m, c);
	}
	if (a->process.nr > 1)
		fprintf(f, " 'processes'=%zu;;;0;", a->process.nr);
	fputc('\n', f);
}
