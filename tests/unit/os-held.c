/*
 * Files in memory that descriptors hold: this program opens random ones, by seeds, of a memfd, of a
 * tmpfs and of a disk,
 * several times, with pages and without, and keeps a list of its own.
 *
 *	os-held [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/held.h"
#include "os/os.h"
#include "os/target.h"
#include "seeds.h"

#define MAX_FILES 20
#define TMPFS 0x01021994 /* statfs(2) */

static struct target t = TARGET_NONE;
static bool has_tmpfs;
static size_t nr_before; /* what this program holds from the beginning */

static struct world {
	size_t nr_fds, nr_files;
	int fd[2 * MAX_FILES];
	struct file {
		int least_fd; /* -1: it is not held in memory */
		struct stat st;
		char name[40];
		bool is_found;
	} file[MAX_FILES];
} w;

static int
open_unlinked(char *path)
{
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		unlink(path);
	return fd;
}

/* A file in memory, or one on a disk, which is not to be found. */
static int
open_file(struct file *f, size_t i, bool *ret_is_memory)
{
	const unsigned int kind = (unsigned int)some(4);

	*ret_is_memory = kind < 3;
	if (kind == 3)
		return open_unlinked((char[]){ "/var/tmp/os-held-XXXXXX" });
	if (kind == 2 && has_tmpfs)
		return open_unlinked((char[]){ "/dev/shm/os-held-XXXXXX" });
	snprintf(f->name, sizeof f->name, "held %zu", i);
	return memfd_create(f->name, MFD_CLOEXEC);
}

/* Some pages anywhere in it. */
static bool
fill(int fd)
{
	for (size_t n = some(5); n; n--)
		if (pwrite(fd, "x", 1, (off_t)(4096 * some(50))) != 1)
			return false;
	return ftruncate(fd, 4096 * 60) == 0;
}

static bool
add_file(void)
{
	struct file *f = &w.file[w.nr_files++];
	bool is_memory;
	int fd = open_file(f, w.nr_files, &is_memory);

	if (fd < 0 || !fill(fd) || fstat(fd, &f->st) < 0)
		return FAIL("cannot make a file");
	w.fd[w.nr_fds++] = fd;
	/* A copy of the descriptor, which may have a lower number. */
	if (some(3) == 0 && (w.fd[w.nr_fds] = fcntl(fd, F_DUPFD_CLOEXEC, 3)) >= 0)
		w.nr_fds++;
	f->least_fd = is_memory && f->st.st_blocks ? fd : -1;
	return true;
}

static bool
check(const struct os_held_file *held, size_t nr)
{
	size_t nr_wanted = nr_before;

	for (size_t i = 0; i < nr; i++) {
		if (i &&
			(held[i - 1].bytes < held[i].bytes ||
				(held[i - 1].bytes == held[i].bytes &&
					held[i - 1].fd > held[i].fd)))
			return FAIL("descriptors %d and %d are not in order", held[i - 1].fd,
				held[i].fd);
		for (size_t k = 0; k < w.nr_files; k++) {
			struct file *f = &w.file[k];

			if (held[i].inode != f->st.st_ino || held[i].dev != f->st.st_dev)
				continue;
			if (f->least_fd < 0 || f->is_found)
				return FAIL(
					"descriptor %d is not to be found, or once", held[i].fd);
			f->is_found = true;
			if (held[i].bytes != (uint64_t)f->st.st_blocks * 512)
				return FAIL("descriptor %d has %" PRIu64 " bytes", held[i].fd,
					held[i].bytes);
			if (*f->name && !strstr(held[i].name, f->name))
				return FAIL(
					"descriptor %d is called '%s'", held[i].fd, held[i].name);
		}
	}
	for (size_t k = 0; k < w.nr_files; k++) {
		nr_wanted += w.file[k].least_fd >= 0;
		if (w.file[k].least_fd >= 0 && !w.file[k].is_found)
			return FAIL("descriptor %d is not found", w.file[k].least_fd);
	}
	return nr == nr_wanted || FAIL("%zu files are held, not %zu", nr, nr_wanted);
}

static bool
try(void)
{
	struct os_held_file *held = NULL;
	const size_t nr_files = some(MAX_FILES);
	bool is_good = true;
	struct err e = { 0 };
	size_t nr = 0;

	memset(&w, 0, sizeof w);
	while (is_good && w.nr_files < nr_files)
		is_good = add_file();
	/* Half of the descriptors that have a copy are closed: the copy holds the file. */
	for (size_t i = 0; i + 1 < w.nr_fds; i++) {
		struct stat a, b;

		if (fstat(w.fd[i], &a) == 0 && fstat(w.fd[i + 1], &b) == 0 &&
			a.st_ino == b.st_ino && a.st_dev == b.st_dev && some(2)) {
			close(w.fd[i]);
			w.fd[i] = -1;
		}
	}
	if (is_good)
		is_good = os_held_files(&t, &held, &nr, &e) == 0 ? check(held, nr)
								 : FAIL("%s", e.msg);
	free(held);
	for (size_t i = 0; i < w.nr_fds; i++)
		if (w.fd[i] >= 0)
			close(w.fd[i]);
	return is_good;
}

int
main(int argc, char **argv)
{
	struct os_held_file *held = NULL;
	struct statfs fs;
	struct err e;

	has_tmpfs = statfs("/dev/shm", &fs) == 0 && fs.f_type == TMPFS;
	if (statfs("/var/tmp", &fs) < 0 || fs.f_type == TMPFS) {
		skip("files in memory that descriptors hold", "/var/tmp is on no disk");
		return tap_end();
	}
	if (target_open(&t, getpid(), &e) < 0 || os_held_files(&t, &held, &nr_before, &e) < 0)
		return 99;
	free(held);
	seeds_try(seeds_of(argc, argv, 100), try,
		"files in memory are found once each, with what they take, the largest first");
	target_release(&t);
	return tap_end();
}
