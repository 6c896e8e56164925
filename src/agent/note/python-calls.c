#include <config.h>

#include "agent/note/python-calls.h"

#include "agent/note/sites.h"
#include "wire/sites.h"

void
python_calls_init(
	struct python_calls *c, char *text, struct python_calls_line *line, uint32_t nr_lines)
{
	c->text = text;
	c->line = line ? line : c->few_lines;
	c->nr_lines = line ? nr_lines : PYTHON_CALLS_FEW_LINES;
	c->now.nr_calls = c->now.nr_codes = 0;
	for (size_t i = 0; i < PYTHON_CALLS_FUNCTIONS; i++)
		c->function[i].number = 0;
	for (uint32_t i = 0; python_is_there && i < c->nr_lines; i++)
		c->line[i].number = 0;
}

/* ---- functions ---- */

/*
 * The number of the function with the LEN bytes of c->text at LINE; UINT32_MAX if no room is left.
 */
static uint32_t
find_number(const struct python_calls *c, size_t len, uint32_t line)
{
	uint32_t node = 0;

	for (size_t i = 0; i < len; i += WIRE_TEXT_BYTES) {
		uint64_t value = 0;

		for (size_t k = i; k < i + WIRE_TEXT_BYTES; k++)
			value = value << 8 | (k < len ? (unsigned char)c->text[k] : 0);
		node = sites_child(node, wire_label(WIRE_LABEL_TEXT, value));
	}
	return sites_child(node, wire_label(WIRE_LABEL_LINE, line));
}

/* True if F has the LEN bytes of TEXT and zeroes up to the next word.  Replaces libc's memcmp(). */
static bool
is_function(const struct python_name *f, const char *text, size_t len, uint32_t line)
{
	uint64_t a, b, differences = 0;

	if (!f->number || f->len != len || f->line != line)
		return false;
	for (size_t i = 0; i < len; i += sizeof a) {
		__builtin_memcpy(&a, f->text + i, sizeof a);
		__builtin_memcpy(&b, text + i, sizeof b);
		differences |= a ^ b;
	}
	return !differences;
}

/* The first of the entries that CODE may have. */
static struct python_name *
set_of_code(struct python_calls *c, uintptr_t code)
{
	const size_t sets = PYTHON_CALLS_FUNCTIONS / PYTHON_CALLS_WAYS;

	return &c->function[code / 64 % sets * PYTHON_CALLS_WAYS];
}

/* The name of CODE in its SET; NULL if not found. */
static const struct python_name *
name_of_code(const struct python_name *set, uintptr_t code)
{
	for (size_t i = 0; i < PYTHON_CALLS_WAYS; i++)
		if (set[i].number && python_is(code, &set[i]))
			return &set[i];
	return NULL;
}

/*
 * The number of the function CODE (WIRE_LABEL_CODE); 0: CODE has no name, UINT32_MAX: no room.  The
 * name is compared each time, since another function may have been created at the address.
 */
static uint32_t
number_of_code(struct python_calls *c, uintptr_t code)
{
	struct python_name *f = set_of_code(c, code);
	const struct python_name *name = name_of_code(f, code);
	uint32_t line, number;
	size_t len;

	if (name)
		return name->number;
	len = python_text(code, c->text, &line);
	if (!len)
		return 0;
	for (size_t i = len; i % sizeof(uint64_t); i++)
		c->text[i] = '\0';
	for (size_t i = 0; i < PYTHON_CALLS_WAYS; i++)
		if (is_function(&f[i], c->text, len, line))
			return f[i].number;
	f += c->nr_functions++ % PYTHON_CALLS_WAYS;
	number = find_number(c, len, line);
	if (number == UINT32_MAX || len > sizeof f->text)
		return number;
	/* A signal handler may interrupt this function and leave by longjmp(). */
	f->number = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*f = (struct python_name){ .line = line, .len = (uint32_t)len };
	while (c->text[f->file_len])
		f->file_len++;
	for (size_t i = 0; i < len; i++)
		f->text[i] = c->text[i];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	f->number = number;
	return number;
}

