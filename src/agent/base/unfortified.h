/*
 * unfortified: included before everything else in each file of the agent (-include).  Checked
 * functions of libc (__memcpy_chk and the like) are missing in musl, into whose programs the agent
 * is preloaded.  Distributions request them by flags at the end of the command line, where another
 * flag cannot cancel them.
 */
#ifndef MEMDIAG_AGENT_BASE_UNFORTIFIED_H
#define MEMDIAG_AGENT_BASE_UNFORTIFIED_H

#undef _FORTIFY_SOURCE

#endif
