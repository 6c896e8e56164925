/*
 * The first instructions of functions moved elsewhere: by their bytes, and by running them.
 */
#include <config.h>

#include <sys/mman.h>

#include "arch/prologue.h"
#include "tap.h"

#define FN UINT64_C(0x7f0000001000)
#define TO UINT64_C(0x7f0000101000)

static const char *why;
static struct prologue p;

static int
move_with(unsigned int nr_args, const unsigned char *code, size_t size)
{
	why = "";
	return prologue_move(code, size, (raddr){ FN }, nr_args, (raddr){ TO }, &p, &why);
}

static int
move(const unsigned char *code, size_t size)
{
	return move_with(PROLOGUE_ANY_ARGS, code, size);
}

#define MOVE(...)                                                                                  \
	move((const unsigned char[]){ __VA_ARGS__, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3 },     \
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
	is_moved((const unsigned char[]){ __VA_ARGS__ },                                           \
		sizeof((const unsigned char[]){ __VA_ARGS__ }), back)

/* Whether the jump is put AT bytes behind the beginning, after the instructions UNDO. */
static bool
is_at(size_t at, const unsigned char *undo, size_t nr_undo)
{
	return p.at.v == FN + at && p.nr_undo == nr_undo && memcmp(p.undo, undo, nr_undo) == 0 &&
		p.nr_bytes == 5 + (nr_undo <= 3 ? nr_undo : 0) &&
		p.is_undone_there == (nr_undo <= 3);
}

#define UNDO(...)                                                                                  \
	(const unsigned char[]){ __VA_ARGS__ }, sizeof((const unsigned char[]){ __VA_ARGS__ })
#define NOTHING (const unsigned char[]){ 0 }, 0

/* The first instruction stays: a kernel probe there continues behind it. */
static void
test_first_stays(void)
{
	ok(MOVE(0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb) == 0 && is_at(2, UNDO(0x41, 0x5c)) &&
			IS_MOVED(9, 0x41, 0x54, 0x55, 0x53, 0x48, 0x89, 0xfb, 0x90, 0x90),
		"push %%r12 stays and is undone");
	ok(MOVE(0x55, 0x48, 0x89, 0xe5, 0x41, 0x57) == 0 && is_at(1, UNDO(0x5d)) &&
			IS_MOVED(7, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x90),
		"push %%rbp stays and is undone");
	ok(MOVE(0x48, 0x83, 0xec, 0x58, 0x4c, 0x89, 0x44, 0x24, 0x40) == 0 &&
			is_at(4, UNDO(0x48, 0x81, 0xc4, 0x58, 0, 0, 0)) &&
			IS_MOVED(9, 0x48, 0x83, 0xec, 0x58, 0x4c, 0x89, 0x44, 0x24, 0x40),
		"sub $0x58,%%rsp stays and is undone in the stub");
	ok(MOVE(0x48, 0x81, 0xec, 0x88, 0x10, 0, 0) == 0 &&
			is_at(7, UNDO(0x48, 0x81, 0xc4, 0x88, 0x10, 0, 0)),
		"sub $0x1088,%%rsp as well");
	ok(MOVE(0x48, 0x85, 0xff, 0x74, 0x05) == 0 && is_at(3, NOTHING) &&
			IS_MOVED(8, 0x48, 0x85, 0xff, 0x0f, 0x84, 0x01, 0x00, 0xf0, 0xff, 0x90,
				0x90, 0x90),
		"a comparison stays");
	ok(MOVE(0x80, 0x3d, 0x00, 0x10, 0x00, 0x00, 0x05) == 0 && is_at(7, NOTHING) &&
			IS_MOVED(12, 0x80, 0x3d, 0x00, 0x10, 0xf0, 0xff, 0x05, 0x90, 0x90, 0x90,
				0x90, 0x90),
		"one with memory relative to the instruction stays, and is found from where it is "
		"moved");
	ok(MOVE(0xb8, 0x0b, 0, 0, 0, 0x0f, 0x05) == 0 && is_at(5, NOTHING), "mov $11,%%eax stays");
	ok(MOVE(0x41, 0x89, 0xca, 0x90) == 0 && is_at(3, NOTHING), "mov %%ecx,%%r10d stays");
	ok(MOVE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x53) == 0 && is_at(4, NOTHING) &&
			IS_MOVED(9, 0x55, 0x48, 0x89, 0xe5, 0x53),
		"the mark for indirect branches stays");
}

