/*
 * How far it is to the next sample, and what a sample stands for: the functions of libm against
 * libm's own, and sums of samples against what was allocated.
 */
#include <config.h>

#include <math.h>

#include "tap.h"

#include "agent/note/chance.c"

static double
relative(double got, double want)
{
	return want != 0 ? fabs(got - want) / fabs(want) : fabs(got);
}

static void
test_libm(void)
{
	uint64_t state = 1;
	double log_worst = 0, chance_worst = 0;

	for (int i = 0; i < 1000000; i++) {
		const double u =
			(double)((chance_random(&state) >> 11) + 1) / (double)(UINT64_C(1) << 53);
		const double scale[] = { 1, 1e-2, 1e-4, 1e-7, 20, 100 };
		const double x = u * scale[i % 6];

		log_worst = fmax(log_worst, relative(chance_minus_log(u), -log(u)));
		chance_worst = fmax(chance_worst, relative(chance_of(x), -expm1(-x)));
	}
	printf("# relative errors: %g, %g\n", log_worst, chance_worst);
	ok(log_worst < 1e-14, "-log(x) is libm's");
	ok(chance_worst < 1e-12, "1 - exp(-x) is libm's");
	ok(chance_minus_log(1) == 0 && chance_of(0) == 0, "at their ends");
	ok(chance_of(1e9) == 1, "what is certain");
}

/* ---- estimates ---- */

/* Programs allocate blocks of these sizes, so many of each. */
static const uint64_t sizes[] = { 0, 1, 16, 24, 100, 1000, 4096, 30000, 131072, 1000000, 5000000 };
#define NR_SIZES (sizeof sizes / sizeof *sizes)

static double
chance(uint64_t size, uint64_t period)
{
	return period == 1 ? 1 : -expm1(-(double)chance_bytes(size) / (double)period);
}

/*
 * The standard deviation of the bytes that are estimated for N blocks of SIZE: sqrt(n (1 - p) / p).
 */
static double
sigma(uint64_t size, double nr, uint64_t period)
{
	const double p = chance(size, period);

	return (double)size * sqrt(nr * (1 - p) / p);
}

/* One run: NR blocks of SIZE.  What it is off, in standard deviations, for bytes. */
static double
estimate(uint64_t seed, uint64_t size, int nr, uint64_t period, double *ret_blocks)
{
	uint64_t state = seed, bytes = 0, units = 0;
	int64_t left = chance_step(&state, period);

	for (int i = 0; i < nr; i++) {
		struct wire_amount a;

		if ((uint64_t)left > chance_bytes(size)) {
			left -= (int64_t)chance_bytes(size);
			continue;
		}
		a = chance_amount(&state, size, period);
		bytes += a.bytes;
		units += a.units;
		left = chance_step(&state, period);
	}
	*ret_blocks = (double)units / WIRE_BLOCK_UNITS;
	return (double)bytes - (double)size * nr;
}

/*
 * All runs of one rate and size: they are off by no more than chance lets them be, and on average
 * by nothing.  The seeds are fixed, so the test ends in the same way each time.
 */
static void
test_bias(uint64_t period, int nr_runs)
{
	double worst = 0, worst_mean = 0;
	bool is_exact = true;

	for (size_t k = 0; k < NR_SIZES; k++) {
		const int nr = sizes[k] < 4096 ? 20000 : 5000;
		const double s = sigma(sizes[k], nr, period);
		const double p = chance(sizes[k], period);
		double sum = 0, blocks, blocks_sum = 0;

		for (int run = 0; run < nr_runs; run++) {
			const double off = estimate(
				(uint64_t)run * 1000003 + k, sizes[k], nr, period, &blocks);

			sum += off;
			blocks_sum += blocks - nr;
			/* A few samples are not spread as many are. */
			if (s > 0 && nr * p * (1 - p) > 30)
				worst = fmax(worst, fabs(off) / s);
		}
		is_exact &= s > 0 || (sum == 0 && blocks_sum == 0);
		if (s > 0 && nr * p * (1 - p) * nr_runs > 30)
			worst_mean = fmax(worst_mean, fabs(sum / nr_runs) / (s / sqrt(nr_runs)));
		printf("# %8" PRIu64 " bytes, 1 in %8" PRIu64
		       ": mean error %+.4f%% of bytes, %+.4f%% of blocks; sigma of a run %.3f%%\n",
			sizes[k], period,
			sizes[k] ? 100 * sum / nr_runs / ((double)sizes[k] * nr) : 0,
			100 * blocks_sum / nr_runs / nr,
			sizes[k] ? 100 * s / ((double)sizes[k] * nr) : 0);
	}
	if (period == 1)
		ok(is_exact, "where each block is sampled all is exact");
	ok(worst < 5, "1 in %" PRIu64 ": no run is off by more than chance allows (%.1f sigma)",
		period, worst);
	ok(worst_mean < 4, "1 in %" PRIu64 ": and their mean is right (%.1f standard errors)",
		period, worst_mean);
}

int
main(void)
{
	static const uint64_t periods[] = { 1, 256, 1024, 16384, 524288, 4194304 };

	test_libm();
	for (size_t i = 0; i < sizeof periods / sizeof *periods; i++)
		test_bias(periods[i], tap_share(200));
	return tap_end();
}
