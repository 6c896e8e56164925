/*
 * peek: the callers and callees of some functions, as text; pprof has a view of this name.
 */
#include <config.h>

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "profile/hash.h"
#include "report/calls.h"
#include "report/format.h"
#include "report/text.h"
#include "ui/table.h"
#include "ui/ui.h"

/* The caller of the first function of a stack. */
#define PEEK_ROOT UINT32_MAX

/* A call: CALLER called CALLEE in stacks with VALUE; a stack counts once. */
struct peek_call {
	uint32_t caller, callee;
	size_t last_path_1; /* the last stack that was added, plus 1 */
	int64_t value;
	/* 1 plus the number of the next call with this caller, and with this callee; 0: the last */
	size_t next_below_1, next_above_1;
};

/* The first calls of a function, likewise. */
struct peek_node {
	size_t below_1, above_1;
};

struct peek_calls {
	struct peek_call *v;
	size_t nr, room;
	struct hash by_pair;
	struct peek_node *nodes; /* of each node, after peek_order() */
};

static void
peek_calls_release(struct peek_calls *calls)
{
	free(calls->v);
	free(calls->nodes);
	hash_release(&calls->by_pair);
}

static int
peek_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot add up calls");
}

/* Add a call in path NR of the calls. */
static int
peek_add(struct peek_calls *calls, uint32_t caller, uint32_t callee, size_t nr, int64_t value,
	struct err *e)
{
	const uint32_t hash = hash_pair(caller, callee);
	const struct hash_slot *slot;
	struct peek_call *call = NULL;

	for (size_t at = hash; !call && (slot = hash_next(&calls->by_pair, hash, &at));) {
		struct peek_call *known = &calls->v[slot->number_1 - 1];

		if (known->caller == caller && known->callee == callee)
			call = known;
	}
	if (!call) {
		call = array_add(calls);
		if (!call || hash_add(&calls->by_pair, hash, calls->nr - 1) < 0)
			return peek_no_memory(e);
		call->caller = caller;
		call->callee = callee;
	}
	if (call->last_path_1 != nr + 1)
		call->value = profile_sum(call->value, value);
	call->last_path_1 = nr + 1;
	return 0;
}

static int
peek_find(struct peek_calls *calls, const struct calls *c, struct err *e)
{
	for (size_t i = 0; i < c->paths.nr; i++) {
		const struct calls_path *path = &c->paths.v[i];
		uint32_t caller = PEEK_ROOT;

		for (size_t k = path->first; k < path->first + path->nr; k++) {
			if (peek_add(calls, caller, c->steps.v[k], i, path->value, e) < 0)
				return -1;
			caller = c->steps.v[k];
		}
	}
	return 0;
}

/* The largest first. */
static int
peek_by_value(const void *a, const void *b)
{
	const struct peek_call *x = a, *y = b;
	const uint64_t p = x->value < 0 ? -(uint64_t)x->value : (uint64_t)x->value;
	const uint64_t q = y->value < 0 ? -(uint64_t)y->value : (uint64_t)y->value;

	if (p != q)
		return p < q ? 1 : -1;
	return x->caller != y->caller ? (x->caller > y->caller) - (x->caller < y->caller)
				      : (x->callee > y->callee) - (x->callee < y->callee);
}

/* Sort the calls, and link those of each of the NR nodes in that order. */
static int
peek_order(struct peek_calls *calls, size_t nr, struct err *e)
{
	calls->nodes = calloc(nr + 1, sizeof *calls->nodes);
	if (!calls->nodes)
		return peek_no_memory(e);
	if (calls->nr)
		qsort(calls->v, calls->nr, sizeof *calls->v, peek_by_value);
	for (size_t i = calls->nr; i-- > 0;) {
		struct peek_call *call = &calls->v[i];
		struct peek_node *callee = &calls->nodes[call->callee];

		call->next_above_1 = callee->above_1;
		callee->above_1 = i + 1;
		if (call->caller == PEEK_ROOT)
			continue;
		call->next_below_1 = calls->nodes[call->caller].below_1;
		calls->nodes[call->caller].below_1 = i + 1;
	}
	return 0;
}

static const char *
peek_share(double share, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f%%", share * 100);
	return buf;
}

