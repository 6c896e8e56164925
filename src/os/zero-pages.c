/*
 * Zero pages in entries of /proc/PID/pagemap.  They are present, but take no memory and are not
 * counted in RSS.  An entry shows them only by the number of the physical page, which the kernel
 * shows only with CAP_SYS_ADMIN (fs/proc/task_mmu.c, pagemap_read(), since 4.2).
 *
 * The kernel has one zero page of the usual size, which a process maps when it reads memory that it
 * has never written.  The huge zero page is made when it is first needed and may be replaced later;
 * /proc/kpageflags marks it (fs/proc/page.c, stable_page_flags(), since 4.0).
 */
#include <config.h>

#include "os/zero-pages.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define FLAG_ZERO_PAGE (UINT64_C(1) << 24) /* KPF_ZERO_PAGE of uapi/linux/kernel-page-flags.h */

/* Read the entries of the two pages at P into ENTRY. */
static bool
read_own(const volatile char *p, size_t page_bytes, uint64_t entry[2])
{
	auto_fd int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	const size_t bytes = 2 * sizeof *entry;

	return fd >= 0 &&
		pread(fd, entry, bytes, (off_t)((uintptr_t)p / page_bytes * sizeof *entry)) ==
		(ssize_t)bytes;
}

/*
 * Return the number of the page that two of our pages, which were only read, have in common; 0 if
 * unknown.
 */
static uint64_t
find_zero_page(size_t page_bytes)
{
	uint64_t entry[2] = { 0 };
	volatile char *p =
		mmap(NULL, 2 * page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	madvise((void *)p, 2 * page_bytes, MADV_NOHUGEPAGE);
	(void)p[0];
	(void)p[page_bytes];
	if (!read_own(p, page_bytes, entry) || !(entry[0] & entry[1] & ENTRY_PRESENT) ||
		(entry[0] ^ entry[1]) & ENTRY_PFN)
		entry[0] = 0;
	munmap((void *)p, 2 * page_bytes);
	return entry[0] & ENTRY_PFN;
}

void
zero_pages_open(struct zero_pages *z)
{
	const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	*z = ZERO_PAGES_NONE;
	z->pfn = find_zero_page(page_bytes);
	/* A huge page covers as much as one table of page table entries, of 8 bytes each. */
	z->huge_pages = page_bytes / 8;
	if (z->pfn)
		z->flags_fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
}

void
zero_pages_close(struct zero_pages *z)
{
	cleanup_fd(&z->flags_fd);
}

/* Return whether the kernel marks the page PFN as a zero page. */
static bool
has_zero_flag(const struct zero_pages *z, uint64_t pfn)
{
	uint64_t flags;

	return pread(z->flags_fd, &flags, sizeof flags, (off_t)(pfn * sizeof flags)) ==
		sizeof flags &&
		flags & FLAG_ZERO_PAGE;
}

/* Return whether PFN, at page number PAGE of the addresses, is part of the huge zero page. */
static bool
is_of_huge(struct zero_pages *z, uint64_t page, uint64_t pfn)
{
	const uint64_t inside = z->huge_pages - 1, first = pfn & ~inside;

	/* Huge pages are aligned to their size both physically and in addresses. */
	if ((page ^ pfn) & inside || z->flags_fd < 0 || first == z->pfn)
		return false;
	if (first != z->huge_pfn && first != z->other_pfn)
		*(has_zero_flag(z, first) ? &z->huge_pfn : &z->other_pfn) = first;
	return first == z->huge_pfn;
}

void
zero_pages_drop(struct zero_pages *z, uint64_t page, uint64_t *entry, size_t nr)
{
	if (!z->pfn)
		return;
	for (size_t i = 0; i < nr; i++) {
		const uint64_t pfn = entry[i] & ENTRY_PFN;

		if (entry[i] & ENTRY_PRESENT && (pfn == z->pfn || is_of_huge(z, page + i, pfn)))
			entry[i] = 0;
	}
}
