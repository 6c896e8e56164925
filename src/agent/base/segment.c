#include <config.h>

#include "agent/base/segment.h"

#include <fcntl.h>
#include <link.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/base/compiler.h"
#include "agent/base/family.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "agent/base/status.h"
#include "agent/base/sys.h"
#include "wire/settings.h"

/* Used if a segment cannot be mapped: only this process can read it, but counting works. */
#define FEW_THREADS 64

static _Alignas(4096) unsigned char fallback[WIRE_SEGMENT_BYTES(FEW_THREADS)];

struct wire_segment *segment = (struct wire_segment *)fallback;
/* memdiag finds the segment by this symbol. */
EXPORT struct wire_segment *memdiag_agent_segment __asm__(WIRE_SYMBOL);
struct wire_segment *memdiag_agent_segment;

uint64_t segment_device;

/* ---- limits of the process ---- */

static uint64_t
limit_of(int resource)
{
	struct rlimit64 limit;

	return sys_failed(sys_call(SYS_prlimit64, 0, resource, NULL, &limit)) ? UINT64_MAX
									      : limit.rlim_cur;
}

/* RLIMIT_DATA covers private writable mappings (may_expand_vm() in mm/mmap.c, since Linux 4.7). */
uint64_t
segment_address_limit(void)
{
	const uint64_t addresses = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);

	return addresses < data ? addresses : data;
}

/*
 * The number of places for threads.  A profile maps 76 KiB for each place, whether or not it is
 * used.  Most threads need more than PLACE_PART of addresses for their stacks.
 */
#define PLACE_PART (UINT64_C(2) << 20)

static uint32_t
nr_places(void)
{
	const uint64_t nr = segment_address_limit() / PLACE_PART;

	if (nr < FEW_THREADS)
		return FEW_THREADS;
	return nr < WIRE_MAX_THREADS ? (uint32_t)nr : WIRE_MAX_THREADS;
}

/* ---- files for the segment ---- */

/* Without this check, a program that may not make large files would get a signal. */
static bool
may_have_file(void)
{
	struct rlimit64 limit;

	return !sys_failed(sys_call(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit)) &&
		limit.rlim_cur >= WIRE_WHOLE_BYTES;
}

/*
 * Return FD if the disk has room for all of the file.  Otherwise a write to the mapping would raise
 * SIGBUS in the program.
 */
static long
with_room(long fd)
{
	if (!sys_failed(fd) && sys_failed(sys_call(SYS_fallocate, fd, 0, 0, WIRE_WHOLE_BYTES))) {
		sys_call(SYS_close, fd);
		return -1;
	}
	return fd;
}

static void
note_device(long fd)
{
	struct stat file;

	if (!sys_failed(sys_call(SYS_fstat, fd, &file)))
		segment_device = file.st_dev;
}

static long
new_memory(void)
{
	long fd = sys_call(SYS_memfd_create, WIRE_SEGMENT_NAME, MFD_CLOEXEC);

	if (!sys_failed(fd) && sys_failed(sys_call(SYS_ftruncate, fd, WIRE_WHOLE_BYTES))) {
		sys_call(SYS_close, fd);
		return -1;
	}
	if (!sys_failed(fd))
		note_device(fd);
	return fd;
}

/* True if the descriptor that PATH names is an anonymous file in memory (mm/memfd.c). */
static bool
is_memfd(const char *path)
{
	static const char prefix[] = "/memfd:";
	char target[sizeof prefix - 1];

	return sys_call(SYS_readlinkat, AT_FDCWD, path, target, sizeof target) ==
		(long)sizeof target &&
		strncmp(target, prefix, sizeof target) == 0;
}

/*
 * The file that `memdiag run` has prepared.  A mark in it is checked, as the name may refer to
 * another file by now.
 */
static long
given_file(void)
{
	char path[128];
	uint64_t magic = 0;
	long fd;

	wire_path(path, sizeof path, settings.segment);
	fd = sys_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (sys_failed(fd))
		return -1;
	if (sys_call(SYS_pread64, fd, &magic, sizeof magic, 0) != sizeof magic ||
		magic != WIRE_MAGIC ||
		sys_call(SYS_lseek, fd, 0, SEEK_END) < (long)WIRE_WHOLE_BYTES) {
		sys_call(SYS_close, fd);
		return -1;
	}
	if (!is_memfd(path))
		return with_room(fd);
	note_device(fd); /* its file system has no size limit */
	return fd;
}

