/*
 * pages: which pages of a target are present, without reading them.
 */
#ifndef MEMDIAG_OS_PAGES_H
#define MEMDIAG_OS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/* A run of pages that share the same answer, as long as the kernel reports it. */
struct os_page_run {
	raddr start, end;
	bool is_present; /* counted in RSS: present and not the zero page, if that is known */
	bool is_swapped; /* and not a guard page (MADV_GUARD_INSTALL) */
	bool is_guard;
	bool is_file; /* file or shared memory page; only if asked for */
	bool is_huge; /* mapped as a huge page: see os_pages_know_huge() */
};

enum os_pages_by {
	OS_PAGES_AUTO,	  /* the first of these that works */
	OS_PAGES_SCAN,	  /* PAGEMAP_SCAN, 6.7+ */
	OS_PAGES_PAGEMAP, /* reads of /proc/PID/pagemap: see os_pages_know_zero() */
	/* a core file: holes stand for what was neither present nor swapped */
	OS_PAGES_HOLES,
	/* one without holes: what has data, which is not all that was present */
	OS_PAGES_NONZERO,
	OS_PAGES_NONE, /* what a reader that could not be opened uses */
};

/* A reader of page states.  Not safe for two threads. */
struct os_pages;

/*
 * Open a reader.  BY other than AUTO forces that way; a core file has but one.  Returns 0 with
 * *RET, or -1 with E (ERR_PERMISSION: which capability is missing).
 */
int os_pages_open(
	struct os_pages **ret, const struct target *t, enum os_pages_by by, struct err *e);
void os_pages_free(struct os_pages *p);
static inline void
os_pages_cleanup(struct os_pages **p)
{
	os_pages_free(*p);
}
#define auto_pages __attribute__((cleanup(os_pages_cleanup)))
/*
 * All threads of the target stand still (no pauses are needed), or run again (pauses let them go
 * on).
 */
void os_pages_stopped(struct os_pages *p, bool is_stopped);

/*
 * Have walks without WANT_KIND that end at END at the latest answer from the NR RUNS, which were
 * seen a moment ago, in order of address, and are all there was.  RUNS must outlive P.
 */
void os_pages_know(struct os_pages *p, const struct os_page_run *runs, size_t nr, raddr end);

/*
 * Whether all zero pages are left out, as they are in RSS.  By pagemap that takes CAP_SYS_ADMIN and
 * /proc/kpageflags; without these they look like any other page.
 */
bool os_pages_know_zero(const struct os_pages *p);

/* The method that AUTO has chosen; NONE for NULL. */
enum os_pages_by os_pages_by(const struct os_pages *p);

/* Whether is_huge of a run is filled. */
static inline bool
os_pages_know_huge(const struct os_pages *p)
{
	return os_pages_by(p) == OS_PAGES_SCAN;
}

/*
 * Call FN for every run of pages in [START, END) that is present, swapped or a guard, in order of
 * address; pages that are none of these are not mentioned.  With WANT_KIND is_file is filled, at
 * about three times the cost.  The range is walked in pieces with short pauses, so that the
 * target's own mmap and munmap never wait for long.  FN returns 0 to go on; any other value ends
 * the walk and is returned.  -1 with E on failure.
 */
int os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e);

/*
 * The number of bytes of [START, END), which are pages, that are present and not shared with
 * another process, into *RET. ERR_UNSUPPORTED for a core file.
 */
int os_pages_exclusive(
	struct os_pages *p, raddr start, raddr end, uint64_t *ret_bytes, struct err *e);

#endif
