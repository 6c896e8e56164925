/*
 * zero-pages: resident pages that are the kernel's page of zeros.
 */
#ifndef MEMDIAG_OS_ZERO_PAGES_H
#define MEMDIAG_OS_ZERO_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "os/os-priv.h"

/* Find out what is available; the rest stays unknown.  Close Z with zero_pages_close(). */
void zero_pages_open(struct zero_pages *z);
void zero_pages_close(struct zero_pages *z);

/*
 * Set to 0 those of the NR entries, for the addresses from page number PAGE on, that are zero
 * pages.
 */
void zero_pages_drop(struct zero_pages *z, uint64_t page, uint64_t *entry, size_t nr);

#endif
