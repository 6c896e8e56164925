/*
 * raddr: an address in the target.  It is a struct, so that it cannot be dereferenced or passed in
 * place of an address in memdiag.
 */
#ifndef MEMDIAG_BASE_RADDR_H
#define MEMDIAG_BASE_RADDR_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
	uint64_t v;
} raddr;

#define PRIraddr "0x%" PRIx64

static inline raddr
raddr_add(raddr a, uint64_t bytes)
{
	return (raddr){ a.v + bytes };
}

static inline bool
raddr_in(raddr a, raddr start, raddr end)
{
	return a.v >= start.v && a.v < end.v;
}

#endif
