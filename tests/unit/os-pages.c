#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/machine.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/target.h"
#include "tap.h"
#include "zero-page.h"

#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL, Linux 6.13 */
#define PAGE 4096
#define MANY 3000

/* A letter per page: P present, F present and of a file, G guard, S swapped, '.' nothing. */
struct picture {
	uintptr_t start;
	char page[MANY * 2 + 1];
	bool is_ordered;
	uint64_t told_to;
	bool saw_huge;
};

static int
draw(const struct os_page_run *run, void *arg)
{
	struct picture *p = arg;
	char letter = run->is_guard ? 'G' : run->is_swapped ? 'S' : run->is_file ? 'F' : 'P';

	p->is_ordered &= run->start.v >= p->told_to && run->end.v > run->start.v;
	p->told_to = run->end.v;
	p->saw_huge |= run->is_huge;
	for (uint64_t a = run->start.v; a < run->end.v; a += PAGE)
		p->page[(a - p->start) / PAGE] = letter;
	return 0;
}

static bool
walk(struct picture *p, enum os_pages_by by, const void *start, size_t nr, bool want_kind)
{
	auto_target struct target t = TARGET_NONE;
	auto_pages struct os_pages *pages = NULL;
	uintptr_t at = (uintptr_t)start;
	struct err e = { 0 };

	*p = (struct picture){ .start = at, .is_ordered = true };
	memset(p->page, '.', nr);
	if (target_open(&t, getpid(), &e) == 0 && os_pages_open(&pages, &t, by, &e) == 0 &&
		os_pages_by(pages) == by &&
		os_pages_walk(pages, (raddr){ at }, (raddr){ at + nr * PAGE }, want_kind, draw, p,
			&e) == 0)
		return p->is_ordered;
	printf("# %s\n", e.msg);
	return false;
}

/* The ways that this kernel has: by[0] is PAGEMAP_SCAN if it is one of them. */
static const enum os_pages_by *
ways(int *ret_nr)
{
	static const enum os_pages_by by[] = { OS_PAGES_SCAN, OS_PAGES_PAGEMAP };
	const bool has_scan = os_linux_version() >= OS_LINUX(6, 7);

	*ret_nr = has_scan ? 2 : 1;
	return has_scan ? by : by + 1;
}

/* The name of a check: WORDS, and the way. */
static const char *
name(enum os_pages_by by, const char *words)
{
	static char buf[128];

	snprintf(buf, sizeof buf, "%s: %s", by == OS_PAGES_SCAN ? "scan" : "pagemap", words);
	return buf;
}

/* Memory without huge pages, which some machines give to all programs. */
static char *
map(size_t nr, int flags)
{
	char *p = mmap(NULL, nr * PAGE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

	madvise(p, nr * PAGE, MADV_NOHUGEPAGE);
	return p;
}

/* Pages: 0 nothing, 1 written, 2 zero page, 3 guard, 4-5 written, 6 nothing, 7 guard. */
static char *
make_mixture(bool *ret_has_guard)
{
	char *p = map(8, MAP_PRIVATE);
	volatile char zero = p[2 * PAGE];

	p[1 * PAGE] = p[4 * PAGE] = p[5 * PAGE] = (char)(1 + zero);
	*ret_has_guard = madvise(p + 3 * PAGE, PAGE, GUARD_INSTALL) == 0 &&
		madvise(p + 7 * PAGE, PAGE, GUARD_INSTALL) == 0;
	return p;
}

/* The number of the physical page at P, which is present; 0 if the kernel does not show it. */
static uint64_t
pfn_of(const char *p)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;

	if (pread(fd, &entry, sizeof entry, (off_t)((uintptr_t)p / PAGE * sizeof entry)) < 0)
		entry = 0;
	close(fd);
	return entry & ((UINT64_C(1) << 55) - 1);
}

static void
test_mixture(enum os_pages_by by)
{
	bool has_guard;
	char *p = make_mixture(&has_guard);
	struct picture pic;

	ok(walk(&pic, by, p, 8, false), "%s", name(by, "a mixture"));
	if (!kernel_has_zero_page())
		skip(name(by, "no zero page"), "this kernel has no common page of zeros");
	else if (by == OS_PAGES_SCAN || pfn_of(p + PAGE))
		is_str(pic.page, has_guard ? ".P.GPP.G" : ".P..PP..",
			name(by, "no zero page, no guard as swapped"));
	else
		is_str(pic.page, has_guard ? ".PPGPP.G" : ".PP.PP..",
			"pagemap shows us no zero pages");
	munmap(p, (size_t)8 * PAGE);
}

