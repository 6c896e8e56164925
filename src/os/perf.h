/*
 * perf: events that the kernel reports while they happen (perf_event_open(2)): tracepoints and page
 * faults of all processes of the machine, with a copy of the stack, and processes that begin,
 * execute a program, map code and end.  No process is stopped or changed: the events belong to the
 * CPUs, and end with memdiag.
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

/* One kind of event to report. */
struct perf_source {
	enum perf_kind kind;
	uint64_t id;	    /* of a tracepoint: tracefs_id() */
	const char *filter; /* of a tracepoint (Documentation/trace/events.rst, 5); NULL: all */
	uint64_t period;    /* one event in PERIOD is reported; 1: every event */
	bool has_stack;	    /* report registers (the mask must not be 0) and a copy of the stack */
};

struct perf_options {
	const struct perf_source *source; /* must live as long as the events */
	size_t nr_sources;
	uint64_t regs_mask; /* mask of the wanted registers (asm/perf_regs.h, a bit each) */
	/* size of a copy of a stack: a multiple of 8, at most PERF_MAX_STACK_BYTES */
	size_t stack_bytes;
	bool has_data;	   /* PERF_MAPPED also for memory that is not executable */
	size_t ring_bytes; /* size of each CPU's buffer, rounded down to a power of two of pages */
};
#define PERF_MAX_STACK_BYTES 65528

enum perf_type {
	PERF_EVENT,    /* an event of a source */
	PERF_LOST,     /* a buffer was full: NR_LOST records are missing */
	PERF_MAPPED,   /* thread TID mapped memory at [START, END) */
	PERF_FORKED,   /* PARENT made thread TID of PID; another process if PID differs */
	PERF_ENDED,    /* thread TID has ended */
	PERF_EXECUTED, /* PID runs another program */
};

struct perf_record {
	enum perf_type type;
	pid_t pid, tid;	  /* in our PID namespace; 0 or -1 if not in it */
	uint64_t time_ns; /* as os_now_ns() */
	/* for PERF_EVENT */
	size_t source; /* its index */
	uint32_t
		/* how often events were replaced before this one: perf_filter_again() */
		generation;
	const void *raw; /* the record of a tracepoint, not aligned: tracefs_field() */
	size_t raw_bytes;
	raddr address; /* of a page fault */
	/* the registers of the mask, lowest bit first; NULL: the thread has no user registers */
	const uint64_t *regs;
	const char *stack;  /* from the stack pointer upwards */
	size_t stack_bytes; /* bytes that were copied: fewer if the stack ends or is not present */
	/* for the other types */
	uint64_t nr_lost;
	pid_t parent; /* for PERF_FORKED: the process */
	raddr start, end;
	/* for PERF_MAPPED */
	bool has_file, is_executable;
	const char *name; /* of the file, or the kernel's name for the memory */
};

/*
 * Start to report events of all online CPUs.  0, or -1 with E: ERR_PERMISSION, with the missing
 * right and how to get it.  If more files must be open than RLIMIT_NOFILE allows, its soft limit is
 * raised until perf_free(): a program that is started meanwhile inherits that.
 *
 * Page faults include those in system calls, which copy to or from the process; not those for which
 * no code of the process waits at that address: MAP_POPULATE, mlock(), reads by another process.
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
 * Wait until a quarter of a buffer is full, TIMEOUT_NS is over, or a signal comes; at most 10 ms if
 * records were kept the last time.  Then perf_next() gives the records up to 10 ms ago, or up to
 * the last call if that was later: the rest is kept for the next time, because records of another
 * CPU may come before it.  So a record comes at most TIMEOUT_NS and 10 ms after it was made, if
 * this is called again immediately.
 */
void perf_wait(struct perf *p, uint64_t timeout_ns);

/* Stop reporting: perf_next() gives the remaining records.  Takes about 10 ms. */
void perf_stop(struct perf *p);

/*
 * Store the next record in *RET, whose pointers are valid until the next call.  Records of all CPUs
 * come in the order of time; if a CPU was delayed for 10 ms while it wrote one, still in an order
 * in which they can have happened.  False: no more now.
 */
bool perf_next(struct perf *p, struct perf_record *ret);

/*
 * Return how many records were lost so far, of all processes: those that PERF_LOST has announced;
 * after perf_stop() also those that were never announced, which the kernel counts since Linux 6.0;
 * and after the last record then at least as many as were made and not given.
 */
uint64_t perf_nr_lost(const struct perf *p);

#endif
