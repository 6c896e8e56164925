#include <config.h>

#include "cmd/triggers.h"

#include "ui/units.h"

#define AT(member) UI_AT(struct trigger_options, member), UI_GIVEN(struct trigger_options, is_any)
#define SIZE_AT(member)                                                                            \
	UI_SIZE, AT(member), .least = 1, .most = INT64_MAX - 1,                                    \
			     .beyond = "is not a size from 1 byte on: say 512K, 64M or 2G"

static const struct ui_option options[] = {
	{ "interval", 0, "SIZE", 3, "write a file each time SIZE more was allocated",
		SIZE_AT(wanted.interval_bytes) },
	{ "high-water", 0, NULL, 3,
		"write a file at each new maximum of memory in use: 10 % and 1M more than at the "
		"last file",
		UI_VALUE, AT(wanted.high_water), .value = 1 },
	{ "above", 0, "SIZE", 3, "write a file when more than SIZE is in use",
		SIZE_AT(wanted.above_bytes) },
	{ "threshold", 0, "SIZE", 3, "print the stack of a call that takes SIZE or more at a time",
		SIZE_AT(wanted.threshold_bytes) },
	{ 0 },
};

const struct ui_syntax triggers_syntax = { .options = options };
