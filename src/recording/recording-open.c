#include <config.h>

#include "recording/recording-open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/stranger.h"
#include "recording/heaptrack.h"
#include "recording/log-format.h"
#include "recording/log-reader.h"
#include "recording/stream.h"

static int
take_fd(int *fd)
{
	const int taken = *fd;

	*fd = -1;
	return taken;
}

enum { IS_NONE, IS_LOG, IS_HEAPTRACK };

/*
 * A heaptrack file begins with its version; before 1.0 it had no version, and those are not read.
 */
static bool
is_heaptrack(const char *text, size_t len)
{
	return len >= 3 && memcmp(text, "v ", 2) == 0 &&
		((text[2] >= '0' && text[2] <= '9') || (text[2] >= 'a' && text[2] <= 'f'));
}

/* A log file begins with this word, in any version. */
static bool
is_log(const char *text, size_t len)
{
	const size_t word = strlen(LOG_MAGIC_WORD);

	return len >= word && memcmp(text, LOG_MAGIC_WORD, word) == 0;
}

/*
 * Return the format of S, from its first bytes.  If they cannot be unpacked so far, the format is
 * unknown, and its reader reports why.  -1 with E.
 */
static int
recording_open_find_format(struct stream *s, struct err *e)
{
	char text[16];
	bool is_cut;
	const long nr = stream_peek(s, text, sizeof text, &is_cut, e);

	if (nr < 0)
		return -1;
	if (is_log(text, (size_t)nr))
		return IS_LOG;
	return is_heaptrack(text, (size_t)nr) || (nr < 3 && is_cut) ? IS_HEAPTRACK : IS_NONE;
}

/* Open a reader of S, which is taken over; a log also uses FD, or if -1 the LEN bytes at DATA. */
static int
recording_open_stream(struct recording **ret, struct stream *s, int *fd, const char *name,
	const char *data, size_t len, struct err *e)
{
	int failed = -1;

	switch (s ? recording_open_find_format(s, e) : -1) {
	case IS_LOG:
		failed = data ? log_parse(ret, s, name, data, len, e)
			      : log_open_file(ret, s, take_fd(fd), name, e);
		break;
	case IS_HEAPTRACK:
		failed = heaptrack_open(ret, s, name, e);
		break;
	case IS_NONE:
		stream_free(s);
		return 0;
	default:
		stream_free(s);
	}
	return failed ? -1 : 1;
}

int
recording_open(struct recording **ret, const char *path, struct err *e)
{
	auto_fd int fd = os_open_at(AT_FDCWD, path, OS_REGULAR | OS_DIRECTORY);
	struct stat st;
	int copy;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "cannot read '%s'", path);
	if (S_ISDIR(st.st_mode))
		return recording_open_log(ret, path, NULL, e) < 0 ? -1 : 1;
	copy = dup(fd);
	return copy < 0
		? err_set(e, errno, "cannot read '%s'", path)
		: recording_open_stream(ret, stream_of_file(copy, path, e), &fd, path, NULL, 0, e);
}

int
recording_open_log(
	struct recording **ret, const char *path, const struct recording_log *which, struct err *e)
{
	return log_open_directory(ret, path, which, e);
}

int
recording_parse(
	struct recording **ret, const char *name, const char *data, size_t len, struct err *e)
{
	return recording_open_stream(
		ret, stream_of_memory(data, len, name, e), NULL, name, data, len, e);
}
