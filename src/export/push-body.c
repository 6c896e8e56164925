#include <config.h>

#include "export/push-body.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/pprof-write.h"

const char *const push_format_names[] = { "pyroscope", "parca", NULL };

#define NS_PER_S UINT64_C(1000000000)

static int
push_body_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot push a profile");
}

/* ---- the series ---- */

/* Characters that neither end a label in Pyroscope's "name{label=value,...}" nor need an escape. */
static bool
is_plain_character(char c)
{
	return isascii((unsigned char)c) && (isalnum((unsigned char)c) || strchr("_.:/@+-", c));
}

bool
push_is_label_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isascii((unsigned char)name[i]) ||
			!(isalnum((unsigned char)name[i]) || name[i] == '_'))
			return false;
	return len && !isdigit((unsigned char)*name);
}

bool
push_is_label_value(const char *text)
{
	for (const char *at = text; *at; at++)
		if (!is_plain_character(*at))
			return false;
	return *text;
}

/* Return a copy of TEXT with plain characters alone; NULL if memory runs out. */
static char *
plain_copy(const char *text)
{
	char *copy = strdup(*text ? text : "_");

	for (char *at = copy; at && *at; at++)
		if (!is_plain_character(*at))
			*at = '_';
	return copy;
}

int
push_series_set_name(struct push_series *s, const char *text, struct err *e)
{
	free(s->name);
	s->name = plain_copy(text);
	return s->name ? 0 : push_body_no_memory(e);
}

int
push_series_add(struct push_series *s, const char *name, const char *text, struct err *e)
{
	struct push_label *l = array_add(&s->labels);

	if (!l)
		return push_body_no_memory(e);
	l->name = strdup(name);
	l->value = plain_copy(text);
	return l->name && l->value ? 0 : push_body_no_memory(e);
}

void
push_series_release(struct push_series *s)
{
	for (size_t i = 0; i < s->labels.nr; i++) {
		free(s->labels.v[i].name);
		free(s->labels.v[i].value);
	}
	free(s->labels.v);
	free(s->url);
	free(s->name);
	*s = (struct push_series){ 0 };
}

void
push_request_release(struct push_request *r)
{
	free(r->url);
	free(r->type);
	free(r->body);
	*r = (struct push_request){ 0 };
}

/* ---- URLs ---- */

char *
push_public_url(const char *url)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme ? scheme + 3 : url;
	const size_t len = strcspn(host, "/?#");
	const char *at = memrchr(host, '@', len);
	char *ret;

	if (!at)
		return strndup(url, strcspn(url, "?#"));
	return asprintf(&ret, "%.*s%.*s", (int)(host - url), url, (int)strcspn(at + 1, "?#"),
		       at + 1) < 0
		? NULL
		: ret;
}

/* Write TEXT to F with all characters escaped that a query cannot have. */
static void
put_query(FILE *f, const char *text)
{
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr("_.-", *text))
			fputc(*text, f);
		else
			fprintf(f, "%%%02X", (unsigned char)*text);
}

/* Write the URL of S with PATH, which it may have already, to F. */
static void
put_endpoint(FILE *f, const struct push_series *s, const char *path)
{
	size_t len = strcspn(s->url, "?#");

	while (len && s->url[len - 1] == '/')
		len--;
	fprintf(f, "%.*s", (int)len, s->url);
	if (len < strlen(path) || strncmp(s->url + len - strlen(path), path, strlen(path)) != 0)
		fputs(path, f);
}

static int
make_pyroscope_url(struct push_request *r, const struct push_series *s, uint64_t from_ns,
	uint64_t until_ns, struct err *e)
{
	size_t size;
	FILE *f = open_memstream(&r->url, &size);

	if (!f)
		return push_body_no_memory(e);
	put_endpoint(f, s, "/ingest");
	fputs("?name=", f);
	put_query(f, s->name);
	put_query(f, "{");
	for (size_t i = 0; i < s->labels.nr; i++) {
		put_query(f, i ? "," : "");
		put_query(f, s->labels.v[i].name);
		put_query(f, "=");
		put_query(f, s->labels.v[i].value);
	}
	put_query(f, "}");
	fprintf(f, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof&spyName=memdiag",
		from_ns / NS_PER_S, until_ns / NS_PER_S);
	return fclose(f) == 0 ? 0 : push_body_no_memory(e);
}

/* ---- bodies ---- */

