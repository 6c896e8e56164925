#include <config.h>

#include "agent/note/python.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "agent/base/compiler.h"
#include "agent/base/real.h"
#include "agent/base/state.h"
#include "unwind/objects.h"

/* ---- layouts of interpreters ---- */

/*
 * Offsets, of a 64-bit build without Py_TRACE_REFS: Include/cpython/pystate.h (PyThreadState,
 * _PyCFrame), Include/internal/pycore_frame.h (_PyInterpreterFrame), Include/cpython/code.h and
 * unicodeobject.h.  They are constant within a release, since its extensions are compiled with
 * them.
 */
struct python_layout {
	unsigned int version;	     /* Py_Version >> 16 */
	unsigned short state_cframe; /* 0: next is state_frame, without a struct _PyCFrame */
	unsigned short state_frame;
	unsigned short cframe_frame, cframe_previous;
	unsigned short frame_code, frame_previous;
	unsigned short frame_entry; /* not 0: the last function of a call; 0: no such member */
	unsigned short frame_owner;
	unsigned short code_line, code_bytes;
	unsigned short ascii_bytes, compact_bytes, unicode_bytes;
};

static const struct python_layout layouts[] = {
	{ 0x030b, 56, 0, 8, 16, 32, 48, 68, 69, 72, 184, 48, 72, 80 },
	{ 0x030c, 56, 0, 0, 8, 0, 8, 0, 70, 68, 192, 40, 56, 64 },
	{ 0x030d, 0, 72, 0, 0, 0, 8, 0, 70, 68, 200, 40, 56, 64 },
};

/* These are equal in all releases. */
#define TYPE_BASICSIZE 32 /* PyTypeObject.tp_basicsize */
#define OBJECT_TYPE 8
#define CODE_FILENAME 112
#define CODE_QUALNAME 128
#define CODE_LINETABLE 136
#define FRAME_INSTRUCTION 56 /* prev_instr, instr_ptr since 3.13 */
#define OBJECT_SIZE 16	     /* PyVarObject.ob_size */
#define BYTES_VALUE 32	     /* PyBytesObject.ob_sval */
#define UNICODE_LENGTH 16
#define UNICODE_STATE 32
#define OWNED_BY_CSTACK 3 /* enum _frameowner: a frame that marks the beginning of a call from C */

bool python_is_there;

static struct {
	const struct python_layout *l; /* NULL if no interpreter was found */
	/* The thread's state; that of the GIL's holder, or since 3.12 NULL without the GIL. */
	uintptr_t (*of_thread)(void), (*current)(void);
	uintptr_t code_type, unicode_type, bytes_type;
	uintptr_t object;    /* start of its library; 0: the program, which is never unloaded */
	uint64_t generation; /* generation of the loaded objects when it was found */
} python;

static uintptr_t
python_word_at(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

/* ---- an interpreter ---- */

static bool
python_has_size(uintptr_t type, uint64_t bytes)
{
	return python_word_at(type + TYPE_BASICSIZE) == bytes;
}

/*
 * The layout for VERSION; NULL if it is unknown or differs.  A debugging build has larger objects;
 * a build without the GIL has another version number in them.
 */
static const struct python_layout *
python_find_layout(uint64_t version)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].version == version >> 16 &&
			python_has_size(python.code_type, layouts[i].code_bytes) &&
			python_has_size(python.unicode_type, layouts[i].unicode_bytes))
			return &layouts[i];
	return NULL;
}

/* struct dl_find_object of <link.h>, which older releases of glibc lack. */
struct python_found_object {
	uint64_t flags;
	uintptr_t start, end;
	uintptr_t rest[8];
};

/* The start of the object that contains AT; 0 if unknown. */
static uintptr_t
python_object_at(uintptr_t at)
{
	struct python_found_object found;

	return real._dl_find_object &&
			real._dl_find_object((void *)at, (struct dl_find_object *)(void *)&found) ==
				0
		? found.start
		: 0;
}

