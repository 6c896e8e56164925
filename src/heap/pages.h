/*
 * pages: the pages of free chunks: which are resident, swapped, or shared.
 */
#ifndef MEMDIAG_HEAP_PAGES_H
#define MEMDIAG_HEAP_PAGES_H

#include "heap/heap.h"

const char *heap_page_class_name(enum heap_page_class c);

#endif
