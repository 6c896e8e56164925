#include <config.h>

#include <elf.h>
#include <link.h>
#include <string.h>

#include "agent/agent.h"

struct real real;
bool real_has_headers;

#define FUNCTION(name) { #name, offsetof(struct real, name) }
static const struct function {
	const char *name;
	size_t at;	/* in struct real */
} functions[] = {
	FUNCTION(malloc),
	FUNCTION(free),
	FUNCTION(calloc),
	FUNCTION(realloc),
	FUNCTION(memalign),
	FUNCTION(aligned_alloc),
	FUNCTION(posix_memalign),
	FUNCTION(valloc),
	FUNCTION(pvalloc),
	FUNCTION(malloc_usable_size),
	FUNCTION(mmap),
	FUNCTION(munmap),
	FUNCTION(mremap),
	FUNCTION(_Fork),
	FUNCTION(pthread_create),
};
#undef FUNCTION

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

/* A pointer to a function of any type, as it is written. */
typedef uintptr_t __attribute__((may_alias)) address;

struct search {
	bool is_behind_us;	/* from here on objects count */
	/* Where these were found. */
	uintptr_t malloc_bias, usable_size_bias;
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

static int
look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool had_malloc = real.malloc, had_usable_size = real.malloc_usable_size;
	struct search *search = arg;
	struct symbols s;

	(void)size;
	if (is_us(info)) {
		search->is_behind_us = true;
		return 0;
	}
	if (!search->is_behind_us || !symbols_open(&s, info))
		return 0;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		address *at = (address *)((char *)&real + functions[i].at);

		if (!*at)
			*at = symbols_find(&s, functions[i].name);
	}
	if (real.malloc && !had_malloc) {
		search->malloc_bias = s.bias;
		real_has_headers = symbols_find(&s, "gnu_get_libc_version") != 0;
	}
	if (real.malloc_usable_size && !had_usable_size)
		search->usable_size_bias = s.bias;
	return 0;
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
	if (size - sizeof size != real.malloc_usable_size(block))
		real_has_headers = false;
	real.free(block);
}

bool
real_find(void)
{
	struct search search = { 0 };

	dl_iterate_phdr(look_into, &search);
	if (!real.malloc) {	/* loaded into a running process we are the last in the list */
		search.is_behind_us = true;
		dl_iterate_phdr(look_into, &search);
	}
	if (!real.malloc || !real.free || !real.calloc || !real.realloc || !real.memalign ||
		!real.aligned_alloc || !real.posix_memalign || !real.valloc || !real.pvalloc ||
		!real.malloc_usable_size || !real.mmap || !real.munmap || !real.mremap)
		return false;
	/* Of another malloc's blocks it tells nonsense (glibc's libmemusage.so has none of its own). */
	if (search.malloc_bias != search.usable_size_bias)
		return false;
	if (real_has_headers)
		check_headers();
	return true;
}
