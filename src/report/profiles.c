/* The formats that are the profile itself, for other programs. */
#include <config.h>

#include "profile/pprof-write.h"
#include "profile/write-heap.h"
#include "report/format.h"
#include "report/report.h"
#include "ui/ui.h"

static int
profiles_write_pprof(const struct report_view *v, struct ui_output *out, struct err *e)
{
	return pprof_write(v->p, out->f, e);
}

const struct report_format report_format_pprof = { "pprof",
	FORMAT_IS_PROFILE | FORMAT_IS_BINARY | FORMAT_CUTS_NAMES, 0, profiles_write_pprof };

static int
profiles_write_heap(const struct report_view *v, struct ui_output *out, struct err *e)
{
	return heap_write(v->p, out->f, v->symbols_inside, e);
}

const struct report_format report_format_heap = { "heap",
	FORMAT_IS_PROFILE | FORMAT_NEEDS_BLOCKS | FORMAT_TAKES_NAMES | FORMAT_NEEDS_CALLS, 0,
	profiles_write_heap };
