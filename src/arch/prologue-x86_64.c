#include <config.h>

#include "arch/prologue.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <string.h>

#define JUMP_BYTES 5 /* jmp rel32 */
#define FAR_BYTES 14 /* jmp *0(%rip) and eight bytes */
#define MAX_INSTRUCTION_BYTES 15
#define INT3 0xcc
#define JUMP 0xe9 /* jmp rel32 */

const char *const prologue_obstacle = NULL;

/* The 2 GiB range of rel32, minus the size of a large library. */
const uint64_t prologue_reach_bytes = UINT64_C(0x70000000);

static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* One instruction. */
struct decoded {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t addr;
};

static bool
prologue_x86_64_decode(const unsigned char *code, size_t size, uint64_t addr, struct decoded *ret)
{
	ZydisDecoder decoder;

	ret->addr = addr;
	return ZYAN_SUCCESS(ZydisDecoderInit(
		       &decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
		ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &ret->i, ret->operand));
}

/* Return the target of a relative branch; 0 for other instructions. */
static uint64_t
branch_target(const struct decoded *d)
{
	const ZydisDecodedOperand *o = &d->operand[0];

	if (!d->i.operand_count_visible || o->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		!o->imm.is_relative)
		return 0;
	return d->addr + d->i.length + o->imm.value.u;
}

/* Return the address of a RIP-relative operand; 0 without one. */
static uint64_t
rip_target(const struct decoded *d)
{
	for (size_t n = 0; n < d->i.operand_count_visible; n++) {
		const ZydisDecodedOperand *o = &d->operand[n];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP)
			return d->addr + d->i.length + (uint64_t)o->mem.disp.value;
	}
	return 0;
}

static bool
put_rel32(unsigned char *at, uint64_t target, uint64_t end)
{
	int64_t rel = (int64_t)(target - end);
	int32_t rel32 = (int32_t)rel;

	memcpy(at, &rel32, sizeof rel32);
	return rel == rel32;
}

/*
 * Copy the instruction D, whose bytes are at FROM, to TO, which will be at address AT.  Return its
 * length there, 0 with *WHY.
 */
static size_t
move_one(const struct decoded *d, const unsigned char *from, unsigned char *to, uint64_t at,
	const char **why)
{
	uint64_t target = branch_target(d);

	*why = "it begins with a call, or a jump that cannot be moved";
	if (!target) {
		target = rip_target(d);
		memcpy(to, from, d->i.length);
		if (d->i.meta.category == ZYDIS_CATEGORY_CALL)
			return 0;
		*why = "what it begins with is too far away to be moved";
		if (target &&
			(d->i.raw.disp.size != 32 ||
				!put_rel32(to + d->i.raw.disp.offset, target, at + d->i.length)))
			return 0;
		return d->i.length;
	}
	/* jcc rel8 is 7x, jcc rel32 is 0f 8x; loop and jrcxz differ, and have no long form. */
	if (d->i.meta.category == ZYDIS_CATEGORY_COND_BR && d->i.opcode >= 0x70 &&
		d->i.opcode < 0x90) {
		to[0] = 0x0f;
		to[1] = (unsigned char)(0x80 | (d->i.opcode & 0xf));
		return put_rel32(to + 2, target, at + 6) ? 6 : 0;
	}
	if (d->i.mnemonic != ZYDIS_MNEMONIC_JMP)
		return 0;
	to[0] = JUMP;
	return put_rel32(to + 1, target, at + JUMP_BYTES) ? JUMP_BYTES : 0;
}

/* True if code after such an instruction is reached only by a jump. */
static bool
ends_flow(const struct decoded *d)
{
	return d->i.meta.category == ZYDIS_CATEGORY_RET ||
		d->i.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		d->i.mnemonic == ZYDIS_MNEMONIC_UD2 || d->i.mnemonic == ZYDIS_MNEMONIC_HLT ||
		d->i.mnemonic == ZYDIS_MNEMONIC_INT3;
}

/* ---- the instruction that stays ---- */

/*
 * True for registers that pass no value into a function of NR_ARGS arguments: a hook may find any
 * value there.
 */
static bool
is_scratch(ZydisRegister reg, unsigned int nr_args)
{
	static const ZydisRegister argument[PROLOGUE_ANY_ARGS] = { ZYDIS_REGISTER_RDI,
		ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,
		ZYDIS_REGISTER_R9 };
	const ZydisRegister whole =
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_FLAGS)
		return true;
	for (unsigned int i = nr_args; i < PROLOGUE_ANY_ARGS; i++)
		if (whole == argument[i])
			return true;
	switch (whole) {
	/* for a function with variable arguments: number of vector registers */
	case ZYDIS_REGISTER_RAX:
	case ZYDIS_REGISTER_R10:
	case ZYDIS_REGISTER_R11:
		return true;
	default:
		return false;
	}
}

