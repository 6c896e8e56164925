/*
 * /proc/PID/smaps: for each mapping its line as in maps, then lines "Key:  123 kB" and, last,
 * "VmFlags: rd wr ..." (fs/proc/task_mmu.c, show_smap).  Which keys there are, and in which order,
 * changes with the kernel and its configuration.
 */
#include <config.h>

#include "regions/smaps.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *key;
	size_t offset;
} field[] = {
#define F(key, member)                                                                             \
	{                                                                                          \
		key, offsetof(struct smaps_entry, member)                                          \
	}
	F("KernelPageSize", page_bytes),
	F("Rss", rss_bytes),
	F("Pss", pss_bytes),
	F("Private_Clean", private_bytes),
	F("Private_Dirty", private_bytes),
	F("Private_Dirty", dirty_bytes),
	F("Shared_Dirty", dirty_bytes),
	F("Locked", locked_bytes),
	F("Anonymous", anonymous_bytes),
	F("AnonHugePages", anon_huge_bytes),
	F("Shared_Hugetlb", hugetlb_bytes),
	F("Private_Hugetlb", hugetlb_bytes),
	F("Swap", swap_bytes),
#undef F
};

#define NR_FIELDS (sizeof field / sizeof *field)

/* A line "Key: value" into ENTRY; false if it has another form.  An unknown key is ignored. */
static bool
take_field(struct smaps_entry *entry, char *line)
{
	char *colon = strchr(line, ':');

	if (!isupper((unsigned char)line[0]) || !colon)
		return false;
	*colon = '\0';
	for (size_t i = 0; i < NR_FIELDS; i++)
		if (strcmp(line, field[i].key) == 0) {
			char *at = (char *)entry + field[i].offset;

			*(uint64_t *)(void *)at += strtoull(colon + 1, NULL, 10) * 1024;
		}
	if (strcmp(line, "VmFlags") == 0)
		snprintf(entry->flags, sizeof entry->flags, "%s", colon + 1);
	return true;
}

int
smaps_parse(
	FILE *f, int (*fn)(const struct smaps_entry *entry, void *arg), void *arg, struct err *e)
{
	auto_free char *line = NULL;
	size_t room = 0, nr = 0;
	ssize_t n;
	struct smaps_entry entry = { 0 };
	bool has_entry = false;

	while ((n = getline(&line, &room, f)) > 0) {
		struct region r;
		int stop = 0;

		nr++;
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (has_entry && take_field(&entry, line))
			continue;
		if (!region_parse(&r, line))
			return err_set(e, 0, "line %zu of smaps is not what Linux writes", nr);
		if (has_entry)
			stop = fn(&entry, arg);
		if (stop)
			return stop;
		entry = (struct smaps_entry){ .start = r.start, .end = r.end };
		has_entry = true;
	}
	if (ferror(f))
		return err_set(e, errno, "cannot read smaps");
	return has_entry ? fn(&entry, arg) : 0;
}

bool
smaps_has_flag(const struct smaps_entry *entry, const char flag[2])
{
	for (const char *s = entry->flags; *s; s += strcspn(s, " ")) {
		s += strspn(s, " ");
		if (strncmp(s, flag, 2) == 0 && (s[2] == ' ' || s[2] == '\0'))
			return true;
	}
	return false;
}
