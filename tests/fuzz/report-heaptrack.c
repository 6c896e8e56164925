/*
 * Whatever a file of heaptrack has in it, it is refused or read; what was read adds up, and is the
 * same when it is read again.
 */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/parts.h"
#include "recording/profiles.h"
#include "recording/recording-open.h"

/* A hostile time stamp takes some 2 million of these. */
#define INTERVAL_NS (UINT64_C(3600) * 1000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static int
take(void *arg, struct history_moment *m, struct err *e)
{
	int64_t bytes = 0, mapped = 0;

	(void)e;
	for (size_t i = 0; i < m->sites.nr; i++)
		*(m->sites.v[i].is_mapped ? &mapped : &bytes) += m->sites.v[i].live.bytes;
	must(bytes == m->max.live.bytes && mapped == m->mapped.bytes);
	history_moment_release(arg);
	*(struct history_moment *)arg = *m;
	*m = (struct history_moment){ 0 };
	return 0;
}

static void
check_mappings(const struct history *h)
{
	struct amount live = { 0 }, allocated = { 0 };
	int64_t greatest = 0;

	for (size_t i = 0; i < h->sites.nr; i++) {
		const struct history_site *s = &h->sites.v[i];
		const struct amount of_site = s->live.amount;

		if (!history_site_is_mapped(s))
			continue;
		live.blocks += of_site.blocks;
		live.bytes += of_site.bytes;
		allocated.blocks += s->allocated.blocks;
		allocated.bytes += s->allocated.bytes;
	}
	for (size_t i = 0; i < h->intervals.nr; i++)
		if (h->intervals.v[i].mapped_bytes > greatest)
			greatest = h->intervals.v[i].mapped_bytes;
	must(live.blocks == h->mapped.blocks && live.bytes == h->mapped.bytes &&
		allocated.blocks == h->mapped_allocated.blocks &&
		allocated.bytes == h->mapped_allocated.bytes &&
		greatest == h->mapped_peak.live.bytes);
}

static void
check_sums(const struct history *h)
{
	struct history_site sum = { 0 };
	int64_t greatest = 0, live_bytes = 0;

	check_mappings(h);
	for (size_t i = 0; i < h->sites.nr; i++) {
		if (history_site_is_mapped(&h->sites.v[i]))
			continue;
		live_bytes += h->sites.v[i].live.amount.bytes;
		sum.peak.bytes += h->sites.v[i].peak.bytes;
		sum.allocated.blocks += h->sites.v[i].allocated.blocks;
		sum.temporary.blocks += h->sites.v[i].temporary.blocks;
	}
	for (size_t i = 0; i < h->intervals.nr; i++)
		if (h->intervals.v[i].max.live.bytes > greatest)
			greatest = h->intervals.v[i].max.live.bytes;
	must(live_bytes == h->live.bytes && sum.peak.bytes == h->peak.live.bytes &&
		sum.allocated.blocks == h->allocated.blocks &&
		sum.temporary.blocks == h->temporary.blocks && greatest == h->peak.live.bytes);
}

/* All that stacks refer to is there. */
static void
check_frames(const struct profile *p)
{
	for (size_t i = 0; i < p->stacks.nr; i++)
		for (size_t k = 0; k < p->stacks.v[i].nr; k++)
			must(p->stack_frames.v[p->stacks.v[i].first + k] < p->frames.nr);
	for (size_t i = 0; i < p->frames.nr; i++)
		must(p->frames.v[i].mapping_1 <= p->mappings.nr);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_recording struct recording *r = NULL;
	auto_history struct history h = { .interval_ns = INTERVAL_NS };
	auto_history struct history again = { .keeps_lives = true };
	auto_moment struct history_moment m = { 0 };
	auto_profile struct profile *all = NULL, *moment = NULL;
	struct history_moments moments = { (size_t[]){ 0 }, 1, take, &m };
	struct err e = { 0 };
	const int found = recording_parse(&r, "it", (const char *)data, size, &e);

	if (!found)
		return 0;
	if (found < 0 || history_read(&h, r, NULL, &e) < 0) {
		must(*e.msg);
		return 0;
	}
	check_sums(&h);
	must(history_profile(&all, &h, r, &e) == 0);
	/* They may be longer by now. */
	again.interval_ns = h.interval_ns;
	must(history_read(&again, r, &moments, &e) == 0);
	check_sums(&again);
	profile_free(take_ptr(&all));
	must(history_profile(&all, &again, r, &e) == 0);
	must(again.peak.live.bytes == h.peak.live.bytes && again.end_ns == h.end_ns);
	must(history_moment_profile(&moment, NULL, &m, r, &e) == 0);
	check_frames(all);
	check_frames(moment);
	/* Likely at the same address. */
	profile_free(take_ptr(&moment));
	must(history_moment_profile(&moment, NULL, &m, r, &e) == 0);
	check_frames(moment);
	return 0;
}
