#include <config.h>

#include "view/heap.h"

#include "base/text.h"
#include "heap/xml.h"

struct heap_report
heap_report_of(const struct heap_answer *s, unsigned int views, size_t limit)
{
	return (struct heap_report){
		.t = &s->target,
		.core = s->core,
		.status = s->has_status ? &s->status : NULL,
		.h = &s->heap,
		.mmapped = &s->around.mmapped,
		.checks = &s->checks,
		.arenas = s->is_unknown ? &s->process.arenas : NULL,
		.views = views,
		.limit = limit,
		.verdict = s->verdict,
		.nr_verdicts = s->nr_verdicts,
		.warnings = &s->warnings,
	};
}

int
heap_print_xml(const struct heap_answer *s, struct ui_output *out, struct err *e)
{
	auto_text struct text xml = { 0 };

	if (s->is_unknown)
		return err_set_kind(
			e, ERR_UNSUPPORTED, 0, "%s", s->warnings.v[s->warnings.nr - 1].text);
	if (heap_write_xml(&s->heap, &xml, e) < 0)
		return -1;
	fwrite(xml.v, 1, xml.len, out->f);
	return 0;
}
