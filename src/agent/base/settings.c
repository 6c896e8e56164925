#include <config.h>

#include "agent/base/settings.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/base/real.h"
#include "agent/base/say.h"
#include "agent/base/segment.h"
#include "agent/base/sys.h"
#include "wire/wire.h"

#define MAX_ENVIRONMENT (1 << 20)

struct wire_settings settings = {
	.limit_bytes = INT64_MAX,
	.interval_ms = 5000,
};
bool settings_is_on = true, settings_is_counting = true, settings_is_memtracer;

/* The rest of TEXT after PREFIX; NULL if TEXT does not begin with PREFIX. */
static const char *
after(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

/* ---- MemTracer ---- */

/*
 * Values of MemTracer's variables in the environment.  They are used only without memdiag's own
 * settings.
 */
static const char *memtracer_limit, *memtracer_interval;

static void
memtracer_entry(const char *entry)
{
	const char *text = after(entry, "MT_MEMORY_LIMIT=");

	memtracer_limit = text ? text : memtracer_limit;
	text = after(entry, "MT_PRINT_INTERVAL_MS=");
	memtracer_interval = text ? text : memtracer_interval;
}

static void
memtracer_number(const char *name, const char *text, uint64_t *ret)
{
	static const char bad[] = "[MEMTRACER] Invalid environment variable value for ";
	char before[sizeof bad + 32];

	if (wire_number(text, '\0', ret))
		return;
	memcpy(before, bad, sizeof bad);
	strcat(strcat(before, name), ": ");
	say_string(before, text);
}

/* With memdiag's own settings, MemTracer's variables have no effect and cause no message. */
static void
memtracer_settings(void)
{
	uint64_t n = UINT64_MAX;

	settings_is_memtracer |= memtracer_limit || memtracer_interval;
	if (memtracer_limit) {
		memtracer_number("MT_MEMORY_LIMIT", memtracer_limit, &n);
		settings.limit_bytes = wire_limit(n);
	}
	if (memtracer_interval)
		memtracer_number("MT_PRINT_INTERVAL_MS", memtracer_interval, &settings.interval_ms);
	if (settings_is_memtracer) {
		settings.account = WIRE_REQUESTED;
		settings.follows = settings.prints = true;
	}
}

/* ---- sources of the settings ---- */

/*
 * Map and read the kernel's copy of the environment: libc's environ is not set yet when ld.so calls
 * malloc.  The mapping stays, since settings point into it.
 */
static const char *
read_environment(size_t *ret_size)
{
	long fd = sys_call(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC);
	long at, n;
	size_t size = 0;

	if (sys_failed(fd))
		return NULL;
	at = sys_call(SYS_mmap, NULL, MAX_ENVIRONMENT, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (!sys_failed(at) && size < MAX_ENVIRONMENT - 1) {
		n = sys_call(SYS_read, fd, at + (long)size, MAX_ENVIRONMENT - 1 - size);
		if (n <= 0)
			break;
		size += (size_t)n;
	}
	sys_call(SYS_close, fd);
	if (sys_failed(at))
		return NULL;
	*ret_size = size;
	return (const char *)at;
}

/* True if the agent was loaded by the name of MemTracer's library. */
static int
is_compatible(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	const char *name = slash ? slash + 1 : info->dlpi_name;
	uintptr_t here = (uintptr_t)arg - info->dlpi_addr;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
			here - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			return name && after(name, "libmemtracer.so");
	return 0;
}

static const char *
setting(const char *entry)
{
	const char *tunables = after(entry, "GLIBC_TUNABLES=");

	/*
	 * Debugging hooks of malloc before glibc 2.34 append one byte to a block.  Huge pages
	 * (2.35, sysmalloc_mmap in malloc/malloc.c) enlarge a block by an unpredictable amount.
	 */
	if (after(entry, "MALLOC_CHECK_=") ||
		(tunables &&
			(strstr(tunables, "malloc.check=") || strstr(tunables, "malloc.hugetlb="))))
		real_has_headers = false;
	memtracer_entry(entry);
	return after(entry, WIRE_ENVIRONMENT "=");
}

static void
settings_conclude(const char *ours)
{
	if (!ours) {
		memtracer_settings();
		return;
	}
	settings_is_memtracer = false;
	wire_settings_read(&settings, ours);
	if (settings.pid != (uint64_t)sys_call(SYS_getpid, 0)) {
		/* An environment that asks for a profile does not contain the PID. */
		settings_is_on = settings.follows || (settings.profiles && !settings.pid);
		settings.segment = NULL;
	}
	settings_is_counting = !settings.profiles || settings.counts || settings.prints ||
		settings.limit_bytes != INT64_MAX;
	if (!settings_is_counting)
		settings.account = WIRE_USABLE; /* blocks have no tail word */
}

bool
settings_read(char **envp)
{
	const char *environment, *ours = NULL, *found;
	size_t size = 0;

	settings_is_memtracer = dl_iterate_phdr(is_compatible, (void *)(uintptr_t)&settings_read);
	environment = read_environment(&size);
	for (const char *e = environment; e && e < environment + size; e += strlen(e) + 1) {
		found = setting(e);
		ours = found ? found : ours;
	}
	for (; !environment && envp && *envp; envp++) {
		found = setting(*envp);
		ours = found ? found : ours;
	}
	if (!environment && !envp)
		return false;
	settings_conclude(ours);
	return true;
}
