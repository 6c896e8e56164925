#include <config.h>

#include "agent/note/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "agent/base/real.h"
#include "agent/base/say.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"
#include "agent/base/sys.h"
#include "agent/note/heap-file.h"
#include "agent/note/heap-name.h"
#include "agent/note/large.h"
#include "agent/note/mapped.h"
#include "agent/note/notes.h"
#include "agent/note/sites.h"
#include "unwind/objects.h"
#include "wire/settings.h"
#include "wire/wire.h"

#define DEFAULT_RATE_BYTES (UINT64_C(512) << 10)

/* Used if memdiag has not prepared a file. */
static const struct wire_sites_size own_size = { UINT32_C(1) << 20, UINT32_C(1) << 18, 0 };

/* ---- the place for the sites ---- */

/*
 * Report that memdiag's file cannot be opened, as by a process with other rights. memdiag reports
 * this for the program itself.  A child reports it, but its own forked children do not.  If the
 * file does not exist, memdiag has ended or is not in this /proc: a child that outlives memdiag
 * need not report that.
 */
static void
say_closed(long failed)
{
	static bool was_said;

	if (failed == -ENOENT || was_said || segment->pid == settings.pid)
		return;
	was_said = true;
	SAY("memdiag: %u is not profiled: it cannot open the file for samples (errno %u)",
		(uint64_t)segment->pid, (uint64_t)-failed);
}

static uint32_t
log_blocks(void)
{
	return settings.log_blocks < WIRE_LOG_MAX_BLOCKS ? (uint32_t)settings.log_blocks
							 : WIRE_LOG_MAX_BLOCKS;
}

