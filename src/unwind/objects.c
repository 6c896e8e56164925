#include <config.h>

#include "unwind/objects.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>

#include "unwind/cache.h"
#include "unwind/index.h"
#include "unwind/objects-priv.h"
#include "unwind/unwind-priv.h"

static struct unwind_host host;

/* ---- one object ---- */

static uintptr_t
objects_page_floor(uintptr_t at)
{
	return at & ~(uintptr_t)(host.page_bytes - 1);
}

static void
add_span(struct unwind_object *o, uintptr_t bias, const ElfW(Phdr) * p)
{
	const uintptr_t start = objects_page_floor(bias + p->p_vaddr);

	/* Not p_memsz: the bytes that follow the file's are zeroes. */
	if (o->nr_spans < UNWIND_NR_SPANS && (p->p_flags & PF_R))
		o->span[o->nr_spans++] = (struct unwind_span){ (const uint8_t *)start,
			(const uint8_t *)(bias + p->p_vaddr + p->p_filesz) };
}

bool
unwind_object_init(struct unwind_object *ret, uintptr_t bias, const void *phdrs, size_t nr)
{
	const ElfW(Phdr) *p = phdrs;

	ret->start = UINTPTR_MAX;
	ret->end = 0;
	ret->header = NULL;
	ret->index = NULL;
	ret->nr_index = 0;
	ret->nr_spans = 0;
	ret->is_program = ret->is_permanent = false;
	ret->bias = bias;
	ret->phdrs = phdrs;
	ret->nr_phdrs = (uint32_t)nr;
	ret->name = NULL;
	for (size_t i = 0; i < nr; i++) {
		if (p[i].p_type == PT_GNU_EH_FRAME)
			ret->header = (const uint8_t *)(bias + p[i].p_vaddr);
		if (p[i].p_type != PT_LOAD)
			continue;
		add_span(ret, bias, &p[i]);
		if (objects_page_floor(bias + p[i].p_vaddr) < ret->start)
			ret->start = objects_page_floor(bias + p[i].p_vaddr);
		if (bias + p[i].p_vaddr + p[i].p_memsz > ret->end)
			ret->end = bias + p[i].p_vaddr + p[i].p_memsz;
	}
	return ret->start < ret->end;
}

/*
 * Set up the object whose ELF header is mapped at HEADER.  Its program headers must be in the same
 * page.
 */
static bool
init_from_header(struct unwind_object *ret, const void *header)
{
	const ElfW(Ehdr) *e = header;
	const ElfW(Phdr) * p;
	uintptr_t first = UINTPTR_MAX;
	uint32_t magic;

	__builtin_memcpy(&magic, e->e_ident, sizeof magic);
	if (magic != 0x464c457f /* ELFMAG */ || e->e_phentsize != sizeof *p ||
		e->e_phoff > host.page_bytes ||
		e->e_phoff + e->e_phnum * sizeof *p > host.page_bytes)
		return false;
	p = (const void *)((uintptr_t)header + e->e_phoff);
	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr < first)
			first = objects_page_floor(p[i].p_vaddr);
	return first != UINTPTR_MAX &&
		unwind_object_init(ret, (uintptr_t)header - first, p, e->e_phnum);
}

static bool
object_has(const struct unwind_object *o, const void *at)
{
	return (uintptr_t)at >= o->start && (uintptr_t)at < o->end;
}

/* True if AT is in one of the segments; other mappings may be in the gaps between them. */
static bool
has_bytes(const struct unwind_object *o, uintptr_t at)
{
	for (uint32_t i = 0; i < o->nr_spans; i++)
		if (at >= (uintptr_t)o->span[i].start && at < (uintptr_t)o->span[i].end)
			return true;
	return false;
}

/* ---- objects that stay ---- */

/*
 * The objects that ld.so has loaded before the program began.  dlclose() never unloads them (glibc
 * 2.17 to 2.43: _dl_close_worker() in elf/dl-close.c keeps those whose l_type is not lt_loaded).
 */
