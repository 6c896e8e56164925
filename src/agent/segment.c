#include <config.h>

#include <fcntl.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/count.h"
#include "agent/mappings.h"
#include "agent/sys.h"

#define BYTES WIRE_SEGMENT_BYTES(WIRE_MAX_THREADS)
/* Where nothing can be mapped: nobody else can have it, but it counts. */
#define FEW_THREADS 64

static _Alignas(4096) unsigned char fallback[WIRE_SEGMENT_BYTES(FEW_THREADS)];

struct wire_segment *segment = (struct wire_segment *)fallback;
/* For memdiag to find it by. */
EXPORT struct wire_segment *memdiag_agent_segment __asm__(WIRE_SYMBOL);
struct wire_segment *memdiag_agent_segment;

/* ---- files for it ---- */

/* The program may not make large files, and would get a signal for it. */
static bool
may_have_file(void)
{
	struct rlimit64 limit;

	return !sys_failed(sys_call(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit)) &&
		limit.rlim_cur >= BYTES;
}

static long
grown(long fd)
{
	if (!sys_failed(fd) && sys_failed(sys_call(SYS_ftruncate, fd, BYTES))) {
		sys_call(SYS_close, fd);
		return -1;
	}
	return fd;
}

static size_t
copy_until(char *to, size_t size, const char *from, char end)
{
	size_t n = 0;

	while (n < size - 1 && from[n] && from[n] != end) {
		to[n] = from[n];
		n++;
	}
	to[n] = '\0';
	return n;
}

/* The one that `memdiag run` has ready: it is marked, as the name may mean another by now. */
static long
given_file(void)
{
	char path[128];
	uint64_t magic = 0;
	long fd;

	copy_until(path, sizeof path, settings.segment, ';');
	fd = sys_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (sys_failed(fd))
		return -1;
	if (sys_call(SYS_pread64, fd, &magic, sizeof magic, 0) != sizeof magic ||
		magic != WIRE_MAGIC || sys_call(SYS_lseek, fd, 0, SEEK_END) < (long)BYTES) {
		sys_call(SYS_close, fd);
		return -1;
	}
	return fd;
}

/* settings.file with the PID behind it: as all the processes of one run have one each. */
static long
file_that_stays(void)
{
	char path[4096], digits[16];
	size_t n = copy_until(path, sizeof path - sizeof digits - 1, settings.file, '\0'), d = 0;

	path[n++] = '.';
	for (long pid = sys_call(SYS_getpid, 0); pid; pid /= 10)
		digits[d++] = (char)('0' + pid % 10);
	while (d)
		path[n++] = digits[--d];
	path[n] = '\0';
	return grown(sys_call(
		SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
}

static long
open_file(void)
{
	long fd = -1;

	if (settings.segment)
		fd = given_file();
	if (sys_failed(fd) && !may_have_file())
		return fd;
	if (sys_failed(fd) && settings.file)
		fd = file_that_stays();
	if (sys_failed(fd))
		fd = grown(sys_call(SYS_memfd_create, "memdiag-agent", MFD_CLOEXEC));
	return fd;
}

/* Map a new one at AT or, if that is NULL, anywhere.  NULL: there is none. */
static struct wire_segment *
map_new(void *at)
{
	long fd = open_file(), mapped;

	if (sys_failed(fd))
		return NULL;
	mapped = sys_call(SYS_mmap, at, BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
	sys_call(SYS_close, fd);
	return sys_failed(mapped) ? NULL : (struct wire_segment *)mapped;
}

/* ---- what is in it ---- */

/* VmExe, as MemTracer counts it: the text of the program alone. */
static uint64_t
code_bytes(void)
{
	static const char name[] = "VmExe:";
	char status[4096];
	const char *at;
	uint64_t kib = 0;
	long fd = sys_call(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC), n;

	if (sys_failed(fd))
		return 0;
	n = sys_call(SYS_read, fd, status, sizeof status - 1);
	sys_call(SYS_close, fd);
	status[n > 0 ? n : 0] = '\0';
	at = strstr(status, name);
	for (at = at ? at + sizeof name - 1 : ""; *at == ' ' || *at == '\t'; at++)
		;
	for (; *at >= '0' && *at <= '9'; at++)
		kib = kib * 10 + (uint64_t)(*at - '0');
	return kib * 1024;
}

static void
fill(uint32_t max_threads)
{
	struct timespec now = { 0 };
	int64_t reserve = settings.limit_bytes / 64;

	sys_call(SYS_clock_gettime, CLOCK_REALTIME, &now);
	memset(segment, 0, WIRE_HEADER_BYTES);
	segment->version = WIRE_VERSION;
	segment->header_bytes = WIRE_HEADER_BYTES;
	segment->thread_bytes = sizeof(struct wire_thread);
	segment->max_threads = max_threads;
	segment->pid = (uint32_t)sys_call(SYS_getpid, 0);
	segment->account = settings.account;
	segment->on_limit = settings.on_limit;
	segment->started_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	segment->code_bytes = code_bytes();
	segment->base_bytes = settings.is_memtracer ? (int64_t)segment->code_bytes : 0;
	segment->limit_bytes = settings.limit_bytes;
	if (settings.on_limit == WIRE_ENOMEM || settings.on_limit == WIRE_SIGNAL)
		segment->reserve_bytes = reserve < 16384 ? reserve : 16384;
	if (segment->limit_bytes == INT64_MAX)
		segment->reserve_bytes = 0;
	__atomic_store_n(&segment->magic, WIRE_MAGIC, __ATOMIC_RELEASE);
}

void
segment_open(void)
{
	struct wire_segment *mapped = map_new(NULL);
	uint32_t max_threads = mapped ? WIRE_MAX_THREADS : FEW_THREADS;

	if (mapped)
		segment = mapped;
	/* A file that was used before an exec() has the counters of that program. */
	memset(wire_threads(segment), 0, WIRE_SEGMENT_BYTES(max_threads) - WIRE_HEADER_BYTES);
	fill(max_threads);
	memdiag_agent_segment = segment;
}

/* ---- fork ---- */

/*
 * Put a mapping of our own where the parent's is, with what is in it.  If none is to be had, one
 * that nobody else sees.
 */
static void
part_from_parent(void)
{
	static unsigned char kept[WIRE_HEADER_BYTES];
	size_t bytes = (size_t)segment->nr_threads * sizeof(struct wire_thread);
	long copy;

	if (segment == (struct wire_segment *)fallback)
		return;		/* fork() has copied it */
	memcpy(kept, segment, sizeof kept);
	copy = sys_call(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (!sys_failed(copy))
		memcpy((void *)copy, wire_threads(segment), bytes);
	if (!map_new(segment))
		sys_call(SYS_mmap, segment, BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(segment, kept, sizeof kept);
	if (sys_failed(copy))
		return;
	memcpy(wire_threads(segment), (void *)copy, bytes);
	sys_call(SYS_munmap, copy, bytes);
}

void
segment_after_fork(void)
{
	count_forget_lock();
	mappings_forget_lock();
	settings.segment = NULL;
	agent_self.place = &agent_nobody;
	agent_self.has_none = agent_self.is_inside = false;
	if (!settings.follows) {
		agent_mode = AGENT_OFF;
		return;
	}
	part_from_parent();
	segment->pid = (uint32_t)sys_call(SYS_getpid, 0);
	segment->nr_refused = 0;
	segment->is_reported = 0;
	count_init_child();
}

static void
before_fork(void)
{
	mappings_lock();
	count_lock();
}

static void
after_fork(void)
{
	count_unlock();
	mappings_unlock();
}

void
segment_watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, segment_after_fork);
}
