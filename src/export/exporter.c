#include <config.h>

#include "export/exporter.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentdata/agent-segment.h"
#include "agentdata/collect.h"
#include "agentdata/live-files.h"
#include "agentdata/sites.h"
#include "base/cleanup.h"
#include "export/memory-map.h"
#include "export/metrics.h"
#include "os/clock.h"
#include "profile/pprof-write.h"
#include "profile/profile.h"

/* An update waits this many times as long as the last one took. */
#define REST_TIMES 4

/* Profiles may take so much processor time at once: a server asks for those of all groups. */
#define BURST_NS UINT64_C(2000000000)

/* The longest time of a profile of what changes. */
#define MOST_SECONDS 300
#define MOST_SECONDS_TEXT "300"

/* ---- reading ---- */

/* Read all processes again.  On failure the result of the last update stays. */
static int
update_now(struct exporter *x, struct err *e)
{
	struct export_groups groups = { 0 };

	x->began_ns = os_now_ns();
	if (export_scan_update(&x->scan, e) < 0 ||
		export_groups_make(&groups, &x->scan, &x->names, e) < 0) {
		export_groups_release(&groups);
		return -1;
	}
	export_groups_release(&x->groups);
	x->groups = groups;
	x->ended_ns = os_now_ns();
	return 0;
}

static int
update_if_due(struct exporter *x, struct err *e)
{
	const uint64_t took_ns = x->ended_ns - x->began_ns;

	if (x->ended_ns && os_now_ns() - x->ended_ns < REST_TIMES * took_ns)
		return 0;
	return update_now(x, e);
}

static void
write_metrics(const struct exporter *x, FILE *f, enum export_format format)
{
	const struct export_metrics m = { &x->groups, &x->scan,
		(double)(x->ended_ns - x->began_ns) / 1e9 };

	export_metrics_write(f, &m, format);
}

int
exporter_write_metrics(struct exporter *x, FILE *f, struct err *e)
{
	if (update_now(x, e) < 0)
		return -1;
	write_metrics(x, f, EXPORT_PROMETHEUS);
	return 0;
}

/* ---- answers ---- */

static const char text_plain[] = "text/plain; charset=utf-8";

/* Set the body to TEXT and a newline. */
static void
answer_text(struct export_answer *a, unsigned int status, const char *text)
{
	int n = asprintf(&a->body.v, "%s\n", text);

	a->body.len = n < 0 ? 0 : (size_t)n;
	if (n < 0)
		a->body.v = NULL;
	a->status = n < 0 ? 503 : status;
	a->type = text_plain;
}

/* Return a stream for the body; NULL: no memory, which is the answer then. */
static FILE *
begin_body(struct export_answer *a)
{
	FILE *f = open_memstream(&a->body.v, &a->body.len);

	if (!f)
		answer_text(a, 503, "no memory");
	return f;
}

/*
 * Close the stream F of the body, which is of TYPE; if E is set, the answer is its message instead.
 */
static void
end_body(struct export_answer *a, FILE *f, const char *type, const struct err *e)
{
	bool failed = ferror(f);

	failed |= fclose(f) != 0;
	if (failed || e->kind) {
		text_release(&a->body);
		answer_text(a, 503, e->kind ? e->msg : "no memory");
		return;
	}
	a->status = 200;
	a->type = type;
}

static void
answer_metrics(struct exporter *x, const struct export_request *q, struct export_answer *a)
{
	const enum export_format format = export_metrics_choose(q->accept);
	const struct err none = { 0 };
	FILE *f = begin_body(a);

	if (!f)
		return;
	write_metrics(x, f, format);
	end_body(a, f, export_metrics_type(format), &none);
}

/* ---- service discovery ---- */

/* Add the target of group NAME. */
static int
add_target(json_t *targets, const char *address, const char *name)
{
	return json_array_append_new(targets,
		json_pack("{s: [s], s: {s: s, s: s, s: s}}", "targets", address, "labels",
			"__profile_path__", "/debug/pprof/memory_map", "__param_group", name,
			"service_name", name));
}

/* A client's Host header goes back to that client only, but not if it is no host. */
static bool
is_host(const char *host)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_:[]";

	return host && *host && strlen(host) < 256 && !host[strspn(host, allowed)];
}

