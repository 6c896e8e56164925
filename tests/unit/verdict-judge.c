/* Each verdict by facts that cause it alone, none by a healthy program. */
#include <config.h>

#include <stdlib.h>
#include <unistd.h>

#include "tap.h"
#include "verdict/verdict.h"

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
	.free_resident_bytes = 5 * MIB,
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

static void
test_retained(void)
{
	struct verdict_facts f = healthy;

	f.free_resident_bytes = 40 * MIB;
	only(&f, "retained", "warning", 40 * MIB, "At least 40.0 MiB, 20 % of RSS");
	is_str(verdicts[0].action, "memdiag trim -p 4711", "the next command is ready to run");
	f.has_malloc = false;
	none(&f, "nothing is said of a malloc that was not asked");
	f = healthy;
	f.rss_bytes = 110 * MIB;
	f.free_resident_bytes = 15 * MIB;
	none(&f, "a great share of little");
	f.free_resident_bytes = 25 * MIB;
	f.rss_bytes = 4 * GIB;
	none(&f, "a small share of much");
}

static void
test_arenas(void)
{
	struct verdict_facts f = healthy;

	f.nr_arenas = 32;
	none(&f, "many arenas without free memory");
	f.rss_bytes = 2 * GIB;
	f.arena_resident_bytes = 300 * MIB;
	f.free_resident_bytes = 190 * MIB;
	f.nr_cpus = 8;
	none(&f, "no more arenas than four a CPU");
	f.nr_cpus = 2;
	only(&f, "arena-sprawl", "warning", 190 * MIB, "32 arenas on 2 CPUs");
	f.nr_cpus = 1;
	f.nr_arenas = 8;
	none(&f, "eight arenas are never a sprawl");
}

static void
test_large(void)
{
	struct verdict_facts f = healthy;

	f.rss_bytes = GIB;
	f.arena_resident_bytes = 900 * MIB;
	f.free_resident_bytes = 10 * MIB;
	only(&f, "live-large", "info", 910 * MIB, "Up to 910.0 MiB, 89 % of RSS");
	f.arena_resident_bytes = 700 * MIB;
	none(&f, "70 % is wanted");
	f = healthy;
	f.rss_bytes = GIB;
	f.other_anon_rss_bytes = 700 * MIB;
	only(&f, "other-allocator", "info", 700 * MIB, "mapped by the program itself");
}

static void
test_address_space(void)
{
	struct verdict_facts f = healthy;

	f.virt_bytes = 10 * GIB;
	f.reserve_bytes = 9 * GIB;
	only(&f, "virt-only", "info", 9 * GIB, "takes no memory");
	f = healthy;
	f.stack_rss_bytes = 70 * MIB;
	only(&f, "thread-stacks", "warning", 70 * MIB, "10 thread stacks take");
	f = healthy;
	f.virt_bytes = 13 * GIB;
	f.stack_virt_bytes = 12 * GIB;
	only(&f, "thread-stacks", "info", 12 * GIB, "12.0 GiB of VIRT");
	f = healthy;
	f.huge_bytes = 150 * MIB;
	only(&f, "thp", "info", 150 * MIB, "75 % of RSS");
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

static void
set_environment(struct verdict_facts *f, const char *env, size_t len)
{
	*f = healthy;
	f->environment = env;
	f->environment_len = len;
}
#define ENVIRONMENT(f, s) set_environment((f), (s), sizeof(s) - 1)

static void
test_environment(void)
{
	static const char *const id = "env-not-effective";
	struct verdict_facts f;

	ENVIRONMENT(&f, "HOME=/\0MALLOC_ARENA_MAX=3\0GLIBC_TUNABLES=glibc.malloc.tcache_count=0:"
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
	f.free_resident_bytes = 800 * MIB;
	f.unaccounted_bytes = 120 * MIB;
	f.huge_bytes = GIB;
	f.cgroup_used_bytes = GIB;
	ok(verdict_judge(&f, verdicts) == 5, "five at once");
	is_str(verdicts[0].id, "limit-near", "the critical one first");
	is_str(verdicts[1].id, "retained", "then warnings by bytes");
	is_str(verdicts[2].id, "arena-sprawl", "those of equal weight in their own order");
	is_str(verdicts[3].id, "unaccounted", "the small warning after the great");
	is_str(verdicts[4].id, "thp", "notes last, however great");
}

int
main(void)
{
	alarm(20);
	none(&healthy, "a healthy program");
	none(&(struct verdict_facts){ 0 }, "no facts");
	test_retained();
	test_arenas();
	test_large();
	test_address_space();
	test_environment();
	test_long_environment();
	test_order();
	return tap_end();
}
