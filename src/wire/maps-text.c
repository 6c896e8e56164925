#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "wire/maps.h"

static void
maps_text_put(void *arg, const char *line, size_t len)
{
	FILE *f = arg;

	fwrite(line, 1, len, f);
	fputc('\n', f);
}

char *
wire_maps_text(const struct wire_maps_texts *t)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int failed;

	if (!f)
		return NULL;
	wire_maps_merge(t, maps_text_put, f);
	failed = ferror(f);
	if (fclose(f) == 0 && !failed)
		return text;
	free(text);
	return NULL;
}
