/* 'memdiag maps --from': remarks on the file itself. */
#include <config.h>

#include "view/maps-file.h"

#include <string.h>

#include "ui/json.h"

json_t *
maps_file_json(const struct space *s)
{
	return json_pack("{s:o, s:s}", "path", ui_json_text(s->file->name), "format",
		s->file->entry.nr ? "smaps" : "maps");
}

/* True if the stack is listed; the kernel lists it near the end. */
static bool
has_stack(const struct regions *m)
{
	for (size_t i = 0; i < m->nr; i++)
		if (region_is_special(&m->region[i]) &&
			strncmp(m->region[i].path, "[stack", 6) == 0)
			return true;
	return false;
}

void
maps_file_warn(const struct space *s, struct warnings *w)
{
	const struct map_file *f = s->file;

	if (f->cut_line)
		warnings_add(w, true, "%s ends within the mapping of line %zu, which was left out",
			f->name, f->cut_line);
	else if (!has_stack(&s->process->maps))
		warnings_add(w, false, "%s has no [stack]: its end may be missing", f->name);
	if (s->rss_error.kind)
		warnings_add(w, true, "%s", s->rss_error.msg);
	warnings_add(w, false,
		"objects, stacks of threads and arenas are guessed by names and places of mappings: a file has no memory to look at");
}