/* Write P as pprof into *RET, of *RET_LEN bytes, owned by the caller. */
static int
push_pack(const struct profile *p, char **ret, size_t *ret_len, struct err *e)
{
	FILE *f = open_memstream(ret, ret_len);
	int failed;

	if (!f)
		return push_body_no_memory(e);
	failed = pprof_write(p, f, e);
	return fclose(f) == 0 || failed ? failed : push_body_no_memory(e);
}

/* An allocation counts once; of memory in use, the mean of several profiles is shown. */
static const char sample_types[] =
	"{\"alloc_objects\":{\"units\":\"objects\",\"cumulative\":false},"
	"\"alloc_space\":{\"units\":\"bytes\",\"cumulative\":false},"
	"\"inuse_objects\":{\"units\":\"objects\",\"aggregation\":\"average\",\"cumulative\":false},"
	"\"inuse_space\":{\"units\":\"bytes\",\"aggregation\":\"average\",\"cumulative\":false}}";

static int
make_pyroscope_body(struct push_request *r, const char *packed, size_t len, struct err *e)
{
	uint64_t random[2];
	char boundary[48];
	FILE *f;

	if (getrandom(random, sizeof random, 0) != sizeof random)
		return err_set(e, errno, "cannot push a profile");
	snprintf(boundary, sizeof boundary, "memdiag-%016" PRIx64 "%016" PRIx64, random[0],
		random[1]);
	f = open_memstream(&r->body, &r->len);
	if (!f || asprintf(&r->type, "multipart/form-data; boundary=%s", boundary) < 0) {
		if (f)
			fclose(f);
		return push_body_no_memory(e);
	}
	fprintf(f,
		"--%s\r\nContent-Disposition: form-data; name=\"profile\"; "
		"filename=\"profile.pprof\"\r\nContent-Type: application/octet-stream\r\n\r\n",
		boundary);
	fwrite(packed, 1, len, f);
	fprintf(f,
		"\r\n--%s\r\nContent-Disposition: form-data; name=\"sample_type_config\"; "
		"filename=\"sample_type_config.json\"\r\nContent-Type: application/json\r\n\r\n"
		"%s\r\n--%s--\r\n",
		boundary, sample_types, boundary);
	return fclose(f) == 0 ? 0 : push_body_no_memory(e);
}

static json_t *
parca_label(const char *name, const char *value)
{
	return json_pack("{s:s, s:s}", "name", name, "value", value);
}

/* "memory" is the name of heap profiles in Parca's own configuration. */
static json_t *
parca_labels(const struct push_series *s)
{
	json_t *list =
		json_pack("[o, o]", parca_label("__name__", "memory"), parca_label("job", s->name));

	for (size_t i = 0; i < s->labels.nr; i++)
		json_array_append_new(list, parca_label(s->labels.v[i].name, s->labels.v[i].value));
	return list;
}

static int
make_parca(struct push_request *r, const struct push_series *s, const char *packed, size_t len,
	struct err *e)
{
	auto_free char *coded = malloc(BASE64_ENCODE_RAW_LENGTH(len) + 1);
	size_t size;
	FILE *f = coded ? open_memstream(&r->url, &size) : NULL;
	json_t *document;

	if (!f)
		return push_body_no_memory(e);
	put_endpoint(f, s, "/profiles/writeraw");
	base64_encode_raw(coded, len, (const uint8_t *)packed);
	coded[BASE64_ENCODE_RAW_LENGTH(len)] = '\0';
	document =
		json_pack("{s:s, s:[{s:{s:o}, s:[{s:s}]}], s:b}", "tenant", "", "series", "labels",
			"labels", parca_labels(s), "samples", "rawProfile", coded, "normalized", 0);
	r->body = document ? json_dumps(document, JSON_COMPACT) : NULL;
	r->len = r->body ? strlen(r->body) : 0;
	json_decref(document);
	r->type = strdup("application/json");
	return fclose(f) == 0 && r->body && r->type ? 0 : push_body_no_memory(e);
}

int
push_request_make(struct push_request *ret, const struct push_series *s, struct profile *p,
	uint64_t from_ns, uint64_t until_ns, struct err *e)
{
	auto_free char *packed = NULL;
	size_t len;

	/* The time at which Parca enters the values. */
	p->time_ns = until_ns;
	if (push_pack(p, &packed, &len, e) < 0)
		return -1;
	if (s->format == PUSH_PARCA)
		return make_parca(ret, s, packed, len, e);
	return make_pyroscope_url(ret, s, from_ns, until_ns, e) < 0
		? -1
		: make_pyroscope_body(ret, packed, len, e);
}
