#include <config.h>

#include <elf.h>
#include <link.h>
#include <string.h>

#include "agent/agent.h"

struct real real;
bool real_is_glibc, real_has_headers;

enum need {
	OF_MALLOC,	/* of the same object as malloc */
	OF_ANY,
	NONE,
};

#define FUNCTION(name, need) { #name, offsetof(struct real, name), need }
#define LIBC_FUNCTION(name) { "__libc_" #name, offsetof(struct real, libc_##name), NONE }
static const struct function {
	const char *name;
	size_t at;	/* in struct real */
	enum need need;
} functions[] = {
	FUNCTION(malloc, OF_MALLOC),
	FUNCTION(free, OF_MALLOC),
	FUNCTION(calloc, OF_MALLOC),
	FUNCTION(realloc, OF_MALLOC),
	FUNCTION(memalign, OF_MALLOC),
	FUNCTION(aligned_alloc, OF_MALLOC),
	FUNCTION(posix_memalign, OF_MALLOC),
	FUNCTION(malloc_usable_size, OF_MALLOC),
	FUNCTION(valloc, NONE),
	FUNCTION(pvalloc, NONE),
	LIBC_FUNCTION(malloc),
	LIBC_FUNCTION(free),
	LIBC_FUNCTION(calloc),
	LIBC_FUNCTION(realloc),
	LIBC_FUNCTION(memalign),
	LIBC_FUNCTION(valloc),
	LIBC_FUNCTION(pvalloc),
	FUNCTION(mmap, OF_ANY),
	FUNCTION(munmap, OF_ANY),
	FUNCTION(mremap, OF_ANY),
	FUNCTION(_Fork, NONE),
	FUNCTION(pthread_create, NONE),
};
#undef FUNCTION
#undef LIBC_FUNCTION
#define NR_FUNCTIONS (sizeof functions / sizeof *functions)

/* The dynamic symbols of an object, as DT_GNU_HASH has them (glibc: elf/dl-lookup.c, do_lookup_x). */
struct symbols {
	uintptr_t bias;
	const char *names;
	const ElfW(Sym) *v;
	const uint32_t *buckets, *chains;
	uint32_t nr_buckets, first;
};

/*
 * ld.so puts addresses where the file has offsets, but not in a dynamic section that may not be
 * written to (the vDSO; since 2.35 DL_RO_DYN_SECTION).
 */
static const void *
address_of(const struct symbols *s, const ElfW(Dyn) *d)
{
	uintptr_t at = d->d_un.d_ptr;

	return (const void *)(at < s->bias ? at + s->bias : at);
}

static bool
symbols_open(struct symbols *s, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL;
	const uint32_t *hash = NULL;

	*s = (struct symbols){ .bias = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(s->bias + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			s->names = address_of(s, d);
		else if (d->d_tag == DT_SYMTAB)
			s->v = address_of(s, d);
		else if (d->d_tag == DT_GNU_HASH)
			hash = address_of(s, d);
	}
	if (!hash || !s->names || !s->v)
		return false;
	s->nr_buckets = hash[0];
	s->first = hash[1];
	/* hash[2] is the number of words of the bloom filter, which stands before the buckets. */
	s->buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof *hash);
	s->chains = s->buckets + s->nr_buckets;
	return s->nr_buckets != 0;
}

static uint32_t
hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* The function NAME that the object defines, 0 if it does not. */
static uintptr_t
symbols_find(const struct symbols *s, const char *name)
{
	uint32_t h = hash_of(name), i = s->buckets[h % s->nr_buckets], chain;

	if (i < s->first)
		return 0;
	do {
		const ElfW(Sym) *symbol = &s->v[i];

		chain = s->chains[i - s->first];
		if ((chain | 1) == (h | 1) && symbol->st_shndx != SHN_UNDEF &&
			ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
			strcmp(s->names + symbol->st_name, name) == 0)
			return s->bias + symbol->st_value;
		i++;
	} while (!(chain & 1));
	return 0;
}

