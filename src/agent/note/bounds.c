#include <config.h>

#include "agent/note/bounds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/base/thread.h"

/* ---- the kernel's maps ---- */

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The part of a line read so far: "START-END ...". */
struct bounds_line {
	uintptr_t number[2];
	unsigned int at; /* index of the next number; 2: both are complete */
};

/* Process the next character C.  True if it completes the range that contains ADDRESS. */
static bool
bounds_take(struct bounds_line *l, char c, uintptr_t address)
{
	const int d = digit(c);

	if (c == '\n') {
		*l = (struct bounds_line){ .at = 0 };
		return false;
	}
	if (l->at == 2)
		return false;
	if (d >= 0) {
		l->number[l->at] = l->number[l->at] * 16 + (uintptr_t)d;
		return false;
	}
	l->at++;
	return l->at == 2 && address >= l->number[0] && address < l->number[1];
}

static bool
bounds_search(long fd, uintptr_t address, char *buf, size_t size, struct bounds *ret)
{
	struct bounds_line l = { .at = 0 };
	long n;

	while ((n = sys_call(SYS_read, fd, buf, size)) > 0)
		for (long i = 0; i < n; i++)
			if (bounds_take(&l, buf[i], address)) {
				*ret = (struct bounds){ l.number[0], l.number[1] };
				return true;
			}
	return false;
}

/*
 * Open the maps by either path.  The maps of a first thread that has ended while others run are
 * empty (Linux 3.17 has thread-self).
 */
static long
open_either(const char *of_thread, const char *of_process)
{
	const long fd = sys_call(SYS_openat, AT_FDCWD, of_thread, O_RDONLY | O_CLOEXEC);

	return sys_failed(fd) ? sys_call(SYS_openat, AT_FDCWD, of_process, O_RDONLY | O_CLOEXEC)
			      : fd;
}

long
bounds_open_maps(void)
{
	return open_either("/proc/thread-self/maps", "/proc/self/maps");
}

bool
bounds_of_mapping(uintptr_t address, char *buf, size_t size, struct bounds *ret)
{
	const long fd = bounds_open_maps();
	bool is_found;

	if (sys_failed(fd))
		return false;
	is_found = bounds_search(fd, address, buf, size, ret);
	sys_call(SYS_close, fd);
	return is_found;
}

/* ---- readable memory ---- */

/* True if probe() works. */
static bool can_probe;

/*
 * True if the word at AT can be read.  The kernel copies the set before it rejects the invalid HOW
 * (rt_sigprocmask, kernel/signal.c, 2.6 to 6.18), so nothing changes.  It returns EFAULT if a load
 * would raise SIGSEGV or SIGBUS, for any reason.  A function that records mappings makes this
 * system call as well, so a filter that allows a profile allows it.
 */
static bool
probe(uintptr_t at)
{
	const long no_how = -1;

	return sys_call(SYS_rt_sigprocmask, no_how, at, NULL, sizeof(uint64_t)) == -EINVAL;
}

/* Find out whether probe() works: other kernels, and emulators, may check HOW first. */
static void
find_probe(void)
{
	const long at = sys_call(SYS_mmap, NULL, agent_page_bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sys_failed(at))
		return;
	can_probe = probe((uintptr_t)&can_probe) && !probe((uintptr_t)at);
	sys_call(SYS_munmap, at, agent_page_bytes);
}

/* The page size of each processor is this number or a multiple of it. */
#define PAGE_BYTES 4096

bool
bounds_may_read(struct bounds_pages *p, uintptr_t at)
{
	const uintptr_t page = at & -(uintptr_t)PAGE_BYTES;

	if (!can_probe)
		return true;
	if (at - page > PAGE_BYTES - sizeof(uint64_t))
		return probe(at);
	for (uint32_t i = 0; i < p->nr && i < BOUNDS_NR_PAGES; i++)
		if (p->at[i] == page)
			return true;
	if (!probe(at))
		return false;
	p->at[p->nr++ % BOUNDS_NR_PAGES] = page;
	return true;
}

/* ---- libc's thread descriptor ---- */

/*
 * struct pthread has three consecutive words: the start of the block that contains the thread's
 * stack, its size, and the size of its guard (stackblock, stackblock_size, guardsize; nptl/descr.h,
 * 2.3 to 2.44).  Their offset differs between releases.  It is found in the first thread whose
 * stack was found by its mapping.
 */
#define DESCRIPTOR_WORDS 300
/* The descriptor begins at the thread pointer (x86-64) or ends there (aarch64). */
#if defined __aarch64__
#define FIRST_WORD (-DESCRIPTOR_WORDS)
#define END_WORD (-2)
#else
#define FIRST_WORD 1
#define END_WORD (DESCRIPTOR_WORDS - 2)
#endif
/* The offset of these words, in words; 0 if not found yet. */
static int block_at;

static bool
bounds_is_block(const uintptr_t *word, uintptr_t sp, uintptr_t end)
{
	const uintptr_t start = word[0], bytes = word[1], guard = word[2];

	return start && !(start % 16) && bytes >= 4096 && bytes < (uintptr_t)1 << 40 &&
		guard < bytes && sp >= start + guard && sp < end && end <= start + bytes &&
		start + bytes - end < 65536;
}

/* The origin for offsets in the descriptor, which is at the end of the stack. */
static const uintptr_t *
descriptor(void)
{
	return (const uintptr_t *)thread_stack();
}

/*
 * True if WORD[0..2] can be read: the words are on the page of the thread pointer, or probe()
 * succeeds.
 */
