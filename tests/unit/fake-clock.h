/*
 * A clock that stands still, for tests that are linked with --wrap=os_now_ns.
 */
#ifndef TESTS_UNIT_FAKE_CLOCK_H
#define TESTS_UNIT_FAKE_CLOCK_H

#include <stdint.h>

static uint64_t now_ns = 1000;

uint64_t __wrap_os_now_ns(void);
void __wrap_os_sleep_ns(uint64_t ns);

uint64_t
__wrap_os_now_ns(void)
{
	return now_ns;
}

#endif