#define MAX_STARTUP 128
static const struct link_map *startup[MAX_STARTUP];
static uint32_t nr_startup;

static bool
is_startup(const struct unwind_object *o)
{
	for (uint32_t i = 0; i < nr_startup; i++)
		if (startup[i]->l_addr == o->bias && startup[i]->l_name == o->name)
			return true;
	return false;
}

/*
 * SPACE is struct link_namespaces (sysdeps/generic/ldsodefs.h, glibc 2.17 to 2.43), whose first
 * object is FIRST:
 *
 *	_ns_loaded, _ns_nloaded
 *	_ns_main_searchlist	address of a member of FIRST: a list of objects, and their number
 *	_ns_global_scope_alloc	nonzero if that list has objects of a dlopen() as well
 *
 * Without such objects, that number is the number of objects which were loaded before the program
 * began, apart from the vDSO.  They are the first ones.
 */
static void
find_startup(const uint64_t space[4], const struct link_map *first)
{
	const uint64_t link_map_bytes = 1024; /* the beginning of it, which has this member */
	const uint32_t nr_loaded = (uint32_t)space[1], is_extended = (uint32_t)space[3];
	const struct {
		struct link_map **v;
		uint32_t nr;
	} *list = (const void *)(uintptr_t)space[2];

	if (is_extended || space[2] % sizeof(void *) ||
		space[2] - (uintptr_t)first >= link_map_bytes || list->nr > nr_loaded)
		return;
	for (const struct link_map *l = first; l && nr_startup < list->nr; l = l->l_next) {
		if (nr_startup == MAX_STARTUP)
			break;
		startup[nr_startup++] = l;
	}
}

/* ---- ld.so's counters ---- */

/*
 * Detect without a call that an object was loaded or unloaded: ld.so counts objects in struct
 * rtld_global (sysdeps/generic/ldsodefs.h, glibc 2.17 to 2.43):
 *
 *	_dl_ns[0]	_ns_loaded, _ns_nloaded, ...	the first object, and the number of objects
 *	_dl_ns[1] to [15]
 *	_dl_nns
 *	_dl_load_lock
 *	_dl_load_write_lock				held while dl_iterate_phdr() calls back
 *	_dl_load_tls_lock				since 2.35
 *	_dl_load_adds					number of objects ever loaded
 *
 * Two different sets of objects never have the same pair of numbers: if both sets have the same
 * size, an object was loaded in between.  The counters are recognised by their values during such a
 * call; if they are not recognised, nothing is cached.
 */
static const uint64_t *nr_ever;
static const uint32_t *nr_now;

/* Used without these counters: the number of times that objects were noted. */
static uint64_t nr_notes = 1;

uint64_t
unwind_generation(void)
{
	if (UNWIND_LIKELY(nr_ever && nr_now))
		return __atomic_load_n(nr_ever, __ATOMIC_RELAXED) << 32 |
			__atomic_load_n(nr_now, __ATOMIC_RELAXED);
	return host.can_unload ? 0 : __atomic_load_n(&nr_notes, __ATOMIC_ACQUIRE);
}

/*
 * True for a recursive mutex that is held once.  Before glibc 2.34, ld.so only counts while the
 * process has one thread.
 */
static bool
is_held(const char *at)
{
	uint32_t word[5]; /* lock, count, owner, users, kind */

	__builtin_memcpy(word, at, sizeof word);
	return word[1] == 1 && word[4] == PTHREAD_MUTEX_RECURSIVE;
}

static void
find_counters(const char *start, const char *end, const struct dl_phdr_info *info,
	const struct link_map *first)
{
	const size_t lock = sizeof(pthread_mutex_t);
	const uint64_t nr = info->dlpi_adds - info->dlpi_subs;
	const uint32_t *now = NULL;

	for (const char *at = start; at + 3 * lock <= end; at += sizeof(uint64_t)) {
		const uint64_t *word = (const void *)at;

		if (!now && *word == (uintptr_t)first && (uint32_t)word[1] &&
			(uint32_t)word[1] <= nr)
			now = (const void *)&word[1];
		if (!now || !is_held(at))
			continue;
		word = (const void *)(at + lock);
		if (*word != info->dlpi_adds)
			word = (const void *)(at + 2 * lock);
		if (*word != info->dlpi_adds)
			continue;
		nr_now = now;
		nr_ever = word;
		find_startup((const uint64_t *)(const void *)now - 1, first);
		return;
	}
}