static bool
may_look_at(const uintptr_t *word)
{
	const uintptr_t at = (uintptr_t)word, page = thread_stack() / agent_page_bytes;

	return (at / agent_page_bytes == page &&
		       (at + 3 * sizeof *word - 1) / agent_page_bytes == page) ||
		(can_probe && probe(at) && probe((uintptr_t)(word + 2)));
}

static bool
by_descriptor(uintptr_t sp, struct bounds *ret)
{
	const int at = __atomic_load_n(&block_at, __ATOMIC_RELAXED);
	const uintptr_t *word = descriptor() + at;

	if (!at || !bounds_is_block(word, sp, thread_stack()))
		return false;
	*ret = (struct bounds){ word[0] + word[2], thread_stack() };
	return true;
}

/*
 * Find the offset of the block's words.  IN is the mapping that contains the stack and the
 * descriptor.  It may contain more: since glibc 2.42 the guard is not a separate mapping
 * (MADV_GUARD_INSTALL), so one mapping can hold the stacks of several threads, with inaccessible
 * pages in between.  The descriptor's own page can be read.
 */
static void
find_block(uintptr_t sp, const struct bounds *in)
{
	const uintptr_t *word = descriptor();

	for (int i = FIRST_WORD; i < END_WORD; i++)
		if (may_look_at(word + i) && bounds_is_block(word + i, sp, thread_stack()) &&
			word[i] + word[i + 2] >= in->start && word[i] + word[i + 1] <= in->end) {
			__atomic_store_n(&block_at, i, __ATOMIC_RELAXED);
			return;
		}
}

/* ---- the stack of the first thread ---- */

/* The end of the first thread's stack, which never changes; 0 if unknown. */
static uintptr_t first_end;

/*
 * The kernel keeps this distance below that end free of other mappings (mmap_base() leaves at least
 * 128 MiB).
 */
#define FIRST_BYTES ((uintptr_t)128 << 20)

static bool
is_on_first(uintptr_t sp)
{
	return sp < first_end && first_end - sp < FIRST_BYTES;
}

/*
 * True if AT is the address at which the kernel stored the number of arguments, followed by the
 * arguments, for the first thread: __libc_stack_end.  The stack is mapped from START on.
 */
static bool
is_entry_stack(uintptr_t at, uintptr_t start)
{
	const uintptr_t *word = (const uintptr_t *)at;

	return !(at % 16) && at >= start && is_on_first(at) && first_end - at >= 2 * sizeof *word &&
		word[0] < (first_end - at) / sizeof *word - 1 && !word[word[0] + 1];
}

/*
 * Find the offset of the block's words in the descriptor of the first thread.  It has no block: its
 * stackblock_size is __libc_stack_end (nptl/nptl_init.c, sysdeps/nptl/dl_tls_init_tp.c).
 */
static void
find_block_in_first(uintptr_t start)
{
	const uintptr_t *word = descriptor();

	for (int i = FIRST_WORD; i < END_WORD; i++)
		if (may_look_at(word + i) && !word[i] && is_entry_stack(word[i + 1], start)) {
			__atomic_store_n(&block_at, i, __ATOMIC_RELAXED);
			return;
		}
}

/* ---- the stack of any thread ---- */

/*
 * The address of the random bytes that the kernel stored for libc on the first thread's stack; 0 if
 * unknown.
 */
static uintptr_t
find_on_first(char *buf, size_t size)
{
	const long fd = open_either("/proc/thread-self/auxv", "/proc/self/auxv");
	uintptr_t pair[2];
	long n;

	if (sys_failed(fd))
		return 0;
	n = sys_call(SYS_read, fd, buf, size);
	sys_call(SYS_close, fd);
	for (long i = 0; n - i >= (long)sizeof pair; i += (long)sizeof pair) {
		__builtin_memcpy(pair, buf + i, sizeof pair);
		if (pair[0] == AT_RANDOM)
			return pair[1];
	}
	return 0;
}

void
bounds_begin(uintptr_t on_first, char *buf, size_t size)
{
	const bool is_first = sys_call(SYS_gettid, 0) == sys_call(SYS_getpid, 0);
	struct bounds b;

	find_probe();
	if (!on_first)
		on_first = find_on_first(buf, size);
	if (on_first && bounds_of_mapping(on_first, buf, size, &b)) {
		first_end = b.end;
		if (is_first)
			find_block_in_first(b.start);
	}
	if (!is_first)
		bounds_learn(buf, size);
}

/* SP is not used: a borrowed thread, or one that memdiag creates, runs on another stack. */
void
bounds_learn(char *buf, size_t size)
{
	const uintptr_t sp = thread_stack() - sizeof sp;
	struct bounds b;

	if (!__atomic_load_n(&block_at, __ATOMIC_RELAXED) && bounds_of_mapping(sp, buf, size, &b) &&
		thread_stack() - b.start < b.end - b.start)
		find_block(sp, &b);
}

/*
 * The mapping that contains SP is not used.  It may be a stack that the program has allocated,
 * which the kernel has merged with the mapping of the descriptor, and which may be unmapped while
 * the thread is alive.
 */
bool
bounds_of_thread(uintptr_t sp, struct bounds *ret)
{
	if (by_descriptor(sp, ret))
		return true;
	if (!is_on_first(sp))
		return false;
	*ret = (struct bounds){ first_end - FIRST_BYTES, first_end };
	return true;
}

/* The largest size of a frame; a larger one means that the stack ends. */
#define OTHER_BYTES ((uintptr_t)64 << 20)

bool
bounds_of_other(uintptr_t sp, char *buf, size_t size, struct bounds *ret)
{
	const uintptr_t start = sp & ~(OTHER_BYTES - 1);

	if (!can_probe)
		return bounds_of_mapping(sp, buf, size, ret);
	*ret = (struct bounds){ start, start + 2 * OTHER_BYTES };
	return true;
}
