/*
 * Events of the machine, made by children of this test: what they did is what is reported.
 */
#include <config.h>

#include "os-perf.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/perf.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/target.h"

#define PAGE 4096
#define MIB ((size_t)1 << 20)
#define RING (4 * MIB)
#define BIG 60000000

static void *
map_bytes(size_t bytes, int prot)
{
	return mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* The next of what P has of process PID; its rest is skipped. */
static bool
next_of(struct perf *p, pid_t pid, struct perf_record *ret)
{
	while (perf_next(p, ret))
		if (ret->pid == pid && ret->type != PERF_LOST)
			return true;
	return false;
}

/* A child that runs FN(ARG) and ends; returns its number, when it has ended. */
static pid_t
run_child(void (*fn)(void *arg), void *arg)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(arg);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	ok(status == 0, "the child worked");
	return pid;
}

/* ---- tracepoints ---- */

#define NR_BIG 50

struct maps {
	uint64_t address[NR_BIG];
	pid_t tid;
};

/* Big and small ones in turn, around the limit. */
static void
make_maps(void *arg)
{
	struct maps *maps = arg;

	maps->tid = (pid_t)syscall(SYS_gettid);
	for (size_t i = 0; i < NR_BIG; i++) {
		const size_t bytes = BIG + (i + 1) * PAGE;
		void *big = map_bytes(bytes, PROT_NONE), *small = map_bytes(BIG, PROT_NONE);

		maps->address[i] = (uintptr_t)big;
		munmap(small, BIG);
		munmap(big, bytes);
	}
}

static void
test_tracepoints(void)
{
	const struct perf_source sources[] = {
		{ .kind = PERF_TRACEPOINT, .id = id_mmap, .filter = "len > 60000000", .period = 1 },
		{ .kind = PERF_TRACEPOINT, .id = id_exit_mmap, .period = 1 },
		{ .kind = PERF_TRACEPOINT, .id = id_munmap, .filter = "len > 60000000" },
	};
	struct perf *p = watch(sources, 3, RING);
	struct maps *maps = shared_memory(sizeof *maps);
	size_t nr_mapped = 0, nr_addresses = 0, nr_unmapped = 0, nr_wrong = 0, nr_late = 0;
	uint64_t start_ns = os_now_ns(), end_ns, last_ns = 0;
	struct perf_record r;
	bool is_mapping = false;
	pid_t pid = run_child(make_maps, maps);

	end_ns = os_now_ns();
	perf_stop(p);
	while (next_of(p, pid, &r)) {
		nr_wrong += r.tid != maps->tid || r.time_ns < start_ns || r.time_ns > end_ns ||
			r.stack || r.regs;
		nr_late += r.time_ns < last_ns;
		last_ns = r.time_ns;
		if (r.type != PERF_EVENT)
			continue;
		if (r.source == 0) {
			nr_wrong += raw_u64(&r, at_len) != BIG + (nr_mapped + 1) * PAGE;
			nr_mapped++;
			is_mapping = true;
		} else if (r.source == 1 && is_mapping) {
			nr_wrong += raw_u64(&r, at_ret) != maps->address[nr_addresses % NR_BIG];
			nr_addresses++;
			is_mapping = false;
		} else if (r.source == 2) {
			nr_unmapped++;
		}
	}
	is_u64(nr_mapped, NR_BIG, "each mmap() that the filter lets through");
	is_u64(nr_addresses, NR_BIG, "and what it returned");
	is_u64(nr_unmapped, NR_BIG, "each munmap()");
	is_u64(nr_wrong, 0, "with its length, address, thread and a time between ours");
	is_u64(nr_late, 0, "in the order of time");
	is_u64(perf_nr_lost(p), 0, "none is lost");
	ok(!perf_next(p, &r), "the end stays the end");
	perf_free(p);
}

#define PERIOD 10

struct equal {
	size_t nr;
	int cpu;
};

