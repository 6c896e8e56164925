/* Files that are given to report by mistake, recognised by their first bytes. */
#include <config.h>

#include "profile/foreign.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BEGINS(text) (text), sizeof(text) - 1

static const struct foreign_kind {
	const char *begins;
	size_t len;
	const char *is;
} kinds[] = {
	{ BEGINS("{"), "JSON" },
	{ BEGINS("\x7f"
		 "ELF"),
		"a program or library" },
	{ BEGINS("PERFILE2"), "of perf: perf report reads it" },
	{ BEGINS("heaptrack"), "of heaptrack: memdiag record report reads it" },
	{ BEGINS("v "), "of heaptrack: memdiag record report reads it" },
	{ BEGINS("desc:"), "of massif: ms_print reads it" },
	{ BEGINS("\x28\xb5\x2f\xfd"), "compressed by zstd: unpack it first" },
	{ BEGINS("\xfd"
		 "7zXZ\0"),
		"compressed by xz: unpack it first" },
	{ BEGINS("BZh"), "compressed by bzip2: unpack it first" },
	{ BEGINS("<malloc version="), "the XML of malloc_info(): memdiag info --from reads it" },
	{ BEGINS("___ Begin jemalloc statistics"),
		"jemalloc's statistics: memdiag info shows those of a process that runs" },
	{ BEGINS("JAVA PROFILE "), "a heap dump of Java: jhat and Eclipse MAT read it" },
	{ BEGINS("FLR\0"), "of Java's Flight Recorder: jfr print reads it" },
	{ BEGINS("memray\0"), "of memray: memray flamegraph reads it" },
	/* gperftools: a header of words, 0, 3, 0 (profiledata.cc) */
	{ BEGINS("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
		"a CPU profile of gperftools: go tool pprof reads it" },
};

/* Recognise /proc/PID/maps, which begins with a mapping; in smaps its size follows. */
static const char *
kind_of_maps(const char *data, size_t len)
{
	static const char size[] = "\nSize:";
	char line[128];
	uint64_t start, end;
	char prot[5];
	const char *second;

	snprintf(line, sizeof line, "%.*s", (int)(len < 127 ? len : 127), data);
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4[rwxps-] %*x %*x:%*x ", &start, &end, prot) !=
			3 ||
		strlen(prot) != 4)
		return NULL;
	second = memchr(data, '\n', len);
	return second && (size_t)(data + len - second) > sizeof size &&
			memcmp(second, size, sizeof size - 1) == 0
		? "of /proc/PID/smaps: memdiag maps --from reads it"
		: "of /proc/PID/maps: memdiag maps --from reads it";
}

const char *
foreign_kind(const char *data, size_t len)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (len >= kinds[i].len && memcmp(data, kinds[i].begins, kinds[i].len) == 0)
			return kinds[i].is;
	return kind_of_maps(data, len);
}

/* The data is searched only this far. */
#define FIND_BYTES 65536

const char *
foreign_find(const char *data, size_t len)
{
	const size_t most = len < FIND_BYTES ? len : FIND_BYTES;
	const char *found = foreign_kind(data, len), *newline;
	static const char xml[] = "<malloc version=";

	for (size_t at = 0; !found && at < most; at = (size_t)(newline - data) + 1) {
		const size_t left = len - at;

		if (left > sizeof xml && memcmp(data + at, xml, sizeof xml - 1) == 0)
			found = foreign_kind(data + at, left);
		else
			found = kind_of_maps(data + at, left);
		newline = memchr(data + at, '\n', most - at);
		if (!newline)
			break;
	}
	return found;
}