static void
answer_discovery(struct exporter *x, const struct export_request *q, struct export_answer *a)
{
	json_auto_t *targets = json_array();
	int failed = !targets;

	for (size_t i = 0; !failed && i < x->groups.nr; i++)
		failed = add_target(
			targets, is_host(q->host) ? q->host : x->address, x->groups.v[i].name);
	a->body.v = failed ? NULL : json_dumps(targets, JSON_COMPACT);
	if (!a->body.v) {
		answer_text(a, 503, "no memory");
		return;
	}
	a->body.len = strlen(a->body.v);
	a->status = 200;
	a->type = "application/json";
}

/* ---- profiles ---- */

/* Make a profile of P, which was read; *RET stays NULL if it has none.  0, or -1 with E. */
typedef int make_profile_fn(struct profile **ret, struct export_process *p, struct err *e);

static int
make_memory_map(struct profile **ret, struct export_process *p, struct err *e)
{
	return memory_map_make(ret, &p->space, &p->target, e);
}

/* The blocks in use that a running profile of P has, with the names of functions. */
static int
make_heap_profile(struct profile **ret, struct export_process *p, struct err *e)
{
	const struct symbols_options options = { .without_lines = true };
	const struct process *process = p->space.process;
	auto_agent_segment struct agent_segment agent = { 0 };
	auto_sites struct sites_copy sites = { 0 };

	if (agent_segment_read(&agent, process, e) < 0)
		return -1;
	if (!agent_segment_is_noting(&agent))
		return 0;
	if (sites_read_process(&sites, process, e) < 0 ||
		profile_collect(ret, &sites, process, e) < 0)
		return -1;
	return live_files_name(*ret, process, &options, e);
}

/* Add the profile that MAKE makes of P to *ALL, or set that if it is NULL. */
static int
add_profile(struct profile **all, struct export_process *p, make_profile_fn *make, struct err *e)
{
	auto_profile struct profile *one = NULL;

	if (export_process_read(p, e) < 0 || make(&one, p, e) < 0)
		return e->kind == ERR_GONE ? 0 : -1;
	if (one && *all)
		return profile_append(*all, one, e);
	if (one)
		*all = take_ptr(&one);
	return 0;
}

/* Make the profile of the processes of GROUP; *RET is NULL if none of them has one. */
static int
group_profile(struct profile **ret, const struct exporter *x, const char *group,
	make_profile_fn *make, struct err *e)
{
	*ret = NULL;
	for (size_t i = 0; i < x->scan.processes.nr; i++) {
		struct export_process *p = x->scan.processes.v[i];

		if (p->is_read && strcmp(p->group, group) == 0 && add_profile(ret, p, make, e) < 0)
			return -1;
	}
	return 0;
}

/* Return whether a profile may be made now: those before have taken no more than their part. */
static bool
may_profile(struct exporter *x)
{
	const uint64_t now_ns = os_now_ns();
	const uint64_t allowed_ns = (now_ns - x->paid_ns) / (REST_TIMES + 1);

	x->owed_ns = x->owed_ns > allowed_ns ? x->owed_ns - allowed_ns : 0;
	x->paid_ns = now_ns;
	return x->owed_ns < BURST_NS;
}

/* Store the time that Q asks for in RET, 0: none.  False if it is not from 1 to MOST_SECONDS. */
static bool
take_seconds(const struct export_request *q, uint64_t *ret_ns)
{
	char *end;
	unsigned long seconds;

	*ret_ns = 0;
	if (!q->seconds)
		return true;
	seconds = strtoul(q->seconds, &end, 10);
	if (q->seconds[0] < '0' || q->seconds[0] > '9' || *end || !seconds ||
		seconds > MOST_SECONDS)
		return false;
	*ret_ns = seconds * UINT64_C(1000000000);
	return true;
}

/* Answer with P, less the base of Q if it has one; or keep P as the base for WAIT_NS. */
static void
answer_with(struct export_answer *a, const struct export_request *q, struct profile **p,
	uint64_t wait_ns)
{
	struct err e = { 0 };
	FILE *f;

	if (wait_ns && !q->base) {
		a->base = take_ptr(p);
		a->wait_ns = wait_ns;
		return;
	}
	if (q->base &&
		profile_subtract(*p, q->base, (*p)->types.v[(*p)->default_type].name, &e) < 0) {
		answer_text(a, 503, e.msg);
		return;
	}
	f = begin_body(a);
	if (!f)
		return;
	pprof_write(*p, f, &e);
	end_body(a, f, "application/octet-stream", &e);
}

