/*
 * maps of several processes with address spaces put together at random, of addresses in them, and
 * of parts of them, against smaps, which is read here in another way.
 *
 *	maps-random-several		a few seeds; tests/live/maps-random.sh takes more
 *	maps-random-several FIRST NR	these seeds
 */
#include <config.h>

#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/target.h"
#include "random-run.h"

#define FEW_SEEDS 12
#define PROCESSES_MAX 4
#define ADDRESSES 6
/* The kernel itself changes pages now and then; differing results are read again this often. */
#define TRIES_NS UINT64_C(300000000000)
/* Greater than any PID: PID_MAX_LIMIT of include/linux/threads.h is the first that nobody has. */
#define NOBODY "4194304"

/* ---- the processes ---- */

struct several {
	size_t nr;
	struct child c[PROCESSES_MAX];
	struct lines before[PROCESSES_MAX], after[PROCESSES_MAX];
};

static bool
start(struct several *s, unsigned long seed)
{
	static char *all_kinds[] = { NULL };
	bool is_fine = true;

	s->nr = 1 + some(PROCESSES_MAX);
	for (size_t i = 0; i < s->nr; i++) {
		struct random_space space = { seed * PROCESSES_MAX + i, builddir, dir, all_kinds };

		s->c[i] = child_start(random_space_run, &space);
		is_fine &= s->c[i].is_ready && random_space_settle(s->c[i].pid);
	}
	return is_fine || fail("a program did not get ready");
}

static bool
end(struct several *s, bool is_fine)
{
	for (size_t i = 0; i < s->nr; i++)
		if (!child_end(&s->c[i]) && is_fine)
			is_fine = fail("a program did not end well");
	return is_fine;
}

static bool
read_all(struct several *s, struct lines lines[PROCESSES_MAX])
{
	for (size_t i = 0; i < s->nr; i++)
		if (!lines_read(s->c[i].pid, &lines[i]))
			return fail("no smaps");
	return true;
}

/* Whether nothing has changed since s->before was read. */
static bool
is_quiet(struct several *s)
{
	if (!read_all(s, s->after))
		return false;
	for (size_t i = 0; i < s->nr; i++) {
		if (s->before[i].nr != s->after[i].nr)
			return false;
		for (size_t k = 0; k < s->before[i].nr; k++)
			if (!line_is_same(&s->before[i].v[k], &s->after[i].v[k]) ||
				s->before[i].v[k].dirty != s->after[i].v[k].dirty)
				return false;
	}
	return true;
}

/* TRY, until it succeeds or fails while nothing changes. */
static bool
try_quiet(struct several *s, bool (*try)(struct several *s))
{
	const uint64_t end_ns = os_now_ns() + TRIES_NS;

	while (os_now_ns() < end_ns) {
		uint64_t before = state;

		if (!read_all(s, s->before))
			return false;
		if (try(s))
			return true;
		if (is_quiet(s))
			return false;
		state = before;
	}
	return false;
}

/* ---- totals ---- */

struct sums {
	uint64_t virt, rss, swap, hugetlb, mappings, dirty, locked;
};

static void
add_lines(struct sums *sums, const struct lines *lines)
{
	for (size_t i = 0; i < lines->nr; i++) {
		const struct line *l = &lines->v[i];

		if (line_is_gate(l))
			continue;
		sums->virt += l->end - l->start;
		sums->rss += l->rss;
		sums->swap += l->swap;
		sums->hugetlb += l->hugetlb;
		sums->dirty += l->dirty;
		sums->locked += l->locked;
		sums->mappings++;
	}
}