static bool
writes_scratch_only(const struct decoded *d, unsigned int nr_args)
{
	for (size_t n = 0; n < d->i.operand_count; n++) {
		const ZydisDecodedOperand *o = &d->operand[n];

		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
			(o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
				!is_scratch(o->reg.value, nr_args)))
			return false;
	}
	return true;
}

/* pop %reg */
static void
undo_push(struct prologue *p, ZydisRegister reg)
{
	const unsigned int id = (unsigned int)ZydisRegisterGetId(reg);

	if (id >= 8)
		p->undo[p->nr_undo++] = 0x41;
	p->undo[p->nr_undo++] = (unsigned char)(0x58 | (id & 7));
}

/* add $imm32,%rsp */
static void
undo_sub(struct prologue *p, int32_t bytes)
{
	static const unsigned char add[] = { 0x48, 0x81, 0xc4 };

	memcpy(p->undo, add, sizeof add);
	memcpy(p->undo + sizeof add, &bytes, sizeof bytes);
	p->nr_undo = sizeof add + sizeof bytes;
}

/*
 * True if D can be executed before the hook is called with NR_ARGS arguments, when followed by the
 * instructions stored in P.
 */
static bool
find_undo(const struct decoded *d, unsigned int nr_args, struct prologue *p)
{
	const ZydisDecodedOperand *o = d->operand;

	p->nr_undo = 0;
	if (d->i.meta.category == ZYDIS_CATEGORY_CALL ||
		d->i.meta.category == ZYDIS_CATEGORY_COND_BR ||
		d->i.meta.category == ZYDIS_CATEGORY_SYSCALL || ends_flow(d))
		return false;
	if (d->i.mnemonic == ZYDIS_MNEMONIC_PUSH && o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_GPR64) {
		undo_push(p, o->reg.value);
		return true;
	}
	if (d->i.mnemonic == ZYDIS_MNEMONIC_SUB && o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		o->reg.value == ZYDIS_REGISTER_RSP && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		undo_sub(p, (int32_t)o[1].imm.value.s);
		return true;
	}
	return writes_scratch_only(d, nr_args);
}

/* ---- jumps ---- */

/* True if no code in the function jumps to [FROM, TO). */
static bool
is_never_entered(const unsigned char *code, size_t size, uint64_t fn, uint64_t from, uint64_t to)
{
	struct decoded d;

	for (size_t done = 0; done < size; done += d.i.length) {
		uint64_t target;

		if (!prologue_x86_64_decode(code + done, size - done, fn + done, &d))
			return false;
		target = branch_target(&d);
		if (target >= from && target < to)
			return false;
	}
	return true;
}

static void
put_far_jump(unsigned char code[FAR_BYTES], raddr to)
{
	static const unsigned char jump[] = { 0xff, 0x25, 0, 0, 0, 0 }; /* jmp *0(%rip) */

	memcpy(code, jump, sizeof jump);
	memcpy(code + sizeof jump, &to.v, sizeof to.v);
}

static bool
put_near_jump(unsigned char code[JUMP_BYTES], uint64_t at, raddr to)
{
	unsigned char rel32[4];

	if (!put_rel32(rel32, to.v, at + JUMP_BYTES))
		return false;
	code[0] = JUMP;
	memcpy(code + 1, rel32, sizeof rel32);
	return true;
}

void
prologue_stub(
	const struct prologue *p, unsigned char code[PROLOGUE_FAR_BYTES], raddr at, raddr word)
{
	static const unsigned char jump[] = { 0xff, 0x25 }; /* jmp *rel32(%rip) */
	const size_t nr = p->is_undone_there ? 0 : p->nr_undo, end = nr + sizeof jump + 4;

	memset(code, INT3, PROLOGUE_FAR_BYTES);
	memcpy(code, p->undo, nr);
	memcpy(code + nr, jump, sizeof jump);
	put_rel32(code + nr + sizeof jump, word.v, at.v + end);
}

/* ---- moving ---- */

/* The instructions moved so far. */
struct moving {
	const unsigned char *code;
	size_t size;
	uint64_t fn, to;
	size_t from, out; /* bytes of the function, and of the moved code */
	unsigned char *moved;
};

