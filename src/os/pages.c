/*
 * The present pages of a target.  PAGEMAP_SCAN (fs/proc/task_mmu.c, 6.7+) reports runs of pages and
 * skips empty page tables; before, /proc/PID/pagemap has eight bytes for every page.
 *
 * Both hold the target's mmap lock during the walk, and threads that map or unmap wait for it.  So
 * the walk proceeds in pieces, and pauses after some time: without a pause we would take the lock
 * back before the waiting thread wakes up.
 */
#include <config.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/core-memory.h"
#include "os/diagnose.h"
#include "os/os-priv.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/zero-pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/pages.h"

#define PIECE_BYTES (UINT64_C(64) << 20)
#define BUSY_NS 2000000
#define PAUSE_NS 50000

/*
 * uapi/linux/fs.h has these since 6.7 (the guard category since 6.15); we also build with older
 * headers.
 */
#define PAGE_FILE (UINT64_C(1) << 2)
#define PAGE_PRESENT (UINT64_C(1) << 3)
#define PAGE_SWAPPED (UINT64_C(1) << 4)
#define PAGE_ZERO (UINT64_C(1) << 5)
#define PAGE_HUGE (UINT64_C(1) << 6)
#define PAGE_GUARD (UINT64_C(1) << 8)

struct pages_run {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted_mask, all_mask, any_mask, return_mask;
};

#define SCAN _IOWR('f', 16, struct scan_arg)

const unsigned long os_pages_scan_request = SCAN;

/*
 * With more than 512 the kernel refills an internal buffer in the middle, and a walk that ends
 * normally then reports as its end the address at which the buffer was last emptied (6.7 to 6.18,
 * pagemap_scan_pmd_entry and do_pagemap_scan): continuing from there counts pages twice.  In a
 * target that runs, a lower limit ends a scan, and gives the lock back, after about as long as
 * smaps holds it for one mapping.
 */
#define SCAN_RUNS 512
#define SCAN_RUNS_RUNNING 32
/* A scan that found nothing but took longer than this covers fewer addresses the next time. */
#define SCAN_LONG_NS 100000
#define REACH_MAX (UINT64_C(1) << 47)
/*
 * The number of scans in a row that found nothing and were not quick, after which the reason may be
 * that each system call is slow, as under strace(1).  From then on processor time is compared,
 * without the tracer's, until a scan finds something.
 */
#define EMPTY_MAX 32

struct os_pages {
	const struct core *core; /* if set, only BY is used as well */
	int fd;
	pid_t pid;
	enum os_pages_by by;
	uint64_t guard_mask; /* PAGE_GUARD if the kernel knows it, else 0 */
	uint64_t page_bytes;
	uint64_t busy_ns;	/* since the last pause */
	uint64_t reach_bytes;	/* maximum range of addresses of one scan; at least PIECE_BYTES */
	unsigned int nr_empty;	/* scans in a row that found nothing and were not quick */
	bool is_stopped;	/* so no thread of the target can wait for us */
	struct zero_pages zero; /* for OS_PAGES_PAGEMAP */
	const struct os_page_run *known; /* all runs below KNOWN_END; borrowed */
	size_t nr_known;
	uint64_t known_end;
	union {
		struct pages_run run[SCAN_RUNS];
		uint64_t *entry; /* of PIECE_BYTES */
	};
};

static int
scan(struct os_pages *p, uint64_t start, uint64_t end, bool want_kind, uint64_t *ret_end)
{
	struct scan_arg a = {
		.size = sizeof a,
		.start = start,
		.end = end,
		.vec = (uintptr_t)p->run,
		.vec_len = p->is_stopped ? SCAN_RUNS : SCAN_RUNS_RUNNING,
		.max_pages = PIECE_BYTES / p->page_bytes,
		/*
		 * Exclude zero pages: they are present, but take no memory and are not counted in
		 * RSS.
		 */
		.inverted_mask = PAGE_ZERO,
		.all_mask = PAGE_ZERO,
		.any_mask = PAGE_PRESENT | PAGE_SWAPPED,
		.return_mask = PAGE_PRESENT | PAGE_SWAPPED | PAGE_HUGE | p->guard_mask |
			(want_kind ? PAGE_FILE : 0),
	};
	int n = ioctl(p->fd, SCAN, &a);

	*ret_end = a.walk_end;
	return n;
}

