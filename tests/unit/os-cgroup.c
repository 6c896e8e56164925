/*
 * Cgroups of version 2 from files of our own: what a controller's files say has not to be here, nor
 * the right to make a group.  Then groups with random limits and memory.stat, by seeds.
 *
 *	os-cgroup [FIRST-SEED [NUMBER]]
 */
#define _GNU_SOURCE
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "os/cgroup.h"
#include "os/os.h"
#include "seeds.h"

#define MIB (UINT64_C(1) << 20)

static char root[] = "/tmp/os-cgroup-XXXXXX";
static struct target t = TARGET_NONE;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

/* The mounts that memdiag sees: of version 2 only, one that is hidden, and one at our directory. */
FILE *
__wrap_fopen(const char *path, const char *mode)
{
	char *text = NULL;
	size_t len;
	FILE *f;

	if (strcmp(path, "/proc/self/mountinfo") != 0)
		return __real_fopen(path, mode);
	f = open_memstream(&text, &len);
	fprintf(f,
		"22 28 0:21 / /proc rw - proc proc rw\n"
		"29 28 0:26 / /proc/self/hidden rw,nosuid - cgroup2 cgroup2 rw\n"
		"30 28 0:26 / %s rw,nosuid - cgroup2 cgroup2 rw\n",
		root);
	fclose(f);
	f = tmpfile();
	if (f) {
		fputs(text, f);
		rewind(f);
	}
	free(text);
	return f;
}

int __wrap_os_proc_read(
	const struct target *target, pid_t tid, const char *name, struct text *text, struct err *e);

/* The target is two groups below the top. */
int
__wrap_os_proc_read(
	const struct target *target, pid_t tid, const char *name, struct text *text, struct err *e)
{
	static const char cgroup[] = "0::/system/service\n";

	(void)target;
	(void)tid;
	if (strcmp(name, "cgroup") != 0)
		return err_set(e, 0, "no file %s", name);
	text->v = strdup(cgroup);
	text->len = strlen(cgroup);
	return text->v ? 0 : -1;
}

/* Write WORDS to file NAME of group GROUP. */
static void
set(const char *group, const char *name, const char *words)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof path, "%s%s/%s", root, group, name);
	f = fopen(path, "w");
	if (!f || fputs(words, f) < 0 || fclose(f) != 0)
		exit(99);
}

static void
test_memory(void)
{
	struct os_memory_room room;
	uint64_t limit = 0, used = 0;

	set("/system/service", "memory.max", "max\n");
	set("/system/service", "memory.high", "max\n");
	set("/system/service", "memory.current", "52428800\n");
	set("/system", "memory.max", "max\n");
	set("/system", "memory.current", "62914560\n");
	ok(os_cgroup_memory(&t, &limit, &used) < 0, "max is no limit");
	os_memory_room(&t, &room);
	ok(room.bytes == UINT64_MAX, "and leaves all room");
	set("/system/service", "memory.max", "104857600\n");
	ok(os_cgroup_memory(&t, &limit, &used) == 0, "a limit is found");
	is_u64(limit, 100 * MIB, "as it is");
	is_u64(used, 50 * MIB, "with what is used");
	set("/system/service", "memory.stat",
		"anon 1000\ninactive_file 10485760\nactive_file 4194304\n"
		"file_dirty 1048576\nfile_writeback 0\n");
	ok(os_cgroup_memory(&t, &limit, &used) == 0 && used == 40 * MIB,
		"inactive page cache is not in use");
	os_memory_room(&t, &room);
	is_u64(room.bytes, 63 * MIB, "room is what the kernel can have, but for dirty pages");
	ok(strcmp(room.limit_name, "memory.max") == 0, "and its limit is named");
	set("/system/service", "memory.high", "57671680\n");
	os_memory_room(&t, &room);
	ok(room.bytes == 18 * MIB && strcmp(room.limit_name, "memory.high") == 0,
		"memory.high is one, too");
	set("/system", "memory.max", "67108864\n");
	ok(os_cgroup_memory(&t, &limit, &used) == 0 && limit == 64 * MIB && used == 60 * MIB,
		"the group above with less room counts");
	os_memory_room(&t, &room);
	is_u64(room.bytes, 4 * MIB, "also for the room");
}

static void
test_cpu(void)
{
	struct os_cpu_quota quota;

	set("/system/service", "cpu.max", "max 100000\n");
	ok(!os_cpu_quota(&t, &quota), "max is no quota");
	set("/system/service", "cpu.max", "50000 100000\n");
	ok(os_cpu_quota(&t, &quota) && quota.quota_us == 50000 && quota.period_us == 100000,
		"a quota is found");
	set("/system", "cpu.max", "20000 200000\n");
	ok(os_cpu_quota(&t, &quota) && quota.quota_us == 20000 && quota.period_us == 200000,
		"the group above with less counts");
}

static void
test_freezer(void)
{
	set("/system/service", "cgroup.events", "populated 1\nfrozen 0\n");
	set("/system/service", "cgroup.freeze", "0\n");
	ok(!os_is_frozen(&t), "not frozen");
	set("/system", "cgroup.freeze", "1\n");
	ok(os_is_frozen(&t), "the group above is to be frozen");
	set("/system", "cgroup.freeze", "0\n");
	set("/system/service", "cgroup.events", "populated 1\nfrozen 1\n");
	ok(os_is_frozen(&t), "it is frozen");
}