/*
 * The number of the function CODE with the line of INSTRUCTION (WIRE_LABEL_CODE), or without a line
 * if it is unknown.  Other results as in number_of_code().
 */
static uint32_t
place_of_code(struct python_calls *c, uintptr_t code, uint32_t instruction)
{
	const uint32_t number = number_of_code(c, code);
	const uint64_t h = (code ^ (uint64_t)instruction << 40) * UINT64_C(0x9e3779b97f4a7c15);
	struct python_calls_line *l = &c->line[h >> 32 & (c->nr_lines - 1)];
	uint32_t line, place = number;

	if (!number || number == UINT32_MAX)
		return number;
	if (l->number == number && l->code == code && l->instruction == instruction &&
		l->size == python_size(code))
		return l->place;
	line = python_line(code, instruction);
	if (line)
		place = sites_child(number, wire_label(WIRE_LABEL_LINE, line));
	/* A signal handler may interrupt this function and leave by longjmp(). */
	l->number = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*l = (struct python_calls_line){
		.code = code, .instruction = instruction, .size = python_size(code), .place = place
	};
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	l->number = place == UINT32_MAX ? 0 : number;
	return place;
}

void
python_calls_read_now(struct python_calls *c, const struct unwind_stack *walked)
{
	struct python_frames *p = &c->now;

	python_read(walked, p);
	for (uint32_t i = 0; i < p->nr_codes; i++)
		p->code[i] = place_of_code(c, p->code[i], p->instruction[i]);
}

uint32_t
python_calls_node(const struct python_calls *c, const struct python_call *call, uint32_t node)
{
	const struct python_frames *p = &c->now;

	for (uint32_t i = call->first + call->nr; i-- > call->first;) {
		if (p->code[i] == UINT32_MAX)
			return UINT32_MAX;
		if (p->code[i])
			node = sites_child(node, wire_label(WIRE_LABEL_CODE, p->code[i]));
	}
	return node;
}

uint32_t
python_calls_compare(const struct python_calls *c, const uint32_t *was, uint32_t nr)
{
	const struct python_frames *p = &c->now;
	const uint32_t *const end = was + nr;

	for (uint32_t i = p->nr_calls; i-- > 0;) {
		const struct python_call *call = &p->call[i];
		uint64_t differences;

		if (was == end)
			return call->native;
		differences = (was[0] ^ call->native) | (was[1] ^ call->nr);
		for (uint32_t k = 0; k < call->nr && !differences; k++)
			differences = was[2 + k] ^ p->code[call->first + call->nr - 1 - k];
		if (differences)
			return was[0] < call->native ? was[0] : call->native;
		was += 2 + call->nr;
	}
	return was < end ? was[0] : UINT32_MAX;
}

uint32_t
python_calls_put(const struct python_calls *c, uint32_t *to)
{
	const struct python_frames *p = &c->now;
	uint32_t nr = 0;

	if (2 * p->nr_calls + p->nr_codes > PYTHON_CALLS_WORDS) {
		to[0] = p->call[p->nr_calls - 1].native;
		to[1] = PYTHON_CALLS_MANY;
		return 2;
	}
	for (uint32_t i = p->nr_calls; i-- > 0;) {
		const struct python_call *call = &p->call[i];

		to[nr++] = call->native;
		to[nr++] = call->nr;
		for (uint32_t k = call->first + call->nr; k-- > call->first;)
			to[nr++] = (uint32_t)p->code[k];
	}
	return nr;
}

void
python_calls_know(
	struct python_calls *c, const struct unwind_stack *walked, struct python_known *ret)
{
	const struct python_name *name[PYTHON_KNOWN_CODES] = { NULL };

	python_read(walked, &c->now);
	for (uint32_t i = 0; i < c->now.nr_codes && i < PYTHON_KNOWN_CODES; i++)
		name[i] = name_of_code(set_of_code(c, c->now.code[i]), c->now.code[i]);
	python_know(&c->now, name, ret);
}
