#include <config.h>

#include "inject/prologue.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <string.h>

#define JUMP_BYTES 5	/* jmp rel32 */
#define FAR_BYTES 14	/* jmp *0(%rip) and eight bytes */
#define MAX_INSTRUCTION_BYTES 15
#define INT3 0xcc

const size_t prologue_jump_bytes = JUMP_BYTES;
/* Of the 2 GiB that rel32 reaches, less what a large library takes. */
const uint64_t prologue_reach_bytes = UINT64_C(0x70000000);

static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* One instruction. */
struct decoded {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t addr;
};

static bool
decode(const unsigned char *code, size_t size, uint64_t addr, struct decoded *ret)
{
	ZydisDecoder decoder;

	ret->addr = addr;
	return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
		       ZYDIS_STACK_WIDTH_64)) &&
		ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &ret->i, ret->operand));
}

/* Where a relative branch leads; 0 for anything else. */
static uint64_t
branch_target(const struct decoded *d)
{
	const ZydisDecodedOperand *o = &d->operand[0];

	if (!d->i.operand_count_visible || o->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		!o->imm.is_relative)
		return 0;
	return d->addr + d->i.length + o->imm.value.u;
}

/* What the displacement of a RIP-relative operand leads to; 0 if there is none. */
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

/* Copy the instruction D, of bytes FROM, to AT of ret's code.  Returns its length there, 0 with *WHY. */
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
		if (target && (d->i.raw.disp.size != 32 ||
				      !put_rel32(to + d->i.raw.disp.offset, target, at + d->i.length)))
			return 0;
		return d->i.length;
	}
	/* jcc rel8 is 7x, jcc rel32 is 0f 8x; loop and jrcxz are others, and have no long form. */
	if (d->i.meta.category == ZYDIS_CATEGORY_COND_BR && d->i.opcode >= 0x70 && d->i.opcode < 0x90) {
		to[0] = 0x0f;
		to[1] = (unsigned char)(0x80 | (d->i.opcode & 0xf));
		return put_rel32(to + 2, target, at + 6) ? 6 : 0;
	}
	if (d->i.mnemonic != ZYDIS_MNEMONIC_JMP)
		return 0;
	to[0] = 0xe9;
	return put_rel32(to + 1, target, at + JUMP_BYTES) ? JUMP_BYTES : 0;
}

/* Nothing follows such an instruction but by a jump. */
static bool
ends_flow(const struct decoded *d)
{
	return d->i.meta.category == ZYDIS_CATEGORY_RET ||
		d->i.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		d->i.mnemonic == ZYDIS_MNEMONIC_UD2 || d->i.mnemonic == ZYDIS_MNEMONIC_HLT ||
		d->i.mnemonic == ZYDIS_MNEMONIC_INT3;
}

/* Whether nothing in the function jumps into the middle of what the jump at AT will be. */
static bool
is_never_entered(const unsigned char *code, size_t size, uint64_t fn, uint64_t at)
{
	struct decoded d;

	for (size_t done = 0; done < size; done += d.i.length) {
		uint64_t target;

		if (!decode(code + done, size - done, fn + done, &d))
			return false;
		target = branch_target(&d);
		if (target > at && target < at + JUMP_BYTES)
			return false;
	}
	return true;
}

void
prologue_far_jump(unsigned char code[PROLOGUE_FAR_BYTES], raddr to)
{
	static const unsigned char jump[] = { 0xff, 0x25, 0, 0, 0, 0 };	/* jmp *0(%rip) */

	memset(code, INT3, PROLOGUE_FAR_BYTES);
	memcpy(code, jump, sizeof jump);
	memcpy(code + sizeof jump, &to.v, sizeof to.v);
}

/* A jump that lies at AT, near if it can be. */
static void
put_jump(unsigned char code[PROLOGUE_FAR_BYTES], uint64_t at, raddr to)
{
	if (put_rel32(code + 1, to.v, at + JUMP_BYTES))
		code[0] = 0xe9;
	else
		prologue_far_jump(code, to);
}

int
prologue_move(const unsigned char *code, size_t size, raddr fn, raddr to, struct prologue *ret,
	const char **why)
{
	const size_t mark = size >= sizeof endbr64 && memcmp(code, endbr64, sizeof endbr64) == 0
		? sizeof endbr64
		: 0;
	size_t from = mark, out = 0;
	struct decoded d;

	ret->at = raddr_add(fn, mark);
	memset(ret->moved, INT3, sizeof ret->moved);
	while (from < mark + JUMP_BYTES) {
		size_t n;

		if (from >= size || (from > mark && ends_flow(&d)) ||
			!decode(code + from, size - from, fn.v + from, &d)) {
			*why = "it is too short";
			return -1;
		}
		n = move_one(&d, code + from, ret->moved + out, to.v + out, why);
		if (!n)
			return -1;
		out += n;
		from += d.i.length;
	}
	*why = "something in it jumps to its beginning";
	if (!is_never_entered(code, size, fn.v, ret->at.v))
		return -1;
	put_jump(ret->moved + out, to.v + out, raddr_add(fn, from));
	return 0;
}

_Static_assert(4 * 6 + MAX_INSTRUCTION_BYTES + PROLOGUE_FAR_BYTES <= PROLOGUE_MOVED_BYTES,
	"four short branches and the longest instruction, moved, must have room");

uint64_t
prologue_patch(uint64_t was, raddr at, raddr to)
{
	unsigned char bytes[PROLOGUE_WORD_BYTES];

	memcpy(bytes, &was, sizeof bytes);
	bytes[0] = 0xe9;
	put_rel32(bytes + 1, to.v, at.v + JUMP_BYTES);
	memcpy(&was, bytes, sizeof was);
	return was;
}

raddr
prologue_jump_target(uint64_t word, raddr at)
{
	int32_t rel = (int32_t)(word >> 8);

	if ((word & 0xff) != 0xe9)
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
