#include <config.h>

#include "os/life.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t
os_life_start(pid_t pid)
{
	char path[64], text[1024], state, *end;
	uint64_t start = 0;
	int nr_threads;
	size_t len;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	len = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[len] = '\0';
	/* The name may contain any bytes. */
	end = strrchr(text, ')');
	if (!end ||
		sscanf(end + 1,
			" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d "
			"%*d %" SCNu64,
			&state, &nr_threads, &start) != 3)
		return 0;
	/* A first thread that has ended before the others is a zombie, too. */
	return (state == 'Z' && nr_threads < 2) || state == 'X' ? 0 : start;
}

uint64_t
os_life_rss(pid_t pid)
{
	char path[64];
	uint64_t nr_pages = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%*u %" SCNu64, &nr_pages) != 1)
		nr_pages = 0;
	fclose(f);
	return nr_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool
os_life_maps(pid_t pid, const char *name)
{
	char path[64], wanted[300], *line = NULL;
	bool is_mapped = false, is_empty = true;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	snprintf(wanted, sizeof wanted, "/memfd:%s", name);
	while (!is_mapped && getline(&line, &room, f) >= 0) {
		is_empty = false;
		is_mapped = strstr(line, wanted);
	}
	free(line);
	fclose(f);
	return is_mapped || is_empty;
}

/* Store the PID namespace of process PID (or "self") in BUF; false: it cannot be read. */
static bool
read_namespace(const char *pid, char *buf, size_t size)
{
	char path[300];
	ssize_t len;

	snprintf(path, sizeof path, "/proc/%s/ns/pid", pid);
	len = readlink(path, buf, size - 1);
	if (len < 0)
		return false;
	buf[len] = '\0';
	return true;
}

bool
os_life_is_elsewhere(const char *name)
{
	char own[64], other[64];
	DIR *d = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	if (!d || !read_namespace("self", own, sizeof own)) {
		if (d)
			closedir(d);
		return true;
	}
	while (!found && (entry = readdir(d)))
		found = isdigit((unsigned char)*entry->d_name) &&
			read_namespace(entry->d_name, other, sizeof other) &&
			strcmp(own, other) != 0 && os_life_maps(atoi(entry->d_name), name);
	closedir(d);
	return found;
}