/* Take a slot in the file of the run.  Negative if no slot is free. */
static long
take_slot(struct notes_start *s)
{
	struct wire_profiles head, *shared;
	char path[128];
	uint32_t slot;
	long fd, at;

	wire_path(path, sizeof path, settings.sites);
	fd = sys_call(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (sys_failed(fd)) {
		say_closed(fd);
		return fd;
	}
	at = sys_call(SYS_pread64, fd, &head, sizeof head, 0);
	if (at == (long)sizeof head && head.magic == WIRE_PROFILES_MAGIC)
		at = sys_call(SYS_mmap, NULL, WIRE_PROFILES_HEADER_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED, fd, 0);
	else
		at = -1;
	if (!sys_failed(at)) {
		shared = (struct wire_profiles *)at;
		slot = __atomic_fetch_add(&shared->nr_taken, 1, __ATOMIC_ACQ_REL);
		sys_call(SYS_munmap, at, WIRE_PROFILES_HEADER_BYTES);
		s->offset_bytes = wire_profile_offset(&head, slot);
		s->size = head.size;
		if (settings.log_blocks && log_blocks() < s->size.nr_log_blocks)
			s->size.nr_log_blocks = log_blocks();
		if (slot < head.max_slots)
			return fd;
	}
	sys_call(SYS_close, fd);
	return -1;
}

static struct notes_start
profile_start_of(void)
{
	return (struct notes_start){
		.fd = -1,
		.size = { own_size.max_nodes, own_size.max_sites, log_blocks() },
		.opens_log = settings.log_blocks,
		.max_bytes = settings.max_bytes,
		.live_set = (enum wire_live_set)settings.live_set,
		.period_bytes = settings.records ? 0
			: settings.rate_bytes	 ? settings.rate_bytes
						 : DEFAULT_RATE_BYTES,
		.triggers = {
			.interval_bytes = settings.dump_interval_bytes,
			.above_bytes = settings.above_bytes,
			.threshold_bytes = settings.threshold_bytes,
			.high_water = settings.high_water,
		},
	};
}

/* Find the place for the sites.  False if no place exists. */
static bool
profile_find_place(struct notes_start *s)
{
	long fd;

	if (!settings.sites)
		return true;
	fd = take_slot(s);
	if (sys_failed(fd))
		return false; /* memdiag reports that too many programs ran */
	s->fd = (int)fd;
	return true;
}

static bool
profile_conclude(const struct notes_start *s, bool has_begun)
{
	if (s->fd >= 0)
		sys_call(SYS_close, s->fd);
	if (!has_begun && wire_capture_of(s->period_bytes) == WIRE_RECORD && !real_has_headers)
		SAY("memdiag: %u is not recorded: its malloc is not glibc's; "
		    "--profile takes samples of it",
			(uint64_t)segment->pid);
	else if (!has_begun)
		SAY("memdiag: %u is not profiled: there is no memory to note samples in",
			(uint64_t)segment->pid);
	return has_begun;
}

bool
profile_begin(void)
{
	struct notes_start start = profile_start_of();

	mapped_begin();
	heap_name_set_prefix(settings.prefix);
	return profile_find_place(&start) && profile_conclude(&start, notes_begin(&start));
}

bool
profile_begin_child(struct wire_sites *parents)
{
	struct notes_start start = profile_start_of();

	mapped_begin();
	heap_file_begin_child();
	large_begin_child();
	unwind_begin_child();
	return profile_find_place(&start) &&
		profile_conclude(&start, notes_begin_child(&start, parents));
}

bool
profile_begin_record(void)
{
	const struct notes_start start = {
		.fd = -1,
		.size = own_size,
		.max_bytes = settings.max_bytes,
	};

	return notes_begin(&start);
}

/*
 * If memdiag writes the files it only needs the text of the mapped files.  That is usually written
 * already; then no system call is made, which a filter might not allow.  Returns true if a file
 * must be removed in case the program continues.
 */
static bool
agent_profile_leave(bool may_go_on)
{
	if (!settings.profiles || !sites || (settings.sites && !mapped_is_due()) ||
		sites->pid != (uint32_t)sys_call(SYS_getpid, 0))
		return false;
	mapped_note();
	if (settings.sites)
		return false;
	profile_look();
	return heap_file_write_last(may_go_on);
}

void
profile_leave(void)
{
	agent_profile_leave(false);
}

/* Not for the child of a vfork(), which uses its parent's sites. */
struct profile_left
profile_leave_by_exec(void)
{
	struct profile_left left = { NULL, agent_profile_leave(true) };

	if (!settings.profiles || !sites_hold())
		return left;
	if (sites->pid == (uint32_t)sys_call(SYS_getpid, 0)) {
		left.sites = sites;
		__atomic_fetch_add(&left.sites->nr_leaving, 1, __ATOMIC_RELAXED);
	}
	sites_let_go();
	return left;
}

/* Meanwhile memdiag may have started another profile with other sites. */
void
profile_stay(struct profile_left left)
{
	if (left.has_file)
		heap_file_go_on();
	if (!left.sites || !sites_hold())
		return;
	if (sites == left.sites)
		__atomic_fetch_sub(&left.sites->nr_leaving, 1, __ATOMIC_RELAXED);
	sites_let_go();
}

/* ---- while the program runs ---- */

/* memdiag's letters for enum wire_trigger. */
static const char letters[WIRE_NR_TRIGGERS] = { 'i', 'u', 'a' };

bool
profile_is_to_look(void)
{
	return settings.profiles && !settings.sites &&
		(settings.dump_interval_bytes || settings.high_water || settings.above_bytes ||
			settings.threshold_bytes);
}

void
profile_look(void)
{
	uint32_t asked;

	if (!profile_is_to_look() || !sites_hold())
		return;
	asked = __atomic_exchange_n(&sites->triggers.asked, 0, __ATOMIC_ACQUIRE);
	large_print();
	sites_let_go();
	for (unsigned int what = 0; what < WIRE_NR_TRIGGERS; what++)
		if (asked & UINT32_C(1) << what)
			heap_file_write(letters[what]);
}
