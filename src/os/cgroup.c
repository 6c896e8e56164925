/*
 * The limits that the cgroups of a target set: memory, processor time, and the freezer.  In v2 one
 * hierarchy has all controllers; in v1 each has its own.  A limit may be set in any ancestor.
 */
#include <config.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/proc.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cgroup.h"

/* v1 shows no limit as a number near 2^63 (mm/page_counter.c). */
#define NO_LIMIT (UINT64_C(1) << 60)

#define THROTTLE_LOOKS 12
#define THROTTLE_PAUSE_NS 20000000

/* ---- files ---- */

static int
cgroup_read_file(const char *dir, const char *name, struct text *ret)
{
	auto_fd int fd = -1;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || text_read(ret, fd, 65536) < 0 || !ret->v ? -1 : 0;
}

/*
 * Read the number in file DIR/NAME; return false if it does not contain a number (it may contain
 * "max").
 */
static bool
cgroup_read_number(const char *dir, const char *name, uint64_t *ret)
{
	auto_text struct text text = { 0 };
	char *end;

	if (cgroup_read_file(dir, name, &text) < 0)
		return false;
	*ret = strtoull(text.v, &end, 10);
	return end != text.v;
}

/* Return the number after KEY and a space at the beginning of a line; 0 if not found. */
static uint64_t
cgroup_number_of(const struct text *text, const char *key)
{
	const size_t len = strlen(key);

	for (const char *line = text->v; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len + 1, NULL, 10);
	}
	return 0;
}

/* ---- the cgroup of a target ---- */

/*
 * Return whether NAME is one of the comma-separated names in the LEN bytes at LIST.  The empty list
 * contains "".
 */
static bool
is_listed(const char *list, size_t len, const char *name)
{
	const char *end = list + len;

	for (;;) {
		size_t n = 0;

		while (list + n < end && list[n] != ',')
			n++;
		if (n == strlen(name) && memcmp(list, name, n) == 0)
			return true;
		if (list + n >= end)
			return false;
		list += n + 1;
	}
}

/*
 * Copy the path from "0::/path" (v2), or from the line of the v1 CONTROLLER; return false if not
 * found.
 */
static bool
cgroup_path_of(const struct target *t, const char *controller, char *buf, size_t size)
{
	auto_text struct text text = { 0 };
	struct err e;

	if (os_proc_read(t, 0, "cgroup", &text, &e) < 0)
		return false;
	for (const char *line = text.v; line && *line; line = strchr(line, '\n')) {
		const char *names, *path;

		line += *line == '\n';
		names = strchr(line, ':');
		path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			return false;
		if (!is_listed(names + 1, (size_t)(path - names - 1), controller))
			continue;
		return (size_t)snprintf(buf, size, "%.*s", (int)strcspn(path + 1, "\n"), path + 1) <
			size;
	}
	return false;
}

bool
os_cgroup_path(const struct target *t, char *buf, size_t size)
{
	static const char *const hierarchies[] = { "", "name=systemd", "memory" };

	for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
		if (cgroup_path_of(t, hierarchies[i], buf, size) && strcmp(buf, "/") != 0)
			return true;
	return cgroup_path_of(t, "", buf, size);
}

/* The mount point of a hierarchy: a line of /proc/self/mountinfo (proc(5)). */
struct mount {
	char root[PATH_MAX], point[PATH_MAX];
};

/* Return whether LINE mounts the hierarchy of the v1 CONTROLLER, or of v2 if that is "". */
static bool
parse_mount(const char *line, const char *controller, struct mount *ret)
{
	char type[32], options[512];
	const char *rest = strstr(line, " - ");

	if (!rest || sscanf(rest, " - %31s %*s %511s", type, options) != 2 ||
		sscanf(line, "%*s %*s %*s %4095s %4095s", ret->root, ret->point) != 2)
		return false;
	if (!*controller)
		return strcmp(type, "cgroup2") == 0;
	return strcmp(type, "cgroup") == 0 && is_listed(options, strlen(options), controller);
}

