/*
 * fake-malloc: what malloc of a release that does not run here has in memory, made by hand from the
 * structures of malloc/malloc.c and malloc/arena.c: a libc with main_arena and mp_, an arena of one
 * heap and one of two.
 */
#ifndef MEMDIAG_TESTS_FAKE_MALLOC_H
#define MEMDIAG_TESTS_FAKE_MALLOC_H

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "elf/image.h"
#include "elf/objects.h"

#define FAKE_DATA_AT 0x1000 /* in the fake libc */
#define FAKE_DATA_BYTES 0x3000
#define FAKE_MP_AT 0x80 /* in its data */
#define FAKE_ARENA_AT 0x420
#define FAKE_BRK_BYTES 0x21000
#define FAKE_MIB (UINT64_C(1) << 20)

struct fake {
	const char *name;
	unsigned int word_bytes, bins_offset, heap_info_bytes;
	uint64_t heap_max_bytes;
	uint64_t heap_bytes;	 /* of each heap */
	unsigned int nr_between; /* words from next to system_mem: next_free, attached ... */
	bool is_alone;		 /* there is no arena but the main one */
	/* offsets in mp_; 0: it has none (tcache, hp_pagesize ...), or no mp_ (sbrk_base) */
	struct {
		unsigned int nr_mmaps, mmapped, sbrk_base, tcache, hp_page, thp_page, thp_mode;
	} mp;
	struct {
		unsigned int nr_bins, count_bytes, chunk_bytes;
		bool counts_down, has_key;
	} tcache;
	bool is_mangled;
	/* what the layout is to be; NULL: an unknown one */
	const char *era;
	unsigned int system_mem, state_bytes;
};

#define FAKE_64(bins)                                                                              \
	.word_bytes = 8, .bins_offset = (bins), .heap_max_bytes = 64 * FAKE_MIB,                   \
	.heap_bytes = FAKE_BRK_BYTES
#define FAKE_32(bins)                                                                              \
	.word_bytes = 4, .bins_offset = (bins), .heap_max_bytes = FAKE_MIB,                        \
	.heap_bytes = FAKE_BRK_BYTES