static void
make_equal_maps(void *arg)
{
	const struct equal *equal = arg;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(equal->cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
	for (size_t i = 0; i < equal->nr; i++)
		munmap(map_bytes(BIG, PROT_NONE), BIG);
}

static void
test_period(void)
{
	char filter[64];
	struct equal equal = { .nr = 1000, .cpu = sched_getcpu() };
	size_t nr = 0;
	struct perf_source source = {
		.kind = PERF_TRACEPOINT, .id = id_mmap, .filter = filter, .period = PERIOD
	};
	struct perf_record r;
	struct perf *p;
	pid_t pid;

	snprintf(filter, sizeof filter, "len == %d", BIG);
	p = watch(&source, 1, RING);
	pid = run_child(make_equal_maps, &equal);
	perf_stop(p);
	while (next_of(p, pid, &r))
		nr += r.type == PERF_EVENT;
	is_u64(nr, equal.nr / PERIOD, "one of ten");
	perf_free(p);
}

/* ---- stacks ---- */

#define READ_BYTES 12345

/*
 * A child that is in a system call has the stack that it had when it began the call: compare the
 * copy with its memory, and the registers with those that /proc has.
 */
static bool
is_stack_of(const struct perf_record *r)
{
	auto_target struct target t = TARGET_NONE;
	const uint64_t end_ns = os_now_ns() + DEADLINE_NS;
	struct os_syscall call = { .is_running = true };
	char now[4096];
	struct err e;

	if (!r->regs || !r->stack || target_open(&t, r->pid, &e) < 0)
		return false;
	while (call.is_running && os_now_ns() < end_ns)
		if (os_thread_syscall(&t, r->tid, &call, &e) < 0)
			return false;
	if (os_read(&t, call.sp, now, r->stack_bytes, &e) < 0)
		return false;
	printf("# sp %#" PRIx64 " and %#" PRIx64 ", pc %#" PRIx64 " and %#" PRIx64 ", %zu bytes\n",
		call.sp.v, r->regs[0], call.pc.v, r->regs[1], r->stack_bytes);
	return call.sp.v == r->regs[0] && call.pc.v == r->regs[1] &&
		memcmp(now, r->stack, r->stack_bytes) == 0;
}

static void __attribute__((noinline)) read_below(int fd, int depth)
{
	volatile char on_stack[1024];
	static char buf[READ_BYTES];

	memset((char *)(uintptr_t)on_stack, 'a' + depth, sizeof on_stack);
	if (depth)
		read_below(fd, depth - 1);
	else if (read(fd, buf, sizeof buf) < 0)
		_exit(1);
	on_stack[0]++;
}

static void
test_stack(void)
{
	struct perf_source source = { .kind = PERF_TRACEPOINT,
		.id = id_read,
		.filter = "count == 12345",
		.period = 1,
		.has_stack = true };
	struct perf *p = watch(&source, 1, RING);
	const uint64_t end_ns = os_now_ns() + DEADLINE_NS;
	struct perf_record r = { 0 };
	bool is_seen = false;
	int fd[2];
	pid_t pid;

	if (pipe(fd) < 0)
		abort();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[1]);
		read_below(fd[0], 8);
		_exit(0);
	}
	while (!is_seen && os_now_ns() < end_ns) {
		perf_wait(p, 1000000);
		while (!is_seen && next_of(p, pid, &r))
			is_seen = r.type == PERF_EVENT;
	}
	ok(is_seen, "a call that blocks is reported while it does");
	is_u64(r.stack_bytes, 4096, "as much of the stack as was wanted");
	ok(is_stack_of(&r), "registers and stack are the child's");
	close(fd[1]);
	waitpid(pid, NULL, 0);
	close(fd[0]);
	perf_free(p);
}

/* ---- processes ---- */

struct family {
	pid_t child, thread;
	uint64_t code, file_code, no_code;
};

static void *
say_tid(void *arg)
{
	*(pid_t *)arg = (pid_t)syscall(SYS_gettid);
	return NULL;
}

static void
make_family(void *arg)
{
	struct family *f = arg;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	pthread_t thread;
	pid_t child;

	f->code = (uintptr_t)map_bytes(3 * PAGE, PROT_READ | PROT_EXEC);
	f->no_code = (uintptr_t)map_bytes(3 * PAGE, PROT_READ);
	f->file_code = (uintptr_t)mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (pthread_create(&thread, NULL, say_tid, &f->thread) != 0)
		_exit(1);
	pthread_join(thread, NULL);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", "os-perf", "nothing", NULL);
		_exit(1);
	}
	f->child = child;
	waitpid(child, NULL, 0);
}

