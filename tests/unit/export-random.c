/*
 * Groups and metrics of random processes: sums are added up again here, names are admitted by
 * another way, and each sample is read back from the text by a parser of its own.
 */
#include <config.h>

#include "export/groups.h"
#include "export/metrics.h"
#include "tests/unit/draw.h"
#include "tests/unit/tap.h"

#define SEEDS 400
#define PROCESSES_MAX 30
#define NAMES 12
#define ROUNDS 4
/* Labels of a sample in the text, with both quotes. */
#define LABELS_BYTES 1024

/* ---- the oracle ---- */

/* A group, or a name without processes in this round. */
struct want {
	char name[EXPORT_NAME_BYTES];
	struct export_sums sums;
	bool is_seen;
};

static struct want want[NAMES + 2];
static size_t nr_want; /* admitted so far; the rest group is the one after them */

static struct want *
want_of(const char *name, size_t most)
{
	for (size_t i = 0; i < nr_want; i++)
		if (strcmp(want[i].name, name) == 0)
			return &want[i];
	if (nr_want == most)
		return &want[NAMES + 1];
	strcpy(want[nr_want].name, name);
	return &want[nr_want++];
}

static void
want_add(struct want *w, const struct export_sums *s)
{
	const uint64_t *from = (const uint64_t *)s;
	uint64_t *to = (uint64_t *)&w->sums;
	const uint64_t limit = w->sums.limit;

	for (size_t i = 0; i < sizeof *s / sizeof *from; i++)
		to[i] += from[i];
	w->sums.limit = limit && (!s->limit || limit < s->limit) ? limit : s->limit;
	w->is_seen = true;
}

/* ---- the text ---- */

/* Write the value of a label as the format of Prometheus has it. */
static char *
escaped(char *to, const char *text)
{
	for (; *text; text++)
		to += sprintf(to,
			*text == '\n'		? "\\n"
				: *text == '\\' ? "\\\\"
				: *text == '"'	? "\\\""
						: "%c",
			*text);
	return to;
}

/* Find the sample METRIC of NAME, and of KIND unless that is NULL; false if it is missing. */
static bool
sample(const char *text, const char *metric, const char *name, const char *kind, uint64_t *ret)
{
	char head[LABELS_BYTES], *at = head;
	const char *line;

	at += sprintf(at, "\n%s{group=\"", metric);
	at = escaped(at, name);
	at += sprintf(at, kind ? "\",kind=\"%s\"} " : "\"} ", kind);
	line = strstr(text, head);
	if (!line || strstr(line + 1, head))
		return false;
	return sscanf(line + (at - head), "%" SCNu64, ret) == 1;
}

static size_t
count(const char *text, const char *words)
{
	size_t nr = 0;

	while ((text = strstr(text, words))) {
		text += strlen(words);
		nr++;
	}
	return nr;
}

static bool
has_sample(const char *text, const char *metric, const struct want *w, const char *kind,
	uint64_t value)
{
	uint64_t got;

	return sample(text, metric, w->name, kind, &got) && got == value;
}

static bool
group_is_right(const char *text, const struct want *w)
{
	static const char *const kinds[NR_EXPORT_KINDS] = { "heap", "heap_mmapped", "stack", "file",
		"shmem", "anon_other", "other" };
	uint64_t ignored;

	for (size_t k = 0; k < NR_EXPORT_KINDS; k++)
		if (!has_sample(text, "memdiag_resident_bytes", w, kinds[k], w->sums.resident[k]) ||
			!has_sample(text, "memdiag_swapped_bytes", w, kinds[k], w->sums.swapped[k]))
			return false;
	return has_sample(text, "memdiag_virtual_bytes", w, NULL, w->sums.virt) &&
		has_sample(text, "memdiag_hugetlb_bytes", w, NULL, w->sums.hugetlb) &&
		has_sample(text, "memdiag_thp_bytes", w, NULL, w->sums.thp) &&
		has_sample(text, "memdiag_heap_system_bytes", w, NULL, w->sums.heap_virt) &&
		has_sample(text, "memdiag_arenas", w, NULL, w->sums.nr_arenas) &&
		has_sample(text, "memdiag_threads", w, NULL, w->sums.nr_threads) &&
		has_sample(text, "memdiag_processes", w, NULL, w->sums.nr_processes) &&
		has_sample(text, "memdiag_glibc_malloc_processes", w, NULL, w->sums.nr_glibc) &&
		has_sample(text, "memdiag_profiled_processes", w, NULL, w->sums.nr_profiled) &&
		(w->sums.limit ? has_sample(
					 text, "memdiag_memory_limit_bytes", w, NULL, w->sums.limit)
			       : !sample(text, "memdiag_memory_limit_bytes", w->name, NULL,
					 &ignored));
}