/* Return whether the kernel supports scans, by a scan of an empty range. */
static bool
can_scan(struct os_pages *p)
{
	uint64_t end;

	p->guard_mask = PAGE_GUARD;
	if (scan(p, 0, 0, false, &end) == 0)
		return true;
	p->guard_mask = 0;
	return scan(p, 0, 0, false, &end) == 0;
}

static int
pages_choose(struct os_pages *p, enum os_pages_by by, struct err *e)
{
	if (by != OS_PAGES_PAGEMAP && can_scan(p)) {
		p->by = OS_PAGES_SCAN;
		return 0;
	}
	if (by == OS_PAGES_SCAN)
		return err_set_kind(e, ERR_UNSUPPORTED, errno,
			"this kernel has no PAGEMAP_SCAN (it came with Linux 6.7)");
	p->entry = malloc(PIECE_BYTES / p->page_bytes * sizeof *p->entry);
	if (!p->entry)
		return err_set(e, ENOMEM, "cannot read page tables");
	zero_pages_open(&p->zero);
	p->by = OS_PAGES_PAGEMAP;
	return 0;
}

int
os_pages_open(struct os_pages **ret, const struct target *t, enum os_pages_by by, struct err *e)
{
	struct os_pages *p = calloc(1, sizeof *p);

	if (!p)
		return err_set(e, ENOMEM, "cannot read page tables");
	p->pid = t->pid;
	p->core = t->core;
	p->zero = ZERO_PAGES_NONE;
	p->fd = -1;
	p->reach_bytes = PIECE_BYTES;
	if (p->core) {
		p->by = p->core->has_holes ? OS_PAGES_HOLES : OS_PAGES_NONZERO;
		*ret = p;
		return 0;
	}
	p->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	p->fd = os_proc_open(t, "pagemap", O_RDONLY, e);
	if (p->fd < 0 && e->kind == ERR_PERMISSION)
		os_diagnose_eperm(t, "read its page tables", e);
	if (p->fd < 0 || pages_choose(p, by, e) < 0) {
		os_pages_free(p);
		return -1;
	}
	*ret = p;
	return 0;
}

void
os_pages_free(struct os_pages *p)
{
	if (!p)
		return;
	cleanup_fd(&p->fd);
	if (p->by == OS_PAGES_PAGEMAP) {
		zero_pages_close(&p->zero);
		free(p->entry);
	}
	free(p);
}

bool
os_pages_know_zero(const struct os_pages *p)
{
	return p->by != OS_PAGES_PAGEMAP || (p->zero.pfn && p->zero.flags_fd >= 0);
}

enum os_pages_by
os_pages_by(const struct os_pages *p)
{
	return p ? p->by : OS_PAGES_NONE;
}

void
os_pages_stopped(struct os_pages *p, bool is_stopped)
{
	p->is_stopped = is_stopped;
}

/*
 * Count the time since START_NS for which the target had to wait, and pause when it adds up.  A
 * stopped target only waits for us to finish.
 */
static void
be_polite(struct os_pages *p, uint64_t start_ns)
{
	if (p->is_stopped)
		return;
	p->busy_ns += os_now_ns() - start_ns;
	if (p->busy_ns < BUSY_NS)
		return;
	os_sleep_ns(PAUSE_NS);
	p->busy_ns = 0;
}

typedef int (*run_fn)(const struct os_page_run *run, void *arg);

