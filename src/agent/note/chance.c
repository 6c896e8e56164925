#include <config.h>

#include "agent/note/chance.h"

#include <string.h>

#define LN2 0.693147180559945309417232121458176568

/* ---- functions of libm ---- */

/*
 * Split X into M * 2^*RET_EXPONENT, with M in [sqrt(1/2), sqrt(2)).  X is positive and not
 * denormal.
 */
static double
chance_split(double x, int *ret_exponent)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	*ret_exponent = (int)(bits >> 52) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	memcpy(&x, &bits, sizeof x);
	if (x > 1.4142135623730951) {
		x /= 2;
		++*ret_exponent;
	}
	return x;
}

/* log(m) = 2 atanh(s), s = (m - 1) / (m + 1): |s| < 0.172, and terms after s^21 are negligible. */
double
chance_minus_log(double x)
{
	int exponent;
	const double m = chance_split(x, &exponent), s = (m - 1) / (m + 1), s2 = s * s;
	double sum = 0;

	for (int k = 21; k >= 1; k -= 2)
		sum = sum * s2 + 1.0 / k;
	return -(exponent * LN2 + 2 * s * sum);
}

/* exp(x) - 1 for small X: powers after the 14th are negligible. */
static double
exp_less_1(double x)
{
	double sum = 0;

	for (int k = 14; k >= 1; k--)
		sum = (sum + 1) * x / k;
	return sum;
}

static double
power_of_half(int n)
{
	const uint64_t bits = (uint64_t)(1023 - n) << 52;
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

double
chance_of(double x)
{
	const int n = x < 60 ? (int)(x / LN2) : 0;

	if (x >= 60)
		return 1;
	return 1 - power_of_half(n) - power_of_half(n) * exp_less_1(-(x - n * LN2));
}

/* ---- samples ---- */

/* splitmix64, by Steele, Lea and Flood. */
uint64_t
chance_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A random number in (0, 1] with the full precision of a double. */
static double
part(uint64_t *state)
{
	return (double)((chance_random(state) >> 11) + 1) / (double)(UINT64_C(1) << 53);
}

int64_t
chance_step(uint64_t *state, uint64_t period_bytes)
{
	if (period_bytes == 1)
		return 1;
	return (int64_t)(chance_minus_log(part(state)) * (double)period_bytes) + 1;
}

struct wire_amount
chance_amount(uint64_t *state, uint64_t size, uint64_t period_bytes)
{
	const double blocks = 1 / chance_of((double)chance_bytes(size) / (double)period_bytes);
	/* Less than 1, so that a whole number does not change. */
	const double up = 1 - part(state);

	if (period_bytes == 1)
		return (struct wire_amount){ WIRE_BLOCK_UNITS, size };
	return (struct wire_amount){ (uint64_t)(blocks * WIRE_BLOCK_UNITS + up),
		(uint64_t)(blocks * (double)size + up) };
}
