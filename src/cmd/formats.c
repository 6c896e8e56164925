#include <config.h>

#include "cmd/formats.h"

#include <string.h>

#define POINTER(name) &report_format_##name,

static const struct report_format *const formats[] = { REPORT_FORMATS(POINTER) NULL };

const struct report_format *
report_format_find(const char *name)
{
	for (size_t i = 0; formats[i]; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

const char *
report_format_word(size_t i)
{
	return formats[i] ? formats[i]->name : NULL;
}

const char *
report_format_note(size_t i)
{
	return formats[i]->note;
}

/* Return the name of format I among those without WITHOUT, bits of enum report_format_can. */
static const char *
word_without(unsigned int without, size_t i)
{
	for (size_t k = 0; formats[k]; k++)
		if (!(formats[k]->can & without) && i-- == 0)
			return formats[k]->name;
	return NULL;
}

const char *
report_format_word_of_bytes(size_t i)
{
	return word_without(FORMAT_NEEDS_BLOCKS, i);
}

const char *
report_format_word_of_types(size_t i)
{
	return word_without(FORMAT_NEEDS_CALLS | FORMAT_CUTS_NAMES, i);
}

const char *
report_format_word_of_classes(size_t i)
{
	return word_without(FORMAT_NEEDS_CALLS, i);
}
