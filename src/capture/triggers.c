#include <config.h>

#include "capture/triggers.h"

enum { KEY_INTERVAL = 0x5000, KEY_HIGH_WATER, KEY_ABOVE, KEY_THRESHOLD };

static const struct argp_option options[] = {
	{ "interval", KEY_INTERVAL, "SIZE", 0, "write a file each time SIZE more was allocated",
		3 },
	{ "high-water", KEY_HIGH_WATER, NULL, 0,
		"write a file when more is in use than ever: 10 % more than at the last, and 1M",
		3 },
	{ "above", KEY_ABOVE, "SIZE", 0, "write a file when more than SIZE is in use", 3 },
	{ "threshold", KEY_THRESHOLD, "SIZE", 0,
		"print the stack of a call that takes SIZE or more at a time", 3 },
	{ 0 },
};

static uint64_t
size_option(struct argp_state *state, const char *arg)
{
	const uint64_t bytes = ui_size_option(state, arg);

	if (!bytes || bytes >= INT64_MAX)
		ui_refuse(state, arg, "is not a size from 1 byte on: say 512K, 64M or 2G");
	return bytes;
}

static error_t
triggers_parse_option(int key, char *arg, struct argp_state *state)
{
	struct trigger_options *o = state->input;

	switch (key) {
	case KEY_INTERVAL:
		o->wanted.interval_bytes = size_option(state, arg);
		break;
	case KEY_HIGH_WATER:
		o->wanted.high_water = 1;
		break;
	case KEY_ABOVE:
		o->wanted.above_bytes = size_option(state, arg);
		break;
	case KEY_THRESHOLD:
		o->wanted.threshold_bytes = size_option(state, arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	o->is_any = true;
	return 0;
}

const struct argp triggers_argp = { .options = options, .parser = triggers_parse_option };
