/*
 * symbols: the functions, files and lines of a profile's frames, from the ELF files and their debug
 * information (libdw), from /tmp/perf-PID.map for code made at run time, and by debuginfod if
 * DEBUGINFOD_URLS is set.
 */
#ifndef MEMDIAG_PROFILE_SYMBOLS_H
#define MEMDIAG_PROFILE_SYMBOLS_H

#include "profile/profile.h"

/* The files of a running process.  Each function opens one: a descriptor, or -1. */
struct symbols_files {
	/* Open the file that is mapped at M, or a copy of an object without a file ("[vdso]"). */
	int (*mapped)(const struct profile_mapping *m, void *arg);
	/* Open perf-PID.map. */
	int (*perf_map)(void *arg);
	void *arg;
};

struct symbols_options {
	const char *program;  /* the file of the process's program; NULL: the path of its mapping */
	const char *sysroot;  /* prefix of the paths of mappings; NULL: "/" */
	const char *perf_map; /* the directory of perf-PID.map; NULL: /tmp */
	/* instead of SYSROOT and PERF_MAP; NULL: files are found by name */
	const struct symbols_files *files;
	bool without_lines; /* only from symbol tables, without lines and inlined functions */
};

/*
 * Name the frames of P that have no names yet, each address once; frames that cannot be named stay
 * unchanged.  A file whose build-id differs from the mapping's is not used unless it is
 * OPTIONS->program, and the profile gets a warning.  Fails (-1, with E) if memory runs out, and if
 * OPTIONS->program is not an ELF file.
 */
int symbols_find(struct profile *p, const struct symbols_options *options, struct err *e);

/*
 * As symbols_find(), for a profile that grows: symbols_update() names the frames added since the
 * last call, whose mappings must have been found.  P and the pointers in OPTIONS must outlive *RET,
 * which keeps the files open.  0, or -1 with E.
 */
struct symbols;
int symbols_open(struct symbols **ret, struct profile *p, const struct symbols_options *options,
	struct err *e);
int symbols_update(struct symbols *s, struct err *e);
void symbols_close(struct symbols *s);
static inline void
symbols_cleanup(struct symbols **s)
{
	symbols_close(*s);
}
#define auto_symbols __attribute__((cleanup(symbols_cleanup)))

/* Return whether PATH is a shared library, judging by its name. */
bool symbols_is_library(const char *path);
/* Return the mapping of the process's program, -1 if unknown. */
int symbols_main_mapping(const struct profile *p);

#endif
