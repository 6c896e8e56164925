#include <config.h>

#include "profile/read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "os/stranger.h"
#include "profile/foreign.h"
#include "profile/gzip.h"
#include "profile/pprof-read.h"
#include "profile/read-heap.h"

/* Lines that jemalloc prints before the profile begin with this. */
static const char said_by_jemalloc[] = "<jemalloc>";

static int
read_parse(struct profile **ret, const char *name, const char *data, size_t len, struct err *e)
{
	auto_profile struct profile *p = profile_new();
	const char *kind = foreign_kind(data, len);

	if (!p)
		return err_set(e, ENOMEM, "cannot read '%s'", name);
	if (!len)
		return err_set(e, 0, "cannot read '%s': it is empty", name);
	if (kind)
		return err_set(e, 0, "cannot read '%s': it is not a profile, but %s", name, kind);
	if ((heap_is_text(data, len) ? heap_parse : pprof_parse)(p, name, data, len, e) < 0)
		return -1;
	*ret = take_ptr(&p);
	return 0;
}

int
profile_parse(struct profile **ret, const char *name, const char *data, size_t len, struct err *e)
{
	auto_text struct text unpacked = { 0 };
	size_t n;

	if (gzip_is(data, len)) {
		if (gzip_unpack(&unpacked, name, data, len, e) < 0)
			return -1;
		data = unpacked.v;
		len = unpacked.len;
	}
	n = sizeof said_by_jemalloc - 1;
	while (len > n && memcmp(data, said_by_jemalloc, n) == 0) {
		const char *end = memchr(data, '\n', len);
		const size_t line = end ? (size_t)(end - data) + 1 : len;

		data += line;
		len -= line;
	}
	return read_parse(ret, name, data, len, e);
}

int
profile_read(struct profile **ret, const char *path, struct err *e)
{
	auto_text struct text text = { 0 };
	bool is_stdin = strcmp(path, "-") == 0;
	const char *name = is_stdin ? "standard input" : path;
	auto_fd int fd = is_stdin ? dup(STDIN_FILENO) : os_open(path, OS_REGULAR, e);

	if (fd < 0 && !is_stdin)
		return -1;
	if (fd < 0)
		return err_set(e, errno, "cannot read '%s'", name);
	return os_read_whole(&text, fd, name, e) < 0
		? -1
		: profile_parse(ret, name, text.v, text.len, e);
}
