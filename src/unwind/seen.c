#include <config.h>

#include "unwind/seen.h"

#include <elf.h>
#include <link.h>

#include "unwind/cache.h"
#include "unwind/objects.h"
#include "unwind/seen-priv.h"
#include "unwind/unwind-priv.h"
#include "unwind/unwind.h"

/*
 * Objects are distinguished by their build-id or contents, not by the time at which they were
 * loaded: an object that is loaded again at its old address is the same object.
 *
 * A walk notes each object once in a generation, before it asks for numbers.  While code of an
 * object is on a stack, no other object can be loaded at its address.  So of all entries with an
 * address, the one that was noted last is the object that the code belongs to.
 *
 * Entries are only added, without a lock: a signal handler may interrupt the function that adds
 * one, and leave by longjmp().  Two threads that note a new object at the same time may add two
 * entries.  Their numbers differ, but both lead to the same names.
 */
struct seen_entry {
	uintptr_t start, end; /* range of its code; END is set last, 0: not yet complete */
	uint64_t hash;
	uint64_t generation; /* the last generation in which it was met */
	uint64_t turn;	     /* value of NR_TURNS when it was last met */
	uint32_t number;
	bool is_permanent; /* never unloaded: it is not met again in each generation */
};
#define MAX_ENTRIES 768
static struct seen_entry entries[MAX_ENTRIES];
static uint32_t nr_entries; /* entries that were begun; may exceed the number of entries */
static bool is_full;
static uint64_t nr_turns;

/*
 * Ranges in which several objects have been loaded; other objects may be between them.  END is set
 * last.
 */
static struct {
	uintptr_t start, end;
} shared[32];
#define MAX_SHARED (sizeof shared / sizeof *shared)
static uint32_t nr_shared;

static void (*tell)(const struct unwind_seen *);
static uintptr_t page_bytes;

void
unwind_seen_start(const struct unwind_host *host)
{
	tell = host->can_unload ? host->seen : NULL;
	page_bytes = host->page_bytes;
}

void
unwind_seen_forget(void)
{
	for (uint32_t i = 0; i < nr_entries && i < MAX_ENTRIES; i++)
		entries[i].end = 0;
	for (uint32_t i = 0; i < nr_shared && i < MAX_SHARED; i++)
		shared[i].end = 0;
	nr_entries = nr_shared = 0;
	is_full = false;
}

/* ---- identity of an object ---- */

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
#define HASH_BASIS UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

static uint64_t
seen_hash_bytes(uint64_t hash, const uint8_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ at[i]) * HASH_PRIME;
	return hash;
}

/* The number of bytes that O has from AT on, at most MOST. */
static size_t
bytes_from(const struct unwind_object *o, uintptr_t at, uint64_t most)
{
	for (uint32_t i = 0; i < o->nr_spans; i++) {
		const uintptr_t start = (uintptr_t)o->span[i].start,
				end = (uintptr_t)o->span[i].end;

		if (at >= start && at < end)
			return end - at < most ? end - at : most;
	}
	return 0;
}

/* Get the build-id from the notes [AT, END). */
static bool
seen_find_id(const uint8_t *at, const uint8_t *end, struct unwind_seen *ret)
{
	ElfW(Nhdr) note;

	while ((size_t)(end - at) >= sizeof note) {
		const uint8_t *name = at + sizeof note, *id;

		__builtin_memcpy(&note, at, sizeof note);
		if (note.n_namesz > 64 || note.n_descsz > 1 << 16)
			return false;
		id = name + (note.n_namesz + 3) / 4 * 4;
		at = id + (note.n_descsz + 3) / 4 * 4;
		if (at > end)
			return false;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || name[0] != 'G' ||
			!note.n_descsz || note.n_descsz > sizeof ret->id)
			continue;
		ret->id_bytes = note.n_descsz;
		for (uint32_t i = 0; i < note.n_descsz; i++)
			ret->id[i] = id[i];
		return true;
	}
	return false;
}

/*
 * Enough to distinguish objects without a build-id by the names and sizes of their functions, and
 * few, as these bytes are read after each load of an object.
 */
#define MOST_HASHED UINT64_C(4096)

/*
 * Hash the string table of the dynamic section at AT.  In most cases ld.so has added the bias to
 * its addresses.
 */
static uint64_t
hash_names(uint64_t hash, const struct unwind_object *o, uintptr_t at, size_t size)
{
	uint64_t strings = 0, bytes = 0;

	for (const uintptr_t end = at + bytes_from(o, at, size); at + sizeof(ElfW(Dyn)) <= end;
		at += sizeof(ElfW(Dyn))) {
		const ElfW(Dyn) *d = (const void *)at;

		if (d->d_tag == DT_STRTAB)
			strings = d->d_un.d_ptr;
		else if (d->d_tag == DT_STRSZ)
			bytes = d->d_un.d_val;
	}
	if (!bytes_from(o, strings, 1))
		strings += o->bias;
	if (bytes > MOST_HASHED)
		bytes = MOST_HASHED;
	return seen_hash_bytes(
		hash, (const uint8_t *)(uintptr_t)strings, bytes_from(o, strings, bytes));
}