/* ---- a round ---- */

static void
draw_name(char name[EXPORT_NAME_BYTES], unsigned int number)
{
	static const char odd[] = "\\\"\n{},= x";

	sprintf(name, "g%u", number);
	for (unsigned int i = 0; i < number % 4; i++)
		sprintf(name + strlen(name), "%c", odd[(number + i * 3) % (sizeof odd - 1)]);
}

static void
draw_process(struct export_process *p)
{
	uint64_t *numbers = (uint64_t *)&p->sums;

	draw_name(p->group, (unsigned int)draw(NAMES));
	p->is_read = draw(8) > 0;
	for (size_t i = 0; i < sizeof p->sums / sizeof *numbers; i++)
		numbers[i] = draw(3) ? draw(1 << 30) : 0;
}

static bool
try_round(struct export_names *names)
{
	struct export_process process[PROCESSES_MAX] = { 0 }, *v[PROCESSES_MAX];
	struct export_scan scan = { .processes = { v, draw(PROCESSES_MAX), PROCESSES_MAX } };
	auto_export_groups struct export_groups groups = { 0 };
	const struct export_metrics m = { &groups, &scan, 0 };
	size_t nr_groups = 0, size;
	bool is_right = true;
	char *text = NULL;
	struct err e;
	FILE *f;

	for (size_t i = 0; i < NAMES + 2; i++) {
		want[i].sums = (struct export_sums){ 0 };
		want[i].is_seen = false;
	}
	for (size_t i = 0; i < scan.processes.nr; i++) {
		v[i] = &process[i];
		draw_process(v[i]);
		if (v[i]->is_read)
			want_add(want_of(v[i]->group, names->max), &v[i]->sums);
	}
	is_right &= export_groups_make(&groups, &scan, names, &e) == 0;
	f = open_memstream(&text, &size);
	export_metrics_write(f, &m, draw(2) ? EXPORT_OPENMETRICS : EXPORT_PROMETHEUS);
	fclose(f);
	for (size_t i = 0; i < NAMES + 2; i++) {
		nr_groups += want[i].is_seen;
		is_right &= !want[i].is_seen || group_is_right(text, &want[i]);
	}
	is_right &= count(text, "\nmemdiag_processes{") == nr_groups &&
		count(text, "\nmemdiag_resident_bytes{") == nr_groups * NR_EXPORT_KINDS;
	free(text);
	return is_right;
}

int
main(int argc, char **argv)
{
	const unsigned int seeds = (unsigned int)tap_share(SEEDS);
	const unsigned int first = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	unsigned int nr_right = 0;

	for (unsigned int i = first; i < first + seeds; i++) {
		struct export_names names = { 0 };
		bool is_right = true;

		seed = i;
		names.max = 1 + draw(NAMES);
		nr_want = 0;
		memset(want, 0, sizeof want);
		strcpy(want[NAMES + 1].name, "other groups");
		for (int round = 0; round < ROUNDS; round++)
			is_right &= try_round(&names);
		if (!is_right)
			printf("# seed %u\n", i);
		nr_right += is_right;
		export_names_release(&names);
	}
	is_u64(nr_right, seeds, "random processes have the metrics that were added up again");
	return tap_end();
}
