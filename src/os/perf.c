/*
 * Events of all CPUs (perf_event_open(2)): opened, read while they happen, and closed.
 *
 * Each CPU has a buffer and a clock, and no call reports that a CPU has written all its records up
 * to some time: a CPU that has taken the time for a record writes it a moment later.  But if one
 * record could have caused another (a thread made both, or waited for what the other thread did),
 * the first was published before the second was begun.  So if only those records are given that are
 * older than the moment at which memdiag began to read the heads of all buffers, they come in an
 * order in which they can have happened.
 *
 * Records that have nothing to do with each other shall be in the order of time as well: so those
 * of the last LAG_NS, or of the last round if that was shorter, are kept for the next round.
 * Within one buffer records are in the order in which they were written.
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
#include "os/clock.h"
#include "os/perf-priv.h"

#define LAG_NS 10000000
/* Descriptors that memdiag may open besides. */
#define SPARE_FILES 64

struct perf {
	struct perf_rings rings;
	size_t nr_cpus;	  /* that there is room for */
	size_t nr_events; /* of each CPU: the sources', and the one that has the buffer */
	int *fd;	  /* nr_events of each CPU, the buffer's first; -1: not open */
	uint64_t *id;	  /* nr_events - 1 of each CPU */
	uint64_t *sample_type;
	struct perf_event_mmap_page **page; /* of each CPU, with the buffer behind it */
	size_t page_bytes, ring_bytes;
	struct pollfd *poll;
	bool counts_lost;
	int max_paranoid; /* kernel.perf_event_paranoid that allows all sources */
	uint64_t nr_lost; /* as the events say, after perf_stop() */
	uint64_t seen_ns; /* when heads were read last */
	bool is_stopped;
	struct rlimit old_files; /* as it was; rlim_max is 0 if it was not changed */
};

/* ---- opening ---- */

static int
open_event(const struct perf_event_attr *attr, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The event of SOURCE, or that which has the buffer (NULL); with less before Linux 6.0. */
static int
try_event(struct perf *p, const struct perf_options *o, const struct perf_source *source, int cpu)
{
	struct perf_event_attr attr = perf_attr_of(o, source, p->counts_lost);
	int fd = open_event(&attr, cpu);

	if (fd >= 0 || errno != EINVAL || !p->counts_lost)
		return fd;
	attr = perf_attr_of(o, source, false);
	fd = open_event(&attr, cpu);
	if (fd >= 0) {
		debug("perf: this kernel does not count the lost records of an event");
		p->counts_lost = false;
	}
	return fd;
}

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
		.id = p->id + p->rings.nr * (p->nr_events - 1),
	};
	return 0;
}

static int
open_source(struct perf *p, const struct perf_options *o, size_t i, int cpu, struct err *e)
{
	const struct perf_source *source = &o->source[i];
	int *fds = p->fd + p->rings.nr * p->nr_events, fd = try_event(p, o, source, cpu);

	if (fd < 0)
		return perf_refuse_event(errno, p->max_paranoid, e);
	fds[i + 1] = fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fds[0]) < 0 ||
		ioctl(fd, PERF_EVENT_IOC_ID, p->id + p->rings.nr * (p->nr_events - 1) + i) < 0)
		return err_set(e, errno, "cannot direct events of processor %d to a buffer", cpu);
	if (source->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, source->filter) < 0)
		return err_set(
			e, errno, "cannot filter events: the kernel rejects '%s'", source->filter);
	p->sample_type[i] = perf_attr_of(o, source, false).sample_type;
	return 0;
}

/* A CPU that is offline has no events, and is no error. */
static int
open_cpu(struct perf *p, const struct perf_options *o, int cpu, size_t nr_cpus, struct err *e)
{
	int *fds = p->fd + p->rings.nr * p->nr_events;

	fds[0] = try_event(p, o, NULL, cpu);
	if (fds[0] < 0 && errno == ENODEV)
		return 0;
	if (fds[0] < 0)
		return perf_refuse_event(errno, p->max_paranoid, e);
	if (map_ring(p, fds[0], nr_cpus, e) < 0)
		return -1;
	for (size_t i = 0; i < o->nr_sources; i++)
		if (open_source(p, o, i, cpu, e) < 0)
			return -1;
	p->poll[p->rings.nr++] = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	return 0;
}

/* Without /sys they are tried one by one. */
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

/* Make sure that NR more files can be open. */
static int
allow_files(struct perf *p, size_t nr, size_t nr_cpus, struct err *e)
{
	const size_t need = nr + nr_open_files() + SPARE_FILES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
		return 0;
	if (limit.rlim_max < need) {
		err_set_kind(e, ERR_FAILED, 0,
			"cannot watch events of %zu processors: %zu files must be open, and %llu "
			"may be",
			nr_cpus, need, (unsigned long long)limit.rlim_max);
		e->code = EMFILE;
		return err_hint(e, "Raise the limit as root (ulimit -n %zu) and try again", need);
	}
	p->old_files = limit;
	limit.rlim_cur = need;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return err_set(e, errno, "cannot open %zu files", need);
	return 0;
}

