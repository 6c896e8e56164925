/*
 * Conditions of 'memdiag check': valid and invalid ones; and random ones, whose ranges are compared
 * with the inequality itself, multiplied out in 128 bits.
 */
#include <config.h>

#include "diagnose/conditions.h"
#include "seeds.h"

#define NR_CONDITIONS 400
#define NR_VALUES 40

__extension__ typedef unsigned __int128 wide;

static const struct {
	const char *text;
	enum metric metric;
	enum condition_compare compare;
	enum condition_whole whole;
	uint64_t number;
} valid[] = {
	{ "rss>1G", METRIC_RSS, CONDITION_OVER, CONDITION_OF_NOTHING, UINT64_C(1) << 30 },
	{ "rss>=1.5M", METRIC_RSS, CONDITION_FROM, CONDITION_OF_NOTHING, 3 << 19 },
	{ "in-use\t<= 512", METRIC_IN_USE, CONDITION_TO, CONDITION_OF_NOTHING, 512 },
	{ ".so<0", METRIC_SO, CONDITION_UNDER, CONDITION_OF_NOTHING, 0 },
	{ "threads>100", METRIC_THREADS, CONDITION_OVER, CONDITION_OF_NOTHING, 100 },
	{ "arenas >= 8", METRIC_ARENAS, CONDITION_FROM, CONDITION_OF_NOTHING, 8 },
	{ "rss>80%limit", METRIC_RSS, CONDITION_OVER, CONDITION_OF_LIMIT, 80000 },
	{ "trimmable > 12.5% rss", METRIC_TRIMMABLE, CONDITION_OVER, CONDITION_OF_RSS, 12500 },
	{ "swap>0.001%ram", METRIC_SWAP, CONDITION_OVER, CONDITION_OF_RAM, 1 },
	{ "tops>1000000%rss", METRIC_TOPS, CONDITION_OVER, CONDITION_OF_RSS, 1000000000 },
};

static const struct {
	const char *text, *says;
} wrong[] = {
	{ "", "condition '': '' is not a metric: there are rss, swap, virt, threads, stack" },
	{ "RSS>1", "'RSS' is not a metric" },
	{ "rs>1", "'rs' is not a metric" },
	{ ">1", "'' is not a metric" },
	{ "rss", "'' is not a comparison: there are >, >=, < and <=" },
	{ "rss 1", "'' is not a comparison" },
	{ "rss=1", "'=' is not a comparison" },
	{ "rss==1", "'==' is not a comparison" },
	{ "rss!=1", "'!=' is not a comparison" },
	{ "rss=>1", "'=>' is not a comparison" },
	{ "rss>", "'' is not a size: say 500M, 1.5G or 80%limit" },
	{ "rss>1 ", "'1 ' is not a size" },
	{ "rss>-1", "'-1' is not a size" },
	{ "rss>1X", "'1X' is not a size" },
	{ "rss>1 G x", "'1 G x' is not a size" },
	{ "rss>0x10", "'0x10' is not a size" },
	{ "rss>inf", "'inf' is not a size" },
	{ "rss>1%", "'' is not limit, rss or ram" },
	{ "rss>1%swap", "'swap' is not limit, rss or ram" },
	{ "rss>1%limit ", "'limit ' is not limit, rss or ram" },
	{ "rss>%limit", "is not a percentage: say 80%limit" },
	{ "rss>1.%limit", "is not a percentage: say 80%limit" },
	{ "rss>1.2345%limit", "is not a percentage: say 80%limit" },
	{ "rss>1.2.3%limit", "is not a percentage: say 80%limit" },
	{ "rss>1G%limit", "is not a percentage: say 80%limit" },
	{ "rss>1000001%limit", "is not a percentage: say 80%limit" },
	{ "rss>99999999999999999999999%limit", "is not a percentage: say 80%limit" },
	{ "threads>1K", "'1K' is not a count, as in threads>100" },
	{ "threads>1.5", "'1.5' is not a count" },
	{ "threads>10%rss", "'10%rss' is not a count" },
	{ "arenas>", "'' is not a count" },
	{ "threads>99999999999999999999", "is not a count" },
};

