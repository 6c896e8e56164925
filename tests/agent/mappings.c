/*
 * mappings [all] [nomem] [profile]: mmap, munmap and mremap count for what is mapped, whatever is
 * unmapped of it.  With "all" files and reserved addresses count, too.  With "nomem" the agent has
 * no memory to remember thousands of them.  With "profile" a profile is taken beside the counter,
 * which has the same sum.
 */
#include "count.h"

#include <fcntl.h>
#include <sys/syscall.h>

#define PAGE 4096

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* 5.7 */
#endif

static bool is_profiled;
static int64_t profiled_before;

static void
begin(void)
{
	begin_count();
	profiled_before = is_profiled ? memdiag_agent_sites->mapped_bytes : 0;
}

/* Whether WANT bytes are counted more than at begin(), by the profile as well. */
static void
mapped(long want, const char *what)
{
	counted(want, what);
	if (!is_profiled)
		return;
	ok(memdiag_agent_sites->mapped_bytes - profiled_before == want, "in the profile: %s", what);
}

static void *
map(void *at, size_t bytes, int flags)
{
	return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void
try_plain(void)
{
	char *p;

	begin();
	p = map(NULL, 1024, 0);
	mapped(1024, "mmap of 1024");
	munmap(p, 1024);
	mapped(0, "munmap of it");
	p = mmap64(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mapped(PAGE, "mmap64");
	munmap(p, PAGE);
	mapped(0, "munmap of it");
	p = map(NULL, 1024, 0);
	munmap(p, PAGE);
	mapped(0, "munmap of its whole page");
	p = map(NULL, PAGE, 0);
	munmap(p, 100);
	mapped(0, "munmap of a part of a page, which goes whole");
}

static void
try_peak(void)
{
	const struct wire_segment *s = memdiag_agent_segment;
	int64_t most = s->mapped_bytes + 10000 * PAGE;
	uint64_t nr = s->nr_mappings;

	munmap(map(NULL, 10000 * PAGE, 0), 10000 * PAGE);
	is_u64((uint64_t)s->mapped_peak_bytes, (uint64_t)most, "the most that was mapped is known");
	ok(s->mapped_bytes == most - 10000 * PAGE, "and what is now");
	is_u64(s->nr_mappings, nr + 1, "and how often");
}

static void
try_parts(void)
{
	char *p, *q;

	begin();
	p = map(NULL, 10 * PAGE, 0);
	munmap(p + 3 * PAGE, 2 * PAGE);
	mapped(8 * PAGE, "munmap in the middle");
	munmap(p, PAGE);
	mapped(7 * PAGE, "munmap at the beginning");
	munmap(p, 10 * PAGE);
	mapped(0, "munmap of all, holes included");
	munmap(p, 10 * PAGE);
	mapped(0, "munmap of what is not mapped");
	p = map(NULL, 10 * PAGE, 0);
	q = map(p + 2 * PAGE, 2 * PAGE, MAP_FIXED);
	ok(q == p + 2 * PAGE, "mapped over a part");
	mapped(10 * PAGE, "counts once");
	errno = 0;
	ok(munmap(p + 1, PAGE) == -1 && errno == EINVAL, "a munmap that cannot be");
	mapped(10 * PAGE, "changes nothing");
	munmap(p, 10 * PAGE);
	mapped(0, "munmap of all");
	ok(map(NULL, SIZE_MAX / 2 - 5, 0) == MAP_FAILED && errno == ENOMEM, "too much fails");
	mapped(0, "and counts for nothing");
}

static void
try_mremap(void)
{
	char *p, *q;

	begin();
	p = map(NULL, 4 * PAGE, 0);
	p = mremap(p, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	mapped(64 * PAGE, "mremap that grows");
	p = mremap(p, 64 * PAGE, 2 * PAGE, 0);
	mapped(2 * PAGE, "mremap that shrinks");
	q = map(NULL, 8 * PAGE, 0);
	q = mremap(p, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	mapped(8 * PAGE, "mremap over another");
	munmap(q, 8 * PAGE);
	mapped(0, "munmap of both");
	ok(mremap((void *)PAGE, PAGE, 2 * PAGE, 0) == MAP_FAILED, "a mremap that cannot be");
	mapped(0, "changes nothing");
	p = map(NULL, 2 * PAGE, 0);
	ok(mremap(p, PAGE, 2 * PAGE, 0) == MAP_FAILED, "one that has no room where it is");
	munmap(p, 2 * PAGE);
	mapped(0, "is not forgotten");
}

/* mremap() keeps the old mapping and adds a new one. */
static void
try_copies(void)
{
	char *p, *q;

	begin();
	p = map(NULL, PAGE, 0);
	q = map(NULL, 100 * PAGE, 0);
	munmap(q, 100 * PAGE);
	/* Without MREMAP_FIXED the address is a wish, as it is for mmap(). */
	q += 50 * PAGE;
	ok(mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, q) == q,
		"mremap that leaves the old one goes to where it is wished");
	mapped(2 * PAGE, "counts for both");
	munmap(p, PAGE);
	munmap(q, PAGE);
	mapped(0, "munmap of both");
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return; /* nothing shared: that is what is tried */
	q = mremap(p, 0, PAGE, MREMAP_MAYMOVE);
	mapped(2 * PAGE, "a second mapping of shared memory");
	munmap(p, PAGE);
	munmap(q, PAGE);
	mapped(0, "munmap of both");
}

/* Move a mapping that does not count over one that does. */
static void
try_over(bool is_all)
{
	char *p, *q;

	begin();
	p = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	q = map(NULL, 2 * PAGE, 0);
	ok(mremap(p, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q,
		"mremap of a reserve");
	mapped(is_all ? 2 * PAGE : 0, "over what counted");
	munmap(q, 2 * PAGE);
	mapped(0, "munmap of it");
	p = map(NULL, 4 * PAGE, 0);
	errno = 0;
	ok(mmap(p, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED &&
			errno == EBADF,
		"a mmap over it that fails");
	mapped(4 * PAGE, "changes nothing");
	munmap(p, 4 * PAGE);
	mapped(0, "munmap of it");
}

/* Pages of a file need not stay in memory, except those of a private copy that were written. */
static void
try_files(bool is_all)
{
	int fd = open("/proc/self/exe", O_RDONLY), memory = memfd_create("file", 0);
	void *p;

	begin();
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	mapped(is_all ? PAGE : 0, "a file that is read");
	munmap(p, PAGE);
	mapped(0, "munmap of it");
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	mapped(PAGE, "a copy of a file that may be written to");
	ok(mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == p, "and over it");
	mapped(is_all ? PAGE : 0, "the file itself");
	munmap(p, PAGE);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	mapped(p != MAP_FAILED ? PAGE : 0, "a file in memory that is shared");
	if (p != MAP_FAILED)
		munmap(p, PAGE);
	mapped(0, "munmap of it");
	p = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mapped(is_all ? 3 * PAGE : 0, "addresses that are only reserved");
	ok(map((char *)p + PAGE, PAGE, MAP_FIXED) == (char *)p + PAGE, "one that is taken");
	mapped(is_all ? 3 * PAGE : PAGE, "counts");
	munmap(p, 3 * PAGE);
	mapped(0, "and none again");
	close(memory);
	close(fd);
}

static void
try_protect(bool is_all)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *p;

	begin();
	p = mmap(NULL, 100 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(p, 60 * PAGE, PROT_READ | PROT_WRITE);
	mapped((is_all ? 100 : 60) * PAGE, "reserved addresses that are made accessible");
	mprotect(p + 20 * PAGE, 20 * PAGE, PROT_READ);
	mapped((is_all ? 100 : 60) * PAGE, "may as well be only read");
	mprotect(p + 10 * PAGE, 30 * PAGE, PROT_NONE);
	mapped((is_all ? 100 : 30) * PAGE, "and are reserved again");
	munmap(p + 90 * PAGE, 5 * PAGE);
	errno = 0;
	ok(mprotect(p + 80 * PAGE, 20 * PAGE, PROT_WRITE) == -1 && errno == ENOMEM, "up to a hole");
	mapped((is_all ? 95 : 40) * PAGE, "they are accessible");
	munmap(p, 100 * PAGE);
	mapped(0, "munmap of all");
	p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	mprotect(p, PAGE, PROT_READ | PROT_WRITE);
	mapped((is_all ? 2 : 1) * PAGE, "a copy of a file that may be written to from now on");
	mprotect(p, PAGE, PROT_READ);
	mapped((is_all ? 2 : 1) * PAGE, "and may have been, when it is only read again");
	munmap(p, 2 * PAGE);
	mapped(0, "munmap of it");
	close(fd);
}

/* Looking up what is mapped, and what is behind a descriptor, must not show in errno. */
static void
try_errno(void)
{
	int file = open("/proc/self/exe", O_RDONLY), memory = memfd_create("errno", MFD_CLOEXEC);
	char *p, *q;

	begin();
	errno = 123;
	p = map(NULL, 10 * PAGE, 0);
	q = mmap(p + 5 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
	if (memory >= 0)
		mmap(q, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, memory, 0);
	mprotect(p, 3 * PAGE, PROT_NONE);
	p = mremap(p, 3 * PAGE, 3 * PAGE, 0);
	munmap(p + 8 * PAGE, PAGE);
	munmap(p, 10 * PAGE);
	ok(errno == 123, "calls that succeed keep errno");
	errno = 0;
	ok(pkey_mprotect(p, PAGE, PROT_READ, 12345) == -1 && errno == EINVAL,
		"pkey_mprotect with a key that does not exist sets errno");
	mapped(0, "these calls leave nothing counted");
	close(memory);
	close(file);
}

/* A call that fails leaves known where the bytes are. */
static void
try_failures(void)
{
	char *p;

	begin();
	p = map(NULL, 10 * PAGE, 0);
	munmap(p + 5 * PAGE, 3 * PAGE);
	ok(mremap(p, 10 * PAGE, 20 * PAGE, 0) == MAP_FAILED, "mremap over a hole");
	mapped(7 * PAGE, "changes nothing");
	munmap(p + 8 * PAGE, 2 * PAGE);
	mapped(5 * PAGE, "munmap behind the hole");
	munmap(p, 5 * PAGE);
	mapped(0, "and before it");
}

/* A mapping as large as a part of the table that is noted as one. */
static void
try_large(void)
{
	const size_t gib = (size_t)1 << 30;
	char *p, *q;

	begin();
	p = map(NULL, 5 * gib, MAP_NORESERVE);
	mapped(5 * (long)gib, "gigabytes");
	q = (char *)(((uintptr_t)p + 2 * gib) & -gib);
	munmap(q + 3 * PAGE, PAGE);
	mapped(5 * (long)gib - PAGE, "without a page");
	munmap(q + gib / 2, 4 * PAGE);
	mapped(5 * (long)gib - 5 * PAGE, "and some more");
	mprotect(q - gib / 2, 2 * gib, PROT_NONE);
	mprotect(q - gib / 2, 2 * gib, PROT_READ);
	munmap(p, 5 * gib);
	mapped(0, "munmap of all");
}

/* Threads that move and free mappings, into whose place others map. */
static void *
map_and_move(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		char *p = map(NULL, 4 * PAGE, 0);

		p = mremap(p, 4 * PAGE, (size_t)(8 + i % 50) * PAGE, MREMAP_MAYMOVE);
		munmap(p, (size_t)(8 + i % 50) * PAGE);
	}
	return arg;
}

static void
try_threads(void)
{
	pthread_t thread[4];

	for (int round = 0; round < 2; round++) {
		/* libc keeps stacks of the first. */
		begin();
		for (int i = 0; i < 4; i++)
			pthread_create(&thread[i], NULL, map_and_move, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
	}
	mapped(0, "threads that move theirs");
}

/* Every second one goes first, so that all are apart. */
static void
try_many(int nr, bool is_exact)
{
	static char *p[4000];
	long most;

	begin();
	for (int i = 0; i < nr; i++)
		p[i] = map(NULL, PAGE * (size_t)(1 + i % 2), 0);
	mapped(PAGE * (nr / 2 * 3L), "many of them");
	for (int i = 0; i < nr; i += 2)
		munmap(p[i], PAGE);
	most = PAGE * (nr / 2 * 2L);
	if (is_exact)
		mapped(most, "every second one");
	else
		ok((long)(memdiag_live_bytes() - count_before) <= most, "no more than there are");
	for (int i = 1; i < nr; i += 2)
		munmap(p[i], 2 * PAGE);
	mapped(0, "and none again");
}

/* A mapping that is unmapped past the agent counts until another one is at its place. */
static void
try_past(void)
{
	char *p;

	begin();
	p = map(NULL, 5 * PAGE, 0);
	syscall(SYS_munmap, p + PAGE, 3 * PAGE);
	ok(map(p + 2 * PAGE, PAGE, MAP_FIXED_NOREPLACE) == p + 2 * PAGE,
		"mapped where something was unmapped by the system call");
	mapped(5 * PAGE, "counts once");
	munmap(p, 5 * PAGE);
	mapped(0, "munmap of all");
}

int
main(int argc, char **argv)
{
	need_agent();
	is_profiled = is_told(argc, argv, "profile");
	if (is_profiled && (!&memdiag_agent_sites || !memdiag_agent_sites))
		return 99;
	try_plain();
	try_peak();
	try_parts();
	try_mremap();
	try_copies();
	try_over(is_told(argc, argv, "all"));
	try_files(is_told(argc, argv, "all"));
	try_past();
	try_protect(is_told(argc, argv, "all"));
	try_errno();
	try_failures();
	if (memdiag_limit_bytes() == SIZE_MAX)
		try_large();
	try_many(1000, true);
	try_many(4000, !is_told(argc, argv, "nomem"));
	try_threads();
	return tap_end();
}
