/* The order in which 'memdiag heap' reads a process or a core file, and its warnings. */
#include <config.h>

#include "diagnose/heap.h"

#include <inttypes.h>
#include <unistd.h>

#include "account/totals.h"
#include "base/debug.h"
#include "base/text.h"
#include "diagnose/facts.h"
#include "diagnose/judge.h"
#include "diagnose/malloc-target.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "glibc/arena-threads.h"
#include "maps/maps.h"
#include "os/claim.h"
#include "os/core.h"
#include "os/memory.h"
#include "os/target.h"
#include "ui/claim.h"

/* Limit of threads whose arena is looked up if other data is missing: each costs a read. */
#define MAX_THREADS 4096
/* The largest amount that memdiag itself needs, except for arenas of several gigabytes. */
#define OWN_MAX_BYTES (UINT64_C(64) << 20)

/* ---- warnings ---- */

/* Write the file with the program's malloc, made printable, to BUF; return false if it is libc. */
static bool
heap_other_malloc(const struct heap_answer *s, char *buf, size_t size)
{
	const struct object *o = objects_malloc(&s->process.objects, &s->target);

	if (!o || o->is_libc)
		return false;
	text_printable(o->path, buf, size);
	return true;
}

/* ... or explain that no thread uses libc's. */
static int
hint_at_other_malloc(const struct heap_answer *s, struct err *e)
{
	char path[256];

	if (e->kind == ERR_UNSUPPORTED && heap_other_malloc(s, path, sizeof path))
		err_hint(e,
			"Its malloc is that of %s; "
			"'memdiag maps' works here, and 'info' and 'trim' if that is jemalloc",
			path);
	return -1;
}

static void
warn_of_lacking_arenas(struct heap_answer *s)
{
	const struct heap *h = &s->heap;
	const struct object *libc = process_second_libc(&s->process);
	char path[256], bytes[32];

	if (!h->is_ring_closed)
		warnings_add(&s->warnings, true,
			"malloc's list of arenas is damaged: there may be more than are shown");
	if (libc)
		warnings_add(&s->warnings, false,
			"a second libc is loaded, %s: what its malloc has is not counted here",
			text_printable(libc->path, path, sizeof path));
	if (h->strays.nr)
		warnings_add(&s->warnings, true,
			"heaps of malloc that none of these arenas has: %zu, of %s; %s",
			h->strays.nr, text_bytes(h->strays.bytes, bytes, sizeof bytes),
			libc ? "they are the second libc's, or memory is damaged"
			     : "memory is damaged");
}

static void
warn_of_gaps(struct heap_answer *s, const struct heap_question *q)
{
	const struct heap *h = &s->heap;
	struct heap_totals t;

	heap_totals(&t, h);
	if (t.nr_approximate)
		warnings_add(&s->warnings, true,
			"approximate: %zu of %zu arenas; --arenas says why", t.nr_approximate,
			h->arena.nr);
	if (!t.has_pages)
		warnings_add(&s->warnings, true, "cannot determine which pages are resident");
	if (h->is_resident_least)
		warnings_add(&s->warnings, false,
			"the core file has no holes: what was resident is at least what is said");
	if (s->target.core && h->nr_unknown_caches)
		warnings_add(&s->warnings, false,
			"the core file lacks the thread-local storage of %zu of %zu threads, as gcore's do since glibc 2.42; "
			"what the kernel writes has it",
			h->nr_unknown_caches, h->thread.nr);
	if (t.nr_by_lists && !q->how.bins_only)
		warnings_add(&s->warnings, true,
			"of %zu of %zu arenas only the lists of free chunks were read",
			t.nr_by_lists, h->arena.nr);
	if (!h->layout.mp.v)
		warnings_add(&s->warnings, true,
			"malloc's settings were not found: the large blocks are not counted");
}

/*
 * Warn of memdiag's memory.  The walk marks fast-bin chunks with one bit per 16 bytes of the arena;
 * in a container these bits may count against the process's limit.
 */
static void
warn_of_own_memory(struct heap_answer *s, bool is_by_lists)
{
	auto_target struct target self = TARGET_NONE;
	struct os_status status;
	struct err ignored;
	char bytes[32];

	/* getrusage() would include the peak of the program that executed this one. */
	if (target_open(&self, getpid(), &ignored) < 0 ||
		os_status(&self, 0, &status, &ignored) < 0 || status.vm_hwm_bytes <= OWN_MAX_BYTES)
		return;
	warnings_add(&s->warnings, false, "reading these heaps took %s of memory in memdiag%s",
		text_bytes(status.vm_hwm_bytes, bytes, sizeof bytes),
		is_by_lists ? "" : "; with --bins-only it takes less");
}