static const struct r_debug *
debug_of(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG)
			return (const void *)(uintptr_t)d->d_un.d_ptr;
	return NULL;
}

/* INFO is ld.so: search for the counters in its writable segments. */
static void
search_loader(const struct dl_phdr_info *info, const struct link_map *first)
{
	for (int i = 0; i < info->dlpi_phnum && !nr_ever; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *start = (const char *)(info->dlpi_addr + p->p_vaddr);

		if (p->p_type == PT_LOAD && (p->p_flags & PF_W))
			find_counters((const char *)(((uintptr_t)start + 7) & ~(uintptr_t)7),
				start + p->p_memsz, info, first);
	}
}

/* ---- the table of noted objects ---- */

/* The first object that is noted.  It is never unloaded. */
static struct unwind_object program;

static struct {
	uint32_t is_noting;
	uint32_t version; /* odd while V changes */
	uint32_t nr, capacity;
	uint64_t generation;
	struct unwind_object *v;
} table;

/* State of an iteration over the objects. */
struct pass {
	uint32_t nr;
	bool is_filling;
	const struct r_debug *debug;
};

static void
objects_note(struct pass *pass, const struct unwind_object *o)
{
	if (pass->is_filling && pass->nr < table.capacity) {
		table.v[pass->nr] = *o;
		table.v[pass->nr].is_program = pass->nr == 0;
		/* The program, ld.so, libc and this library are never unloaded. */
		table.v[pass->nr].is_permanent = pass->nr == 0 || !host.can_unload ||
			is_startup(o) ||
			object_has(o, (const void *)(uintptr_t)&unwind_generation) ||
			object_has(o, (const void *)(uintptr_t)host.iterate) ||
			(pass->debug && object_has(o, (const void *)pass->debug->r_ldbase));
	}
	pass->nr++;
}

static int
note_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct pass *pass = arg;
	struct unwind_object o;

	if (!pass->nr)
		pass->debug = debug_of(info);
	if (unwind_object_init(&o, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum)) {
		o.name = info->dlpi_name;
		if (!pass->nr && !program.nr_spans)
			program = o;
		if (!nr_ever && host.can_unload && pass->debug &&
			object_has(&o, (const void *)pass->debug->r_ldbase) &&
			size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
			search_loader(info, pass->debug->r_map);
		objects_note(pass, &o);
	}
	return 0;
}

/* The only index that exists: that of a statically linked program. */
static struct unwind_object indexed;

static void
note_image(struct pass *pass, const struct unwind_image *image)
{
	struct unwind_object o;

	if (!init_from_header(&o, image->header))
		return;
	if (!o.header && image->frames && !indexed.nr_index) {
		indexed = o;
		unwind_index_make(&indexed, image->frames, image->frames_bytes, host.map);
	}
	if (!o.header && o.start == indexed.start) {
		o.index = indexed.index;
		o.nr_index = indexed.nr_index;
	}
	objects_note(pass, &o);
}

static uint32_t
go_over_objects(bool is_filling)
{
	struct pass pass = { .is_filling = is_filling };

	if (host.iterate)
		host.iterate(note_object, &pass);
	for (size_t i = 0; !host.iterate && i < host.nr_images; i++)
		note_image(&pass, &host.image[i]);
	return pass.nr;
}

/* Make room for NR objects and some that may be loaded meanwhile. */
static bool
objects_reserve(uint32_t nr)
{
	const size_t bytes = 2 * (size_t)nr * sizeof *table.v;
	struct unwind_object *v;

	if (nr <= table.capacity)
		return true;
	v = host.map(bytes);
	if (!v)
		return false;
	/*
	 * The old table stays, since a hook may be reading it.  The capacity doubles each time, so
	 * all old tables together are no larger than the new one.
	 */
	table.v = v;
	table.capacity = 2 * nr;
	return true;
}

