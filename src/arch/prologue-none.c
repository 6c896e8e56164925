/* Hooks are unsupported on this processor, or Zydis is missing. */
#include <config.h>

#include "arch/prologue.h"

#include <string.h>

#ifdef __x86_64__
const char *const prologue_obstacle =
	"this memdiag was built without Zydis, which decodes instructions";
#else
const char *const prologue_obstacle = "memdiag cannot hook functions on this processor";
#endif

const uint64_t prologue_reach_bytes = 0;

int
prologue_move(const unsigned char *code, size_t size, raddr fn, unsigned int nr_args, raddr to,
	struct prologue *ret, const char **why)
{
	(void)code, (void)size, (void)fn, (void)nr_args, (void)to, (void)ret;
	*why = prologue_obstacle;
	return -1;
}

uint64_t
prologue_patch(const struct prologue *p, uint64_t was, raddr to)
{
	(void)p, (void)to;
	return was;
}

size_t
prologue_patch_bytes(uint64_t word)
{
	(void)word;
	return 0;
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
prologue_stub(
	const struct prologue *p, unsigned char code[PROLOGUE_FAR_BYTES], raddr at, raddr word)
{
	(void)p, (void)at, (void)word;
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
