/* The numbers of 'memdiag info' for a process that uses jemalloc. */
#include <config.h>

#include "diagnose/info-jemalloc.h"

#include "account/sums.h"
#include "diagnose/facts.h"
#include "diagnose/info-account.h"
#include "diagnose/verdict-jemalloc.h"
#include "diagnose/verdict.h"
#include "heap/heap.h"
#include "heap/read.h"
#include "inject/malloc.h"
#include "jemalloc/ask.h"
#include "jemalloc/jemalloc.h"
#include "maps/leaves.h"

/* Refuse options that apply to glibc's malloc only. */
static int
info_jemalloc_check_options(const struct info *info, const struct info_options *opt, struct err *e)
{
	const char *what = opt->xml			       ? "--xml"
		: opt->method == INFO_READ		       ? "--method=read"
		: opt->inject.capture != INJECT_CAPTURE_STREAM ? "--capture"
							       : NULL;

	return !what ? 0
		     : err_set_kind(e, ERR_UNSUPPORTED, 0,
			       "%d (%s) uses jemalloc (%s): %s is for glibc's malloc",
			       (int)info->mt.target.pid, info->mt.target.comm,
			       info->mt.jemalloc.path, what);
}

int
info_ask_jemalloc(struct info *info, const struct info_options *opt, struct err *e)
{
	const struct malloc_target *mt = &info->mt;

	if (info_jemalloc_check_options(info, opt, e) < 0)
		return -1;
	if (mt->traced.kind) {
		*e = mt->traced;
		return -1;
	}
	info->method = INFO_INJECT;
	if (jemalloc_ask(
		    &mt->jemalloc, mt->inject, &opt->inject, &info->jemalloc, &info->report, e) < 0)
		return -1;
	if (info->jemalloc.has_stats)
		return 0;
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"the jemalloc of %d (%s) was built without statistics (config.stats); "
		"'memdiag maps' works here",
		(int)mt->target.pid, mt->target.comm);
}

/* ---- the account ---- */

static int64_t
info_jemalloc_known(uint64_t bytes)
{
	return bytes == JEMALLOC_UNKNOWN ? 0 : (int64_t)bytes;
}

/* Subtract; numbers from two moments may be inconsistent (is_torn). */
static int64_t
info_jemalloc_minus(int64_t a, int64_t b)
{
	return a > b ? a - b : 0;
}

static enum jemalloc_account_kind
account_of(enum leaf_kind kind)
{
	switch (info_account_of(kind)) {
	case ACCOUNT_STACKS:
		return JEMALLOC_STACKS;
	case ACCOUNT_FILES:
		return JEMALLOC_FILES;
	case ACCOUNT_SHM:
		return JEMALLOC_SHM;
	case ACCOUNT_KERNEL:
		return JEMALLOC_KERNEL;
	default:
		return JEMALLOC_OTHER_ANON;
	}
}

/*
 * Compute the account. jemalloc reports how many bytes it has, without addresses.  They belong to
 * the anonymous memory that has no other owner.  Any excess is memory that jemalloc counts but that
 * is not resident (yet): its numbers are upper bounds then.
 */
static void
account(struct info *info)
{
	const struct jemalloc_stats *j = &info->jemalloc;
	int64_t *bytes = info->jemalloc_account, theirs = 0, *other = &bytes[JEMALLOC_OTHER_ANON];
	struct space_sums sums;

	space_sums(&sums, &info->space, NULL);
	for (int kind = 0; kind < NR_LEAF_KINDS; kind++)
		bytes[account_of((enum leaf_kind)kind)] += (int64_t)sums.kind[kind].rss_bytes;
	bytes[JEMALLOC_CACHED] = info_jemalloc_known(j->cached_bytes);
	bytes[JEMALLOC_IN_USE] = info_jemalloc_minus(
		info_jemalloc_known(j->allocated_bytes), bytes[JEMALLOC_CACHED]);
	bytes[JEMALLOC_BETWEEN] = info_jemalloc_minus(
		info_jemalloc_known(j->active_bytes), info_jemalloc_known(j->allocated_bytes));
	bytes[JEMALLOC_DIRTY] = info_jemalloc_known(j->dirty_bytes);
	bytes[JEMALLOC_MUZZY] = info_jemalloc_known(j->muzzy_bytes);
	bytes[JEMALLOC_METADATA] = info_jemalloc_known(j->metadata_bytes);
	for (int kind = JEMALLOC_IN_USE; kind <= JEMALLOC_METADATA; kind++)
		theirs += bytes[kind];
	*other -= theirs;
	bytes[JEMALLOC_UNACCOUNTED] =
		(int64_t)info->space.after.vm_rss_bytes - (int64_t)sums.all.rss_bytes;
	if (*other < 0) {
		bytes[JEMALLOC_NOT_RESIDENT] = *other;
		*other = 0;
	}
}

static void
info_jemalloc_judge(struct info *info)
{
	const struct jemalloc_stats *j = &info->jemalloc;
	const int64_t *bytes = info->jemalloc_account;
	const struct verdict_jemalloc facts = { .allocated_bytes = (uint64_t)bytes[JEMALLOC_IN_USE],
		.cached_bytes = (uint64_t)bytes[JEMALLOC_CACHED],
		.between_bytes = (uint64_t)bytes[JEMALLOC_BETWEEN],
		.free_bytes = (uint64_t)(bytes[JEMALLOC_DIRTY] + bytes[JEMALLOC_MUZZY]),
		.other_bytes = (uint64_t)bytes[JEMALLOC_OTHER_ANON],
		.retained_bytes = (uint64_t)info_jemalloc_known(j->retained_bytes),
		.never_decays = j->has_decay && j->dirty_decay_ms < 0,
		.has_prof = j->has_prof,
		.is_prof_on = j->is_prof_on };
	auto_verdict_facts struct verdict_facts f = { 0 };
	auto_heap struct heap none = { 0 };

	verdict_facts_gather(&f, &info->mt.target, &info->space, &none);
	info->nr_verdicts = verdict_judge_jemalloc(&f, &facts, info->verdict);
}

/* True if arena NR exists, or may be one that was not read. */
static bool
has_arena(const struct jemalloc_stats *j, long nr)
{
	for (size_t i = 0; i < j->nr_arenas; i++)
		if (j->arena[i].nr == nr)
			return true;
	return j->nr_unread;
}

int
info_understand_jemalloc(struct info *info, const struct info_options *opt, struct err *e)
{
	const struct jemalloc_stats *j = &info->jemalloc;

	if (opt->arena >= 0 && !has_arena(j, opt->arena))
		return err_set_kind(
			e, ERR_USAGE, 0, "jemalloc has no arena %ld in use here", opt->arena);
	if (j->nr_unread)
		warnings_add(&info->warnings, true,
			"%zu of %zu arenas were not read: the borrowed thread would have been held for too long; "
			"the totals have them",
			j->nr_unread, j->nr_arenas + j->nr_unread);
	if (!info->mt.jemalloc.serves_malloc)
		warnings_add(&info->warnings, false,
			"malloc() of the program is glibc's, and it has a jemalloc of its own (%smalloc): this is about jemalloc; "
			"--malloc=glibc is about the other",
			info->mt.jemalloc.prefix);
	if (j->is_torn)
		warnings_add(&info->warnings, false,
			"the program had jemalloc's statistics refreshed while they were read: arenas and totals may be of two moments");
	account(info);
	info_jemalloc_judge(info);
	return 0;
}