/* Whether ROW has SUMS, and its parts are its RSS. */
static bool
row_is(json_t *row, const struct sums *sums, const char *what)
{
	static const char *const parts[] = { "stack_rss_bytes", "heap_rss_bytes", "files_rss_bytes",
		"anon_rss_bytes", "shm_rss_bytes" };
	const struct sums got = { number(row, "virt_bytes"), number(row, "rss_bytes"),
		number(row, "swap_bytes"), number(row, "hugetlb_bytes"), number(row, "mappings") };
	uint64_t sum = 0;

	if (got.virt != sums->virt || got.rss != sums->rss || got.swap != sums->swap ||
		got.hugetlb != sums->hugetlb || got.mappings != sums->mappings)
		return fail("%s: VIRT %" PRIu64 " RSS %" PRIu64 " swap %" PRIu64 " hugetlb %" PRIu64
			    " in %" PRIu64 " mappings, not %" PRIu64 " %" PRIu64 " %" PRIu64
			    " %" PRIu64 " in %" PRIu64,
			what, got.virt, got.rss, got.swap, got.hugetlb, got.mappings, sums->virt,
			sums->rss, sums->swap, sums->hugetlb, sums->mappings);
	if (json_object_get(row, "dirty_bytes") &&
		(number(row, "dirty_bytes") != sums->dirty ||
			number(row, "locked_bytes") != sums->locked))
		return fail("%s: dirty %" PRIu64 " locked %" PRIu64 ", not %" PRIu64 " %" PRIu64,
			what, number(row, "dirty_bytes"), number(row, "locked_bytes"), sums->dirty,
			sums->locked);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		sum += number(row, parts[i]);
	return sum == sums->rss || fail("%s: its parts are %" PRIu64, what, sum);
}

/* A thread of process PID, perhaps the first. */
static pid_t
some_thread(pid_t pid)
{
	auto_target struct target t = TARGET_NONE;
	auto_threads struct threads threads = { 0 };
	struct err e;

	if (target_open(&t, pid, &e) < 0 || threads_list(&threads, &t, SIZE_MAX, &e) < 0)
		return pid;
	return threads.v[some(threads.nr)].tid;
}

/* Name the processes of S in one way or another, each at least once. */
static void
add_processes(struct words *w, const struct several *s, bool *ret_has_nobody)
{
	*ret_has_nobody = !some(4);
	if (*ret_has_nobody)
		add_word(w, NOBODY);
	for (size_t i = 0, from = some(s->nr); i < s->nr; i++) {
		pid_t pid = s->c[(i + from) % s->nr].pid;

		switch (some(4)) {
		case 0:
			add_number(w, "%d", (int)pid);
			break;
		case 1:
			add_number(w, "-p%d,%d", (int)pid, (int)s->c[some(s->nr)].pid);
			break;
		case 2:
			add_number(w, "%d", (int)some_thread(pid));
			add_number(w, "--pid=%d", (int)pid);
			break;
		default:
			add_number(w, "-p%d", (int)some_thread(pid));
		}
	}
	/* One alone would be looked at in full. */
	add_number(w, "%d,%d", (int)s->c[0].pid, (int)some_thread(s->c[0].pid));
	if (s->nr == 1)
		add_word(w, NOBODY);
	*ret_has_nobody |= s->nr == 1;
}

/* Each process is there once, has what smaps says, and the total is the sum. */
static bool
rows_agree(struct several *s, json_t *data)
{
	json_t *rows = json_object_get(data, "processes"), *row;
	struct sums total = { 0 };
	size_t i;

	if (json_array_size(rows) != s->nr)
		return fail("%zu processes, not %zu", json_array_size(rows), s->nr);
	for (size_t k = 0; k < s->nr; k++) {
		struct sums sums = { 0 };
		size_t found = 0;

		add_lines(&sums, &s->before[k]);
		add_lines(&total, &s->before[k]);
		json_array_foreach(rows, i, row)
		{
			if (number(row, "pid") != (uint64_t)s->c[k].pid)
				continue;
			found++;
			if (!row_is(row, &sums, "a process"))
				return false;
		}
		if (found != 1)
			return fail("process %d is there %zu times", (int)s->c[k].pid, found);
	}
	return row_is(json_object_get(data, "totals"), &total, "the total");
}

