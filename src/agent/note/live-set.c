#include <config.h>

#include "agent/base/compiler.h"
#include "agent/note/sampled.h"
#include "agent/note/shadow.h"
#include "agent/note/table.h"
#include "wire/live-set.h"

static const struct wire_live_blocks live_set = {
	.magic = WIRE_LIVE_BLOCKS_MAGIC,
	.shadow_at = (uintptr_t)shadow_table,
	.buckets_at = (uintptr_t)&table_buckets,
	.levels_at = (uintptr_t)&table_nr_levels,
	.sampled_at = (uintptr_t)sampled_level,
};
/* memdiag finds the set by this symbol. */
extern EXPORT const struct wire_live_blocks agent_live_set __asm__(WIRE_LIVE_BLOCKS_SYMBOL)
	__attribute__((alias("live_set")));
