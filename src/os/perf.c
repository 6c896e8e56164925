/*
 * Events of all CPUs (perf_event_open(2)): opened, read while they happen, and closed.
 *
 * Each CPU has a buffer and a clock, and no call reports that a CPU has written all its records up
 * to some time: a CPU writes a record a moment after it has taken the time for it.  But if one
 * record could have caused another (a thread made both, or waited for what the other thread did),
 * the first was published before the second was begun.  So if only records are given that are older
 * than the moment at which memdiag began to read the heads of all buffers, they come in an order in
 * which they can have happened.
 *
 * Unrelated records should be in the order of time as well: so those of the last LAG_NS, or of the
 * last round if that was shorter, are kept for the next round.  Within one buffer records are in
 * the order in which they were written.
 */
#include <config.h>

#include "os/perf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/debug.h"
#include "base/text.h"
#include "os/ahead.h"
#include "os/clock.h"
#include "os/perf-open.h"
#include "os/perf-priv.h"
#include "os/perf-refuse.h"
#include "os/ptrace.h"

#define LAG_NS 10000000
/* Number of other descriptors that memdiag may open. */
#define SPARE_FILES 64

/* ---- opening ---- */

static int
map_ring(struct perf *p, int fd, size_t nr_cpus, struct err *e)
{
	struct perf_ring *ring = &p->rings.ring[p->rings.nr];
	const size_t bytes = p->page_bytes + p->ring_bytes;
	struct perf_event_mmap_page *page =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return perf_refuse_ring(errno, bytes, nr_cpus, e);
	p->page[p->rings.nr] = page;
	*ring = (struct perf_ring){
		.data = (const char *)page + p->page_bytes,
		.data_bytes = p->ring_bytes,
		.head = &page->data_head,
		.tail = &page->data_tail,
		.id = p->id + p->rings.nr * 2 * (p->nr_events - 1),
	};
	return 0;
}

/* Open the events of CPU.  An offline CPU has no events, which is not an error. */
static int
open_cpu(struct perf *p, int cpu, size_t nr_cpus, struct err *e)
{
	const struct perf_source *source = p->options.source;
	int *fds = p->fd + p->rings.nr * p->nr_events;
	uint64_t *ids = p->id + p->rings.nr * 2 * (p->nr_events - 1);

	fds[0] = perf_open_event(p, NULL, cpu);
	if (fds[0] < 0 && errno == ENODEV)
		return 0;
	if (fds[0] < 0)
		return perf_refuse_event(errno, p->max_paranoid, e);
	if (map_ring(p, fds[0], nr_cpus, e) < 0)
		return -1;
	p->cpu[p->rings.nr] = cpu;
	for (size_t i = 0; i < p->options.nr_sources; i++)
		if (perf_open_source(p, &source[i], p->rings.nr, &fds[i + 1], &ids[i], e) < 0)
			return -1;
	p->poll[p->rings.nr++] = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	return 0;
}

/* List the online processors; without /sys, all configured ones. */
static int
list_cpus(struct perf_cpus *ret, struct err *e)
{
	auto_text struct text text = { 0 };
	auto_fd int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	char all[32];

	snprintf(all, sizeof all, "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
	if (perf_cpus_parse(ret, fd >= 0 && text_read(&text, fd, 65536) == 0 ? text.v : all) < 0)
		return err_set(e, ENOMEM, "cannot list the processors");
	return 0;
}

static size_t
nr_open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t nr = 0;

	while (d && readdir(d))
		nr++;
	if (d)
		closedir(d);
	return nr;
}

/* Make sure that NR more files can be open; WISHED if possible. */
static int
allow_files(struct perf *p, size_t nr, size_t wished, size_t nr_cpus, struct err *e)
{
	const size_t other = nr_open_files() + SPARE_FILES, need = nr + other;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wished + other)
		return 0;
	if (limit.rlim_max < need) {
		err_set_kind(e, ERR_FAILED, 0,
			"cannot watch events of %zu processors: %zu files must be open, and %llu may be",
			nr_cpus, need, (unsigned long long)limit.rlim_max);
		e->code = EMFILE;
		return err_hint(e, "Raise the limit as root (ulimit -n %zu) and try again", need);
	}
	p->old_files = limit;
	limit.rlim_cur = limit.rlim_max < wished + other ? limit.rlim_max : wished + other;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return err_set(e, errno, "cannot open %zu files", need);
	return 0;
}