/*
 * Return the end of a scan from AT.  The kernel passes quickly over addresses without page tables,
 * of which a process may have terabytes; but empty page tables take it a microsecond each, and no
 * run ends the scan.
 */
static uint64_t
reach_from(const struct os_pages *p, uint64_t at, uint64_t end)
{
	return end - at > p->reach_bytes ? at + p->reach_bytes : end;
}

/* Return the present time for adapt_reach(). */
static uint64_t
scan_time_ns(const struct os_pages *p)
{
	return p->nr_empty < EMPTY_MAX ? os_now_ns() : os_cpu_ns();
}

/* Only a scan that found nothing in its whole range shows that a longer one is cheap. */
static void
adapt_reach(struct os_pages *p, uint64_t passed_bytes, uint64_t took_ns)
{
	const bool is_empty = passed_bytes >= p->reach_bytes;

	if (!is_empty)
		p->nr_empty = 0;
	else if (p->nr_empty < EMPTY_MAX)
		p->nr_empty = took_ns < SCAN_LONG_NS / 4 ? 0 : p->nr_empty + 1;
	if (took_ns > SCAN_LONG_NS)
		p->reach_bytes /= 2;
	else if (is_empty && took_ns < SCAN_LONG_NS / 4 && p->reach_bytes < REACH_MAX)
		p->reach_bytes *= 2;
	if (p->reach_bytes < PIECE_BYTES)
		p->reach_bytes = PIECE_BYTES;
}

static int
walk_scan(struct os_pages *p, uint64_t at, uint64_t end, bool want_kind, run_fn fn, void *arg,
	struct err *e)
{
	while (at < end) {
		uint64_t start_ns = os_now_ns(), next, from_ns = scan_time_ns(p);
		int n = scan(p, at, reach_from(p, at, end), want_kind, &next);

		if (n < 0)
			return err_set(e, errno, "cannot scan the page tables of %d", p->pid);
		adapt_reach(p, next - at, scan_time_ns(p) - from_ns);
		be_polite(p, start_ns);
		for (int i = 0; i < n; i++) {
			const struct pages_run *r = &p->run[i];
			struct os_page_run run = {
				.start = { r->start },
				.end = { r->end },
				.is_present = r->categories & PAGE_PRESENT,
				.is_guard = r->categories & PAGE_GUARD,
				.is_swapped = (r->categories & (PAGE_SWAPPED | PAGE_GUARD)) ==
					PAGE_SWAPPED,
				.is_file = r->categories & PAGE_FILE,
				.is_huge = r->categories & PAGE_HUGE,
			};
			int stop = fn(&run, arg);

			if (stop)
				return stop;
		}
		if (next <= at)
			return err_set(
				e, 0, "the scan of the page tables of %d does not advance", p->pid);
		at = next;
	}
	return 0;
}

/*
 * Return the relevant bits of an entry of pagemap: equal for pages of one run, 0 for pages outside
 * of runs.
 */
static uint64_t
pages_kind_of(uint64_t entry)
{
	if (entry & ENTRY_GUARD)
		return ENTRY_GUARD;
	if (!(entry & (ENTRY_PRESENT | ENTRY_SWAPPED)))
		return 0;
	return entry & (ENTRY_PRESENT | ENTRY_SWAPPED | ENTRY_FILE);
}

/* Report the runs of the NR entries read for the pages from AT on. */
static int
report_entries(struct os_pages *p, uint64_t at, size_t nr, run_fn fn, void *arg)
{
	for (size_t i = 0, next; i < nr; i = next) {
		uint64_t kind = pages_kind_of(p->entry[i]);
		struct os_page_run run = {
			.is_present = kind & ENTRY_PRESENT,
			.is_swapped = kind & ENTRY_SWAPPED,
			.is_guard = kind & ENTRY_GUARD,
			.is_file = kind & ENTRY_FILE,
		};
		int stop;

		for (next = i + 1; next < nr && pages_kind_of(p->entry[next]) == kind; next++)
			;
		if (!kind)
			continue;
		run.start.v = at + i * p->page_bytes;
		run.end.v = at + next * p->page_bytes;
		stop = fn(&run, arg);
		if (stop)
			return stop;
	}
	return 0;
}

