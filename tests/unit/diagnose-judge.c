/* Each verdict by facts that cause it alone, none by a healthy program. */
#include <config.h>

#include <stdlib.h>
#include <unistd.h>

#include "tap.h"
#include "diagnose/judge.h"
#include "diagnose/verdict.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* A program of 200 MiB with nothing to say about it. */
static const struct verdict_facts healthy = {
	.pid = 4711,
	.nr_cpus = 4,
	.virt_bytes = 600 * MIB,
	.rss_bytes = 200 * MIB,
	.has_malloc = true,
	.nr_arenas = 3,
	.arena_resident_bytes = 105 * MIB,
	.free_bytes = 9 * MIB,
	.trimmable_bytes = 5 * MIB,
	.top_bytes = MIB,
	.stranded_bytes = 3 * MIB,
	.mixed_bytes = 20 * MIB,
	.cached_bytes = MIB,
	.nr_caches = 11,
	.returned_bytes = 10 * MIB,
	.nr_mmaps = 20,
	.nr_mmaps_max = 65536,
	.mmap_threshold = 128 << 10,
	.trim_threshold = 128 << 10,
	.mmap_bytes = 20 * MIB,
	.reserve_bytes = 100 * MIB,
	.nr_thread_stacks = 10,
	.stack_virt_bytes = 80 * MIB,
	.stack_rss_bytes = MIB,
	.huge_bytes = 10 * MIB,
	.other_anon_rss_bytes = 30 * MIB,
	.cgroup_limit_bytes = GIB,
	.cgroup_used_bytes = 300 * MIB,
};

static struct verdict verdicts[VERDICT_MAX];

static void
none(const struct verdict_facts *f, const char *name)
{
	size_t nr = verdict_judge(f, verdicts);

	if (!ok(nr == 0, "%s: no verdict", name))
		printf("# %s: %s\n", verdicts[0].id, verdicts[0].text);
}

/* F gives the one verdict ID, about BYTES, and WORDS are in its text. */
static void
only(const struct verdict_facts *f, const char *id, const char *severity, uint64_t bytes,
	const char *words)
{
	size_t nr = verdict_judge(f, verdicts);

	if (!ok(nr == 1 && !strcmp(verdicts[0].id, id), "%s alone", id))
		for (size_t i = 0; i < nr; i++)
			printf("# %s: %s\n", verdicts[i].id, verdicts[i].text);
	if (!nr)
		return;
	is_str(verdicts[0].severity, severity, "its severity");
	is_u64(verdicts[0].bytes, bytes, "its bytes");
	if (!ok(strstr(verdicts[0].text, words) != NULL, "it says '%s'", words))
		printf("# %s\n", verdicts[0].text);
	ok(strlen(verdicts[0].text) < sizeof verdicts[0].text - 1, "and is not cut");
}

/* Healthy but for BYTES that malloc_trim() would give back. */
static struct verdict_facts
retaining(uint64_t bytes)
{
	struct verdict_facts f = healthy;

	f.trimmable_bytes = bytes;
	return f;
}

static void
test_retained(void)
{
	struct verdict_facts f = retaining(40 * MIB);

	only(&f, "retained", "warning", 40 * MIB, "40.0 MiB, 20 % of RSS");
	is_str(verdicts[0].action[0], "memdiag trim -n -p 4711",
		"the next command is ready to run");
	is_str(verdicts[0].action[1], "memdiag trim -p 4711", "and so is the one after it");
	f.is_core = true;
	only(&f, "retained", "warning", 40 * MIB, "20 % of what its arenas have");
	is_str(verdicts[0].action[0], "", "of a core file nothing can be trimmed");
	f.is_core = false;
	f.is_bound = true;
	only(&f, "retained", "warning", 40 * MIB, "At least 40.0 MiB, 20 % of RSS");
	f.has_malloc = false;
	none(&f, "nothing is said of a malloc that was not asked");
	f = retaining(15 * MIB);
	f.rss_bytes = 110 * MIB;
	none(&f, "a great share of little");
	f = retaining(25 * MIB);
	f.rss_bytes = 4 * GIB;
	none(&f, "a small share of much");
}

