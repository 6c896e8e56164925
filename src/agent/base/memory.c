#include <config.h>

#include "agent/base/memory.h"

#include <string.h>
#include <sys/mman.h>

#include "agent/base/compiler.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"

static struct wire_memory memory = { .magic = WIRE_MEMORY_MAGIC };
/* memdiag finds the list by this symbol. */
extern EXPORT struct wire_memory agent_memory __asm__(WIRE_MEMORY_SYMBOL)
	__attribute__((alias("memory")));

/*
 * A mapping that cannot be read is not populated, nor is an unlocked one (mm_populate() in
 * mm/gup.c).  The pages of a locked mapping cannot be released (can_madv_lru_vma() in
 * mm/madvise.c). munlock() is called only for a locked mapping, since a seccomp filter that allows
 * the system calls of malloc may kill the process for munlock().
 */
void *
memory_map(long fd, uint64_t offset, size_t bytes)
{
	const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	const long at =
		sys_call(SYS_mmap, NULL, bytes, PROT_NONE, flags | MAP_NORESERVE, fd, offset);

	if (sys_failed(at))
		return NULL;
	if (sys_failed(sys_call(SYS_madvise, at, bytes, MADV_DONTNEED)))
		sys_call(SYS_munlock, at, bytes);
	sys_call(SYS_madvise, at, bytes, MADV_NOHUGEPAGE);
	if (!sys_failed(sys_call(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE)))
		return (void *)at;
	sys_call(SYS_munmap, at, bytes);
	return NULL;
}

void
memory_clear(void *start, size_t bytes)
{
	const uintptr_t page = ~((uintptr_t)agent_page_bytes - 1);
	const uintptr_t end = ((uintptr_t)start + bytes + agent_page_bytes - 1) & page;

	if (sys_failed(sys_call(SYS_madvise, start, end - (uintptr_t)start, MADV_DONTNEED)))
		memset(start, 0, bytes);
}

void
memory_unlock(void *start, size_t bytes)
{
	const uintptr_t page = ~((uintptr_t)agent_page_bytes - 1);
	const uintptr_t from = ((uintptr_t)start + agent_page_bytes - 1) & page;
	const uintptr_t to = ((uintptr_t)start + bytes) & page;

	/* Locked pages cannot be released (madvise(2)). */
	if (from < to && !sys_failed(sys_call(SYS_munlock, from, to - from)))
		sys_call(SYS_madvise, from, to - from, MADV_DONTNEED);
}

/* True if P is, or becomes, the part that begins at START. */
static bool
memory_claim(struct wire_memory_part *p, uint64_t start)
{
	uint64_t was = 0;

	return __atomic_compare_exchange_n(
		       &p->start, &was, start, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		was == start;
}

void
memory_note(enum wire_memory_kind kind, const void *start, size_t bytes)
{
	for (unsigned int i = 0; i < WIRE_MEMORY_PARTS; i++) {
		struct wire_memory_part *p = &memory.part[i];

		if (!memory_claim(p, (uintptr_t)start))
			continue;
		p->kind = kind;
		__atomic_store_n(&p->bytes, bytes, __ATOMIC_RELEASE);
		return;
	}
	__atomic_add_fetch(&memory.nr_missing, 1, __ATOMIC_RELAXED);
}

void
memory_forget(const void *start)
{
	for (unsigned int i = 0; i < WIRE_MEMORY_PARTS; i++) {
		struct wire_memory_part *p = &memory.part[i];

		if (__atomic_load_n(&p->start, __ATOMIC_ACQUIRE) != (uintptr_t)start)
			continue;
		__atomic_store_n(&p->bytes, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&p->start, 0, __ATOMIC_RELEASE);
	}
}