/* The directory of a target's cgroup, and the length of the mount point in it. */
struct cgroup_place {
	char dir[2 * PATH_MAX];
	size_t mount_len;
};

/* Join PATH to MOUNT. */
static void
place_in(const struct mount *mount, const char *path, struct cgroup_place *ret)
{
	/* A container may see only its own part of the hierarchy, at the usual mount point. */
	size_t root_len = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

	if (root_len &&
		(strncmp(path, mount->root, root_len) != 0 ||
			(path[root_len] && path[root_len] != '/')))
		root_len = strlen(path);
	snprintf(ret->dir, sizeof ret->dir, "%s%s", mount->point, path + root_len);
	ret->mount_len = strlen(mount->point);
}

/*
 * Return whether DIR is a cgroup: another file system, mounted over a hierarchy, hides all of it.
 */
static bool
is_cgroup(const char *dir)
{
	char path[PATH_MAX];

	return (size_t)snprintf(path, sizeof path, "%s/cgroup.procs", dir) < sizeof path &&
		access(path, F_OK) == 0;
}

/* Use the first mount that shows the cgroup; if no mount does, the first one of the hierarchy. */
static bool
cgroup_find_place(const struct target *t, const char *controller, struct cgroup_place *ret)
{
	auto_file FILE *f = fopen("/proc/self/mountinfo", "re");
	auto_free char *line = NULL;
	char path[PATH_MAX];
	size_t size = 0;
	bool is_found = false;

	if (!f || !cgroup_path_of(t, controller, path, sizeof path))
		return false;
	while (getline(&line, &size, f) > 0) {
		struct mount mount;
		struct cgroup_place place;

		if (!parse_mount(line, controller, &mount))
			continue;
		place_in(&mount, path, &place);
		if (!is_found || is_cgroup(place.dir))
			*ret = place;
		is_found = true;
		if (is_cgroup(place.dir))
			break;
	}
	return is_found;
}

/* Go to the parent; return false at the top. */
static bool
go_up(struct cgroup_place *p)
{
	char *slash = strrchr(p->dir, '/');

	if (!slash || (size_t)(slash - p->dir) < p->mount_len)
		return false;
	*slash = '\0';
	return true;
}

/* ---- memory ---- */

/* The names of the memory controller's files and values. */
struct memory_names {
	const char *controller, *limit, *high, *used;
	/* including all descendants */
	const char *inactive, *active, *dirty, *writeback, *anon, *shmem;
};

static const struct memory_names memory_names[] = {
	{ "memory", "memory.limit_in_bytes", NULL, "memory.usage_in_bytes", "total_inactive_file",
		"total_active_file", "total_dirty", "total_writeback", "total_rss", "total_shmem" },
	{ "", "memory.max", "memory.high", "memory.current", "inactive_file", "active_file",
		"file_dirty", "file_writeback", "anon", "shmem" },
};

static uint64_t
cgroup_minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Take the limit of the group in DIR if it leaves less room than the present one (HAS_ONE). */
static bool
note_limit(const char *dir, const struct memory_names *m, bool has_one, uint64_t *ret_limit,
	uint64_t *ret_used)
{
	auto_text struct text stat = { 0 };
	uint64_t limit, used;

	if (!cgroup_read_number(dir, m->limit, &limit) || limit >= NO_LIMIT ||
		!cgroup_read_number(dir, m->used, &used))
		return has_one;
	if (cgroup_read_file(dir, "memory.stat", &stat) == 0)
		used = cgroup_minus(used, cgroup_number_of(&stat, m->inactive));
	if (!has_one || cgroup_minus(limit, used) < cgroup_minus(*ret_limit, *ret_used)) {
		*ret_limit = limit;
		*ret_used = used;
	}
	return true;
}

