/*
 * heap: what memdiag heap finds out, between finding it out and printing it.
 */
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
	struct heap_options how; /* max_stop_ns is 0: do not stop it */
	bool xml;	  /* the heaps alone: no comparison with the kernel's counts, no verdicts */
	const char *core; /* the file to read, or NULL: process ui.pid */
	const char *sysroot; /* of the core's program and libraries, or NULL */
};

/* The data, and their source. */
struct heap_answer {
	const char *core; /* the question's */
	struct target target;
	struct process process;
	struct heap heap;
	bool is_unknown; /* the layout of malloc: HEAP is empty, the arenas of PROCESS are known */
	struct heap_context around;
	struct rss_watch rss;
	struct checks checks;
	struct os_status status;
	bool has_status; /* a core file has none */
	struct verdict verdict[VERDICT_MAX];
	size_t nr_verdicts;
	struct warnings warnings;
};

/*
 * Read the heaps of glibc's malloc that Q asks for, judge them, and collect what is to be said of
 * gaps in the warnings.  The process is claimed (ui_claim()) while it may be stopped.  S must be
 * zeroed but for .target = TARGET_NONE, and is to be released in any case; it refers to Q->core.
 * 0, or -1 with E: ERR_UNSUPPORTED when its malloc is not glibc's.
 */
int heap_ask(struct heap_answer *s, const struct heap_question *q, struct err *e);

void heap_answer_release(struct heap_answer *s);
#define auto_heap_answer __attribute__((cleanup(heap_answer_release)))

#endif