static int
perf_make_room(struct perf *p, size_t nr_cpus, struct err *e)
{
	const size_t nr_fds = nr_cpus * p->nr_events;

	p->rings.ring = calloc(nr_cpus, sizeof *p->rings.ring);
	p->page = calloc(nr_cpus, sizeof(void *));
	p->poll = calloc(nr_cpus, sizeof *p->poll);
	p->sample_type = calloc(p->nr_events, sizeof *p->sample_type);
	p->id = calloc(2 * nr_fds, sizeof *p->id);
	p->cpu = calloc(nr_cpus, sizeof *p->cpu);
	p->fd = malloc(nr_fds * sizeof *p->fd);
	if (!p->rings.ring || !p->page || !p->poll || !p->sample_type || !p->id || !p->cpu ||
		!p->fd)
		return err_set(e, ENOMEM, "cannot watch events");
	for (size_t i = 0; i < p->options.nr_sources; i++)
		p->sample_type[i] =
			perf_attr_of(&p->options, &p->options.source[i], false).sample_type;
	for (size_t i = 0; i < nr_fds; i++)
		p->fd[i] = -1;
	p->nr_cpus = nr_cpus;
	p->rings.sample_type = p->sample_type;
	return 0;
}

/*
 * Do REQUEST to events [FIRST, END) of all CPUs, starting with the last one: the return of a call
 * is enabled everywhere before the call itself.  -1 with errno if one of them failed.
 */
static int
each_event(const struct perf *p, size_t first, size_t end, unsigned long request)
{
	int result = 0;

	for (size_t i = end; i-- > first;)
		for (size_t cpu = 0; cpu < p->rings.nr; cpu++)
			if (ioctl(p->fd[cpu * p->nr_events + i], request, 0) < 0)
				result = -1;
	return result;
}

static int
open_all(struct perf *p, const struct perf_cpus *cpus, struct err *e)
{
	const size_t nr = cpus->nr * p->nr_events;

	/* perf_filter_again() opens all except the buffers' a second time. */
	if (allow_files(p, nr, 2 * nr, cpus->nr, e) < 0 || perf_make_room(p, cpus->nr, e) < 0)
		return -1;
	for (size_t i = 0; i < cpus->nr; i++)
		if (open_cpu(p, cpus->v[i], cpus->nr, e) < 0)
			return -1;
	if (!p->rings.nr)
		return err_set_kind(
			e, ERR_UNSUPPORTED, ENODEV, "cannot watch events of any processor");
	/* Report mappings of code before the first stack. */
	if (each_event(p, 0, 1, PERF_EVENT_IOC_ENABLE) < 0 ||
		each_event(p, 1, p->nr_events, PERF_EVENT_IOC_ENABLE) < 0)
		return err_set(e, errno, "cannot begin to watch events");
	return 0;
}

int
perf_open(struct perf **ret, const struct perf_options *o, struct err *e)
{
	auto_perf struct perf *p = calloc(1, sizeof *p);
	struct perf_cpus cpus = { 0 };
	int failed;

	if (!p)
		return err_set(e, ENOMEM, "cannot watch events");
	p->page_bytes = p->ring_bytes = (size_t)sysconf(_SC_PAGESIZE);
	while (p->ring_bytes * 2 <= o->ring_bytes)
		p->ring_bytes *= 2;
	p->options = *o;
	p->options.ring_bytes = p->ring_bytes;
	p->counts_lost = true;
	for (size_t i = 0; i < o->nr_sources; i++)
		if (o->source[i].kind == PERF_TRACEPOINT)
			p->max_paranoid = -1;
	p->nr_events = o->nr_sources + 1;
	p->rings.nr_sources = o->nr_sources;
	p->rings.nr_regs = (size_t)__builtin_popcountll(o->regs_mask);
	p->rings.ahead_ns = os_own_clock_ahead();
	failed = list_cpus(&cpus, e) < 0 || open_all(p, &cpus, e) < 0;
	free(cpus.v);
	if (failed)
		return -1;
	p->rings.counts_lost = p->counts_lost;
	p->seen_ns = os_now_ns();
	*ret = take_ptr(&p);
	return 0;
}

