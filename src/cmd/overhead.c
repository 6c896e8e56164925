#include <config.h>

#include "cmd/overhead.h"

#include <string.h>

#include "agentctl/sampler-job.h"
#include "ui/units.h"
#include "wire/totals.h"
#include "wire/wire.h"

#define AT(member) UI_AT(struct overhead_options, member), UI_GIVEN(struct overhead_options, is_any)

static const struct ui_option options[] = {
	{ "max-overhead", 0, "SIZE", 1,
		"limit the memory of a record to SIZE (8M or more), plus some KiB for each "
		"thread; blocks without room are counted (no limit; in a memory cgroup half of "
		"the memory below its limit)",
		UI_SIZE, AT(max_bytes), .least = SAMPLER_RECORD_LEAST_BYTES,
		.beyond = "is too little for a record: 8M is the least" },
	{ "live-set", 0, "KIND", 1,
		"how a record finds a live block: array, which is fast and takes a quarter of the "
		"heap; table, which is slower and takes 13 to 35 bytes for each block (array)",
		UI_WORD, AT(live_set), .words = wire_live_set_names,
		.wrong = "is neither array nor table" },
	{ 0 },
};

const struct ui_syntax overhead_syntax = { .options = options };

/* ---- modes ---- */

const char *const record_mode_names[] = { "mem-fast", "mem-record", "log-fast", "log-record",
	"closed", NULL };

bool
record_mode_parse(const char *word, struct overhead_options *o, enum record_mode *ret)
{
	/* In the order of the names. */
	static const struct {
		enum record_mode mode;
		bool has_table; /* else --live-set says so, or not */
	} modes[] = {
		{ RECORD_MEM_FAST, false },
		{ RECORD_MEM_FAST, true },
		{ RECORD_LOG_FAST, false },
		{ RECORD_LOG_FAST, true },
		{ RECORD_CLOSED, false },
	};

	for (size_t i = 0; record_mode_names[i]; i++)
		if (strcmp(word, record_mode_names[i]) == 0) {
			*ret = modes[i].mode;
			if (modes[i].has_table)
				o->live_set = WIRE_LIVE_TABLE;
			return true;
		}
	return false;
}
