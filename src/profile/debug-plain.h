/* debug-plain: a file of debug information without compressed sections. */
#ifndef MEMDIAG_PROFILE_DEBUG_PLAIN_H
#define MEMDIAG_PROFILE_DEBUG_PLAIN_H

/*
 * Return a descriptor of a copy of the ELF file FD, which is closed then, whose compressed sections
 * are plain if names and lines need them, and empty if not.  Return FD, and leave errno as it was,
 * if the file has no such section, is damaged, or needs more memory than memdiag may take.
 */
int debug_plain(int fd);

#endif