/* ---- closing ---- */

void
perf_free(struct perf *p)
{
	if (!p)
		return;
	/* Include the CPU that could not be opened. */
	for (size_t cpu = 0; p->fd && cpu < p->nr_cpus; cpu++) {
		if (p->page[cpu])
			munmap(p->page[cpu], p->page_bytes + p->ring_bytes);
		for (size_t i = 0; i < p->nr_events; i++)
			cleanup_fd(&p->fd[cpu * p->nr_events + i]);
	}
	if (p->old_files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &p->old_files);
	free(p->rings.ring);
	free(p->page);
	free(p->poll);
	free(p->sample_type);
	free(p->id);
	free(p->cpu);
	free(p->fd);
	free(p);
}

/* ---- reading ---- */

static void
poll_rings(struct perf *p, uint64_t timeout_ns)
{
	const struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / 1000000000),
		.tv_nsec = (long)(timeout_ns % 1000000000),
	};

	if (ppoll(p->poll, p->rings.nr, &timeout, NULL) <= 0)
		return;
	/* Remove a CPU that went offline, which would end each wait. */
	for (size_t i = 0; i < p->rings.nr; i++)
		if (p->poll[i].revents & (POLLERR | POLLHUP | POLLNVAL))
			p->poll[i].fd = -1;
}

void
perf_wait(struct perf *p, uint64_t timeout_ns)
{
	uint64_t now_ns, limit_ns;

	if (p->is_stopped)
		return;
	if (timeout_ns > LAG_NS && perf_rings_has_more(&p->rings))
		timeout_ns = LAG_NS;
	poll_rings(p, timeout_ns);
	now_ns = os_now_ns();
	limit_ns = now_ns - LAG_NS > p->seen_ns ? now_ns - LAG_NS : p->seen_ns;
	p->seen_ns = now_ns;
	perf_rings_update(&p->rings, limit_ns);
}

/*
 * Let the CPUs finish records that they are writing: the kernel takes the time of a record and
 * writes it within one section of rcu_read_lock() (__perf_event_output(), perf_iterate_sb()), and
 * this call waits for all of them (kernel/sched/membarrier.c).  It is not available with nohz_full.
 */
static void
let_cpus_finish(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		os_sleep_ns(LAG_NS);
}

void
perf_stop(struct perf *p)
{
	if (p->is_stopped)
		return;
	p->is_stopped = true;
	each_event(p, 0, p->nr_events, PERF_EVENT_IOC_DISABLE);
	let_cpus_finish();
	for (size_t i = 0; i < p->rings.nr * p->nr_events; i++)
		perf_event_finish(p, p->fd[i],
			i % p->nr_events ? &p->options.source[i % p->nr_events - 1] : NULL);
	perf_rings_update(&p->rings, UINT64_MAX);
}

bool
perf_next(struct perf *p, struct perf_record *ret)
{
	return perf_rings_next(&p->rings, ret);
}

/*
 * The next record that fits into the buffer announces a loss; the events themselves have counted it
 * before.  A sample that was made and not given is lost, whatever the reason.
 */
uint64_t
perf_nr_lost(const struct perf *p)
{
	const uint64_t announced = p->rings.nr_lost, given = p->rings.nr_samples;
	const uint64_t nr = (announced > p->nr_lost ? announced : p->nr_lost) + p->rings.nr_damaged;
	const bool is_counted = p->is_stopped && !p->has_uncounted;

	return is_counted && p->nr_samples > given + nr ? p->nr_samples - given : nr;
}