static bool
is_sorted(json_t *rows, const char *member)
{
	for (size_t i = 1; i < json_array_size(rows); i++)
		if (number(json_array_get(rows, i - 1), member) <
			number(json_array_get(rows, i), member))
			return fail("not in the order of %s", member);
	return true;
}

/* Whether the PSS and USS, which other processes change, agree with each other. */
static bool
pss_agrees(json_t *data)
{
	json_t *rows = json_object_get(data, "processes"), *row;
	json_t *totals = json_object_get(data, "totals");
	uint64_t pss = 0, uss = 0;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		pss += number(row, "pss_bytes");
		uss += number(row, "uss_bytes");
		/* The kernel cuts PSS to whole kilobytes in each mapping. */
		if (number(row, "uss_bytes") >
			number(row, "pss_bytes") + 1024 * number(row, "mappings"))
			return fail("USS is more than PSS");
	}
	return (pss == number(totals, "pss_bytes") && uss == number(totals, "uss_bytes")) ||
		fail("the total PSS and USS are not the sums");
}

static bool
try_totals(struct several *s)
{
	static const char *const sorts[][2] = { { "rss", "rss_bytes" }, { "virt", "virt_bytes" },
		{ "swap", "swap_bytes" }, { "hugetlb", "hugetlb_bytes" }, { "count", "mappings" } };
	const char *const *sort = sorts[some(5)];
	struct words w = { 0 };
	const struct said *said;
	bool has_nobody, has_pss = !some(3), is_fine;
	json_t *data;

	add_processes(&w, s, &has_nobody);
	add_number(&w, "--sort=%s", sort[0]);
	add_word(&w, "--json");
	if (has_pss)
		add_word(&w, "--pss");
	said = run_maps(&w);
	if (said->status != (has_nobody ? 2 : 0))
		return fail("exit status %d: %.300s", said->status, said->err);
	data = data_of(said);
	is_fine = rows_agree(s, data) && is_sorted(json_object_get(data, "processes"), sort[1]) &&
		(!has_pss || pss_agrees(data));
	json_decref(data);
	return is_fine;
}

/* ---- addresses ---- */

static const struct line *
line_at(const struct lines *lines, uint64_t addr)
{
	for (size_t i = 0; i < lines->nr; i++)
		if (addr >= lines->v[i].start && addr < lines->v[i].end)
			return &lines->v[i];
	return NULL;
}

/* An address in a mapping, or at its border, or in none. */
static uint64_t
some_address(const struct lines *lines)
{
	const struct line *l = &lines->v[some(lines->nr)];

	switch (some(8)) {
	case 0:
		return l->start;
	case 1:
		return l->end - 1;
	case 2:
		return l->end;
	case 3:
		return l->start - 1;
	case 4:
		return l->end + some(1 << 20);
	case 5:
		return (uint64_t[]){ 0, 1, UINT64_C(1) << 47, UINT64_C(1) << 63,
			UINT64_MAX }[some(5)];
	default:
		return l->start + some(l->end - l->start);
	}
}

/* Nothing is there: the mappings below and above it are named. */
static bool
hole_is_named(const struct said *said, const struct lines *lines, uint64_t addr)
{
	const struct line *below = NULL, *above = NULL;
	char text[96];

	for (size_t i = 0; i < lines->nr && !above; i++)
		if (lines->v[i].start > addr)
			above = &lines->v[i];
		else
			below = &lines->v[i];
	snprintf(text, sizeof text, "nothing is mapped at %#" PRIx64, addr);
	/* %# writes no 0x before 0. */
	if (said->status != 1 || !strstr(said->err, addr ? text : "nothing is mapped at 0x0"))
		return fail("%#" PRIx64 ": exit status %d: %.200s", addr, said->status, said->err);
	for (int i = 0; i < 2; i++) {
		const struct line *l = i ? above : below;
		const char *hint = strstr(said->err, i ? "above it" : "below it");

		if (l)
			snprintf(text, sizeof text, ": %" PRIx64 "-%" PRIx64 " ", l->start, l->end);
		if (!l != !hint || (l && !strstr(hint, text)))
			return fail("%#" PRIx64 ": %s it is not%s: %.200s", addr,
				i ? "above" : "below", l ? text : " nothing", said->err);
	}
	return true;
}

