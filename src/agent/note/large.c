#include <config.h>

#include "agent/note/large.h"

#include <string.h>

#include "agent/base/say.h"
#include "agent/base/sys.h"
#include "agent/note/seen.h"
#include "agent/note/sites.h"
#include "wire/maps.h"

/* Largest number of frames in a stack, and of stacks, to print. */
#define MAX_FRAMES 32
#define MAX_STACKS 64
/* Largest number of bytes of a path in a line. */
#define MAX_PATH_BYTES 300

/* One thread at a time owns this. */
static struct {
	int is_taken;
	const struct wire_sites *of; /* the sites that the other members describe */
	uint32_t nr_seen;
	uint32_t stack[MAX_STACKS], nr_stacks;
	char line[MAX_PATH_BYTES + 64];
	size_t len;
} large;

static void
large_add_char(char c)
{
	if (large.len < sizeof large.line - 1)
		large.line[large.len++] = c;
	large.line[large.len] = '\0';
}

static void
add_hex(uint64_t n)
{
	char digits[16];
	size_t nr = 0;

	do
		digits[nr++] = "0123456789abcdef"[n & 15];
	while (n >>= 4);
	large_add_char('0');
	large_add_char('x');
	while (nr)
		large_add_char(digits[--nr]);
}

/* Read the number at *AT, and move *AT past the character that follows it. */
static uint64_t
next_number(const char **at, const char *end)
{
	const uint64_t n = wire_maps_read_hex(at, end);

	*at += *at < end;
	return n;
}

/* Parse "START-END PERM OFFSET ...  PATH", and append "PATH+OFFSET" if ADDRESS is in the range. */
static void
add_if_in(const char *at, const char *end, uint64_t address)
{
	const uint64_t from = next_number(&at, end), to = next_number(&at, end);
	uint64_t offset;

	if (address < from || address >= to || end - at < 5)
		return;
	at += 5; /* PERM */
	offset = next_number(&at, end);
	while (at < end && *at != '/')
		at++;
	for (int i = 0; at < end && i < MAX_PATH_BYTES; i++)
		large_add_char(*at++);
	large_add_char('+');
	add_hex(address - from + offset);
}

static void
large_find_frame(void *arg, const char *line, size_t len)
{
	if (!large.len)
		add_if_in(line, line + len, *(const uint64_t *)arg);
}

static void
print_frame(uint64_t frame)
{
	const struct wire_maps_texts texts = seen_texts();

	large.len = 0;
	wire_maps_merge(&texts, large_find_frame, &frame);
	if (!large.len)
		add_hex(wire_address_of(frame));
	say_string("    ", large.line);
}

/* Print the name of an interpreter's function. */
static void
print_function(uint32_t number)
{
	char text[WIRE_MAX_TEXT_BYTES];
	uint32_t line;
	const char *name = sites_function(number, text, &line);

	if (name)
		say_string("    ", name);
}

static bool
large_is_new(uint32_t node)
{
	for (uint32_t i = 0; i < large.nr_stacks; i++)
		if (large.stack[i] == node)
			return false;
	if (large.nr_stacks == MAX_STACKS)
		return false;
	large.stack[large.nr_stacks++] = node;
	return true;
}

static void
agent_large_print(const struct wire_large *l)
{
	unsigned int nr = 0;

	if (!large_is_new(l->node))
		return;
	SAY("memdiag: %u, thread %u: a call for %u bytes", sites->pid, l->tid, l->bytes);
	if (l->node == UINT32_MAX)
		return;
	for (uint32_t node = l->node; node && nr < MAX_FRAMES;
		node = wire_nodes(sites)[node].parent) {
		const uint64_t address = wire_nodes(sites)[node].address;

		if (wire_label_of(address) == WIRE_LABEL_CODE)
			print_function((uint32_t)wire_label_value(address));
		/* The byte before the return address belongs to the line of the call. */
		else if (wire_label_of(address) == WIRE_LABEL_NONE)
			print_frame(address - 1);
		else
			continue;
		nr++;
	}
}

static void
large_print_all(void)
{
	const struct wire_triggers *t = &sites->triggers;
	const uint32_t nr = __atomic_load_n(&t->nr_large, __ATOMIC_ACQUIRE);

	if (large.of != sites) {
		large.of = sites;
		large.nr_seen = large.nr_stacks = 0;
	}
	if (nr - large.nr_seen > WIRE_NR_LARGE)
		large.nr_seen = nr - WIRE_NR_LARGE;
	for (; large.nr_seen != nr; large.nr_seen++) {
		const struct wire_large *l = &t->large[(large.nr_seen + 1) % WIRE_NR_LARGE];
		const uint32_t number = __atomic_load_n(&l->number, __ATOMIC_ACQUIRE);

		if (!number) /* another thread is still writing it */
			return;
		if (number == large.nr_seen + 1)
			agent_large_print(l);
	}
}

void
large_print(void)
{
	if (__atomic_exchange_n(&large.is_taken, 1, __ATOMIC_ACQUIRE))
		return;
	large_print_all();
	__atomic_store_n(&large.is_taken, 0, __ATOMIC_RELEASE);
}

/* The child's sites may have the address of its parent's. */
void
large_begin_child(void)
{
	large.of = NULL;
	__atomic_store_n(&large.is_taken, 0, __ATOMIC_RELEASE);
}
