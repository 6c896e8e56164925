/* Whatever a condition of 'memdiag check' has, it is parsed or refused, and its range is sound. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "diagnose/conditions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct condition c = { .metric = NR_METRICS };
	struct err e = { 0 };

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (condition_parse(&c, text, &e) < 0) {
		if (e.kind != ERR_USAGE || !strstr(e.msg, "condition '") || c.metric != NR_METRICS)
			abort();
	} else {
		const uint64_t whole = UINT64_C(1) << 34,
			       threshold = condition_threshold(&c, whole);
		const struct condition_range r = condition_range(&c, whole);

		if (c.metric >= NR_METRICS || c.whole >= NR_CONDITION_WHOLES ||
			(c.whole && !metric_is_bytes(c.metric)))
			abort();
		/* Both sides differ, unless the threshold is at an end of all numbers. */
		if (threshold && threshold < UINT64_MAX &&
			condition_has(&r, threshold - 1) == condition_has(&r, threshold + 1))
			abort();
	}
	free(text);
	return 0;
}
