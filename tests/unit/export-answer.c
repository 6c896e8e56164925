/*
 * Statuses of answers, without a connection: of pages, methods and arguments, and of profiles when
 * those before have taken much time.
 */
#include <config.h>

#include "export/exporter.h"
#include "os/clock.h"
#include "tests/unit/tap.h"

#define SECOND UINT64_C(1000000000)

/* Of no process, so that an answer takes little time. */
static char nobody[] = "\001";
static struct export_match none = { .pattern = { [EXPORT_COMM] = nobody } };
static const struct export_matches matches = { &none, 1, 1 };
static struct exporter x = {
	.scan = { .matches = &matches, .template = "{comm}", .max_processes = 1 },
	.names = { .max = 1 },
	.address = "localhost:9",
};

static unsigned int
status_of(const struct export_request *q)
{
	struct export_answer a;
	unsigned int status;

	exporter_answer(&x, q, &a);
	status = a.body.v && a.body.len && a.type ? a.status : 0;
	export_answer_release(&a);
	return status;
}

static const struct row {
	const char *method, *path, *group, *seconds;
	unsigned int status;
} rows[] = {
	{ "GET", "/", NULL, NULL, 200 },
	{ "HEAD", "/", NULL, NULL, 200 },
	{ "GET", "/metrics", NULL, NULL, 200 },
	{ "GET", "/sd", NULL, NULL, 200 },
	{ "GET", "/-/healthy", NULL, NULL, 200 },
	{ "POST", "/metrics", NULL, NULL, 405 },
	{ "GET", "/metrics/", NULL, NULL, 404 },
	{ "GET", "", NULL, NULL, 404 },
	{ "GET", "/debug/pprof/heap", NULL, NULL, 400 },
	{ "GET", "/debug/pprof/heap", "x", NULL, 404 },
	{ "GET", "/debug/pprof/memory_map", "x", NULL, 404 },
	{ "GET", "/debug/pprof/memory_map", "x", "1", 404 },
	{ "GET", "/debug/pprof/memory_map", "x", "300", 404 },
	{ "GET", "/debug/pprof/memory_map", "x", "", 400 },
	{ "GET", "/debug/pprof/memory_map", "x", "0", 400 },
	{ "GET", "/debug/pprof/memory_map", "x", "301", 400 },
	{ "GET", "/debug/pprof/memory_map", "x", "18446744073709551617", 400 },
	{ "GET", "/debug/pprof/memory_map", "x", "-1", 400 },
	{ "GET", "/debug/pprof/memory_map", "x", "+1", 400 },
	{ "GET", "/debug/pprof/memory_map", "x", " 1", 400 },
	{ "GET", "/debug/pprof/memory_map", "x", "1s", 400 },
	{ "GET", "/debug/pprof/memory_map", "x", "1.5", 400 },
};

int
main(void)
{
	const struct export_request profile = {
		.method = "GET", .path = "/debug/pprof/memory_map", .group = "x"
	};
	const struct export_request metrics = { .method = "GET", .path = "/metrics" };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		const struct export_request q = { .method = r->method,
			.path = r->path,
			.group = r->group,
			.seconds = r->seconds };
		char name[128];

		snprintf(name, sizeof name, "%s %s group %s seconds %s", r->method, r->path,
			r->group ? r->group : "-", r->seconds ? r->seconds : "-");
		is_u64(status_of(&q), r->status, name);
	}
	x.owed_ns = 100 * SECOND;
	x.paid_ns = os_now_ns();
	is_u64(status_of(&profile), 429, "profiles have taken much: no other is made");
	is_u64(status_of(&metrics), 200, "but there are metrics");
	ok(x.owed_ns < 101 * SECOND && x.owed_ns > 99 * SECOND, "a refusal takes next to nothing");
	x.owed_ns = 100 * SECOND;
	x.paid_ns = os_now_ns() - 480 * SECOND;
	is_u64(status_of(&profile), 429, "after 480 s of 500, too");
	x.paid_ns = os_now_ns() - 20 * SECOND;
	is_u64(status_of(&profile), 404, "after 500 s one is made again");
	exporter_release(&x);
	return tap_end();
}