static uint64_t
address(json_t *o, const char *member)
{
	const char *text = json_string_value(json_object_get(o, member));

	return text ? strtoull(text, NULL, 16) : UINT64_MAX;
}

/* Whether the JSON for ADDR agrees with L. */
static bool
place_agrees(json_t *at, const struct line *l, uint64_t addr)
{
	json_t *offset = json_object_get(at, "file_offset_bytes");
	const char *path = json_string_value(json_object_get(at, "path"));
	const char *prot = json_string_value(json_object_get(at, "prot"));

	if (address(at, "address") != addr || address(at, "start") != l->start ||
		address(at, "end") != l->end || !prot || strcmp(prot, l->prot) != 0 ||
		number(at, "virt_bytes") != l->end - l->start)
		return fail("%#" PRIx64 " is not said to be in %#" PRIx64 " %s", addr, l->start,
			l->prot);
	if (number(at, "rss_bytes") != l->rss || number(at, "swap_bytes") != l->swap)
		return fail("%#" PRIx64 ": resident %" PRIu64 ", not %" PRIu64, addr,
			number(at, "rss_bytes"), l->rss);
	if (l->path[0] ? !is_name(path, l->path) : path != NULL)
		return fail("%#" PRIx64 " is called %s, not %s", addr, path ? path : "nothing",
			l->path);
	if (l->has_file ? number(at, "file_offset_bytes") != l->offset + (addr - l->start)
			: !json_is_null(offset))
		return fail("%#" PRIx64 " has another offset in its file", addr);
	return (address(at, "part_start") >= l->start && address(at, "part_start") <= addr &&
		       address(at, "part_end") > addr && address(at, "part_end") <= l->end) ||
		fail("%#" PRIx64 " is outside its part", addr);
}

static bool
try_address(struct several *s)
{
	const size_t k = some(s->nr);
	const struct lines *lines = &s->before[k];
	const uint64_t addr = some_address(lines);
	const struct line *l = line_at(lines, addr);
	struct words w = { 0 };
	const struct said *said;
	json_t *data;
	bool is_fine;

	add_number(&w, "%d", (int)s->c[k].pid);
	add_number(&w, "--at=%s%" PRIx64, some(2) ? "0x" : "", addr);
	add_word(&w, "--json");
	said = run_maps(&w);
	if (!l)
		return hole_is_named(said, lines, addr);
	if (line_is_gate(l))
		return (said->status == 1 && strstr(said->err, "kernel's own")) ||
			fail("vsyscall: exit status %d: %.200s", said->status, said->err);
	if (said->status)
		return fail("%#" PRIx64 ": exit status %d: %.200s", addr, said->status, said->err);
	data = data_of(said);
	is_fine = place_agrees(json_object_get(data, "at"), l, addr);
	json_decref(data);
	return is_fine;
}

/* ---- a part of an address space ---- */

/* The lines from FIRST to LAST are what --range of them shows. */
static bool
range_agrees(json_t *data, const struct lines *lines, size_t first, size_t last)
{
	json_t *shown = json_object_get(data, "shown");
	struct lines part = { 0 };
	struct sums sums = { 0 };

	for (size_t i = first; i <= last; i++)
		part.v[part.nr++] = lines->v[i];
	add_lines(&sums, &part);
	return (number(shown, "virt_bytes") == sums.virt &&
		       number(shown, "rss_bytes") == sums.rss &&
		       number(shown, "swap_bytes") == sums.swap &&
		       number(shown, "hugetlb_bytes") == sums.hugetlb) ||
		fail("%#" PRIx64 "-%#" PRIx64 ": VIRT %" PRIu64 " RSS %" PRIu64 ", not %" PRIu64
		     " %" PRIu64,
			lines->v[first].start, lines->v[last].end, number(shown, "virt_bytes"),
			number(shown, "rss_bytes"), sums.virt, sums.rss);
}