void
unwind_note_objects(void)
{
	uint32_t nr;

	if (__atomic_exchange_n(&table.is_noting, 1, __ATOMIC_ACQUIRE))
		return;
	nr = go_over_objects(false);
	if (!host.find_object) {
		__atomic_store_n(&table.version, table.version + 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		table.generation = unwind_generation();
		nr = objects_reserve(nr) ? go_over_objects(true) : 0;
		table.nr = nr < table.capacity ? nr : table.capacity;
		__atomic_store_n(&nr_notes, nr_notes + 1, __ATOMIC_RELEASE);
		if (!host.can_unload)
			table.generation = nr_notes;
		__atomic_store_n(&table.version, table.version + 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&table.is_noting, 0, __ATOMIC_RELEASE);
}

void
unwind_begin_child(void)
{
	__atomic_store_n(&table.is_noting, 0, __ATOMIC_RELEASE);
	if (!(table.version & 1))
		return;
	table.nr = 0;
	table.generation = UINT64_MAX; /* not the present one: objects are unknown, not absent */
	__atomic_store_n(&table.version, table.version + 1, __ATOMIC_RELEASE);
}

void
unwind_objects_start(const struct unwind_host *h)
{
	host = *h;
	unwind_note_objects();
}

/* ---- finding ---- */

static enum unwind_found
find_noted(uintptr_t pc, struct unwind_object *ret)
{
	const uint32_t version = __atomic_load_n(&table.version, __ATOMIC_ACQUIRE);
	enum unwind_found found;
	const struct unwind_object *v = table.v;
	const uint32_t nr = table.nr;

	if (version & 1)
		return FOUND_UNKNOWN;
	found = table.generation == unwind_generation() ? FOUND_NONE : FOUND_UNKNOWN;
	for (uint32_t i = 0; i < nr; i++) {
		if (!has_bytes(&v[i], pc))
			continue;
		*ret = v[i];
		if (found == FOUND_NONE || ret->is_permanent)
			found = FOUND;
		break;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&table.version, __ATOMIC_RELAXED) == version ? found : FOUND_UNKNOWN;
}

/* struct dl_find_object of <link.h>, which older releases of glibc lack. */
struct objects_found_object {
	uint64_t flags;
	void *start, *end;
	struct link_map *map;
	void *header; /* PT_GNU_EH_FRAME */
	uint64_t reserved[8];
};

static bool
objects_ask(uintptr_t at, struct objects_found_object *ret)
{
	return host.find_object((void *)at, (struct dl_find_object *)(void *)ret) == 0;
}

/*
 * Read the object that ld.so found, from the ELF header at its start.  If the object has a gap
 * between its segments, ld.so finds each segment separately (glibc: elf/dl-find_object.c,
 * l_contiguous), and the header is in another one.
 */
static bool
init_from_found(struct unwind_object *ret, const struct objects_found_object *found)
{
	struct objects_found_object first;

	if (init_from_header(ret, found->start))
		return true;
	return objects_ask(found->map->l_addr, &first) && first.map == found->map &&
		first.start == (void *)found->map->l_addr && init_from_header(ret, first.start);
}

enum unwind_found
unwind_find_object(uintptr_t pc, struct unwind_object *ret)
{
	struct objects_found_object found;

	if (!host.find_object)
		return find_noted(pc, ret);
	if (has_bytes(&program, pc)) {
		*ret = program;
		ret->is_program = ret->is_permanent = true;
		return FOUND;
	}
	if (!objects_ask(pc, &found))
		return FOUND_NONE;
	if (!init_from_found(ret, &found))
		unwind_object_init(ret, 0, NULL, 0);
	ret->name = found.map->l_name;
	ret->is_permanent = is_startup(ret);
	return FOUND;
}
