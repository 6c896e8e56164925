/*
 * facts: the name, the program and the cgroup of a process.
 */
#ifndef MEMDIAG_EXPORT_FACTS_H
#define MEMDIAG_EXPORT_FACTS_H

#include <stdint.h>

#include "os/os.h"
#include "os/status.h"

/* Room for a unit, a container or a pod. */
#define EXPORT_WORD_BYTES 128

/* All strings are untrusted, and "" or NULL if unknown. */
struct export_facts {
	char comm[OS_COMM_BYTES];
	uint64_t rss_bytes;
	char *exe, *cgroup; /* owned: the path of its program, and of its cgroup */
	/* from CGROUP: */
	char unit[EXPORT_WORD_BYTES];	   /* of systemd: "nginx.service" */
	char container[EXPORT_WORD_BYTES]; /* the first 12 digits of its ID */
	char pod[EXPORT_WORD_BYTES];	   /* the UID of the pod of Kubernetes */
};

/*
 * Fill F, which must be zeroed or released, with the facts of T but comm and rss_bytes.  What
 * cannot be read is unknown.
 */
void export_facts_read(struct export_facts *f, const struct target *t);

/* Fill unit, container and pod of F from its cgroup. */
void export_facts_of_cgroup(struct export_facts *f);
void export_facts_release(struct export_facts *f);

#endif
