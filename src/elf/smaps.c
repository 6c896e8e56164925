/*
 * /proc/PID/smaps: for each mapping its line as in maps, then lines "Key:  123 kB" and, last,
 * "VmFlags: rd wr ..." (fs/proc/task_mmu.c, show_smap).  The keys and their order depend on the
 * kernel and its configuration.
 */
#include <config.h>

#include "elf/smaps.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

const char *const smaps_field_names[NR_SMAPS_FIELDS] = {
	[SMAPS_SIZE] = "Size",
	[SMAPS_PAGE_SIZE] = "KernelPageSize",
	[SMAPS_RSS] = "Rss",
	[SMAPS_PSS] = "Pss",
	[SMAPS_PRIVATE_CLEAN] = "Private_Clean",
	[SMAPS_PRIVATE_DIRTY] = "Private_Dirty",
	[SMAPS_SHARED_DIRTY] = "Shared_Dirty",
	[SMAPS_LOCKED] = "Locked",
	[SMAPS_ANONYMOUS] = "Anonymous",
	[SMAPS_ANON_HUGE] = "AnonHugePages",
	[SMAPS_SHARED_HUGETLB] = "Shared_Hugetlb",
	[SMAPS_PRIVATE_HUGETLB] = "Private_Hugetlb",
	[SMAPS_SWAP] = "Swap",
};

/* The member to which a field is added. */
static const size_t member[NR_SMAPS_FIELDS] = {
	[SMAPS_SIZE] = offsetof(struct smaps_entry, size_bytes),
	[SMAPS_PAGE_SIZE] = offsetof(struct smaps_entry, page_bytes),
	[SMAPS_RSS] = offsetof(struct smaps_entry, rss_bytes),
	[SMAPS_PSS] = offsetof(struct smaps_entry, pss_bytes),
	[SMAPS_PRIVATE_CLEAN] = offsetof(struct smaps_entry, private_bytes),
	[SMAPS_PRIVATE_DIRTY] = offsetof(struct smaps_entry, private_bytes),
	[SMAPS_SHARED_DIRTY] = offsetof(struct smaps_entry, dirty_bytes),
	[SMAPS_LOCKED] = offsetof(struct smaps_entry, locked_bytes),
	[SMAPS_ANONYMOUS] = offsetof(struct smaps_entry, anonymous_bytes),
	[SMAPS_ANON_HUGE] = offsetof(struct smaps_entry, anon_huge_bytes),
	[SMAPS_SHARED_HUGETLB] = offsetof(struct smaps_entry, hugetlb_bytes),
	[SMAPS_PRIVATE_HUGETLB] = offsetof(struct smaps_entry, hugetlb_bytes),
	[SMAPS_SWAP] = offsetof(struct smaps_entry, swap_bytes),
};

/* No address space is larger; so the sum of two fields does not overflow. */
#define MOST_KB (UINT64_C(1) << 48)

/* "   123 kB" */
static bool
parse_kb(const char *text, uint64_t *ret_bytes)
{
	uint64_t n = 0;

	text += strspn(text, " ");
	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > MOST_KB)
			return false;
	}
	if (strncmp(text, " kB", 3) != 0 || text[3 + strspn(text + 3, " ")])
		return false;
	*ret_bytes = n * 1024;
	return true;
}

enum smaps_line
smaps_take_line(struct smaps_entry *entry, const char *line)
{
	const char *colon = strchr(line, ':');
	const size_t len = colon ? (size_t)(colon - line) : 0;
	uint64_t bytes;

	if (!isupper((unsigned char)line[0]) || !colon)
		return SMAPS_OTHER;
	for (unsigned int i = 0; i < NR_SMAPS_FIELDS; i++) {
		if (strncmp(line, smaps_field_names[i], len) != 0 || smaps_field_names[i][len])
			continue;
		if (entry->fields & SMAPS_BIT(i) || !parse_kb(colon + 1, &bytes))
			return SMAPS_BAD;
		*(uint64_t *)(void *)((char *)entry + member[i]) += bytes;
		if (i == SMAPS_PRIVATE_DIRTY)
			entry->dirty_bytes += bytes;
		entry->fields |= SMAPS_BIT(i);
		return SMAPS_TAKEN;
	}
	if (len == strlen("VmFlags") && strncmp(line, "VmFlags", len) == 0)
		snprintf(entry->flags, sizeof entry->flags, "%s", colon + 1);
	return SMAPS_TAKEN;
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
		if (has_entry && smaps_take_line(&entry, line) == SMAPS_TAKEN)
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