/* A letter for each record, of the child and its family. */
static char
letter_of(const struct perf_record *r, pid_t pid, const struct family *f)
{
	switch (r->type) {
	case PERF_FORKED:
		return r->pid == pid && r->tid == pid && r->parent == getpid()	       ? 'C'
			: r->pid == pid && r->tid == f->thread && r->parent == pid     ? 'T'
			: r->pid == f->child && r->tid == f->child && r->parent == pid ? 'G'
										       : '?';
	case PERF_EXECUTED:
		return r->pid == f->child ? 'X' : '?';
	case PERF_ENDED:
		return r->tid == f->thread ? 't' : r->tid == f->child ? 'g' : 'c';
	case PERF_MAPPED:
		if (r->pid == f->child)
			return 'm';
		return r->start.v == f->code && r->end.v == f->code + 3 * PAGE && !r->has_file ? 'a'
			: r->start.v == f->file_code && r->end.v == f->file_code + 2 * PAGE &&
				r->has_file
			? 'f'
			: '-';
	default:
		return '?';
	}
}

static void
test_family(void)
{
	struct perf *p = watch(NULL, 0, RING);
	struct family *f = shared_memory(sizeof *f);
	pid_t pid = run_child(make_family, f);
	char story[256] = "";
	size_t nr = 0, nr_maps = 0;
	struct perf_record r;

	perf_stop(p);
	while (perf_next(p, &r)) {
		char letter;

		if (r.type == PERF_LOST || (r.pid != pid && r.pid != f->child))
			continue;
		letter = letter_of(&r, pid, f);
		nr_maps += letter == 'm';
		/* The child's libraries may be many, and others than its own mappings few. */
		if (letter != 'm' && letter != '-' && nr < sizeof story - 1)
			story[nr++] = letter;
	}
	story[nr] = '\0';
	is_str(story, "CafTtGXgc", "all that began and ended, and what it mapped as code");
	ok(nr_maps >= 2, "and what the program maps that is executed (%zu)", nr_maps);
	perf_free(p);
}

/* ---- page faults ---- */

#define NR_TOUCHED 300

struct pages {
	char *start;
	size_t nr_read;
};

/* Half of them by itself, and half by having the kernel write to them. */
static void
touch_pages(void *arg)
{
	struct pages *pages = arg;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *p = mmap(NULL, NR_TOUCHED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);

	madvise(p, NR_TOUCHED * PAGE, MADV_NOHUGEPAGE);
	pages->start = p;
	for (size_t i = 0; i < NR_TOUCHED; i++) {
		if (i % 2)
			p[i * PAGE] = 1;
		else
			pages->nr_read += read(fd, p + i * PAGE, 8) == 8;
	}
	p[0] = 2; /* it is there by now */
}

/* What was seen of the faults of a child that touches pages. */
struct faults {
	size_t nr, nr_wrong, nr_major, nr_read;
	uint64_t nr_lost;
};

/*
 * Another program that watches the same page faults, from now on: the kernel makes its samples
 * before ours, and ours with what was made for them.  REGS and BYTES are what it wants of a thread;
 * its clock is not ours.  Its buffer is so small that it loses most.
 */
struct other {
	int fd[2 * CPU_SETSIZE];
	size_t nr;
};

static void
watch_also(struct other *other, uint64_t regs, uint32_t bytes)
{
	struct perf_event_attr attr = {
		.size = sizeof attr,
		.type = PERF_TYPE_SOFTWARE,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			(bytes ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER : 0),
		.sample_regs_user = bytes ? regs : 0,
		.sample_stack_user = bytes,
		.use_clockid = 1,
		.clockid = CLOCK_REALTIME,
	};

	other->nr = 0;
	for (int i = 0; i < 2 * sysconf(_SC_NPROCESSORS_CONF) && i < 2 * CPU_SETSIZE; i++) {
		int fd;

		attr.config = i % 2 ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN;
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, i / 2, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 ||
			mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
				MAP_FAILED)
			printf("# another event: %s\n", strerror(errno));
		if (fd >= 0)
			other->fd[other->nr++] = fd;
	}
}

static void
watch_no_longer(struct other *other)
{
	while (other->nr)
		close(other->fd[--other->nr]);
}

/*
 * The buffers have the faults of all processes: so each has little of the stack, and they are
 * large.  Unless OTHER_REGS is 0, another program
 * begins to watch them after us, with these registers and so much of the stack.
 */