int
os_cgroup_memory(const struct target *t, uint64_t *ret_limit_bytes, uint64_t *ret_used_bytes)
{
	for (size_t i = 0; i < sizeof memory_names / sizeof *memory_names; i++) {
		bool has_one = false;
		struct cgroup_place p;

		if (!cgroup_find_place(t, memory_names[i].controller, &p))
			continue;
		do
			has_one = note_limit(
				p.dir, &memory_names[i], has_one, ret_limit_bytes, ret_used_bytes);
		while (go_up(&p));
		if (has_one)
			return 0;
	}
	return -1;
}

static void
note_parts(const char *dir, const struct memory_names *m, struct os_cgroup_parts *ret)
{
	static const char *const kernel[] = { "kernel_stack", "pagetables", "percpu", "slab" };
	auto_text struct text stat = { 0 };
	uint64_t parts = 0;

	*ret = (struct os_cgroup_parts){ 0 };
	if (cgroup_read_file(dir, "memory.stat", &stat) < 0)
		return;
	ret->anon_bytes = cgroup_number_of(&stat, m->anon);
	ret->shmem_bytes = cgroup_number_of(&stat, m->shmem);
	ret->kernel_bytes = cgroup_number_of(&stat, "kernel"); /* since 5.18 */
	for (size_t i = 0; !ret->kernel_bytes && i < sizeof kernel / sizeof *kernel; i++)
		parts += cgroup_number_of(&stat, kernel[i]);
	ret->kernel_bytes += parts + cgroup_number_of(&stat, "sock");
}

bool
os_cgroup_parts(const struct target *t, struct os_cgroup_parts *ret)
{
	for (size_t i = 0; i < sizeof memory_names / sizeof *memory_names; i++) {
		uint64_t limit = 0, used = 0;
		bool has_one = false;
		struct cgroup_place p;

		if (!cgroup_find_place(t, memory_names[i].controller, &p))
			continue;
		do {
			const uint64_t last = cgroup_minus(limit, used);
			const bool had_one = has_one;

			has_one = note_limit(p.dir, &memory_names[i], has_one, &limit, &used);
			if (has_one && (!had_one || cgroup_minus(limit, used) < last))
				note_parts(p.dir, &memory_names[i], ret);
		} while (go_up(&p));
		if (has_one)
			return true;
	}
	return false;
}

size_t
os_cgroup_processes(const struct target *t, pid_t *pids, size_t room)
{
	size_t nr = 0;

	for (size_t i = 0; !nr && i < sizeof memory_names / sizeof *memory_names; i++) {
		auto_text struct text text = { 0 };
		struct cgroup_place p;
		char *end;

		if (!cgroup_find_place(t, memory_names[i].controller, &p) ||
			cgroup_read_file(p.dir, "cgroup.procs", &text) < 0)
			continue;
		for (const char *at = text.v; nr < room; at = end) {
			const long pid = strtol(at, &end, 10);

			if (end == at)
				break;
			if (pid > 0)
				pids[nr++] = (pid_t)pid;
		}
	}
	return nr;
}

/*
 * Return the memory that the kernel takes from the group in DIR before it kills: clean file pages.
 */
static uint64_t
reclaimable(const char *dir, const struct memory_names *m)
{
	auto_text struct text stat = { 0 };

	if (cgroup_read_file(dir, "memory.stat", &stat) < 0)
		return 0;
	return cgroup_minus(
		cgroup_number_of(&stat, m->inactive) + cgroup_number_of(&stat, m->active),
		cgroup_number_of(&stat, m->dirty) + cgroup_number_of(&stat, m->writeback));
}

/* Store the room that limit NAME leaves the group in DIR if it is less than RET has. */
static void
note_room(
	const char *dir, const struct memory_names *m, const char *name, struct os_memory_room *ret)
{
	uint64_t limit, used, room;

	if (!name || !cgroup_read_number(dir, name, &limit) || limit >= NO_LIMIT ||
		!cgroup_read_number(dir, m->used, &used))
		return;
	room = cgroup_minus(limit + reclaimable(dir, m), used);
	if (room < ret->bytes)
		*ret = (struct os_memory_room){ room, limit, name };
}

