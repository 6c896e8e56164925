/* verdict-priv: shared by the rules and the function that selects among them. */
#ifndef MEMDIAG_DIAGNOSE_VERDICT_PRIV_H
#define MEMDIAG_DIAGNOSE_VERDICT_PRIV_H

#include <stdint.h>

/* DEFAULT_MMAP_THRESHOLD_MIN, also the default trim threshold (malloc/malloc.c). */
#define MALLOC_DEFAULT_THRESHOLD (UINT64_C(128) << 10)

#endif
