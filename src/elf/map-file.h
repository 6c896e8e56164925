/*
 * map-file: /proc/PID/maps or smaps of a process, saved to a file, such as one from a bug report.
 */
#ifndef MEMDIAG_ELF_MAP_FILE_H
#define MEMDIAG_ELF_MAP_FILE_H

#include "elf/regions.h"
#include "elf/smaps.h"

struct map_file {
	const char *name;    /* borrowed */
	struct regions maps; /* the paths point into the text */
	struct {
		struct smaps_entry *v;
		size_t nr, room;
	} entry;	     /* one for each region; empty if the file is maps */
	unsigned int fields; /* bits of enum smaps_field that all entries have */
	/* line of a last mapping that lacks fields and was left out; 0: all are complete */
	size_t cut_line;
};

/*
 * Parse LEN bytes at TEXT, followed by a NUL, into F, which must be zeroed or released.  NAME is
 * the file's name, made printable.  TEXT is changed, and must outlive F, as must NAME.  Lines
 * before the first mapping and after the last one are skipped, as are blanks at the beginning of a
 * line and carriage returns at its end.  Fails with E, which names the line, for impossible
 * numbers, for mappings that overlap or are not in the order of addresses, and for a text with the
 * mappings of two processes or with other lines between its mappings.  ERR_UNSUPPORTED: the text
 * contains no mapping.
 */
int map_file_parse(struct map_file *f, const char *name, char *text, size_t len, struct err *e);
void map_file_release(struct map_file *f);
#define auto_map_file __attribute__((cleanup(map_file_release)))

#endif