/* ---- random groups ---- */

static const char *const groups[] = { "/system/service", "/system", "" };

/* What a group has, and the sums of its memory.stat as the kernel's documentation names them. */
struct group {
	bool has_limit;
	uint64_t limit, current, inactive;
	struct os_cgroup_parts parts;
};

/* Keys of memory.stat in any order, with others between; before 5.18 the kernel's parts alone. */
static void
write_stat(const char *name, struct group *g)
{
	static const char *const of_kernel[] = { "kernel_stack", "pagetables", "percpu", "slab" };
	uint64_t sum = 0, sock = some(1000) * 4096;
	char text[1000];
	int len;

	g->parts.anon_bytes = some(100000) * 4096;
	g->parts.shmem_bytes = some(2) ? some(1000) * 4096 : 0;
	len = snprintf(text, sizeof text, "anon_thp 77\ninactive_anon 99\nshmem_thp 11\n");
	for (size_t i = 0; i < 4; i++) {
		const uint64_t part = some(1000) * 4096;

		sum += part;
		len += snprintf(text + len, sizeof text - (size_t)len, "%s %" PRIu64 "\n",
			of_kernel[i], part);
	}
	if (some(2)) {
		sum += 4096 * (1 + some(1000)); /* it has more than these parts */
		len += snprintf(text + len, sizeof text - (size_t)len, "kernel %" PRIu64 "\n", sum);
	}
	g->parts.kernel_bytes = sum + sock;
	snprintf(text + len, sizeof text - (size_t)len,
		"slab_reclaimable 55\nsock %" PRIu64 "\nanon %" PRIu64 "\nshmem %" PRIu64
		"\ninactive_file %" PRIu64 "\n",
		sock, g->parts.anon_bytes, g->parts.shmem_bytes, g->inactive);
	set(name, "memory.stat", text);
}

static void
write_group(const char *name, struct group *g)
{
	char text[64];

	g->has_limit = some(3);
	g->limit = (1 + some(100)) * MIB;
	g->current = some(200) * MIB / 2;
	g->inactive = some(2) ? some(20) * MIB : 0;
	snprintf(text, sizeof text, "%" PRIu64 "\n", g->limit);
	set(name, "memory.max", g->has_limit ? text : "max\n");
	snprintf(text, sizeof text, "%" PRIu64 "\n", g->current);
	set(name, "memory.current", text);
	write_stat(name, g);
}

static uint64_t
used_by(const struct group *g)
{
	return g->current > g->inactive ? g->current - g->inactive : 0;
}

static uint64_t
room_in(const struct group *g)
{
	return g->limit > used_by(g) ? g->limit - used_by(g) : 0;
}

/* The group with the least room is the one that counts; of two, the inner one. */
static bool
try(void)
{
	const size_t nr = sizeof groups / sizeof *groups;
	struct group g[sizeof groups / sizeof *groups];
	const struct group *least = NULL;
	struct os_cgroup_parts parts;
	uint64_t limit = 0, used = 0;
	bool has_memory, has_parts;

	for (size_t i = 0; i < nr; i++) {
		write_group(groups[i], &g[i]);
		if (g[i].has_limit && (!least || room_in(&g[i]) < room_in(least)))
			least = &g[i];
	}
	has_memory = os_cgroup_memory(&t, &limit, &used) == 0;
	has_parts = os_cgroup_parts(&t, &parts);
	if (has_memory != !!least || has_parts != !!least)
		return FAIL("there is %s limit: %d, %d", least ? "a" : "no", has_memory, has_parts);
	if (!least)
		return true;
	if (limit != least->limit || used != used_by(least))
		return FAIL("limit %" PRIu64 ", used %" PRIu64, limit, used);
	return memcmp(&parts, &least->parts, sizeof parts) == 0 ||
		FAIL("anon %" PRIu64 ", shmem %" PRIu64 ", kernel %" PRIu64 ", not %" PRIu64
		     ", %" PRIu64 ", %" PRIu64,
			parts.anon_bytes, parts.shmem_bytes, parts.kernel_bytes,
			least->parts.anon_bytes, least->parts.shmem_bytes,
			least->parts.kernel_bytes);
}

int
main(int argc, char **argv)
{
	char path[200];

	if (!mkdtemp(root))
		return 99;
	snprintf(path, sizeof path, "%s/system", root);
	if (mkdir(path, 0700) < 0)
		return 99;
	snprintf(path, sizeof path, "%s/system/service", root);
	if (mkdir(path, 0700) < 0)
		return 99;
	snprintf(path, sizeof path, "%s/system/service/cgroup.procs", root);
	if (mknod(path, S_IFREG | 0600, 0) < 0)
		return 99;
	test_memory();
	test_cpu();
	test_freezer();
	seeds_try(seeds_of(argc, argv, 200), try,
		"the group with the least room counts, and its parts");
	snprintf(path, sizeof path, "rm -r %s", root);
	if (system(path) != 0)
		return 99;
	return tap_end();
}
