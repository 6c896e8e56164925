/*
 * sites: a copy of the sites that the sampler in a process has recorded (wire/sites.h).  They can
 * be read from the file that both sides have mapped, even after the process has ended, or from the
 * process.
 */
#ifndef MEMDIAG_AGENTDATA_SITES_H
#define MEMDIAG_AGENTDATA_SITES_H

#include "base/err.h"
#include "base/raddr.h"
#include "glibc/process.h"
#include "os/os.h"
#include "wire/sites.h"

struct sites_copy {
	/*
	 * Its places are those of the file; read NODE and SITE instead.  The peak of a record is at
	 * least the sum of SITE.
	 */
	struct wire_sites head;
	struct wire_node *node; /* owned */
	struct wire_site *site; /* owned */
	uint32_t nr_nodes, nr_sites;
	char *maps; /* owned; the mapped code, as in /proc/PID/maps; "" if unknown */
	char *seen; /* owned; the objects that contain frames (wire/maps.h) */
	uint32_t seen_bytes;
	raddr at; /* in the process; {0} if read from the file */
};

/* Read the sites in the file FD.  0, or -1 with E; C must be released in any case. */
int sites_read_file(struct sites_copy *c, int fd, struct err *e);
/* Read the sites in FD from OFFSET on. */
int sites_read_part(struct sites_copy *c, int fd, uint64_t offset, struct err *e);
/* Read the sites at AT in T, which is not stopped. */
int sites_read_target(struct sites_copy *c, const struct target *t, raddr at, struct err *e);
/* Read the sites of the process P; ERR_UNSUPPORTED if nothing was sampled there. */
int sites_read_process(struct sites_copy *c, const struct process *p, struct err *e);
void sites_release(struct sites_copy *c);
#define auto_sites __attribute__((cleanup(sites_release)))

/* The sum of all sites, except those of mappings. */
struct sites_sum {
	struct wire_amount allocated, freed, live, temporary;
	struct wire_amount no_stack; /* part of ALLOCATED: no room for its stacks */
};
struct sites_sum sites_add_up(const struct sites_copy *c);

/*
 * The frames of a site, the leaf first, as return addresses; and its labels.  FRAME has room for
 * WIRE_MAX_PATH.
 */
struct sites_stack {
	uint64_t frame[WIRE_MAX_PATH]; /* with WIRE_LABEL_CODE: an interpreter's function */
	uint32_t nr;
	uint32_t leaf; /* node of the innermost; sites with an equal one have the same stack */
	uint64_t size_bytes; /* the largest of the blocks' class; 0 if unknown */
	uint32_t tid;	     /* 0 if unknown */
	bool is_cut;	     /* outer frames are missing */
	bool is_mapped;	     /* the site has mappings, not blocks */
};

/* Find the stack of SITE.  False if SITE is unused, or C is damaged there. */
bool sites_stack(const struct sites_copy *c, uint32_t site, struct sites_stack *ret);
/* As sites_stack(), for the node at which a stack ends. */
bool sites_stack_of_node(const struct sites_copy *c, uint32_t node, struct sites_stack *ret);

struct sites_code {
	char text[WIRE_MAX_TEXT_NODES * WIRE_TEXT_BYTES + 1];
	const char *file, *function; /* in TEXT; untrusted */
	uint32_t line;		     /* where it begins */
};

/* Find the function of FRAME, which has WIRE_LABEL_CODE.  False if C is damaged there. */
bool sites_code(const struct sites_copy *c, uint64_t frame, struct sites_code *ret);

/* Return the blocks of A, rounded; at least one if it has any bytes. */
int64_t sites_blocks(struct wire_amount a);
/* Return the bytes of A; INT64_MAX if it has more, which only damage causes. */
int64_t sites_bytes(struct wire_amount a);

#endif