/* Why it is retained: one cause is named for it, and only if most of it is that. */
static void
test_why_retained(void)
{
	struct verdict_facts f = retaining(40 * MIB);

	f.mmap_threshold = 30 * MIB;
	f.large_bytes = 21 * MIB;
	only(&f, "threshold-grown", "warning", 40 * MIB, "from 128 KiB to 30.0 MiB");
	is_str(verdicts[0].action[0], "memdiag trim -p 4711", "what to do now");
	ok(strstr(verdicts[0].action[1], "MALLOC_MMAP_THRESHOLD_=131072"), "and what for good");
	f.no_dyn_threshold = true;
	only(&f, "retained", "warning", 40 * MIB, "free inside malloc");
	f.no_dyn_threshold = false;
	f.large_bytes = 19 * MIB;
	only(&f, "retained", "warning", 40 * MIB, "free inside malloc");

	f = retaining(40 * MIB);
	f.nr_orphans = 3;
	f.orphan_bytes = 30 * MIB;
	only(&f, "orphan-arenas", "warning", 30 * MIB, "15 % of RSS, is free in 3 arenas");
	f.orphan_bytes = 10 * MIB;
	only(&f, "retained", "warning", 40 * MIB, "free inside malloc");

	f.pinned_bytes = 35 * MIB;
	f.pin.addr.v = 0x55aa0;
	f.pin.bytes = 64;
	only(&f, "pinned", "warning", 35 * MIB, "64 B at 0x55aa0, in use");

	f.has_shared = true;
	f.shared_bytes = 39 * MIB;
	only(&f, "fork-shared", "info", 39 * MIB, "39.0 MiB of the 40.0 MiB");
	f.has_shared = false;
	only(&f, "pinned", "warning", 35 * MIB, "free below a chunk");

	f.locked_bytes = 190 * MIB;
	only(&f, "locked", "warning", 30 * MIB, "locked into memory");
	f.locked_bytes = 170 * MIB;
	only(&f, "pinned", "warning", 35 * MIB, "free below a chunk");
	f = healthy;
	f.mlocked_bytes = 20 * MIB;
	only(&f, "locked", "warning", 20 * MIB,
		"20.0 MiB, 10 % of RSS, is free inside malloc and locked");
	f.trimmable_bytes = 50 * MIB;
	only(&f, "retained", "warning", 50 * MIB, "free inside malloc");

	f = retaining(40 * MIB);
	f.is_main_in_pieces = true;
	f.main_bytes = 40 * MIB;
	only(&f, "main-in-pieces", "warning", 40 * MIB, "lies in pieces");
	f.main_bytes = 0;
	only(&f, "retained", "warning", 40 * MIB, "free inside malloc");
}

static void
test_arenas(void)
{
	struct verdict_facts f = healthy;

	f.nr_arenas = 32;
	none(&f, "many arenas without free memory");
	f.rss_bytes = 2 * GIB;
	f.arena_resident_bytes = 300 * MIB;
	f.trimmable_bytes = 210 * MIB;
	f.nr_cpus = 8;
	only(&f, "retained", "warning", 210 * MIB, "free inside malloc");
	f.nr_cpus = 2;
	only(&f, "arena-sprawl", "warning", 210 * MIB, "32 arenas on 2 CPUs");
	f.main_bytes = 200 * MIB;
	only(&f, "retained", "warning", 210 * MIB, "free inside malloc");
	f.main_bytes = 0;
	f.nr_cpus = 1;
	f.nr_arenas = 8;
	only(&f, "retained", "warning", 210 * MIB, "free inside malloc");
}

/* Free memory that does not go back. */
static void
test_kept(void)
{
	struct verdict_facts f = healthy;

	f.top_bytes = 20 * MIB;
	f.trim_threshold = 60 * MIB;
	f.has_trim_of_tops = true;
	only(&f, "tops-stuck", "warning", 20 * MIB, "free() only above 60.0 MiB");
	is_str(verdicts[0].action[0], "memdiag trim --tops -p 4711", "there is a way");
	f.has_trim_of_tops = false;
	only(&f, "tops-stuck", "warning", 20 * MIB, "free() only above 60.0 MiB");
	is_str(verdicts[0].action[0], "start it with MALLOC_TRIM_THRESHOLD_=131072",
		"and none where its libc cannot do it");
	f.rss_bytes = GIB;
	none(&f, "5 % is wanted");

	f = healthy;
	f.stranded_bytes = 40 * MIB;
	f.mixed_bytes = 80 * MIB;
	only(&f, "fragmented", "warning", 40 * MIB, "pieces smaller than a page");
	f.mixed_bytes = 50 * MIB;
	only(&f, "sparse", "warning", 40 * MIB, "they fill 20 %");
	f.trimmable_bytes = 41 * MIB;
	only(&f, "retained", "warning", 41 * MIB, "free inside malloc");

	f = healthy;
	f.cached_bytes = 24 * MIB;
	f.nr_caches = 100;
	only(&f, "cache-retained", "warning", 24 * MIB, "caches of 100 threads");
	f.is_bound = true;
	only(&f, "cache-retained", "warning", 24 * MIB, "About 24.0 MiB, 12 % of RSS");

	f = healthy;
	f.returned_bytes = 110 * MIB;
	only(&f, "returned", "info", 110 * MIB, "or never used");
	is_str(verdicts[0].action[0], "", "nothing is to be done");
}