static bool
try_range(struct several *s)
{
	const size_t k = some(s->nr), first = some(s->before[k].nr),
		     last = first + some(s->before[k].nr - first);
	const struct lines *lines = &s->before[k];
	struct words w = { 0 };
	const struct said *said;
	json_t *data;
	bool is_fine;

	add_number(&w, "%d", (int)s->c[k].pid);
	add_number(&w, "--range=%" PRIx64 "-", lines->v[first].start);
	snprintf(w.text[1] + strlen(w.text[1]), 20, "%" PRIx64, lines->v[last].end);
	add_word(&w, "--json");
	add_word(&w, (const char *[]){ "--by=class", "--by=object", "--by=mapping" }[some(3)]);
	said = run_maps(&w);
	if (line_is_gate(&lines->v[first]))
		return said->status == 1 || fail("vsyscall: exit status %d", said->status);
	if (said->status)
		return fail("--range: exit status %d: %.200s", said->status, said->err);
	data = data_of(said);
	is_fine = range_agrees(data, lines, first, last);
	json_decref(data);
	return is_fine;
}

/* 'maps PID --by=BY', of class CLASS alone if that is not NULL. */
static json_t *
read_class(pid_t pid, const char *class, const char *by)
{
	struct words w = { 0 };

	add_number(&w, "%d", (int)pid);
	add_number(&w, "--by=%s", by);
	add_word(&w, "--json");
	if (class)
		add_number(&w, "--class=%s", class);
	return data_of(run_maps(&w));
}

/* A class alone, in any view, is what its line says, and the rows of that view add up to it. */
static bool
class_agrees(pid_t pid, json_t *group, const char *by)
{
	static const char *const members[] = { "virt_bytes", "rss_bytes", "swap_bytes",
		"hugetlb_bytes", "count" };
	json_t *data = read_class(pid, json_string_value(json_object_get(group, "name")), by);
	json_t *rows = json_object_get(data, strcmp(by, "mapping") == 0 ? "mappings" : "groups");
	bool is_fine = true;

	for (size_t m = 0; is_fine && m < sizeof members / sizeof *members; m++) {
		uint64_t sum = 0, wanted = number(group, members[m]);
		json_t *row;
		size_t i;

		json_array_foreach(rows, i, row) sum += number(row, members[m]);
		if (sum != wanted || number(json_object_get(data, "shown"), members[m]) != wanted)
			is_fine = fail("class %s by %s: %s is %" PRIu64 ", not %" PRIu64,
				json_string_value(json_object_get(group, "name")), by, members[m],
				sum, wanted);
	}
	json_decref(data);
	return is_fine;
}

static bool
try_class(struct several *s)
{
	static const char *const views[] = { "class", "object", "arena", "thread", "mapping" };
	const pid_t pid = s->c[some(s->nr)].pid;
	json_t *data = read_class(pid, NULL, "class"), *groups = json_object_get(data, "groups");
	bool is_fine = json_array_size(groups) &&
		class_agrees(
			pid, json_array_get(groups, some(json_array_size(groups))), views[some(5)]);

	json_decref(data);
	return is_fine;
}

/* ---- all of it ---- */

static bool
try_spaces(unsigned long seed)
{
	static struct several s;
	bool is_fine = start(&s, seed) && try_quiet(&s, try_totals);

	for (int i = 0; is_fine && i < ADDRESSES; i++)
		is_fine = try_quiet(&s, try_address);
	is_fine = is_fine && try_quiet(&s, try_range) && try_quiet(&s, try_class);
	return end(&s, is_fine);
}

int
main(int argc, char **argv)
{
	return random_main(argc, argv, FEW_SEEDS, NULL,
		"several random address spaces and addresses in them are what smaps says", NULL,
		try_spaces);
}