/* Answer with the profile that MAKE makes, or with MISSING if it makes none. */
static void
answer_profile(struct exporter *x, const struct export_request *q, struct export_answer *a,
	make_profile_fn *make, const char *missing)
{
	const uint64_t began_ns = os_cpu_ns();
	auto_profile struct profile *p = NULL;
	uint64_t wait_ns;
	struct err e;

	if (!q->group)
		answer_text(a, 400, "which group? ask for ?group=NAME; /sd has the names");
	else if (!take_seconds(q, &wait_ns))
		answer_text(a, 400, "seconds is a number from 1 to " MOST_SECONDS_TEXT);
	else if (!q->base && !may_profile(x))
		answer_text(a, 429, "profiles take a fifth of a processor already: ask later");
	else if (group_profile(&p, x, q->group, make, &e) < 0)
		answer_text(a, 503, e.msg);
	else if (!p)
		answer_text(a, 404, missing);
	else
		answer_with(a, q, &p, wait_ns);
	x->owed_ns += os_cpu_ns() - began_ns;
}

static void
answer_memory_map(struct exporter *x, const struct export_request *q, struct export_answer *a)
{
	answer_profile(
		x, q, a, make_memory_map, "no process of this group was read; /sd has the names");
}

static void
answer_heap(struct exporter *x, const struct export_request *q, struct export_answer *a)
{
	answer_profile(x, q, a, make_heap_profile,
		"no process of this group has a running profile. To start one: memdiag profile "
		"start --pid PID");
}

/* ---- paths ---- */

static void
answer_landing(struct exporter *x, const struct export_request *q, struct export_answer *a)
{
	static const char page[] =
		"<!DOCTYPE html><html lang=\"en\"><head><title>memdiag export</title></head><body>"
		"<h1>memdiag " PACKAGE_VERSION "</h1><ul>"
		"<li><a href=\"/metrics\">/metrics</a>: for Prometheus</li>"
		"<li><a href=\"/sd\">/sd</a>: the groups as targets of profiles, in the "
		"form of Prometheus's HTTP service discovery</li>"
		"<li>/debug/pprof/memory_map?group=NAME: resident memory of a group, for go tool "
		"pprof</li>"
		"<li>/debug/pprof/heap?group=NAME: what the running profiles of a group have</li>"
		"<li>either of them with &amp;seconds=N: what changes in that time</li>"
		"<li><a href=\"/-/healthy\">/-/healthy</a></li>"
		"</ul></body></html>";

	(void)x, (void)q;
	answer_text(a, 200, page);
	a->type = "text/html; charset=utf-8";
}

static void
answer_health(struct exporter *x, const struct export_request *q, struct export_answer *a)
{
	(void)x, (void)q;
	answer_text(a, 200, "ok");
}

static const struct export_path {
	const char *path;
	bool needs_update;
	void (*answer)(struct exporter *x, const struct export_request *q, struct export_answer *a);
} export_paths[] = {
	{ "/", false, answer_landing },
	{ "/-/healthy", false, answer_health },
	{ "/metrics", true, answer_metrics },
	{ "/sd", true, answer_discovery },
	{ "/debug/pprof/heap", true, answer_heap },
	{ "/debug/pprof/memory_map", true, answer_memory_map },
};

void
exporter_answer(struct exporter *x, const struct export_request *q, struct export_answer *ret)
{
	const struct export_path *p = NULL;
	struct err e;

	*ret = (struct export_answer){ 0 };
	for (size_t i = 0; !p && i < sizeof export_paths / sizeof *export_paths; i++)
		if (strcmp(q->path, export_paths[i].path) == 0)
			p = &export_paths[i];
	if (!p)
		answer_text(ret, 404, "there is no such page; / has a list");
	else if (strcmp(q->method, "GET") != 0 && strcmp(q->method, "HEAD") != 0)
		answer_text(ret, 405, "only GET and HEAD are possible");
	else if (p->needs_update && update_if_due(x, &e) < 0)
		answer_text(ret, 503, e.msg);
	else
		p->answer(x, q, ret);
}

void
export_answer_release(struct export_answer *a)
{
	text_release(&a->body);
	profile_free(a->base);
	a->base = NULL;
}

void
exporter_release(struct exporter *x)
{
	export_scan_release(&x->scan);
	export_groups_release(&x->groups);
	export_names_release(&x->names);
}
