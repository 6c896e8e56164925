#include <config.h>

#include "agent/mappings.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent/count.h"
#include "agent/lock.h"
#include "agent/sys.h"

/*
 * [start, end) as the program asked for it: END need not be the end of a page.  Sorted, the highest
 * first: the kernel maps downwards, so a new one is most often the last.  They never overlap;
 * neighbours are one.
 */
struct range {
	uintptr_t start, end;
};

/* Most programs have fewer, and so need no memory of the kernel for it. */
#define FIRST_RANGES 1024

static struct lock lock;
static struct range first_ranges[FIRST_RANGES];
static struct range *ranges = first_ranges;
static size_t nr_ranges, room = FIRST_RANGES;
static uint32_t nr_starts;	/* of counting, when they were noted */

/* What was mapped and unmapped while nobody counted is not known. */
bool
mappings_lock(void)
{
	if (!lock_take(&lock))
		return false;
	if (UNLIKELY(segment->nr_starts != nr_starts)) {
		nr_starts = segment->nr_starts;
		nr_ranges = 0;
	}
	return true;
}

void
mappings_unlock(void)
{
	lock_drop(&lock);
}

void
mappings_forget_lock(void)
{
	/* Somebody who is not here was in the middle of it: what was mapped is not known any more. */
	if (lock.word && lock.owner != &agent_self)
		nr_ranges = 0;
	lock = (struct lock){ 0 };
}

/* ---- the ranges, with the lock held ---- */

static void
double_room(void)
{
	const size_t bytes = room * sizeof *ranges;
	struct range *old = ranges;
	long at = sys_call(SYS_mmap, NULL, 2 * bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (sys_failed(at))
		return;
	/* In this order: a child may be made in between. */
	ranges = memcpy((void *)at, old, nr_ranges * sizeof *ranges);
	room *= 2;
	if (old != first_ranges)
		sys_call(SYS_munmap, old, bytes);
}

/* For two more.  Memory is asked for long before it is needed: there may be none for a while. */
static bool
make_room(void)
{
	if (nr_ranges + 2 > room / 2)
		double_room();
	return nr_ranges + 2 <= room;
}

/* The first that begins below END: nr_ranges if none does. */
static size_t
find_below(uintptr_t end)
{
	size_t low = 0, high = nr_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].start < end)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void
insert(size_t at, uintptr_t start, uintptr_t end)
{
	memmove(&ranges[at + 1], &ranges[at], (nr_ranges++ - at) * sizeof *ranges);
	ranges[at] = (struct range){ start, end };
}

static void
erase(size_t at)
{
	memmove(&ranges[at], &ranges[at + 1], (--nr_ranges - at) * sizeof *ranges);
}

/*
 * Forget what lies in [START, END); returns the bytes that were counted for it.  Of a range with a
 * hole in it that there is no room for, the upper part is forgotten, too: rather too little is counted
 * than something that is not there.
 */
static int64_t
cut(uintptr_t start, uintptr_t end)
{
	size_t at = find_below(end);
	int64_t bytes = 0;

	while (at < nr_ranges && ranges[at].end > start) {
		struct range was = ranges[at];
		bool is_split = was.start < start && was.end > end;
		uintptr_t from = was.start > start ? was.start : start;
		uintptr_t to = was.end < end || (is_split && !make_room()) ? was.end : end;

		bytes += (int64_t)(to - from);
		erase(at);
		if (was.start < start)
			insert(at, was.start, start);
		if (was.end > to)
			insert(at++, to, was.end);
		at += was.start < start;
	}
	segment->mapped_bytes -= bytes;
	return bytes;
}

/* Remember [START, END), of which nothing is known; false when there is no memory for it. */
static bool
put(uintptr_t start, uintptr_t end)
{
	size_t at;

	if (!make_room())
		return false;
	at = find_below(end);
	segment->mapped_bytes += (int64_t)(end - start);
	if (segment->mapped_bytes > segment->mapped_peak_bytes)
		segment->mapped_peak_bytes = segment->mapped_bytes;
	if (at < nr_ranges && ranges[at].end == start) {
		start = ranges[at].start;
		erase(at);
	}
	if (at > 0 && ranges[at - 1].start == end) {
		ranges[at - 1].start = start;
		return true;
	}
	insert(at, start, end);
	return true;
}

/* ---- counting ---- */

static uintptr_t
page_end(uintptr_t at)
{
	return (at + agent_page_bytes - 1) & ~(uintptr_t)(agent_page_bytes - 1);
}

/*
 * Before BYTES at AT are unmapped, moved or mapped over: as soon as they are free another thread may
 * map something there.  Returns what is counted for them, which it is until they are gone.
 */
static int64_t
forget(void *at, size_t bytes)
{
	int64_t was;

	mappings_lock();
	was = cut((uintptr_t)at, page_end((uintptr_t)at + bytes));
	mappings_unlock();
	return was;
}

/*
 * BYTES at AT count, unless there is no memory to remember them.  Returns how much more that is than
 * before: something is known of them if the program unmapped it by a system call of its own.
 */
static int64_t
remember(void *at, int64_t bytes)
{
	const uintptr_t start = (uintptr_t)at, end = start + (size_t)bytes;
	int64_t more;

	mappings_lock();
	more = -cut(start, page_end(end));
	if (put(start, end))
		more += bytes;
	mappings_unlock();
	return more;
}

/*
 * What was forgotten is there after all.  Holes in it are not known any more, but the sum is right.
 */
