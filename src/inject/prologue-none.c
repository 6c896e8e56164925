/* Where no function can be given another beginning. */
#include <config.h>

#include "inject/prologue.h"

#include <string.h>

const size_t prologue_jump_bytes = 0;
const uint64_t prologue_reach_bytes = 0;

int
prologue_move(const unsigned char *code, size_t size, raddr fn, raddr to, struct prologue *ret,
	const char **why)
{
	(void)code, (void)size, (void)fn, (void)to, (void)ret;
	*why = "memdiag cannot do that on this processor";
	return -1;
}

uint64_t
prologue_patch(uint64_t was, raddr at, raddr to)
{
	(void)at, (void)to;
	return was;
}

raddr
prologue_jump_target(uint64_t word, raddr at)
{
	(void)word, (void)at;
	return (raddr){ 0 };
}

bool
prologue_is_return(const unsigned char *code, size_t at, raddr start, raddr to)
{
	(void)code, (void)at, (void)start, (void)to;
	return false;
}

void
prologue_far_jump(unsigned char code[PROLOGUE_FAR_BYTES], raddr to)
{
	(void)to;
	memset(code, 0, PROLOGUE_FAR_BYTES);
}

bool
prologue_is_slot(uint32_t type)
{
	(void)type;
	return false;
}

bool
prologue_is_lazy_slot(uint32_t type)
{
	(void)type;
	return false;
}
