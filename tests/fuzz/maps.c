/* Whatever a list of mappings says, it is refused or becomes leaves that cover each byte once. */
#include <config.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "maps/classify.h"
#include "maps/maps-priv.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "os/os.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_leaves(struct space *s)
{
	const struct target nobody = TARGET_NONE;
	const struct spans none = { 0 };
	uint64_t sum = 0, end = 0;
	struct err e = { 0 };

	if (space_classify(s, &none, &nobody, &e) < 0)
		abort();
	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *l = &s->leaves.v[i];

		if (l->start.v < end || l->end.v <= l->start.v ||
			regions_find(&s->process->maps, l->start) !=
				&s->process->maps.region[l->region])
			abort();
		sum += l->end.v - l->start.v;
		end = l->end.v;
	}
	if (sum != regions_size(&s->process->maps))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_process struct process p = { 0 };
	auto_space struct space s = { .process = &p };
	auto_file FILE *f = fmemopen((void *)(uintptr_t)data, size, "r");
	struct err e = { 0 };

	if (!f)
		return 0;
	if (regions_parse(&p.maps, f, NULL, &e) == 0)
		check_leaves(&s);
	else if (p.maps.region || p.maps.paths || !e.msg[0])
		abort();
	return 0;
}
