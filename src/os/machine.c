#include <config.h>

#include "os/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

unsigned int
os_linux_version(void)
{
	unsigned int major, minor;
	struct utsname u;

	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		return 0;
	return OS_LINUX(major, minor);
}

int
os_nr_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n > 0 ? (int)n : 1;
}

/*
 * Before 6.16 VmRSS lacks the part that each CPU (6.2+) or thread (before) still holds back: at
 * most a batch of max(32, 2 * CPUs) pages a CPU for each of three counters (lib/percpu_counter.c),
 * or 64 pages a thread (mm/memory.c, SPLIT_RSS).
 */
uint64_t
os_rss_lag(unsigned int linux_version, uint64_t nr_threads)
{
	uint64_t cpus = (uint64_t)os_nr_cpus(), batch = 2 * cpus > 32 ? 2 * cpus : 32;
	uint64_t per_thread = 64 * nr_threads;
	uint64_t pages = batch * cpus > per_thread ? batch * cpus : per_thread;

	return linux_version < OS_LINUX(6, 16) ? 3 * pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

double
os_slowdown(void)
{
	auto_file FILE *f = fopen("/proc/loadavg", "re");
	unsigned int nr_running;
	double slowdown;

	/* We are one of the running threads; the thread in question takes our place. */
	if (!f || fscanf(f, "%*s %*s %*s %u/", &nr_running) != 1)
		return 1;
	slowdown = (double)nr_running / os_nr_cpus();
	return slowdown > 1 ? slowdown : 1;
}

bool
os_may_hurry(void)
{
	int before;

	errno = 0;
	before = getpriority(PRIO_PROCESS, 0);
	if (errno || setpriority(PRIO_PROCESS, 0, before - 1) < 0)
		return false;
	return setpriority(PRIO_PROCESS, 0, before) == 0;
}

int
os_raise_priority(int steps)
{
	const int nice = getpriority(PRIO_PROCESS, 0);

	setpriority(PRIO_PROCESS, 0, nice - steps);
	return nice;
}

void
os_set_nice(int nice)
{
	setpriority(PRIO_PROCESS, 0, nice);
}

void
os_setting(const char *path, char *buf, size_t size)
{
	auto_text struct text text = { 0 };
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	buf[0] = '\0';
	if (fd < 0 || text_read(&text, fd, 4096) < 0)
		return;
	text.v[strcspn(text.v, "\n")] = '\0';
	text_printable(text.v, buf, size);
}

int
os_thp_setting(char *buf, size_t size)
{
	char line[64];
	const char *word;

	os_setting("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line);
	word = strchr(line, '[');
	if (!word)
		return -1;
	snprintf(buf, size, "%.*s", (int)strcspn(word + 1, "]"), word + 1);
	return 0;
}

uint64_t
os_max_mappings(void)
{
	auto_file FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	uint64_t nr;

	return f && fscanf(f, "%" SCNu64, &nr) == 1 ? nr : 0;
}

bool
os_overcommits_never(void)
{
	auto_file FILE *f = fopen("/proc/sys/vm/overcommit_memory", "re");
	int mode;

	return f && fscanf(f, "%d", &mode) == 1 && mode == 2;
}

/* Return the line KEY of /proc/meminfo in bytes; else NR_PAGES, a name of sysconf(). */
static uint64_t
meminfo(const char *key, int nr_pages)
{
	auto_file FILE *f = fopen("/proc/meminfo", "re");
	const size_t len = strlen(key);
	char line[128];
	uint64_t kib;

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, key, len) == 0 && line[len] == ':' &&
			sscanf(line + len + 1, "%" SCNu64 " kB", &kib) == 1)
			return kib << 10;
	return (uint64_t)sysconf(nr_pages) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t
os_memory_bytes(void)
{
	return meminfo("MemTotal", _SC_PHYS_PAGES);
}

uint64_t
os_memory_available(void)
{
	return meminfo("MemAvailable", _SC_AVPHYS_PAGES);
}
