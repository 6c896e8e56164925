#include <config.h>

#include "stop/registers.h"

#include "os/ptrace.h"
#include "os/stops.h"

static int
registers_check(pid_t tid, const struct arch_regs *regs, struct err *e)
{
	const uint64_t now = os_stop_nr(tid);

	if (now && regs->stop_nr == now)
		return 0;
	return err_set_kind(e, ERR_FAILED, 0,
		"thread %d has run since its registers were read; they were not set", tid);
}

int
registers_set(pid_t tid, const struct arch_regs *regs, struct err *e)
{
	return registers_check(tid, regs, e) < 0 ? -1 : arch_set_regs(tid, regs, e);
}

int
registers_set_ext(pid_t tid, const struct arch_thread *th, struct err *e)
{
	return registers_check(tid, &th->regs, e) < 0 ? -1 : arch_set_ext(tid, th, e);
}

int
registers_set_mask(pid_t tid, const struct arch_thread *th, uint64_t mask, struct err *e)
{
	return registers_check(tid, &th->regs, e) < 0 ? -1 : os_set_sigmask(tid, mask, e);
}

void
registers_carry(pid_t tid, struct arch_regs *regs)
{
	regs->stop_nr = os_stop_nr(tid);
}
