#include <config.h>

#include "agent/base/status.h"

#include <fcntl.h>
#include <string.h>

#include "agent/base/sys.h"

/* The value in the line of NAME; "" if the line is missing. */
static const char *
find_value(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, name, len) == 0 && text[len] == ':')
			return text + len + 1 + strspn(text + len + 1, " \t");
	}
	return "";
}

void
status_value(const char *name, char *ret, size_t size)
{
	char text[4096];
	const char *at;
	long fd = sys_call(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC), n = 0;
	size_t i = 0;

	if (!sys_failed(fd)) {
		n = sys_call(SYS_read, fd, text, sizeof text - 1);
		sys_call(SYS_close, fd);
	}
	text[n > 0 ? n : 0] = '\0';
	for (at = find_value(text, name); i < size - 1 && *at && *at != '\n'; at++)
		ret[i++] = *at;
	ret[i] = '\0';
}
