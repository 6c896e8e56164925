#include <config.h>

#include "wire/maps-text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

bool
wire_maps_id(const char *line, uint64_t start, char id[WIRE_MAX_ID_BYTES])
{
	uint64_t at;

	return sscanf(line, "# build-id 0x%" SCNx64 " %128s", &at, id) == 2 && at == start;
}
