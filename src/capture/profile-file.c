#include <config.h>

#include "capture/profile-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentdata/collect.h"
#include "agentdata/live-files.h"
#include "base/cleanup.h"
#include "os/stranger.h"
#include "profile/symbols.h"
#include "profile/write-heap.h"
#include "ui/output.h"

int
profile_file_check(const char *prefix, struct err *e)
{
	const char *slash = prefix ? strrchr(prefix, '/') : NULL;
	char directory[PATH_MAX] = ".";

	if (slash)
		snprintf(directory, sizeof directory, "%.*s", (int)(slash - prefix + 1), prefix);
	return access(directory, W_OK | X_OK) == 0
		? 0
		: err_set(e, errno, "cannot write a profile into %s", directory);
}

/* Return whether a file exists whose name begins with BEGIN, a path, and ends like a profile's. */
static bool
profile_file_has_file(const char *begin)
{
	static const char suffix[] = ".heap";
	const char *slash = strrchr(begin, '/'), *name = slash ? slash + 1 : begin;
	char directory[PATH_MAX] = ".";
	const struct dirent *d;
	bool answer = false;
	DIR *dir;
	int fd;

	if (slash)
		snprintf(directory, sizeof directory, "%.*s", (int)(slash - begin + 1), begin);
	fd = os_open_at(AT_FDCWD, directory, OS_DIRECTORY);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && !answer && (d = readdir(dir))) {
		const size_t len = strlen(d->d_name);

		answer = len > sizeof suffix && strncmp(d->d_name, name, strlen(name)) == 0 &&
			strcmp(d->d_name + len + 1 - sizeof suffix, suffix) == 0;
	}
	if (dir)
		closedir(dir);
	else
		cleanup_fd(&fd);
	return answer;
}

/* Try to take NUMBER.  1 if it is used. */
static int
take_number(struct profile_name *n, const struct profile_file *f, uint32_t number, struct err *e)
{
	const time_t now = time(NULL);
	char begin[PATH_MAX - 64], when[32];
	struct tm tm;
	int len, fd;

	len = snprintf(begin, sizeof begin, "%s.%d.%u.", f->prefix ? f->prefix : "memdiag",
		(int)f->pid, number);
	if (len < 0 || (size_t)len >= sizeof begin)
		return err_set(e, ENAMETOOLONG, "cannot name the file");
	snprintf(n->part, sizeof n->part, "%spart", begin);
	fd = os_create_at(AT_FDCWD, n->part);
	if (fd < 0) {
		const int failed = errno;

		len = failed == EEXIST ? 1 : err_set(e, failed, "cannot write '%s'", n->part);
		*n->part = '\0';
		return len;
	}
	close(fd);
	strftime(when, sizeof when, "%Y%m%dT%H%M%S", localtime_r(&now, &tm));
	snprintf(n->path, sizeof n->path, "%s%c%u.%s.heap", begin, (char)f->kind, f->nr_of_kind,
		when);
	if (!profile_file_has_file(begin))
		return 0;
	profile_name_release(n);
	return 1;
}

#define MAX_TRIES 1000

int
profile_name_take(struct profile_name *ret, const struct profile_file *f, struct err *e)
{
	int status = 1;

	*ret = (struct profile_name){ .path = "" };
	for (uint32_t i = 0; status > 0 && i < MAX_TRIES; i++)
		status = take_number(ret, f, f->number + i, e);
	return status > 0 ? err_set(e, EEXIST, "cannot name the file") : status;
}

void
profile_name_release(struct profile_name *n)
{
	if (*n->part)
		unlink(n->part);
	*n->part = '\0';
}

int
profile_file_write(const struct profile_file *f, const struct sites_copy *c,
	const struct process *p, const struct ui_options *opt, char *path, size_t size,
	struct err *e)
{
	const struct symbols_options symbols = { .program = NULL };
	auto_output struct ui_output out = { 0 };
	auto_profile struct profile *profile = NULL;
	auto_profile_name struct profile_name name = { .path = "" };
	struct ui_options to = *opt;

	if (profile_name_take(&name, f, e) < 0)
		return -1;
	snprintf(path, size, "%s", name.path);
	to.output = name.path;
	to.is_private = true;
	if (profile_collect(&profile, c, p, e) < 0 ||
		(f->symbols_inside && live_files_name(profile, p, &symbols, e) < 0))
		return -1;
	return ui_output_open(&out, &to, e) < 0 ||
			heap_write(profile, out.f, f->symbols_inside, e) < 0 ||
			ui_output_close(&out, e) < 0
		? -1
		: 0;
}