/* Move the next instruction, and store it in *D. */
static bool
move_next(struct moving *m, struct decoded *d, const char **why)
{
	unsigned char one[MAX_INSTRUCTION_BYTES + JUMP_BYTES];
	size_t n;

	*why = "it is too short";
	if (m->from >= m->size ||
		!prologue_x86_64_decode(m->code + m->from, m->size - m->from, m->fn + m->from, d))
		return false;
	n = move_one(d, m->code + m->from, one, m->to + m->out, why);
	if (!n || m->out + n + FAR_BYTES > PROLOGUE_MOVED_BYTES)
		return false;
	memcpy(m->moved + m->out, one, n);
	m->out += n;
	m->from += d->i.length;
	return true;
}

/*
 * Move the instructions after the KEPT bytes that stay, which are moved as well unless they are a
 * mark.
 */
static int
move_behind(const unsigned char *code, size_t size, raddr fn, raddr to, size_t kept,
	struct prologue *ret, const char **why)
{
	const bool is_mark = kept == sizeof endbr64 && memcmp(code, endbr64, kept) == 0;
	struct moving m = { code, size, fn.v, to.v, is_mark ? kept : 0, 0, ret->moved };
	struct decoded d = { .addr = 0 };

	memset(ret->moved, INT3, sizeof ret->moved);
	ret->at = raddr_add(fn, kept);
	ret->is_undone_there = ret->nr_undo + JUMP_BYTES <= PROLOGUE_WORD_BYTES;
	ret->nr_bytes = JUMP_BYTES + (ret->is_undone_there ? ret->nr_undo : 0);
	while (m.from < kept + ret->nr_bytes) {
		if (m.from > kept && ends_flow(&d)) {
			*why = "it is too short";
			return -1;
		}
		if (!move_next(&m, &d, why))
			return -1;
	}
	/*
	 * A jump to the beginning calls the function again; a jump past the instruction to undo
	 * does not.
	 */
	*why = "something in it jumps to its beginning";
	if (!is_never_entered(
		    code, size, fn.v, ret->at.v + (is_mark || !kept), ret->at.v + ret->nr_bytes))
		return -1;
	if (!put_near_jump(ret->moved + m.out, to.v + m.out, raddr_add(fn, m.from)))
		put_far_jump(ret->moved + m.out, raddr_add(fn, m.from));
	return 0;
}

int
prologue_move(const unsigned char *code, size_t size, raddr fn, unsigned int nr_args, raddr to,
	struct prologue *ret, const char **why)
{
	struct decoded first;

	*ret = (struct prologue){ .nr_undo = 0 };
	if (prologue_x86_64_decode(code, size, fn.v, &first) && find_undo(&first, nr_args, ret)) {
		if (move_behind(code, size, fn, to, first.i.length, ret, why) == 0)
			return 0;
		if (first.i.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
			return -1; /* this instruction must stay */
	}
	ret->nr_undo = 0;
	return move_behind(code, size, fn, to, 0, ret, why);
}

uint64_t
prologue_patch(const struct prologue *p, uint64_t was, raddr to)
{
	const size_t nr = p->nr_bytes - JUMP_BYTES;
	unsigned char bytes[PROLOGUE_WORD_BYTES];

	memcpy(bytes, &was, sizeof bytes);
	memcpy(bytes, p->undo, nr);
	bytes[nr] = JUMP;
	put_rel32(bytes + nr + 1, to.v, p->at.v + p->nr_bytes);
	memcpy(&was, bytes, sizeof was);
	return was;
}

/* Return the size of the patch; a pop %reg of one or two bytes may precede the jump. */
size_t
prologue_patch_bytes(uint64_t word)
{
	unsigned char bytes[PROLOGUE_WORD_BYTES];
	size_t nr = 0;

	memcpy(bytes, &word, sizeof bytes);
	if (bytes[0] == 0x41)
		nr++;
	if ((bytes[nr] & 0xf8) == 0x58)
		nr++;
	return bytes[nr] == JUMP ? nr + JUMP_BYTES : 0;
}

raddr
prologue_jump_target(uint64_t word, raddr at)
{
	int32_t rel = (int32_t)(word >> 8);

	if ((word & 0xff) != JUMP)
		return (raddr){ 0 };
	return (raddr){ at.v + JUMP_BYTES + (uint64_t)(int64_t)rel };
}

bool
prologue_is_return(const unsigned char *code, size_t at, raddr start, raddr to)
{
	int32_t rel;

	if (at < JUMP_BYTES || code[at - JUMP_BYTES] != 0xe8)
		return false;
	memcpy(&rel, code + at - sizeof rel, sizeof rel);
	return start.v + at + (uint64_t)(int64_t)rel == to.v;
}

bool
prologue_is_slot(uint32_t type)
{
	return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}

bool
prologue_is_lazy_slot(uint32_t type)
{
	return type == R_X86_64_JUMP_SLOT;
}