static void
test_swap_and_pools(void)
{
	struct verdict_facts f = healthy;

	f.swap_bytes = 100 * MIB;
	f.free_swap_bytes = 54 * MIB;
	only(&f, "swapped", "warning", 54 * MIB, "54.0 MiB of the 100.0 MiB");
	f.is_bound = true;
	only(&f, "swapped", "warning", 54 * MIB, "At least 54.0 MiB of the 100.0 MiB");
	f.is_bound = false;
	f.free_swap_bytes = 20 * MIB;
	none(&f, "10 % of memory and swap is wanted");
	f.unread_swap_bytes = 70 * MIB;
	only(&f, "swapped-unread", "info", 70 * MIB, "70.0 MiB of malloc's arenas is in swap");
	is_str(verdicts[0].action[0], "memdiag info --method=inject -p 4711",
		"malloc can be asked about it");
	f.free_swap_bytes = 40 * MIB;
	only(&f, "swapped", "warning", 40 * MIB, "is free inside malloc");

	f = healthy;
	f.hp_page = 2 * MIB;
	none(&f, "pages of the pool that were wanted, and are not there");
	f.hugetlb_bytes = 300 * MIB;
	f.free_bytes = 100 * MIB;
	only(&f, "hugetlb", "info", 100 * MIB, "pages of 2.0 MiB");
	f.trimmable_bytes = 100 * MIB;
	only(&f, "hugetlb", "info", 100 * MIB, "pages of 2.0 MiB");

	f = healthy;
	f.nr_mmaps = 59000;
	only(&f, "mmap-limit", "warning", 20 * MIB, "59000 large blocks");
	f.nr_mmaps = 58000;
	none(&f, "90 % of the limit is wanted");
}

static void
test_large(void)
{
	struct verdict_facts f = healthy;

	f.rss_bytes = GIB;
	f.arena_resident_bytes = 900 * MIB;
	only(&f, "live-large", "info", 910 * MIB, "910.0 MiB, 89 % of RSS");
	f.is_bound = true;
	only(&f, "live-large", "info", 910 * MIB, "Up to 910.0 MiB, 89 % of RSS");
	f.arena_resident_bytes = 700 * MIB;
	none(&f, "70 % is wanted");
	f.arena_resident_bytes = 240 * MIB;
	f.rss_bytes = 250 * MIB;
	none(&f, "256 MiB are, where there is room for more");
	f.cgroup_limit_bytes = 900 * MIB;
	f.machine_bytes = 2 * GIB;
	only(&f, "live-large", "info", 250 * MIB, "100 % of RSS");
	f.cgroup_limit_bytes = 0;
	none(&f, "or a quarter of the cgroup's limit");
	f.machine_bytes = 900 * MIB;
	only(&f, "live-large", "info", 250 * MIB, "100 % of RSS");
	f.rss_bytes = GIB;
	f.mmap_bytes = 600 * MIB;
	f.arena_resident_bytes = 300 * MIB;
	only(&f, "mmapped-large", "info", 600 * MIB, "in 20 large blocks");
	f = healthy;
	f.rss_bytes = GIB;
	f.other_anon_rss_bytes = 700 * MIB;
	only(&f, "other-allocator", "info", 700 * MIB, "mapped by the program itself");
	f.forbidden_bytes = 600 * MIB;
	only(&f, "other-allocator", "info", 700 * MIB,
		"600.0 MiB is resident and may not be accessed");
	f.forbidden_bytes = 0;
	f.sbrk_bytes = 400 * MIB;
	only(&f, "other-allocator", "info", 700 * MIB, "by sbrk()");
	f.java_bytes = 500 * MIB;
	only(&f, "other-allocator", "info", 700 * MIB, "the heap of Java");
	is_str(verdicts[0].action[1],
		"jcmd 4711 GC.heap_info shows how much of it is in use; -Xmx bounds it",
		"with Java's own");
}

