/*
 * Address spaces put together at random (tests/tracees/random-space.c), against what smaps and
 * status say of them, read here in another way; and whether they are afterwards as they were
 * before.
 *
 *	maps-random			a few seeds; tests/live/maps-random.sh takes more
 *	maps-random FIRST NR [KIND]...	these seeds, with these kinds of mappings
 */
#include <config.h>

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "export/memory-map.h"
#include "maps/identities.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "os/machine.h"
#include "os/os.h"
#include "os/target.h"
#include "profile/profile.h"
#include "random-space.h"
#include "tap.h"

#define FEW_SEEDS 40
#define FIRST_SEED 1
/* One seed in this many is tried with other commands, too. */
#define COMMANDS_EVERY 10

/* The trial of one seed. */
struct trial {
	struct random_space space;
	struct child c;
	struct lines before, after;
	char why[512];
};

static bool __attribute__((format(printf, 2, 3))) fail(struct trial *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->why, sizeof x->why, fmt, ap);
	va_end(ap);
	return false;
}

/* Whether the process has what it had: no page more, none less. */
static bool
is_unchanged(struct trial *x, const char *by)
{
	if (!lines_read(x->c.pid, &x->after))
		return fail(x, "no smaps after %s", by);
	for (size_t i = 0; i < x->before.nr && i < x->after.nr; i++) {
		const struct line *a = &x->before.v[i], *b = &x->after.v[i];

		if (!line_is_same(a, b))
			return fail(x,
				"%s changed %#" PRIx64 " %s: resident %" PRIu64 " to %" PRIu64
				", anonymous %" PRIu64 " to %" PRIu64,
				by, a->start, a->path, a->rss, b->rss, a->anonymous, b->anonymous);
	}
	return x->before.nr == x->after.nr || fail(x, "%s changed the list of mappings", by);
}

/* ---- the leaves ---- */

/* Each line is covered by leaves without hole or overlap, and they have its pages. */
static bool
lines_agree(struct trial *x, const struct space *s)
{
	size_t k = 0;

	for (size_t i = 0; i < x->before.nr; i++) {
		const struct line *l = &x->before.v[i];
		uint64_t rss = 0, swap = 0, hugetlb = 0, huge = 0, at = l->start;

		if (line_is_gate(l))
			continue;
		for (; k < s->leaves.nr && s->leaves.v[k].start.v < l->end; k++) {
			const struct leaf *leaf = &s->leaves.v[k];

			if (leaf->start.v != at)
				return fail(x, "%#" PRIx64 " is in no leaf or in two", at);
			at = leaf->end.v;
			rss += leaf->rss_bytes;
			swap += leaf->swap_bytes;
			hugetlb += leaf->hugetlb_bytes;
			huge += leaf->huge_bytes;
		}
		if (at != l->end)
			return fail(x, "the leaves of %#" PRIx64 " end at %#" PRIx64, l->start, at);
		if (rss != l->rss || swap != l->swap || hugetlb != l->hugetlb)
			return fail(x,
				"%#" PRIx64 " %s: resident %" PRIu64 ", not %" PRIu64
				"; swapped %" PRIu64 ", not %" PRIu64 "; hugetlb %" PRIu64
				", not %" PRIu64,
				l->start, l->path, rss, l->rss, swap, l->swap, hugetlb, l->hugetlb);
		/* smaps counts mapped by a huge page of anonymous memory. */
		if (huge != l->huge && l->anonymous == l->rss)
			return fail(x, "%#" PRIx64 ": huge pages %" PRIu64 ", not %" PRIu64,
				l->start, huge, l->huge);
	}
	return k == s->leaves.nr || fail(x, "there are leaves of no line");
}