static int
python_look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uintptr_t version = real_symbol(info, "Py_Version", STT_OBJECT);
	unsigned int *nr = arg;

	(void)size;
	(*nr)++;
	if (!version)
		return 0;
	python.of_thread =
		(uintptr_t(*)(void))real_symbol(info, "PyGILState_GetThisThreadState", STT_FUNC);
	python.current =
		(uintptr_t(*)(void))real_symbol(info, "_PyThreadState_UncheckedGet", STT_FUNC);
	if (!python.current)
		python.current = (uintptr_t(*)(void))real_symbol(
			info, "PyThreadState_GetUnchecked", STT_FUNC);
	python.code_type = real_symbol(info, "PyCode_Type", STT_OBJECT);
	python.unicode_type = real_symbol(info, "PyUnicode_Type", STT_OBJECT);
	python.bytes_type = real_symbol(info, "PyBytes_Type", STT_OBJECT);
	python.object = *nr == 1 ? 0 : python_object_at(version);
	if (python.of_thread && python.current && python.code_type && python.unicode_type &&
		(*nr == 1 || python.object))
		python.l = python_find_layout(python_word_at(version));
	return 1;
}

void
python_begin(void)
{
	unsigned int nr = 0;

	python.l = NULL;
	python.generation = 0;
	if (sizeof(void *) == 8 && !agent_is_static)
		dl_iterate_phdr(python_look_into, &nr);
	python_is_there = python.l;
}

/* ---- frames ---- */

static bool
is_in_frame(const struct unwind_stack *walked, uint32_t i, uintptr_t local)
{
	return local >= walked->frame[i].sp && local < walked->frame[i - 1].sp;
}

/*
 * The native frame that contains LOCAL, as an index into WALKED, searched outwards from frame FROM;
 * 0 if not found.  The outermost frame, number 0, never belongs to Python.  HINT is a guess of the
 * index and may be any number.
 */
static inline uint32_t
native_of(const struct unwind_stack *walked, uint32_t from, uintptr_t local, uint32_t hint)
{
	if (hint && hint <= from && is_in_frame(walked, hint, local))
		return hint;
	for (uint32_t i = from; i; i--)
		if (is_in_frame(walked, i, local))
			return i;
	return 0;
}

/* A guess of the native frame of the next call: the one that TO had before. */
static inline uint32_t
hint_of(const struct python_frames *to)
{
	return to->nr_calls < PYTHON_MAX_CALLS ? to->call[to->nr_calls].native : 0;
}

/* True if FRAME marks the beginning of a call from C and is not a function. */
static bool
is_mark(uintptr_t frame)
{
	return !python.l->frame_entry &&
		*(const char *)(frame + python.l->frame_owner) == OWNED_BY_CSTACK;
}

/* True if FRAME is the last function of its call. */
static bool
is_entry(uintptr_t frame)
{
	return python.l->frame_entry && *(const char *)(frame + python.l->frame_entry);
}

/* The position of FRAME in CODE, in bytes from the first instruction. */
static inline uint32_t
instruction_of(uintptr_t frame, uintptr_t code)
{
	return (uint32_t)(python_word_at(frame + FRAME_INSTRUCTION) - code - python.l->code_bytes);
}

/*
 * Record the functions from *FRAME outwards, up to the end of their call. *FRAME is then the frame
 * after them: a mark, or 0.  False if no room is left.
 */
static bool
note_codes(struct python_frames *to, uintptr_t *frame)
{
	for (; *frame && !is_mark(*frame);
		*frame = python_word_at(*frame + python.l->frame_previous)) {
		const uintptr_t code = python_word_at(*frame + python.l->frame_code);

		if (to->nr_codes == PYTHON_MAX_CODES)
			return false;
		to->instruction[to->nr_codes] = instruction_of(*frame, code);
		to->code[to->nr_codes++] = code;
		if (is_entry(*frame)) {
			*frame = 0;
			return true;
		}
	}
	return true;
}