static struct faults
watch_faults(uint64_t other_regs, uint32_t other_bytes)
{
	struct perf_source sources[] = {
		{ .kind = PERF_MINOR_FAULTS, .period = 1, .has_stack = true },
		{ .kind = PERF_MAJOR_FAULTS, .period = 1 },
	};
	const struct perf_options o = { .source = sources,
		.nr_sources = 2,
		.regs_mask = REGS_MASK,
		.stack_bytes = 256,
		.ring_bytes = 8 * RING };
	struct pages *pages = shared_memory(sizeof *pages);
	struct faults f = { 0 };
	struct other other = { .nr = 0 };
	char seen[NR_TOUCHED] = "";
	struct perf *p = NULL;
	struct perf_record r;
	struct err e;
	pid_t pid;

	if (perf_open(&p, &o, &e) < 0) {
		ok(false, "faults are watched: %s", e.msg);
		return f;
	}
	if (other_regs)
		watch_also(&other, other_regs, other_bytes);
	pid = run_child(touch_pages, pages);
	perf_stop(p);
	watch_no_longer(&other);
	while (next_of(p, pid, &r)) {
		const uint64_t at = r.address.v - (uintptr_t)pages->start;

		if (r.type != PERF_EVENT || at >= NR_TOUCHED * PAGE)
			continue;
		f.nr_major += r.source == 1;
		f.nr_wrong += seen[at / PAGE]++ || at % PAGE || !r.regs || !r.stack_bytes || r.raw;
		f.nr++;
	}
	f.nr_read = pages->nr_read;
	f.nr_lost = perf_nr_lost(p);
	perf_free(p);
	return f;
}

#define MAX_TRIES 50

/* On a busy machine other processes may fill the buffers meanwhile: then it is done again. */
static void
test_faults(void)
{
	struct faults f = watch_faults(0, 0);

	for (int i = 1; i < MAX_TRIES && f.nr_lost; i++)
		f = watch_faults(0, 0);
	is_u64(f.nr_read, NR_TOUCHED / 2, "the kernel wrote to half of the pages");
	is_u64(f.nr_lost, 0, "no page fault is lost in one of 50 runs");
	is_u64(f.nr, NR_TOUCHED, "each page that is touched is a fault, also within read()");
	is_u64(f.nr_major, 0, "no fault of a page that is touched is a major one");
	is_u64(f.nr_wrong, 0, "each fault comes once, with its address, registers and a stack");
}

