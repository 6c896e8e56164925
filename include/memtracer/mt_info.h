/*
 * mt_info.h: for programs written for MemTracer; link with -lmemtracer or preload the agent.
 */
#ifndef MEMDIAG_MEMTRACER_MT_INFO_H
#define MEMDIAG_MEMTRACER_MT_INFO_H

#include <cstddef>

namespace memtracer
{

/* Bytes that the program has requested and not given back, with those of its code. */
std::size_t allocated_memory();
/* Bytes that counting takes: a word for each block. */
std::size_t meta_memory();
/* The limit, the largest number if no limit is set. */
std::size_t memory_limit();

} // namespace memtracer

#endif