/* Add a row for CALL, whose other end is NODE; the share is that of OF. */
static int
peek_add_call(struct ui_table *t, const struct report_view *v, const struct calls_node *of,
	const struct peek_call *call, uint32_t node, struct err *e)
{
	const char *name = node == PEEK_ROOT ? "[root]" : v->c->nodes.v[node].name;
	auto_free char *indented = NULL;
	char value[32], share[32];

	if (asprintf(&indented, "  | %s", name) < 0) {
		indented = NULL;
		return peek_no_memory(e);
	}
	peek_share(of->cum ? (double)call->value / (double)of->cum : 0, share, sizeof share);
	return ui_table_add(t, e, "", "", report_value(v, call->value, value, sizeof value), share,
		indented, NULL);
}

/* Add the rows of node I: its callers, itself, its callees. */
static int
peek_add_function(struct ui_table *t, const struct report_view *v, const struct peek_calls *calls,
	uint32_t i, struct err *e)
{
	const struct calls_node *n = &v->c->nodes.v[i];
	char flat[32], cum[32], share[2][32];

	for (size_t k = calls->nodes[i].above_1; k; k = calls->v[k - 1].next_above_1)
		if (calls->v[k - 1].value &&
			peek_add_call(t, v, n, &calls->v[k - 1], calls->v[k - 1].caller, e) < 0)
			return -1;
	if (ui_table_add(t, e, report_value(v, n->flat, flat, sizeof flat),
		    peek_share(calls_share(v->c, n->flat), share[0], sizeof share[0]),
		    report_value(v, n->cum, cum, sizeof cum),
		    peek_share(calls_share(v->c, n->cum), share[1], sizeof share[1]), n->name,
		    NULL) < 0)
		return -1;
	for (size_t k = calls->nodes[i].below_1; k; k = calls->v[k - 1].next_below_1)
		if (calls->v[k - 1].value &&
			peek_add_call(t, v, n, &calls->v[k - 1], calls->v[k - 1].callee, e) < 0)
			return -1;
	return ui_table_add(t, e, "", "", "", "", "", NULL);
}

static int
peek_print(const struct report_view *v, const struct peek_calls *calls, const regex_t *regex,
	struct ui_output *out, struct err *e)
{
	static const char *const numbers[] = { "FLAT", "FLAT%", "CUM", "CUM%" };
	auto_table struct ui_table *t = ui_table_new(out);
	auto_free uint32_t *order = calls_order(v->c, true);
	size_t nr = 0;

	if (!t || !order)
		return peek_no_memory(e);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (ui_table_column(t, numbers[i], true, e) < 0)
			return -1;
	if (ui_table_column(t, "CALLERS, FUNCTION, CALLEES", false, e) < 0)
		return -1;
	for (size_t i = 0; i < v->c->nodes.nr; i++) {
		const struct calls_node *n = &v->c->nodes.v[order[i]];

		if ((!n->flat && !n->cum) || regexec(regex, n->name, 0, NULL, 0) != 0 ||
			(nr++ >= v->limit && v->limit))
			continue;
		if (peek_add_function(t, v, calls, order[i], e) < 0)
			return -1;
	}
	if (!nr)
		return err_set(e, 0, "no function matches '%s'", v->peek);
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, v->limit && v->limit < nr ? nr - v->limit : 0);
	return 0;
}

/* Print the functions that match, the largest first, each with its callers and callees. */
static int
report_print_peek(const struct report_view *v, struct ui_output *out, struct err *e)
{
	__attribute__((cleanup(peek_calls_release))) struct peek_calls calls = { 0 };
	regex_t regex;
	char why[128];
	int r = regcomp(&regex, v->peek ? v->peek : "", REG_EXTENDED | REG_NOSUB);

	if (r) {
		regerror(r, &regex, why, sizeof why);
		return err_set_kind(e, ERR_USAGE, 0, "--peek: not a regular expression: %s", why);
	}
	r = peek_find(&calls, v->c, e) < 0 || peek_order(&calls, v->c->nodes.nr, e) < 0
		? -1
		: peek_print(v, &calls, &regex, out, e);
	regfree(&regex);
	return r;
}

/* Functions of a peek. */
#define PEEK_ROWS 10

const struct report_format report_format_peek = { "peek", FORMAT_HAS_ROWS | FORMAT_NEEDS_CALLS,
	PEEK_ROWS, report_print_peek, "callers and callees" };
