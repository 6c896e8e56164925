#include <config.h>

#include "export/push-http.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/cleanup.h"
#include "os/stranger.h"

#define CONNECT_MS 10000L
#define REQUEST_MS 60000L
/* Length of the beginning of an answer that a message can have. */
#define ANSWER_BYTES 200
#define HTTP_TIMEOUT 408
#define HTTP_TOO_MANY 429

/* Functions of libcurl. */
struct curl {
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_cleanup) *cleanup;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_setopt) *set;
	__typeof__(curl_easy_getinfo) *info;
	__typeof__(curl_easy_strerror) *error;
	__typeof__(curl_slist_append) *append;
	__typeof__(curl_slist_free_all) *free_all;
};

struct push_http {
	struct curl c;
	CURL *handle;
	struct curl_slist *headers; /* without Content-Type */
	const bool *is_over;
	char error[CURL_ERROR_SIZE];
	char answer[ANSWER_BYTES];
	size_t answer_len;
};

/* ---- libcurl ---- */

/* Find all functions of LIBRARY. */
static bool
push_http_find_functions(struct curl *c, void *library)
{
	const struct {
		const char *name;
		void **at;
	} functions[] = {
		{ "curl_easy_init", (void **)&c->init },
		{ "curl_easy_cleanup", (void **)&c->cleanup },
		{ "curl_easy_perform", (void **)&c->perform },
		{ "curl_easy_setopt", (void **)&c->set },
		{ "curl_easy_getinfo", (void **)&c->info },
		{ "curl_easy_strerror", (void **)&c->error },
		{ "curl_slist_append", (void **)&c->append },
		{ "curl_slist_free_all", (void **)&c->free_all },
	};

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		*functions[i].at = dlsym(library, functions[i].name);
		if (!*functions[i].at)
			return false;
	}
	return true;
}

/* Load libcurl, which stays loaded.  Debian has it with each of several libraries for TLS. */
static int
load_curl(struct curl *c, struct err *e)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4",
		"libcurl-nss.so.4" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

		if (library && push_http_find_functions(c, library))
			return 0;
	}
	err_set_kind(e, ERR_UNSUPPORTED, 0, "cannot push profiles: libcurl is missing");
	return err_hint(e, "Debian has it as libcurl4 and libcurl3-gnutls, Fedora as libcurl");
}

/* ---- headers ---- */

int
push_http_read_headers(struct text *ret, const char *path, struct err *e)
{
	auto_fd int fd = os_open(path, OS_REGULAR | OS_PIPE, e);

	return fd < 0 ? -1 : os_read_whole(ret, fd, path, e);
}

static int
push_http_add(struct push_http *h, const char *header, struct err *e)
{
	struct curl_slist *list = h->c.append(h->headers, header);

	if (!list)
		return err_set(e, ENOMEM, "cannot push profiles");
	h->headers = list;
	return 0;
}

/* Add the header of LEN bytes at LINE, unless it is empty or a comment. */
static int
add_header_line(struct push_http *h, const char *line, size_t len, struct err *e)
{
	auto_free char *copy = NULL;

	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	if (!len || *line == '#')
		return 0;
	copy = strndup(line, len);
	if (!copy)
		return err_set(e, ENOMEM, "cannot push profiles");
	if (!strchr(copy, ':') || *copy == ':')
		return err_set_kind(e, ERR_USAGE, 0,
			"a line of --push-header-file is not a header: NAME: VALUE");
	return push_http_add(h, copy, e);
}

static int
add_headers(struct push_http *h, const char *headers, const char *tenant, struct err *e)
{
	char text[300];

	/* Without "Expect", which servers answer late or never. */
	if (push_http_add(h, "Expect:", e) < 0)
		return -1;
	if (tenant) {
		snprintf(text, sizeof text, "X-Scope-OrgID: %s", tenant);
		if (push_http_add(h, text, e) < 0)
			return -1;
	}
	for (const char *line = headers; line && *line;) {
		const size_t len = strcspn(line, "\n");

		if (add_header_line(h, line, len, e) < 0)
			return -1;
		line += len + (line[len] == '\n');
	}
	return 0;
}

/* ---- requests ---- */

static int
has_to_end(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct push_http *h = arg;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return __atomic_load_n(h->is_over, __ATOMIC_RELAXED);
}

