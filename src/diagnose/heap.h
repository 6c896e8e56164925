/* heap: collect the data of memdiag heap before it is printed. */
#ifndef MEMDIAG_DIAGNOSE_HEAP_H
#define MEMDIAG_DIAGNOSE_HEAP_H

#include "account/checks.h"
#include "diagnose/heap-context.h"
#include "diagnose/verdict.h"
#include "glibc/process.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "os/os.h"
#include "os/status.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct heap_question {
	struct ui_options ui;
	struct heap_options how; /* max_stop_ns is 0: do not stop the process */
	bool xml;	  /* only the heaps: no comparison with the kernel's counts, no verdicts */
	const char *core; /* the file to read, or NULL: process ui.pid */
	const char *sysroot; /* root of the core's program and libraries, or NULL */
};

/* The data, and their source. */
struct heap_answer {
	const char *core; /* from the question */
	struct target target;
	struct process process;
	struct heap heap;
	/* the layout of malloc is unknown: HEAP is empty, the arenas of PROCESS are known */
	bool is_unknown;
	struct heap_context around;
	struct rss_watch rss;
	struct checks checks;
	struct os_status status;
	bool has_status; /* false for a core file */
	struct verdict verdict[VERDICT_MAX];
	size_t nr_verdicts;
	struct warnings warnings;
};

/*
 * Read the heaps of glibc's malloc as Q requests, judge them, and add warnings about gaps.  The
 * process is claimed (ui_claim()) while it may be stopped.  S must be zeroed except for .target =
 * TARGET_NONE; release it in any case.  It refers to Q->core.  Returns 0, or -1 with E:
 * ERR_UNSUPPORTED if the malloc is not glibc's.
 */
int heap_ask(struct heap_answer *s, const struct heap_question *q, struct err *e);

void heap_answer_release(struct heap_answer *s);
#define auto_heap_answer __attribute__((cleanup(heap_answer_release)))

#endif
