#include <config.h>

#include "recording/heaptrack-line.h"

#include <errno.h>
#include <inttypes.h>

#include "base/array.h"

int
ht_fail(const struct heaptrack *h, struct err *e, const char *why)
{
	return err_set(e, 0, "cannot read '%s': line %" PRIu64 ": %s", h->name, h->line_nr, why);
}

int
ht_no_memory(const struct heaptrack *h, struct err *e)
{
	return err_set(e, ENOMEM, "cannot read '%s'", h->name);
}

bool
ht_number(struct ht_line *l, uint64_t *ret)
{
	const char *at = l->at;
	uint64_t value = 0;

	for (; at < l->end && *at != ' '; at++) {
		unsigned digit = *at >= '0' && *at <= '9' ? (unsigned)(*at - '0')
			: *at >= 'a' && *at <= 'f'	  ? (unsigned)(*at - 'a' + 10)
							  : 16;

		if (digit > 15 || value >> 60)
			return false;
		value = value << 4 | digit;
	}
	if (at == l->at)
		return false;
	*ret = value;
	l->at = at < l->end ? at + 1 : at;
	return true;
}

int
ht_add_string(struct heaptrack *h, const char *s, size_t len, uint32_t *ret_1, struct err *e)
{
	const char *kept = profile_string(h->r.facts, s, len);
	const char **string = kept && h->strings.nr < UINT32_MAX ? array_add(&h->strings) : NULL;

	if (!string)
		return ht_no_memory(h, e);
	*string = kept;
	*ret_1 = (uint32_t)h->strings.nr;
	return 0;
}
