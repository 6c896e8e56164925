/*
 * tap: what a unit test says, in the Test Anything Protocol.  A test ends with
 * "return tap_end();", so a crash shows as a missing plan.
 */
#ifndef MEMDIAG_TESTS_TAP_H
#define MEMDIAG_TESTS_TAP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static int tap_nr, tap_failed;

static inline bool __attribute__((format(printf, 2, 3))) ok(bool is_ok, const char *fmt, ...)
{
	char name[512];
	__builtin_va_list ap;

	__builtin_va_start(ap, fmt);
	vsnprintf(name, sizeof name, fmt, ap);
	__builtin_va_end(ap);
	printf("%sok %d - %s\n", is_ok ? "" : "not ", ++tap_nr, name);
	tap_failed += !is_ok;
	return is_ok;
}

static inline bool
is_u64(uint64_t got, uint64_t want, const char *name)
{
	if (!ok(got == want, "%s", name))
		printf("#   got %" PRIu64 " (%#" PRIx64 "), want %" PRIu64 " (%#" PRIx64 ")\n", got,
			got, want, want);
	return got == want;
}

static inline bool
is_str(const char *got, const char *want, const char *name)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;

	if (!ok(same, "%s", name))
		printf("#   got '%s', want '%s'\n", got ? got : "(null)", want ? want : "(null)");
	return same;
}

/* A test point that cannot be tried here. */
static inline void
skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_nr, name, why);
}

/* Return whether this program was built with AddressSanitizer. */
static inline bool
tap_is_sanitized(void)
{
#ifdef __SANITIZE_ADDRESS__
	return true;
#else
	return false;
#endif
}

/*
 * For a test of what libc's own malloc and stdio do in this program: true, and WHAT is skipped,
 * where AddressSanitizer has put its own in front of them.
 */
static inline bool
skip_if_sanitized(const char *what)
{
	if (tap_is_sanitized())
		skip(what, "malloc and stdio are a sanitizer's here");
	return tap_is_sanitized();
}

/*
 * SIGPROF ends this program after so many SECONDS of processor time (0: never), which a busy
 * machine does not make longer.
 */
static inline void
limit_cpu(int seconds)
{
	const struct itimerval limit = { .it_value = { .tv_sec = seconds } };

	setitimer(ITIMER_PROF, &limit, NULL);
}

/* The share of NR repetitions to make; tests/live/lib.sh has the same in some(). */
static inline int
tap_share(int nr)
{
	const char *percent = getenv("MEMDIAG_TEST_SHARE");

	return percent ? (nr * atoi(percent) + 99) / 100 : nr;
}

static inline int
tap_end(void)
{
	printf("1..%d\n", tap_nr);
	return tap_failed != 0;
}

#endif
