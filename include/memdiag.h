/*
 * memdiag.h: what a program can ask memdiag's agent, if it runs under it: how much memory it has.
 *
 *	cc program.c $(pkg-config --cflags --libs memdiag)
 *	memdiag run ./a.out
 *
 *	if (memdiag_live_bytes() > 100000000)
 *		drop_caches();
 *
 * Without the agent all is 0, and there is no limit; also in a forked child that the agent does not
 * follow.  They allocate nothing and may be called by any thread at any time; only
 * memdiag_reset_peak(), memdiag_set_limit() and memdiag_record_...() are not for signal handlers.
 *
 * A program that is not linked with -lmemdiag can define MEMDIAG_WEAK as __attribute__((weak))
 * before; in position-independent code the functions are null pointers then where there is no
 * agent.
 */
#ifndef MEMDIAG_H
#define MEMDIAG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MEMDIAG_WEAK
#define MEMDIAG_WEAK
#endif

/* 1 when the agent is there and counts, else 0. */
int memdiag_is_counting(void) MEMDIAG_WEAK;
/* Bytes that were allocated or mapped and not yet given back. */
size_t memdiag_live_bytes(void) MEMDIAG_WEAK;
/* Those of them that mmap() mapped. */
size_t memdiag_mapped_bytes(void) MEMDIAG_WEAK;
/* Blocks that were allocated and not yet freed. */
size_t memdiag_live_blocks(void) MEMDIAG_WEAK;
/* The most that memdiag_live_bytes() has been; with several threads to about 1 % or 64 KiB. */
size_t memdiag_peak_bytes(void) MEMDIAG_WEAK;
/* From now on it is what is live now. */
void memdiag_reset_peak(void) MEMDIAG_WEAK;
/* Bytes and blocks that were allocated so far, freed ones too; of bytes also what was mapped. */
size_t memdiag_allocated_bytes(void) MEMDIAG_WEAK;
size_t memdiag_allocated_blocks(void) MEMDIAG_WEAK;
/*
 * The same, and what was freed, by the calling thread.  They do not begin at 0 in each thread: the
 * difference between two calls is what the thread did in between.
 */
size_t memdiag_thread_allocated_bytes(void) MEMDIAG_WEAK;
size_t memdiag_thread_freed_bytes(void) MEMDIAG_WEAK;
size_t memdiag_thread_allocated_blocks(void) MEMDIAG_WEAK;
/* The limit, (size_t)-1 if no limit is set. */
size_t memdiag_limit_bytes(void) MEMDIAG_WEAK;
/*
 * Set the limit, or with (size_t)-1 take it away.  At the limit the action of 'memdiag run
 * --on-limit' is taken; without one, the call that does not fit fails with ENOMEM.  Returns
 * 0, or -1 with errno: EINVAL for a limit of 0, ENOSYS without the agent.
 */
int memdiag_set_limit(size_t bytes) MEMDIAG_WEAK;

/*
 * A record of every allocation of the program from now on, with the stack that made it, as
 * 'memdiag record' makes one.  Any thread may call these at any time, also while others allocate,
 * but no signal handler.  They return 0, or -1 with errno: ENOSYS without the agent, and in a
 * forked child that it does not follow; EAGAIN while another thread, or memdiag, begins or ends
 * what is noted; ENOTSUP if malloc is not glibc's; EBUSY if a profile is taken instead.
 */
enum memdiag_record_mode {
	MEMDIAG_RECORD_MEM_FAST, /* sites and live blocks in memory */
};
/*
 * Begin; nothing changes if there is a record already.  Blocks that were there before are not part
 * of it.  Also EINVAL for another mode, ENOMEM, and EBUSY if 'memdiag run --record' began a record
 * that has been stopped, whose file is still to be written.
 */
int memdiag_record_start(enum memdiag_record_mode mode) MEMDIAG_WEAK;
/*
 * End the record, if there is one.  Its amounts can be reported until the next start.
 */
int memdiag_record_stop(void) MEMDIAG_WEAK;
/* 1 while a record runs, else 0. */
int memdiag_record_is_on(void) MEMDIAG_WEAK;
/*
 * Write what was recorded so far to the descriptor FD, as a .heap file that 'memdiag record report'
 * and 'memdiag report' read, and go tool pprof.  It allocates nothing, and waits only for FD.  Also
 * ENODATA if nothing was recorded by this process, and what write(2) fails with: EPIPE comes
 * without its signal.
 */
int memdiag_record_report(int fd) MEMDIAG_WEAK;

#ifdef __cplusplus
}
#endif
#endif
