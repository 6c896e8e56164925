/* Opening an event, and the list of processors. */
#include <config.h>

#include "os/perf-open.h"

#include "base/array.h"
#include "base/debug.h"
#include "os/perf-refuse.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int
perf_cpus_parse(struct perf_cpus *cpus, const char *list)
{
	for (char *end;; list = end + 1) {
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list)
			return 0;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && last < 1 << 16; first++) {
			int *cpu = array_add(cpus);

			if (!cpu)
				return -1;
			*cpu = (int)first;
		}
		if (*end != ',')
			return 0;
	}
}

/*
 * Return the attributes that all events have in common.  Waiting ends when a quarter of the buffer
 * is full: a wakeup for each record would cost the process that made it more than the record.
 */
static struct perf_event_attr
common_attr(const struct perf_options *o, bool counts_lost)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_type = PERF_RING_SAMPLE_TYPE,
		.read_format = PERF_RING_READ_FORMAT | (counts_lost ? PERF_COUNTS_LOST : 0),
		.disabled = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(o->ring_bytes / 4),
		.exclude_callchain_user = 1,
		.exclude_callchain_kernel = 1,
	};
}

/*
 * Return the attributes of the event that has the buffer of a CPU: it counts nothing, and reports
 * processes.  Without mmap_data only executable memory is reported (perf_event_mmap_match()).
 */
static struct perf_event_attr
buffer_attr(const struct perf_options *o, bool counts_lost)
{
	struct perf_event_attr attr = common_attr(o, counts_lost);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.exclude_kernel = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.mmap_data = o->has_data;
	attr.task = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	return attr;
}

static uint64_t
period_of(const struct perf_source *source)
{
	return source->period ? source->period : 1;
}

struct perf_event_attr
perf_attr_of(const struct perf_options *o, const struct perf_source *source, bool counts_lost)
{
	struct perf_event_attr attr =
		source ? common_attr(o, counts_lost) : buffer_attr(o, counts_lost);

	if (!source)
		return attr;
	/*
	 * exclude_kernel stays 0: it would drop page faults that the kernel takes when it copies to
	 * the process (perf_exclude_event()), and all tracepoints except those of system calls
	 * (perf_tp_event_match()).
	 */
	attr.sample_period = period_of(source);
	if (source->kind == PERF_TRACEPOINT) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = source->id;
		attr.sample_type |= PERF_SAMPLE_RAW;
	} else {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = source->kind == PERF_MAJOR_FAULTS ? PERF_COUNT_SW_PAGE_FAULTS_MAJ
								: PERF_COUNT_SW_PAGE_FAULTS_MIN;
	}
	if (source->has_stack) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.sample_regs_user = o->regs_mask;
		attr.sample_stack_user = (uint32_t)o->stack_bytes;
	}
	return attr;
}

static int
open_event(const struct perf_event_attr *attr, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Before Linux 6.0 open the event without the count of lost records. */
int
perf_open_event(struct perf *p, const struct perf_source *source, int cpu)
{
	struct perf_event_attr attr = perf_attr_of(&p->options, source, p->counts_lost);
	int fd = open_event(&attr, cpu);

	if (fd >= 0 || errno != EINVAL || !p->counts_lost)
		return fd;
	attr = perf_attr_of(&p->options, source, false);
	fd = open_event(&attr, cpu);
	if (fd >= 0) {
		debug("perf: this kernel does not count the lost records of an event");
		p->counts_lost = false;
	}
	return fd;
}

int
perf_open_source(struct perf *p, const struct perf_source *source, size_t at, int *ret_fd,
	uint64_t *ret_id, struct err *e)
{
	const char *filter = source->filter;
	const int fd = perf_open_event(p, source, p->cpu[at]);

	*ret_fd = fd;
	if (fd < 0)
		return perf_refuse_event(errno, p->max_paranoid, e);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, p->fd[at * p->nr_events]) < 0 ||
		ioctl(fd, PERF_EVENT_IOC_ID, ret_id) < 0)
		return err_set(
			e, errno, "cannot direct events of processor %d to a buffer", p->cpu[at]);
	if (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0)
		return err_set(e, errno, "cannot filter events: the kernel rejects '%s'", filter);
	return 0;
}

/*
 * The kernel counts every event, and makes a sample of each PERIOD of them (kernel/events/core.c,
 * perf_swevent_event()).
 */
void
perf_event_finish(struct perf *p, int fd, const struct perf_source *source)
{
	struct {
		uint64_t nr, id, nr_lost;
	} value = { 0 };
	const ssize_t bytes = (ssize_t)(p->counts_lost ? sizeof value : 2 * sizeof(uint64_t));

	if (read(fd, &value, (size_t)bytes) != bytes) {
		p->has_uncounted = true;
		return;
	}
	p->nr_lost += value.nr_lost;
	if (source)
		p->nr_samples += value.nr / period_of(source);
}
