/* 'memdiag info --from': malloc's account from a file. */
#include <config.h>

#include "view/info-file.h"

#include <errno.h>
#include <inttypes.h>

#include "ui/json.h"
#include "ui/ui.h"
#include "ui/units.h"
#include "view/checks.h"
#include "view/verdicts.h"

static void
print_sum(FILE *f, const struct ui_options *ui, const char *label, uint64_t bytes, uint64_t count,
	const char *what)
{
	char text[32];

	fprintf(f, "  %-26s %14s  %" PRIu64 " %s%s\n", label, ui_size(ui, bytes, text, sizeof text),
		count, what, count == 1 ? "" : "s");
}

void
info_print_file_account(const struct info *info, const struct info_options *opt, FILE *f)
{
	const struct malloc_info *mi = &info->mi;
	uint64_t in_use = 0;

	for (size_t i = 0; i < mi->heap.nr; i++)
		in_use += malloc_info_in_use(&mi->heap.v[i]);
	fprintf(f, "%s (malloc_info())  RSS ?  swap ?  VIRT ?\n", info->file);
	print_sum(f, &opt->ui, "in use", in_use, mi->heap.nr, "arena");
	print_sum(
		f, &opt->ui, "free inside malloc", mi->system_bytes - in_use, mi->heap.nr, "arena");
	if (mi->has_mmap)
		print_sum(f, &opt->ui, "large blocks", mi->mmap_bytes, mi->mmap_count, "block");
}

json_t *
info_file_json(const struct info *info, json_t *arenas, struct err *e)
{
	const struct malloc_info *mi = &info->mi;
	json_t *document = ui_json_new("info", NULL), *data;

	data = json_pack("{s:{s:o, s:s}, s:n, s:n, s:{s:n, s:n, s:n}, s:[], s:o, s:s, s:n}", "from",
		"path", ui_json_text(info->file), "format", "malloc_info", "libc", "cpus", "totals",
		"virt_bytes", "rss_bytes", "swap_bytes", "accounting", "arenas", arenas, "method",
		"file", "borrow");
	json_object_set_new(data, "mmapped",
		json_pack("{s:o, s:o}", "count",
			mi->has_mmap ? ui_json_number(mi->mmap_count) : json_null(), "bytes",
			mi->has_mmap ? ui_json_number(mi->mmap_bytes) : json_null()));
	json_object_set_new(data, "stop", json_null());
	json_object_set_new(data, "profile", json_null());
	json_object_set_new(data, "arena_count", json_integer((json_int_t)mi->heap.nr));
	json_object_set_new(data, "allocator", json_string("glibc"));
	json_object_set_new(data, "jemalloc", json_null());
	json_object_set_new(data, "checks", checks_json(&info->checks));
	if (json_object_set_new(document, "data", data) < 0 ||
		json_object_set_new(document, "verdicts",
			verdicts_to_json(info->verdict, info->nr_verdicts)) < 0) {
		json_decref(document);
		err_set(e, ENOMEM, "cannot write JSON");
		return NULL;
	}
	warnings_to_json(&info->warnings, document);
	return document;
}
