/* Every difference between our sums and the kernel's counters has a name. */
#include <config.h>

#include "maps/identities.h"
#include "maps/maps.h"
#include "os/machine.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)

static const struct identity *
find(const struct space *s, struct identity id[NR_IDENTITIES], const char *name)
{
	size_t nr = space_identities(s, id);

	for (size_t i = 0; i < nr; i++)
		if (strcmp(id[i].name, name) == 0)
			return &id[i];
	return NULL;
}

static void
explained(const struct space *s, const char *name, const char *want, const char *words)
{
	struct identity id[NR_IDENTITIES];
	const struct identity *i = find(s, id, name);

	is_str(i ? i->explained_by : "(not there)", want, words);
}

static struct process process;

/* A target of 100 MiB, 10 MiB of it resident, that stands still. */
static struct space
still(void)
{
	struct space s = { .process = &process, .rss_from = SPACE_RSS_SCAN, .has_kinds = true };

	process = (struct process){ .maps.size_before_bytes = 100 * MIB,
		.maps.size_after_bytes = 100 * MIB };
	s.totals.virt_bytes = 100 * MIB;
	s.totals.rss_bytes = s.before.vm_rss_bytes = s.after.vm_rss_bytes = 10 * MIB;
	s.totals.rss_anon_bytes = s.before.rss_anon_bytes = s.after.rss_anon_bytes = 10 * MIB;
	s.before.nr_threads = s.after.nr_threads = 1;
	return s;
}

int
main(void)
{
	struct identity id[NR_IDENTITIES];
	struct region reserve = { .end = { UINT64_C(1) << 30 }, .prot = "---p" };
	struct space s = still();

	is_u64(space_identities(&s, id), 7, "seven of them");
	for (int i = 0; i < 7; i++)
		is_str(id[i].explained_by, NULL, id[i].name);

	s.after.vm_rss_bytes += MIB;
	explained(&s, "VmRSS", NULL, "equal to what it was before we counted is equal");
	s.totals.rss_bytes += MIB / 2;
	explained(&s, "VmRSS", "changed while it was read", "neither before nor after");

	s = still();
	s.totals.rss_bytes -= 4096;
	s.linux_version = OS_LINUX(6, 16);
	explained(&s, "VmRSS", "not explained", "since Linux 6.16 counters do not lag");
	s.linux_version = OS_LINUX(6, 15);
	explained(&s, "VmRSS", "the kernel's counters lag behind (before Linux 6.16)",
		"a few pages are counters that lag");
	s.totals.rss_bytes = 0;
	s.before.vm_rss_bytes = s.after.vm_rss_bytes = UINT64_C(1) << 40;
	explained(&s, "VmRSS", "not explained", "a terabyte is no lag");

	s.has_faulted = true;
	explained(&s, "VmRSS", "changed while it was read",
		"but with page faults the counter may have gone up and come back");

	s = still();
	s.rss_from = SPACE_RSS_PAGEMAP;
	s.totals.rss_bytes += MIB;
	explained(&s, "VmRSS", "not explained", "pagemap counts as the kernel does");
	s.counts_zero = true;
	explained(&s, "VmRSS",
		"zero pages count as resident: CAP_SYS_ADMIN and /proc/kpageflags show them",
		"unless it shows no zero pages");
	s.totals.rss_bytes -= 2 * MIB;
	explained(&s, "VmRSS", "not explained", "which are not what is missing");
	process.maps.region = &reserve;
	process.maps.nr = 1;
	explained(&s, "VmRSS", "not explained", "it reads reserves of 1 GiB");
	reserve.end.v++;
	explained(&s, "VmRSS", "PROT_NONE mappings of more than 1 GiB were not counted",
		"but not larger ones");
	s.counts_zero = false;
	s.totals.rss_bytes += 2 * MIB;
	explained(&s, "VmRSS", "not explained", "which makes no RSS too high");
	s.totals.rss_bytes -= 2 * MIB;
	s.after.vm_swap_bytes = s.before.vm_swap_bytes = MIB;
	explained(&s, "VmSwap", "PROT_NONE mappings of more than 1 GiB were not counted",
		"they may be in swap");
	process.maps.nr = 0;

	s = still();
	s.totals.swap_bytes = 4096;
	s.linux_version = OS_LINUX(6, 12);
	explained(&s, "VmSwap", "the kernel's counters lag behind (before Linux 6.16)",
		"a swapped page is a counter that lags");
	s.linux_version = OS_LINUX(6, 14);
	explained(&s, "VmSwap",
		"guard pages look like swapped ones, or the kernel's counter lags behind "
		"(before Linux 6.15)",
		"or a guard page");
	s.linux_version = OS_LINUX(6, 12);
	s.totals.swap_bytes = os_rss_lag(s.linux_version, 1) / 3 + 4096;
	explained(&s, "VmSwap", "not explained", "the lag of one counter is a third of RSS's");
	s.totals.swap_bytes = MIB;
	s.linux_version = OS_LINUX(6, 12);
	explained(&s, "VmSwap", "not explained", "Linux 6.12 has no guard pages");
	s.linux_version = OS_LINUX(6, 15);
	explained(&s, "VmSwap", "not explained", "and 6.15 shows them");
	s.linux_version = OS_LINUX(6, 14);
	explained(&s, "VmSwap", "guard pages look like swapped ones (before Linux 6.15)",
		"more swap than the kernel knows is guard pages");
	s.rss_from = SPACE_RSS_SMAPS;
	explained(&s, "VmSwap", "smaps counts swapped shared memory, VmSwap does not",
		"or shared memory, with smaps");

	s = still();
	s.totals.virt_bytes -= 4096;
	explained(&s, "VmSize", "not explained", "VIRT that is missing is not explained away");
	process.maps.torn_bytes = 4096;
	explained(&s, "VmSize", "changed while it was read", "unless the map was torn");

	s = still();
	s.rss_from = SPACE_RSS_NONE;
	is_u64(space_identities(&s, id), 1, "without pages only VIRT can be compared");
	return tap_end();
}