/* Whether the mappings that the program reports are in their groups. */
static bool
classes_agree(struct trial *x, const struct space *s)
{
	const char *line = x->c.said;
	unsigned long start, end;
	char kind[32], class[32];

	for (; line && *line; line = strchr(line, '\n') + 1) {
		if (sscanf(line, "map %31s %lx-%lx %31s", kind, &start, &end, class) != 4 ||
			strcmp(class, "-") == 0)
			continue;
		for (size_t i = 0; i < s->leaves.nr; i++) {
			const struct leaf *l = &s->leaves.v[i];
			const char *group = group_name(leaf_kind_group(l->kind));

			if (l->end.v > start && l->start.v < end && strcmp(group, class) != 0)
				return fail(x,
					"%s %#lx-%#lx is %s, but %#" PRIx64 "-%#" PRIx64
					" counts as %s (%s)",
					kind, start, end, class, l->start.v, l->end.v,
					leaf_kind_name(l->kind), confidence_name(l->confidence));
		}
	}
	return true;
}

/* Whether it differs as the counters of a process do that runs: smaps has no such difference. */
static bool
is_lag(const struct identity *id)
{
	return os_linux_version() < OS_LINUX(6, 16) && id->explained_by &&
		strstr(id->explained_by, "lag behind");
}

static bool
sums_agree(struct trial *x, const struct space *s)
{
	struct identity id[NR_IDENTITIES];
	size_t nr = space_identities(s, id);
	uint64_t rss = 0, hugetlb = 0;

	for (size_t i = 0; i < nr; i++)
		if (id[i].ours_bytes != id[i].kernel_bytes && !is_lag(&id[i]))
			return fail(x, "%s: %" PRIu64 " and not %" PRIu64 " (%s)", id[i].name,
				id[i].ours_bytes, id[i].kernel_bytes, id[i].explained_by);
	for (size_t i = 0; i < x->before.nr; i++) {
		rss += x->before.v[i].rss;
		hugetlb += x->before.v[i].hugetlb;
	}
	if (rss != s->totals.rss_bytes || hugetlb != s->totals.hugetlb_bytes)
		return fail(
			x, "the sum is %" PRIu64 ", of smaps %" PRIu64, s->totals.rss_bytes, rss);
	/* RssAnon, RssFile and RssShmem need the kinds of pages. */
	return nr == (s->has_kinds ? NR_IDENTITIES : NR_IDENTITIES - 3) ||
		fail(x, "only %zu sums", nr);
}

/* Whether no frame of P has what pprof cuts off, or lacks its brackets. */
static bool
frames_agree(struct trial *x, const struct profile *p)
{
	for (size_t i = 0; i < p->functions.nr; i++) {
		const char *name = p->functions.v[i].name;

		if (name[0] != '[' || name[strlen(name) - 1] != ']' || strpbrk(name, "()<>\n"))
			return fail(x, "a frame has the name %s", name);
	}
	return true;
}

/* Whether the memory map as a profile has the bytes of smaps, each once. */
static bool
map_agrees(struct trial *x, const struct space *s, const struct target *t)
{
	auto_profile struct profile *p = NULL;
	uint64_t resident = 0, swap = 0;
	struct err e;

	if (memory_map_make(&p, s, t, &e) < 0)
		return fail(x, "%s", e.msg);
	for (size_t i = 0; i < p->samples.nr; i++) {
		resident += (uint64_t)profile_values(p, i)[0];
		swap += (uint64_t)profile_values(p, i)[1];
	}
	for (size_t i = 0; i < x->before.nr; i++) {
		resident -= x->before.v[i].rss + x->before.v[i].hugetlb;
		swap -= x->before.v[i].swap;
	}
	if (resident || swap)
		return fail(x,
			"the profile has %" PRId64 " bytes resident and %" PRId64
			" swapped more than smaps",
			(int64_t)resident, (int64_t)swap);
	return frames_agree(x, p) && is_unchanged(x, "memory_map_make");
}

