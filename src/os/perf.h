/*
 * perf: events that the kernel reports while they happen (perf_event_open(2)): tracepoints and page
 * faults of all processes of the machine, with a copy of the stack, and which processes begin,
 * execute a program, map code and end.  Nothing is stopped, and nothing is added to a process: the
 * events belong to the CPUs, and end with memdiag.
 */
#ifndef MEMDIAG_OS_PERF_H
#define MEMDIAG_OS_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"

struct perf;

enum perf_kind {
	PERF_TRACEPOINT,
	PERF_MINOR_FAULTS, /* page faults without a disk */
	PERF_MAJOR_FAULTS,
};

/* One kind of events that is to be reported. */
struct perf_source {
	enum perf_kind kind;
	uint64_t id;	    /* of the tracepoint: tracefs_id() */
	const char *filter; /* of a tracepoint, NULL: all; Documentation/trace/events.rst, 5 */
	uint64_t period;    /* one of so many is reported; 1: each */
	bool has_stack;	    /* with registers (then the mask is not 0) and a copy of the stack */
};

struct perf_options {
	const struct perf_source *source; /* they must live as long as the events */
	size_t nr_sources;
	uint64_t regs_mask; /* the registers wanted (asm/perf_regs.h, a bit each) */
	/* of a copy of a stack: a multiple of 8, at most PERF_MAX_STACK_BYTES */
	size_t stack_bytes;
	bool has_data;	   /* PERF_MAPPED also of memory that is not executable */
	size_t ring_bytes; /* of each CPU's buffer, rounded down to a power of two of pages */
};
#define PERF_MAX_STACK_BYTES 65528

enum perf_type {
	PERF_EVENT,    /* of a source */
	PERF_LOST,     /* a buffer was full: NR_LOST records are missing */
	PERF_MAPPED,   /* memory was mapped at [START, END), by thread TID */
	PERF_FORKED,   /* thread TID of PID was made by PARENT; another process if PID differs */
	PERF_ENDED,    /* thread TID has ended */
	PERF_EXECUTED, /* PID runs another program */
};

struct perf_record {
	enum perf_type type;
	pid_t pid, tid;	  /* as our PID namespace has them; 0 or -1 if it does not */
	uint64_t time_ns; /* of os_now_ns() */
	/* of PERF_EVENT */
	size_t source; /* its index */
	uint32_t
		generation; /* how often events were replaced before its own: perf_filter_again() */
	const void *raw;    /* the record of a tracepoint, not aligned: tracefs_field() */
	size_t raw_bytes;
	raddr address; /* of a page fault */
	/* the registers of the mask, lowest bit first; NULL: a thread without user registers */
	const uint64_t *regs;
	const char *stack;  /* from the stack pointer upwards */
	size_t stack_bytes; /* that could be copied: fewer where the stack ends or is not present */
	/* of the others */
	uint64_t nr_lost;
	pid_t parent; /* of PERF_FORKED: the process */
	raddr start, end;
	/* of PERF_MAPPED */
	bool has_file, is_executable;
	const char *name; /* of the file, or what the kernel calls the memory */
};

/*
 * Begin to report events of all CPUs that are online.  0, or -1 with E: ERR_PERMISSION, with the
 * right that is missing and how to get it.  If more files must be open than RLIMIT_NOFILE allows,
 * its soft limit is raised until perf_free(): a program that is started meanwhile inherits that.
 *
 * Page faults are those of system calls as well, which copy to or from the process; not those for
 * which no code of the process waits at that address: MAP_POPULATE, mlock(), reads by another
 * process.
 */
int perf_open(struct perf **ret, const struct perf_options *o, struct err *e);
void perf_free(struct perf *p);
static inline void
perf_cleanup(struct perf **p)
{
	perf_free(*p);
}
#define auto_perf __attribute__((cleanup(perf_cleanup)))

/*
 * Wait until a quarter of a buffer is full, or until TIMEOUT_NS is over, or for a signal; no longer
 * than 10 ms if there are records that were kept the last time.  Then perf_next() gives what was
 * reported until 10 ms ago, or until the last call if that was later: the rest is kept for the next
 * time, as the records of another CPU may belong before it.  So a record comes at most TIMEOUT_NS
 * and 10 ms after it was made, if this is called again at once.
 */
void perf_wait(struct perf *p, uint64_t timeout_ns);

/* Report nothing any more: perf_next() gives the rest.  Takes about 10 ms. */
void perf_stop(struct perf *p);

/*
 * The next record into *RET, whose pointers are good until the next call of this.  Records of all
 * CPUs come in the order of time; at least, and also if a CPU was held up for 10 ms while it wrote
 * one, in an order in which they can have happened.  False: no more now.
 */
bool perf_next(struct perf *p, struct perf_record *ret);

/*
 * Records that were lost so far, of all processes: as PERF_LOST has announced; after perf_stop()
 * also those that were never announced, which the kernel counts since Linux 6.0.
 */
uint64_t perf_nr_lost(const struct perf *p);

#endif