/* Memory that is neither malloc's nor mapped without a file, and what RSS does not count. */
static void
test_other_memory(void)
{
	struct verdict_facts f = healthy;

	f.memfd_bytes = 80 * MIB;
	f.sysv_bytes = 30 * MIB;
	only(&f, "shared-memory", "info", 110 * MIB,
		"System V 30.0 MiB, memfd 80.0 MiB, other 0 B");
	f.sysv_bytes = 10 * MIB;
	none(&f, "half of RSS is wanted");
	f = healthy;
	f.java_shm_bytes = 150 * MIB;
	only(&f, "shared-memory", "info", 150 * MIB, "(150.0 MiB) the heap of Java, which ZGC");

	f = healthy;
	f.file_bytes = 120 * MIB;
	only(&f, "mapped-files", "info", 120 * MIB, "The kernel drops them");
	f.changed_file_bytes = 110 * MIB;
	only(&f, "changed-files", "info", 110 * MIB, "until they are unmapped");

	f = healthy;
	f.static_bytes = 150 * MIB;
	only(&f, "static-data", "info", 150 * MIB, "75 % of RSS, is static variables");

	f = healthy;
	f.page_table_bytes = 90 * MIB;
	only(&f, "page-tables", "warning", 90 * MIB, "take 90.0 MiB, which RSS (200.0 MiB)");
	f.page_table_bytes = 40 * MIB;
	none(&f, "64 MiB is wanted");

	f = healthy;
	f.nr_children = 12;
	f.children_rss_bytes = 900 * MIB;
	f.largest_child = 4720;
	only(&f, "children", "info", 900 * MIB, "900.0 MiB more is the RSS of 12 processes");
	is_str(verdicts[0].action[0], "memdiag info -p 4720", "where to look next");
	f.children_rss_bytes = 220 * MIB;
	none(&f, "children that are as large as it");
}

/* NEXT names the setting by which the program asks for huge pages; the machine's is for all. */
static void
test_huge_pages(void)
{
	struct verdict_facts f = healthy;
	char env[] = "A=1\0GLIBC_TUNABLES=glibc.malloc.hugetlb=1";

	f.huge_bytes = 150 * MIB;
	f.thp = VERDICT_THP_ALWAYS;
	only(&f, "thp", "info", 150 * MIB, "75 % of RSS");
	ok(strstr(verdicts[0].action[0], "PR_SET_THP_DISABLE"), "for this program alone");
	ok(strstr(verdicts[0].action[1], "echo madvise"), "and for all");
	f.thp = VERDICT_THP_MADVISE;
	only(&f, "thp", "info", 150 * MIB, "75 % of RSS");
	ok(strstr(verdicts[0].action[0], "MADV_HUGEPAGE"), "where only those have them that ask");
	is_str(verdicts[0].action[1], "", "the setting is not to be changed to what it is");
	f.java_huge_bytes = 100 * MIB;
	verdict_judge(&f, verdicts);
	is_str(verdicts[0].action[0], "start java with -XX:-UseTransparentHugePages",
		"Java's heap");
	f.java_huge_bytes = 0;
	f.heap_huge_bytes = 140 * MIB;
	f.environment.v = env;
	f.environment.len = sizeof env;
	verdict_judge(&f, verdicts);
	is_str(verdicts[0].action[0], "start it without glibc.malloc.hugetlb=1 in GLIBC_TUNABLES",
		"malloc's own setting");
}

