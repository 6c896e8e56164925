/*
 * random-space SEED DIR [KIND]...: an address space put together at random from every kind of
 * mapping, or from the KINDs that are named; files go to DIR.  Before "ready" it says a line "map
 * KIND START-END CLASS" for each that could be made: CLASS is the group of memdiag maps that all of
 * it belongs to, '-' if that depends on what the kernel has merged it with.
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGE ((size_t)4096)
#define MIB ((size_t)1 << 20)
#define HUGE (2 * MIB)
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14, glibc 2.35 */
#define MADV_POPULATE_WRITE 23
#endif
#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL, Linux 6.13 */
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#ifdef SYS_pause
#define PAUSE_NR SYS_pause
#else
#define PAUSE_NR SYS_ppoll
#endif
#define RW (PROT_READ | PROT_WRITE)

static const char *dir;
static uint64_t state;
static unsigned int nr_files;
static volatile char sink;

static uint64_t
some(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

static bool
maybe(void)
{
	return some(2);
}

/* A number of pages: mostly few, sometimes many. */
static size_t
pages(void)
{
	return some(8) ? 1 + some(40) : 32 + some(600);
}

static void
report_mapping(const char *kind, const void *p, size_t size, const char *class)
{
	tracee_say("map %s %lx-%lx %s", kind, (unsigned long)(uintptr_t)p,
		(unsigned long)((uintptr_t)p + size), class);
}

/* Write to a page of every so many, read others. */
static void
touch(char *p, size_t size, bool write)
{
	size_t step = PAGE * (1 + some(4));

	for (size_t i = PAGE * some(3); i < size; i += step) {
		if (write && some(4))
			p[i + some(PAGE)] = (char)(1 + some(255));
		else
			sink = (char)(sink + p[i]);
	}
}

static char *
map(size_t size, int prot, int flags, int fd)
{
	return mmap(NULL, size, prot, flags, fd, 0);
}

/* A file of so many pages, some of them holes; open. */
static int
make_file(const char *where, char *path, size_t room, size_t nr)
{
	int fd;

	snprintf(path, room, "%s/random-space.%d.%u", where, getpid(), nr_files++);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)(nr * PAGE)) < 0)
		tracee_fail("ftruncate");
	for (size_t i = 0; i < nr; i++)
		if (some(3) && pwrite(fd, "data", 4, (off_t)(i * PAGE)) != 4)
			tracee_fail("pwrite");
	return fd;
}

/* ---- private memory ---- */

static void
make_anon(const char *kind)
{
	size_t size = pages() * PAGE;
	char *p = map(size, RW | (some(10) ? 0 : PROT_EXEC), ANON, -1);

	touch(p, size, true);
	report_mapping(kind, p, size, "anon");
}

/* Lines of maps that the kernel cannot merge. */
static void
make_stripes(const char *kind)
{
	size_t nr = 2 + some(30);
	char *p = map(2 * nr * PAGE, RW, ANON, -1);

	touch(p, 2 * nr * PAGE, true);
	for (size_t i = 0; i < nr; i++)
		mprotect(p + 2 * i * PAGE, PAGE, PROT_READ);
	report_mapping(kind, p, 2 * nr * PAGE, "anon");
}

static void
make_reserve(const char *kind)
{
	size_t size = some(3) ? pages() * PAGE : (UINT64_C(1) << (30 + some(11)));
	char *p = map(size, PROT_NONE, ANON | MAP_NORESERVE, -1);

	if (p != MAP_FAILED)
		report_mapping(kind, p, size, "reserve");
}

/* Memory that was used, and may not be touched any more. */
static void
make_forbidden(const char *kind)
{
	size_t size = pages() * PAGE;
	char *p = map(size, RW, ANON, -1);

	touch(p, size, true);
	mprotect(p, size, PROT_NONE);
	report_mapping(kind, p, size, "reserve");
}

static void
make_advised(const char *kind)
{
	static const int advice[] = { MADV_DONTNEED, MADV_FREE, MADV_COLD, MADV_PAGEOUT,
		MADV_DONTFORK, MADV_DONTDUMP, MADV_MERGEABLE, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
		MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_WIPEONFORK, MADV_SEQUENTIAL };
	size_t nr = pages();
	char *p = map(nr * PAGE, RW, ANON, -1);

	touch(p, nr * PAGE, true);
	for (size_t i = 0; i < 3; i++) {
		size_t from = some(nr), of = 1 + some(nr - from);

		madvise(p + from * PAGE, of * PAGE, advice[some(sizeof advice / sizeof *advice)]);
	}
	report_mapping(kind, p, nr * PAGE, "anon");
}

