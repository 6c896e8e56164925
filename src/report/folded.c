#include <config.h>

#include "report/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "report/format.h"
#include "report/report.h"
#include "ui/ui.h"

/*
 * Return the name with characters allowed between semicolons, which the caller frees; NULL if
 * memory is exhausted.
 */
static char *
frame_name(const char *name)
{
	size_t size = strlen(name) * 4 + 2; /* each byte may become \ooo */
	char *text = malloc(size);

	if (!text)
		return NULL;
	text_printable(name, text, size);
	for (char *at = text; (at = strchr(at, ';'));)
		*at = ':';
	return text;
}

static int
folded_by_steps(const void *a, const void *b, void *arg)
{
	const struct calls *c = arg;
	const struct calls_path *x = *(const struct calls_path *const *)a;
	const struct calls_path *y = *(const struct calls_path *const *)b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? -1 : 1;
	return memcmp(&c->steps.v[x->first], &c->steps.v[y->first], x->nr * sizeof *c->steps.v);
}

int
folded_write(const struct calls *c, FILE *f, struct err *e)
{
	char **names = calloc(c->nodes.nr + 1, sizeof *names);
	auto_free const struct calls_path **order = calloc(c->paths.nr + 1, sizeof *order);
	bool is_short = !names || !order;
	int64_t value = 0;

	for (size_t i = 0; !is_short && i < c->nodes.nr; i++) {
		names[i] = frame_name(c->nodes.v[i].name);
		is_short = !names[i];
	}
	for (size_t i = 0; !is_short && i < c->paths.nr; i++)
		order[i] = &c->paths.v[i];
	if (!is_short)
		qsort_r(order, c->paths.nr, sizeof *order, folded_by_steps, (void *)(uintptr_t)c);
	for (size_t i = 0; !is_short && i < c->paths.nr; i++) {
		value = profile_sum(value, order[i]->value);
		if (i + 1 < c->paths.nr &&
			folded_by_steps(&order[i], &order[i + 1], (void *)(uintptr_t)c) == 0)
			continue;
		for (size_t k = 0; k < order[i]->nr; k++)
			fprintf(f, "%s%s", k ? ";" : "", names[c->steps.v[order[i]->first + k]]);
		fprintf(f, "%s %" PRId64 "\n", order[i]->nr ? "" : "[hidden]", value);
		value = 0;
	}
	for (size_t i = 0; names && i < c->nodes.nr; i++)
		free(names[i]);
	free(names);
	return is_short ? err_set(e, ENOMEM, "cannot write stacks") : 0;
}

static int
folded_write_report(const struct report_view *v, struct ui_output *out, struct err *e)
{
	return folded_write(v->c, out->f, e);
}

const struct report_format report_format_folded = { "folded", 0, 0, folded_write_report };
