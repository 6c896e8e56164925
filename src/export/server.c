/*
 * One thread serves all connections in turn, with libmicrohttpd and one epoll descriptor.  What a
 * client can take is bounded: the number of connections, the memory of each, and the time in which
 * its request must have come and its answer must be taken.  libmicrohttpd's own timeout starts
 * again with every byte, so it alone would let a client that sends slowly keep a connection.
 */
#include <config.h>

#include "export/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "profile/profile.h"

#define CONNECTIONS_MAX 128
/* Memory of one connection: headers that do not fit are refused with 431. */
#define CONNECTION_BYTES (32U << 10)
/* A connection without a byte for so long is closed. */
#define IDLE_S 30U
/* How often connections are looked at. */
#define LOOK_MS 1000
/* Requests that wait to be answered: each keeps a profile. */
#define WAITING_MAX 8

struct export_connection {
	struct export_connection *next;
	int fd;
	uint64_t since_ns; /* it was made, or its last request was answered */
	bool is_waiting;   /* for a request, or for its answer to be taken */
};

/* A request for a profile of what changes in some time. */
struct waiting {
	struct waiting *next;
	struct MHD_Connection *connection;
	struct profile *base; /* owned: as it was at first */
	uint64_t due_ns;
	bool is_suspended;
};

struct export_server {
	struct exporter *x;
	struct waiting *waiting; /* a list */
	unsigned int nr_waiting;
	struct MHD_Daemon *daemon;
	struct export_connection *connections; /* a list */
	uint64_t request_ns;
};

/* ---- connections ---- */

static void
add_connection(struct export_server *s, struct MHD_Connection *connection, void **socket_context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct export_connection *c = calloc(1, sizeof *c);

	*socket_context = c;
	if (!c)
		return; /* then only IDLE_S bounds it */
	*c = (struct export_connection){ s->connections, info ? info->connect_fd : -1, os_now_ns(),
		true };
	s->connections = c;
}

static void
remove_connection(struct export_server *s, struct export_connection *c)
{
	struct export_connection **at = &s->connections;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	free(c);
}

static void
note_connection(void *arg, struct MHD_Connection *connection, void **socket_context,
	enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		add_connection(arg, connection, socket_context);
	else if (*socket_context)
		remove_connection(arg, *socket_context);
}

static struct export_connection *
connection_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* ---- requests that wait ---- */

static void
waiting_free(struct export_server *s, struct waiting *w)
{
	struct waiting **at = &s->waiting;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	s->nr_waiting--;
	profile_free(w->base);
	free(w);
}

/* Let CONNECTION wait as A says, whose base is taken.  NULL: too many do, or there is no memory. */
static struct waiting *
waiting_new(struct export_server *s, struct MHD_Connection *connection, struct export_answer *a)
{
	struct waiting *w = s->nr_waiting < WAITING_MAX ? calloc(1, sizeof *w) : NULL;

	if (!w)
		return NULL;
	*w = (struct waiting){ s->waiting, connection, take_ptr(&a->base), os_now_ns() + a->wait_ns,
		true };
	s->waiting = w;
	s->nr_waiting++;
	MHD_suspend_connection(connection);
	return w;
}

/* Resume the requests whose time is over; with ALL, each. */
static void
resume_waiting(struct export_server *s, bool all)
{
	const uint64_t now_ns = os_now_ns();

	for (struct waiting *w = s->waiting; w; w = w->next) {
		if (!w->is_suspended || (!all && now_ns < w->due_ns))
			continue;
		w->is_suspended = false;
		MHD_resume_connection(w->connection);
	}
}

/* A request has ended: the time for the next one begins with its first byte, or never. */
static void
note_request_end(void *arg, struct MHD_Connection *connection, void **context,
	enum MHD_RequestTerminationCode code)
{
	struct export_connection *c = connection_of(connection);

	(void)code;
	if (*context)
		waiting_free(arg, *context);
	*context = NULL;
	if (c)
		c->is_waiting = false;
}

/* The first line of a request has come. */
static void *
note_request(void *arg, const char *uri, struct MHD_Connection *connection)
{
	struct export_connection *c = connection_of(connection);

	(void)arg, (void)uri;
	if (c && !c->is_waiting) {
		c->since_ns = os_now_ns();
		c->is_waiting = true;
	}
	return NULL;
}

