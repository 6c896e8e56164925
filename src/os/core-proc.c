/* The facts that /proc shows for a process, taken from a core file. */
#include <config.h>

#include "os/core-proc.h"

#include "os/core-proc-priv.h"
#include "os/core-segments.h"
#include "os/os-priv.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/status.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's half of the addresses on x86-64, with vsyscall, begins here. */
#define USER_END (UINT64_C(1) << 63)
/*
 * Maximum distance from the end of a program's bss to brk (arch_randomize_brk(): 32 MiB on x86
 * before 6.9).
 */
#define BRK_REACH_BYTES (UINT64_C(1) << 30)

int
core_refuse(const struct target *t, const char *what, struct err *e)
{
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"cannot %s: %s is a core file, and that takes a living process", what,
		t->core->path);
}

uint64_t
core_auxv(const struct core *c, uint64_t type)
{
	size_t w = c->word_bytes;

	for (size_t at = 0; at + 2 * w <= c->auxv_bytes; at += 2 * w) {
		uint64_t here = 0, value = 0;

		memcpy(&here, c->auxv + at, w);
		memcpy(&value, c->auxv + at + w, w);
		if (here == type)
			return value;
	}
	return 0;
}

static const struct core_thread *
core_proc_thread(const struct core *c, pid_t tid)
{
	size_t low = 0, high = c->thread.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->thread.v[mid].tid < tid)
			low = mid + 1;
		else
			high = mid;
	}
	return low < c->thread.nr && c->thread.v[low].tid == tid ? &c->thread.v[low] : NULL;
}

static const struct core_mapping *
core_proc_program_mapping(const struct core *c)
{
	return core_mapping_at(c, (raddr){ core_auxv(c, AT_PHDR) });
}

/* ---- maps ---- */

/* The names that the kernel would show, derived from the order of the mappings. */
struct names {
	raddr stack, vdso, heap; /* in their segments; 0: not found */
};

/* Return an address that the kernel puts on the stack of a starting program (fs/binfmt_elf.c). */
static raddr
address_on_stack(const struct core *c)
{
	uint64_t random = core_auxv(c, AT_RANDOM);

	return (raddr){ random ? random : core_auxv(c, AT_EXECFN) };
}

/*
 * Return the first anonymous memory after the program that does not adjoin it: memory that does is
 * its bss.  If a program runs without randomisation, brk begins at the end of bss, and the two
 * cannot be distinguished.
 */
static raddr
find_heap(const struct core *c)
{
	const struct core_mapping *program = core_proc_program_mapping(c);
	const struct core_segment *s;
	raddr touched = { 0 };

	if (!program)
		return (raddr){ 0 };
	for (const struct core_mapping *m = program;
		m < c->mapping.v + c->mapping.nr && m->file == program->file; m++)
		touched = m->end;
	s = core_segment_from(c, touched);
	if (s && s->start.v <= touched.v) { /* the bss */
		touched = s->end;
		s = core_segment_from(c, touched);
	}
	if (!s || s->start.v == touched.v || s->start.v - touched.v > BRK_REACH_BYTES ||
		!(s->flags & PF_W) || core_mapping_at(c, s->start))
		return (raddr){ 0 };
	return s->start;
}

static const char *
core_proc_name_of(const struct names *n, const struct core_segment *s)
{
	if (raddr_in(n->stack, s->start, s->end))
		return "[stack]";
	if (raddr_in(n->vdso, s->start, s->end))
		return "[vdso]";
	if (raddr_in(n->heap, s->start, s->end))
		return "[heap]";
	return s->start.v >= USER_END ? "[vsyscall]" : "";
}

/* Print PATH as the kernel does (seq_file_path()): a newline would begin another line. */
static void
print_path(FILE *f, const char *path)
{
	for (; *path; path++)
		if (*path == '\n')
			fputs("\\012", f);
		else
			putc(*path, f);
}

static void
core_proc_print_line(
	FILE *f, const struct core *c, const struct names *n, const struct core_segment *s)
{
	const struct core_mapping *m = core_mapping_at(c, s->start);

	fprintf(f, "%08" PRIx64 "-%08" PRIx64 " %c%c%cp ", s->start.v, s->end.v,
		s->flags & PF_R ? 'r' : '-', s->flags & PF_W ? 'w' : '-',
		s->flags & PF_X ? 'x' : '-');
	if (m) {
		fprintf(f, "%08" PRIx64 " 00:00 %zu ", m->offset_bytes + (s->start.v - m->start.v),
			m->file + 1);
		print_path(f, m->path);
		putc('\n', f);
	} else {
		fprintf(f, "00000000 00:00 0 %s\n", core_proc_name_of(n, s));
	}
}