/* ---- judging ---- */

/* Compare the heaps with the counts of malloc and the kernel.  SPACE may be NULL. */
static void
check_heap(struct heap_answer *s, const struct space *space)
{
	struct check_facts f = { .mmapped = &s->around.mmapped,
		.has_run = s->has_status && !s->heap.nr_stops };

	check_facts_add_heap(&f, &s->heap, &s->rss, space);
	checks_make(&s->checks, &f);
	checks_distrust(&s->checks, &s->heap);
}

/* Judge the heaps; for a core file without the address space, which is incomplete there. */
static void
heap_judge(struct heap_answer *s)
{
	const struct space *space = s->around.error.kind ? NULL : &s->around.space;
	auto_verdict_facts struct verdict_facts f = { 0 };

	if (!space)
		debug("%s", s->around.error.msg);
	check_heap(s, space);
	verdict_facts_gather(&f, &s->target, s->target.core ? NULL : space, &s->heap);
	f.has_trim_of_tops = !s->target.core && has_trim_of_tops(&s->process);
	s->nr_verdicts = verdict_judge(&f, s->verdict);
}

/* ---- reading ---- */

static int
open_target(struct heap_answer *s, const struct heap_question *q, struct err *e)
{
	if (q->core)
		return target_open_core(&s->target, q->core, q->sysroot, e);
	return target_open(&s->target, q->ui.pid, e);
}

/* Read the arenas' headers, which may be known if their contents are not. */
static int
heap_read_headers(struct heap_answer *s, struct err *e)
{
	auto_threads struct threads threads = { 0 };
	struct err why = *e, ignored;

	if (why.kind != ERR_UNSUPPORTED || process_find_arenas(&s->process, NULL, &ignored) < 0)
		return hint_at_other_malloc(s, e);
	/* If this fails, the threads of each arena are unknown. */
	if (threads_list(&threads, &s->target, MAX_THREADS, &ignored) == 0)
		arenas_find_threads(&s->process.arenas, &s->target, &threads, &ignored);
	s->is_unknown = true;
	warnings_add(&s->warnings, true, "%s", why.msg);
	return 0;
}

static int
heap_read_heap(struct heap_answer *s, const struct heap_question *q, struct err *e)
{
	const bool stops = !q->core && q->how.max_stop_ns;
	struct heap_options how = q->how;
	int failed;

	if (stops && ui_claim(&s->target, &q->ui, e) < 0)
		return -1;
	s->rss.t = &s->target;
	how.beside = q->core ? NULL : rss_watch_look;
	how.arg = &s->rss;
	failed = heap_read(&s->heap, &s->process, &how, e);
	if (stops)
		target_unclaim(&s->target);
	return failed;
}

int
heap_ask(struct heap_answer *s, const struct heap_question *q, struct err *e)
{
	struct err ignored;
	struct os_core_facts f;
	char path[256];

	s->core = q->core;
	if (open_target(s, q, e) < 0 || os_check_memory(&s->target, e) < 0 ||
		process_read(&s->process, &s->target, e) < 0)
		return -1;
	s->has_status = !q->core && os_status(&s->target, 0, &s->status, &ignored) == 0;
	/* Warn if the program has its own malloc, so that few threads use libc's ... */
	if (heap_other_malloc(s, path, sizeof path))
		warnings_add(&s->warnings, true,
			"the program's malloc is not glibc's but that of %s: this is only what lies in glibc's in addition",
			path);
	if (os_core_facts(&s->target, &f) && f.missing_bytes)
		warnings_add(&s->warnings, true,
			"the core file is cut short: %" PRIu64 " bytes are missing",
			f.missing_bytes);
	if (!q->xml && heap_context_read(&s->around, &s->process, e) < 0)
		return -1;
	if (heap_read_heap(s, q, e) < 0)
		return heap_read_headers(s, e);
	warn_of_lacking_arenas(s);
	if (!q->xml)
		heap_judge(s);
	warn_of_gaps(s, q);
	warn_of_own_memory(s, q->how.bins_only);
	return 0;
}

void
heap_answer_release(struct heap_answer *s)
{
	warnings_release(&s->warnings);
	heap_context_release(&s->around);
	heap_release(&s->heap);
	process_release(&s->process);
	target_release(&s->target);
}
