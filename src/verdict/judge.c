#include <config.h>

#include "verdict/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "verdict/environment.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/*
 * Every threshold wants bytes and a share: a high share of little is no trouble, nor is a little
 * of much.  doc/verdicts.md names them all.
 */
static bool
weighs(uint64_t bytes, uint64_t least, double share, uint64_t whole)
{
	return bytes >= least && (double)bytes >= share * (double)whole;
}

/* Sizes in sentences. */
struct words {
	char v[32];
};
#define BYTES(n) text_bytes((n), (struct words){ { 0 } }.v, sizeof(struct words))

static int
percent(uint64_t part, uint64_t whole)
{
	return whole ? (int)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

static void __attribute__((format(printf, 2, 3)))
say(struct verdict *v, const char *fmt, ...)
{
	__builtin_va_list ap;

	__builtin_va_start(ap, fmt);
	vsnprintf(v->text, sizeof v->text, fmt, ap);
	__builtin_va_end(ap);
}

static void __attribute__((format(printf, 2, 3)))
advise(struct verdict *v, const char *fmt, ...)
{
	__builtin_va_list ap;

	__builtin_va_start(ap, fmt);
	vsnprintf(v->action, sizeof v->action, fmt, ap);
	__builtin_va_end(ap);
}

/* ---- one cause each: true if it is there, with V filled but for the id ---- */

static bool
judge_limit_near(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->cgroup_limit_bytes ||
		!weighs(f->cgroup_used_bytes, 16 * MIB, 0.9, f->cgroup_limit_bytes) ||
		!weighs(f->rss_bytes, 0, 0.1, f->cgroup_limit_bytes))
		return false;
	v->severity = "critical";
	v->bytes = f->cgroup_used_bytes;
	say(v, "Its cgroup uses %s of the %s it may have (%d %%). The kernel kills a process there "
	       "when nothing is left.",
		BYTES(f->cgroup_used_bytes), BYTES(f->cgroup_limit_bytes),
		percent(f->cgroup_used_bytes, f->cgroup_limit_bytes));
	advise(v, "raise the limit (memory.max), or make the process smaller");
	return true;
}

static bool
judge_retained(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->free_resident_bytes;

	if (!f->has_malloc || !weighs(bytes, 16 * MIB, 0.1, f->rss_bytes))
		return false;
	v->severity = "warning";
	v->bytes = bytes;
	say(v, "At least %s, %d %% of RSS, is free inside malloc: the program gave it back, malloc "
	       "kept it. malloc_trim returns what lies in whole pages.",
		BYTES(bytes), percent(bytes, f->rss_bytes));
	advise(v, "memdiag trim -p %d", (int)f->pid);
	return true;
}

static bool
judge_arena_sprawl(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->free_resident_bytes;

	if (!f->has_malloc || f->nr_arenas <= 8 || f->nr_arenas <= 4 * (size_t)f->nr_cpus ||
		!weighs(bytes, 64 * MIB, 0.25, f->arena_resident_bytes))
		return false;
	v->severity = "warning";
	v->bytes = bytes;
	say(v, "%zu arenas on %d CPUs each keep free memory of their own: at least %s in all. What is "
	       "free in one arena does not serve threads of another.",
		f->nr_arenas, f->nr_cpus, BYTES(bytes));
	advise(v, "start it with MALLOC_ARENA_MAX=4");
	return true;
}

static bool
judge_live_large(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t bytes = f->arena_resident_bytes - f->free_resident_bytes + f->mmap_bytes;

	if (!f->has_malloc || !weighs(bytes, 256 * MIB, 0.7, f->rss_bytes))
		return false;
	v->severity = "info";
	v->bytes = bytes;
	say(v, "Up to %s, %d %% of RSS, is memory that the program allocated and has not freed: data "
	       "it needs, or a leak. Trimming does not help.",
		BYTES(bytes), percent(bytes, f->rss_bytes));
	advise(v, "see if it grows: memdiag info -p %d --json now and later", (int)f->pid);
	return true;
}

