/*
 * probes: static probe points (USDT) at which other tools read the samples.  OpenTelemetry's eBPF
 * profiler looks for them under these names ("otel_memory", a proposal of August 2026).  An unused
 * probe is one instruction without an effect.
 *
 *	otel_memory:alloc	address of the block, its size, the bytes that it stands for
 *	otel_memory:free	address of a block that was reported by alloc
 */
#ifndef MEMDIAG_AGENT_NOTE_PROBES_H
#define MEMDIAG_AGENT_NOTE_PROBES_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* BLOCK of SIZE bytes was sampled and stands for WEIGHTED bytes. */
void probe_alloc(const void *block, size_t size, uint64_t weighted_bytes);
/* BLOCK, which was sampled, is freed. */
void probe_free(const void *block);

#pragma GCC visibility pop

#endif
