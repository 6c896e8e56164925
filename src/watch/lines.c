#include <config.h>

#include "watch/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "ui/cells.h"

/* Return TEXT cut to COLUMNS, owned by the caller; NULL: no memory. */
static char *
cut(const char *text, int columns)
{
	char *ret = NULL;
	size_t len;
	FILE *f = open_memstream(&ret, &len);

	if (!f)
		return NULL;
	cells_put_line(f, text, columns);
	if (fclose(f) == 0)
		return ret;
	free(ret);
	return NULL;
}

int
watch_lines_add(struct watch_lines *l, enum watch_style style, struct err *e, const char *fmt, ...)
{
	auto_free char *text = NULL;
	struct watch_line *line;
	char *shown;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	shown = text ? cut(text, l->columns) : NULL;
	line = shown ? array_add(l) : NULL;
	if (!line) {
		free(shown);
		return err_set(e, ENOMEM, "cannot draw a page");
	}
	*line = (struct watch_line){ style, shown };
	return 0;
}

void
watch_lines_limit(struct watch_lines *l, size_t nr)
{
	while (l->nr > nr)
		free(l->v[--l->nr].text);
}

void
watch_lines_release(struct watch_lines *l)
{
	watch_lines_limit(l, 0);
	free(l->v);
	*l = (struct watch_lines){ .columns = l->columns };
}
