/* check: the values of processes that 'memdiag check' compares, and what it finds. */
#ifndef MEMDIAG_DIAGNOSE_CHECK_H
#define MEMDIAG_DIAGNOSE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "diagnose/conditions.h"
#include "ui/ui.h"

/* Exit statuses of a monitoring plugin, "Monitoring Plugins Development Guidelines". */
enum check_state { CHECK_OK, CHECK_WARNING, CHECK_CRITICAL, CHECK_UNKNOWN };

struct check_question {
	struct ui_options ui; /* asked: the processes, which have PIDs */
	struct {
		struct condition *v; /* owned; at least one */
		size_t nr, room;
	} condition;
	uint64_t max_stop_ns; /* for metrics of METRIC_FROM_HEAP */
};

struct check_process {
	pid_t pid;
	char name[64]; /* printable */
	enum check_state state;
	char why[512];	     /* why the state is unknown, printable */
	bool is_approximate; /* values of the heap */
	bool knows[NR_METRICS];
	uint64_t value[NR_METRICS];
	uint64_t whole_bytes[NR_CONDITION_WHOLES];
};

struct check_answer {
	struct {
		struct check_process *v; /* owned */
		size_t nr, room;
	} process;
	const struct check_process *worst; /* of PROCESS */
	enum check_state state;		   /* that of WORST */
};

/*
 * Read the processes of Q and compare them with its conditions.  A process that cannot be read is
 * UNKNOWN; one of several that has ended meanwhile is left out.  A must be zeroed; release it in
 * any case.  Threads are stopped only for metrics of METRIC_FROM_HEAP, and the process is claimed
 * meanwhile.  Returns 0, or -1 with E if no process is left, or there is no memory.
 */
int check_ask(struct check_answer *a, const struct check_question *q, struct err *e);
void check_answer_release(struct check_answer *a);
#define auto_check_answer __attribute__((cleanup(check_answer_release)))

/* Return the values of metric M of P for which no condition of that level of Q holds. */
struct condition_range check_range(const struct check_question *q, const struct check_process *p,
	enum metric m, bool is_critical);

/* Return whether C holds for P; false if its value is unknown. */
bool check_holds(const struct condition *c, const struct check_process *p);

#endif