/* The picture of two pages of which one is present. */
static void
test_kind(enum os_pages_by by)
{
	char *shared = map(2, MAP_SHARED), *private = map(2, MAP_PRIVATE);
	struct picture pic;

	shared[0] = private[PAGE] = 1;
	walk(&pic, by, shared, 2, true);
	is_str(pic.page, "F.", name(by, "shared memory is of a file"));
	walk(&pic, by, private, 2, true);
	is_str(pic.page, ".P", name(by, "private memory is not"));
	if (by == OS_PAGES_SCAN) {
		walk(&pic, by, shared, 2, false);
		is_str(pic.page, "P.", "not reported when not asked for");
	}
}

/* More runs than one call returns, and none twice: every other page of many. */
static void
test_many_runs(enum os_pages_by by)
{
	char *p = map((size_t)2 * MANY, MAP_PRIVATE);
	struct picture pic;
	int right = 0;

	for (int i = 0; i < MANY; i++)
		p[(size_t)2 * PAGE * (size_t)i] = 1;
	ok(walk(&pic, by, p, (size_t)2 * MANY, false), "%s", name(by, "in order, none twice"));
	for (int i = 0; i < MANY; i++)
		right += pic.page[2 * i] == 'P' && pic.page[2 * i + 1] == '.';
	is_u64((uint64_t)right, MANY, name(by, "every other page"));
	munmap(p, (size_t)2 * MANY * PAGE);
}

/* Whether a line NAME of smaps_rollup has 2 MiB at least. */
static bool
has_huge(const char *name)
{
	FILE *smaps = fopen("/proc/self/smaps_rollup", "r");
	bool is_huge = false;
	char line[256];

	while (smaps && fgets(line, sizeof line, smaps))
		is_huge |= strncmp(line, name, strlen(name)) == 0 &&
			strtoul(line + strlen(name), NULL, 10) >= 2048;
	if (smaps)
		fclose(smaps);
	return is_huge;
}

#define HUGE ((size_t)2 << 20)

/* Addresses for two huge pages, of which nothing was touched. */
static char *
map_huge(void)
{
	char *p = mmap(NULL, 3 * HUGE, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	char *at = (char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));

	madvise(at, 2 * HUGE, MADV_HUGEPAGE);
	return at;
}

static void
test_huge(enum os_pages_by by)
{
	char *at = map_huge();
	struct picture pic;
	bool is_huge;

	*at = 1;
	is_huge = has_huge("AnonHugePages:");
	walk(&pic, by, at, HUGE / PAGE, false);
	if (by == OS_PAGES_SCAN)
		ok(pic.saw_huge == is_huge, "a huge page is reported (here: %s)",
			is_huge ? "yes" : "no");
	is_u64(strspn(pic.page, "P"), is_huge ? 512 : 1,
		name(by, "and all of its pages are present"));
	munmap(at, 2 * HUGE);
}

/* Whether the kernel says that the page at P, which it shows us, is the huge zero page. */
static bool
is_huge_zero(const char *p)
{
	const uint64_t want = 1 << 22 | 1 << 24; /* KPF_THP, KPF_ZERO_PAGE */
	int flags_fd = open("/proc/kpageflags", O_RDONLY);
	uint64_t flags = 0;

	if (pread(flags_fd, &flags, sizeof flags, (off_t)(pfn_of(p) * sizeof flags)) < 0)
		flags = 0;
	close(flags_fd);
	return (flags & want) == want;
}

/* The huge zero page, from its first page and from the middle, and a huge page behind it. */
static void
test_huge_zero(enum os_pages_by by)
{
	char *at = map_huge();
	volatile char zero = *at;
	const size_t half = HUGE / PAGE / 2;
	struct picture pic;

	at[HUGE] = (char)(1 + zero);
	if (pfn_of(at) && is_huge_zero(at) && has_huge("AnonHugePages:")) {
		walk(&pic, by, at, 4 * half, false);
		is_u64(strspn(pic.page, "."), 2 * half,
			name(by, "the huge zero page is not present"));
		is_u64(strspn(pic.page + 2 * half, "P"), 2 * half,
			name(by, "the huge page behind it is"));
		walk(&pic, by, at + half * PAGE, 2 * half, false);
		is_u64(strspn(pic.page, "."), half, name(by, "neither is a half of it"));
		is_u64(strspn(pic.page + half, "P"), half, name(by, "but a half of the other"));
	} else {
		ok(true, "%s",
			name(by, "the huge zero page # SKIP there is none, or it is not shown"));
	}
	munmap(at, 2 * HUGE);
}