/* End connections whose request, or whose taking of the answer, takes too long. */
static void
end_slow(struct export_server *s)
{
	const uint64_t now = os_now_ns();

	for (struct export_connection *c = s->connections; c; c = c->next)
		if (c->is_waiting && c->fd >= 0 && now - c->since_ns > s->request_ns)
			shutdown(c->fd, SHUT_RDWR); /* libmicrohttpd closes it then */
}

/* ---- requests ---- */

/* Queue the answer A, whose body is taken. */
static enum MHD_Result
queue(struct MHD_Connection *connection, struct export_answer *a)
{
	static char busy[] = "too many profiles are being made: ask later\n";
	struct MHD_Response *r;
	enum MHD_Result done;

	if (a->status) {
		r = MHD_create_response_from_buffer(a->body.len, a->body.v, MHD_RESPMEM_MUST_FREE);
	} else {
		r = MHD_create_response_from_buffer(sizeof busy - 1, busy, MHD_RESPMEM_PERSISTENT);
		a->status = MHD_HTTP_TOO_MANY_REQUESTS;
		a->type = "text/plain; charset=utf-8";
	}
	if (!r)
		return MHD_NO;
	a->body = (struct text){ 0 };
	if (a->type)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Content-Security-Policy", "default-src 'none'");
	done = MHD_queue_response(connection, a->status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result
handle(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
	const char *version, const char *data, size_t *nr_data, void **context)
{
	struct export_server *s = arg;
	struct waiting *w = *context;
	const struct export_request q = {
		.method = method,
		.path = url,
		.accept = MHD_lookup_connection_value(
			connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT),
		.host = MHD_lookup_connection_value(
			connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST),
		.group = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "group"),
		.seconds =
			MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "seconds"),
		.base = w ? w->base : NULL,
	};
	struct export_connection *c = connection_of(connection);
	struct export_answer answer;
	enum MHD_Result done;

	(void)version, (void)data, (void)nr_data;
	exporter_answer(s->x, &q, &answer);
	if (!answer.status && !w)
		w = *context = waiting_new(s, connection, &answer);
	done = !answer.status && w ? MHD_YES : queue(connection, &answer);
	export_answer_release(&answer);
	if (c) {
		c->since_ns = os_now_ns();
		c->is_waiting = !w || !w->is_suspended;
	}
	return done;
}

/* ---- the server ---- */

int
export_server_start(struct export_server **ret, struct exporter *x, int fd,
	const struct export_tls *tls, uint64_t request_ns, struct err *e)
{
	const struct MHD_OptionItem with_tls[] = {
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)tls->key },
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)tls->cert },
		{ MHD_OPTION_END, 0, NULL },
	};
	const struct MHD_OptionItem nothing = { MHD_OPTION_END, 0, NULL };
	struct export_server *s = calloc(1, sizeof *s);

	if (!s)
		return err_set(e, ENOMEM, "cannot begin to serve");
	s->x = x;
	s->request_ns = request_ns;
	s->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls->cert ? MHD_USE_TLS : 0), 0, NULL,
		NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_NOTIFY_CONNECTION,
		note_connection, s, MHD_OPTION_NOTIFY_COMPLETED, note_request_end, s,
		MHD_OPTION_URI_LOG_CALLBACK, note_request, s, MHD_OPTION_ARRAY,
		tls->cert ? with_tls : &nothing, MHD_OPTION_END);
	if (!s->daemon) {
		free(s);
		return err_set(e, 0, "cannot begin to serve%s",
			tls->cert ? ": are these a certificate and its key in PEM format?" : "");
	}
	*ret = s;
	return 0;
}

int
export_server_run(struct export_server *s, const volatile int *end, struct err *e)
{
	struct pollfd p = {
		.fd = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		.events = POLLIN
	};

	while (!*end) {
		MHD_UNSIGNED_LONG_LONG ms = LOOK_MS;

		if (MHD_get_timeout(s->daemon, &ms) != MHD_YES || ms > LOOK_MS)
			ms = LOOK_MS;
		if (poll(&p, 1, (int)ms) < 0 && errno != EINTR)
			return err_set(e, errno, "cannot wait for requests");
		end_slow(s);
		resume_waiting(s, false);
		if (MHD_run(s->daemon) != MHD_YES)
			return err_set(e, 0, "cannot serve any more");
	}
	return 0;
}

void
export_server_free(struct export_server *s)
{
	if (!s)
		return;
	MHD_quiesce_daemon(s->daemon); /* the socket is the caller's */
	resume_waiting(s, true);
	MHD_stop_daemon(s->daemon);
	free(s);
}
