/* push-body: the request that takes a profile to Pyroscope or Parca. */
#ifndef MEMDIAG_EXPORT_PUSH_BODY_H
#define MEMDIAG_EXPORT_PUSH_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"

enum push_format { PUSH_PYROSCOPE, PUSH_PARCA };
/* Their names on the command line, in this order, NULL-terminated. */
extern const char *const push_format_names[];

struct push_label {
	char *name, *value; /* owned */
};

/* The series that profiles belong to. */
struct push_series {
	enum push_format format;
	char *url;  /* of the server; owned */
	char *name; /* of the application; owned */
	struct {
		struct push_label *v; /* owned */
		size_t nr, room;
	} labels;
};

/*
 * Set S's name, or add a label.  Characters of TEXT, which may be a stranger's, that cannot be in a
 * name or value become "_".  Returns 0, or -1 with E if memory runs out.
 */
int push_series_set_name(struct push_series *s, const char *text, struct err *e);
int push_series_add(struct push_series *s, const char *name, const char *text, struct err *e);
void push_series_release(struct push_series *s);
/* Return whether the LEN bytes at NAME can be the name of a label, and TEXT the value of one. */
bool push_is_label_name(const char *name, size_t len);
bool push_is_label_value(const char *text);

/* An HTTP POST. */
struct push_request {
	char *url, *type, *body; /* owned */
	size_t len;		 /* of BODY */
};
void push_request_release(struct push_request *r);
#define auto_push_request __attribute__((cleanup(push_request_release)))

/*
 * Make the request for P, the samples from FROM_NS to UNTIL_NS, since 1970.  Sets the time of P.
 * The caller releases *RET, even on failure.  Returns 0, or -1 with E.
 *
 * Pyroscope: POST URL/ingest, multipart/form-data with "profile" and "sample_type_config"
 * (pyroscope 1.x, "Server HTTP API"; the configuration is that of heap profiles of its Go agent).
 * Parca: POST URL/profiles/writeraw, WriteRawRequest as JSON
 * (parca/profilestore/v1alpha1/profilestore.proto of parca 0.22).
 */
int push_request_make(struct push_request *ret, const struct push_series *s, struct profile *p,
	uint64_t from_ns, uint64_t until_ns, struct err *e);

/* Return URL without its user, password, query and fragment, owned by the caller; NULL: memory. */
char *push_public_url(const char *url);

#endif