static const struct fake fakes[] = {
	{ "2.10 without PER_THREAD", FAKE_64(0x68), .heap_info_bytes = 0x20, .nr_between = 0,
		.era = "2.10 to 2.14", .system_mem = 0x870, .state_bytes = 0x880 },
	{ "2.12 with it", FAKE_64(0x68), .heap_info_bytes = 0x20, .nr_between = 1,
		.mp = { 0x28, 0x40, 0x58, 0 }, .era = "2.10 to 2.14", .system_mem = 0x878,
		.state_bytes = 0x888 },
	{ "2.17", FAKE_64(0x68), .heap_info_bytes = 0x20, .nr_between = 1,
		.mp = { 0x28, 0x38, 0x50, 0 }, .era = "2.15 to 2.22", .system_mem = 0x878,
		.state_bytes = 0x888 },
	{ "2.23", FAKE_64(0x68), .heap_info_bytes = 0x20, .nr_between = 2,
		.mp = { 0x28, 0x38, 0x50, 0 }, .era = "2.22 to 2.23", .system_mem = 0x880,
		.state_bytes = 0x890 },
	{ "2.24", FAKE_64(0x68), .heap_info_bytes = 0x20, .nr_between = 2,
		.mp = { 0x28, 0x38, 0x48, 0 }, .era = "2.24 to 2.25", .system_mem = 0x880,
		.state_bytes = 0x890 },
	{ "2.26.0", FAKE_64(0x68), .heap_info_bytes = 0x20, .nr_between = 2,
		.mp = { 0x28, 0x38, 0x48, 0x50 }, .tcache = { 64, 1, 0x250, false, false },
		.era = "2.26", .system_mem = 0x880, .state_bytes = 0x890 },
	{ "2.27", FAKE_64(0x70), .heap_info_bytes = 0x20, .nr_between = 2,
		.mp = { 0x28, 0x38, 0x48, 0x50 }, .tcache = { 64, 1, 0x250, false, false },
		.era = "2.26 to 2.29", .system_mem = 0x888, .state_bytes = 0x898 },
	{ "2.29", FAKE_64(0x70), .heap_info_bytes = 0x20, .nr_between = 2,
		.mp = { 0x28, 0x38, 0x48, 0x50 }, .tcache = { 64, 1, 0x250, false, true },
		.era = "2.26 to 2.29", .system_mem = 0x888, .state_bytes = 0x898 },
	{ "2.31", FAKE_64(0x70), .heap_info_bytes = 0x20, .nr_between = 2,
		.mp = { 0x28, 0x38, 0x48, 0x50 }, .tcache = { 64, 2, 0x290, false, true },
		.era = "2.28 to 2.31", .system_mem = 0x888, .state_bytes = 0x898 },
	{ "2.34", FAKE_64(0x70), .heap_info_bytes = 0x20, .nr_between = 2,
		.mp = { 0x28, 0x38, 0x48, 0x50 }, .tcache = { 64, 2, 0x290, false, true },
		.is_mangled = true, .era = "2.32 to 2.34", .system_mem = 0x888,
		.state_bytes = 0x898 },
	{ "2.35 without tunables", FAKE_64(0x70), .heap_info_bytes = 0x30, .nr_between = 2,
		.mp = { 0x28, 0x38, 0x48, 0x50 }, .tcache = { 64, 2, 0x290, false, true },
		.is_mangled = true, .era = "2.35 to 2.37", .system_mem = 0x888,
		.state_bytes = 0x898 },
	{ "2.39", FAKE_64(0x70), .heap_info_bytes = 0x30, .nr_between = 2,
		.mp = { 0x3c, 0x50, 0x60, 0x68, .hp_page = 0x30 },
		.tcache = { 64, 2, 0x290, false, true }, .is_mangled = true, .era = "2.35 to 2.41",
		.system_mem = 0x888, .state_bytes = 0x898 },
	{ "2.42", FAKE_64(0x70), .heap_info_bytes = 0x30, .nr_between = 2,
		.mp = { 0x3c, 0x50, 0x60, 0x68, .hp_page = 0x30 },
		.tcache = { 76, 2, 0x300, true, true }, .is_mangled = true, .era = "2.42",
		.system_mem = 0x888, .state_bytes = 0x898 },
	{ "2.43", FAKE_64(0x18), .heap_info_bytes = 0x30, .nr_between = 2,
		.mp = { 0x44, 0x58, 0x68, 0x70, .hp_page = 0x38 },
		.tcache = { 76, 2, 0x300, true, true }, .is_mangled = true, .era = "2.43 or later",
		.system_mem = 0x830, .state_bytes = 0x840 },
	{ "2.43 before its branch", FAKE_64(0x18), .heap_info_bytes = 0x30, .nr_between = 2,
		.mp = { 0x44, 0x58, 0x68, 0x70, .hp_page = 0x38, .thp_page = 0x28,
			.thp_mode = 0x30 },
		.tcache = { 76, 2, 0x300, true, true }, .is_mangled = true, .era = "2.43",
		.system_mem = 0x830, .state_bytes = 0x840 },
	{ "2.44", FAKE_64(0x18), .heap_info_bytes = 0x30, .nr_between = 2,
		.mp = { 0x44, 0x58, 0x68, 0x70, .hp_page = 0x38, .thp_page = 0x30,
			.thp_mode = 0x28 },
		.tcache = { 76, 2, 0x300, true, true }, .is_mangled = true, .era = "2.43 or later",
		.system_mem = 0x830, .state_bytes = 0x840 },
	{ "2.27 with links that its branch never had", FAKE_64(0x70), .heap_info_bytes = 0x20,
		.nr_between = 2, .mp = { 0x28, 0x38, 0x48, 0x50 },
		.tcache = { 64, 1, 0x250, false, true }, .is_mangled = true, .era = "2.26 to 2.29",
		.system_mem = 0x888, .state_bytes = 0x898 },
	{ "2.10, one arena", FAKE_64(0x68), .heap_info_bytes = 0x20, .nr_between = 0,
		.is_alone = true, .era = "2.10 to 2.14", .system_mem = 0x870,
		.state_bytes = 0x880 },
	{ "2.17, one arena", FAKE_64(0x68), .heap_info_bytes = 0x20, .nr_between = 1,
		.is_alone = true, .mp = { 0x28, 0x38, 0x50, 0 }, .era = "2.15 to 2.22",
		.system_mem = 0x878, .state_bytes = 0x888 },
	{ "2.23, one arena", FAKE_64(0x68), .heap_info_bytes = 0x20, .nr_between = 2,
		.is_alone = true, .mp = { 0x28, 0x38, 0x50, 0 }, .era = "2.22 to 2.23",
		.system_mem = 0x880, .state_bytes = 0x890 },
	{ "a release to come", FAKE_64(0x28), .heap_info_bytes = 0x30, .nr_between = 2 },
	{ "another one", FAKE_64(0x18), .heap_info_bytes = 0x30, .nr_between = 6 },
	{ "huge pages of 2 MiB", .word_bytes = 8, .bins_offset = 0x70, .heap_info_bytes = 0x30,
		.heap_max_bytes = 8 * FAKE_MIB, .heap_bytes = 2 * FAKE_MIB, .nr_between = 2,
		.mp = { 0x3c, 0x50, 0x60, 0x68, .hp_page = 0x30 },
		.tcache = { 64, 2, 0x290, false, true }, .is_mangled = true, .era = "2.35 to 2.41",
		.system_mem = 0x888, .state_bytes = 0x898 },
	{ "huge pages of 1 GiB", .word_bytes = 8, .bins_offset = 0x70, .heap_info_bytes = 0x30,
		.heap_max_bytes = 4096 * FAKE_MIB, .heap_bytes = 1024 * FAKE_MIB, .nr_between = 2,
		.mp = { 0x3c, 0x50, 0x60, 0x68, .hp_page = 0x30 },
		.tcache = { 64, 2, 0x290, false, true }, .is_mangled = true, .era = "2.35 to 2.41",
		.system_mem = 0x888, .state_bytes = 0x898 },
	{ "i386 2.17", FAKE_32(0x38), .heap_info_bytes = 0x10, .nr_between = 1,
		.mp = { 0x14, 0x24, 0x30, 0 }, .era = "2.15 to 2.22", .system_mem = 0x448,
		.state_bytes = 0x450 },
	{ "i386 2.24", FAKE_32(0x38), .heap_info_bytes = 0x10, .nr_between = 2,
		.mp = { 0x14, 0x24, 0x2c, 0 }, .era = "2.24 to 2.25", .system_mem = 0x44c,
		.state_bytes = 0x454 },
	{ "i386 2.26.0", FAKE_32(0x3c), .heap_info_bytes = 0x18, .nr_between = 2,
		.mp = { 0x14, 0x24, 0x2c, 0x30 }, .tcache = { 64, 1, 0x150, false, false },
		.era = "2.26", .system_mem = 0x450, .state_bytes = 0x458 },
	{ "i386 2.31", FAKE_32(0x40), .heap_info_bytes = 0x18, .nr_between = 2,
		.mp = { 0x14, 0x24, 0x2c, 0x30 }, .tcache = { 64, 2, 0x190, false, true },
		.era = "2.28 to 2.31", .system_mem = 0x454, .state_bytes = 0x45c },
	{ "i386 2.39", FAKE_32(0x40), .heap_info_bytes = 0x18, .nr_between = 2,
		.mp = { 0x20, 0x30, 0x38, 0x3c, .hp_page = 0x18 },
		.tcache = { 64, 2, 0x190, false, true }, .is_mangled = true, .era = "2.35 to 2.41",
		.system_mem = 0x454, .state_bytes = 0x45c },
	{ "i386 2.44", FAKE_32(0x10), .heap_info_bytes = 0x18, .nr_between = 2,
		.mp = { 0x24, 0x34, 0x3c, 0x40, .hp_page = 0x1c },
		.tcache = { 76, 2, 0x1d0, true, true }, .is_mangled = true, .era = "2.43 or later",
		.system_mem = 0x424, .state_bytes = 0x42c },
};

