/*
 * Whatever an object has for unwind tables, looking an address up ends, reads nothing else, and
 * what comes out can be evaluated.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/expression.h"
#include "unwind/index.h"
#include "unwind/program.h"
#include "unwind/rule.h"
#include "unwind/tables.h"
#include "unwind/unwind-priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t stack[64];

static void
use(const struct unwind_row *row, uint64_t pc)
{
	struct unwind_context c = { .known = ~UINT64_C(0),
		.bounds = { (uintptr_t)stack, (uintptr_t)(stack + 64) } };
	const unwind_rule rule = unwind_rule_of(row, pc);
	uint64_t cfa = 0, value;

	for (unsigned int r = 0; r < UNWIND_NR_REGS; r++)
		c.reg[r] = (uintptr_t)(stack + 2 * r);
	if (row->ra >= UNWIND_NR_REGS || unwind_rule_kind(rule) > RULE_ODD)
		abort();
	if (row->has_cfa_expression)
		unwind_evaluate(&c, row->cfa_expression, NULL, &cfa);
	for (unsigned int r = 0; r < UNWIND_NR_REGS; r++)
		if (row->how[r] == HOW_EXPRESSION || row->how[r] == HOW_VALUE_EXPRESSION)
			unwind_evaluate(&c, unwind_row_expression(row, r), &cfa, &value);
}

static void
look_up(const struct unwind_object *o, uint64_t pc)
{
	struct unwind_row row;

	if (unwind_find_row(o, pc, &row))
		use(&row, pc);
	unwind_is_trampoline(o, pc);
}

static uint64_t room[4096];

static void *
map(size_t bytes)
{
	return bytes <= sizeof room ? room : NULL;
}

/* The same bytes as an .eh_frame without a sorted table (.eh_frame_hdr). */
static void
look_up_by_index(struct unwind_object o, const uint8_t *frames, size_t size)
{
	o.header = NULL;
	unwind_index_make(&o, frames, size, map);
	for (uint32_t i = 0; i < o.nr_index; i++) {
		if (i && o.index[i].pc < o.index[i - 1].pc)
			abort();
		look_up(&o, o.start + (uint64_t)(int64_t)o.index[i].pc);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The copy has that size exactly, so that a sanitizer finds reads behind it. */
	auto_free uint8_t *copy = malloc(size ? size : 1);
	struct unwind_object o = { .nr_spans = 1 };

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	o.start = (uintptr_t)copy;
	o.end = o.start + size;
	o.header = copy;
	o.span[0] = (struct unwind_span){ copy, copy + size };
	/* Addresses in the table, and in between. */
	for (size_t at = 12; at + 4 <= size && at < 12 + 8 * 64; at += 8) {
		int32_t entry;

		memcpy(&entry, copy + at, sizeof entry);
		for (uint64_t n = 0; n < 40; n += 13)
			look_up(&o, o.start + (uint64_t)(int64_t)entry + n);
	}
	for (size_t at = 0; at < size && at < 64; at++)
		look_up(&o, o.start + at);
	look_up_by_index(o, copy, size);
	return 0;
}
