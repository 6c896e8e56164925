#include <config.h>

#include "export/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Connections that wait until one of the others ends; the kernel's limit is net.core.somaxconn. */
#define BACKLOG 128
/* The first descriptor that systemd passes: SD_LISTEN_FDS_START. */
#define PASSED_FD 3

/* ---- systemd ---- */

/* Return the number in the environment variable NAME, -1 if it is not set. */
static long
number_of(const char *name)
{
	const char *value = getenv(name);
	char *end;
	long n = value ? strtol(value, &end, 10) : -1;

	return value && *value && !*end ? n : -1;
}

static int
take_passed(struct export_socket *s, struct err *e)
{
	int is_listening = 0;
	socklen_t size = sizeof is_listening;

	if (number_of("LISTEN_PID") != getpid() || number_of("LISTEN_FDS") < 1)
		return err_set_kind(e, ERR_USAGE, 0,
			"systemd has passed no socket; memdiag must be started by a .socket unit");
	if (number_of("LISTEN_FDS") != 1)
		return err_set_kind(e, ERR_USAGE, 0,
			"systemd has passed %ld sockets; memdiag listens on one",
			number_of("LISTEN_FDS"));
	if (getsockopt(PASSED_FD, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) < 0 ||
		!is_listening)
		return err_set_kind(e, ERR_USAGE, 0,
			"descriptor 3 of systemd is not a listening stream socket");
	fcntl(PASSED_FD, F_SETFD, FD_CLOEXEC);
	s->fd = PASSED_FD;
	return 0;
}

/* ---- unix ---- */

/* Return whether a process listens on the socket at A. */
static bool
is_answered(const struct sockaddr_un *a)
{
	auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof *a) == 0;
}

static int
listen_on_path(struct export_socket *s, const char *path, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t mask;
	int failed;

	if (!*path || strlen(path) >= sizeof a.sun_path)
		return err_set_kind(e, ERR_USAGE, 0, "the path of a unix socket has 1 to %zu bytes",
			sizeof a.sun_path - 1);
	strcpy(a.sun_path, path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return err_set(e, errno, "cannot make a unix socket");
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && !is_answered(&a))
		unlink(path);
	mask = umask(0117);
	failed = bind(s->fd, (const struct sockaddr *)&a, sizeof a);
	umask(mask);
	if (failed)
		return err_set(e, errno, "cannot listen on %s", path);
	s->path = strdup(path);
	s->is_local = true;
	return listen(s->fd, BACKLOG) < 0 ? err_set(e, errno, "cannot listen on %s", path) : 0;
}

/* ---- TCP ---- */

/* Split WHERE, "HOST:PORT" or "[IPV6]:PORT", in place. */
static int
split(char *where, char **ret_host, char **ret_port)
{
	char *colon = strrchr(where, ':');

	if (!colon || colon == where || !colon[1])
		return -1;
	*colon = '\0';
	*ret_port = colon + 1;
	*ret_host = where;
	if (*where == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		*ret_host = where + 1;
	} else if (strchr(where, ':')) {
		return -1;
	}
	return 0;
}

static bool
is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;

	return a->sa_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == 127
				       : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Store the address of S, with the port that the kernel chose. */
static void
name_address(struct export_socket *s, const char *host)
{
	struct sockaddr_storage a;
	socklen_t size = sizeof a;
	char port[16];

	if (getsockname(s->fd, (struct sockaddr *)&a, &size) < 0 ||
		getnameinfo((struct sockaddr *)&a, size, NULL, 0, port, sizeof port,
			NI_NUMERICSERV) != 0 ||
		asprintf(&s->address, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port) < 0)
		s->address = NULL;
	s->is_local = is_loopback((struct sockaddr *)&a);
}

static int
listen_on_address(struct export_socket *s, const char *where, struct err *e)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	auto_free char *copy = strdup(where);
	struct addrinfo *a;
	char *host, *port;
	const int one = 1;
	int code;

	if (!copy || split(copy, &host, &port) < 0)
		return err_set_kind(e, ERR_USAGE, 0,
			"'%s' is not HOST:PORT, [IPV6]:PORT, unix:PATH or systemd", where);
	code = getaddrinfo(host, port, &hints, &a);
	if (code)
		return err_set_kind(
			e, ERR_USAGE, 0, "cannot look up '%s': %s", where, gai_strerror(code));
	s->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
		bind(s->fd, a->ai_addr, a->ai_addrlen) < 0 || listen(s->fd, BACKLOG) < 0)
		code = errno;
	freeaddrinfo(a);
	if (code)
		return err_set(e, code, "cannot listen on %s", where);
	name_address(s, host);
	return 0;
}

/* ---- all ---- */

int
export_listen(struct export_socket *s, const char *where, struct err *e)
{
	int failed;

	*s = (struct export_socket)EXPORT_SOCKET_NONE;
	if (strcmp(where, "systemd") == 0)
		failed = take_passed(s, e);
	else if (strncmp(where, "unix:", 5) == 0)
		failed = listen_on_path(s, where + 5, e);
	else
		failed = listen_on_address(s, where, e);
	if (!failed && !s->address)
		s->address = strdup(where);
	if (!failed && !s->address)
		failed = err_set(e, ENOMEM, "cannot keep the address");
	if (failed)
		export_socket_release(s);
	return failed;
}

void
export_socket_release(struct export_socket *s)
{
	cleanup_fd(&s->fd);
	if (s->path)
		unlink(s->path);
	free(s->path);
	free(s->address);
	*s = (struct export_socket)EXPORT_SOCKET_NONE;
}
