/* The processors' time counter, judged by the kernel's choice of a clock source. */
#include <config.h>

#include "os/counter.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

#define SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/*
 * Clock sources that are computed from that counter: the kernel switches to another one as soon as
 * it finds that the counter differs between processors (kernel/time/clocksource.c;
 * arch/x86/kernel/tsc.c, kvmclock.c; drivers/clocksource/hyperv_timer.c, arm_arch_timer.c).
 */
bool
os_counter_is_steady(void)
{
	static const char *const sources[] = { "tsc", "tsc-early", "kvm-clock",
		"hyperv_clocksource_tsc_page", "arch_sys_counter" };
	auto_file FILE *f = fopen(SOURCE, "re");
	char name[64] = "";

	if (!f || !fgets(name, sizeof name, f))
		return false;
	name[strcspn(name, "\n")] = '\0';
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
		if (strcmp(name, sources[i]) == 0)
			return true;
	return false;
}