static bool
judge_other_allocator(const struct verdict_facts *f, struct verdict *v)
{
	if (!weighs(f->other_anon_rss_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	v->severity = "info";
	v->bytes = f->other_anon_rss_bytes;
	say(v, "%s, %d %% of RSS, was mapped by the program itself and not by malloc: a buffer pool, or "
	       "a runtime with a heap of its own (Java, Go, Node).",
		BYTES(f->other_anon_rss_bytes), percent(f->other_anon_rss_bytes, f->rss_bytes));
	advise(v, "memdiag maps -p %d --by=mapping", (int)f->pid);
	return true;
}

static bool
judge_thread_stacks(const struct verdict_facts *f, struct verdict *v)
{
	bool is_resident = weighs(f->stack_rss_bytes, 64 * MIB, 0.1, f->rss_bytes);

	if (!is_resident && !weighs(f->stack_virt_bytes, 4 * GIB, 0.5, f->virt_bytes))
		return false;
	v->severity = is_resident ? "warning" : "info";
	v->bytes = is_resident ? f->stack_rss_bytes : f->stack_virt_bytes;
	say(v, "%zu thread stacks take %s of VIRT and %s of RSS.", f->nr_thread_stacks,
		BYTES(f->stack_virt_bytes), BYTES(f->stack_rss_bytes));
	advise(v, "fewer threads, or smaller stacks (ulimit -s, pthread_attr_setstacksize)");
	return true;
}

static bool
judge_thp(const struct verdict_facts *f, struct verdict *v)
{
	if (!weighs(f->huge_bytes, 64 * MIB, 0.5, f->rss_bytes))
		return false;
	v->severity = "info";
	v->bytes = f->huge_bytes;
	say(v, "%s, %d %% of RSS, is in transparent huge pages, %s of it in malloc's heaps. One byte "
	       "in use keeps 2 MiB resident.",
		BYTES(f->huge_bytes), percent(f->huge_bytes, f->rss_bytes),
		BYTES(f->heap_huge_bytes));
	advise(v, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
	return true;
}

static bool
judge_virt_only(const struct verdict_facts *f, struct verdict *v)
{
	if (!weighs(f->reserve_bytes, GIB, 0.5, f->virt_bytes))
		return false;
	v->severity = "info";
	v->bytes = f->reserve_bytes;
	say(v, "%s of the %s of VIRT is address space that is only reserved: it takes no memory.",
		BYTES(f->reserve_bytes), BYTES(f->virt_bytes));
	advise(v, "watch RSS instead, and set no limit on VIRT (ulimit -v)");
	return true;
}

static bool
judge_env_not_effective(const struct verdict_facts *f, struct verdict *v)
{
	char setting[160];
	uint64_t max;

	if (!f->has_malloc)
		return false;
	v->severity = "warning";
	if (environment_find_bad(f->environment, f->environment_len, setting, sizeof setting)) {
		say(v, "The environment has %s, which glibc does not know: it has no effect.", setting);
		advise(v, "man mallopt, ENVIRONMENT VARIABLES, has the names");
		return true;
	}
	if (!environment_arena_max(
		    f->environment, f->environment_len, &max, setting, sizeof setting) ||
		f->nr_arenas <= max)
		return false;
	say(v, "The environment has %s, yet there are %zu arenas: mallopt() in the program, or a "
	       "set-user-ID start, has overruled it.",
		setting, f->nr_arenas);
	return true;
}

static bool
judge_unaccounted(const struct verdict_facts *f, struct verdict *v)
{
	if (!weighs(f->unaccounted_bytes, 16 * MIB, 0.1, f->rss_bytes))
		return false;
	v->severity = "warning";
	v->bytes = f->unaccounted_bytes;
	say(v, "%s, %d %% of RSS, could not be told apart: it changed while it was read, or memdiag "
	       "may not see it.",
		BYTES(f->unaccounted_bytes), percent(f->unaccounted_bytes, f->rss_bytes));
	advise(v, "run it again as root; memdiag maps -p %d", (int)f->pid);
	return true;
}

/* Ids are a promise to scripts: never renamed.  Severities from the greatest. */
static const struct {
	const char *id;
	bool (*judge)(const struct verdict_facts *f, struct verdict *v);
} cause[] = {
	{ "limit-near", judge_limit_near },
	{ "retained", judge_retained },
	{ "arena-sprawl", judge_arena_sprawl },
	{ "live-large", judge_live_large },
	{ "other-allocator", judge_other_allocator },
	{ "thread-stacks", judge_thread_stacks },
	{ "thp", judge_thp },
	{ "virt-only", judge_virt_only },
	{ "env-not-effective", judge_env_not_effective },
	{ "unaccounted", judge_unaccounted },
};
_Static_assert(sizeof cause / sizeof *cause <= VERDICT_MAX, "verdict_judge() fills V with all");

static int
severity(const struct verdict *v)
{
	static const char *const order[] = { "critical", "warning", "info" };
	int i = 0;

	while (i < 2 && strcmp(v->severity, order[i]) != 0)
		i++;
	return i;
}

static bool
is_weightier(const struct verdict *a, const struct verdict *b)
{
	if (severity(a) != severity(b))
		return severity(a) < severity(b);
	return a->bytes > b->bytes;
}

size_t
verdict_judge(const struct verdict_facts *facts, struct verdict v[VERDICT_MAX])
{
	size_t nr = 0;

	for (size_t i = 0; i < sizeof cause / sizeof *cause; i++) {
		struct verdict new = { .id = cause[i].id };
		size_t at = nr;

		if (!cause[i].judge(facts, &new))
			continue;
		for (; at && is_weightier(&new, &v[at - 1]); at--)
			v[at] = v[at - 1];
		v[at] = new;
		nr++;
	}
	return nr;
}