static bool
note_call(struct python_frames *to, uint32_t native, uint32_t first, uintptr_t local)
{
	if (to->nr_calls == PYTHON_MAX_CALLS)
		return false;
	to->call[to->nr_calls++] =
		(struct python_call){ native, first, to->nr_codes - first, local };
	return true;
}

/*
 * Up to 3.12, each call has a struct _PyCFrame among its variables, which points to the innermost
 * function and to the struct of the enclosing call.  The thread's state points to the innermost
 * struct.
 */
static bool
read_by_cframes(uintptr_t state, const struct unwind_stack *walked, struct python_frames *to)
{
	uintptr_t cframe = python_word_at(state + python.l->state_cframe), frame;
	uint32_t native = walked->nr - 1, first;

	while ((native = native_of(walked, native, cframe, hint_of(to)))) {
		first = to->nr_codes;
		frame = python_word_at(cframe + python.l->cframe_frame);
		if (!note_codes(to, &frame) || !note_call(to, native, first, cframe))
			return false;
		cframe = python_word_at(cframe + python.l->cframe_previous);
		native--;
	}
	to->rest = cframe;
	return true;
}

/* Since 3.13 all functions are in one list, with marks that are variables of each call. */
static bool
read_by_marks(uintptr_t state, const struct unwind_stack *walked, struct python_frames *to)
{
	uintptr_t frame = python_word_at(state + python.l->state_frame);
	uint32_t native = walked->nr - 1, first;

	while (frame) {
		first = to->nr_codes;
		if (!note_codes(to, &frame))
			return false;
		native = native_of(walked, native, frame, hint_of(to));
		if (!native)
			to->nr_codes = first;
		if (!native || !note_call(to, native--, first, frame))
			return !native;
		frame = python_word_at(frame + python.l->frame_previous);
	}
	to->rest = 0;
	return true;
}

/* True if the interpreter is still loaded. */
static bool
is_loaded(void)
{
	const uint64_t generation = unwind_generation();

	if (!python.object ||
		(generation && generation == __atomic_load_n(&python.generation, __ATOMIC_RELAXED)))
		return true;
	if (python_object_at((uintptr_t)python.of_thread) != python.object)
		return false;
	__atomic_store_n(&python.generation, generation, __ATOMIC_RELAXED);
	return true;
}

/* The state of the calling thread; 0 if it does not hold the GIL. */
static uintptr_t
state_of_thread(void)
{
	const uintptr_t state = python.of_thread();

	return state == python.current() ? state : 0;
}

void
python_read(const struct unwind_stack *walked, struct python_frames *to)
{
	uintptr_t state;
	bool is_whole;

	to->nr_calls = to->nr_codes = 0;
	to->rest = PYTHON_NOT_READ;
	if (!python.l || walked->nr < 2 || !is_loaded())
		return;
	state = state_of_thread();
	if (!state)
		return;
	is_whole = python.l->state_cframe ? read_by_cframes(state, walked, to)
					  : read_by_marks(state, walked, to);
	if (!is_whole)
		to->nr_calls = to->nr_codes = 0;
}

/* ---- texts ---- */

static uint32_t
char_at(uintptr_t data, unsigned int kind, size_t i)
{
	return kind == 1    ? ((const uint8_t *)data)[i]
		: kind == 2 ? ((const uint16_t *)data)[i]
			    : ((const uint32_t *)data)[i];
}

