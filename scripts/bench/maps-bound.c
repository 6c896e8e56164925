/*
 * maps-bound PID [PART]: the least that must be asked of the kernel to know VIRT, RssAnon and
 * RssFile of every mapping: read maps whole, and scan the page tables once.  With PART only that:
 * "maps" or "scan"; or "query": the mappings by PROCMAP_QUERY (6.11+) and not as text.  For
 * scripts/bench/maps.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct scan_arg { /* uapi/linux/fs.h, struct pm_scan_arg, 6.7+ */
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted_mask, all_mask, any_mask, return_mask;
};

struct page_run {
	uint64_t start, end, categories;
};

/* uapi/linux/fs.h, PAGE_IS_: what a page must be to count, and what must be known of it. */
#define PRESENT_OR_SWAPPED 0x18
#define ZERO 0x20
#define FILE_PRESENT_SWAPPED_HUGE_GUARD 0x15c
#define FILE_PRESENT_SWAPPED_HUGE 0x5c
#define USER_END UINT64_C(0x7ffffffff000)

static uint64_t
read_maps(const char *pid)
{
	static char buf[1 << 16];
	char path[64];
	uint64_t bytes = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%s/maps", pid);
	fd = open(path, O_RDONLY);
	while ((n = read(fd, buf, sizeof buf)) > 0)
		bytes += (uint64_t)n;
	close(fd);
	return bytes;
}

static uint64_t
scan(const char *pid)
{
	static struct page_run run[512];
	struct scan_arg a = {
		.size = sizeof a,
		.end = USER_END,
		.vec = (uintptr_t)run,
		.vec_len = 512,
		.inverted_mask = ZERO,
		.all_mask = ZERO,
		.any_mask = PRESENT_OR_SWAPPED,
		.return_mask = FILE_PRESENT_SWAPPED_HUGE_GUARD,
	};
	char path[64];
	uint64_t pages = 0;
	int fd, n;

	snprintf(path, sizeof path, "/proc/%s/pagemap", pid);
	fd = open(path, O_RDONLY);
	while (a.start < USER_END) {
		n = ioctl(fd, _IOWR('f', 16, struct scan_arg), &a);
		/* before 6.15 */
		if (n < 0 && a.return_mask == FILE_PRESENT_SWAPPED_HUGE_GUARD) {
			a.return_mask = FILE_PRESENT_SWAPPED_HUGE;
			continue;
		}
		if (n < 0) {
			perror("PAGEMAP_SCAN");
			exit(1);
		}
		for (int i = 0; i < n; i++)
			pages += (run[i].end - run[i].start) / 4096;
		a.start = a.walk_end;
	}
	close(fd);
	return pages;
}

struct query_arg { /* uapi/linux/fs.h, struct procmap_query, 6.11+ */
	uint64_t size, flags, address, start, end, vma_flags, page_bytes, offset, inode;
	uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

#define COVERING_OR_NEXT 0x10

static uint64_t
query(const char *pid)
{
	static char name[4096];
	struct query_arg q = { .end = 0 };
	char path[64];
	uint64_t nr = 0;
	int fd;

	snprintf(path, sizeof path, "/proc/%s/maps", pid);
	fd = open(path, O_RDONLY);
	do
		q = (struct query_arg){ .size = sizeof q,
			.flags = COVERING_OR_NEXT,
			.address = q.end,
			.name = (uintptr_t)name,
			.name_bytes = sizeof name };
	while (ioctl(fd, _IOWR('f', 17, struct query_arg), &q) == 0 && ++nr);
	close(fd);
	return nr;
}

int
main(int argc, char **argv)
{
	const char *part = argc > 2 ? argv[2] : "";

	if (argc < 2)
		return 64;
	if (strcmp(part, "query") == 0)
		return printf("%lu\n", (unsigned long)query(argv[1])) < 0;
	if (strcmp(part, "scan") != 0)
		printf("%lu\n", (unsigned long)read_maps(argv[1]));
	if (strcmp(part, "maps") != 0)
		printf("%lu\n", (unsigned long)scan(argv[1]));
	return 0;
}
