#include <config.h>

#include "export/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

/* ---- the format ---- */

struct metrics_writer {
	FILE *f;
	enum export_format format;
};

const char *
export_metrics_type(enum export_format format)
{
	return format == EXPORT_OPENMETRICS
		? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		: "text/plain; version=0.0.4; charset=utf-8";
}

/* Return the preference of the media range at S, up to END: 0 to 1. */
static double
quality_of(const char *s, const char *end)
{
	while ((s = memchr(s, ';', (size_t)(end - s)))) {
		s++;
		s += strspn(s, " \t");
		if (s < end && strncasecmp(s, "q=", 2) == 0)
			return strtod(s + 2, NULL);
	}
	return 1;
}

/* Return whether the media range at S, up to END, is TYPE in a version that is supported. */
static bool
is_type(const char *s, const char *end, const char *type)
{
	const size_t n = strlen(type);
	const char *version = strcasestr(s, "version=");

	if ((size_t)(end - s) < n || strncasecmp(s, type, n) != 0 ||
		(s + n < end && !strchr("; \t", s[n])))
		return false;
	return !version || version >= end || strncmp(version, "version=1.0.0", 13) == 0 ||
		strncmp(version, "version=\"1.0.0\"", 15) == 0 ||
		strncmp(version, "version=0.0.4", 13) == 0;
}

enum export_format
export_metrics_choose(const char *accept)
{
	double openmetrics = 0, text = 0;

	while (accept && *accept) {
		const char *end;

		accept += strspn(accept, " \t,");
		end = accept + strcspn(accept, ",");
		if (is_type(accept, end, "application/openmetrics-text"))
			openmetrics = quality_of(accept, end);
		else if (is_type(accept, end, "text/plain"))
			text = quality_of(accept, end);
		accept = end;
	}
	return openmetrics > 0 && openmetrics >= text ? EXPORT_OPENMETRICS : EXPORT_PROMETHEUS;
}

/* The lines before the samples of NAME, whose "_total" is not in OpenMetrics' name of a counter. */
static void
write_head(const struct metrics_writer *w, const char *name, bool is_counter, const char *help)
{
	const size_t n = strlen(name) -
		(is_counter && w->format == EXPORT_OPENMETRICS ? strlen("_total") : 0);

	fprintf(w->f, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int)n, name, help, (int)n, name,
		is_counter ? "counter" : "gauge");
}

static void
write_label(const struct metrics_writer *w, const char *name, const char *value)
{
	fprintf(w->f, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			putc('\\', w->f);
		if (*value == '\n')
			fputs("\\n", w->f);
		else
			putc(*value, w->f);
	}
	putc('"', w->f);
}

static void
write_sample(const struct metrics_writer *w, const char *name, const char *group, const char *label,
	const char *value, uint64_t number)
{
	fputs(name, w->f);
	if (group || label)
		putc('{', w->f);
	if (group)
		write_label(w, "group", group);
	if (group && label)
		putc(',', w->f);
	if (label)
		write_label(w, label, value);
	if (group || label)
		putc('}', w->f);
	fprintf(w->f, " %" PRIu64 "\n", number);
}

/* ---- of groups ---- */

/* Metrics with one value for each group: a member of struct export_sums. */
static const struct group_metric {
	const char *name;
	size_t member;
	bool is_known_if_set; /* 0 means that there is no value */
	const char *help;
} group_metrics[] = {
#define M(name, member, is_known_if_set, help)                                                     \
	{                                                                                          \
		"memdiag_" name, offsetof(struct export_sums, member), is_known_if_set, help       \
	}
	M("virtual_bytes", virt, false, "Address space (VmSize)."),
	M("hugetlb_bytes", hugetlb, false,
		"Pages of hugetlbfs, which are in no other metric and not in RSS."),
	M("thp_bytes", thp, false,
		"Resident bytes mapped as transparent huge pages; 0 before Linux 6.7."),
	M("heap_system_bytes", heap_virt, false,
		"Address space that malloc of glibc has for its arenas, without blocks mapped "
		"separately."),
	M("arenas", nr_arenas, false, "Arenas of malloc of glibc."),
	M("threads", nr_threads, false, "Threads."),
	M("processes", nr_processes, false, "Processes that were read."),
	M("glibc_malloc_processes", nr_glibc, false,
		"Processes whose malloc is that of glibc: only these have bytes of kinds heap and "
		"heap_mmapped."),
	M("profiled_processes", nr_profiled, false,
		"Processes in which a profile or a recording of memdiag runs."),
	M("memory_limit_bytes", limit, true,
		"The memory limit of the cgroup, of several the smallest."),
#undef M
};