#define MOVE_WITH(nr_args, ...)                                                                    \
	move_with(nr_args,                                                                         \
		(const unsigned char[]){ __VA_ARGS__, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3 },        \
		sizeof((const unsigned char[]){ __VA_ARGS__ }) + 6)

/* posix_memalign() and realloc() of Debian's glibc 2.43-7 begin so. */
static void
test_no_argument(void)
{
	ok(MOVE_WITH(3, 0x48, 0x89, 0xf1, 0x90, 0x90) == 0 && is_at(3, NOTHING),
		"mov %%rsi,%%rcx stays with 3 arguments");
	ok(MOVE_WITH(4, 0x48, 0x89, 0xf1, 0x90, 0x90) == 0 && is_at(0, NOTHING), "but not with 4");
	ok(MOVE_WITH(2, 0x49, 0x89, 0xf1, 0x90, 0x90) == 0 && is_at(3, NOTHING),
		"mov %%rsi,%%r9 stays with 2");
	ok(MOVE_WITH(0, 0x31, 0xff, 0x90, 0x90, 0x90) == 0 && is_at(2, NOTHING),
		"xor %%edi,%%edi stays with none");
	ok(MOVE_WITH(0, 0x31, 0xdb, 0x90, 0x90, 0x90) == 0 && is_at(0, NOTHING),
		"xor %%ebx,%%ebx never does");
}

/* An instruction that would give the hook other values is moved. */
static void
test_first_moves(void)
{
	ok(MOVE(0x48, 0x89, 0xf7, 0x90, 0x90) == 0 && is_at(0, NOTHING) &&
			IS_MOVED(5, 0x48, 0x89, 0xf7, 0x90, 0x90),
		"mov %%rsi,%%rdi does not stay");
	ok(MOVE(0x31, 0xc9, 0x90, 0x90, 0x90) == 0 && is_at(0, NOTHING),
		"xor %%ecx,%%ecx does not");
	ok(MOVE(0x48, 0x89, 0x7c, 0x24, 0xf8) == 0 && is_at(0, NOTHING), "a store does not");
	ok(MOVE(0x48, 0x8d, 0x64, 0x24, 0xe8) == 0 && is_at(0, NOTHING), "lea to %%rsp does not");
	ok(MOVE(0x6a, 0x05, 0x90, 0x90, 0x90) == 0 && is_at(0, NOTHING), "push $5 does not");
	ok(MOVE(0x74, 0x05, 0x90, 0x90, 0x90) == 0 && is_at(0, NOTHING) &&
			IS_MOVED(5, 0x0f, 0x84, 0x01, 0x00, 0xf0, 0xff, 0x90, 0x90, 0x90),
		"a short branch becomes a long one");
	ok(MOVE(0xe9, 0x00, 0x01, 0x00, 0x00) == 0 && is_at(0, NOTHING) &&
			IS_MOVED(5, 0xe9, 0x00, 0x01, 0xf0, 0xff),
		"a jump leads to where it led");
	ok(MOVE(0x48, 0x81, 0xec, 0x88, 0x10, 0, 0, 0x90, 0xeb, 0xfd) == 0 && is_at(0, NOTHING),
		"sub does not if there is a loop to behind it");
}

