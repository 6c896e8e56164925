/* export-main: the program of memdiag export. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "cmd/export-options.h"
#include "export/confine.h"
#include "export/exporter.h"
#include "export/listen.h"
#include "export/server.h"
#include "os/child.h"
#include "os/stranger.h"
#include "ui/begin.h"
#include "ui/exit.h"
#include "ui/output.h"

/* A certificate with its chain, or a key. */
#define PEM_MAX_BYTES (1U << 20)

static volatile int is_ending;

static void
end(int sig)
{
	(void)sig;
	is_ending = 1;
}

/* End after the present request at SIGTERM and SIGINT. */
static void
handle_signals(void)
{
	const struct sigaction action = { .sa_handler = end };

	os_ignore_failed_writes();
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

/* Each process that is exported takes five descriptors. */
static void
raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* ---- once ---- */

static int
write_once(struct export_options *o, struct exporter *x, struct err *e)
{
	auto_output struct ui_output out = UI_OUTPUT_NONE;

	if (ui_output_open(&out, &o->ui, e) < 0 || export_drop_rights(o->user, e) < 0 ||
		export_confine(o->ui.output != NULL, e) < 0 ||
		exporter_write_metrics(x, out.f, e) < 0)
		return -1;
	return ui_output_close(&out, e) < 0 ? -1 : UI_DONE;
}

/* ---- serving ---- */

/* Read FILE, which the user names, into RET. */
static int
read_pem(const char *file, struct text *ret, struct err *e)
{
	auto_fd int fd = os_open(file, OS_REGULAR, e);

	if (fd < 0)
		return -1;
	return text_read(ret, fd, PEM_MAX_BYTES) < 0 ? err_set(e, errno, "cannot read %s", file)
						     : 0;
}

/* Say where X listens, and to whom that is open. */
static void
announce(const struct export_options *o, const struct export_socket *s)
{
	ui_note(&o->ui, "listening on %s", s->address);
	if (!s->is_local && !o->tls_cert)
		ui_note(&o->ui,
			"other machines can connect to it, and nothing is encrypted: see --tls-cert");
}

static int
serve_requests(struct export_options *o, struct exporter *x, struct err *e)
{
	auto_export_socket struct export_socket s = EXPORT_SOCKET_NONE;
	auto_export_server struct export_server *server = NULL;
	auto_text struct text cert = { 0 }, key = { 0 };
	struct export_tls tls = { 0 };

	if (o->tls_cert &&
		(read_pem(o->tls_cert, &cert, e) < 0 || read_pem(o->tls_key, &key, e) < 0))
		return -1;
	tls = (struct export_tls){ cert.v, key.v };
	if (export_listen(&s, o->listen, e) < 0)
		return -1;
	x->address = s.address;
	if (export_drop_rights(o->user, e) < 0 ||
		export_server_start(&server, x, s.fd, &tls, o->request_ns, e) < 0)
		return -1;
	announce(o, &s);
	return export_confine(false, e) < 0 || export_server_run(server, &is_ending, e) < 0
		? -1
		: UI_DONE;
}

int
main(int argc, char **argv)
{
	const enum ui_exit begun = ui_begin();
	struct export_options o = { 0 };
	struct exporter x = { 0 };
	struct err e = { 0 };
	int status;

	if (begun != UI_DONE)
		return (int)begun;
	ui_parse(&export_syntax, argc, argv, &o);
	handle_signals();
	raise_descriptor_limit();
	x.scan.matches = &o.matches;
	x.scan.template = o.template;
	x.scan.max_processes = o.max_processes;
	x.names.max = o.max_groups;
	status = o.once ? write_once(&o, &x, &e) : serve_requests(&o, &x, &e);
	exporter_release(&x);
	export_matches_release(&o.matches);
	if (status >= 0)
		return status;
	fprintf(stderr, "memdiag export: %s\n", e.msg);
	return (int)ui_exit_of(&e);
}
