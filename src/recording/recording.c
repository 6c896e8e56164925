#include <config.h>

#include "recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/stranger.h"
#include "recording/heaptrack-priv.h"
#include "recording/log-priv.h"
#include "recording/stream.h"

static int
take_fd(int *fd)
{
	const int taken = *fd;

	*fd = -1;
	return taken;
}

/* A file of heaptrack begins with its version; before 1.0 it had none, and those are not read. */
static bool
is_heaptrack(const char *text, size_t len)
{
	return len >= 3 && memcmp(text, "v ", 2) == 0 &&
		((text[2] >= '0' && text[2] <= '9') || (text[2] >= 'a' && text[2] <= 'f'));
}

/* A file of a log begins with this word, in any version. */
static bool
is_log(const char *text, size_t len)
{
	const size_t word = strlen(LOG_MAGIC_WORD);

	return len >= word && memcmp(text, LOG_MAGIC_WORD, word) == 0;
}

/* The first bytes of S, as many as there are up to SIZE; -1 with E. */
static long
peek(struct stream *s, char *text, size_t size, struct err *e)
{
	size_t nr = 0;
	long n = 1;

	while (nr < size && n > 0) {
		n = stream_read(s, text + nr, size - nr, e);
		nr += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? -1 : (long)nr;
}

/*
 * Whether S, which is taken over and may be NULL, begins as a recording does, or cannot be read:
 * why not, recording_open() has to say.
 */
static bool
recording_begins(struct stream *s)
{
	struct err e = { 0 };
	char text[16];
	long nr = s ? peek(s, text, sizeof text, &e) : 0;
	bool is_unknown = nr < 0 || (s && nr < 3 && stream_is_cut(s));

	stream_free(s);
	return is_unknown || is_heaptrack(text, (size_t)nr) || is_log(text, (size_t)nr);
}

bool
recording_is_in(const char *data, size_t len)
{
	struct err e = { 0 };

	return recording_begins(stream_of_memory(data, len, "", &e));
}

bool
recording_is_file(const char *path)
{
	auto_fd int fd = os_open_at(AT_FDCWD, path, OS_REGULAR | OS_DIRECTORY);
	struct err e = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return true;
	return recording_begins(stream_of_file(dup(fd), "", &e));
}

/* Whether S, which is taken over and may be NULL, begins as a file of a log.  1, 0, -1 with E. */
static int
find_log(struct stream *s, struct err *e)
{
	char text[16];
	const long nr = s ? peek(s, text, sizeof text, e) : -1;

	stream_free(s);
	return nr < 0 ? -1 : is_log(text, (size_t)nr);
}

int
recording_open(struct recording **ret, const char *path, struct err *e)
{
	auto_fd int fd = os_open(path, OS_REGULAR | OS_DIRECTORY, e);
	struct stream *s;
	struct stat st;
	int first, is_a_log;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "cannot read '%s'", path);
	if (S_ISDIR(st.st_mode))
		return log_open_directory(ret, path, NULL, e);
	first = os_open(path, OS_REGULAR, e);
	if (first < 0)
		return -1;
	is_a_log = find_log(stream_of_file(first, path, e), e);
	if (is_a_log < 0)
		return -1;
	if (is_a_log)
		return log_open_file(ret, take_fd(&fd), path, e);
	s = stream_of_file(take_fd(&fd), path, e);
	return s ? heaptrack_open(ret, s, path, e) : -1;
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
	const int is_a_log = find_log(stream_of_memory(data, len, name, e), e);
	struct stream *s;

	if (is_a_log < 0)
		return -1;
	if (is_a_log)
		return log_parse(ret, name, data, len, e);
	s = stream_of_memory(data, len, name, e);
	return s ? heaptrack_open(ret, s, name, e) : -1;
}
