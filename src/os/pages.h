/*
 * pages: finds which pages of a target are present, without reading them.
 */
#ifndef MEMDIAG_OS_PAGES_H
#define MEMDIAG_OS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/* A run of pages in the same state, as long as the kernel reports it. */
struct os_page_run {
	raddr start, end;
	/* counted in RSS: present and not the zero page, if zero pages are known */
	bool is_present;
	bool is_swapped; /* excludes guard pages (MADV_GUARD_INSTALL) */
	bool is_guard;
	bool is_file; /* file or shared memory page; only if asked for */
	bool is_huge; /* mapped as a huge page: valid if os_pages_know_huge() */
};

enum os_pages_by {
	OS_PAGES_AUTO,	  /* the first of the next two that works */
	OS_PAGES_SCAN,	  /* PAGEMAP_SCAN, 6.7+ */
	OS_PAGES_PAGEMAP, /* reads of /proc/PID/pagemap: see os_pages_know_zero() */
	/* a core file: holes are pages that were neither present nor swapped */
	OS_PAGES_HOLES,
	/* a core file without holes: pages with data, which are fewer than were present */
	OS_PAGES_NONZERO,
	OS_PAGES_NONE, /* a reader that could not be opened */
};

/* The request of ioctl() by which OS_PAGES_SCAN reads: PAGEMAP_SCAN. */
extern const unsigned long os_pages_scan_request;

/* A reader of page states.  Not thread-safe. */
struct os_pages;

/*
 * Open a reader.  BY other than AUTO forces that method; a core file supports only its own.
 * Returns 0 with *RET, or -1 with E (ERR_PERMISSION: names the missing capability).
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
 * Note that all threads of the target are stopped (no pauses are needed), or run again (pauses let
 * them continue).
 */
void os_pages_stopped(struct os_pages *p, bool is_stopped);

/*
 * Make walks without WANT_KIND that end at or before END report the NR RUNS, which were seen a
 * moment ago, in order of address, and are complete.  RUNS must outlive P.
 */
void os_pages_know(struct os_pages *p, const struct os_page_run *runs, size_t nr, raddr end);

/*
 * Return whether all zero pages are left out, as they are in RSS.  With pagemap that needs
 * CAP_SYS_ADMIN and /proc/kpageflags; without these they look like any other page.
 */
bool os_pages_know_zero(const struct os_pages *p);

/* Return the method that AUTO has chosen; NONE for NULL. */
enum os_pages_by os_pages_by(const struct os_pages *p);

/* Return whether is_huge of a run is set. */
static inline bool
os_pages_know_huge(const struct os_pages *p)
{
	return os_pages_by(p) == OS_PAGES_SCAN;
}

/*
 * Call FN for every run of pages in [START, END) that is present, swapped or a guard, in order of
 * address; other pages are skipped.  With WANT_KIND is_file is set, at about three times the cost.
 * The range is walked in pieces with short pauses, so that the target's own mmap and munmap never
 * wait for long.  FN returns 0 to continue; any other value ends the walk and is returned.  -1 with
 * E on failure.
 */
int os_pages_walk(struct os_pages *p, raddr start, raddr end, bool want_kind,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e);

/*
 * Store in *RET the number of bytes in the pages of [START, END) that are present and not shared
 * with another process.  ERR_UNSUPPORTED for a core file.
 */
int os_pages_exclusive(
	struct os_pages *p, raddr start, raddr end, uint64_t *ret_bytes, struct err *e);

#endif
