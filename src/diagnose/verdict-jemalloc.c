/*
 * The causes in jemalloc's account.  Their ids and thresholds equal those for glibc's malloc
 * (causes.c): the subject is the same, the remedy differs.
 */
#include <config.h>

#include "diagnose/verdict-jemalloc.h"

#include "diagnose/causes.h"
#include "diagnose/judge-priv.h"
#include "diagnose/judge.h"
#include "diagnose/verdict-words.h"

#include <inttypes.h>
#include <stdio.h>

#define SAY(v, ...) snprintf((v)->text, sizeof(v)->text, __VA_ARGS__)
#define ADVISE(v, i, ...) snprintf((v)->action[i], sizeof(v)->action[i], __VA_ARGS__)

static bool
judge_live(const struct verdict_facts *f, const struct verdict_jemalloc *j, struct verdict *v)
{
	if (!verdict_weighs(j->allocated_bytes, verdict_large_bytes(f), 0.7, f->rss_bytes))
		return false;
	*v = (struct verdict){
		.id = "live-large", .severity = "info", .bytes = j->allocated_bytes
	};
	SAY(v,
		"%s, %d %% of RSS, is memory that the program allocated and has not freed: data it needs, or a leak. "
		"Trimming does not help.",
		BYTES(v->bytes), verdict_percent(v->bytes, f->rss_bytes));
	ADVISE(v, 0, "see if it grows: save --json now and later, then memdiag diff");
	if (j->is_prof_on)
		ADVISE(v, 1, "memdiag profile --seconds 60 -p %d", (int)f->pid);
	else if (j->has_prof)
		ADVISE(v, 1,
			"start it with MALLOC_CONF=prof:true,prof_active:false, then memdiag "
			"profile");
	return true;
}

static bool
verdict_jemalloc_judge_retained(
	const struct verdict_facts *f, const struct verdict_jemalloc *j, struct verdict *v)
{
	if (!verdict_weighs(j->free_bytes, 16 * MIB, 0.1, f->rss_bytes))
		return false;
	*v = (struct verdict){ .id = "retained", .severity = "warning", .bytes = j->free_bytes };
	SAY(v, "%s, %d %% of RSS at most, is free inside jemalloc, in whole pages (dirty or muzzy) that it has not given back%s.",
		BYTES(v->bytes), verdict_percent(v->bytes, f->rss_bytes),
		j->never_decays ? ": it is set to keep them for ever (dirty_decay_ms:-1)" : " yet");
	ADVISE(v, 0, "memdiag trim -p %d", (int)f->pid);
	ADVISE(v, 1, "start it with MALLOC_CONF=background_thread:true%s",
		j->never_decays ? ",dirty_decay_ms:10000" : ",dirty_decay_ms:1000");
	return true;
}

static bool
verdict_jemalloc_judge_fragmented(
	const struct verdict_facts *f, const struct verdict_jemalloc *j, struct verdict *v)
{
	if (!verdict_weighs(j->between_bytes, 16 * MIB, 0.1, f->rss_bytes) ||
		j->between_bytes < j->free_bytes)
		return false;
	*v = (struct verdict){
		.id = "fragmented", .severity = "warning", .bytes = j->between_bytes
	};
	SAY(v,
		"%s, %d %% of RSS at most, is free on pages that blocks in use keep (active minus allocated). "
		"Trimming does not help; jemalloc uses it for new blocks of those sizes only.",
		BYTES(v->bytes), verdict_percent(v->bytes, f->rss_bytes));
	ADVISE(v, 0,
		"move what lives long to new blocks, as Redis does with CONFIG SET activedefrag "
		"yes");
	return true;
}

static bool
judge_cached(const struct verdict_facts *f, const struct verdict_jemalloc *j, struct verdict *v)
{
	if (!verdict_weighs(j->cached_bytes, 16 * MIB, 0.05, f->rss_bytes))
		return false;
	*v = (struct verdict){
		.id = "cache-retained", .severity = "warning", .bytes = j->cached_bytes
	};
	SAY(v,
		"%s, %d %% of RSS, is freed and in caches of threads, each for itself until it ends. "
		"jemalloc counts it as allocated, and trimming does not reach it.",
		BYTES(v->bytes), verdict_percent(v->bytes, f->rss_bytes));
	ADVISE(v, 0, "fewer threads, or start it with MALLOC_CONF=tcache_max:4096");
	return true;
}

/*
 * Unlike glibc's reserves, these mappings are readable, or do not exist: maps cannot identify them.
 */
static bool
verdict_jemalloc_judge_virt_only(
	const struct verdict_facts *f, const struct verdict_jemalloc *j, struct verdict *v)
{
	if (!verdict_weighs(j->retained_bytes, GIB, 0.5, f->virt_bytes))
		return false;
	*v = (struct verdict){ .id = "virt-only",
		.severity = "info",
		.bytes = j->retained_bytes,
		.rank = VERDICT_OF_ADDRESSES };
	SAY(v, "%s of the %s of VIRT is address space that jemalloc keeps without memory (retained): it is not resident.",
		BYTES(v->bytes), BYTES(f->virt_bytes));
	ADVISE(v, 0, "watch RSS instead, and set no limit on VIRT (ulimit -v)");
	return true;
}

size_t
verdict_judge_jemalloc(
	struct verdict_facts *f, const struct verdict_jemalloc *j, struct verdict v[VERDICT_MAX])
{
	static bool (*const judges[])(const struct verdict_facts *, const struct verdict_jemalloc *,
		struct verdict *) = { judge_live, verdict_jemalloc_judge_retained,
		verdict_jemalloc_judge_fragmented, judge_cached, verdict_jemalloc_judge_virt_only };
	size_t nr;

	f->has_malloc = false;
	f->other_anon_rss_bytes = j->other_bytes;
	if (verdict_weighs(j->retained_bytes, GIB, 0.5, f->virt_bytes))
		f->reserve_bytes = 0; /* the retained bytes have the same addresses */
	nr = verdict_judge(f, v);
	for (size_t i = 0; i < sizeof judges / sizeof *judges; i++) {
		struct verdict new;

		if (nr < VERDICT_MAX && judges[i](f, j, &new))
			verdict_insert(v, nr++, &new);
	}
	return nr;
}