static uint64_t
hash_object(const struct unwind_object *o, const struct unwind_seen *seen)
{
	const ElfW(Phdr) *p = o->phdrs;
	uint64_t hash = HASH_BASIS;

	if (seen->id_bytes)
		return seen_hash_bytes(hash, seen->id, seen->id_bytes);
	hash = seen_hash_bytes(hash, o->phdrs, o->nr_phdrs * sizeof *p);
	for (uint32_t i = 0; i < o->nr_phdrs; i++)
		if (p[i].p_type == PT_DYNAMIC)
			hash = hash_names(hash, o, o->bias + p[i].p_vaddr, p[i].p_memsz);
	return seen_hash_bytes(hash, o->header, bytes_from(o, (uintptr_t)o->header, MOST_HASHED));
}

static void
add_code(struct unwind_seen *seen, const struct unwind_object *o, const ElfW(Phdr) * p)
{
	const uintptr_t before = (uintptr_t)p->p_offset & (page_bytes - 1);

	if (seen->nr_code == UNWIND_MAX_CODE)
		return;
	seen->code[seen->nr_code].start = o->bias + p->p_vaddr - before;
	seen->code[seen->nr_code].end =
		(o->bias + p->p_vaddr + p->p_memsz + page_bytes - 1) & ~(page_bytes - 1);
	seen->code[seen->nr_code++].offset_bytes = p->p_offset - before;
}

/* Set all members but the number.  False if O has no code. */
static bool
seen_describe(const struct unwind_object *o, struct unwind_seen *ret)
{
	const ElfW(Phdr) *p = o->phdrs;

	ret->number = ret->nr_code = ret->id_bytes = 0;
	ret->name = o->name;
	for (uint32_t i = 0; i < o->nr_phdrs; i++) {
		const uintptr_t at = o->bias + p[i].p_vaddr;

		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X))
			add_code(ret, o, &p[i]);
		else if (p[i].p_type == PT_NOTE && !ret->id_bytes)
			seen_find_id((const uint8_t *)at,
				(const uint8_t *)at + bytes_from(o, at, p[i].p_memsz), ret);
	}
	return ret->nr_code;
}

/* ---- entries ---- */

/* The next complete entry after *AT; NULL if no more exist. */
static struct seen_entry *
seen_next_entry(uint32_t *at)
{
	const uint32_t begun = __atomic_load_n(&nr_entries, __ATOMIC_ACQUIRE);
	const uint32_t nr = begun < MAX_ENTRIES ? begun : MAX_ENTRIES;

	while (*at < nr) {
		struct seen_entry *e = &entries[(*at)++];

		if (__atomic_load_n(&e->end, __ATOMIC_ACQUIRE))
			return e;
	}
	return NULL;
}

static bool
seen_has(const struct seen_entry *e, uintptr_t at)
{
	return at >= e->start && at < e->end;
}

