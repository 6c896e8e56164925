/*
 * The processes of one `memdiag run`, from the file that they share.  They may write anything to
 * it, at any time.
 */
#include <config.h>

#include "agentctl/family.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "os/descriptors.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/status.h"
#include "os/target.h"

/*
 * Return how many processes fit into a file of the size limit, if the caller has a limit: exceeding
 * it raises a signal.
 */
static uint32_t
most_processes(void)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_FSIZE, &most) < 0 || most.rlim_cur == RLIM_INFINITY ||
		most.rlim_cur >= wire_slot_offset(WIRE_MAX_PROCESSES))
		return WIRE_MAX_PROCESSES;
	return most.rlim_cur < wire_slot_offset(1)
		? 0
		: (uint32_t)((most.rlim_cur - WIRE_FAMILY_BYTES) / WIRE_WHOLE_BYTES);
}

int
family_make(int *ret_fd, int64_t limit_bytes, struct err *e)
{
	auto_fd int fd = memfd_create("memdiag-family", MFD_CLOEXEC);
	struct wire_family head = { .magic = WIRE_FAMILY_MAGIC,
		.max_processes = most_processes(),
		.run_pid = (uint32_t)getpid(),
		.run_fd = (uint32_t)fd,
		.limit_bytes = limit_bytes };

	if (!head.max_processes)
		return err_set(e, EFBIG,
			"cannot make a file in memory for the processes: ulimit -f is too low");
	if (fd < 0 || ftruncate(fd, (off_t)wire_slot_offset(head.max_processes)) < 0 ||
		pwrite(fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
		return err_set(e, errno, "cannot make a file in memory for the processes");
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static bool
is_running(const struct wire_process *p)
{
	auto_target struct target t = TARGET_NONE;
	struct os_status s;
	struct err e;

	return p->state == WIRE_PROCESS_USED && target_open(&t, (pid_t)p->pid, &e) == 0 &&
		t.start_ticks == p->start_ticks && os_status(&t, t.pid, &s, &e) == 0 &&
		s.state != 'Z' && s.state != 'X';
}

/* Read the counters of process number I into COPY. */
static bool
read_segment(int fd, uint32_t i, struct wire_segment *copy)
{
	const off_t at = (off_t)wire_slot_offset(i);
	uint64_t size;

	if (pread(fd, copy, WIRE_HEADER_BYTES, at) != WIRE_HEADER_BYTES ||
		!wire_is_valid(copy, WIRE_WHOLE_BYTES))
		return false;
	size = WIRE_SEGMENT_BYTES(copy->nr_threads) - WIRE_HEADER_BYTES;
	return pread(fd, wire_threads(copy), size, at + WIRE_HEADER_BYTES) == (ssize_t)size;
}

/* Return the table in the file FD, which the caller frees; NULL if it is invalid. */
static struct wire_family *
family_read_table(int fd)
{
	auto_free struct wire_family *table = malloc(WIRE_FAMILY_BYTES);

	if (!table || pread(fd, table, WIRE_FAMILY_BYTES, 0) != WIRE_FAMILY_BYTES ||
		table->magic != WIRE_FAMILY_MAGIC || table->max_processes > WIRE_MAX_PROCESSES)
		return NULL;
	if (table->nr_claimed < table->max_processes)
		table->max_processes = (uint32_t)table->nr_claimed;
	return take_ptr(&table);
}

static bool
family_is_filled(const struct wire_process *p)
{
	return p->state == WIRE_PROCESS_USED || p->state == WIRE_PROCESS_ENDED;
}

bool
family_segment(int fd, pid_t pid, struct wire_segment *copy)
{
	auto_free struct wire_family *table = family_read_table(fd);
	auto_free struct wire_segment *found = malloc(WIRE_WHOLE_BYTES);
	uint64_t newest_ns = 0;

	for (uint32_t i = 0; table && found && i < table->max_processes; i++) {
		const struct wire_process *p = &wire_processes(table)[i];

		if (!family_is_filled(p) || (pid_t)p->pid != pid || !read_segment(fd, i, found) ||
			found->started_ns < newest_ns)
			continue;
		newest_ns = found->started_ns;
		memcpy(copy, found, WIRE_SEGMENT_BYTES(found->nr_threads));
	}
	return newest_ns;
}

static int
add_member(
	struct family *f, const struct wire_process *p, const struct wire_segment *s, struct err *e)
{
	struct family_member *m = array_add(f);

	if (!m)
		return err_set(e, ENOMEM, "cannot list the processes");
	*m = (struct family_member){ .pid = (pid_t)p->pid,
		.is_running = is_running(p),
		.started_ns = s->started_ns,
		.nr_refused = s->nr_refused };
	memcpy(m->name, p->name, sizeof p->name);
	wire_add_up(s, s->nr_threads, &m->sum);
	f->nr_running += m->is_running;
	f->nr_refused += s->nr_refused;
	if (m->is_running)
		f->live_bytes += m->sum.live_bytes;
	return 0;
}

static int
by_peak(const void *a, const void *b)
{
	const struct family_member *x = a, *y = b;

	return x->sum.peak_bytes != y->sum.peak_bytes
		? (x->sum.peak_bytes < y->sum.peak_bytes) - (x->sum.peak_bytes > y->sum.peak_bytes)
		: (x->started_ns > y->started_ns) - (x->started_ns < y->started_ns);
}

int
family_read(struct family *f, int fd, struct err *e)
{
	auto_free struct wire_family *table = family_read_table(fd);
	auto_free struct wire_segment *segment = malloc(WIRE_WHOLE_BYTES);

	*f = (struct family){ .limit_bytes = INT64_MAX };
	if (!table || !segment)
		return err_set(e, 0, "the table of processes is damaged, or of another memdiag");
	f->limit_bytes = table->limit_bytes;
	f->peak_bytes = table->taken_peak_bytes > 0 ? (uint64_t)table->taken_peak_bytes : 0;
	f->nr_lost = table->nr_lost;
	for (uint32_t i = 0; i < table->max_processes; i++) {
		const struct wire_process *p = &wire_processes(table)[i];

		if (family_is_filled(p) && read_segment(fd, i, segment) &&
			add_member(f, p, segment, e) < 0)
			return -1;
	}
	if (f->nr)
		qsort(f->v, f->nr, sizeof *f->v, by_peak);
	return 0;
}

void
family_release(struct family *f)
{
	free(f->v);
	*f = (struct family){ 0 };
}

/* ---- the family of a process ---- */

static raddr
find_table(const struct objects *o, const struct target *t)
{
	raddr at = { 0 };

	for (size_t i = 0; i < o->nr; i++) {
		struct image_symbol symbol;
		struct err e;

		if (image_find(o->v[i].image, WIRE_FAMILY_SYMBOL, &symbol) == 0 &&
			os_read(t, symbol.addr, &at, sizeof at, &e) == 0)
			break;
	}
	return at;
}

int
family_find(struct family *f, const struct target *t, const struct objects *o, struct err *e)
{
	const raddr at = find_table(o, t);
	struct wire_family head, found;
	auto_fd int fd = -1;
	auto_target struct target run = TARGET_NONE;

	*f = (struct family){ .limit_bytes = INT64_MAX };
	if (!at.v)
		return 0;
	if (os_read(t, at, &head, sizeof head, e) < 0)
		return -1;
	/* Both numbers come from the target, and may be wrong. */
	if (target_open(&run, (pid_t)head.run_pid, e) < 0 ||
		(fd = os_copy_memory_file(&run, (int)head.run_fd, e)) < 0)
		return err_context(e, "cannot read the table of processes that memdiag run has");
	/* Another process may have the number by now. */
	if (pread(fd, &found, sizeof found, 0) != (ssize_t)sizeof found ||
		found.magic != WIRE_FAMILY_MAGIC || found.run_pid != head.run_pid ||
		found.run_fd != head.run_fd)
		return 0;
	return family_read(f, fd, e);
}