/* ---- making it ---- */

static inline void
fake_set(uint64_t at, uint64_t value, size_t size)
{
	memcpy((void *)(uintptr_t)at, &value, size); /* little-endian */
}

static inline void
fake_set_word(const struct fake *f, uint64_t at, uint64_t value)
{
	fake_set(at, value, f->word_bytes);
}

static inline uint64_t
fake_next_offset(const struct fake *f)
{
	return f->bins_offset + 127 * 2 * f->word_bytes + 16;
}

/* Its bins, all empty, where its top and its ring go, and SYSTEM_BYTES. */
static inline void
fake_make_arena(
	const struct fake *f, uint64_t arena, uint64_t top, uint64_t next, uint64_t system_bytes)
{
	uint64_t w = f->word_bytes, bins = arena + f->bins_offset;
	uint64_t tail = arena + fake_next_offset(f);

	for (uint64_t at = bins; at < bins + 127 * 2 * w; at += 2 * w) {
		fake_set_word(f, at, at - 2 * w);
		fake_set_word(f, at + w, at - 2 * w);
	}
	fake_set_word(f, bins - 2 * w, top);
	fake_set_word(f, tail, next);
	if (f->nr_between > 1)
		fake_set_word(f, tail + 2 * w, 1); /* attached_threads */
	fake_set_word(f, tail + (1 + f->nr_between) * w, system_bytes);
	fake_set_word(f, tail + (2 + f->nr_between) * w, system_bytes + 0x1000);
}

