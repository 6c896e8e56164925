#include <config.h>

#include "capture/overhead.h"

#include <string.h>

#include "agentctl/sampler-job.h"
#include "ui/ui.h"

enum { KEY_MAX_OVERHEAD = 0x3300, KEY_LIVE_SET };

static const struct argp_option options[] = {
	{ "max-overhead", KEY_MAX_OVERHEAD, "SIZE", 0,
		"a record takes no more memory than SIZE (8M or more), but for some KiB for each "
		"thread; what finds no room is counted (any; in a memory cgroup half of what is "
		"left below its limit)",
		1 },
	{ "live-set", KEY_LIVE_SET, "KIND", 0,
		"how a record finds a live block: array, which is fast and takes a quarter of the "
		"heap; table, which is slower and takes 13 to 35 bytes for each block (array)",
		1 },
	{ 0 },
};

static error_t
overhead_parse_option(int key, char *arg, struct argp_state *state)
{
	struct overhead_options *o = state->input;

	switch (key) {
	case KEY_MAX_OVERHEAD:
		o->is_any = true;
		o->max_bytes = ui_size_option(state, arg);
		if (o->max_bytes < SAMPLER_RECORD_LEAST_BYTES)
			ui_refuse(state, arg, "is too little for a record: 8M is the least");
		return 0;
	case KEY_LIVE_SET:
		o->is_any = true;
		for (unsigned int i = 0; wire_live_set_names[i]; i++)
			if (strcmp(arg, wire_live_set_names[i]) == 0) {
				o->live_set = (enum wire_live_set)i;
				return 0;
			}
		ui_refuse(state, arg, "is neither array nor table");
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp overhead_argp = { .options = options, .parser = overhead_parse_option };

bool
record_mode_parse(const char *word, struct overhead_options *o, enum record_mode *ret)
{
	static const struct {
		char name[12];
		enum record_mode mode;
		enum wire_live_set live_set;
	} modes[] = {
		{ "mem-fast", RECORD_MEM_FAST, WIRE_LIVE_ARRAY },
		{ "mem-record", RECORD_MEM_FAST, WIRE_LIVE_TABLE },
		{ "log-fast", RECORD_LOG_FAST, WIRE_LIVE_ARRAY },
		{ "log-record", RECORD_LOG_FAST, WIRE_LIVE_TABLE },
	};

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if (strcmp(word, modes[i].name) == 0) {
			*ret = modes[i].mode;
			if (modes[i].live_set)
				o->live_set = modes[i].live_set;
			return true;
		}
	return false;
}