/* All faults are seen, or counted as lost, whatever another program wants of them. */
static void
test_faults_of_two(void)
{
	static const struct {
		uint64_t regs;
		uint32_t bytes;
		bool has_all; /* samples have room for all that we want */
		const char *what;
	} cases[] = {
		{ REGS_MASK, 256, true, "the same" },
		{ REGS_MASK, 1024, true, "more of the stack" },
		{ REGS_MASK, 64, true, "less of the stack" },
		{ REGS_MASK | 15, 256, true, "more registers" },
		{ REGS_MASK, 0, true, "neither" },
		{ UINT64_C(1) << PC_BIT, 256, false, "fewer registers" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct faults f = watch_faults(cases[i].regs, cases[i].bytes);
		const bool may_lose = !cases[i].has_all;

		for (int k = 1; k < MAX_TRIES && f.nr_lost && !may_lose; k++)
			f = watch_faults(cases[i].regs, cases[i].bytes);
		printf("# another program wants %s: %zu seen, %" PRIu64 " lost\n", cases[i].what,
			f.nr, f.nr_lost);
		ok(may_lose ? f.nr + f.nr_lost >= NR_TOUCHED : f.nr == NR_TOUCHED,
			"each is seen or lost, and none is lost without need");
		is_u64(f.nr_wrong + f.nr_major, 0, "each once, with what belongs to it");
	}
}

/* ---- losses ---- */

/* Since Linux 6.0 (commit 119a784c8127) events count the records that they lost. */
static bool
counts_lost(void)
{
	struct utsname name;

	return uname(&name) == 0 && atoi(name.release) >= 6;
}

/*
 * A buffer of a page, and NR events without a reader: SEEN and LOST together are all of them, and
 * a few of other processes that map code, begin and end meanwhile.
 */
static bool
try_storm(size_t nr, bool reads_between)
{
	struct perf_source source = {
		.kind = PERF_TRACEPOINT, .id = id_mmap, .filter = "len == 60000000", .period = 1
	};
	struct perf *p = watch(&source, 1, 1);
	struct equal equal = { .nr = nr, .cpu = sched_getcpu() };
	uint64_t nr_seen = 0, nr_announced = 0, before, after;
	struct perf_record r;

	for (int i = 0; i < 2; i++) {
		run_child(make_equal_maps, &equal);
		if (!reads_between || i)
			continue;
		perf_wait(p, 0);
		perf_wait(p, DEADLINE_NS); /* what was kept */
		while (perf_next(p, &r)) {
			nr_seen += r.type == PERF_EVENT;
			nr_announced += r.type == PERF_LOST ? r.nr_lost : 0;
		}
	}
	before = perf_nr_lost(p);
	perf_stop(p);
	while (perf_next(p, &r)) {
		nr_seen += r.type == PERF_EVENT;
		nr_announced += r.type == PERF_LOST ? r.nr_lost : 0;
	}
	after = perf_nr_lost(p);
	perf_free(p);
	printf("# of %zu: %" PRIu64 " seen, %" PRIu64 " lost, %" PRIu64
	       " of them announced, %" PRIu64 " before the end\n",
		2 * nr, nr_seen, after, nr_announced, before);
	ok(after > 0 && nr_seen <= 2 * nr && before <= after,
		"not all are seen, and some are lost");
	ok(!reads_between || nr_announced > 0, "a loss is announced by the next record that fits");
	ok(nr_seen + after >= 2 * nr, "no loss is missing in the count");
	return nr_seen && nr_seen + after < 2 * nr + nr / 2;
}

static void
test_losses(void)
{
	if (!counts_lost()) {
		skip("losses", "the kernel counts them since Linux 6.0");
		return;
	}
	for (int reads = 0; reads < 2; reads++) {
		bool is_counted_once = false;

		/* Other processes lose records as well, but not always so many. */
		for (int i = 0; i < 10 && !is_counted_once; i++)
			is_counted_once = try_storm(20000, reads);
		ok(is_counted_once, "some are seen, and no loss is counted twice");
	}
}

/* ---- waiting ---- */

/*
 * With a buffer that other processes do not fill soon; a deadline of 300 s ends the waits that this
 * is about.
 */
static void
test_kept(void)
{
	struct perf_source source = {
		.kind = PERF_TRACEPOINT, .id = id_mmap, .filter = "len == 60000000", .period = 1
	};
	struct perf *p = watch(&source, 1, 16 * RING);
	struct equal equal = { .nr = 1, .cpu = sched_getcpu() };
	struct perf_record r;
	uint64_t start_ns;
	size_t nr = 0;
	pid_t pid;

	pid = run_child(make_equal_maps, &equal);
	start_ns = os_now_ns();
	while (!nr && os_now_ns() < start_ns + DEADLINE_NS) {
		perf_wait(p, 0);
		perf_wait(p, DEADLINE_NS); /* ends soon if the first has kept it */
		while (next_of(p, pid, &r))
			nr += r.type == PERF_EVENT;
	}
	is_u64(nr, 1, "a record that is kept is given soon");
	ok(os_now_ns() < start_ns + DEADLINE_NS / 2, "without another one");
	perf_free(p);
}

static void
test_full(void)
{
	struct perf_source source = {
		.kind = PERF_TRACEPOINT, .id = id_mmap, .filter = "len == 60000000", .period = 1
	};
	struct perf *p = watch(&source, 1, 64 * 1024);
	struct equal equal = { .nr = 2000, .cpu = sched_getcpu() };
	struct perf_record r;
	uint64_t start_ns;

	/* Nothing is kept, if no other process does anything. */
	os_sleep_ns(11000000);
	perf_wait(p, 0);
	while (perf_next(p, &r))
		;
	run_child(make_equal_maps, &equal);
	start_ns = os_now_ns();
	perf_wait(p, DEADLINE_NS);
	ok(os_now_ns() < start_ns + DEADLINE_NS / 2, "a full buffer ends a wait");
	perf_free(p);
}

static void
on_alarm(int signal)
{
	(void)signal;
}

static void
test_signal(void)
{
	struct perf_source source = {
		.kind = PERF_TRACEPOINT, .id = id_mmap, .filter = "len == 1", .period = 1
	};
	const struct itimerval soon = { .it_value = { .tv_usec = 1000 },
		.it_interval = { .tv_usec = 1000 } };
	const struct itimerval never = { 0 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct perf *p = watch(&source, 1, 4 * RING);
	uint64_t start_ns = os_now_ns();

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	perf_wait(p, DEADLINE_NS);
	setitimer(ITIMER_REAL, &never, NULL);
	ok(os_now_ns() < start_ns + DEADLINE_NS / 2, "a signal ends a wait");
	perf_free(p);
}

/* ---- others' clocks, ends ---- */

/* In a time namespace the kernel's records have another time than we. */
static bool
try_ahead(void *arg)
{
	struct perf_source source = {
		.kind = PERF_TRACEPOINT, .id = id_mmap, .filter = "len == 60000000", .period = 1
	};
	const struct perf_options o = { .source = &source, .nr_sources = 1, .ring_bytes = RING };
	const uint64_t start_ns = os_now_ns();
	struct perf_record r;
	bool is_seen = false;
	struct perf *p;
	struct err e;

	(void)arg;
	if (perf_open(&p, &o, &e) < 0)
		return false;
	munmap(map_bytes(BIG, PROT_NONE), BIG);
	perf_wait(p, 0);
	perf_wait(p, 0);
	os_sleep_ns(11000000);
	perf_wait(p, 0);
	while (perf_next(p, &r))
		is_seen |= r.type == PERF_EVENT && r.pid == getpid() && r.time_ns >= start_ns &&
			r.time_ns <= os_now_ns();
	perf_free(p);
	return is_seen;
}

static bool
run_ahead(void *is_possible)
{
	const char *offset = "monotonic 1000000 0\n";
	int fd;

	if (unshare(0x80 /* CLONE_NEWTIME, Linux 5.6 */) < 0)
		return false;
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, offset, strlen(offset)) < 0)
		return false;
	*(bool *)is_possible = true;
	return in_child(try_ahead, NULL);
}

