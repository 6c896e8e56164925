#include <config.h>

#include "recording/log-directory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "os/stranger.h"

/* Names of a log's files end with one of these; renaming a file must keep it. */
static const char *const suffixes[] = { ".mlog.zst", ".mlog", ".mlog.gz" };

static bool
log_directory_is_name(const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		const size_t suffix = strlen(suffixes[i]);

		if (len > suffix && strcmp(name + len - suffix, suffixes[i]) == 0)
			return true;
	}
	return false;
}

/* Read the head of the file PATH.  0, or -1 with E. */
static int
log_directory_read_head(struct log_head *ret, const char *path, struct err *e)
{
	const int fd = os_open(path, OS_REGULAR, e);
	struct stream *s = fd < 0 ? NULL : stream_of_file(fd, path, e);
	struct log_part *p;

	if (!s || log_part_open(&p, s, path, e) < 0)
		return -1;
	*ret = p->head;
	recording_free(&p->r);
	return 0;
}

static bool
log_directory_is_of(const struct log_head *h, const struct recording_log *which)
{
	return !which || (h->realtime_ns == which->realtime_ns && h->opened_ns == which->opened_ns);
}

static int
log_directory_add_file(struct log_files *f, const char *dir, const char *name,
	const struct recording_log *which, struct err *e)
{
	auto_free char *path = NULL;
	struct log_file_at *added, found = { .fd = -1 };

	if (asprintf(&path, "%s/%s", dir, name) < 0) {
		path = NULL;
		return err_set(e, ENOMEM, "cannot read '%s'", dir);
	}
	if (log_directory_read_head(&found.head, path, &f->e) < 0) {
		/* It may have been removed just now. */
		f->nr_refused += f->e.code != ENOENT;
		return 0;
	}
	if (!log_directory_is_of(&found.head, which))
		return 0;
	added = array_add(f);
	if (!added)
		return err_set(e, ENOMEM, "cannot read '%s'", dir);
	*added = found;
	added->path = take_ptr(&path);
	return 0;
}

static bool
is_same_log(const struct log_head *a, const struct log_head *b)
{
	return a->realtime_ns == b->realtime_ns && a->opened_ns == b->opened_ns && a->pid == b->pid;
}

/* Compare by log, the oldest first, then by number. */
static int
log_directory_compare(const void *a, const void *b)
{
	const struct log_head *x = &((const struct log_file_at *)a)->head;
	const struct log_head *y = &((const struct log_file_at *)b)->head;

	if (x->realtime_ns != y->realtime_ns)
		return x->realtime_ns < y->realtime_ns ? -1 : 1;
	if (x->opened_ns != y->opened_ns)
		return x->opened_ns < y->opened_ns ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void
log_directory_release_file(struct log_file_at *f)
{
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
}

static void
drop_first(struct log_files *f, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		log_directory_release_file(&f->v[i]);
	memmove(f->v, f->v + nr, (f->nr - nr) * sizeof *f->v);
	f->nr -= nr;
}

/* Keep only the last log of F, and only its last files without a gap. */
static void
log_directory_choose(struct log_files *f)
{
	size_t first = f->nr - 1;

	while (first && is_same_log(&f->v[first - 1].head, &f->v[first].head) &&
		f->v[first - 1].head.number + 1 == f->v[first].head.number &&
		f->v[first - 1].head.ticks <= f->v[first].head.ticks)
		first--;
	for (size_t i = 0; i < first; i++) {
		if (is_same_log(&f->v[i].head, &f->v[first].head))
			f->nr_older++;
		else if (!i || !is_same_log(&f->v[i].head, &f->v[i - 1].head))
			f->nr_others++;
	}
	drop_first(f, first);
}

/*
 * Open the files of F, the last one first, so that they stay readable.  A file that was removed
 * meanwhile is dropped with those before it: the writer removes the oldest.  0, or -1 with E.
 */
static int
open_files(struct log_files *f, struct err *e)
{
	for (size_t i = f->nr; i--;) {
		f->v[i].fd = os_open(f->v[i].path, OS_REGULAR, e);
		if (f->v[i].fd >= 0)
			continue;
		if (e->code != ENOENT || i + 1 == f->nr)
			return -1;
		drop_first(f, i + 1);
		break;
	}
	return 0;
}

int
log_files_find(
	struct log_files *f, const char *path, const struct recording_log *which, struct err *e)
{
	int fd = os_open(path, OS_DIRECTORY, e), failed = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd < 0)
		return -1;
	if (!d) {
		close(fd);
		return err_set(e, ENOTDIR, "cannot read '%s'", path);
	}
	while (!failed && (entry = readdir(d)))
		if (log_directory_is_name(entry->d_name))
			failed = log_directory_add_file(f, path, entry->d_name, which, e);
	closedir(d);
	if (failed)
		return -1;
	if (!f->nr && f->nr_refused) {
		*e = f->e;
		return -1;
	}
	if (!f->nr)
		return err_set(e, 0, "cannot read '%s': no file of %s log is there", path,
			which ? "the" : "a");
	qsort(f->v, f->nr, sizeof *f->v, log_directory_compare);
	log_directory_choose(f);
	return open_files(f, e);
}

void
log_files_release(struct log_files *f)
{
	for (size_t i = 0; i < f->nr; i++)
		log_directory_release_file(&f->v[i]);
	free(f->v);
	*f = (struct log_files){ .v = NULL };
}
