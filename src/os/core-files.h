/*
 * core-files: the files that were mapped when a core file was written.
 */
#ifndef MEMDIAG_OS_CORE_FILES_H
#define MEMDIAG_OS_CORE_FILES_H

#include "os/os-priv.h"

/*
 * Return the file of mapping M, open, if it is found and has the build-id that is in C; else NULL.
 */
const struct core_file *core_file_of(const struct core *c, const struct core_mapping *m);

/*
 * Return the possible permissions of an unmodified mapping of a file (PF_R ...), from its ELF
 * header.
 */
unsigned int core_mapping_flags(const struct core *c, const struct core_mapping *m);

#endif