static void
test_time_namespace(void)
{
	bool *is_possible = shared_memory(sizeof *is_possible), is_right;

	ok(in_child(try_ahead, NULL), "the time is that of our clock");
	is_right = in_child(run_ahead, is_possible);
	if (!*is_possible)
		skip("also in a time namespace", "none can be made here");
	else
		ok(is_right, "also in a time namespace");
}

static void
watch_and_die(int said)
{
	const struct perf_source sources[] = {
		{ .kind = PERF_TRACEPOINT, .id = id_mmap, .period = 1, .has_stack = true },
		{ .kind = PERF_TRACEPOINT, .id = id_munmap, .period = 1, .has_stack = true },
		{ .kind = PERF_MINOR_FAULTS, .period = 1, .has_stack = true },
		{ .kind = PERF_MAJOR_FAULTS, .period = 1 },
	};
	struct tracefs t = TRACEFS_NONE;
	struct err e;
	struct perf *p;

	if (tracefs_open(&t, true, &e) < 0)
		_exit(1);
	p = watch(sources, 4, RING);
	for (size_t i = 0; i < 100; i++)
		munmap(map_bytes(BIG, PROT_NONE), BIG);
	perf_wait(p, 0);
	if (write(said, "x", 1) < 0)
		_exit(1);
	for (;;)
		perf_wait(p, 1000000);
}

/* What the kernel's own switch of a tracepoint says: '0' or '1'. */
static char
switch_of(const char *name)
{
	auto_tracefs struct tracefs t = TRACEFS_NONE;
	char path[128], state = '?';
	struct err e;
	int fd;

	if (tracefs_open(&t, true, &e) < 0)
		return '!';
	snprintf(path, sizeof path, "events/%s/enable", name);
	fd = openat(t.fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &state, 1) < 0)
		state = '-';
	close(fd);
	return state;
}

static void
test_killed(void)
{
	char *before = mounts_now(), *after, byte = 0;
	const char state = switch_of("syscalls/sys_enter_mmap");
	int said[2];
	pid_t pid;

	if (pipe(said) < 0)
		abort();
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		watch_and_die(said[1]);
	}
	close(said[1]);
	ok(read(said[0], &byte, 1) == 1 && byte == 'x', "a child watches all of it");
	ok(switch_of("syscalls/sys_enter_mmap") == state, "which the tracing files do not show");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	after = mounts_now();
	is_str(after, before, "killed, it leaves no mount");
	ok(state != '?' && switch_of("syscalls/sys_enter_mmap") == state,
		"and the switch of the tracepoint as it was (%c)", state);
	free(before);
	free(after);
	close(said[0]);
}

int
main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) /* the program that test_family() executes */
		return 0;
	if (!can_watch())
		return tap_end();
	test_tracepoints();
	test_period();
	test_stack();
	test_family();
	test_faults();
	test_faults_of_two();
	test_losses();
	test_kept();
	test_full();
	test_signal();
	test_time_namespace();
	test_killed();
	return tap_end();
}
