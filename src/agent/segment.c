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

/*
 * FD with room for all: in a file that is larger than the disk has room for, writing would be SIGBUS for
 * the program.
 */
static long
with_room(long fd)
{
	if (!sys_failed(fd) && sys_failed(sys_call(SYS_fallocate, fd, 0, 0, BYTES))) {
		sys_call(SYS_close, fd);
		return -1;
	}
	return fd;
}

static long
new_memory(void)
{
	long fd = sys_call(SYS_memfd_create, "memdiag-agent", MFD_CLOEXEC);

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
	return with_room(fd);
}

/* settings.file with the PID behind it: as all the processes of one run have one each. */
static long
file_that_stays(void)
{
	char path[4096], digits[16];
	size_t n = copy_until(path, sizeof path - sizeof digits - 1, settings.file, '\0'), d = 0;
	long fd;

	path[n++] = '.';
	for (long pid = sys_call(SYS_getpid, 0); pid; pid /= 10)
		digits[d++] = (char)('0' + pid % 10);
	while (d)
		path[n++] = digits[--d];
	path[n] = '\0';
	fd = sys_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (sys_failed(fd))
		return fd;
	if (sys_failed(with_room(fd))) {
		sys_call(SYS_unlinkat, AT_FDCWD, path, 0);
		return -1;
	}
	return fd;
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
		fd = new_memory();
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
	uint64_t kib = 0;
	char value[32];

	status_value("VmExe", value, sizeof value);
	for (const char *at = value; *at >= '0' && *at <= '9'; at++)
		kib = kib * 10 + (uint64_t)(*at - '0');
	return kib * 1024;
}

static void
fill(enum wire_way way, uint32_t max_threads)
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
	segment->way = way;
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

/* Memory that nobody else has, at AT or, if that is NULL, anywhere.  NULL: there is none. */
static struct wire_segment *
map_private(void *at, size_t bytes)
{
	long mapped = sys_call(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	return sys_failed(mapped) ? NULL : (struct wire_segment *)mapped;
}

/*
 * Of a process that ran already memdiag reads the memory.  So it need not be shared, and then a child
 * is no harm that was made by the system call itself: live.c does not ask for agent_mode.
 */
void
segment_open(enum wire_way way)
{
	struct wire_segment *mapped = way == WIRE_LOADED ? map_private(NULL, BYTES) : map_new(NULL);
	uint32_t max_threads = mapped ? WIRE_MAX_THREADS : FEW_THREADS;

	if (mapped)
		segment = mapped;
	/* A file that was used before an exec() has the counters of that program. */
	memset(wire_threads(segment), 0, WIRE_SEGMENT_BYTES(max_threads) - WIRE_HEADER_BYTES);
	fill(way, max_threads);
	memdiag_agent_segment = segment;
}

/* ---- fork ---- */

/* What a thread that forks needs to know afterwards. */
static __thread struct {
	struct agent_self self;
	enum agent_mode mode;		/* the child has none */
	struct wire_segment *copy;	/* of the counters, NULL: there is none */
} forking;

/*
 * The child's mapping will be the parent's until it has another, and the parent goes on counting
 * there.
 */
static void
copy_counters(void)
{
	bool has_mappings_lock = mappings_lock(), has_count_lock = count_lock();
	size_t bytes = WIRE_SEGMENT_BYTES(segment->nr_threads);

	forking.copy = map_private(NULL, bytes);
	if (forking.copy)
		memcpy(forking.copy, segment, bytes);
	if (has_count_lock)
		count_unlock();
	if (has_mappings_lock)
		mappings_unlock();
}

static void
drop_copy(void)
{
	if (forking.copy)
		sys_call(SYS_munmap, forking.copy, WIRE_SEGMENT_BYTES(forking.copy->nr_threads));
	forking.copy = NULL;
}

/*
 * Put a mapping of our own where the parent's is, with what was in it.  If none is to be had, one
 * that nobody else sees.
 */
static bool
part_from_parent(void)
{
	if (segment == (struct wire_segment *)fallback)
		return true;	/* fork() has copied it */
	if (!forking.copy)
		return false;
	if (!map_new(segment) && !map_private(segment, BYTES))
		return false;
	memcpy(segment, forking.copy, WIRE_SEGMENT_BYTES(forking.copy->nr_threads));
	return true;
}

/*
 * Handlers of others that were there before ours come between these and the fork.  What they allocate
 * is not counted: in the child it would be for the parent.  They may also wait for a lock whose holder
 * allocates, as fork() itself does for stdio's and nss's (2.36, sysdeps/nptl/fork.h): so none of ours is
 * held meanwhile.
 */
void
segment_before_fork(void)
{
	forking.self = agent_self;
	forking.mode = agent_mode;
	agent_self = (struct agent_self){ .is_inside = true, .is_forking = true };
	if (agent_mode != AGENT_OFF && settings.follows && segment != (struct wire_segment *)fallback)
		copy_counters();
}

void
segment_in_parent(void)
{
	drop_copy();
	agent_self = forking.self;
}

void
segment_in_child(void)
{
	bool is_counted;

	count_forget_lock();
	mappings_forget_lock();
	settings.segment = NULL;
	agent_self = (struct agent_self){ .place = NULL };
	/* Of a silent parent the counters are somebody else's. */
	is_counted = settings.follows && forking.mode != AGENT_OFF && part_from_parent();
	agent_mode = is_counted ? forking.mode : AGENT_OFF;
	drop_copy();
	if (!is_counted)
		return;
	segment->pid = (uint32_t)sys_call(SYS_getpid, 0);
	segment->nr_refused = 0;
	segment->is_reported = 0;
	count_init_child();
}

/* In a static program _Fork() is hooked, and is what fork() calls (2.34). */
void
segment_watch_forks(void)
{
	if (!live_page_bytes())
		pthread_atfork(segment_before_fork, segment_in_parent, segment_in_child);
}
