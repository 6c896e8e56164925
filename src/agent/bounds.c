#include <config.h>

#include "agent/bounds.h"

#include <fcntl.h>

#include "agent/agent.h"
#include "agent/sys.h"
#include "agent/thread.h"

/* ---- as the kernel says ---- */

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The part of a line read so far: "START-END ...". */
struct line {
	uintptr_t number[2];
	unsigned int at; /* which of them; 2: behind both */
};

/* Take the next character C.  Whether the line is the one that has ADDRESS. */
static bool
take(struct line *l, char c, uintptr_t address)
{
	const int d = digit(c);

	if (c == '\n') {
		*l = (struct line){ .at = 0 };
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
search(long fd, uintptr_t address, char *buf, size_t size, struct bounds *ret)
{
	struct line l = { .at = 0 };
	long n;

	while ((n = sys_call(SYS_read, fd, buf, size)) > 0)
		for (long i = 0; i < n; i++)
			if (take(&l, buf[i], address)) {
				*ret = (struct bounds){ l.number[0], l.number[1] };
				return true;
			}
	return false;
}

/* Those of a first thread that has ended while others run are empty (3.17 has thread-self). */
long
bounds_open_maps(void)
{
	const long fd =
		sys_call(SYS_openat, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);

	return sys_failed(fd)
		? sys_call(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC)
		: fd;
}

bool
bounds_of_mapping(uintptr_t address, char *buf, size_t size, struct bounds *ret)
{
	const long fd = bounds_open_maps();
	bool is_found;

	if (sys_failed(fd))
		return false;
	is_found = search(fd, address, buf, size, ret);
	sys_call(SYS_close, fd);
	return is_found;
}

/* ---- as libc has noted it ---- */

/*
 * struct pthread has three words in a row: where the block begins that the thread's stack is in,
 * how large it is, and how much of it is guard (stackblock, stackblock_size, guardsize;
 * nptl/descr.h, 2.3 to 2.44).  Their offset differs between releases.  It is found in the first
 * thread whose stack was found by its mapping.
 */
#define DESCRIPTOR_WORDS 300
/* In words; 0: not found yet. */
static unsigned int block_at;

static bool
is_block(const uintptr_t *word, uintptr_t sp, uintptr_t end)
{
	const uintptr_t start = word[0], bytes = word[1], guard = word[2];

	return start && !(start % 16) && bytes >= 4096 && bytes < (uintptr_t)1 << 40 &&
		guard < bytes && sp >= start + guard && sp < end && end <= start + bytes &&
		start + bytes - end < 65536;
}

/* The descriptor, which is at the end of the stack (x86-64), and the words in it. */
static const uintptr_t *
descriptor(void)
{
	return (const uintptr_t *)thread_stack();
}

static bool
by_descriptor(uintptr_t sp, struct bounds *ret)
{
	const unsigned int at = __atomic_load_n(&block_at, __ATOMIC_RELAXED);
	const uintptr_t *word = descriptor() + at;

	if (!at || !is_block(word, sp, thread_stack()))
		return false;
	*ret = (struct bounds){ word[0] + word[2], thread_stack() };
	return true;
}

/*
 * IN is the mapping that has both the stack and the descriptor.  It may have more: since 2.42 the
 * guard is no mapping of its own (MADV_GUARD_INSTALL), so that the stacks of several threads can be
 * one mapping, with pages in between that nobody may read.  The descriptor's own page can be read.
 */
static void
find_block(uintptr_t sp, const struct bounds *in)
{
	const uintptr_t room = (agent_page_bytes - thread_stack() % agent_page_bytes) / sizeof sp;
	const uintptr_t *word = descriptor();

	for (unsigned int i = 1; i + 2 < DESCRIPTOR_WORDS && i + 2 < room; i++)
		if (is_block(word + i, sp, thread_stack()) && word[i] + word[i + 2] >= in->start &&
			word[i] + word[i + 1] <= in->end) {
			__atomic_store_n(&block_at, i, __ATOMIC_RELAXED);
			return;
		}
}

/* ---- the first thread's ---- */

/* Its end, which stays; 0: not known. */
static uintptr_t first_end;

/* So much below it the kernel maps nothing else (mmap_base() leaves 128 MiB at least). */
#define FIRST_BYTES ((uintptr_t)8 << 20)

static bool
is_on_first(uintptr_t sp)
{
	return sp < first_end && first_end - sp < FIRST_BYTES;
}

/*
 * Whether AT is where the kernel has put the number of arguments, and behind it they are, for the
 * first thread: __libc_stack_end.  From START on that stack is mapped.
 */
static bool
is_entry_stack(uintptr_t at, uintptr_t start)
{
	const uintptr_t *word = (const uintptr_t *)at;

	return !(at % 16) && at >= start && is_on_first(at) && first_end - at >= 2 * sizeof *word &&
		word[0] < (first_end - at) / sizeof *word - 1 && !word[word[0] + 1];
}

/*
 * The same words in the first thread's descriptor, which has no block: stackblock_size is
 * __libc_stack_end there (nptl/nptl_init.c, sysdeps/nptl/dl_tls_init_tp.c).
 */
static void
find_block_in_first(uintptr_t start)
{
	const uintptr_t room =
		(agent_page_bytes - thread_stack() % agent_page_bytes) / sizeof start;
	const uintptr_t *word = descriptor();

	for (unsigned int i = 1; i + 2 < DESCRIPTOR_WORDS && i + 2 < room; i++)
		if (!word[i] && is_entry_stack(word[i + 1], start)) {
			__atomic_store_n(&block_at, i, __ATOMIC_RELAXED);
			return;
		}
}

/* ---- of any thread ---- */

void
bounds_begin(uintptr_t on_first, char *buf, size_t size)
{
	const bool is_first = sys_call(SYS_gettid, 0) == sys_call(SYS_getpid, 0);
	struct bounds b;

	if (on_first && bounds_of_mapping(on_first, buf, size, &b)) {
		first_end = b.end;
		if (is_first)
			find_block_in_first(b.start);
	}
	/* Not from SP: a borrowed thread, and one that memdiag makes, are on another stack. */
	if (!is_first)
		bounds_of_thread(thread_stack() - sizeof on_first, buf, size, &b);
}

bool
bounds_of_thread(uintptr_t sp, char *buf, size_t size, struct bounds *ret)
{
	if (by_descriptor(sp, ret))
		return true;
	if (is_on_first(sp)) {
		*ret = (struct bounds){ first_end - FIRST_BYTES, first_end };
		return true;
	}
	if (!bounds_of_mapping(sp, buf, size, ret))
		return false;
	if (thread_stack() - ret->start < ret->end - ret->start) {
		find_block(sp, ret);
		if (by_descriptor(sp, ret))
			return true;
		ret->end = thread_stack();
	}
	return sp < ret->end;
}
