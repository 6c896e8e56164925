/*
 * How far one scan of the page tables reaches.  A long one over empty page tables holds the
 * target's mmap lock, so it may grow only where scans of its whole reach were quick.  The kernel
 * and the clock are the test's.
 */
#include <config.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include "os/os.h"
#include "os/pages.h"
#include "os/target.h"
#include "fake-clock.h"
#include "tap.h"

#define PAGE UINT64_C(4096)
#define PIECE (UINT64_C(64) << 20) /* the shortest reach */
#define TIB (UINT64_C(1) << 40)

/* uapi/linux/fs.h, struct pm_scan_arg, and a run of pages. */
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted_mask, all_mask, any_mask, return_mask;
};
struct run {
	uint64_t start, end, categories;
};
#define SCAN _IOWR('f', 16, struct scan)
#define IS_PRESENT (UINT64_C(1) << 3)

static uint64_t cost_ns, cpu_ns;
static bool is_traced; /* a scan takes little processor time */
static bool has_runs;  /* every other page is present; else none */
static uint64_t nr_scans, longest_bytes, last_bytes;

int __wrap_ioctl(int fd, unsigned long request, void *arg);
uint64_t __wrap_os_cpu_ns(void);

uint64_t
__wrap_os_cpu_ns(void)
{
	return cpu_ns;
}

void
__wrap_os_sleep_ns(uint64_t ns)
{
	now_ns += ns;
}

int
__wrap_ioctl(int fd, unsigned long request, void *arg)
{
	struct scan *a = arg;
	struct run *run = (struct run *)(uintptr_t)a->vec;
	uint64_t nr = 0;

	(void)fd;
	if (request != SCAN)
		return -1;
	now_ns += cost_ns;
	cpu_ns += is_traced ? 1000 : cost_ns;
	nr_scans += a->end > a->start;
	last_bytes = a->end - a->start;
	longest_bytes = last_bytes > longest_bytes ? last_bytes : longest_bytes;
	a->walk_end = a->end;
	for (uint64_t at = a->start; has_runs && at < a->end; at += 2 * PAGE) {
		a->walk_end = at;
		if (nr == a->vec_len)
			break;
		run[nr++] = (struct run){ at, at + PAGE, IS_PRESENT };
		a->walk_end = a->end;
	}
	return (int)nr;
}

static int
count(const struct os_page_run *run, void *arg)
{
	*(uint64_t *)arg += run->end.v - run->start.v;
	return 0;
}

/* Scan BYTES, each scan taking NS and finding runs or nothing; returns how much was present. */
static uint64_t
walk(struct os_pages *p, uint64_t bytes, bool finds_runs, uint64_t ns)
{
	const raddr start = { TIB };
	uint64_t present = 0;
	struct err e = { 0 };

	cost_ns = ns;
	has_runs = finds_runs;
	nr_scans = longest_bytes = 0;
	if (os_pages_walk(p, start, raddr_add(start, bytes), false, count, &present, &e) < 0)
		printf("# %s\n", e.msg);
	return present;
}

int
main(void)
{
	auto_target struct target t = TARGET_NONE;
	auto_pages struct os_pages *p = NULL;
	struct err e = { 0 };

	if (!ok(target_open(&t, getpid(), &e) == 0 && os_pages_open(&p, &t, OS_PAGES_SCAN, &e) == 0,
		    "pages %s", e.msg))
		return tap_end();
	is_u64(walk(p, 8 * PIECE, true, 1000), 4 * PIECE, "many runs are found");
	is_u64(longest_bytes, PIECE, "scans that runs end do not lengthen the reach");
	for (int i = 0; i < 100; i++)
		walk(p, PAGE, false, 1000);
	walk(p, TIB, false, 1000);
	ok(longest_bytes > PIECE && nr_scans < 20,
		"in an empty range it grows: %" PRIu64 " scans of a TiB", nr_scans);
	walk(p, 4 * TIB, false, 200000);
	ok(last_bytes <= PIECE, "where scans are slow it shrinks");
	ok(nr_scans <= 4 * TIB / PIECE, "but not below a piece: %" PRIu64 " scans", nr_scans);
	for (int i = 0; i < 100; i++)
		walk(p, PAGE, false, 1000);
	walk(p, PIECE * 2, false, 200000);
	is_u64(longest_bytes, PIECE, "quick scans of single pages do not lengthen it");
	is_traced = true;
	walk(p, 4 * TIB, false, 50000);
	ok(nr_scans < 100, "where each call is slow, processor time counts: %" PRIu64 " scans",
		nr_scans);
	is_u64(walk(p, 8 * PIECE, true, 1000), 4 * PIECE, "where there are pages it ends");
	is_traced = false;
	walk(p, 4 * TIB, false, 200000);
	ok(last_bytes <= PIECE, "and slow scans shrink it again");
	return tap_end();
}
