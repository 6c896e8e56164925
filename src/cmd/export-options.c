#include <config.h>

#include "cmd/export-options.h"

#include "ui/options.h"

/* Without --match, only large processes. */
#define DEFAULT_MATCH "min-rss=256M"

static void
add_match(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct export_options *o = input;
	const char *wrong = export_match_add(&o->matches, arg);

	(void)row;
	if (wrong)
		ui_refuse(state, arg, wrong);
}

static void
check_template(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	const char *wrong = export_name_check(arg);

	(void)row, (void)input;
	if (wrong)
		ui_refuse(state, arg, wrong);
}

#define AT(member) UI_AT(struct export_options, member)

static const struct ui_option export_option_rows[] = {
	{ "listen", 0, "ADDRESS", 1,
		"answer requests at HOST:PORT, unix:PATH, or on the socket that systemd passes: "
		"systemd (127.0.0.1:9776)",
		UI_STRING, AT(listen), UI_GIVEN(struct export_options, has_listen) },
	{ "tls-cert", 0, "FILE", 1, "serve HTTPS with this certificate, in PEM format", UI_FILE,
		AT(tls_cert) },
	{ "tls-key", 0, "FILE", 1, "its key", UI_FILE, AT(tls_key) },
	{ "request-timeout", 0, "TIME", 1,
		"close a connection whose request takes longer to come, or its answer to be taken "
		"(15s)",
		UI_DURATION, AT(request_ns), .least = 100000000, .preset = UINT64_C(15000000000),
		.beyond = "is too short: at least 100ms" },
	{ "user", 0, "NAME", 1,
		"become this user, with the capabilities to read other users' processes and no "
		"others",
		UI_STRING, AT(user) },
	{ "once", 0, NULL, 2, "print the metrics, and end", UI_FLAG, AT(once) },
	{ "textfile", 0, "FILE", 2,
		"write the metrics to FILE, for the textfile collector of node_exporter, and end",
		UI_FILE, AT(textfile) },
	{ "match", 0, "KEY=GLOB[,...]", 3,
		"export processes that meet all of these: comm, exe, unit, cgroup, container, pod, "
		"and min-rss=SIZE; may be given several times (" DEFAULT_MATCH ")",
		UI_STRING, .set = add_match },
	{ "name", 0, "TEMPLATE", 3,
		"the group of a process: text with {comm}, {exe}, {unit}, {cgroup}, {container} or "
		"{pod} ({unit}, or {comm} if it is not in a unit)",
		UI_STRING, AT(template), .set = check_template },
	{ "max-processes", 0, "N", 3, "of more processes, export the largest (500)", UI_NUMBER,
		AT(max_processes), .least = 1, .preset = 500, .beyond = "is too few" },
	{ "max-groups", 0, "N", 3,
		"limit of group names; processes of further groups are in 'other groups' (200)",
		UI_NUMBER, AT(max_groups), .least = 1, .preset = 200, .beyond = "is too few" },
	{ 0 },
};

#define RULE(kind, a, b, why) UI_RULE(kind, struct export_options, a, b, why)

static const struct ui_rule export_rules[] = {
	RULE(UI_NEEDS, tls_cert, tls_key, "--tls-cert needs --tls-key"),
	RULE(UI_NEEDS, tls_key, tls_cert, "--tls-key needs --tls-cert"),
	RULE(UI_EXCLUDES, once, has_listen, "--once answers no requests: leave out --listen"),
	RULE(UI_EXCLUDES, textfile, has_listen,
		"--textfile answers no requests: leave out --listen"),
	RULE(UI_EXCLUDES, once, tls_cert, "--once answers no requests: leave out --tls-cert"),
	RULE(UI_EXCLUDES, textfile, tls_cert,
		"--textfile answers no requests: leave out --tls-cert"),
	RULE(UI_EXCLUDES, textfile, ui.output, "--textfile and -o both name the file"),
	RULE(UI_EXCLUDES, once, textfile, "--textfile is --once -f -o FILE"),
	{ 0 },
};

static void
export_check(struct argp_state *state, void *input)
{
	struct export_options *o = input;

	if (o->ui.json)
		argp_error(state, "metrics are text in the format of Prometheus; there is no JSON");
	if (o->ui.output && !o->once)
		argp_error(state, "-o takes the metrics of --once");
	if (!o->matches.nr)
		export_match_add(&o->matches, DEFAULT_MATCH);
	if (!o->listen)
		o->listen = "127.0.0.1:9776";
	if (!o->template)
		o->template = "{unit}";
	if (!o->textfile)
		return;
	o->once = o->ui.force = true;
	o->ui.output = o->textfile;
}

static const struct ui_child export_children[] = {
	{ &ui_output_syntax, offsetof(struct export_options, ui) },
	{ 0 },
};

const struct ui_syntax export_syntax = {
	.options = export_option_rows,
	.rules = export_rules,
	.children = export_children,
	.check = export_check,
	.doc = "Export the memory of processes, by groups and kinds, to Prometheus, and to engines "
	       "that read profiles in pprof's format.\v"
	       "It only reads: no process is stopped, written to or signalled, and a seccomp "
	       "filter makes that impossible.\n\n"
	       "Examples:\n"
	       "  memdiag export --listen 127.0.0.1:9776\n"
	       "  memdiag export --match 'comm=mysqld' --match 'unit=nginx*,min-rss=64M'\n"
	       "  memdiag export --listen unix:/run/memdiag.sock --user nobody\n"
	       "  memdiag export --name '{container}'\n"
	       "  memdiag export --once\n"
	       "  memdiag export --textfile /var/lib/prometheus/node-exporter/memdiag.prom\n\n" UI_EXIT_STATUS_HELP,
};