static void
test_valid(void)
{
	for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
		struct condition c;
		struct err e = { 0 };

		ok(condition_parse(&c, valid[i].text, &e) == 0 && c.metric == valid[i].metric &&
				c.compare == valid[i].compare && c.whole == valid[i].whole &&
				c.number == valid[i].number,
			"'%s' %s", valid[i].text, e.msg);
	}
}

static void
test_wrong(void)
{
	char word[300];
	struct condition c;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct err e = { 0 };

		ok(condition_parse(&c, wrong[i].text, &e) < 0 && e.kind == ERR_USAGE &&
				strstr(e.msg, wrong[i].says),
			"'%s': %s", wrong[i].text, e.msg);
	}
	memset(word, 'a', sizeof word - 1);
	word[sizeof word - 1] = '\0';
	ok(condition_parse(&c, word, &(struct err){ 0 }) < 0, "a word of 299 letters");
}

/* ---- random ---- */

/* A number of any size. */
static uint64_t
some_number(void)
{
	const unsigned int bits = (unsigned int)some(65);
	const uint64_t n = some(UINT64_C(1) << 31) << 33 | some(UINT64_C(1) << 31) << 2 | some(4);

	return bits ? n >> (64 - bits) : 0;
}

/* Whether C holds for VALUE: the inequality, without a division. */
static bool
holds(const struct condition *c, uint64_t value, uint64_t whole)
{
	const wide left = (wide)value * (c->whole ? 100000 : 1);
	const wide right = (wide)c->number * (c->whole ? whole : 1);

	switch (c->compare) {
	case CONDITION_OVER:
		return left > right;
	case CONDITION_FROM:
		return left >= right;
	case CONDITION_UNDER:
		return left < right;
	default:
		return left <= right;
	}
}

/* A value near to the threshold of C, or any other. */
static uint64_t
some_value(const struct condition *c, uint64_t whole)
{
	const uint64_t threshold = condition_threshold(c, whole);

	switch (some(4)) {
	case 0:
		return some_number();
	case 1:
		return threshold - some(3);
	case 2:
		return threshold + some(3);
	default:
		return some(2) ? 0 : UINT64_MAX;
	}
}

static struct condition
some_condition(void)
{
	struct condition c = { .metric = METRIC_RSS,
		.compare = (enum condition_compare)some(4),
		.whole = (enum condition_whole)some(NR_CONDITION_WHOLES) };

	c.number = c.whole ? some(1000000001) >> some(30) : some_number();
	return c;
}

static bool
try_one(void)
{
	const struct condition a = some_condition(), b = some_condition();
	const uint64_t whole = some_number();
	const struct condition_range ra = condition_range(&a, whole),
				     both = condition_both(ra, condition_range(&b, whole));

	for (int i = 0; i < NR_VALUES; i++) {
		const uint64_t value = some_value(some(2) ? &a : &b, whole);

		if (condition_has(&ra, value) == holds(&a, value, whole))
			return FAIL("%" PRIu64 " %s %" PRIu64 "/%d of %" PRIu64, value,
				condition_operator(&a), a.number, (int)a.whole, whole);
		if (condition_has(&both, value) ==
			(holds(&a, value, whole) || holds(&b, value, whole)))
			return FAIL("%" PRIu64 ", two conditions", value);
	}
	return true;
}

static bool
try_seed(void)
{
	for (int i = 0; i < NR_CONDITIONS; i++)
		if (!try_one())
			return false;
	return true;
}

int
main(int argc, char **argv)
{
	test_valid();
	test_wrong();
	seeds_try(seeds_of(argc, argv, 50), try_seed,
		"the ranges of random conditions are their inequalities");
	return tap_end();
}