static int
make_room(struct perf *p, size_t nr_cpus, struct err *e)
{
	const size_t nr_fds = nr_cpus * p->nr_events;

	p->rings.ring = calloc(nr_cpus, sizeof *p->rings.ring);
	p->page = calloc(nr_cpus, sizeof(void *));
	p->poll = calloc(nr_cpus, sizeof *p->poll);
	p->sample_type = calloc(p->nr_events, sizeof *p->sample_type);
	p->id = calloc(nr_fds, sizeof *p->id);
	p->fd = malloc(nr_fds * sizeof *p->fd);
	if (!p->rings.ring || !p->page || !p->poll || !p->sample_type || !p->id || !p->fd)
		return err_set(e, ENOMEM, "cannot watch events");
	for (size_t i = 0; i < nr_fds; i++)
		p->fd[i] = -1;
	p->nr_cpus = nr_cpus;
	p->rings.sample_type = p->sample_type;
	return 0;
}

/* Do REQUEST to events [FIRST, END) of all CPUs.  -1 with errno if one of them failed. */
static int
each_event(const struct perf *p, size_t first, size_t end, unsigned long request)
{
	int result = 0;

	for (size_t cpu = 0; cpu < p->rings.nr; cpu++)
		for (size_t i = first; i < end; i++)
			if (ioctl(p->fd[cpu * p->nr_events + i], request, 0) < 0)
				result = -1;
	return result;
}

static int
open_all(struct perf *p, const struct perf_options *o, const struct perf_cpus *cpus, struct err *e)
{
	if (allow_files(p, cpus->nr * p->nr_events, cpus->nr, e) < 0 ||
		make_room(p, cpus->nr, e) < 0)
		return -1;
	for (size_t i = 0; i < cpus->nr; i++)
		if (open_cpu(p, o, cpus->v[i], cpus->nr, e) < 0)
			return -1;
	if (!p->rings.nr)
		return err_set_kind(
			e, ERR_UNSUPPORTED, ENODEV, "cannot watch events of any processor");
	/* Mappings of code are reported before the first stack. */
	if (each_event(p, 0, 1, PERF_EVENT_IOC_ENABLE) < 0 ||
		each_event(p, 1, p->nr_events, PERF_EVENT_IOC_ENABLE) < 0)
		return err_set(e, errno, "cannot begin to watch events");
	return 0;
}

int
perf_open(struct perf **ret, const struct perf_options *o, struct err *e)
{
	auto_perf struct perf *p = calloc(1, sizeof *p);
	struct perf_options rounded = *o;
	struct perf_cpus cpus = { 0 };
	int failed;

	if (!p)
		return err_set(e, ENOMEM, "cannot watch events");
	p->page_bytes = p->ring_bytes = (size_t)sysconf(_SC_PAGESIZE);
	while (p->ring_bytes * 2 <= o->ring_bytes)
		p->ring_bytes *= 2;
	rounded.ring_bytes = p->ring_bytes;
	p->counts_lost = true;
	for (size_t i = 0; i < o->nr_sources; i++)
		if (o->source[i].kind == PERF_TRACEPOINT)
			p->max_paranoid = -1;
	p->nr_events = o->nr_sources + 1;
	p->rings.nr_sources = o->nr_sources;
	p->rings.nr_regs = (size_t)__builtin_popcountll(o->regs_mask);
	p->rings.ahead_ns = os_own_clock_ahead();
	failed = list_cpus(&cpus, e) < 0 || open_all(p, &rounded, &cpus, e) < 0;
	free(cpus.v);
	if (failed)
		return -1;
	p->seen_ns = os_now_ns();
	*ret = take_ptr(&p);
	return 0;
}

/* ---- closing ---- */

static void
close_cpu(struct perf *p, size_t cpu)
{
	if (p->page[cpu])
		munmap(p->page[cpu], p->page_bytes + p->ring_bytes);
	for (size_t i = 0; i < p->nr_events; i++)
		cleanup_fd(&p->fd[cpu * p->nr_events + i]);
}

void
perf_free(struct perf *p)
{
	if (!p)
		return;
	/* With the one that could not be opened. */
	for (size_t cpu = 0; p->fd && cpu < p->nr_cpus; cpu++)
		close_cpu(p, cpu);
	if (p->old_files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &p->old_files);
	free(p->rings.ring);
	free(p->page);
	free(p->poll);
	free(p->sample_type);
	free(p->id);
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
	/* A CPU that went offline would end each wait. */
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
 * Let records that are being written be finished: the kernel takes the time of a record and writes
 * it within one section of rcu_read_lock() (__perf_event_output(), perf_iterate_sb()), and this
 * call waits for all of them (kernel/sched/membarrier.c).  The kernel lacks it with nohz_full.
 */
static void
let_cpus_finish(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		os_sleep_ns(LAG_NS);
}

static uint64_t
read_nr_lost(const struct perf *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; p->counts_lost && i < p->rings.nr * p->nr_events; i++) {
		struct {
			uint64_t nr, nr_lost;
		} value;

		if (read(p->fd[i], &value, sizeof value) == sizeof value)
			sum += value.nr_lost;
	}
	return sum;
}

void
perf_stop(struct perf *p)
{
	if (p->is_stopped)
		return;
	p->is_stopped = true;
	each_event(p, 0, p->nr_events, PERF_EVENT_IOC_DISABLE);
	let_cpus_finish();
	p->nr_lost = read_nr_lost(p);
	perf_rings_update(&p->rings, UINT64_MAX);
}

bool
perf_next(struct perf *p, struct perf_record *ret)
{
	return perf_rings_next(&p->rings, ret);
}

/*
 * A loss is announced by the next record that fits into the buffer; the events themselves have
 * counted it before.
 */
uint64_t
perf_nr_lost(const struct perf *p)
{
	const uint64_t announced = p->rings.nr_lost;

	return (announced > p->nr_lost ? announced : p->nr_lost) + p->rings.nr_damaged;
}