static void
make_guards(const char *kind)
{
	size_t nr = 4 + pages();
	char *p = map(nr * PAGE, RW, ANON, -1);

	touch(p, nr * PAGE, true);
	for (size_t i = 0; i < 3; i++) {
		size_t from = some(nr), of = 1 + some(nr - from);

		madvise(p + from * PAGE, of * PAGE, GUARD_INSTALL);
	}
	report_mapping(kind, p, nr * PAGE, "anon");
}

static void
make_locked(const char *kind)
{
	size_t size = pages() * PAGE;
	char *p = map(size, RW, ANON, -1);

	if (maybe())
		mlock(p, size);
	else
		mlock2(p, size, MLOCK_ONFAULT);
	touch(p, size, true);
	report_mapping(kind, p, size, "anon");
}

/* Transparent huge pages, whole or split. */
static void
make_thp(const char *kind)
{
	size_t size = (1 + some(2)) * HUGE + HUGE;
	char *p = map(size, RW, ANON, -1), *aligned;

	aligned = (char *)(((uintptr_t)p + HUGE - 1) & -HUGE);
	madvise(p, size, MADV_HUGEPAGE);
	if (some(3))
		aligned[some(HUGE)] = 1;
	else
		sink = (char)(sink + aligned[some(HUGE)]); /* the huge zero page */
	if (maybe())
		madvise(aligned + some(300) * PAGE, (1 + some(200)) * PAGE, MADV_DONTNEED);
	if (!some(3))
		mprotect(aligned + some(300) * PAGE, (1 + some(200)) * PAGE, PROT_READ);
	report_mapping(kind, p, size, "anon");
}

/* Parts of one mapping, moved about. */
static void
make_moved(const char *kind)
{
	size_t nr = 8 + pages(), cut = 1 + some(nr - 4), of = 1 + some(nr - cut - 1);
	char *p = map(nr * PAGE, RW, ANON, -1), *moved;

	touch(p, nr * PAGE, true);
	moved = mremap(p + cut * PAGE, of * PAGE, (of + some(20)) * PAGE, MREMAP_MAYMOVE);
	if (moved == MAP_FAILED)
		tracee_fail("mremap");
	report_mapping(kind, p, cut * PAGE, "anon");
	report_mapping(kind, moved, of * PAGE, "anon");
}

static void
make_holed(const char *kind)
{
	size_t nr = 8 + pages(), cut = 1 + some(nr - 4), of = 1 + some(nr - cut - 1);
	char *p = map(nr * PAGE, RW, ANON, -1);

	touch(p, nr * PAGE, true);
	munmap(p + cut * PAGE, of * PAGE);
	report_mapping(kind, p, cut * PAGE, "anon");
}

/* Nobody serves its missing pages: who reads them waits for ever. */
static void
make_uffd(const char *kind)
{
	struct uffdio_api api = { .api = UFFD_API };
	size_t size = pages() * PAGE;
	char *p = map(size, RW, ANON, -1);
	struct uffdio_register r = { .range = { (uintptr_t)p, size },
		.mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	touch(p, size / 2, true);
	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0)
		ioctl(fd, UFFDIO_REGISTER, &r);
	report_mapping(kind, p, size, "anon");
}

/* Pages that a child has, too. */
static void
make_cow(const char *kind)
{
	size_t size = pages() * PAGE;
	char *p = map(size, RW, ANON, -1);
	pid_t parent = getpid();

	touch(p, size, true);
	if (fork() == 0) {
		char line[16];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* it has ended before */
			_exit(0);
		close(1);
		while (read(0, line, 0) == 0)
			pause();
		_exit(0);
	}
	touch(p, size, true);
	report_mapping(kind, p, size, "anon");
}

/* The shape of a chunk of malloc's, and of a heap, in memory of the program. */
static void
make_pretender(const char *kind)
{
	size_t size = 4 * MIB;
	uint64_t *p = mmap(NULL, size, RW, ANON, -1, 0);

	p[0] = 0;
	p[1] = maybe() ? size | 2 : some(64) * PAGE | some(8);
	p[1000] = (uintptr_t)&p[1000];
	report_mapping(kind, p, size, "-");
}

