/* os-perf: what tests of events share: sources of them, and records as they come out. */
#ifndef MEMDIAG_TESTS_OS_PERF_H
#define MEMDIAG_TESTS_OS_PERF_H

#include <asm/perf_regs.h>
#include <sys/syscall.h>

#include "os-tracefs.h"
#include "os/perf.h"

#ifdef __x86_64__
#define SP_BIT PERF_REG_X86_SP
#define PC_BIT PERF_REG_X86_IP
#else
#define SP_BIT PERF_REG_ARM64_SP
#define PC_BIT PERF_REG_ARM64_PC
#endif
/* With these the registers of a record are SP and PC, in this order on both architectures. */
#define REGS_MASK (UINT64_C(1) << SP_BIT | UINT64_C(1) << PC_BIT)

static uint64_t id_mmap, id_munmap, id_exit_mmap, id_read;
static size_t at_len, at_ret;

static inline bool
find_tracepoints(struct err *e)
{
	auto_tracefs struct tracefs t = TRACEFS_NONE;
	size_t bytes;

	return tracefs_open(&t, true, e) == 0 &&
		tracefs_id(&t, "syscalls/sys_enter_mmap", &id_mmap, e) == 0 &&
		tracefs_id(&t, "syscalls/sys_enter_munmap", &id_munmap, e) == 0 &&
		tracefs_id(&t, "syscalls/sys_exit_mmap", &id_exit_mmap, e) == 0 &&
		tracefs_id(&t, "syscalls/sys_enter_read", &id_read, e) == 0 &&
		tracefs_field(&t, "syscalls/sys_enter_mmap", "len", &at_len, &bytes, e) == 0 &&
		tracefs_field(&t, "syscalls/sys_exit_mmap", "ret", &at_ret, &bytes, e) == 0;
}

static inline struct perf *
watch(const struct perf_source *source, size_t nr, size_t ring_bytes)
{
	const struct perf_options o = {
		.source = source,
		.nr_sources = nr,
		.regs_mask = REGS_MASK,
		.stack_bytes = 4096,
		.ring_bytes = ring_bytes,
	};
	struct perf *p = NULL;
	struct err e = { 0 };

	ok(perf_open(&p, &o, &e) == 0, "events are watched %s", e.msg);
	return p;
}

static inline uint64_t
raw_u64(const struct perf_record *r, size_t offset)
{
	uint64_t v = 0;

	if (r->raw && offset + sizeof v <= r->raw_bytes)
		memcpy(&v, (const char *)r->raw + offset, sizeof v);
	return v;
}

/* Whether this, and other tests that need rights over the machine, can be done here. */
static inline bool
can_watch(void)
{
	const struct perf_source source = { .kind = PERF_MINOR_FAULTS, .period = 1000000 };
	const struct perf_options o = { .source = &source, .nr_sources = 1, .ring_bytes = 4096 };
	struct perf *p = NULL;
	struct err e = { 0 };

	if (geteuid() != 0 || !mounts_unshare()) {
		skip("events", "this takes root");
		return false;
	}
	if (!find_tracepoints(&e) || perf_open(&p, &o, &e) < 0) {
		skip("events", e.msg);
		return false;
	}
	perf_free(p);
	return true;
}

#endif
