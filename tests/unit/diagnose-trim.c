/* Caveats of a forecast, also for kernels other than this one, and none without a reason. */
#include <config.h>

#include <string.h>

#include "diagnose/trim-forecast.h"
#include "diagnose/trim.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)

static const struct trim_options options = { .max_lock_ns = 500000000 };

/* Whether the caveats of T are those called IDS, "a b", in that order. */
static bool
says(const struct trim *t, const char *ids)
{
	struct caveat caveat[TRIM_CAVEATS];
	size_t nr = trim_caveats(t, &options, caveat);
	char said[200] = "";

	for (size_t i = 0; i < nr; i++) {
		size_t len = strlen(said);

		snprintf(said + len, sizeof said - len, "%s%s", i ? " " : "", caveat[i].id);
		if (!caveat[i].text[0] || caveat[i].text[strlen(caveat[i].text) - 1] != '.')
			return false;
	}
	if (strcmp(said, ids) == 0)
		return true;
	printf("# said: %s\n", said);
	return false;
}

int
main(void)
{
	struct trim plain = { .forecast = { .heap.has_uss = true,
				      .rss_bytes = 80 * MIB,
				      .uss_bytes = 80 * MIB,
				      .longest_lock_ns = 500000000 } };
	struct trim t = plain;

	ok(says(&t, ""), "nothing, where nothing is in the way");
	t.forecast.again_after_ns = 100000000;
	t.forecast.again_rss_bytes = 80 * MIB + 80 * MIB / 100;
	ok(says(&t, ""), "not that it changes a little");
	t.forecast.again_rss_bytes = 82 * MIB;
	ok(says(&t, "changing"), "that it grows");
	t.forecast.again_rss_bytes = 0;
	ok(says(&t, "changing"), "that it goes");
	t = plain;
	t.forecast.longest_lock_ns++;
	ok(says(&t, "lock"), "that a lock takes longer than it may");
	t = plain;
	t.forecast.uss_bytes -= 4096;
	ok(says(&t, "shared"), "that others have a page");
	t.forecast.heap.has_uss = false;
	ok(says(&t, ""), "not that others have it, if that is not known");
	t = plain;
	t.forecast.swap_bytes = 4096;
	ok(says(&t, "swapped"), "that some is in swap");
	t.forecast.longest_lock_ns++;
	t.forecast.uss_bytes = 0;
	t.forecast.again_after_ns = 1;
	t.forecast.huge_bytes = t.forecast.mlocked_bytes = MIB;
	ok(says(&t, "changing lock shared huge-pages mlocked swapped"), "all of it at once");
	return tap_end();
}