static int
write_maps(const struct core *c, struct text *out, struct err *e)
{
	struct names n = {
		.stack = address_on_stack(c),
		.vdso = { core_auxv(c, AT_SYSINFO_EHDR) },
		.heap = find_heap(c),
	};
	FILE *f = open_memstream(&out->v, &out->len);
	bool failed;

	if (!f)
		return err_set(e, ENOMEM, "cannot list the mappings in %s", c->path);
	for (size_t i = 0; i < c->segment.nr; i++)
		core_proc_print_line(f, c, &n, &c->segment.v[i]);
	failed = ferror(f);
	if (fclose(f) || failed) {
		text_release(out);
		return err_set(e, ENOMEM, "cannot list the mappings in %s", c->path);
	}
	return 0;
}

int
core_proc_read(const struct target *t, pid_t tid, const char *name, struct text *out, struct err *e)
{
	const struct core *c = t->core;
	char what[64];

	*out = (struct text){ 0 };
	if (!tid && strcmp(name, "maps") == 0)
		return write_maps(c, out, e);
	if (!tid && strcmp(name, "auxv") == 0 && c->auxv_bytes) {
		out->v = malloc(c->auxv_bytes + 1);
		if (!out->v)
			return err_set(
				e, ENOMEM, "cannot read the auxiliary vector in %s", c->path);
		memcpy(out->v, c->auxv, c->auxv_bytes);
		out->v[c->auxv_bytes] = '\0';
		out->len = c->auxv_bytes;
		return 0;
	}
	snprintf(what, sizeof what, "read its %s", name);
	return core_refuse(t, what, e);
}

int
core_proc_link(const struct target *t, const char *name, char *buf, size_t size, struct err *e)
{
	const struct core_mapping *m = core_proc_program_mapping(t->core);

	if (!m || strcmp(name, "exe") != 0)
		return core_refuse(t, "follow links of its /proc", e);
	snprintf(buf, size, "%s", m->path);
	return 0;
}

void
core_status(const struct target *t, struct os_status *ret)
{
	const struct core *c = t->core;

	*ret = (struct os_status){
		.state = 'T', /* a core file does not run */
		.tgid = t->pid,
		.ppid = c->ppid,
		.uid = c->uid,
		.nr_threads = (int)c->thread.nr,
		.has_memory = true,
		.nr_pid_namespaces = 1,
	};
	for (size_t i = 0; i < c->segment.nr; i++) {
		const struct core_segment *s = &c->segment.v[i];

		if (s->start.v < USER_END)
			ret->vm_size_bytes += s->end.v - s->start.v;
	}
}

void
core_stat(const struct core *c, struct os_stat *ret)
{
	*ret = (struct os_stat){ .start_stack = address_on_stack(c), .start_brk = find_heap(c) };
}

/* ---- threads ---- */

int
core_threads(const struct core *c, size_t max, pid_t **ret_tids, size_t *ret_nr, struct err *e)
{
	const size_t nr = c->thread.nr < max ? c->thread.nr : max;
	pid_t *tids = calloc(nr, sizeof *tids);

	if (!tids)
		return err_set(e, ENOMEM, "cannot list the threads in %s", c->path);
	for (size_t i = 0; i < nr; i++)
		tids[i] = c->thread.v[i].tid;
	*ret_tids = tids;
	*ret_nr = nr;
	return 0;
}

/* gcore lists it with the threads, without registers (arch/x86/kernel/process.c, copy_thread()). */
bool
core_is_kernel_worker(const struct core *c, pid_t tid)
{
	const struct core_thread *thread = core_proc_thread(c, tid);

	return thread && !thread->sp.v && !thread->pc.v;
}

int
core_thread_syscall(const struct core *c, pid_t tid, struct os_syscall *ret, struct err *e)
{
	const struct core_thread *thread = core_proc_thread(c, tid);

	if (!thread)
		return err_set(e, 0, "%s has no thread %d in it", c->path, tid);
	*ret = (struct os_syscall){ .nr = -1, .sp = thread->sp, .pc = thread->pc };
	return 0;
}

int
os_thread_pointer(const struct target *t, pid_t tid, raddr *ret)
{
	const struct core_thread *thread = t->core ? core_proc_thread(t->core, tid) : NULL;

	if (!thread || !thread->pointer.v)
		return -1;
	*ret = thread->pointer;
	return 0;
}