/* Keep the first bytes of the answer. */
static size_t
keep_answer(char *bytes, size_t size, size_t nr, void *arg)
{
	struct push_http *h = arg;
	const size_t len = size * nr, room = sizeof h->answer - 1 - h->answer_len;
	const size_t kept = len < room ? len : room;

	memcpy(h->answer + h->answer_len, bytes, kept);
	h->answer_len += kept;
	return len;
}

static void
set_options(struct push_http *h)
{
	h->c.set(h->handle, CURLOPT_NOSIGNAL, 1L);
	h->c.set(h->handle, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	h->c.set(h->handle, CURLOPT_TIMEOUT_MS, REQUEST_MS);
	h->c.set(h->handle, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	h->c.set(h->handle, CURLOPT_USERAGENT, "memdiag/" PACKAGE_VERSION);
	h->c.set(h->handle, CURLOPT_ERRORBUFFER, h->error);
	h->c.set(h->handle, CURLOPT_NOPROGRESS, 0L);
	h->c.set(h->handle, CURLOPT_XFERINFOFUNCTION, has_to_end);
	h->c.set(h->handle, CURLOPT_XFERINFODATA, h);
	h->c.set(h->handle, CURLOPT_WRITEFUNCTION, keep_answer);
	h->c.set(h->handle, CURLOPT_WRITEDATA, h);
}

int
push_http_open(struct push_http **ret, const char *headers, const char *tenant, const bool *is_over,
	struct err *e)
{
	struct push_http *h = calloc(1, sizeof *h);

	if (!h)
		return err_set(e, ENOMEM, "cannot push profiles");
	h->is_over = is_over;
	if (load_curl(&h->c, e) < 0) {
		free(h);
		return -1;
	}
	h->handle = h->c.init();
	if (!h->handle || add_headers(h, headers, tenant, e) < 0) {
		if (!h->handle)
			err_set(e, ENOMEM, "cannot push profiles");
		push_http_close(h);
		return -1;
	}
	set_options(h);
	*ret = h;
	return 0;
}

void
push_http_close(struct push_http *h)
{
	if (!h)
		return;
	if (h->handle)
		h->c.cleanup(h->handle);
	h->c.free_all(h->headers);
	free(h);
}

/* Judge the answer with STATUS, and write why it is not accepted. */
static enum push_answer
judge_answer(struct push_http *h, long status, char *why, size_t why_size)
{
	char text[ANSWER_BYTES * 4];

	if (status >= 200 && status < 300)
		return PUSH_ACCEPTED;
	h->answer[strcspn(h->answer, "\r\n")] = '\0';
	text_abbreviate(h->answer, text, 160);
	snprintf(why, why_size, "HTTP status %ld%s%s", status, *text ? ": " : "", text);
	if (status >= 300 && status < 400)
		snprintf(why, why_size, "HTTP status %ld: redirects are not followed", status);
	return status >= 500 || status == HTTP_TIMEOUT || status == HTTP_TOO_MANY ? PUSH_FAILED
										  : PUSH_REFUSED;
}

enum push_answer
push_http_post(struct push_http *h, const char *url, const char *type, const void *body, size_t len,
	uint64_t *ret_wait_s, char *why, size_t why_size)
{
	char content[160];
	struct curl_slist first = { content, h->headers };
	curl_off_t wait_s = 0;
	long status = 0;
	CURLcode failed;

	*ret_wait_s = 0;
	*h->error = '\0';
	memset(h->answer, 0, sizeof h->answer);
	h->answer_len = 0;
	snprintf(content, sizeof content, "Content-Type: %s", type);
	h->c.set(h->handle, CURLOPT_URL, url);
	h->c.set(h->handle, CURLOPT_HTTPHEADER, &first);
	h->c.set(h->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	h->c.set(h->handle, CURLOPT_POSTFIELDS, body);
	failed = h->c.perform(h->handle);
	if (failed) {
		text_abbreviate(*h->error ? h->error : h->c.error(failed), why, why_size);
		return PUSH_FAILED;
	}
	h->c.info(h->handle, CURLINFO_RESPONSE_CODE, &status);
	h->c.info(h->handle, CURLINFO_RETRY_AFTER, &wait_s);
	*ret_wait_s = wait_s > 0 ? (uint64_t)wait_s : 0;
	return judge_answer(h, status, why, why_size);
}
