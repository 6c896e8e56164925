/*
 * ceiling-default: how much memory memdiag may take if no option says so.
 */
#ifndef MEMDIAG_OS_CEILING_DEFAULT_H
#define MEMDIAG_OS_CEILING_DEFAULT_H

#include <stdint.h>

/*
 * Return half of what is available now to the machine and to the cgroup of memdiag; at least 64
 * MiB.
 */
uint64_t os_default_ceiling(void);

#endif
