#include <config.h>

#include "agent/base/real.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "agent/base/state.h"

struct real real;
bool real_is_glibc, real_has_headers, real_has_unhooked;
enum real_operators real_operators;

enum real_need {
	OF_MALLOC, /* in the same object as malloc */
	OF_ANY,
	NONE,
};

#define FUNCTION(name, need)                                                                       \
	{                                                                                          \
#name, offsetof(struct real, name), need                                           \
	}
#define LIBC_FUNCTION(name)                                                                        \
	{                                                                                          \
		"__libc_" #name, offsetof(struct real, libc_##name), NONE                          \
	}
#define OPERATOR_FUNCTION(name)                                                                    \
	{ #name, offsetof(struct real, operator) + OPERATOR##name * sizeof real.operator[0], NONE },
static const struct real_function {
	const char *name;
	size_t at; /* offset in struct real */
	enum real_need need;
} functions[] = { FUNCTION(malloc, OF_MALLOC), FUNCTION(free, OF_MALLOC),
	FUNCTION(calloc, OF_MALLOC), FUNCTION(realloc, OF_MALLOC), FUNCTION(memalign, OF_MALLOC),
	FUNCTION(aligned_alloc, OF_MALLOC), FUNCTION(posix_memalign, OF_MALLOC),
	FUNCTION(malloc_usable_size, OF_MALLOC), FUNCTION(valloc, NONE), FUNCTION(pvalloc, NONE),
	LIBC_FUNCTION(malloc), LIBC_FUNCTION(free), LIBC_FUNCTION(calloc), LIBC_FUNCTION(realloc),
	LIBC_FUNCTION(memalign), LIBC_FUNCTION(valloc), LIBC_FUNCTION(pvalloc),
	FUNCTION(mmap, OF_ANY), FUNCTION(munmap, OF_ANY), FUNCTION(mremap, OF_ANY),
	FUNCTION(mprotect, OF_ANY), FUNCTION(pkey_mprotect, NONE), FUNCTION(_Fork, NONE),
	FUNCTION(execve, NONE), FUNCTION(execvpe, NONE), FUNCTION(fexecve, NONE),
	FUNCTION(posix_spawn, NONE), FUNCTION(posix_spawnp, NONE), FUNCTION(pthread_create, NONE),
	FUNCTION(_dl_find_object, NONE), REAL_OPERATORS(OPERATOR_FUNCTION) };
#undef FUNCTION
#undef LIBC_FUNCTION
#undef OPERATOR_FUNCTION
#define NR_FUNCTIONS (sizeof functions / sizeof *functions)

/*
 * The dynamic symbols of an object, as DT_GNU_HASH has them (glibc: elf/dl-lookup.c, do_lookup_x).
 */
struct real_symbols {
	uintptr_t bias;
	const char *names;
	const char *soname; /* NULL if it is missing */
	const ElfW(Sym) * v;
	const uint32_t *buckets, *chains;
	const ElfW(Half) * versions; /* one for each symbol; NULL if missing */
	uint32_t nr_buckets, first;
};

/*
 * ld.so replaces offsets by addresses, except in a read-only dynamic section (the vDSO; since glibc
 * 2.35 DL_RO_DYN_SECTION).
 */
static const void *
real_address_of(const struct real_symbols *s, const ElfW(Dyn) * d)
{
	uintptr_t at = d->d_un.d_ptr;

	return (const void *)(at < s->bias ? at + s->bias : at);
}

static bool
real_symbols_open(struct real_symbols *s, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL, *soname = NULL;
	const uint32_t *hash = NULL;

	*s = (struct real_symbols){ .bias = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(s->bias + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_STRTAB)
			s->names = real_address_of(s, d);
		else if (d->d_tag == DT_SYMTAB)
			s->v = real_address_of(s, d);
		else if (d->d_tag == DT_GNU_HASH)
			hash = real_address_of(s, d);
		else if (d->d_tag == DT_VERSYM)
			s->versions = real_address_of(s, d);
		else if (d->d_tag == DT_SONAME)
			soname = d;
	}
	if (!hash || !s->names || !s->v)
		return false;
	if (soname)
		s->soname = s->names + soname->d_un.d_val;
	s->nr_buckets = hash[0];
	s->first = hash[1];
	/* hash[2] is the number of words in the bloom filter, which precedes the buckets. */
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

/*
 * The bit of a version that is not the default: for programs that were linked with an older
 * release.
 */
#define VERSION_IS_OLD 0x8000

/* The address of NAME, of TYPE, if this object defines it; 0 if it does not. */
static uintptr_t
symbols_find_typed(const struct real_symbols *s, const char *name, unsigned int type)
{
	uint32_t h = hash_of(name), i = s->buckets[h % s->nr_buckets], chain;
	uintptr_t old = 0;

	if (i < s->first)
		return 0;
	do {
		const ElfW(Sym) *symbol = &s->v[i];

		chain = s->chains[i - s->first];
		if ((chain | 1) == (h | 1) && symbol->st_shndx != SHN_UNDEF &&
			ELF64_ST_TYPE(symbol->st_info) == type &&
			strcmp(s->names + symbol->st_name, name) == 0) {
			if (!s->versions || !(s->versions[i] & VERSION_IS_OLD))
				return s->bias + symbol->st_value;
			old = s->bias + symbol->st_value;
		}
		i++;
	} while (!(chain & 1));
	return old;
}

static uintptr_t
real_symbols_find(const struct real_symbols *s, const char *name)
{
	return symbols_find_typed(s, name, STT_FUNC);
}

uintptr_t
real_symbol(const struct dl_phdr_info *info, const char *name, unsigned int type)
{
	struct real_symbols s;

	return real_symbols_open(&s, info) ? symbols_find_typed(&s, name, type) : 0;
}

struct real_search {
	bool is_behind_us;		     /* the objects from here on follow the agent */
	bool has_replaced;		     /* operators new and delete are replaced */
	unsigned int nr;		     /* number of the present object, from 1 on */
	unsigned int found_in[NR_FUNCTIONS]; /* number of the object that has it; 0 if not found */
};

/* ---- operator new and delete ---- */

static const char *const operators[] = {
#define X(name) #name,
	REAL_OPERATORS(X)
#undef X
};

static bool
is_operator(const struct real_function *f)
{
	return f->at - offsetof(struct real, operator) < sizeof real.operator;
}

static bool
has_operators(const struct real_symbols *s)
{
	for (size_t i = 0; i < NR_OPERATORS; i++)
		if (real_symbols_find(s, operators[i]))
			return true;
	return false;
}

static bool
is_cxx_library(const struct real_symbols *s)
{
	static const char *const names[] = { "libstdc++.so", "libc++.so", "libc++abi.so" };

	for (size_t i = 0; s->soname && i < sizeof names / sizeof *names; i++)
		if (strncmp(s->soname, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool
real_holds(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && address - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

static bool
is_us(const struct dl_phdr_info *info)
{
	return real_holds(info, (uintptr_t)&real_find);
}

struct cxx_search {
	const char *name;
	uintptr_t caller; /* 0: search only the library */
	uintptr_t of_caller, of_library, of_another;
};

static int
look_for_cxx(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct cxx_search *search = arg;
	struct real_symbols s;
	uintptr_t at, *found;

	(void)size;
	at = !is_us(info) && real_symbols_open(&s, info) ? real_symbols_find(&s, search->name) : 0;
	if (!at)
		return 0;
	if (search->caller && real_holds(info, search->caller)) {
		search->of_caller = at;
		return 1;
	}
	found = is_cxx_library(&s) ? &search->of_library : &search->of_another;
	if (!*found)
		*found = at;
	return 0;
}

void (*real_find_cxx(const char *name, const void *caller))(void)
{
	struct cxx_search search = { .name = name, .caller = (uintptr_t)caller };
	uintptr_t found;

	if (!agent_is_static)
		dl_iterate_phdr(look_for_cxx, &search);
	found = search.of_caller ? search.of_caller : search.of_library;
	if (!found && caller)
		found = search.of_another;
	return (void (*)(void))found;
}

/* ---- functions that only another malloc has ---- */

/*
 * True for all extra functions of jemalloc, and for those of tcmalloc and mimalloc that have one of
 * PARTS in their name.
 */
static bool
is_unhooked(const char *name)
{
	static const char *const jemalloc[] = { "mallocx", "rallocx", "xallocx", "dallocx",
		"sdallocx" };
	static const char *const parts[] = { "alloc", "free", "new", "delete", "dup" };

	for (size_t i = 0; i < sizeof jemalloc / sizeof *jemalloc; i++)
		if (strcmp(name, jemalloc[i]) == 0)
			return true;
	if (strncmp(name, "tc_", 3) != 0 && strncmp(name, "mi_", 3) != 0)
		return false;
	if (strstr(name, "size") || strstr(name, "stats") || strstr(name, "mode"))
		return false;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/*
 * The number of symbols.  Linkers place the names directly after the symbols; the hash table knows
 * only defined symbols.
 */
static size_t
nr_symbols(const struct real_symbols *s)
{
	const uintptr_t start = (uintptr_t)s->v, end = (uintptr_t)s->names;

	return end > start ? (end - start) / sizeof *s->v : s->first;
}

static int
look_for_unhooked(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool *ret = arg;
	struct real_symbols s;

	(void)size;
	if (is_us(info) || !real_symbols_open(&s, info) ||
		real_symbols_find(&s, "malloc") == (uintptr_t)real.malloc)
		return 0;
	for (size_t i = 1; i < nr_symbols(&s) && !*ret; i++)
		*ret = s.v[i].st_shndx == SHN_UNDEF && is_unhooked(s.names + s.v[i].st_name);
	return *ret;
}

/* ---- all functions ---- */

static void
look_in_front(const struct real_symbols *s)
{
	uintptr_t of_free = real_symbols_find(s, "free"),
		  of_realloc = real_symbols_find(s, "realloc");

	if (real.front_free || !of_free || !of_realloc ||
		real_symbols_find(s, "gnu_get_libc_version"))
		return;
	real.front_free = (void (*)(void *))of_free;
	real.front_realloc = (void *(*)(void *, size_t))of_realloc;
}

static int
real_look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct real_search *search = arg;
	struct real_symbols s;
	uintptr_t at;

	(void)size;
	if (is_us(info)) {
		search->is_behind_us = true;
		return 0;
	}
	if (!real_symbols_open(&s, info))
		return 0;
	if (!search->is_behind_us) {
		search->has_replaced |= has_operators(&s);
		look_in_front(&s);
		return 0;
	}
	search->nr++;
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		if (search->found_in[i])
			continue;
		at = real_symbols_find(&s, functions[i].name);
		if (!at)
			continue;
		search->found_in[i] = search->nr;
		if (is_operator(&functions[i]) && search->nr == search->found_in[0])
			continue; /* equal to malloc() and free() */
		memcpy((char *)&real + functions[i].at, &at, sizeof at);
		if (i == 0)
			real_is_glibc = real_symbols_find(&s, "gnu_get_libc_version") != 0;
		if (is_operator(&functions[i]))
			search->has_replaced |= !is_cxx_library(&s);
	}
	return 0;
}

/*
 * True if malloc can be counted.  It cannot if it leaves related functions to libc: such a malloc
 * puts its header in front of its blocks or will get blocks of libc's, and libc's
 * malloc_usable_size() is wrong for its blocks.  (glibc's libmemusage.so is an example.)
 */
static bool
is_complete(const struct real_search *search)
{
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		if (functions[i].need != NONE && !search->found_in[i])
			return false;
		if (functions[i].need == OF_MALLOC && search->found_in[i] != search->found_in[0])
			return false;
	}
	return true;
}

/*
 * Newer mallocs lack these old functions. libc's versions would return blocks that such a malloc
 * does not know.
 */

static void *
make_valloc(size_t size)
{
	return real.memalign(agent_page_bytes, size);
}

static void *
make_pvalloc(size_t size)
{
	return real.memalign(
		agent_page_bytes, (size + agent_page_bytes - 1) & ~(agent_page_bytes - 1));
}

static int
is_libc_or_us(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct real_symbols s;
	bool *is_libc = arg;

	(void)size;
	if (is_us(info))
		return 1;
	*is_libc = real_symbols_open(&s, info) && real_symbols_find(&s, "gnu_get_libc_version");
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
 * The usable size of glibc's smallest block: MINSIZE in malloc/malloc.c minus the word of the size.
 */
#define LEAST_USABLE 24

/*
 * Detect a release that puts something else in front of a block, or a debugging malloc with the
 * same name.
 */
static void
check_headers(void)
{
	void *block = real.malloc(1);
	size_t size;

	if (!block)
		return;
	/* Another malloc by the same name (valgrind's) may have unreadable memory there. */
	if (real.malloc_usable_size(block) == LEAST_USABLE) {
		size = ((size_t *)block)[-1] & ~(size_t)7;
		real_has_headers = size - sizeof size == LEAST_USABLE;
	}
	real.free(block);
}

bool
real_find(void)
{
	struct real_search search = { 0 };

	if (agent_is_static) { /* memdiag loaded the agent and has found all functions */
		real_is_glibc = real_has_headers = true;
		return true;
	}
	dl_iterate_phdr(real_look_into, &search);
	if (!real.malloc) { /* loaded into a running process, the agent is the last object */
		search.is_behind_us = true;
		dl_iterate_phdr(real_look_into, &search);
	}
	real_operators = search.has_replaced ? REAL_OPERATORS_REPLACED : REAL_OPERATORS_PLAIN;
	if (!is_complete(&search))
		return false;
	if (real_is_glibc) {
		check_headers();
	} else {
		real.valloc = make_valloc;
		real.pvalloc = make_pvalloc;
		dl_iterate_phdr(look_for_unhooked, &real_has_unhooked);
	}
	return true;
}
