/*
 * causes-others: causes of memory outside malloc.  Each function returns true if its cause applies;
 * V is then complete except for the id.
 */
#ifndef MEMDIAG_DIAGNOSE_CAUSES_OTHERS_H
#define MEMDIAG_DIAGNOSE_CAUSES_OTHERS_H

#include <stdbool.h>

#include "diagnose/verdict.h"

bool judge_limit_near(const struct verdict_facts *f, struct verdict *v);
bool judge_held_files(const struct verdict_facts *f, struct verdict *v);
bool judge_other_allocator(const struct verdict_facts *f, struct verdict *v);
bool judge_shared_memory(const struct verdict_facts *f, struct verdict *v);
bool judge_mapped_files(const struct verdict_facts *f, struct verdict *v);
bool judge_changed_files(const struct verdict_facts *f, struct verdict *v);
bool judge_static_data(const struct verdict_facts *f, struct verdict *v);
bool judge_page_tables(const struct verdict_facts *f, struct verdict *v);
bool judge_children(const struct verdict_facts *f, struct verdict *v);
bool judge_virt_only(const struct verdict_facts *f, struct verdict *v);

#endif