/* Count its pages in the way FROM, which this kernel has. */
static bool
look_by(struct trial *x, enum space_rss from)
{
	/* By pagemap, huge pages are known from what PSS is read from. */
	const struct space_options options = {
		.want_unused = true, .rss_from = from, .want_pss = from == SPACE_RSS_PAGEMAP
	};
	auto_target struct target t = TARGET_NONE;
	auto_space struct space s = { 0 };
	struct err e;

	if (target_open(&t, x->c.pid, &e) < 0 || space_read(&s, &t, &options, &e) < 0)
		return fail(x, "%s", e.msg);
	if (s.has_kinds != (from == SPACE_RSS_SCAN))
		return fail(x, "pages were not counted in way %d: %s", (int)from, s.rss_error.msg);
	if (!is_unchanged(x, "space_read") || !classes_agree(x, &s))
		return false;
	/* What another user may not see is no difference. */
	return s.counts_zero || (lines_agree(x, &s) && sums_agree(x, &s) && map_agrees(x, &s, &t));
}

static bool
look(struct trial *x)
{
	const bool has_scan = os_linux_version() >= OS_LINUX(6, 7);

	return (!has_scan || look_by(x, SPACE_RSS_SCAN)) && look_by(x, SPACE_RSS_PAGEMAP);
}

/* ---- the program ---- */

static bool
try_commands(struct trial *x)
{
	static const char *const commands[] = { "maps", "maps --json --by=mapping", "heap --json",
		"status", "doctor" };

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		char line[512];
		int status;

		snprintf(line, sizeof line, "timeout 600 %s/memdiag %s --pid %d >%s/said 2>&1",
			x->space.builddir, commands[i], x->c.pid, x->space.dir);
		status = system(line);
		if (!WIFEXITED(status) || WEXITSTATUS(status) >= 124)
			return fail(x, "%s: status %#x", commands[i], (unsigned int)status);
		if (!is_unchanged(x, commands[i]))
			return false;
	}
	return true;
}

static bool
try_once(struct trial *x)
{
	bool is_fine = false;

	x->c = child_start(random_space_run, &x->space);
	if (!x->c.is_ready || !random_space_settle(x->c.pid))
		fail(x, "the program did not get ready");
	else if (!lines_read(x->c.pid, &x->before))
		fail(x, "no smaps");
	else
		is_fine = look(x) && (x->space.seed % COMMANDS_EVERY || try_commands(x));
	/* One that the look has hung must not hang us: kill it if it does not end. */
	if (!child_end(&x->c) && is_fine)
		is_fine = fail(x, "the program did not end well");
	return is_fine;
}

/* A huge page may be made of small ones meanwhile (khugepaged): such is not so a second time. */
static bool
try_seed(struct trial *x)
{
	return try_once(x) || try_once(x);
}

int
main(int argc, char **argv)
{
	static struct trial x;
	const char *builddir = getenv("top_builddir");
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 0) : FIRST_SEED;
	unsigned long nr =
		argc > 2 ? strtoul(argv[2], NULL, 0) : (unsigned long)tap_share(FEW_SEEDS);
	static char *none[] = { NULL };
	char dir[4096];
	size_t nr_failed = 0;

	if (skip_if_sanitized("random address spaces"))
		return tap_end();
	x.space.builddir = builddir ? builddir : ".";
	x.space.kinds = argc > 3 ? argv + 3 : none;
	snprintf(dir, sizeof dir, "%s/tests/maps-random.XXXXXX", x.space.builddir);
	if (!ok(mkdtemp(dir), "a directory for files"))
		return tap_end();
	x.space.dir = dir;
	for (x.space.seed = first; x.space.seed < first + nr; x.space.seed++)
		if (!try_seed(&x)) {
			nr_failed++;
			printf("# seed %lu: %s\n", x.space.seed, x.why);
			fflush(stdout);
		}
	is_u64(nr_failed, 0, "random address spaces are what smaps and status say, and unchanged");
	random_space_remove(dir);
	return tap_end();
}
