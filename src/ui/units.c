#include <config.h>

#include "ui/units.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

const char *
ui_size(const struct ui_options *opt, uint64_t bytes, char *buf, size_t size)
{
	if (!opt->bytes)
		return text_bytes(bytes, buf, size);
	snprintf(buf, size, "%" PRIu64, bytes);
	return buf;
}

const char *
ui_mark(const char *text, bool is_rough, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s", is_rough ? "~" : "", text);
	return buf;
}

const char *
ui_size_change(const struct ui_options *opt, int64_t bytes, char *buf, size_t size)
{
	char amount[32];

	if (!bytes)
		snprintf(buf, size, "0");
	else
		snprintf(buf, size, "%c%s", bytes < 0 ? '-' : '+',
			ui_size(opt, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes, amount,
				sizeof amount));
	return buf;
}

const char *
ui_duration(uint64_t ns, char *buf, size_t size)
{
	if (ns < 1000000)
		snprintf(buf, size, "%" PRIu64 " us", ns / 1000);
	else if (ns < 1000000000)
		snprintf(buf, size, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(buf, size, "%.1f s", (double)ns / 1e9);
	return buf;
}

const char *
ui_bar(double share, int width, char *buf, size_t size)
{
	size_t n = 0;

	/* Not "share < 0": a NaN would pass that test. */
	if (share > 0 && width > 0 && size)
		n = (size_t)((share < 1 ? share : 1) * width + 0.5);
	if (!size)
		return buf;
	if (n > size - 1)
		n = size - 1;
	memset(buf, '#', n);
	buf[n] = '\0';
	return buf;
}
