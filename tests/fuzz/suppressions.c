/* Whatever a file of suppressions has, it is parsed or refused, and its names are compared. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "diagnose/suppressions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Return a copy of the SIZE bytes at DATA, with a NUL. */
static char *
copy_of(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	copy[size] = '\0';
	return copy;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct suppressions s = { .all = { 0 } };
	struct text text = { copy_of(data, size), size };
	struct err e = { 0 };
	bool is_valid = suppressions_parse(&s, &text, "file", &e) == 0;

	if (text.v || (!is_valid && (e.kind != ERR_USAGE || !e.msg[0])))
		abort();
	for (size_t i = 0; is_valid && i < s.rule.nr; i++) {
		const struct suppression *rule = &s.rule.v[i];

		if (!rule->line || !rule->text[0] || rule->text < s.text.v ||
			rule->text >= s.text.v + size)
			abort();
		if (rule->kind >= SUPPRESSION_TYPE)
			suppression_matches(rule->name, "aaaaaaaaaaaaaaaaaaaaaaaab");
	}
	suppressions_release(&s);
	return 0;
}