static inline void
fake_make_heap(const struct fake *f, uint64_t heap, uint64_t arena, uint64_t prev)
{
	if (mprotect((void *)(uintptr_t)heap, 0x1000, PROT_READ | PROT_WRITE) < 0)
		abort();
	fake_set_word(f, heap, arena);
	fake_set_word(f, heap + f->word_bytes, prev);
	fake_set_word(f, heap + 2 * f->word_bytes, f->heap_bytes);
	fake_set_word(f, heap + 3 * f->word_bytes, f->heap_bytes);
}

/* mp_ as the program begins with it; 2.12's pagesize alone comes later. */
static inline void
fake_make_default_params(const struct fake *f, uint64_t mp)
{
	unsigned int w = f->word_bytes;

	for (unsigned int i = 0; i < 3; i++)
		fake_set_word(f, mp + i * w, 131072);
	fake_set_word(f, mp + 3 * w, w == 8 ? 8 : 2);
	fake_set(mp + f->mp.nr_mmaps + 4, 65536, 4);
	if (f->mp.tcache) {
		fake_set_word(f, mp + f->mp.tcache, 64);
		fake_set_word(f, mp + f->mp.tcache + w, f->tcache.counts_down ? 0x411 : 0x408);
		fake_set_word(f, mp + f->mp.tcache + 2 * w, f->tcache.counts_down ? 16 : 7);
	}
}

/* mp_ as it has become. */
static inline void
fake_make_params(const struct fake *f, uint64_t mp, uint64_t sbrk_base)
{
	unsigned int w = f->word_bytes;

	fake_make_default_params(f, mp);
	fake_set_word(f, mp, 0x300000);
	fake_set_word(f, mp + 2 * w, 0x180000);
	fake_set_word(f, mp + 4 * w, 12);
	if (f->mp.hp_page)
		fake_set_word(f, mp + f->mp.hp_page, 0x200000);
	if (f->mp.thp_page)
		fake_set_word(f, mp + f->mp.thp_page, 0x400000);
	if (f->mp.thp_mode)
		fake_set(mp + f->mp.thp_mode, 3, 4);
	fake_set(mp + f->mp.nr_mmaps, 3, 4);
	fake_set(mp + f->mp.nr_mmaps + 8, 9, 4);
	fake_set(mp + f->mp.nr_mmaps + 12, 1, 4);
	if (f->mp.mmapped - f->mp.nr_mmaps > 16) /* 2.12, or padding */
		fake_set(mp + f->mp.nr_mmaps + 16, 4096 * !f->mp.hp_page, 4);
	fake_set_word(f, mp + f->mp.mmapped, 0x7000);
	fake_set_word(f, mp + f->mp.mmapped + w, 0x9000);
	fake_set_word(f, mp + f->mp.sbrk_base, sbrk_base);
}

