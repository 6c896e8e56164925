/*
 * debug-files: files of debug information that are separate from their objects.
 */
#ifndef MEMDIAG_PROFILE_DEBUG_FILES_H
#define MEMDIAG_PROFILE_DEBUG_FILES_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

/*
 * As dwfl_standard_find_debuginfo(), of libdwfl's callbacks, but opens a file that the object names
 * only if it is a regular file with the object's build-id or, without a build-id, with the link's
 * checksum.
 */
int debug_file_find(Dwfl_Module *mod, void **userdata, const char *module, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **ret_name);

/* As debug_file_find(), without compressed sections. */
int debug_file_find_plain(Dwfl_Module *mod, void **userdata, const char *module, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **ret_name);

#endif