/* Write C as UTF-8 to TEXT, and return the number of bytes.  Lone surrogates and NUL become '?'. */
static size_t
python_put_char(char *text, uint32_t c)
{
	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = '?';
	if (c < 0x80) {
		text[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		text[0] = (char)(0xc0 | c >> 6);
		text[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		text[0] = (char)(0xe0 | c >> 12);
		text[1] = (char)(0x80 | (c >> 6 & 0x3f));
		text[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	text[0] = (char)(0xf0 | c >> 18);
	text[1] = (char)(0x80 | (c >> 12 & 0x3f));
	text[2] = (char)(0x80 | (c >> 6 & 0x3f));
	text[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Write the last characters of the NR at DATA, which are ASCII. */
static size_t
put_ascii(char *text, size_t room, const char *data, size_t nr)
{
	const size_t len = nr < room ? nr : room;

	data += nr - len;
	for (size_t i = 0; i < len; i++)
		text[i] = data[i] ? data[i] : '?';
	return len ? len : 1;
}

/*
 * Write the str STRING, or its last characters, as UTF-8 of at most ROOM bytes; "?" if STRING is
 * not a str.
 */
static size_t
python_put_string(char *text, size_t room, uintptr_t string)
{
	const struct python_layout *l = python.l;
	uint32_t state;
	size_t nr, most, len = 0;
	unsigned int kind;
	uintptr_t data;

	text[0] = '?';
	if (!string || python_word_at(string + OBJECT_TYPE) != python.unicode_type)
		return 1;
	state = *(const uint32_t *)(string + UNICODE_STATE);
	kind = state >> 2 & 7;
	if (!(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4))
		return 1;
	data = string + (state >> 6 & 1 ? l->ascii_bytes : l->compact_bytes);
	nr = python_word_at(string + UNICODE_LENGTH);
	if (state >> 6 & 1 && kind == 1)
		return put_ascii(text, room, (const char *)data, nr);
	most = state >> 6 & 1 ? room : room / 4;
	for (size_t i = nr > most ? nr - most : 0; i < nr; i++)
		len += python_put_char(text + len, char_at(data, kind, i));
	return len ? len : 1;
}

size_t
python_text(uintptr_t code, char text[PYTHON_TEXT_BYTES], uint32_t *ret_line)
{
	const size_t room = (PYTHON_TEXT_BYTES - 1) / 2;
	size_t len;

	/* Its last reference may be gone while an object that it referred to is being freed. */
	if (!code || !*(const uint32_t *)code ||
		python_word_at(code + OBJECT_TYPE) != python.code_type)
		return 0;
	*ret_line = *(const uint32_t *)(code + python.l->code_line);
	len = python_put_string(text, room, python_word_at(code + CODE_FILENAME));
	text[len++] = '\0';
	return len + python_put_string(text + len, room, python_word_at(code + CODE_QUALNAME));
}

/* ---- lines ---- */

/*
 * Read a number, which is in bits 0 to 5 of the bytes from *AT on, as long as bit 6 is set.  Stops
 * at END.
 */
static uint32_t
python_read_number(const uint8_t **at, const uint8_t *end)
{
	uint32_t value = 0;
	uint8_t byte = 0x40;

	for (unsigned int shift = 0; *at < end && byte & 0x40 && shift < 32; shift += 6) {
		byte = *(*at)++;
		value |= (uint32_t)(byte & 0x3f) << shift;
	}
	return value;
}

/*
 * The number of lines between the previous entry of the table and the one of kind KIND, whose next
 * byte is AT: Objects/locations.md of CPython 3.11 to 3.13.
 */
static int32_t
line_step(unsigned int kind, const uint8_t *at, const uint8_t *end)
{
	uint32_t folded;

	if (kind == 13 || kind == 14) {
		folded = python_read_number(&at, end);
		return folded & 1 ? -(int32_t)(folded >> 1) : (int32_t)(folded >> 1);
	}
	return kind >= 10 && kind <= 12 ? (int32_t)kind - 10 : 0;
}

/*
 * The line of INSTRUCTION by the TABLE of SIZE bytes, for a function that begins at LINE; 0 if the
 * table has no line for it.  An entry begins with a byte of 128 or more: its kind, and the number
 * of two-byte instructions that it covers, minus one.
 */
static uint32_t
python_find_line(const uint8_t *table, size_t size, uint32_t line, uint32_t instruction)
{
	const uint8_t *const end = table + size;
	uint64_t reached = 0;

	for (const uint8_t *at = table; at < end;) {
		const unsigned int kind = *at >> 3 & 15;

		reached += 2 * ((*at & 7u) + 1);
		line += (uint32_t)line_step(kind, ++at, end);
		if (instruction < reached)
			return kind == 15 ? 0 : line;
		while (at < end && *at < 128)
			at++;
	}
	return 0;
}

uint32_t
python_line(uintptr_t code, uint32_t instruction)
{
	const uintptr_t table = python_word_at(code + CODE_LINETABLE);

	/* A function that has not begun has not reached any of its instructions. */
	if (!table || !python.bytes_type ||
		python_word_at(table + OBJECT_TYPE) != python.bytes_type ||
		(int32_t)instruction < 0)
		return 0;
	return python_find_line((const uint8_t *)table + BYTES_VALUE,
		python_word_at(table + OBJECT_SIZE),
		*(const uint32_t *)(code + python.l->code_line), instruction);
}

uint32_t
python_size(uintptr_t code)
{
	return (uint32_t)python_word_at(code + OBJECT_SIZE);
}

/* ---- known names ---- */

/* The size of a processor's vector register. */
typedef uint64_t vector __attribute__((vector_size(16)));

static inline vector
differences_at(const char *a, const char *b)
{
	vector v, w;

	__builtin_memcpy(&v, a, sizeof v);
	__builtin_memcpy(&w, b, sizeof w);
	return v ^ w;
}

static inline uint64_t
word_differences_at(const char *a, const char *b)
{
	uint64_t v, w;

	__builtin_memcpy(&v, a, sizeof v);
	__builtin_memcpy(&w, b, sizeof w);
	return v ^ w;
}

/*
 * True if A and B agree in LEN bytes.  Replaces libc's memcmp().  The last word or vector that is
 * read ends where they end.
 */
static inline __attribute__((always_inline)) bool
python_is_same(const char *a, const char *b, size_t len)
{
	vector differences = { 0, 0 };
	char rest = 0;

	if (LIKELY(len >= sizeof(vector))) {
		const size_t last = len - sizeof(vector);

		for (size_t i = 0; i < last; i += sizeof(vector))
			differences |= differences_at(a + i, b + i);
		differences |= differences_at(a + last, b + last);
		return !(differences[0] | differences[1]);
	}
	if (len >= sizeof(uint64_t)) {
		const size_t last = len - sizeof(uint64_t);

		return !(word_differences_at(a, b) | word_differences_at(a + last, b + last));
	}
	for (size_t i = 0; i < len; i++)
		rest |= (char)(a[i] ^ b[i]);
	return !rest;
}

#define STATE_MASK 0x7c	 /* kind, compact, ascii */
#define STATE_ASCII 0x64 /* one byte per character, compact, ascii */

/* True if STRING consists of the LEN characters of TEXT, all ASCII. */
static inline __attribute__((always_inline)) bool
is_ascii(uintptr_t string, const char *text, size_t len)
{
	return string && python_word_at(string + OBJECT_TYPE) == python.unicode_type &&
		python_word_at(string + UNICODE_LENGTH) == len &&
		(*(const uint32_t *)(string + UNICODE_STATE) & STATE_MASK) == STATE_ASCII &&
		python_is_same((const char *)string + python.l->ascii_bytes, text, len);
}

static inline __attribute__((always_inline)) bool
python_is_named(uintptr_t code, const struct python_name *n)
{
	return code && *(const uint32_t *)code &&
		python_word_at(code + OBJECT_TYPE) == python.code_type &&
		*(const uint32_t *)(code + python.l->code_line) == n->line &&
		is_ascii(python_word_at(code + CODE_QUALNAME), n->text + n->file_len + 1,
			n->len - n->file_len - 1) &&
		is_ascii(python_word_at(code + CODE_FILENAME), n->text, n->file_len);
}

bool
python_is(uintptr_t code, const struct python_name *name)
{
	return python_is_named(code, name);
}

/* ---- known calls ---- */

void
python_know(const struct python_frames *read, const struct python_name *const *name,
	struct python_known *ret)
{
	ret->rest = PYTHON_NOT_READ;
	/* A signal handler may interrupt this function and leave by longjmp(). */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (read->nr_calls > PYTHON_KNOWN_CALLS || read->nr_codes > PYTHON_KNOWN_CODES)
		return;
	ret->nr_calls = read->nr_calls;
	ret->nr_codes = read->nr_codes;
	for (uint32_t i = 0; i < read->nr_calls; i++) {
		ret->call[i].local = read->call[i].local;
		ret->call[i].nr = read->call[i].nr;
	}
	for (uint32_t i = 0; i < read->nr_codes; i++) {
		if (!name[i])
			return;
		ret->code[i].code = read->code[i];
		ret->code[i].instruction = read->instruction[i];
		ret->code[i].size = python_size(read->code[i]);
		ret->code[i].name = name[i];
		ret->code[i].number = name[i]->number;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ret->rest = read->rest;
}

/*
 * True if the functions from *FRAME outwards, up to the end of their call, are the NR functions of
 * KNOWN from number FIRST on. *FRAME changes as in note_codes().
 */
static inline bool
has_codes(const struct python_known *known, uint32_t first, uint32_t nr, uintptr_t *frame)
{
	uintptr_t at = *frame;

	for (uint32_t i = 0; i < nr; i++) {
		const uintptr_t code = known->code[first + i].code;

		if (!at || is_mark(at) || python_word_at(at + python.l->frame_code) != code ||
			instruction_of(at, code) != known->code[first + i].instruction)
			return false;
		if (is_entry(at)) {
			*frame = 0;
			return i == nr - 1;
		}
		at = python_word_at(at + python.l->frame_previous);
	}
	*frame = at;
	return !at || is_mark(at);
}

/*
 * True if read_by_cframes() would read the same addresses: the variables are in the same native
 * frames as before.
 */
static bool
has_cframes(uintptr_t state, const struct python_known *known)
{
	uintptr_t cframe = python_word_at(state + python.l->state_cframe), frame;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < known->nr_calls; i++) {
		if (cframe != known->call[i].local)
			return false;
		frame = python_word_at(cframe + python.l->cframe_frame);
		if (!has_codes(known, nr, known->call[i].nr, &frame))
			return false;
		nr += known->call[i].nr;
		cframe = python_word_at(cframe + python.l->cframe_previous);
	}
	return cframe == known->rest;
}

/* True if read_by_marks() would read the same addresses. */
static bool
has_marks(uintptr_t state, const struct python_known *known)
{
	uintptr_t frame = python_word_at(state + python.l->state_frame);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < known->nr_calls; i++) {
		if (!has_codes(known, nr, known->call[i].nr, &frame) ||
			frame != known->call[i].local)
			return false;
		nr += known->call[i].nr;
		frame = python_word_at(frame + python.l->frame_previous);
	}
	return frame == known->rest;
}

/*
 * True if the names are unchanged.  Other objects may have the same addresses by now, so the names
 * are compared each time.
 */
static bool
has_names(const struct python_known *known)
{
	for (uint32_t i = 0; i < known->nr_codes; i++) {
		const struct python_name *n = known->code[i].name;

		if (n->number != known->code[i].number ||
			!python_is_named(known->code[i].code, n) ||
			python_size(known->code[i].code) != known->code[i].size)
			return false;
	}
	return true;
}

bool
python_is_as_known(const struct python_known *known)
{
	uintptr_t state;

	if (known->rest == PYTHON_NOT_READ || !python_is_there || !is_loaded())
		return false;
	state = state_of_thread();
	return state &&
		(python.l->state_cframe ? has_cframes(state, known) : has_marks(state, known)) &&
		has_names(known);
}
