/*
 * profiles: the sites of all programs of one run (struct wire_profiles), which the agents in them
 * record, and which stay however these programs end.
 */
#ifndef MEMDIAG_AGENTCTL_PROFILES_H
#define MEMDIAG_AGENTCTL_PROFILES_H

#include "base/err.h"
#include "wire/sites.h"

/* Room for the log of each record (wire/log.h), open or not: 64 MiB. */
#define RUN_SITES_LOG_BLOCKS 4096

/* Make the file for the sites; *RET_FD is its descriptor.  0, or -1 with E. */
int run_sites_make(int *ret_fd, struct err *e);

/*
 * Return how many programs have a slot in FD; *RET_LOST is how many found no slot.  0 on failure.
 */
uint32_t run_sites_nr(int fd, uint32_t *ret_lost);

/* Return where slot number I begins. */
uint64_t run_sites_offset(uint32_t i);

/*
 * Map the head of slot number I, which run_sites_unmap() unmaps; NULL if its program has recorded
 * nothing yet.  The contents may change at any time.
 */
struct wire_sites *run_sites_map(int fd, uint32_t i);
/* As run_sites_map(), for sites at OFFSET in FD, any file. */
struct wire_sites *run_sites_map_at(int fd, uint64_t offset);
void run_sites_unmap(struct wire_sites *s);

#endif