struct search {
	bool is_behind_us;	/* from here on objects count */
	unsigned int nr;	/* of the present one, from 1 on */
	unsigned int found_in[NR_FUNCTIONS];	/* numbers of objects, 0: not found */
};

static bool
is_us(const struct dl_phdr_info *info)
{
	uintptr_t here = (uintptr_t)&real_find;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && here - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

static void
look_in_front(const struct symbols *s)
{
	uintptr_t of_free = symbols_find(s, "free"), of_realloc = symbols_find(s, "realloc");

	if (real.front_free || !of_free || !of_realloc || symbols_find(s, "gnu_get_libc_version"))
		return;
	real.front_free = (void (*)(void *))of_free;
	real.front_realloc = (void *(*)(void *, size_t))of_realloc;
}

static int
look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	struct symbols s;
	uintptr_t at;

	(void)size;
	if (is_us(info)) {
		search->is_behind_us = true;
		return 0;
	}
	if (!symbols_open(&s, info))
		return 0;
	if (!search->is_behind_us) {
		look_in_front(&s);
		return 0;
	}
	search->nr++;
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		if (search->found_in[i])
			continue;
		at = symbols_find(&s, functions[i].name);
		if (!at)
			continue;
		memcpy((char *)&real + functions[i].at, &at, sizeof at);
		search->found_in[i] = search->nr;
		if (i == 0)
			real_is_glibc = symbols_find(&s, "gnu_get_libc_version") != 0;
	}
	return 0;
}

/*
 * Whether there is a malloc that can be counted.  One that leaves functions of its kin to libc has
 * something of its own in front of its blocks, or will get blocks that are not its own; and of its
 * blocks libc's malloc_usable_size() tells nonsense.  (glibc's libmemusage.so is such.)
 */
static bool
is_complete(const struct search *search)
{
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		if (functions[i].need != NONE && !search->found_in[i])
			return false;
		if (functions[i].need == OF_MALLOC && search->found_in[i] != search->found_in[0])
			return false;
	}
	return true;
}

/* These are old, and new mallocs have none: then libc's would make blocks that they do not know. */

static void *
make_valloc(size_t size)
{
	return real.memalign(agent_page_bytes, size);
}

static void *
make_pvalloc(size_t size)
{
	return real.memalign(agent_page_bytes,
		(size + agent_page_bytes - 1) & ~(agent_page_bytes - 1));
}

static int
is_libc_or_us(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct symbols s;
	bool *is_libc = arg;

	(void)size;
	if (is_us(info))
		return 1;
	*is_libc = symbols_open(&s, info) && symbols_find(&s, "gnu_get_libc_version");
	return *is_libc;
}

bool
real_is_behind_libc(void)
{
	bool is_libc = false;

	dl_iterate_phdr(is_libc_or_us, &is_libc);
	return is_libc;
}

/*
 * A release that puts something else in front of a block, or a debugging malloc with the same name,
 * is found out here.
 */
static void
check_headers(void)
{
	void *block = real.malloc(24);
	size_t size;

	if (!block)
		return;
	size = ((size_t *)block)[-1] & ~(size_t)7;
	real_has_headers = size - sizeof size == real.malloc_usable_size(block);
	real.free(block);
}

bool
real_find(void)
{
	struct search search = { 0 };

	if (live_page_bytes()) {	/* all of it was found by who has put us here */
		real_is_glibc = real_has_headers = true;
		return true;
	}
	dl_iterate_phdr(look_into, &search);
	if (!real.malloc) {	/* loaded into a running process we are the last in the list */
		search.is_behind_us = true;
		dl_iterate_phdr(look_into, &search);
	}
	if (!is_complete(&search))
		return false;
	if (real_is_glibc) {
		check_headers();
	} else {
		real.valloc = make_valloc;
		real.pvalloc = make_pvalloc;
	}
	return true;
}