static int
stop_at_once(const struct os_page_run *run, void *arg)
{
	(void)run;
	++*(int *)arg;
	return 7;
}

static void
test_stop(enum os_pages_by by)
{
	char *p = map(8, MAP_PRIVATE);
	auto_target struct target t = TARGET_NONE;
	auto_pages struct os_pages *pages = NULL;
	raddr start = { (uintptr_t)p };
	int calls = 0;
	struct err e;

	p[0] = p[4 * PAGE] = 1;
	target_open(&t, getpid(), &e);
	os_pages_open(&pages, &t, by, &e);
	ok(os_pages_walk(pages, start, raddr_add(start, (uint64_t)8 * PAGE), false, stop_at_once,
		   &calls, &e) == 7 &&
			calls == 1,
		"%s", name(by, "the callback can end the walk"));
}

/* A reserve of 16 TiB with one page in it takes no time. */
static void
test_reserve(void)
{
	size_t bytes = (size_t)1 << 44;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0);
	auto_target struct target t = TARGET_NONE;
	auto_pages struct os_pages *pages = NULL;
	raddr start = { (uintptr_t)p };
	int calls = 0;
	struct err e;

	if (p == MAP_FAILED || os_linux_version() < OS_LINUX(6, 7)) {
		ok(true, "a reserve of 16 TiB # SKIP %s",
			p == MAP_FAILED ? "it cannot be mapped here" : "it takes PAGEMAP_SCAN");
		return;
	}
	p[bytes / 2] = 1;
	target_open(&t, getpid(), &e);
	os_pages_open(&pages, &t, OS_PAGES_AUTO, &e);
	limit_cpu(10);
	os_pages_walk(pages, start, raddr_add(start, bytes), true, stop_at_once, &calls, &e);
	limit_cpu(0);
	is_u64((uint64_t)calls, 1, "one page in a reserve of 16 TiB");
}

/* The blocks of file FD: each is a page. */
static uint64_t
file_bytes(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : UINT64_MAX;
}

/* Reads that give the target no page: of a file in memory one would take real memory. */
static void
test_read_present(void)
{
	int fd = memfd_create("holes", 0);
	auto_target struct target t = TARGET_NONE;
	char buf[4 * PAGE];
	struct picture p;
	struct err e;
	char *pages = ftruncate(fd, sizeof buf) < 0
		? NULL
		: mmap(NULL, sizeof buf, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raddr at = { (uintptr_t)pages };

	memset(pages + PAGE, 'x', PAGE);
	target_open(&t, getpid(), &e);
	is_u64((uint64_t)os_read_present_some(&t, at, buf, sizeof buf, &e), PAGE,
		"one page of four is read");
	ok(!buf[PAGE - 1] && buf[PAGE] == 'x' && buf[2 * PAGE - 1] == 'x' && !buf[2 * PAGE] &&
			!buf[sizeof buf - 1],
		"the others are zeroes");
	is_u64((uint64_t)os_read_present_some(&t, raddr_add(at, PAGE - 10), buf, 20, &e), 10,
		"ten bytes of it");
	ok(!buf[9] && buf[10] == 'x', "where they belong");
	ok(os_read_present(&t, raddr_add(at, PAGE), buf, PAGE, &e) == 0,
		"all of a page that is there");
	ok(os_read_present(&t, raddr_add(at, PAGE), buf, PAGE + 1, &e) < 0 && e.code == EFAULT,
		"and not a byte more");
	ok(os_read_each(&t, (raddr[]){ at, raddr_add(at, PAGE), { UINT64_MAX - 100 } }, 3, 8, buf,
		   &e) == 0 &&
			!buf[0] && buf[8] == 'x' && !buf[16],
		"each is zeroes or what is there");
	is_u64(file_bytes(fd), PAGE, "the file has the one page that it had");
	walk(&p, OS_PAGES_PAGEMAP, pages, 4, false);
	is_str(p.page, ".F..", "and so has the process");
	ok(os_read(&t, at, buf, PAGE, &e) == 0 && file_bytes(fd) == 2 * PAGE,
		"other reads make one");
}

int
main(void)
{
	int nr;
	const enum os_pages_by *by = ways(&nr);

	for (int k = 0; k < nr; k++) {
		test_mixture(by[k]);
		test_kind(by[k]);
		test_many_runs(by[k]);
		test_huge(by[k]);
		test_huge_zero(by[k]);
		test_stop(by[k]);
	}
	ok(os_pages_by(NULL) == OS_PAGES_NONE, "no reader reads nothing");
	test_read_present();
	test_reserve();
	return tap_end();
}
