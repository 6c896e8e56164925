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

static struct lock lock;
static struct range *ranges;
static size_t nr_ranges, room;
static uint32_t nr_starts;	/* of counting, when they were noted */

/* What was mapped and unmapped while nobody counted is not known. */
void
mappings_lock(void)
{
	lock_take(&lock);
	if (UNLIKELY(segment->nr_starts != nr_starts)) {
		nr_starts = segment->nr_starts;
		nr_ranges = 0;
	}
}

void
mappings_unlock(void)
{
	lock_drop(&lock);
}

void
mappings_forget_lock(void)
{
	lock = (struct lock){ 0 };
}

/* ---- the ranges, with the lock held ---- */

static bool
make_room(void)
{
	size_t want = room ? 2 * room : 4096 / sizeof *ranges;
	long at;

	if (nr_ranges + 2 <= room)
		return true;
	at = room ? sys_call(SYS_mremap, ranges, room * sizeof *ranges, want * sizeof *ranges,
			    MREMAP_MAYMOVE)
		  : sys_call(SYS_mmap, NULL, want * sizeof *ranges, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sys_failed(at))
		return false;
	ranges = (struct range *)at;
	room = want;
	return true;
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

/* Forget what lies in [START, END); returns the bytes that were counted for it. */
static int64_t
cut(uintptr_t start, uintptr_t end)
{
	size_t at = find_below(end);
	int64_t bytes = 0;

	while (at < nr_ranges && ranges[at].end > start) {
		struct range was = ranges[at];
		uintptr_t from = was.start > start ? was.start : start;
		uintptr_t to = was.end < end ? was.end : end;

		if (was.start < start && was.end > end && !make_room())
			return bytes;	/* counted too long rather than too short */
		bytes += (int64_t)(to - from);
		erase(at);
		if (was.start < start)
			insert(at, was.start, start);
		if (was.end > end)
			insert(at++, end, was.end);
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
	return (at + 4095) & ~(uintptr_t)4095;
}

/* Something of BYTES is at AT now, for which they are counted.  What was there is not any more. */
static void
note_mapped(struct wire_thread *self, void *at, size_t bytes)
{
	uintptr_t start = (uintptr_t)at;
	int64_t over;
	bool is_known;

	mappings_lock();
	over = cut(start, page_end(start + bytes));
	is_known = put(start, start + bytes);
	segment->nr_mappings++;
	mappings_unlock();
	if (!is_known)
		over += (int64_t)bytes;
	if (over)
		count_give(self, over);
}

static int64_t
note_unmapped(void *at, size_t bytes)
{
	int64_t was;

	mappings_lock();
	was = cut((uintptr_t)at, page_end((uintptr_t)at + bytes));
	mappings_unlock();
	return was;
}

/* Reserved addresses take no memory; MemTracer counts them all the same. */
static bool
counts(int prot, size_t bytes)
{
	return bytes <= INT64_MAX / 2 && (prot != PROT_NONE || settings.is_memtracer);
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
	bool is_counted = counts(prot, bytes);
	void *mapped;

	if (is_counted && !count_take(self, (int64_t)bytes)) {
		limit_reached(self, bytes);
		return MAP_FAILED;
	}
	mapped = real.mmap(at, bytes, prot, flags, fd, offset);
	if (mapped == MAP_FAILED) {
		if (is_counted)
			count_give(self, (int64_t)bytes);
	} else if (is_counted) {
		note_mapped(self, mapped, bytes);
	} else if (flags & MAP_FIXED) {
		count_give(self, note_unmapped(mapped, bytes));
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

#if __has_attribute(copy)
EXPORT __typeof__(mmap) mmap64 __attribute__((alias("mmap"), copy(mmap)));
#else
EXPORT __typeof__(mmap) mmap64 __attribute__((alias("mmap")));
#endif

static SLOW int
plain_munmap(void *at, size_t bytes)
{
	if (real.munmap)
		return real.munmap(at, bytes);
	return sys_failed(sys_call(SYS_munmap, at, bytes)) ? -1 : 0;
}

/*
 * Forgotten first, as another thread may map something there as soon as it is free; but counted until
 * it is.
 */
EXPORT int
munmap(void *at, size_t bytes)
{
	struct wire_thread *self = agent_enter();
	int64_t was;
	int failed;

	if (UNLIKELY(!self))
		return plain_munmap(at, bytes);
	was = note_unmapped(at, bytes);
	failed = real.munmap(at, bytes);
	/* Only a range that is none can fail like this, or one that would have to be split. */
	if (failed && was) {
		mappings_lock();
		if (put((uintptr_t)at, (uintptr_t)at + (size_t)was))
			was = 0;
		mappings_unlock();
	}
	if (was)
		count_give(self, was);
	agent_leave();
	return failed;
}

/* WANT bytes instead of HAD at OLD. */
static void *
counted_mremap(struct wire_thread *self, void *old, size_t had, size_t want, int flags, void *to)
{
	bool keeps = !had;	/* a second one of shared memory */
	int64_t was;
	void *mapped;

#ifdef MREMAP_DONTUNMAP
	keeps = keeps || (flags & MREMAP_DONTUNMAP);
#endif
	mappings_lock();
	was = cut((uintptr_t)old, page_end((uintptr_t)old + had));
	if (was)
		put((uintptr_t)old, (uintptr_t)old + (size_t)was);
	mappings_unlock();
	if (had && !was)	/* not counted so far, nor from now on */
		return real.mremap(old, had, want, flags, to);
	if ((int64_t)want > (keeps ? 0 : was) &&
		!count_take(self, (int64_t)want - (keeps ? 0 : was))) {
		limit_reached(self, want);
		return MAP_FAILED;
	}
	mapped = real.mremap(old, had, want, flags, to);
	if (mapped == MAP_FAILED) {
		if ((int64_t)want > (keeps ? 0 : was))
			count_give(self, (int64_t)want - (keeps ? 0 : was));
		return mapped;
	}
	if (!keeps) {
		note_unmapped(old, had);
		if ((int64_t)want < was)
			count_give(self, was - (int64_t)want);
	}
	note_mapped(self, mapped, want);
	return mapped;
}

EXPORT void *
mremap(void *old, size_t had, size_t want, int flags, ...)
{
	struct wire_thread *self = agent_enter();
	void *mapped, *to = NULL;
	va_list ap;

	if (flags & MREMAP_FIXED) {
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