/* Where a near jump does not reach, the address stands behind it. */
static void
test_far(void)
{
	static const unsigned char code[] = { 0x55, 0x53, 0x41, 0x54, 0x50, 0x90, 0x90, 0xc3 };
	static const unsigned char far[] = { 0xff, 0x25, 0, 0, 0, 0 };
	uint64_t to;

	why = "";
	if (prologue_move(code, sizeof code, (raddr){ FN }, PROLOGUE_ANY_ARGS,
		    (raddr){ FN + (UINT64_C(1) << 32) }, &p, &why) < 0) {
		ok(false, "far away: %s", why);
		return;
	}
	memcpy(&to, p.moved + 7 + sizeof far, sizeof to);
	ok(memcmp(p.moved + 7, far, sizeof far) == 0 && to == FN + 7, "far away");
}

static void
test_refusals(void)
{
	ok(MOVE(0x31, 0xc0, 0xc3) < 0 && strstr(why, "too short"), "too short");
	ok(MOVE(0xe8, 0, 0, 0, 0) < 0 && strstr(why, "call"), "a call");
	ok(MOVE(0x90, 0xff, 0xd0, 0x90, 0x90) < 0 && strstr(why, "call"), "a call by register");
	ok(MOVE(0xe3, 0x03, 0x90, 0x90, 0x90) < 0, "a branch that is short only");
	ok(MOVE(0xe2, 0x03, 0x90, 0x90, 0x90) < 0, "a loop");
	ok(MOVE(0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0xeb, 0xfa) < 0 && strstr(why, "jumps to"),
		"a loop to its beginning");
	ok(MOVE(0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0xeb, 0xf8) == 0,
		"a loop to the very first instruction is none");
	ok(MOVE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xeb, 0xfb) < 0,
		"with a mark it is refused");
	ok(MOVE(0x06, 0x90, 0x90, 0x90, 0x90) < 0, "no instruction");
}

static void
test_patch(void)
{
	const raddr near = { FN + 0x1000 };
	uint64_t was = UINT64_C(0x8877665544332211), now;

	MOVE(0x90, 0x90, 0x90, 0x90, 0x90);
	p.at.v = FN;
	now = prologue_patch(&p, was, near);
	is_u64(now, UINT64_C(0x88776600000ffbe9), "five bytes of the word change");
	is_u64(prologue_jump_target(now, (raddr){ FN }).v, near.v, "where the jump leads");
	is_u64(prologue_jump_target(was, (raddr){ FN }).v, 0, "no jump");
	is_u64(prologue_patch_bytes(now), 5, "five bytes of a jump");
	is_u64(prologue_patch_bytes(was), 0, "none");
	MOVE(0x55, 0x53, 0x53, 0x53, 0x53, 0x53);
	now = prologue_patch(&p, was, near);
	is_u64(now, UINT64_C(0x887700000ff9e95d), "six with an undo of one byte");
	is_u64(prologue_patch_bytes(now), 6, "six");
	MOVE(0x41, 0x54, 0x53, 0x53, 0x53, 0x53);
	now = prologue_patch(&p, was, near);
	is_u64(now, UINT64_C(0x8800000ff7e95c41), "seven with one of two");
	is_u64(prologue_patch_bytes(now), 7, "seven");
}

static void
test_stub(void)
{
	static const unsigned char jump[] = { 0xff, 0x25, 0xea, 0xff, 0xff, 0xff };
	static const unsigned char after_7[] = { 0xff, 0x25, 0xe3, 0xff, 0xff, 0xff };
	unsigned char code[PROLOGUE_FAR_BYTES];
	const raddr at = { FN }, word = { FN - 16 };

	MOVE(0x41, 0x54, 0x53, 0x53, 0x53, 0x53);
	prologue_stub(&p, code, at, word);
	ok(memcmp(code, jump, sizeof jump) == 0, "a stub jumps to where a word says");
	MOVE(0x48, 0x83, 0xec, 0x58, 0x90, 0x90, 0x90, 0x90);
	prologue_stub(&p, code, at, word);
	ok(memcmp(code, p.undo, 7) == 0 && memcmp(code + 7, after_7, sizeof after_7) == 0,
		"also one that undoes more");
}