/* ---- files ---- */

static void
map_file(const char *kind, const char *where, const char *class, bool delete)
{
	size_t nr = pages(), from = some(nr), of = 1 + some(nr - from);
	int flags = maybe() ? MAP_SHARED : MAP_PRIVATE;
	char path[4096];
	int fd = make_file(where, path, sizeof path, nr);
	int prot = RW | (some(4) ? 0 : PROT_EXEC);
	char *p;

	if (fd < 0)
		return;
	for (int i = some(4) ? 1 : 2; i; i--) {
		p = mmap(NULL, of * PAGE, prot, flags, fd, (off_t)(from * PAGE));
		if (p == MAP_FAILED)
			continue;
		if (some(3))
			touch(p, of * PAGE, maybe());
		if (some(2))
			mprotect(p, PAGE, PROT_READ);
		report_mapping(kind, p, of * PAGE,
			prot & PROT_EXEC && strcmp(class, "shm") == 0 ? "-" : class);
	}
	close(fd);
	if (delete)
		unlink(path);
}

static void
make_file_kind(const char *kind)
{
	map_file(kind, dir, "file", maybe());
}

static void
make_tmpfs(const char *kind)
{
	map_file(kind, "/dev/shm", "shm", true);
}

/* A file that says it is an object: mapped where ld.so would not. */
static void
make_elf(const char *kind)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	size_t from = some(3);
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | (maybe() ? PROT_EXEC : 0), MAP_PRIVATE, fd,
		(off_t)(from * PAGE));

	if (p != MAP_FAILED && maybe())
		sink = (char)(sink + p[0]);
	if (p != MAP_FAILED)
		report_mapping(kind, p, 4 * PAGE, "-");
	close(fd);
}

/* ---- shared memory ---- */

static void
make_memfd(const char *kind)
{
	size_t nr = pages();
	int fd = memfd_create(maybe() ? "doublemapper" : "a b] (deleted)", 0);
	bool is_code = maybe();
	char *p, *q;

	if (ftruncate(fd, (off_t)(nr * PAGE)) < 0)
		tracee_fail("memfd");
	p = map(nr * PAGE, is_code ? PROT_READ | PROT_EXEC : RW, MAP_SHARED, fd);
	if (!is_code && maybe())
		touch(p, nr * PAGE, true);
	report_mapping(kind, p, nr * PAGE, is_code ? "anon" : "shm");
	if (maybe()) {
		q = map(nr * PAGE, RW, maybe() ? MAP_SHARED : MAP_PRIVATE, fd);
		touch(q, nr * PAGE, true);
		report_mapping(kind, q, nr * PAGE, "shm");
	}
	close(fd);
}

static void
make_shared(const char *kind)
{
	size_t size = pages() * PAGE;
	char *p = map(size, RW, MAP_SHARED | MAP_ANONYMOUS, -1);

	touch(p, size, true);
	if (maybe())
		madvise(p, PAGE, maybe() ? MADV_REMOVE : MADV_DONTNEED);
	report_mapping(kind, p, size, "shm");
}

static void
map_sysv(const char *kind, size_t size, int flags, const char *class)
{
	int id = shmget(
		maybe() ? IPC_PRIVATE : (key_t)some(1 << 30), size, IPC_CREAT | 0600 | flags);
	char *p;

	if (id < 0)
		return;
	for (int i = 0; i < 2; i++) {
		p = shmat(id, NULL, i && maybe() ? SHM_RDONLY : 0);
		if (p == (char *)-1)
			break;
		if (!i)
			touch(p, size, true);
		report_mapping(kind, p, size, class);
		if (maybe())
			break;
	}
	shmctl(id, IPC_RMID, NULL);
}

static void
make_sysv(const char *kind)
{
	map_sysv(kind, pages() * PAGE, 0, "shm");
}

static void
make_sysv_huge(const char *kind)
{
	map_sysv(kind, HUGE, SHM_HUGETLB, "anon");
}

