/*
 * listen: the socket on which the exporter is asked.
 */
#ifndef MEMDIAG_EXPORT_LISTEN_H
#define MEMDIAG_EXPORT_LISTEN_H

#include <stdbool.h>

#include "base/err.h"

/* A listening socket. */
struct export_socket {
	int fd;
	char *path;    /* owned: of a unix socket that was made, which is removed at the end */
	char *address; /* owned: "HOST:PORT" with the port that was taken, or WHERE */
	bool is_local; /* only this machine can connect */
};

#define EXPORT_SOCKET_NONE                                                                         \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/*
 * Listen on WHERE: "HOST:PORT", "[IPV6]:PORT" (port 0: any free one), "unix:PATH" (mode 0660; a
 * socket at PATH that nobody listens on is replaced), or "systemd" (the one socket that it passes,
 * sd_listen_fds(3)).  S need not be initialised.  0, or -1 with E.
 */
int export_listen(struct export_socket *s, const char *where, struct err *e);
void export_socket_release(struct export_socket *s);
#define auto_export_socket __attribute__((cleanup(export_socket_release)))

#endif
