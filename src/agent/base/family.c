/*
 * family: the table that the processes of one `memdiag run --follow-children` share.  Each process
 * has an entry in the table.  Its counters are in the same file, so that memdiag can read them
 * however the process ended.  The table also hands out the common limit: what a process is granted
 * (segment->taken_bytes) comes out of one pool.
 */
#include <config.h>

#include "agent/base/family.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "agent/base/compiler.h"
#include "agent/base/settings.h"
#include "agent/base/sys.h"
#include "wire/settings.h"
#include "wire/wire.h"

/* Number of entries to try for one that is free or whose process has ended. */
#define CLAIM_TRIES 64

/* memdiag finds the table by this symbol. */
EXPORT struct wire_family *memdiag_agent_family __asm__(WIRE_FAMILY_SYMBOL);
struct wire_family *memdiag_agent_family;

static struct wire_family *table;
static struct wire_process *own; /* NULL: no entry, takes nothing from the pool */

/* ---- processes ---- */

/* Write "/proc/PID/stat" to BUF. */
static void
stat_path(char buf[32], uint32_t pid)
{
	char digits[12];
	size_t n = 6, d = 0;

	memcpy(buf, "/proc/", 7);
	for (; d == 0 || pid; pid /= 10)
		digits[d++] = (char)('0' + pid % 10);
	while (d)
		buf[n++] = digits[--d];
	memcpy(buf + n, "/stat", 6);
}

/*
 * Get the start time of process PID in clock ticks since boot, which is field 22 of /proc/PID/stat;
 * 0 if the process has ended.  A zombie counts as ended, as it has no memory.  False if /proc is
 * not available.
 */