static void
make_hugetlb(const char *kind)
{
	int fd = maybe() ? -1 : memfd_create("huge", MFD_HUGETLB);
	int flags = fd < 0 ? MAP_ANONYMOUS | MAP_HUGETLB : 0;
	char *p;

	if (fd >= 0 && ftruncate(fd, (off_t)(2 * HUGE)) < 0)
		return;
	p = map(2 * HUGE, RW, flags | (maybe() ? MAP_PRIVATE : MAP_SHARED) | MAP_NORESERVE, fd);
	if (p == MAP_FAILED)
		return;
	/* Without a reservation a page may be missing: then a write is a SIGBUS, this is not. */
	if (maybe())
		madvise(p, HUGE, MADV_POPULATE_WRITE);
	report_mapping(kind, p, 2 * HUGE, "anon");
	close(fd);
}

/* ---- devices ---- */

static void
make_dev_zero(const char *kind)
{
	size_t size = pages() * PAGE;
	int fd = open("/dev/zero", O_RDWR);
	bool is_shared = maybe();
	char *p = map(size, RW, is_shared ? MAP_SHARED : MAP_PRIVATE, fd);

	touch(p, size, true);
	report_mapping(kind, p, size, is_shared ? "shm" : "anon");
	close(fd);
}

static void
make_io_uring(const char *kind)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 8, &params);
	char *p;

	if (fd < 0)
		return;
	p = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	if (p != MAP_FAILED)
		report_mapping(kind, p, PAGE, "kernel");
}

static void
make_perf(const char *kind)
{
	struct perf_event_attr attr = {
		.size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	char *p = fd < 0 ? MAP_FAILED : map(3 * PAGE, RW, MAP_SHARED, fd);

	if (p == MAP_FAILED)
		return;
	sink = (char)(sink + p[0]);
	report_mapping(kind, p, 3 * PAGE, "kernel");
}

static void
make_aio(const char *kind)
{
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, 16, &context) == 0)
		report_mapping(kind, (void *)context, PAGE, "kernel");
}

/* ---- malloc ---- */

static void
make_blocks(const char *kind)
{
	(void)kind;
	for (size_t i = 1 + some(30); i; i--) {
		size_t size = some(3) ? 16 + some(4000)
				      : (some(2) ? 8192 + some(90000) : 130000 + some(2000000));
		char *volatile block =
			some(10) ? malloc(size) : aligned_alloc(1 << (5 + some(15)), size);

		if (maybe())
			memset(block, 1, size / (1 + some(4)));
		if (maybe())
			free(block);
	}
}

/* ---- threads ---- */

static pthread_barrier_t barrier;

static void *
park(void *arg)
{
	size_t bytes = 64 + 16 * (uintptr_t)arg;
	char *frames = __builtin_alloca(bytes);

	memset(frames, 1, bytes);
	sink = frames[bytes / 2];
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return NULL;
}

static void *
park_in_malloc(void *arg)
{
	for (int i = 0; i < 50; i++)
		if (malloc(some(20000)) && arg)
			break;
	return park(NULL);
}

static void *
end(void *arg)
{
	return arg;
}

static void
make_thread(const char *kind)
{
	size_t size = 16384 + 4096 * some(100), guard = PAGE * some(6);
	bool is_own = !some(3);
	pthread_attr_t attr;
	pthread_t thread;
	char *p = NULL;

	pthread_attr_init(&attr);
	if (is_own) {
		p = map(size + PAGE, RW, ANON, -1);
		touch(p, size, true);
		pthread_attr_setstack(&attr, p + 16 * some(100), size);
	} else {
		pthread_attr_setstacksize(&attr, size + some(4000));
		pthread_attr_setguardsize(&attr, guard);
	}
	if (!some(4)) {
		if (pthread_create(&thread, &attr, end, NULL) == 0 && maybe())
			pthread_join(thread, NULL);
		return;
	}
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, &attr, maybe() ? park : park_in_malloc,
		    (void *)(uintptr_t)some(400)) != 0)
		return;
	pthread_barrier_wait(&barrier);
	if (pthread_getattr_np(thread, &attr) == 0) {
		void *low;

		pthread_attr_getstack(&attr, &low, &size);
		/* As glibc 2.42 makes guards. */
		if (!is_own && guard && maybe()) {
			char *at = (char *)low - guard;

			if (mprotect(at, guard, RW) == 0 && madvise(at, guard, GUARD_INSTALL) < 0)
				mprotect(at, guard, PROT_NONE);
			report_mapping(kind, at, guard, "stack");
		}
		/*
		 * Its first and last pages may be others' as well, if it was the program that made
		 * it.
		 */
		low = (void *)(((uintptr_t)low + PAGE - 1) & -PAGE);
		report_mapping(kind, low, size - PAGE - size % PAGE, "stack");
	}
}