static void
test_address_space(void)
{
	struct verdict_facts f = healthy;

	f.virt_bytes = 10 * GIB;
	f.reserve_bytes = 9 * GIB;
	only(&f, "virt-only", "info", 9 * GIB, "address space without memory");
	f = healthy;
	f.stack_rss_bytes = 70 * MIB;
	only(&f, "thread-stacks", "warning", 70 * MIB, "10 thread stacks take");
	f = healthy;
	f.virt_bytes = 13 * GIB;
	f.stack_virt_bytes = 12 * GIB;
	only(&f, "thread-stacks", "info", 12 * GIB, "12.0 GiB of VIRT");
	f = healthy;
	f.nr_ended_stacks = 100;
	f.ended_virt_bytes = 100 * MIB;
	f.ended_rss_bytes = MIB;
	only(&f, "unjoined-threads", "warning", 100 * MIB, "100 stacks of threads that have ended");
	ok(verdicts[0].rank == VERDICT_OF_ADDRESSES, "most of it is no memory");
	f.ended_rss_bytes = 30 * MIB;
	only(&f, "unjoined-threads", "warning", 30 * MIB, "30.0 MiB of RSS");
	f.ended_virt_bytes = 40 * MIB;
	none(&f, "glibc keeps so many for new threads");
	f = healthy;
	f.nr_mappings_max = 65530;
	f.nr_mappings = 62000;
	none(&f, "95 % of the mappings that the kernel allows are wanted");
	f.nr_mappings = 62500;
	only(&f, "mappings-full", "critical", 0, "62500 of the 65530 mappings");
	is_str(verdicts[0].action[0], "sysctl vm.max_map_count=262120", "the kernel's setting");
	f = healthy;
	f.unaccounted_bytes = 30 * MIB;
	only(&f, "unaccounted", "warning", 30 * MIB, "15 % of RSS");
	f = healthy;
	f.cgroup_used_bytes = GIB - 50 * MIB;
	only(&f, "limit-near", "critical", GIB - 50 * MIB, "95 %");
	f.rss_bytes = 90 * MIB;
	f.arena_resident_bytes = 60 * MIB;
	none(&f, "others fill the cgroup");
}

/* What a cgroup uses, and what of it no mapping shows. */
static void
test_held(void)
{
	struct verdict_facts f = healthy;

	f.held_bytes = 400 * MIB;
	f.held = (struct verdict_held){ 300 * MIB, 4711, 3, "/memfd:a\nb", "it" };
	only(&f, "held-files", "info", 400 * MIB,
		"Most: descriptor 3 of 4711 (it), /memfd:a\\012b, 300.0 MiB.");
	f.held_bytes = 60 * MIB;
	none(&f, "64 MiB and a quarter of RSS are wanted");
	f.cgroup_used_bytes = GIB - 24 * MIB;
	f.rss_bytes = 96 * MIB;
	f.arena_resident_bytes = 60 * MIB;
	only(&f, "limit-near", "critical", GIB - 24 * MIB, "(98 %). When");
	f.has_cgroup_parts = true;
	f.rss_anon_bytes = 90 * MIB;
	f.rss_shmem_bytes = 6 * MIB;
	f.cgroup_shmem_bytes = 406 * MIB;
	f.cgroup_kernel_bytes = 5 * MIB;
	only(&f, "limit-near", "critical", GIB - 24 * MIB,
		"(98 %): 96.0 MiB of this process, 400.0 MiB of files in memory that it has not "
		"mapped, 5.0 MiB of the kernel, 499.0 MiB of others.");
	f.cgroup_held = (struct verdict_held){ 300 * MIB, 4712, 7, "/dev/shm/x", "other" };
	only(&f, "limit-near", "critical", GIB - 24 * MIB,
		"not mapped (most: descriptor 7 of 4712 (other), /dev/shm/x, 300.0 MiB), 5.0 MiB");
	f.held_bytes = 0;
	none(&f, "others fill it");
}

static void
set_environment(struct verdict_facts *f, const char *env, size_t len)
{
	*f = healthy;
	f->environment.v = (char *)env; /* nobody writes to it, or frees it */
	f->environment.len = len;
}
#define ENVIRONMENT(f, s) set_environment((f), (s), sizeof(s) - 1)

