/*
 * Run a fuzz target without libFuzzer: over the files that are named, or over every file in
 * tests/data/TARGET; each whole, and cut at many places.  The target aborts if something is wrong.
 */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "tap.h"

/* A cut every so many bytes, or four times as many; primes, so that all parts of lines are met. */
#define CUT_BYTES 37

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
replay(const char *path)
{
	auto_text struct text text = { 0 };
	auto_fd int fd = open(path, O_RDONLY);
	const size_t step = tap_share(100) < 100 ? 4 * CUT_BYTES + 1 : CUT_BYTES;

	if (!ok(fd >= 0 && text_read(&text, fd, 1 << 24) == 0, "%s", path))
		return;
	for (size_t n = 0; n < text.len; n += step)
		LLVMFuzzerTestOneInput((const uint8_t *)text.v, n);
	LLVMFuzzerTestOneInput((const uint8_t *)text.v, text.len);
}

static void
replay_directory(const char *target)
{
	char path[4096];
	size_t start;
	struct dirent *entry;
	DIR *dir;

	start = (size_t)snprintf(path, sizeof path, "%s/", TEST_DATA);
	snprintf(path + start, sizeof path - start, "%s", target);
	for (char *c = path + start; *c; c++)
		if (*c == '-')
			*c = '_';
	dir = opendir(path);
	if (!ok(dir != NULL, "%s is there", path))
		return;
	while ((entry = readdir(dir))) {
		auto_free char *file = NULL;

		if (entry->d_name[0] == '.' || asprintf(&file, "%s/%s", path, entry->d_name) < 0)
			continue;
		replay(file);
	}
	closedir(dir);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (argc == 1)
		replay_directory(basename(argv[0]));
	return tap_end();
}