/* The first chunk of HEAP is a thread's cache with a block in a bin. */
static inline void
fake_make_tcache(const struct fake *f, uint64_t heap)
{
	uint64_t w = f->word_bytes, chunk = heap + (w == 8 ? 0 : 8), block = chunk + 2 * w;
	uint64_t heads = block + f->tcache.nr_bins * f->tcache.count_bytes;
	uint64_t in_bin = heap + 0x1010;
	unsigned int room = f->tcache.counts_down ? 16 : 0;

	fake_set_word(f, chunk + w, f->tcache.chunk_bytes | 1);
	for (unsigned int i = 0; i < f->tcache.nr_bins; i++)
		fake_set(block + i * f->tcache.count_bytes, i == 3 ? (room ? room - 1 : 1) : room,
			f->tcache.count_bytes);
	fake_set_word(f, heads + 3 * w, in_bin);
	fake_set_word(f, in_bin, f->is_mangled ? in_bin >> 12 : 0);
	fake_set_word(f, in_bin + w, f->tcache.has_key ? block : 0x123);
}

static inline uint64_t
fake_reserve(const struct fake *f, uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (f->word_bytes == 4 ? MAP_32BIT : 0),
		-1, 0);

	if (p == MAP_FAILED)
		abort();
	return (uintptr_t)p;
}

/* The headers of an object with one writable segment, for ELF of BITS. */
#define FAKE_HEADERS(at, bits, machine)                                                            \
	do {                                                                                       \
		Elf##bits##_Ehdr *e_ = (void *)(uintptr_t)(at);                                    \
		Elf##bits##_Phdr *p_ = (void *)(e_ + 1);                                           \
		*e_ = (Elf##bits##_Ehdr){                                                          \
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS##bits, ELFDATA2LSB,             \
				EV_CURRENT },                                                      \
			.e_type = ET_DYN,                                                          \
			.e_machine = (machine),                                                    \
			.e_version = EV_CURRENT,                                                   \
			.e_phoff = sizeof *e_,                                                     \
			.e_ehsize = sizeof *e_,                                                    \
			.e_phentsize = sizeof *p_,                                                 \
			.e_phnum = 2,                                                              \
		};                                                                                 \
		p_[0].p_type = p_[1].p_type = PT_LOAD;                                             \
		p_[0].p_align = p_[1].p_align = 0x1000;                                            \
		p_[0].p_flags = PF_R;                                                              \
		p_[0].p_filesz = p_[0].p_memsz = FAKE_DATA_AT;                                     \
		p_[1].p_flags = PF_R | PF_W;                                                       \
		p_[1].p_offset = p_[1].p_vaddr = FAKE_DATA_AT;                                     \
		p_[1].p_filesz = p_[1].p_memsz = FAKE_DATA_BYTES;                                  \
	} while (0)

static inline void
fake_make_headers(const struct fake *f, uint64_t libc)
{
	if (f->word_bytes == 8)
		FAKE_HEADERS(libc, 64, EM_X86_64);
	else
		FAKE_HEADERS(libc, 32, EM_386);
}

/*
 * Map a file at LIBC that is as the linker made it: main_arena's ring is of itself, as an address
 * in the object, and mp_ has its defaults.
 */
