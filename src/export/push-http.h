/*
 * push-http: HTTP requests by libcurl, which is loaded when the first connection is opened: to link
 * it would delay every start of memdiag by the time that its 30 libraries take, tens of
 * milliseconds.
 */
#ifndef MEMDIAG_EXPORT_PUSH_HTTP_H
#define MEMDIAG_EXPORT_PUSH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct push_http;

enum push_answer { PUSH_ACCEPTED, PUSH_REFUSED, PUSH_FAILED };

/*
 * Open a client that sends the headers in HEADERS, one a line, and TENANT as X-Scope-OrgID, unless
 * they are NULL.  It ends requests when *IS_OVER is true.  Returns 0, or -1 with E if libcurl is
 * not installed or a header is malformed.
 */
int push_http_open(struct push_http **ret, const char *headers, const char *tenant,
	const bool *is_over, struct err *e);
void push_http_close(struct push_http *h);

/*
 * Send the LEN bytes at BODY, of the media type TYPE, to URL, and wait for the answer.  Redirects
 * are not followed, so no other server gets the headers.  A failure may pass: then *RET_WAIT_S is
 * for how many seconds the server wants no request (0: unknown).  WHY gets the reason, unless it is
 * accepted.
 */
enum push_answer push_http_post(struct push_http *h, const char *url, const char *type,
	const void *body, size_t len, uint64_t *ret_wait_s, char *why, size_t why_size);

/* Read the file of headers PATH into RET.  Returns 0, or -1 with E. */
int push_http_read_headers(struct text *ret, const char *path, struct err *e);

#endif