static void
take_up_again(struct wire_thread *self, void *at, int64_t was)
{
	if (was)
		count_give(self, was - remember(at, was));
}

/* Something new of BYTES is at AT, for which COUNTED are counted so far. */
static void
take_up(struct wire_thread *self, void *at, int64_t bytes, int64_t counted)
{
	__atomic_add_fetch(&segment->nr_mappings, 1, __ATOMIC_RELAXED);
	count_give(self, counted - remember(at, bytes));
}

/*
 * What takes memory of the process: not reserved addresses, nor what the kernel can drop and read again
 * from a file.  MemTracer counts them all the same.
 */
static bool
counts(size_t bytes, int prot, int flags)
{
	bool is_file = !(flags & MAP_ANONYMOUS);

	if (bytes > INT64_MAX / 2)
		return false;
	if (settings.is_memtracer)
		return true;
	return prot != PROT_NONE && !(is_file && ((flags & MAP_TYPE) != MAP_PRIVATE ||
					   !(prot & PROT_WRITE)));
}

/* ---- hooks ---- */

/* Before ld.so has come to us there is no other way, and errno cannot be set. */
static SLOW void *
plain_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	long mapped;

	if (real.mmap)
		return real.mmap(at, bytes, prot, flags, fd, offset);
	mapped = sys_call(SYS_mmap, at, bytes, prot, flags, fd, offset);
	return sys_failed(mapped) ? MAP_FAILED : (void *)mapped;
}

static void *
counted_mmap(struct wire_thread *self, void *at, size_t bytes, int prot, int flags, int fd,
	off_t offset)
{
	int64_t was = flags & MAP_FIXED ? forget(at, bytes) : 0;
	int64_t want = counts(bytes, prot, flags) ? (int64_t)bytes : 0;
	int64_t more = want > was ? want - was : 0;
	void *mapped;

	if (!count_take(self, more)) {
		take_up_again(self, at, was);
		limit_reached(self, bytes);
		return MAP_FAILED;
	}
	mapped = real.mmap(at, bytes, prot, flags, fd, offset);
	if (mapped == MAP_FAILED) {
		take_up_again(self, at, was);
		count_give(self, more);
	} else if (want) {
		take_up(self, mapped, want, was + more);
	} else {
		count_give(self, was);
	}
	return mapped;
}

EXPORT void *
mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	struct wire_thread *self = agent_enter();
	void *mapped;

	if (UNLIKELY(!self))
		return plain_mmap(at, bytes, prot, flags, fd, offset);
	mapped = counted_mmap(self, at, bytes, prot, flags, fd, offset);
	agent_leave();
	return mapped;
}

ALSO(mmap64, mmap);

static SLOW int
plain_munmap(void *at, size_t bytes)
{
	if (real.munmap)
		return real.munmap(at, bytes);
	return sys_failed(sys_call(SYS_munmap, at, bytes)) ? -1 : 0;
}

EXPORT int
munmap(void *at, size_t bytes)
{
	struct wire_thread *self = agent_enter();
	int64_t was;
	int failed;

	if (UNLIKELY(!self))
		return plain_munmap(at, bytes);
	was = forget(at, bytes);
	failed = real.munmap(at, bytes);
	/* Only a range that is none can fail, or one that would have to be split. */
	if (failed)
		take_up_again(self, at, was);
	else
		count_give(self, was);
	agent_leave();
	return failed;
}

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4	/* 5.7 */
#endif

/* Whether the old mapping stays: a second one of shared memory, or one that is left empty. */
static bool
keeps_old(size_t had, int flags)
{
	return !had || flags & MREMAP_DONTUNMAP;
}

/*
 * WANT bytes instead of HAD at OLD, and at TO.  What did not count so far will not from now on.
 */
static void *
counted_mremap(struct wire_thread *self, void *old, size_t had, size_t want, int flags, void *to)
{
	int64_t was = forget(old, had ? had : 1), over = 0, more = 0;
	bool counts = was > 0 && want <= INT64_MAX / 2;
	void *mapped;

	if (keeps_old(had, flags)) {
		take_up_again(self, old, was);
		was = 0;
	}
	if (flags & MREMAP_FIXED)
		over = forget(to, want);
	if (counts && (int64_t)want > was + over)
		more = (int64_t)want - was - over;
	if (!count_take(self, more)) {
		take_up_again(self, old, was);
		take_up_again(self, to, over);
		limit_reached(self, want);
		return MAP_FAILED;
	}
	mapped = real.mremap(old, had, want, flags, to);
	if (mapped == MAP_FAILED) {
		take_up_again(self, old, was);
		take_up_again(self, to, over);
		count_give(self, more);
	} else if (counts) {
		take_up(self, mapped, (int64_t)want, was + over + more);
	} else {
		count_give(self, was + over);
	}
	return mapped;
}

EXPORT void *
mremap(void *old, size_t had, size_t want, int flags, ...)
{
	struct wire_thread *self = agent_enter();
	void *mapped, *to = NULL;
	va_list ap;

	/* Of the latter it is a wish (mm/mremap.c). */
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(ap, flags);
		to = va_arg(ap, void *);
		va_end(ap);
	}
	if (UNLIKELY(!self)) {
		if (real.mremap)
			return real.mremap(old, had, want, flags, to);
		return MAP_FAILED;
	}
	mapped = counted_mremap(self, old, had, want, flags, to);
	agent_leave();
	return mapped;
}