void
os_memory_room(const struct target *t, struct os_memory_room *ret)
{
	*ret = (struct os_memory_room){ .bytes = UINT64_MAX };
	for (size_t i = 0; i < sizeof memory_names / sizeof *memory_names; i++) {
		struct cgroup_place p;

		if (!cgroup_find_place(t, memory_names[i].controller, &p))
			continue;
		do {
			note_room(p.dir, &memory_names[i], memory_names[i].limit, ret);
			note_room(p.dir, &memory_names[i], memory_names[i].high, ret);
		} while (go_up(&p));
	}
}

/* ---- processor time ---- */

static void
note_quota(const char *dir, struct os_cpu_quota *ret)
{
	auto_text struct text text = { 0 };
	uint64_t quota_us, period_us;

	if (cgroup_read_file(dir, "cpu.max", &text) == 0) {
		if (sscanf(text.v, "%" SCNu64 " %" SCNu64, &quota_us, &period_us) != 2)
			return; /* "max 100000" */
	} else if (!cgroup_read_number(dir, "cpu.cfs_quota_us", &quota_us) ||
		quota_us >= NO_LIMIT || !cgroup_read_number(dir, "cpu.cfs_period_us", &period_us)) {
		return; /* also for -1, no limit, which is read as a huge number */
	}
	if (!ret->period_us || quota_us * ret->period_us < ret->quota_us * period_us)
		*ret = (struct os_cpu_quota){ quota_us, period_us };
}

bool
os_cpu_quota(const struct target *t, struct os_cpu_quota *ret)
{
	static const char *const controller[] = { "cpu", "" };

	*ret = (struct os_cpu_quota){ 0 };
	for (size_t i = 0; i < sizeof controller / sizeof *controller; i++) {
		struct cgroup_place p;

		if (!cgroup_find_place(t, controller[i], &p))
			continue;
		do
			note_quota(p.dir, ret);
		while (go_up(&p));
	}
	return ret->period_us != 0;
}

/* Return how often the target's cgroups have had to wait for a new period. */
static uint64_t
nr_throttled(const struct target *t)
{
	static const char *const controller[] = { "cpu", "" };
	uint64_t nr = 0;

	for (size_t i = 0; i < sizeof controller / sizeof *controller; i++) {
		struct cgroup_place p;

		if (!cgroup_find_place(t, controller[i], &p))
			continue;
		do {
			auto_text struct text stat = { 0 };

			if (cgroup_read_file(p.dir, "cpu.stat", &stat) == 0)
				nr += cgroup_number_of(&stat, "nr_throttled");
		} while (go_up(&p));
	}
	return nr;
}

bool
os_is_throttled(const struct target *t)
{
	const uint64_t before = nr_throttled(t);

	/* A period is usually 100 ms. */
	for (int i = 0; i < THROTTLE_LOOKS; i++) {
		os_sleep_ns(THROTTLE_PAUSE_NS);
		if (nr_throttled(t) != before)
			return true;
	}
	return false;
}

/* ---- the freezer ---- */

/*
 * In v2 a group freezes if any of its ancestors is set to freeze; its own events then show "frozen"
 * when all of its processes are frozen.  In v1 the state of a group includes its ancestors'.
 */
bool
os_is_frozen(const struct target *t)
{
	auto_text struct text state = { 0 };
	uint64_t wanted;
	struct cgroup_place p;

	if (cgroup_find_place(t, "freezer", &p) &&
		cgroup_read_file(p.dir, "freezer.state", &state) == 0 &&
		(strncmp(state.v, "FROZEN", 6) == 0 || strncmp(state.v, "FREEZING", 8) == 0))
		return true;
	if (!cgroup_find_place(t, "", &p))
		return false;
	text_release(&state);
	if (cgroup_read_file(p.dir, "cgroup.events", &state) == 0 &&
		cgroup_number_of(&state, "frozen"))
		return true;
	do
		if (cgroup_read_number(p.dir, "cgroup.freeze", &wanted) && wanted)
			return true;
	while (go_up(&p));
	return false;
}