static int
walk_pagemap(struct os_pages *p, uint64_t at, uint64_t end, run_fn fn, void *arg, struct err *e)
{
	while (at < end) {
		uint64_t start_ns = os_now_ns();
		uint64_t bytes = end - at < PIECE_BYTES ? end - at : PIECE_BYTES;
		size_t want = bytes / p->page_bytes * sizeof *p->entry;
		off_t offset = (off_t)(at / p->page_bytes * sizeof *p->entry);
		ssize_t got = pread(p->fd, p->entry, want, offset);
		size_t nr;
		int stop;

		if (got < 0)
			return err_set(e, errno, "cannot read /proc/%d/pagemap", p->pid);
		be_polite(p, start_ns);
		nr = (size_t)got / sizeof *p->entry;
		if (!nr) /* the process ended meanwhile */
			return 0;
		zero_pages_drop(&p->zero, at / p->page_bytes, p->entry, nr);
		stop = report_entries(p, at, nr, fn, arg);
		if (stop)
			return stop;
		at += nr * p->page_bytes;
	}
	return 0;
}

/* ---- known runs ---- */

void
os_pages_know(struct os_pages *p, const struct os_page_run *runs, size_t nr, raddr end)
{
	p->known = runs;
	p->nr_known = nr;
	p->known_end = end.v;
}

/* Return the first known run that ends after ADDR. */
static size_t
known_from(const struct os_pages *p, raddr addr)
{
	size_t low = 0, high = p->nr_known;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->known[middle].end.v <= addr.v)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int
walk_known(const struct os_pages *p, raddr start, raddr end, run_fn fn, void *arg)
{
	for (size_t i = known_from(p, start); i < p->nr_known && p->known[i].start.v < end.v; i++) {
		struct os_page_run run = p->known[i];
		int stop;

		if (run.start.v < start.v)
			run.start = start;
		if (run.end.v > end.v)
			run.end = end;
		stop = fn(&run, arg);
		if (stop)
			return stop;
	}
	return 0;
}

int
os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind, run_fn fn, void *arg,
	struct err *e)
{
	if (!want_kind && end.v <= p->known_end)
		return walk_known(p, start, end, fn, arg);
	if (p->core)
		return core_pages_walk(p->core, start, end, fn, arg, e);
	return p->by == OS_PAGES_SCAN ? walk_scan(p, start.v, end.v, want_kind, fn, arg, e)
				      : walk_pagemap(p, start.v, end.v, fn, arg, e);
}

int
os_pages_exclusive(struct os_pages *p, raddr start, raddr end, uint64_t *ret_bytes, struct err *e)
{
	uint64_t entry[512];

	*ret_bytes = 0;
	if (p->core)
		return err_set_kind(
			e, ERR_UNSUPPORTED, 0, "a core file does not say which pages were shared");
	for (uint64_t at = start.v; at < end.v;) {
		uint64_t nr = (end.v - at) / p->page_bytes;
		size_t want = nr < 512 ? nr * sizeof *entry : sizeof entry;
		ssize_t got =
			pread(p->fd, entry, want, (off_t)(at / p->page_bytes * sizeof *entry));

		if (got < (ssize_t)sizeof *entry)
			return err_set(
				e, got < 0 ? errno : ESRCH, "cannot read /proc/%d/pagemap", p->pid);
		for (ssize_t i = 0; i < got / (ssize_t)sizeof *entry; i++)
			if ((entry[i] & ENTRY_PRESENT) && (entry[i] & ENTRY_EXCLUSIVE))
				*ret_bytes += p->page_bytes;
		at += (uint64_t)got / sizeof *entry * p->page_bytes;
	}
	return 0;
}
