/*
 * Whatever a process has where its counters are to be, it is refused or can be added up and
 * printed.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ui/ui.h"
#include "view/counters.h"
#include "wire/totals.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free struct wire_segment *s = malloc(size);
	auto_free char *printed = NULL;
	auto_file FILE *f = open_memstream(&printed, &(size_t){ 0 });
	json_auto_t *json = json_object();
	const struct ui_options opt = { 0 };
	struct wire_totals sum;
	struct err e = { 0 };

	if (!s || !f || !json)
		return 0;
	memcpy(s, data, size);
	if (!wire_is_valid(s, size))
		return 0;
	wire_add_up(s, s->nr_threads, &sum);
	counters_print(s, &sum, &opt, f);
	if (sum.live_bytes > sum.peak_bytes || counters_to_json(s, &sum, json, &e) < 0)
		abort();
	return 0;
}