static void
set_met(struct seen_entry *e, uint64_t generation)
{
	__atomic_store_n(
		&e->turn, __atomic_add_fetch(&nr_turns, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	__atomic_store_n(&e->generation, generation, __ATOMIC_RELEASE);
}

/* True if a range in which several objects have been loaded contains FIRST and LAST. */
static bool
seen_is_shared(uintptr_t first, uintptr_t last)
{
	const uint32_t begun = __atomic_load_n(&nr_shared, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < begun && i < MAX_SHARED; i++)
		if (first >= shared[i].start &&
			last < __atomic_load_n(&shared[i].end, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* Record that code was loaded between START and END, where other code was before. */
static void
seen_share(uintptr_t start, uintptr_t end)
{
	uint32_t at;

	if (seen_is_shared(start, end - 1))
		return;
	at = __atomic_fetch_add(&nr_shared, 1, __ATOMIC_RELAXED);
	if (at < MAX_SHARED) {
		shared[at].start = start;
		__atomic_store_n(&shared[at].end, end, __ATOMIC_RELEASE);
		return;
	}
	/* The last range covers all that do not fit. */
	__atomic_store_n(&nr_shared, MAX_SHARED, __ATOMIC_RELAXED);
	at = MAX_SHARED - 1;
	if (start < shared[at].start)
		__atomic_store_n(&shared[at].start, start, __ATOMIC_RELEASE);
	if (end > shared[at].end)
		__atomic_store_n(&shared[at].end, end, __ATOMIC_RELEASE);
}

/* The smallest number that no object between START and END has. */
static uint32_t
new_number(uintptr_t start, uintptr_t end)
{
	uint64_t used[(UNWIND_NO_NUMBER + 1) / 64] = { 0 };
	uint32_t number = 0;
	const struct seen_entry *e;

	for (uint32_t at = 0; (e = seen_next_entry(&at));)
		if (e->start < end && start < e->end)
			used[e->number / 64] |= UINT64_C(1) << e->number % 64;
	while (number < UNWIND_NO_NUMBER && (used[number / 64] >> number % 64 & 1))
		number++;
	if (number)
		seen_share(start, end);
	return number;
}

/* Add an entry; NULL if no room is left. */
static struct seen_entry *
new_entry(void)
{
	const uint32_t at = __atomic_fetch_add(&nr_entries, 1, __ATOMIC_RELAXED);

	if (at < MAX_ENTRIES)
		return &entries[at];
	__atomic_store_n(&nr_entries, MAX_ENTRIES, __ATOMIC_RELAXED);
	__atomic_store_n(&is_full, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Make E equal to WHAT, which has just been met. */
static void
put_entry(struct seen_entry *e, const struct seen_entry *what)
{
	e->start = what->start;
	e->hash = what->hash;
	e->number = what->number;
	e->is_permanent = what->is_permanent;
	set_met(e, what->generation);
	__atomic_store_n(&e->end, what->end, __ATOMIC_RELEASE);
}

/* Add SEEN with an entry like WHAT, and set its number. */
static void
seen_add_object(struct unwind_seen *seen, struct seen_entry what)
{
	struct seen_entry *e = new_entry();

	if (e)
		seen->number = new_number(what.start, what.end);
	else {
		seen->number = UNWIND_NO_NUMBER;
		seen_share(what.start, what.end);
	}
	tell(seen);
	what.number = seen->number;
	if (e)
		put_entry(e, &what);
}

/*
 * Mark the entry of the code of [START, END) with HASH as met again.  False if it does not exist.
 */
static bool
meet_again(uintptr_t start, uintptr_t end, uint64_t hash, uint64_t generation)
{
	struct seen_entry *e;

	for (uint32_t at = 0; (e = seen_next_entry(&at));)
		if (e->start == start && e->end == end && e->hash == hash) {
			set_met(e, generation);
			return true;
		}
	return false;
}

/*
 * True if O need not be noted in GENERATION again.  Generation 0 is unknown: each object is then
 * noted again.
 */
static bool
seen_is_known(const struct unwind_object *o, uint64_t generation)
{
	const struct seen_entry *e;

	for (uint32_t at = 0; generation && (e = seen_next_entry(&at));)
		if (bytes_from(o, e->start, 1) &&
			(e->is_permanent ||
				__atomic_load_n(&e->generation, __ATOMIC_ACQUIRE) == generation))
			return true;
	return false;
}

void
unwind_note_seen(const struct unwind_object *o, uint64_t generation)
{
	struct unwind_seen seen;
	struct seen_entry what = { .generation = generation, .is_permanent = o->is_permanent };

	if (!tell || o->is_program || seen_is_known(o, generation) || !seen_describe(o, &seen))
		return;
	what.start = seen.code[0].start;
	what.end = seen.code[seen.nr_code - 1].end;
	what.hash = hash_object(o, &seen);
	if (!meet_again(what.start, what.end, what.hash, generation))
		seen_add_object(&seen, what);
}

void
unwind_note_unseen(uintptr_t pc)
{
	const uintptr_t start = pc & ~(page_bytes - 1), end = start + page_bytes;
	const struct seen_entry what = { .start = start, .end = end, .number = UNWIND_NO_NUMBER };
	uint32_t at = 0;
	struct seen_entry *e;

	if (!tell || meet_again(start, end, 0, 0))
		return;
	while ((e = seen_next_entry(&at)))
		if (seen_has(e, pc))
			break;
	if (!e)
		return;
	e = new_entry();
	seen_share(start, end);
	if (e)
		put_entry(e, &what);
}

uint32_t
unwind_number_of(uintptr_t pc)
{
	const struct seen_entry *e, *last = NULL;

	if (!seen_is_shared(pc, pc))
		return 0;
	for (uint32_t at = 0; (e = seen_next_entry(&at));)
		if (seen_has(e, pc) && (!last || e->turn > last->turn))
			last = e;
	/* If the table is full, an entry of an earlier generation may not be the present object. */
	if (__atomic_load_n(&is_full, __ATOMIC_ACQUIRE) &&
		(!last || (!last->is_permanent && last->generation != unwind_generation())))
		return UNWIND_NO_NUMBER;
	/* The program is never unloaded and has no entry. */
	return last ? last->number : 0;
}