/*
 * Expected values of a function that is hooked: its first bytes, and its results for 1 and 0.
 */
static const struct sample {
	const char *name;
	unsigned char code[24];
	size_t size;
} samples[] = {
	{ "test; je; mov",
		{
			0x85, 0xff,		 /* test %edi,%edi */
			0x74, 0x06,		 /* je zero */
			0xb8, 42, 0, 0, 0, 0xc3, /* mov $42,%eax; ret */
			0xb8, 7, 0, 0, 0, 0xc3,	 /* zero: mov $7,%eax; ret */
		},
		16 },
	{ "push; push; pop; pop",
		{
			0x41, 0x54,		/* push %r12 */
			0x53,			/* push %rbx */
			0x89, 0xfb,		/* mov %edi,%ebx */
			0x6b, 0xdb, 35,		/* imul $35,%ebx,%ebx */
			0x8d, 0x43, 7,		/* lea 7(%rbx),%eax */
			0x5b, 0x41, 0x5c, 0xc3, /* pop %rbx; pop %r12; ret */
		},
		15 },
	{ "sub; add",
		{
			0x48, 0x83, 0xec, 0x18,	      /* sub $0x18,%rsp */
			0x89, 0x7c, 0x24, 8,	      /* mov %edi,8(%rsp) */
			0x6b, 0x44, 0x24, 8, 35,      /* imul $35,8(%rsp),%eax */
			0x83, 0xc0, 7,		      /* add $7,%eax */
			0x48, 0x83, 0xc4, 0x18, 0xc3, /* add $0x18,%rsp; ret */
		},
		21 },
};

/* The hook adds 100 to its argument. */
static const unsigned char hook_code[] = { 0x8d, 0x47, 100, 0xc3 }; /* lea 100(%rdi),%eax; ret */

/*
 * FUNCTION is called as by a compiler, and must keep what it has to keep: the caller is compiled
 * code.
 */
static int
call(const unsigned char *function, int n)
{
	int (*fn)(int);

	memcpy(&fn, &function, sizeof fn);
	return fn(n);
}

static void
test_running(void)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		      *to = code + 2048, *stub = code + 1024, *hook = code + 3072;

	if (code == MAP_FAILED) {
		skip("a moved function runs", "no memory that can be written and run");
		return;
	}
	memcpy(hook, hook_code, sizeof hook_code);
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		const struct sample *s = &samples[i];
		uint64_t word;

		memcpy(code, s->code, s->size);
		if (!ok(prologue_move(code, s->size, (raddr){ (uintptr_t)code }, 1,
				(raddr){ (uintptr_t)to }, &p, &why) == 0 &&
				    p.at.v > (uintptr_t)code,
			    "%s can be moved", s->name))
			continue;
		memcpy(to, p.moved, sizeof p.moved);
		memcpy(stub - sizeof hook, &hook, sizeof hook);
		prologue_stub(&p, stub, (raddr){ (uintptr_t)stub },
			(raddr){ (uintptr_t)stub - sizeof hook });
		memcpy(&word, code + (p.at.v - (uintptr_t)code), sizeof word);
		word = prologue_patch(
			&p, word, (raddr){ (uintptr_t)(p.is_undone_there ? hook : stub) });
		memcpy(code + (p.at.v - (uintptr_t)code), &word, sizeof word);
		ok(call(code, 1) == 101, "%s: leads to the hook", s->name);
		ok(call(to, 1) == 42, "%s: moved, it does as before", s->name);
		ok(call(to, 0) == 7, "%s: moved, with another argument", s->name);
	}
}

int
main(void)
{
	test_first_stays();
	test_no_argument();
	test_first_moves();
	test_far();
	test_refusals();
	test_patch();
	test_stub();
	test_running();
	return tap_end();
}
