/*
 * shortener DIR: maps a library of its own, DIR/library, and makes its file short and whole again
 * all the time.  Answers each line with how often it was short.
 */
#include "tracee.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

static atomic_long nr_short;
static char *bytes;
static size_t size;
static int file;

static void
read_library(void)
{
	Dl_info info;
	struct stat st;
	int fd;

	if (!dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info))
		tracee_fail("dladdr");
	fd = open(info.dli_fname, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0)
		tracee_fail(info.dli_fname);
	size = (size_t)st.st_size;
	bytes = malloc(size);
	if (!bytes || read(fd, bytes, size) != (ssize_t)size)
		tracee_fail("read");
	close(fd);
}

static void *
shorten(void *arg)
{
	for (;;) {
		if (ftruncate(file, 4096) < 0)
			tracee_fail("ftruncate");
		nr_short++;
		usleep(100);
		if (pwrite(file, bytes, size, 0) != (ssize_t)size)
			tracee_fail("pwrite");
		usleep(100);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	char line[64];

	if (argc < 2 || chdir(argv[1]) < 0)
		return 64;
	read_library();
	file = open("library", O_RDWR | O_CREAT | O_TRUNC, 0755);
	if (file < 0 || write(file, bytes, size) != (ssize_t)size)
		tracee_fail("library");
	if (mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED ||
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 65536) == MAP_FAILED)
		tracee_fail("mmap");
	tracee_thread(shorten, NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%ld", (long)nr_short);
	return tracee_end();
}