static uint64_t
member_of(const struct export_sums *sums, size_t at)
{
	uint64_t value;

	memcpy(&value, (const char *)sums + at, sizeof value);
	return value;
}

static void
write_group_metric(const struct metrics_writer *w, const struct export_groups *groups,
	const struct group_metric *metric)
{
	write_head(w, metric->name, false, metric->help);
	for (size_t i = 0; i < groups->nr; i++) {
		const uint64_t value = member_of(&groups->v[i].sums, metric->member);

		if (value || !metric->is_known_if_set)
			write_sample(w, metric->name, groups->v[i].name, NULL, NULL, value);
	}
}

/* The array of the kinds' bytes is the member AT. */
static void
write_by_kind(const struct metrics_writer *w, const struct export_groups *groups, const char *name,
	size_t at, const char *help)
{
	write_head(w, name, false, help);
	for (size_t i = 0; i < groups->nr; i++)
		for (enum export_kind kind = 0; kind < NR_EXPORT_KINDS; kind++)
			write_sample(w, name, groups->v[i].name, "kind", export_kind_name(kind),
				member_of(&groups->v[i].sums, at + kind * sizeof(uint64_t)));
}

static void
write_groups(const struct metrics_writer *w, const struct export_groups *groups)
{
	write_by_kind(w, groups, "memdiag_resident_bytes", offsetof(struct export_sums, resident),
		"Resident bytes by kind; their sum is RSS.  Memory that processes share is counted "
		"in each of them.");
	write_by_kind(w, groups, "memdiag_swapped_bytes", offsetof(struct export_sums, swapped),
		"Swapped bytes by kind.");
	for (size_t i = 0; i < sizeof group_metrics / sizeof *group_metrics; i++)
		write_group_metric(w, groups, &group_metrics[i]);
}

/* ---- of the exporter ---- */

static void
write_seconds(const struct metrics_writer *w, const char *name, bool is_counter, double seconds,
	const char *help)
{
	write_head(w, name, is_counter, help);
	fprintf(w->f, "%s %.6f\n", name, seconds);
}

static double
cpu_seconds(void)
{
	struct rusage r;

	if (getrusage(RUSAGE_SELF, &r) < 0)
		return 0;
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
		(double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

static void
write_own(const struct metrics_writer *w, const struct export_metrics *m)
{
	static const char errors[] = "memdiag_scrape_errors_total";

	write_head(w, "memdiag_processes_left_out", false,
		"Processes that met a condition, but are not exported because there were more than "
		"--max-processes.");
	write_sample(w, "memdiag_processes_left_out", NULL, NULL, NULL, m->scan->nr_left_out);
	write_head(w, errors, true,
		"Readings of a process that failed, so that it was left out, by reason.");
	for (enum export_error i = 0; i < NR_EXPORT_ERRORS; i++)
		write_sample(
			w, errors, NULL, "reason", export_error_name(i), m->scan->nr_errors[i]);
	write_seconds(w, "memdiag_scrape_duration_seconds", false, m->scan_s,
		"How long it took to read all processes for this answer.");
	write_seconds(w, "process_cpu_seconds_total", true, cpu_seconds(),
		"Processor time of the exporter.");
	write_head(w, "memdiag_build_info", false, "The version of memdiag; the value is 1.");
	write_sample(w, "memdiag_build_info", NULL, "version", PACKAGE_VERSION, 1);
}

void
export_metrics_write(FILE *f, const struct export_metrics *m, enum export_format format)
{
	const struct metrics_writer w = { f, format };

	write_groups(&w, m->groups);
	write_own(&w, m);
	if (format == EXPORT_OPENMETRICS)
		fputs("# EOF\n", f);
}