static void
test_environment(void)
{
	static const char *const id = "env-not-effective";
	struct verdict_facts f;

	ENVIRONMENT(&f,
		"HOME=/\0MALLOC_ARENA_MAX=3\0GLIBC_TUNABLES=glibc.malloc.tcache_count=0:"
		"glibc.rtld.nns=4\0X=MALLOC_Y");
	none(&f, "settings that work");
	ENVIRONMENT(&f, "A=b\0MALLOC_ARENA_MAX=2\0");
	only(&f, id, "warning", 0, "MALLOC_ARENA_MAX=2, yet there are 3 arenas");
	ENVIRONMENT(&f, "MALLOC_ARENA_MAX=2\0GLIBC_TUNABLES=glibc.malloc.arena_max=4");
	none(&f, "the tunable wins");
	ENVIRONMENT(&f, "GLIBC_TUNABLES=glibc.malloc.arena_max=4\0MALLOC_ARENA_MAX=2");
	none(&f, "wherever it stands");
	ENVIRONMENT(&f, "MALLOC_ARENA_MAX=9\0GLIBC_TUNABLES=x=y:glibc.malloc.arena_max=1");
	only(&f, id, "warning", 0, "glibc.malloc.arena_max=1, yet");
	ENVIRONMENT(&f, "MALLOC_ARENA_MAX=0");
	none(&f, "0 is no limit");
	ENVIRONMENT(&f, "MALLOC_ARENAS_MAX=2");
	only(&f, id, "warning", 0, "MALLOC_ARENAS_MAX=2, which glibc does not know");
	ENVIRONMENT(&f, "MALLOC_TRIM_THRESHOLD=1");
	only(&f, id, "warning", 0, "MALLOC_TRIM_THRESHOLD=1, which");
	ENVIRONMENT(&f, "MALLOC_ARENA_MAX=two");
	only(&f, id, "warning", 0, "MALLOC_ARENA_MAX=two, which");
	ENVIRONMENT(&f, "GLIBC_TUNABLES=glibc.rtld.nns=4:glibc.malloc.arenamax=2");
	only(&f, id, "warning", 0, "glibc.malloc.arenamax=2, which");
	ENVIRONMENT(&f, "GLIBC_TUNABLES=malloc.arena_max=2");
	only(&f, id, "warning", 0, "malloc.arena_max=2, which");
	ENVIRONMENT(&f, "MALLOC_\033[31m=\n");
	only(&f, id, "warning", 0, "MALLOC_\\033[31m=\\012, which");
	ENVIRONMENT(&f, "GLIBC_TUNABLES");
	none(&f, "a variable without a value");
	ENVIRONMENT(&f, "GLIBC_TUNABLES=");
	none(&f, "an empty one");
	ENVIRONMENT(&f, "MALLOC_CONF=x");
	f.has_malloc = false;
	none(&f, "another allocator has settings of its own");
}

static void
test_long_environment(void)
{
	size_t len = 3 << 20;
	char *env = malloc(len);
	struct verdict_facts f;

	memset(env, ':', len);
	memcpy(env, "GLIBC_TUNABLES=", 15);
	memset(env + (1 << 20), 'm', 1 << 20);
	set_environment(&f, env, len);
	none(&f, "megabytes of it");
	memcpy(env + (1 << 20), "MALLOC_", 7);
	env[(1 << 20) - 1] = '\0';
	only(&f, "env-not-effective", "warning", 0, "MALLOC_mmmm");
	free(env);
}

static void
test_order(void)
{
	struct verdict_facts f = healthy;

	f.nr_cpus = 2;
	f.nr_arenas = 16;
	f.rss_bytes = GIB;
	f.arena_resident_bytes = 900 * MIB;
	f.trimmable_bytes = 800 * MIB;
	f.unaccounted_bytes = 120 * MIB;
	f.huge_bytes = GIB;
	f.cgroup_used_bytes = GIB;
	f.top_bytes = f.unaccounted_bytes;
	f.virt_bytes = 10 * GIB;
	f.reserve_bytes = 9 * GIB;
	f.other_anon_rss_bytes = 600 * MIB;
	ok(verdict_judge(&f, verdicts) == 7, "seven at once");
	is_str(verdicts[0].id, "limit-near", "the critical one first");
	is_str(verdicts[1].id, "arena-sprawl", "then by bytes");
	is_str(verdicts[2].id, "other-allocator", "whatever the severity");
	is_str(verdicts[3].id, "tops-stuck", "those of equal weight in their own order");
	is_str(verdicts[4].id, "unaccounted", "the small one after the great");
	is_str(verdicts[5].id, "thp", "what is about the same bytes again");
	is_str(verdicts[6].id, "virt-only", "and addresses last, however many");
}

int
main(void)
{
	alarm(300);
	none(&healthy, "a healthy program");
	none(&(struct verdict_facts){ 0 }, "no facts");
	test_retained();
	test_why_retained();
	test_arenas();
	test_kept();
	test_swap_and_pools();
	test_large();
	test_other_memory();
	test_huge_pages();
	test_address_space();
	test_held();
	test_environment();
	test_long_environment();
	test_order();
	return tap_end();
}
