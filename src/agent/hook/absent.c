/*
 * absent: the answers that a program gets without an agent. libmemdiag.so consists of this file
 * only.  A program that asks is linked with it; the preloaded agent precedes it and has the same
 * functions.
 */
#include "memdiag.h"

#include <errno.h>
#include <stdint.h>

int
memdiag_is_counting(void)
{
	return 0;
}

size_t
memdiag_live_bytes(void)
{
	return 0;
}

size_t
memdiag_mapped_bytes(void)
{
	return 0;
}

size_t
memdiag_live_blocks(void)
{
	return 0;
}

size_t
memdiag_peak_bytes(void)
{
	return 0;
}

size_t
memdiag_limit_bytes(void)
{
	return SIZE_MAX;
}

size_t
memdiag_allocated_bytes(void)
{
	return 0;
}

size_t
memdiag_allocated_blocks(void)
{
	return 0;
}

size_t
memdiag_thread_allocated_bytes(void)
{
	return 0;
}

size_t
memdiag_thread_freed_bytes(void)
{
	return 0;
}

size_t
memdiag_thread_allocated_blocks(void)
{
	return 0;
}

void
memdiag_reset_peak(void)
{
}

static int
absent_refuse(void)
{
	errno = ENOSYS;
	return -1;
}

int
memdiag_set_limit(size_t bytes)
{
	(void)bytes;
	return absent_refuse();
}

int
memdiag_record_start(enum memdiag_record_mode mode)
{
	(void)mode;
	return absent_refuse();
}

int
memdiag_record_stop(void)
{
	return absent_refuse();
}

int
memdiag_record_is_on(void)
{
	return 0;
}

int
memdiag_record_report(int fd)
{
	(void)fd;
	return absent_refuse();
}
