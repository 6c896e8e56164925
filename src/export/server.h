/*
 * server: HTTP and HTTPS for the exporter.
 */
#ifndef MEMDIAG_EXPORT_SERVER_H
#define MEMDIAG_EXPORT_SERVER_H

#include "base/err.h"
#include "export/exporter.h"

struct export_server;

/* Encryption; all is borrowed. */
struct export_tls {
	const char *cert, *key; /* the contents of PEM files; NULL: no TLS */
};

/*
 * Serve the answers of X on the listening socket FD; a connection is closed when its request has
 * not come within REQUEST_NS.  0 with *RET, or -1 with E.
 */
int export_server_start(struct export_server **ret, struct exporter *x, int fd,
	const struct export_tls *tls, uint64_t request_ns, struct err *e);

/* Answer requests until *END is not 0.  0, or -1 with E. */
int export_server_run(struct export_server *s, const volatile int *end, struct err *e);

/* Close all connections, but not the listening socket. */
void export_server_free(struct export_server *s);
static inline void
export_server_cleanup(struct export_server **s)
{
	export_server_free(*s);
}
#define auto_export_server __attribute__((cleanup(export_server_cleanup)))

#endif
