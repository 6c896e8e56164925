/*
 * profiles: the sites of all programs of one run (struct wire_profiles), which the agents in them
 * note, and which are there whatever these end by.
 */
#ifndef MEMDIAG_AGENTCTL_PROFILES_H
#define MEMDIAG_AGENTCTL_PROFILES_H

#include "base/err.h"
#include "wire/sites.h"

/* Room for the log of each record (wire/log.h), open or not: 64 MiB. */
#define RUN_SITES_LOG_BLOCKS 4096

/* Make the file for them into *RET_FD.  0, or -1 with E. */
int run_sites_make(int *ret_fd, struct err *e);

/* How many programs have a slot in FD; into *RET_LOST, how many found none.  0 on trouble. */
uint32_t run_sites_nr(int fd, uint32_t *ret_lost);

/* Where slot number I begins. */
uint64_t run_sites_offset(uint32_t i);

/*
 * Map the head of slot number I, to be unmapped by run_sites_unmap(): NULL if its program has noted
 * nothing yet.  What is there may change at any time.
 */
struct wire_sites *run_sites_map(int fd, uint32_t i);
/* The same of sites that begin at OFFSET in FD, whatever file that is. */
struct wire_sites *run_sites_map_at(int fd, uint64_t offset);
void run_sites_unmap(struct wire_sites *s);

#endif
