/* The format that a client gets, and the text of the metrics. */
#include <config.h>

#include "export/metrics.h"
#include "tests/unit/tap.h"

static const struct {
	const char *accept;
	enum export_format want;
} accepts[] = {
	{ NULL, EXPORT_PROMETHEUS },
	{ "", EXPORT_PROMETHEUS },
	{ "*/*", EXPORT_PROMETHEUS },
	{ "text/html,application/xhtml+xml,*/*;q=0.8", EXPORT_PROMETHEUS },
	{ "application/openmetrics-text", EXPORT_OPENMETRICS },
	{ "application/openmetrics-text;version=1.0.0", EXPORT_OPENMETRICS },
	{ "application/openmetrics-text; version=\"1.0.0\"; charset=utf-8", EXPORT_OPENMETRICS },
	{ "application/openmetrics-text;version=2.0.0", EXPORT_PROMETHEUS },
	{ "application/openmetrics-textual", EXPORT_PROMETHEUS },
	{ "APPLICATION/OPENMETRICS-TEXT", EXPORT_OPENMETRICS },
	/* Prometheus 2.42 and 3.1 */
	{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
	  "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		EXPORT_OPENMETRICS },
	{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/"
	  "openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;"
	  "q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		EXPORT_OPENMETRICS },
	{ "text/plain;version=0.0.4;q=1,*/*;q=0.1", EXPORT_PROMETHEUS },
	{ "text/plain, application/openmetrics-text;q=0.5", EXPORT_PROMETHEUS },
	{ "application/openmetrics-text;q=0", EXPORT_PROMETHEUS },
	{ "application/openmetrics-text;q=", EXPORT_PROMETHEUS },
	{ "application/openmetrics-text;q=nan", EXPORT_PROMETHEUS },
	{ ";q=1,;;,,,", EXPORT_PROMETHEUS },
	{ "application/openmetrics-text;", EXPORT_OPENMETRICS },
	{ "application/openmetrics-text;q", EXPORT_OPENMETRICS },
};

static void
test_accept(void)
{
	for (size_t i = 0; i < sizeof accepts / sizeof *accepts; i++)
		ok(export_metrics_choose(accepts[i].accept) == accepts[i].want, "Accept: %.100s",
			accepts[i].accept ? accepts[i].accept : "is missing");
}

/* Write M in FORMAT; the result is the caller's. */
static char *
written(const struct export_metrics *m, enum export_format format)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	export_metrics_write(f, m, format);
	fclose(f);
	return text;
}

static void
test_text(void)
{
	struct export_group group[2] = { { .name = "a\\b\"c\nf", .sums = { .nr_processes = 1 } },
		{ .name = "e", .sums = { .limit = 5 } } };
	const struct export_groups groups = { group, 2, 2 };
	struct export_scan scan = { .nr_errors = { 1, 2, 3 } };
	const struct export_metrics m = { &groups, &scan, 0.25 };
	char *old, *open;

	group[1].sums.resident[EXPORT_STACK] = UINT64_MAX;
	old = written(&m, EXPORT_PROMETHEUS);
	open = written(&m, EXPORT_OPENMETRICS);
	ok(strstr(old, "memdiag_processes{group=\"a\\\\b\\\"c\\nf\"} 1\n"),
		"a label's value is escaped");
	ok(strstr(old, "memdiag_resident_bytes{group=\"e\",kind=\"stack\"} 18446744073709551615\n"),
		"the largest number");
	ok(strstr(old, "memdiag_memory_limit_bytes{group=\"e\"} 5\n") &&
			!strstr(old, "memdiag_memory_limit_bytes{group=\"a"),
		"no limit is no sample");
	ok(strstr(old, "# TYPE memdiag_scrape_errors_total counter\n") &&
			strstr(open, "# TYPE memdiag_scrape_errors counter\n"),
		"the name of a counter in both formats");
	ok(strstr(open, "memdiag_scrape_errors_total{reason=\"resources\"} 2\n"),
		"its sample ends with _total");
	ok(!strstr(old, "# EOF") && strcmp(open + strlen(open) - 6, "# EOF\n") == 0,
		"OpenMetrics has an end");
	free(old);
	free(open);
}

int
main(void)
{
	test_accept();
	test_text();
	return tap_end();
}