static int
park_raw(void *arg)
{
	/* No libc: the stack is small, and TLS is the first thread's. */
	for (;;)
		syscall(PAUSE_NR, NULL, 0, NULL, NULL, 0);
	return arg != NULL;
}

#define RAW_FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

/*
 * A thread that libc knows nothing of; what lies above its stack is the program's, and so is the
 * guess.
 */
static void
make_raw_thread(const char *kind)
{
	size_t stack = (4 + some(60)) * PAGE, data = maybe() ? pages() * PAGE + 128 * PAGE : 0;
	char *p = map(PAGE + stack + data, PROT_NONE, ANON, -1);

	mprotect(p + PAGE, stack + data, RW);
	touch(p + PAGE + stack, data, true);
	if (clone(park_raw, p + PAGE + stack, RAW_FLAGS, NULL) < 0)
		return;
	if (data)
		report_mapping(kind, p + PAGE + stack, data, "anon");
}

/* A stack like musl's, with a struct pthread above it and somebody's memory behind. */
static void
make_musl_thread(const char *kind)
{
	size_t size = (16 + some(40)) * PAGE, data = pages() * PAGE;
	char *p = map(2 * PAGE + size + data, RW, ANON, -1), *top = p + 2 * PAGE + size;
	uint64_t *self = (uint64_t *)(void *)(top - 1024);
	int tid;

	mprotect(p, 2 * PAGE, PROT_NONE);
	touch(top, data, true);
	self[0] = self[2] = self[3] = (uintptr_t)self;
	self[9] = (uintptr_t)p;
	self[10] = 2 * PAGE + size;
	self[11] = (uintptr_t)top - 2048;
	self[12] = size - 2048;
	self[13] = 2 * PAGE;
	tid = clone(park_raw, top - 2048, RAW_FLAGS, NULL);
	if (tid < 0)
		return;
	self[6] = (uint32_t)tid;
	report_mapping(kind, p + 2 * PAGE, size, "stack");
	report_mapping(kind, top, data, "anon");
}

static void
make_alternate_stack(const char *kind)
{
	size_t size = 16 * PAGE;
	stack_t stack = { .ss_sp = map(size, RW, ANON, -1), .ss_size = size };

	sigaltstack(&stack, NULL);
	report_mapping(kind, stack.ss_sp, size, "anon");
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	void (*make)(const char *kind);
} kinds[] = {
	{ "anon", make_anon },
	{ "stripes", make_stripes },
	{ "reserve", make_reserve },
	{ "forbidden", make_forbidden },
	{ "advised", make_advised },
	{ "guards", make_guards },
	{ "locked", make_locked },
	{ "thp", make_thp },
	{ "moved", make_moved },
	{ "holed", make_holed },
	{ "uffd", make_uffd },
	{ "cow", make_cow },
	{ "pretender", make_pretender },
	{ "file", make_file_kind },
	{ "tmpfs", make_tmpfs },
	{ "elf", make_elf },
	{ "memfd", make_memfd },
	{ "shared", make_shared },
	{ "sysv", make_sysv },
	{ "sysv-huge", make_sysv_huge },
	{ "hugetlb", make_hugetlb },
	{ "dev-zero", make_dev_zero },
	{ "io-uring", make_io_uring },
	{ "perf", make_perf },
	{ "aio", make_aio },
	{ "malloc", make_blocks },
	{ "thread", make_thread },
	{ "raw-thread", make_raw_thread },
	{ "musl-thread", make_musl_thread },
	{ "alternate", make_alternate_stack },
};

#define NR_KINDS (sizeof kinds / sizeof *kinds)

static bool
is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 3; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc <= 3;
}

int
main(int argc, char **argv)
{
	uint64_t seed = (uint64_t)tracee_number(argc, argv, 1, 1);
	size_t nr;

	if (argc < 3)
		return 64;
	dir = argv[2];
	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (nr = 0; nr < 8; nr++)
		some(2);
	for (nr = 4 + some(40); nr; nr--) {
		size_t k = some(NR_KINDS);

		if (is_wanted(kinds[k].name, argc, argv))
			kinds[k].make(kinds[k].name);
	}
	tracee_ready();
	return tracee_park();
}
