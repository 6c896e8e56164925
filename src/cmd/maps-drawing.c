#include <config.h>

#include "cmd/maps-drawing.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "export/memory-map.h"
#include "os/target.h"
#include "profile/profile.h"
#include "report/report.h"
#include "ui/output.h"

static const struct report_words drawing_words = { "frames", "paths", "Classes of memory",
	"MEMORY" };

/* Write the title of S to BUF, and return it; it is not made printable. */
static const char *
drawing_title(const struct space *s, const struct target *t, char *buf, size_t size)
{
	const char *bytes = s->totals.hugetlb_bytes ? "RSS and huge pages of" : "RSS of";

	if (t)
		snprintf(buf, size, "%s %s %d", bytes, t->comm, (int)t->pid);
	else
		snprintf(buf, size, "%s %s", bytes, s->file->name);
	return buf;
}

int
maps_draw(const struct space *s, const struct target *t, struct profile_io_options *io,
	const struct ui_options *ui, const struct warnings *w, struct err *e)
{
	auto_profile struct profile *p = NULL;
	auto_output struct ui_output out = { 0 };
	char title[320];
	struct report_view view = {
		.words = &drawing_words, .file = drawing_title(s, t, title, sizeof title), .ui = ui
	};

	if (memory_map_make(&p, s, t, e) < 0 || profile_io_begin(io, ui, e) < 0 ||
		ui_output_open(&out, ui, e) < 0)
		return -1;
	view.p = p;
	if (profile_io_write(&view, io, w, &out, e) < 0)
		return -1;
	return ui_output_close(&out, e);
}
