/*
 * maps-bound PID: the least that must be asked of the kernel to know VIRT and RSS of every mapping:
 * read maps whole, and scan the page tables once.  For scripts/bench/maps.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct scan_arg {	/* uapi/linux/fs.h, struct pm_scan_arg, 6.7+ */
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted_mask, all_mask, any_mask, return_mask;
};

struct page_run {
	uint64_t start, end, categories;
};

#define PRESENT_OR_SWAPPED 0x18
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
		.size = sizeof a, .end = USER_END, .vec = (uintptr_t)run, .vec_len = 512,
		.any_mask = PRESENT_OR_SWAPPED, .return_mask = PRESENT_OR_SWAPPED,
	};
	char path[64];
	uint64_t pages = 0;
	int fd, n;

	snprintf(path, sizeof path, "/proc/%s/pagemap", pid);
	fd = open(path, O_RDONLY);
	while (a.start < USER_END) {
		n = ioctl(fd, _IOWR('f', 16, struct scan_arg), &a);
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

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 64;
	printf("%lu %lu\n", (unsigned long)read_maps(argv[1]), (unsigned long)scan(argv[1]));
	return 0;
}