static inline void
fake_map_file(const struct fake *f, uint64_t libc)
{
	static char page[FAKE_DATA_AT + FAKE_DATA_BYTES] __attribute__((aligned(16)));
	uint64_t data = (uintptr_t)page + FAKE_DATA_AT, vaddr = FAKE_DATA_AT + FAKE_ARENA_AT;
	char path[4096];
	int fd;

	fake_make_headers(f, (uintptr_t)page);
	fake_set_word(f, data + FAKE_ARENA_AT + fake_next_offset(f), vaddr);
	if (f->mp.sbrk_base)
		fake_make_default_params(f, data + FAKE_MP_AT);
	snprintf(path, sizeof path, "%s/memdiag-fake.XXXXXX",
		getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, page, sizeof page) != sizeof page ||
		mmap((void *)(uintptr_t)libc, sizeof page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		abort();
	close(fd);
	printf("file %s\n", path);
}

/* The memory of F: says where libc, main_arena, the two others and brk are. */
static inline void
fake_make(const struct fake *f, bool has_file)
{
	uint64_t size = FAKE_DATA_AT + FAKE_DATA_BYTES, max = f->heap_max_bytes;
	uint64_t libc = fake_reserve(f, size), brk = fake_reserve(f, FAKE_BRK_BYTES);
	uint64_t data = libc + FAKE_DATA_AT, main_arena = data + FAKE_ARENA_AT;
	uint64_t wide = max < 64 * FAKE_MIB ? 64 * max : max;
	uint64_t heap = (fake_reserve(f, 2 * wide + 3 * max) + wide - 1) & ~(wide - 1);
	uint64_t one, two, later;

	/* Not aligned to more than they have to be. */
	if (wide > max)
		heap += max;
	one = heap + f->heap_info_bytes;
	two = heap + max + f->heap_info_bytes;
	later = heap + 2 * max;
	mprotect((void *)(uintptr_t)brk, FAKE_BRK_BYTES, PROT_READ | PROT_WRITE);
	if (has_file) {
		fake_map_file(f, libc);
	} else {
		mprotect((void *)(uintptr_t)libc, size, PROT_READ | PROT_WRITE);
		fake_make_headers(f, libc);
	}
	if (f->mp.sbrk_base)
		fake_make_params(f, data + FAKE_MP_AT, brk);
	if (f->tcache.nr_bins)
		fake_make_tcache(f, brk);
	fake_make_heap(f, heap, one, 0);
	fake_make_heap(f, heap + max, two, 0);
	fake_make_heap(f, later, two, heap + max);
	fake_make_arena(
		f, main_arena, later + 0x100, f->is_alone ? main_arena : two, FAKE_BRK_BYTES);
	/* The data of libc behind it can be anything. */
	fake_set_word(f, main_arena + fake_next_offset(f) + (3 + f->nr_between) * f->word_bytes,
		0x30000000);
	fake_make_arena(f, two, later + 0x200, one, 2 * f->heap_bytes);
	fake_make_arena(f, one, heap + 0x900, main_arena, f->heap_bytes);
	printf("fake %#" PRIx64 " %#" PRIx64 " %#" PRIx64 " %#" PRIx64 " %#" PRIx64 "\n", libc,
		main_arena, one, two, brk);
	child_ready();
}

static inline void
fake_run_in_memory(void *arg)
{
	fake_make(arg, false);
}

static inline void
fake_run_with_file(void *arg)
{
	fake_make(arg, true);
}

/* ---- looking at it ---- */

/* A child with the memory of F, and where everything is. */
struct fake_child {
	struct child c;
	struct view v;
	struct object libc;
	uint64_t main_arena, one, two, brk;
	char path[4096];
};

static inline bool
fake_start(struct fake_child *fc, const struct fake *f, bool has_file)
{
	const struct region *r;
	struct region first;
	const char *said;
	uint64_t base = 0;

	*fc = (struct fake_child){ .libc = { .is_libc = true } };
	fc->c = child_start(has_file ? fake_run_with_file : fake_run_in_memory, (void *)f);
	said = strstr(fc->c.said, "fake ");
	sscanf(fc->c.said, "file %4095s", fc->path);
	if (!view_take(&fc->v, fc->c.pid) ||
		!ok(said &&
				sscanf(said,
					"fake %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
					" %" SCNx64,
					&base, &fc->main_arena, &fc->one, &fc->two, &fc->brk) == 5,
			"%s%s: made", f->name, has_file ? ", with a file" : ""))
		return false;
	r = regions_find(&fc->v.p.maps, (raddr){ base });
	if (!ok(r, "the fake is mapped"))
		return false;
	/* Without a file, the kernel may have joined it with the memory before. */
	first = *r;
	first.start = (raddr){ base };
	if (!ok(image_open(&fc->libc.image, &fc->v.t, &first, NULL, &fc->v.e) == 0,
		    "the fake is an object %s", fc->v.e.msg))
		return false;
	ok(image_is_from_memory(fc->libc.image) == !has_file, "and read from where it should be");
	image_extent(fc->libc.image, &fc->libc.start, &fc->libc.end);
	return true;
}

static inline void
fake_end(struct fake_child *fc)
{
	image_free(fc->libc.image);
	view_release(&fc->v);
	if (*fc->path)
		unlink(fc->path);
	ok(child_end(&fc->c), "the child lives on");
}

#endif