static bool
family_start_of(uint32_t pid, uint64_t *ret)
{
	char path[32], text[512];
	const char *at;
	long fd, n;

	*ret = 0;
	stat_path(path, pid);
	fd = sys_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (sys_failed(fd))
		return !sys_failed(sys_call(SYS_faccessat, AT_FDCWD, "/proc/self/stat", 0));
	n = sys_call(SYS_read, fd, text, sizeof text - 1);
	sys_call(SYS_close, fd);
	if (n <= 0)
		return true; /* the process ended just now */
	text[n] = '\0';
	at = strrchr(text, ')'); /* the name may contain any character */
	if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
		return at != NULL;
	for (int field = 2; field < 22 && at; field++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	for (; at && *at >= '0' && *at <= '9'; at++)
		*ret = *ret * 10 + (uint64_t)(*at - '0');
	return true;
}

/* The PID namespace that this process' number belongs to; 0 if it is unknown. */
static uint64_t
pid_namespace(void)
{
	struct statx st = { 0 };

	if (sys_failed(sys_call(SYS_statx, AT_FDCWD, "/proc/self/ns/pid", 0, STATX_INO, &st)))
		return 0;
	return st.stx_ino;
}

static bool
family_has_ended(const struct wire_process *p, uint64_t namespace)
{
	uint64_t start;

	return namespace && p->pid_namespace == namespace && p->start_ticks &&
		family_start_of(p->pid, &start) && start != p->start_ticks;
}

/* ---- the pool ---- */

static int64_t
family_at_least_0(int64_t n)
{
	return n > 0 ? n : 0;
}

static void
family_put_back(int64_t bytes)
{
	__atomic_sub_fetch(&table->taken_bytes, bytes, __ATOMIC_RELEASE);
}

static bool
family_take_out(int64_t bytes, int64_t limit)
{
	int64_t taken = __atomic_load_n(&table->taken_bytes, __ATOMIC_RELAXED), peak;

	do {
		if (bytes > limit || taken > limit - bytes)
			return false;
	} while (!__atomic_compare_exchange_n(&table->taken_bytes, &taken, taken + bytes, true,
		__ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	taken += bytes;
	peak = __atomic_load_n(&table->taken_peak_bytes, __ATOMIC_RELAXED);
	while (taken > peak &&
		!__atomic_compare_exchange_n(&table->taken_peak_bytes, &peak, taken, true,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return true;
}

/*
 * The process of P has ended.  The first process to notice this returns the share of P to the pool.
 */
static bool
end_process(struct wire_process *p)
{
	uint32_t used = WIRE_PROCESS_USED;

	if (!__atomic_compare_exchange_n(&p->state, &used, WIRE_PROCESS_ENDED, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	family_put_back(family_at_least_0(__atomic_load_n(&p->taken_bytes, __ATOMIC_ACQUIRE)));
	__atomic_sub_fetch(&table->nr_running, 1, __ATOMIC_RELAXED);
	return true;
}

static uint32_t
nr_used(void)
{
	const uint64_t nr = __atomic_load_n(&table->nr_claimed, __ATOMIC_ACQUIRE);

	return nr < table->max_processes ? (uint32_t)nr : table->max_processes;
}

/*
 * Return the shares of processes that have ended to the pool.  Each end is handled once, so the
 * time that this takes depends on the number of running processes.
 */
static void
reclaim(void)
{
	for (uint32_t i = 0; i < nr_used(); i++) {
		struct wire_process *p = &wire_processes(table)[i];

		if (p != own && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == WIRE_PROCESS_USED &&
			family_has_ended(p, own->pid_namespace))
			end_process(p);
	}
}

static bool
take_out_or_reclaim(int64_t bytes, int64_t limit)
{
	if (family_take_out(bytes, limit))
		return true;
	reclaim();
	return family_take_out(bytes, limit);
}

/*
 * A process that is killed between the two changes may leave more taken from the pool than its
 * entry shows, but never less, so the limit still holds.  Memory that a child inherits is counted
 * for the parent, and a child that frees it returns nothing to the pool.  An entry may therefore be
 * negative, and then counts as 0.
 */
bool
family_take(int64_t bytes, bool has_limit)
{
	int64_t was, need;

	if (!table || !own)
		return true;
	was = __atomic_load_n(&own->taken_bytes, __ATOMIC_RELAXED);
	do {
		const int64_t limit = has_limit ? table->limit_bytes : INT64_MAX;

		need = family_at_least_0(was + bytes) - family_at_least_0(was);
		if (need > 0 && !take_out_or_reclaim(need, limit))
			return false;
		if (__atomic_compare_exchange_n(&own->taken_bytes, &was, was + bytes, false,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			break;
		if (need > 0)
			family_put_back(need);
	} while (true);
	if (need < 0)
		family_put_back(-need);
	return true;
}

int64_t
family_share(void)
{
	const uint32_t nr = table ? __atomic_load_n(&table->nr_running, __ATOMIC_RELAXED) : 1;

	if (!table || !own || table->limit_bytes == INT64_MAX)
		return INT64_MAX;
	return (table->limit_bytes - __atomic_load_n(&table->taken_bytes, __ATOMIC_RELAXED)) /
		(nr ? nr : 1);
}

/* ---- joining ---- */

/* End the entry that this process had before an exec(). */
static void
family_end_earlier(uint32_t pid, uint64_t start, uint64_t namespace)
{
	for (uint32_t i = 0; i < nr_used(); i++) {
		struct wire_process *p = &wire_processes(table)[i];

		if (p->pid == pid && p->start_ticks == start && p->pid_namespace == namespace)
			end_process(p);
	}
}

/* Claim an entry for this process; NULL if all tries fail. */
static struct wire_process *
family_claim(void)
{
	const uint64_t namespace = pid_namespace();

	for (int i = 0; i < CLAIM_TRIES; i++) {
		uint64_t nr = __atomic_fetch_add(&table->nr_claimed, 1, __ATOMIC_ACQ_REL);
		struct wire_process *p = &wire_processes(table)[nr % table->max_processes];
		uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);

		if (state == WIRE_PROCESS_USED && family_has_ended(p, namespace) && end_process(p))
			state = WIRE_PROCESS_ENDED;
		if ((state == WIRE_PROCESS_FREE || state == WIRE_PROCESS_ENDED) &&
			__atomic_compare_exchange_n(&p->state, &state, WIRE_PROCESS_BUSY, false,
				__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			if (state == WIRE_PROCESS_ENDED)
				__atomic_add_fetch(&table->nr_lost, 1, __ATOMIC_RELAXED);
			return p;
		}
	}
	__atomic_add_fetch(&table->nr_lost, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void
fill_entry(struct wire_process *p)
{
	p->pid = (uint32_t)sys_call(SYS_getpid, 0);
	p->pid_namespace = pid_namespace();
	family_start_of(p->pid, &p->start_ticks);
	p->taken_bytes = 0;
	memset(p->name, 0, sizeof p->name);
	sys_call(SYS_prctl, PR_GET_NAME, p->name);
	family_end_earlier(p->pid, p->start_ticks, p->pid_namespace);
	__atomic_add_fetch(&table->nr_running, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&p->state, WIRE_PROCESS_USED, __ATOMIC_RELEASE);
}

static long
open_family(void)
{
	char path[128];
	uint64_t magic = 0;
	long fd;

	wire_path(path, sizeof path, settings.family);
	fd = sys_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (sys_failed(fd))
		return fd;
	if (sys_call(SYS_pread64, fd, &magic, sizeof magic, 0) == sizeof magic &&
		magic == WIRE_FAMILY_MAGIC)
		return fd;
	sys_call(SYS_close, fd);
	return -1;
}

long
family_join(uint64_t *ret_offset)
{
	long fd, mapped;

	own = NULL;
	fd = settings.family ? open_family() : -1;
	if (sys_failed(fd))
		return -1;
	if (!table) {
		mapped = sys_call(SYS_mmap, NULL, WIRE_FAMILY_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);
		table = sys_failed(mapped) ? NULL : (struct wire_family *)mapped;
		memdiag_agent_family = table;
	}
	own = table ? family_claim() : NULL;
	if (!own) {
		sys_call(SYS_close, fd);
		return -1;
	}
	fill_entry(own);
	if (table->limit_bytes < settings.limit_bytes)
		settings.limit_bytes = table->limit_bytes;
	*ret_offset = wire_slot_offset((uint32_t)(own - wire_processes(table)));
	return fd;
}
