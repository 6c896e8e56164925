/*
 * The first instructions of functions moved elsewhere: by their bytes, and by running them.
 */
#include <config.h>

#include <sys/mman.h>

#include "inject/prologue.h"
#include "tap.h"

#define FN UINT64_C(0x7f0000001000)
#define TO UINT64_C(0x7f0000101000)

static const char *why;
static struct prologue p;

static int
move(const unsigned char *code, size_t size)
{
	why = "";
	return prologue_move(code, size, (raddr){ FN }, (raddr){ TO }, &p, &why);
}

#define MOVE(...)                                                                                  \
	move((const unsigned char[]){ __VA_ARGS__, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3 },       \
		sizeof((const unsigned char[]){ __VA_ARGS__ }) + 7)

/* Whether the moved code begins with WANT, and then jumps to FN + BACK. */
static bool
is_moved(const unsigned char *want, size_t size, uint64_t back)
{
	uint64_t jump;

	memcpy(&jump, p.moved + size, sizeof jump);
	return memcmp(p.moved, want, size) == 0 &&
		prologue_jump_target(jump, (raddr){ TO + size }).v == FN + back;
}

#define IS_MOVED(back, ...)                                                                        \
	is_moved((const unsigned char[]){ __VA_ARGS__ },                                            \
		sizeof((const unsigned char[]){ __VA_ARGS__ }), back)

static void
test_moves(void)
{
	ok(MOVE(0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb) == 0 && p.at.v == FN &&
			IS_MOVED(7, 0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb),
		"whole instructions are moved as they are");
	ok(MOVE(0x80, 0x3d, 0x00, 0x10, 0x00, 0x00, 0x05) == 0 &&
			IS_MOVED(7, 0x80, 0x3d, 0x00, 0x10, 0xf0, 0xff, 0x05),
		"what lies relative to the instruction, with an immediate behind, is found from there");
	ok(MOVE(0x48, 0x85, 0xff, 0x74, 0x05) == 0 &&
			IS_MOVED(5, 0x48, 0x85, 0xff, 0x0f, 0x84, 0x01, 0x00, 0xf0, 0xff),
		"a short branch becomes a long one");
	ok(MOVE(0x90, 0xe9, 0x00, 0x01, 0x00, 0x00) == 0 &&
			IS_MOVED(6, 0x90, 0xe9, 0x00, 0x01, 0xf0, 0xff),
		"a jump leads to where it led");
	ok(MOVE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x53) == 0 && p.at.v == FN + 4 &&
			IS_MOVED(9, 0x55, 0x48, 0x89, 0xe5, 0x53),
		"the mark for indirect branches stays");
}

/* Where a near jump does not reach, the address stands behind it. */
static void
test_far(void)
{
	static const unsigned char code[] = { 0x55, 0x53, 0x41, 0x54, 0x50, 0x90, 0xc3 };
	static const unsigned char far[] = { 0xff, 0x25, 0, 0, 0, 0 };
	uint64_t to;

	why = "";
	if (prologue_move(code, sizeof code, (raddr){ FN }, (raddr){ FN + (UINT64_C(1) << 32) }, &p,
		    &why) < 0) {
		ok(false, "far away: %s", why);
		return;
	}
	memcpy(&to, p.moved + 5 + sizeof far, sizeof to);
	ok(memcmp(p.moved + 5, far, sizeof far) == 0 && to == FN + 5, "far away");
}

static void
test_refusals(void)
{
	ok(MOVE(0x31, 0xc0, 0xc3) < 0 && strstr(why, "too short"), "too short");
	ok(MOVE(0xe8, 0, 0, 0, 0) < 0 && strstr(why, "call"), "a call");
	ok(MOVE(0x90, 0xff, 0xd0, 0x90, 0x90) < 0 && strstr(why, "call"), "a call by register");
	ok(MOVE(0xe3, 0x03, 0x90, 0x90, 0x90) < 0, "a branch that is short only");
	ok(MOVE(0xe2, 0x03, 0x90, 0x90, 0x90) < 0, "a loop");
	ok(MOVE(0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0xeb, 0xf9) < 0 && strstr(why, "jumps to"),
		"a loop to its beginning");
	ok(MOVE(0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0xeb, 0xf8) == 0,
		"a loop to the very first instruction is none");
	ok(MOVE(0x06, 0x90, 0x90, 0x90, 0x90) < 0, "no instruction");
}

static void
test_patch(void)
{
	const raddr at = { FN }, near = { FN + 0x1000 };
	uint64_t was = UINT64_C(0x8877665544332211), now = prologue_patch(was, at, near);

	is_u64(now, UINT64_C(0x88776600000ffbe9),
		"five bytes of the word change");
	is_u64(prologue_jump_target(now, at).v, near.v, "where the jump leads");
	is_u64(prologue_jump_target(was, at).v, 0, "no jump");
}

/* What is moved does as before, with its branch, and goes on in what was left. */
static void
test_running(void)
{
	static const unsigned char function[] = {
		0x85, 0xff,			/* test %edi,%edi */
		0x74, 0x06,			/* je zero */
		0xb8, 42, 0, 0, 0, 0xc3,	/* mov $42,%eax; ret */
		0xb8, 7, 0, 0, 0, 0xc3,		/* zero: mov $7,%eax; ret */
	};
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to = code + 2048;
	int (*moved)(int);

	if (code == MAP_FAILED) {
		skip("a moved function runs", "no memory that can be written and run");
		return;
	}
	memcpy(code, function, sizeof function);
	memcpy(&moved, &to, sizeof moved);
	if (!ok(prologue_move(code, sizeof function, (raddr){ (uintptr_t)code },
			(raddr){ (uintptr_t)to }, &p, &why) == 0, "a function can be moved"))
		return;
	memcpy(to, p.moved, sizeof p.moved);
	memset(code, 0xcc, 5);	/* nobody comes here any more */
	is_u64((uint64_t)moved(1), 42, "it does as before");
	is_u64((uint64_t)moved(0), 7, "and so does its branch");
}

int
main(void)
{
	test_moves();
	test_far();
	test_refusals();
	test_patch();
	test_running();
	return tap_end();
}
