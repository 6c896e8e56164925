#include <config.h>

#include "os/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int
os_nr_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (int)n : 1;
}

/* Read the number in file DIR/NAME; false if there is none ("max" is none). */
static bool
read_number(const char *dir, const char *name, uint64_t *ret)
{
	auto_text struct text text = { 0 };
	auto_fd int fd = -1;
	char path[4096], *end;

	if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || text_read(&text, fd, 4096) < 0 || !text.v)
		return false;
	*ret = strtoull(text.v, &end, 10);
	return end != text.v;
}

/* v1 says "no limit" with a number near 2^63 (mm/page_counter.c). */
#define CGROUP_NO_LIMIT (UINT64_C(1) << 60)

/* Go up from MOUNT/PATH and keep the limit that leaves the least room. */
static bool
tightest(const char *mount, char *path, const char *limit_name, const char *used_name,
	uint64_t *ret_limit, uint64_t *ret_used)
{
	bool found = false;

	for (;;) {
		char dir[4096];
		uint64_t limit, used;
		char *slash;

		snprintf(dir, sizeof dir, "%s%s", mount, path);
		if (read_number(dir, limit_name, &limit) && limit < CGROUP_NO_LIMIT &&
			read_number(dir, used_name, &used) && (!found || limit < *ret_limit)) {
			*ret_limit = limit;
			*ret_used = used;
			found = true;
		}
		slash = strrchr(path, '/');
		if (!slash)
			return found;
		*slash = '\0';
	}
}

/* The path in "0::/path" (v2), or in the line of the v1 CONTROLLER; false if there is none. */
static bool
cgroup_path(const char *text, const char *controller, char *buf, size_t size)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *names, *path;
		size_t len;

		line += *line == '\n';
		names = strchr(line, ':');
		path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			return false;
		len = (size_t)(path - names - 1);
		if (len != strlen(controller) || strncmp(names + 1, controller, len) != 0)
			continue;
		snprintf(buf, size, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
		return true;
	}
	return false;
}

int
os_cgroup_memory(const struct target *t, uint64_t *ret_limit_bytes, uint64_t *ret_used_bytes)
{
	auto_text struct text text = { 0 };
	char path[2048];
	struct err e;

	if (os_proc_read(t, 0, "cgroup", &text, &e) < 0)
		return -1;
	if (cgroup_path(text.v, "memory", path, sizeof path) &&
		tightest("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes",
			"memory.usage_in_bytes", ret_limit_bytes, ret_used_bytes))
		return 0;
	if (cgroup_path(text.v, "", path, sizeof path) &&
		tightest("/sys/fs/cgroup", path, "memory.max", "memory.current", ret_limit_bytes,
			ret_used_bytes))
		return 0;
	return -1;
}

bool
os_is_frozen(const struct target *t)
{
	auto_text struct text text = { 0 };
	char path[2048], dir[4096];
	uint64_t frozen;
	struct err e;

	if (os_proc_read(t, 0, "cgroup", &text, &e) < 0 ||
		!cgroup_path(text.v, "", path, sizeof path))
		return false;
	snprintf(dir, sizeof dir, "/sys/fs/cgroup%s", path);
	return read_number(dir, "cgroup.freeze", &frozen) && frozen == 1;
}
