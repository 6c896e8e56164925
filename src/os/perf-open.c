/* The attributes of events, and the list of processors. */
#include <config.h>

#include "os/perf-priv.h"

#include <stdlib.h>
#include <time.h>

#include "base/array.h"

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
 * The part that all events have in common.  Waiting ends when a quarter of the buffer is full: a
 * wakeup for each record would cost the process that made it more than the record.
 */
static struct perf_event_attr
common_attr(const struct perf_options *o, bool counts_lost)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_type = PERF_RING_SAMPLE_TYPE,
		.read_format = counts_lost ? PERF_COUNTS_LOST : 0,
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
 * The event that has the buffer of a CPU counts nothing, and reports processes.  Without mmap_data
 * only executable memory is reported (perf_event_mmap_match()).
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
	attr.task = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	return attr;
}

struct perf_event_attr
perf_attr_of(const struct perf_options *o, const struct perf_source *source, bool counts_lost)
{
	struct perf_event_attr attr =
		source ? common_attr(o, counts_lost) : buffer_attr(o, counts_lost);

	if (!source)
		return attr;
	/*
	 * exclude_kernel stays 0: it drops page faults that the kernel takes when it copies to the
	 * process (perf_exclude_event()), and tracepoints but those of system calls
	 * (perf_tp_event_match()).
	 */
	attr.sample_period = source->period ? source->period : 1;
	if (source->kind == PERF_TRACEPOINT) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = source->id;
		attr.sample_type |= PERF_SAMPLE_RAW;
	} else {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = source->kind == PERF_MAJOR_FAULTS ? PERF_COUNT_SW_PAGE_FAULTS_MAJ
								: PERF_COUNT_SW_PAGE_FAULTS_MIN;
		attr.sample_type |= PERF_SAMPLE_ADDR;
	}
	if (source->has_stack) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.sample_regs_user = o->regs_mask;
		attr.sample_stack_user = (uint32_t)o->stack_bytes;
	}
	return attr;
}
