/*
 * For unsupported processors: arch_check_process() refuses, so no other function is
 * reached.
 */
#include <config.h>

#include "arch/arch.h"
#include "elf/objects.h"
#include "elf/symbols.h"

const char arch_name[] = MD_HOST_CPU;
const int arch_machine;
const uint64_t arch_red_zone_bytes;
const int arch_clone_child_tid;
const uint32_t arch_tls_relocation;
const bool arch_can_rewind;

static int
refuse_processor(struct err *e)
{
	return err_set_kind(
		e, ERR_UNSUPPORTED, 0, "memdiag cannot call into programs on %s yet", arch_name);
}

int64_t
arch_tls_of_program(const Elf64_Phdr *tls)
{
	(void)tls;
	return 0;
}

int
arch_check_process(const struct target *t, struct err *e)
{
	(void)t;
	refuse_processor(e);
	return err_hint(e, "'memdiag maps' works here");
}

const char *
arch_obstacle(pid_t tid)
{
	(void)tid;
	return NULL;
}

int
arch_get_regs(pid_t tid, struct arch_regs *ret, struct err *e)
{
	(void)tid, (void)ret;
	return refuse_processor(e);
}

int
arch_set_regs(pid_t tid, const struct arch_regs *regs, struct err *e)
{
	(void)tid, (void)regs;
	return refuse_processor(e);
}

int
arch_save(pid_t tid, struct arch_thread *ret, struct err *e)
{
	(void)tid, (void)ret;
	return refuse_processor(e);
}

int
arch_set_ext(pid_t tid, const struct arch_thread *th, struct err *e)
{
	(void)tid, (void)th;
	return refuse_processor(e);
}

const uint64_t arch_sampled_regs = 0;

void
arch_from_sample(struct arch_regs *r, const uint64_t *values)
{
	(void)values;
	*r = (struct arch_regs){ 0 };
}

raddr
arch_pc(const struct arch_regs *r)
{
	return (raddr){ r->word[0] };
}

raddr
arch_sp(const struct arch_regs *r)
{
	return (raddr){ r->word[0] };
}

long
arch_syscall_nr(const struct arch_regs *r)
{
	(void)r;
	return -1;
}

uint64_t
arch_arg(const struct arch_regs *r, int i)
{
	(void)r, (void)i;
	return 0;
}

void
arch_set_arg(struct arch_regs *r, int i, uint64_t value)
{
	(void)r, (void)i, (void)value;
}

int64_t
arch_result(const struct arch_regs *r)
{
	(void)r;
	return -1;
}

void
arch_set_result(struct arch_regs *r, int64_t value)
{
	(void)r, (void)value;
}

enum arch_restart
arch_restart(const struct arch_regs *r)
{
	(void)r;
	return ARCH_NO_RESTART;
}

bool
arch_is_still_in(struct arch_regs *r, long nr, raddr sp, raddr pc)
{
	(void)r, (void)nr, (void)sp, (void)pc;
	return false;
}

void
arch_rewind(struct arch_regs *r, long nr)
{
	(void)r, (void)nr;
}

void
arch_settle(struct arch_regs *r)
{
	(void)r;
}

const bool arch_returns_by_frame = false;

void
arch_prepare_call(struct arch_regs *r, raddr fn, const uint64_t *arg, size_t nr_args,
	raddr restorer, raddr frame)
{
	(void)r, (void)fn, (void)arg, (void)nr_args, (void)restorer, (void)frame;
}

raddr
arch_thread_pointer(const struct arch_regs *r)
{
	(void)r;
	return (raddr){ 0 };
}

const unsigned char arch_call_and_store[] = { 0 };
const size_t arch_call_and_store_bytes = 0;

const unsigned char arch_make_syscall[] = { 0 };
const size_t arch_make_syscall_bytes = 0, arch_make_syscall_offset = 0;
const struct arch_spare arch_spare = { .bytes = 0 };

bool
arch_is_control_block(const uint64_t block[ARCH_BLOCK_WORDS], raddr tp)
{
	(void)block, (void)tp;
	return false;
}

bool
arch_relocate(const struct image_relocation *r, uint64_t base, uint64_t *ret)
{
	(void)r, (void)base, (void)ret;
	return false;
}

void
arch_prepare_return(struct arch_regs *r, raddr restorer, raddr frame)
{
	(void)r, (void)restorer, (void)frame;
}

void
arch_build_frame(struct arch_frame *f, raddr top, const struct arch_regs *regs, uint64_t sigmask,
	const struct arch_thread *th, raddr restorer)
{
	(void)top, (void)regs, (void)sigmask, (void)th, (void)restorer;
	f->size_bytes = 0;
}

bool
arch_is_sigreturn(const struct arch_regs *r, raddr restorer)
{
	(void)r, (void)restorer;
	return false;
}

raddr
arch_find_restorer(const struct target *t, const struct objects *o, const struct object *libc)
{
	(void)t, (void)o, (void)libc;
	return (raddr){ 0 };
}

raddr
arch_errno_address(const struct target *t, const struct object *libc, const struct arch_regs *r)
{
	(void)t, (void)libc, (void)r;
	return (raddr){ 0 };
}

raddr
arch_returned_address(const struct object *o, raddr fn)
{
	(void)o, (void)fn;
	return (raddr){ 0 };
}

bool
arch_follows_call(const unsigned char *before, size_t nr_bytes)
{
	(void)before, (void)nr_bytes;
	return true;
}

raddr
arch_strip_signature(const struct arch_regs *r, raddr code)
{
	(void)r;
	return code;
}
