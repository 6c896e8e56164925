/*
 * seccomp-priv: what other files of os/ use of seccomp.c.
 */
#ifndef MEMDIAG_OS_SECCOMP_PRIV_H
#define MEMDIAG_OS_SECCOMP_PRIV_H

#include <stddef.h>
#include <stdint.h>

struct seccomp_data;
struct sock_filter;

/*
 * Return the result of the filter F of NR instructions, which the kernel has accepted, for the call
 * D.
 */
uint32_t os_filter_run(const struct sock_filter *f, size_t nr, const struct seccomp_data *d);

#endif
