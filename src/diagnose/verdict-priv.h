/* verdict-priv: shared by the rules and the function that chooses among them. */
#ifndef MEMDIAG_DIAGNOSE_VERDICT_PRIV_H
#define MEMDIAG_DIAGNOSE_VERDICT_PRIV_H

#include <stdint.h>

/* DEFAULT_MMAP_THRESHOLD_MIN, which is also that of trimming (malloc/malloc.c). */
#define MALLOC_DEFAULT_THRESHOLD (UINT64_C(128) << 10)

#endif
