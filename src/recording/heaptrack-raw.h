/*
 * heaptrack-raw: the modules of a raw file of heaptrack.
 */
#ifndef MEMDIAG_RECORDING_HEAPTRACK_RAW_H
#define MEMDIAG_RECORDING_HEAPTRACK_RAW_H

#include "recording/heaptrack-line.h"
#include "recording/heaptrack-priv.h"

/* Read the text after the letter of a line m of a raw file. */
int ht_read_module(struct heaptrack *h, struct ht_line l, struct err *e);
/* Return the module that is now at ADDRESS, + 1; 0 if unknown. */
uint32_t ht_find_module(struct heaptrack *h, uint64_t address);

#endif
