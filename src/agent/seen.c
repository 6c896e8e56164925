#include <config.h>

#include "agent/seen.h"

#include <string.h>

#include "agent/memory.h"
#include "agent/sites.h"
#include "agent/sys.h"

#define MAX_PATH_BYTES 4096

/*
 * Lines are only ever added, each where no other one is; the first byte of one is written last: a
 * signal handler may leave one for good.
 */
static struct {
	char text[WIRE_SEEN_BYTES];
	uint32_t bytes; /* may be more than there are */
	uint32_t nr_unseen;
	char directory[MAX_PATH_BYTES]; /* of the process; relative names are within it */
} seen;

void
seen_begin(void)
{
	static bool has_begun;

	if (!has_begun)
		memory_unlock(&seen, sizeof seen);
	has_begun = true;
	if (sys_failed(sys_call(SYS_getcwd, seen.directory, sizeof seen.directory)))
		seen.directory[0] = '\0';
}

/* ---- the lines of an object ---- */

/* With TO NULL they are only measured. */
struct out {
	char *to;
	size_t len;
};

static void
put_char(struct out *o, char c)
{
	/* The first byte is written last. */
	if (o->to && o->len)
		o->to[o->len] = c;
	o->len++;
}

static void
put(struct out *o, const char *text)
{
	while (*text)
		put_char(o, *text++);
}

static void
put_hex(struct out *o, uint64_t n, unsigned int digits)
{
	while (digits--)
		put_char(o, "0123456789abcdef"[n >> 4 * digits & 15]);
}

/* As the kernel does: seq_file_path() escapes the end of a line (fs/proc/task_mmu.c). */
static void
put_path(struct out *o, const char *path)
{
	if (*path != '/') {
		put(o, seen.directory);
		put_char(o, '/');
	}
	if (path[0] == '.' && path[1] == '/')
		path += 2;
	for (size_t i = 0; i < MAX_PATH_BYTES && path[i]; i++)
		if (path[i] == '\n')
			put(o, "\\012");
		else
			put_char(o, path[i]);
}

/* The digits of an address, of which the first one is 0: there is no label. */
#define DIGITS 16

static void
put_lines(struct out *o, const struct unwind_seen *s)
{
	for (uint32_t i = 0; i < s->nr_code; i++) {
		put_hex(o, wire_frame(s->code[i].start, s->number), DIGITS);
		put_char(o, '-');
		put_hex(o, wire_frame(s->code[i].end, s->number), DIGITS);
		put(o, " r-xp ");
		put_hex(o, s->code[i].offset_bytes, 8);
		put(o, " 00:00 0 ");
		put_path(o, s->name);
		put_char(o, '\n');
		if (!s->id_bytes)
			continue;
		put(o, "# build-id 0x");
		put_hex(o, wire_frame(s->code[i].start, s->number), DIGITS);
		put_char(o, ' ');
		for (uint32_t k = 0; k < s->id_bytes; k++)
			put_hex(o, s->id[k], 2);
		put_char(o, '\n');
	}
}

/* ---- what was met ---- */

static void
write_lines(char *to, const struct unwind_seen *o)
{
	struct out out = { .to = to };

	put_lines(&out, o);
	__atomic_store_n(to, '0', __ATOMIC_RELEASE);
}

static void
note_unseen(void)
{
	__atomic_add_fetch(&seen.nr_unseen, 1, __ATOMIC_RELAXED);
	if (sites)
		__atomic_add_fetch(&sites->nr_unseen, 1, __ATOMIC_RELAXED);
}

/* The vDSO has a name that is no path; it stays. */
static bool
has_path(const struct unwind_seen *o)
{
	for (const char *c = o->name; c && *c; c++)
		if (*c == '/')
			return true;
	return false;
}

static void
write_to_sites(const struct unwind_seen *o, uint32_t at, uint32_t end)
{
	uint32_t was = __atomic_load_n(&sites->seen_bytes, __ATOMIC_RELAXED);

	write_lines(wire_seen(sites) + at, o);
	while (was < end &&
		!__atomic_compare_exchange_n(
			&sites->seen_bytes, &was, end, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

void
seen_add(const struct unwind_seen *o)
{
	struct out measured = { .to = NULL };
	uint32_t at;

	if (o->number == UNWIND_NO_NUMBER) {
		note_unseen();
		return;
	}
	if (!has_path(o))
		return;
	put_lines(&measured, o);
	at = __atomic_load_n(&seen.bytes, __ATOMIC_RELAXED);
	do {
		if (measured.len > WIRE_SEEN_BYTES - at) {
			note_unseen();
			return;
		}
	} while (!__atomic_compare_exchange_n(&seen.bytes, &at, at + (uint32_t)measured.len, true,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	write_lines(seen.text + at, o);
	if (sites)
		write_to_sites(o, at, at + (uint32_t)measured.len);
}

void
seen_copy(struct wire_sites *new)
{
	memcpy(wire_seen(new), seen.text, seen.bytes);
	new->seen_bytes = seen.bytes;
	new->nr_unseen = seen.nr_unseen;
}

struct wire_maps_texts
seen_texts(void)
{
	const uint32_t which = sites->maps_now & 1;

	return (struct wire_maps_texts){ wire_seen(sites), wire_maps(sites, which),
		__atomic_load_n(&sites->seen_bytes, __ATOMIC_ACQUIRE), sites->maps_bytes[which] };
}
