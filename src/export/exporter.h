/*
 * exporter: answers to requests, without the protocol that carries them.
 */
#ifndef MEMDIAG_EXPORT_EXPORTER_H
#define MEMDIAG_EXPORT_EXPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "export/groups.h"
#include "export/scan.h"

struct profile;

struct exporter {
	/* Set by the caller: */
	struct export_scan scan;   /* and its members that the caller sets */
	struct export_names names; /* likewise */
	const char *address;	   /* where it listens, for a client that sends no Host header */
	/* Its own: */
	struct export_groups groups; /* of the last update */
	uint64_t began_ns, ended_ns; /* the last update, of os_now_ns(); 0: none */
	/*
	 * Processor time that profiles have taken, less what they were allowed until PAID_NS: while
	 * it is large, profiles are refused.
	 */
	uint64_t owed_ns, paid_ns;
};

/* A request; all strings are the client's, and may be NULL except METHOD and PATH. */
struct export_request {
	const char *method, *path;
	const char *accept, *host;   /* headers */
	const char *group, *seconds; /* arguments of the query */
	const struct profile *base;  /* of the answer before, if that was to be asked again */
};

struct export_answer {
	unsigned int status; /* of HTTP; 0: ask again with BASE after WAIT_NS */
	const char *type;    /* Content-Type; static */
	struct text body;
	struct profile *base; /* owned */
	uint64_t wait_ns;
};

/*
 * Answer Q.  Processes are read again for it, unless they were read a short time ago: after an
 * update the next one waits four times as long as it took, so that updates take at most a fifth of
 * a processor.  Profiles are made each time, and take a fifth as well in the long run: others are
 * refused with 429.  With SECONDS a profile is what changes in that time.  RET is the caller's to
 * release; its status is 503 if memory runs out, and then it may have no body.
 */
void exporter_answer(struct exporter *x, const struct export_request *q, struct export_answer *ret);
void export_answer_release(struct export_answer *a);

/*
 * Read the processes again now, and write the metrics to F as in EXPORT_PROMETHEUS.  0, or -1 with
 * E.
 */
int exporter_write_metrics(struct exporter *x, FILE *f, struct err *e);

void exporter_release(struct exporter *x);

#endif