/* Open settings.file with the PID appended to its name: each process of one run has such a file. */
static long
file_that_stays(void)
{
	char path[4096], digits[16];
	size_t n = strlen(settings.file), d = 0;
	long fd;

	if (n > sizeof path - sizeof digits - 2)
		return -1;
	memcpy(path, settings.file, n);
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
segment_open_file(void)
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

/* Map a new segment at AT or, if AT is NULL, at any address.  NULL on failure. */
static struct wire_segment *
map_new(void *at)
{
	uint64_t offset = 0;
	long fd = family_join(&offset), mapped;

	if (sys_failed(fd))
		fd = segment_open_file();
	if (sys_failed(fd))
		return NULL;
	mapped = sys_call(SYS_mmap, at, WIRE_WHOLE_BYTES, PROT_READ | PROT_WRITE,
		MAP_SHARED | (at ? MAP_FIXED : 0), fd, offset);
	sys_call(SYS_close, fd);
	return sys_failed(mapped) ? NULL : (struct wire_segment *)mapped;
}

/* ---- content of the segment ---- */

/* The pages of the program's executable segments; 0 if its headers are unknown. */
static uint64_t
code_bytes_in_headers(void)
{
	const ElfW(Phdr) *p = (const void *)getauxval(AT_PHDR);
	const uintptr_t mask = ~(uintptr_t)(agent_page_bytes - 1);
	uintptr_t start = UINTPTR_MAX, end = 0;

	for (size_t i = getauxval(AT_PHNUM); p && i--; p++) {
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		start = p->p_vaddr < start ? p->p_vaddr : start;
		end = p->p_vaddr + p->p_filesz > end ? p->p_vaddr + p->p_filesz : end;
	}
	return end ? ((end + ~mask) & mask) - (start & mask) : 0;
}

/*
 * VmExe, as MemTracer counts it: the text of the program alone.  Reading it takes longer than all
 * other work at the start.  Where the number is only displayed, the program's headers give the same
 * value (load_elf_binary(), fs/binfmt_elf.c).
 */
static uint64_t
code_bytes(void)
{
	uint64_t kib = 0;
	char value[32];

	if (!settings_is_memtracer && !agent_is_static)
		return code_bytes_in_headers();
	status_value("VmExe", value, sizeof value);
	for (const char *at = value; *at >= '0' && *at <= '9'; at++)
		kib = kib * 10 + (uint64_t)(*at - '0');
	return kib * 1024;
}

/* Reserve a little memory: a program that continues at its limit needs some to do so. */
void
segment_set_reserve(void)
{
	const int64_t reserve = segment->limit_bytes / 64;

	segment->reserve_bytes = 0;
	if (segment->limit_bytes != INT64_MAX &&
		(segment->on_limit == WIRE_ENOMEM || segment->on_limit == WIRE_SIGNAL))
		segment->reserve_bytes = reserve < 16384 ? reserve : 16384;
}

static void
segment_fill(enum wire_way way, uint32_t max_threads)
{
	struct timespec now = { 0 };

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
	segment->is_counting = way == WIRE_PRELOADED && settings_is_counting;
	segment->started_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	segment->code_bytes = code_bytes();
	segment->base_bytes = settings_is_memtracer ? (int64_t)segment->code_bytes : 0;
	segment->limit_bytes = settings.limit_bytes;
	segment_set_reserve();
	__atomic_store_n(&segment->magic, WIRE_MAGIC, __ATOMIC_RELEASE);
}

/*
 * Clear the counters of the program that used the file before an exec().  Unused places are not
 * touched, so that they take no memory.
 */
static void
forget_earlier(uint32_t max_threads)
{
	const uint32_t nr = segment->nr_threads < max_threads ? segment->nr_threads : max_threads;

	memset(wire_threads(segment), 0, WIRE_SEGMENT_BYTES(nr) - WIRE_HEADER_BYTES);
}

/* Map private memory at AT or, if AT is NULL, at any address.  NULL on failure. */
static struct wire_segment *
map_private(void *at, size_t bytes)
{
	long mapped = sys_call(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	return sys_failed(mapped) ? NULL : (struct wire_segment *)mapped;
}

/*
 * A segment in a running process need not be shared, since memdiag reads the memory of the process.
 * A child that the program makes by a direct system call then has a copy and changes nothing of its
 * parent, although live.c does not check agent_mode.
 */
void
segment_open(enum wire_way way)
{
	struct wire_segment *mapped =
		way == WIRE_LOADED ? map_private(NULL, WIRE_WHOLE_BYTES) : map_new(NULL);
	uint32_t max_threads = mapped ? nr_places() : FEW_THREADS;

	if (mapped)
		segment = mapped;
	forget_earlier(max_threads);
	segment_fill(way, max_threads);
	memdiag_agent_segment = segment;
}

/* ---- fork ---- */

bool
segment_is_copied_by_fork(void)
{
	return segment == (struct wire_segment *)fallback;
}

struct wire_segment *
segment_copy(void)
{
	const uint32_t nr = segment->nr_threads;
	struct wire_segment *copy = map_private(NULL, WIRE_SEGMENT_BYTES(nr));

	if (copy) {
		memcpy(copy, segment, WIRE_SEGMENT_BYTES(nr));
		copy->nr_threads = nr; /* another thread may have taken a place in the meantime */
	}
	return copy;
}

void
segment_drop_copy(struct wire_segment *copy)
{
	sys_call(SYS_munmap, copy, WIRE_SEGMENT_BYTES(copy->nr_threads));
}

bool
segment_part(const struct wire_segment *copy)
{
	if (segment_is_copied_by_fork())
		return true;
	if (!copy)
		return false;
	if (!map_new(segment) && !map_private(segment, WIRE_WHOLE_BYTES))
		return false;
	memcpy(segment, copy, WIRE_SEGMENT_BYTES(copy->nr_threads));
	return true;
}
