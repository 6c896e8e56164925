/*
 * match: the processes that are exported, and the names of their groups.
 */
#ifndef MEMDIAG_EXPORT_MATCH_H
#define MEMDIAG_EXPORT_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "export/facts.h"

/* Bytes of a group's name, with its NUL. */
#define EXPORT_NAME_BYTES 128

/* The facts that a condition is about, and that a name may contain. */
enum export_word {
	EXPORT_COMM,
	EXPORT_EXE,
	EXPORT_UNIT,
	EXPORT_CGROUP,
	EXPORT_CONTAINER,
	EXPORT_POD,
	NR_EXPORT_WORDS,
};

/* All given conditions must hold. */
struct export_match {
	char *pattern[NR_EXPORT_WORDS]; /* owned, as of fnmatch(3); NULL: any */
	uint64_t min_rss_bytes;
};

struct export_matches {
	struct export_match *v; /* a process is exported if it meets any of them */
	size_t nr, room;
};

/*
 * Parse TEXT, "KEY=VALUE[,KEY=VALUE...]", and add it to M: KEY is comm, exe, unit, cgroup,
 * container, pod or min-rss.  Returns NULL, or what is wrong with TEXT (static).
 */
const char *export_match_add(struct export_matches *m, const char *text);
void export_matches_release(struct export_matches *m);

/* Return whether a process with the facts F is exported. */
bool export_matches_take(const struct export_matches *m, const struct export_facts *f);

/* Return NULL, or what is wrong with TEMPLATE as the name of groups (static). */
const char *export_name_check(const char *template);

/*
 * Write the name of the group of F to BUF: TEMPLATE, in which "{comm}", "{exe}" (without
 * directories), "{unit}", "{cgroup}", "{container}" and "{pod}" are replaced; a word that F lacks
 * is its comm.  Printable, and never empty.  Returns BUF.
 */
const char *export_name(
	const char *template, const struct export_facts *f, char buf[static EXPORT_NAME_BYTES]);

#endif
