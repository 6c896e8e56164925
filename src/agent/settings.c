#include <config.h>

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent/sys.h"

#define MAX_ENVIRONMENT (1 << 20)

struct settings settings = {
	.is_on = true,
	.limit_bytes = INT64_MAX,
	.interval_ms = 5000,
};

static pid_t pid;	/* the first, 0: it was not `memdiag run` who asks */

/* Decimal digits, and nothing else up to END or NUL. */
static bool
number(const char *text, char end, uint64_t *ret)
{
	uint64_t n = 0;

	if (*text == end || !*text)
		return false;
	for (; *text && *text != end; text++) {
		if (*text < '0' || *text > '9' ||
			__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return false;
	}
	*ret = n;
	return true;
}

/* What follows PREFIX in TEXT, or NULL. */
static const char *
after(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

static int64_t
to_bytes(uint64_t n)
{
	return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

/* ---- MemTracer's ---- */

static void
memtracer_number(const char *name, const char *text, uint64_t *ret)
{
	static const char bad[] = "[MEMTRACER] Invalid environment variable value for ";
	char before[sizeof bad + 32];

	settings.is_memtracer = true;
	if (number(text, '\0', ret))
		return;
	memcpy(before, bad, sizeof bad);
	strcat(strcat(before, name), ": ");
	say_string(before, text);
}

static void
memtracer_setting(const char *entry)
{
	const char *text = after(entry, "MT_MEMORY_LIMIT=");
	uint64_t n = UINT64_MAX;

	if (text) {
		memtracer_number("MT_MEMORY_LIMIT", text, &n);
		settings.limit_bytes = to_bytes(n);
	}
	text = after(entry, "MT_PRINT_INTERVAL_MS=");
	if (text)
		memtracer_number("MT_PRINT_INTERVAL_MS", text, &settings.interval_ms);
}

/* ---- memdiag's: WORD=VALUE;WORD=VALUE... ---- */

static void
our_setting(const char *at)
{
	const char *text;
	uint64_t n;

	if ((text = after(at, "limit=")) && number(text, ';', &n))
		settings.limit_bytes = to_bytes(n);
	else if ((text = after(at, "pid=")) && number(text, ';', &n))
		pid = (pid_t)n;
	else if ((text = after(at, "segment=")))
		settings.segment = text;
	else if ((text = after(at, "interval=")))
		settings.prints = number(text, ';', &settings.interval_ms);
	else if (after(at, "account=requested"))
		settings.account = WIRE_REQUESTED;
	else if (after(at, "follow"))
		settings.follows = true;
	else if ((text = after(at, "file=")))
		settings.file = text;
	else if ((text = after(at, "on-limit="))) {
		for (int i = 0; wire_on_limit_names[i]; i++)
			if (after(text, wire_on_limit_names[i]))
				settings.on_limit = (enum wire_on_limit)i;
	}
}

/* The file name is the last word, and may have anything in it. */
static void
our_settings(const char *text)
{
	while (text && *text) {
		our_setting(text);
		text = settings.file ? NULL : strchr(text, ';');
		if (text)
			text++;
	}
}

/* ---- where they are from ---- */

/*
 * libc's environ is not there yet when ld.so calls malloc, so the kernel's is read.  It stays mapped:
 * settings point into it.
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

/* Whether it was loaded by the name of MemTracer's library. */
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
	 * Debugging hooks of malloc before 2.34 put a byte of theirs behind a block; and huge pages
	 * (2.35, sysmalloc_mmap in malloc/malloc.c) make it larger than can be told before.
	 */
	if (after(entry, "MALLOC_CHECK_=") || (tunables && (strstr(tunables, "malloc.check=") ||
			strstr(tunables, "malloc.hugetlb="))))
		real_has_headers = false;
	memtracer_setting(entry);
	return after(entry, WIRE_ENVIRONMENT "=");
}

static void
conclude(const char *ours)
{
	if (!ours) {
		if (settings.is_memtracer) {
			settings.account = WIRE_REQUESTED;
			settings.follows = settings.prints = true;
		}
		return;
	}
	settings.is_memtracer = false;
	settings.limit_bytes = INT64_MAX;
	our_settings(ours);
	if (pid != sys_call(SYS_getpid, 0)) {
		settings.is_on = settings.follows;
		settings.segment = NULL;
	}
}

bool
settings_read(char **envp)
{
	const char *environment, *ours = NULL, *found;
	size_t size = 0;

	settings.is_memtracer = dl_iterate_phdr(is_compatible, (void *)(uintptr_t)&settings_read);
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
	conclude(ours);
	return true;
}
