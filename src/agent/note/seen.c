#include <config.h>

#include "agent/note/seen.h"

#include "agent/base/sys.h"
#include "agent/note/sites.h"
#include "unwind/unwind.h"

#define MAX_PATH_BYTES 4096

/* The working directory of the process, to which relative names refer. */
static char directory[MAX_PATH_BYTES];

void
seen_begin(void)
{
	if (sys_failed(sys_call(SYS_getcwd, directory, sizeof directory)))
		directory[0] = '\0';
}

/* ---- the lines of an object ---- */

/* With TO NULL, the text is only measured. */
struct seen_out {
	char *to;
	size_t len;
};

static void
seen_put_char(struct seen_out *o, char c)
{
	/* The first byte is written last. */
	if (o->to && o->len)
		o->to[o->len] = c;
	o->len++;
}

static void
seen_put(struct seen_out *o, const char *text)
{
	while (*text)
		seen_put_char(o, *text++);
}

static void
seen_put_hex(struct seen_out *o, uint64_t n, unsigned int digits)
{
	while (digits--)
		seen_put_char(o, "0123456789abcdef"[n >> 4 * digits & 15]);
}

/* Escape the end of a line as the kernel does: seq_file_path() (fs/proc/task_mmu.c). */
static void
seen_put_path(struct seen_out *o, const char *path)
{
	if (*path != '/') {
		seen_put(o, directory);
		seen_put_char(o, '/');
	}
	if (path[0] == '.' && path[1] == '/')
		path += 2;
	for (size_t i = 0; i < MAX_PATH_BYTES && path[i]; i++)
		if (path[i] == '\n')
			seen_put(o, "\\012");
		else
			seen_put_char(o, path[i]);
}

/* An address has this many digits.  The first digit is 0, since the address has no label. */
#define DIGITS 16

static void
put_lines(struct seen_out *o, const struct unwind_seen *s)
{
	for (uint32_t i = 0; i < s->nr_code; i++) {
		seen_put_hex(o, wire_frame(s->code[i].start, s->number), DIGITS);
		seen_put_char(o, '-');
		seen_put_hex(o, wire_frame(s->code[i].end, s->number), DIGITS);
		seen_put(o, " r-xp ");
		seen_put_hex(o, s->code[i].offset_bytes, 8);
		seen_put(o, " 00:00 0 ");
		seen_put_path(o, s->name);
		seen_put_char(o, '\n');
		if (!s->id_bytes)
			continue;
		seen_put(o, "# build-id 0x");
		seen_put_hex(o, wire_frame(s->code[i].start, s->number), DIGITS);
		seen_put_char(o, ' ');
		for (uint32_t k = 0; k < s->id_bytes; k++)
			seen_put_hex(o, s->id[k], 2);
		seen_put_char(o, '\n');
	}
}

/* ---- objects that walks have met ---- */

/* The first byte is written last: a signal handler may interrupt this and never return. */
static void
write_lines(char *to, const struct unwind_seen *o)
{
	struct seen_out out = { .to = to };

	put_lines(&out, o);
	__atomic_store_n(to, '0', __ATOMIC_RELEASE);
}

/* Reserve BYTES of the text.  Returns their offset, or WIRE_SEEN_BYTES if no room is left. */
static uint32_t
take_room(size_t bytes)
{
	uint32_t at = __atomic_load_n(&sites->seen_bytes, __ATOMIC_RELAXED);

	do {
		if (bytes > WIRE_SEEN_BYTES - at)
			return WIRE_SEEN_BYTES;
	} while (!__atomic_compare_exchange_n(&sites->seen_bytes, &at, at + (uint32_t)bytes, true,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return at;
}

/* False for the vDSO, which has a name without a path and is never unloaded. */
static bool
has_path(const struct unwind_seen *o)
{
	for (const char *c = o->name; c && *c; c++)
		if (*c == '/')
			return true;
	return false;
}

void
seen_add(const struct unwind_seen *o)
{
	struct seen_out measured = { .to = NULL };
	uint32_t at = WIRE_SEEN_BYTES;

	if (!sites || (o->number != UNWIND_NO_NUMBER && !has_path(o)))
		return;
	if (o->number != UNWIND_NO_NUMBER) {
		put_lines(&measured, o);
		at = take_room(measured.len);
	}
	if (at == WIRE_SEEN_BYTES)
		__atomic_add_fetch(&sites->nr_unseen, 1, __ATOMIC_RELAXED);
	else
		write_lines(wire_seen(sites) + at, o);
}

struct wire_maps_texts
seen_texts(void)
{
	const uint32_t which = sites->maps_now & 1;

	return (struct wire_maps_texts){ wire_seen(sites), wire_maps(sites, which),
		__atomic_load_n(&sites->seen_bytes, __ATOMIC_ACQUIRE), sites->maps_bytes[which] };
}
