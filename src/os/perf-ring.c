/*
 * Records of events: found in the rings, sorted by time, and decoded
 * (include/uapi/linux/perf_event.h, enum perf_event_type).
 */
#include <config.h>

#include "os/perf-ring.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/debug.h"

/*
 * All events have PERF_RING_SAMPLE_TYPE and sample_id_all, so that
 *	samples		begin with struct sample_head; with counts_lost another number follows
 *	other records	end with pid and tid, time, identifier
 */
#define HEADER_BYTES sizeof(struct perf_event_header)
#define ID_BYTES ((uint64_t)24)
#define TIME_BEFORE_END ((uint64_t)16)

struct sample_head {
	struct perf_event_header h;
	uint64_t identifier; /* of the event for which pid, tid and time_ns were filled in */
	pid_t pid, tid;
	uint64_t time_ns;
	uint64_t address;
	uint64_t nr_events;
	uint64_t id; /* of the event */
};

/* ---- finding records ---- */

/* Copy BYTES at position AT, which may continue at the ring's start. */
static void
copy_out(const struct perf_ring *r, uint64_t at, void *to, uint64_t bytes)
{
	uint64_t offset = at & (r->data_bytes - 1);
	uint64_t first = r->data_bytes - offset;

	if (first > bytes)
		first = bytes;
	memcpy(to, r->data + offset, first);
	memcpy((char *)to + first, r->data, bytes - first);
}

/*
 * Let the kernel overwrite the bytes before AT, after all reads of them: the release (the
 * counterpart is the barrier in ring_buffer.c, perf_output_begin()).
 */
static void
free_until_at(struct perf_ring *r)
{
	__atomic_store_n(r->tail, r->at, __ATOMIC_RELEASE);
}

static bool
is_wanted_type(uint32_t type)
{
	return type == PERF_RECORD_SAMPLE || type == PERF_RECORD_LOST ||
		type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM || type == PERF_RECORD_FORK ||
		type == PERF_RECORD_EXIT;
}

/*
 * Drop all that was published so far: after an impossible size the next record cannot be found.
 * This counts as one loss, so that the caller knows that something is missing.
 */
static void
drop_damaged(struct perf_rings *all, struct perf_ring *r, const struct perf_event_header *h)
{
	debug("perf: a record of %u bytes and type %u, with %llu bytes there: dropped", h->size,
		h->type, (unsigned long long)(r->end - r->at));
	r->at = r->end;
	all->nr_damaged++;
}

/*
 * Return the time of the sample at AT.  If another program's event was served first, it may be that
 * of another clock.  It is then at least the time of the record before it, and the sample is held
 * back no longer than one with a time of our clock.
 */
static uint64_t
time_of_sample(const struct perf_rings *all, const struct perf_ring *r)
{
	struct sample_head head;
	uint64_t time_ns;

	copy_out(r, r->at, &head, sizeof head);
	time_ns = head.time_ns;
	if (head.identifier == head.id)
		return time_ns;
	if (r->at < r->old_end && time_ns >= all->limit_ns)
		time_ns = all->limit_ns - 1;
	return time_ns > r->given_ns ? time_ns : r->given_ns;
}

static uint64_t
time_of(const struct perf_rings *all, const struct perf_ring *r, const struct perf_event_header *h)
{
	uint64_t time_ns;

	if (h->type == PERF_RECORD_SAMPLE)
		return time_of_sample(all, r);
	copy_out(r, r->at + h->size - TIME_BEFORE_END, &time_ns, sizeof time_ns);
	return time_ns;
}

static size_t
least_bytes(uint32_t type)
{
	return type == PERF_RECORD_SAMPLE ? sizeof(struct sample_head) : HEADER_BYTES + ID_BYTES;
}

/* Find the next record of a wanted type, and its time. */
static void
find_record(struct perf_rings *all, struct perf_ring *r)
{
	while (!r->is_known && r->at != r->end) {
		const uint64_t there = r->end - r->at;
		struct perf_event_header h = { 0 };

		copy_out(r, r->at, &h, there < sizeof h ? there : sizeof h);
		if (h.size < sizeof h || h.size % 8 || h.size > there) {
			drop_damaged(all, r, &h);
		} else if (h.size < least_bytes(h.type) || !is_wanted_type(h.type)) {
			r->at += h.size;
		} else {
			r->time_ns = time_of(all, r, &h);
			r->is_known = true;
			return;
		}
		free_until_at(r);
	}
}

/* Return the ring with the oldest record, if that record may be given already. */
static struct perf_ring *
oldest(struct perf_rings *all)
{
	struct perf_ring *found = NULL;

	for (size_t i = 0; i < all->nr; i++) {
		struct perf_ring *r = &all->ring[i];

		find_record(all, r);
		if (r->is_known && r->time_ns < all->limit_ns &&
			(!found || r->time_ns < found->time_ns))
			found = r;
	}
	return found;
}

/* Return the record at AT, contiguous: only a record that wraps is copied. */
static const char *
contiguous(struct perf_rings *all, const struct perf_ring *r, size_t *ret_bytes)
{
	const uint64_t offset = r->at & (r->data_bytes - 1);
	struct perf_event_header h;

	copy_out(r, r->at, &h, sizeof h);
	*ret_bytes = h.size;
	if (r->data_bytes - offset >= h.size)
		return r->data + offset;
	copy_out(r, r->at, all->copy, h.size);
	return all->copy;
}

/* ---- decoding ---- */

/* The part of a record that is not decoded yet. */
struct perf_ring_rest {
	const char *at;
	size_t bytes;
};

/* Take BYTES of it; NULL if it is shorter. */
static const char *
perf_ring_take_bytes(struct perf_ring_rest *rest, uint64_t bytes)
{
	const char *taken = rest->at;

	if (bytes > rest->bytes)
		return NULL;
	rest->at += bytes;
	rest->bytes -= bytes;
	return taken;
}

static bool
take_u64(struct perf_ring_rest *rest, uint64_t *ret)
{
	const char *from = perf_ring_take_bytes(rest, sizeof *ret);

	if (from)
		memcpy(ret, from, sizeof *ret);
	return from;
}

/* Take two numbers of 32 bits, such as pid and tid. */
static bool
take_pair(struct perf_ring_rest *rest, pid_t *ret_a, pid_t *ret_b)
{
	const char *from = perf_ring_take_bytes(rest, sizeof *ret_a + sizeof *ret_b);

	if (from) {
		memcpy(ret_a, from, sizeof *ret_a);
		memcpy(ret_b, from + sizeof *ret_a, sizeof *ret_b);
	}
	return from;
}

/* Take u32 size, and that many bytes: with the size, a multiple of 8. */
static bool
take_raw(struct perf_ring_rest *rest, struct perf_record *rec)
{
	const char *from = perf_ring_take_bytes(rest, sizeof(uint32_t));
	uint32_t bytes;

	if (!from)
		return false;
	memcpy(&bytes, from, sizeof bytes);
	if ((bytes + sizeof bytes) % 8)
		return false;
	rec->raw_bytes = bytes;
	rec->raw = perf_ring_take_bytes(rest, bytes);
	return rec->raw;
}

/*
 * Take u64 abi, and the registers unless that is PERF_SAMPLE_REGS_ABI_NONE; u64 size, and unless it
 * is 0, that many bytes and u64 dyn_size, the number of them that the kernel could copy.
 */
static bool
take_stack(struct perf_ring_rest *rest, size_t nr_regs, struct perf_record *rec)
{
	uint64_t abi, bytes, copied;

	if (!take_u64(rest, &abi))
		return false;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		rec->regs = (const void *)perf_ring_take_bytes(rest, nr_regs * sizeof *rec->regs);
		if (!rec->regs)
			return false;
	}
	if (!take_u64(rest, &bytes))
		return false;
	if (!bytes)
		return true;
	rec->stack = perf_ring_take_bytes(rest, bytes);
	if (!rec->stack || !take_u64(rest, &copied))
		return false;
	rec->stack_bytes = copied < bytes ? copied : bytes;
	return true;
}

static bool
find_source(const struct perf_rings *all, const struct perf_ring *r, uint64_t id,
	struct perf_record *rec)
{
	const size_t nr = all->nr_sources * (all->has_replaced ? 2 : 1);

	for (size_t i = 0; i < nr; i++)
		if (r->id[i] == id) {
			rec->source = i % all->nr_sources;
			rec->generation = all->generation - (i >= all->nr_sources);
			return true;
		}
	return false;
}

static bool
decode_sample(const struct perf_rings *all, const struct perf_ring *r, struct perf_ring_rest rest,
	struct perf_record *rec)
{
	struct sample_head head;
	uint64_t type, nr_lost;

	memcpy(&head, perf_ring_take_bytes(&rest, sizeof head), sizeof head);
	/* A process outside of the other program's PID namespace has the number 0. */
	if (!find_source(all, r, head.id, rec) || (head.identifier != head.id && !head.tid))
		return false;
	rec->type = PERF_EVENT;
	rec->pid = head.pid;
	rec->tid = head.tid;
	rec->address.v = head.address;
	type = all->sample_type[rec->source];
	if (all->counts_lost && !take_u64(&rest, &nr_lost))
		return false;
	if (type & PERF_SAMPLE_RAW && !take_raw(&rest, rec))
		return false;
	return !(type & PERF_SAMPLE_STACK_USER) || take_stack(&rest, all->nr_regs, rec);
}

/* pid, tid, addr, len, pgoff, maj, min, ino, ino_generation, prot, flags, filename[] */
static bool
decode_mapped(struct perf_ring_rest rest, bool is_executable, struct perf_record *rec)
{
	uint64_t bytes, offset, inode, generation;
	pid_t major, minor; /* of the file's device */
	pid_t prot, flags;

	rec->type = PERF_MAPPED;
	if (!take_pair(&rest, &rec->pid, &rec->tid) || !take_u64(&rest, &rec->start.v) ||
		!take_u64(&rest, &bytes) || !take_u64(&rest, &offset) ||
		!take_pair(&rest, &major, &minor) || !take_u64(&rest, &inode))
		return false;
	rec->end = raddr_add(rec->start, bytes);
	rec->has_file = major || minor || inode;
	rec->is_executable = is_executable;
	if (!take_u64(&rest, &generation) || !take_pair(&rest, &prot, &flags) || !rest.bytes ||
		!memchr(rest.at, '\0', rest.bytes))
		return false;
	rec->name = rest.at;
	return true;
}

/* pid, ppid, tid, ptid, time */
static bool
decode_task(struct perf_ring_rest rest, enum perf_type type, struct perf_record *rec)
{
	pid_t parent_tid;

	rec->type = type;
	return take_pair(&rest, &rec->pid, &rec->parent) &&
		take_pair(&rest, &rec->tid, &parent_tid);
}

/* id, lost */
static bool
decode_lost(struct perf_rings *all, struct perf_ring_rest rest, struct perf_record *rec)
{
	uint64_t id;

	rec->type = PERF_LOST;
	if (!take_u64(&rest, &id) || !take_u64(&rest, &rec->nr_lost))
		return false;
	all->nr_lost += rec->nr_lost;
	return true;
}

/* Decode a record; false if a caller does not get it. */
static bool
perf_ring_decode(struct perf_rings *all, const struct perf_ring *r, const char *at, size_t bytes,
	struct perf_record *rec)
{
	struct perf_ring_rest rest = { at, bytes };
	struct perf_event_header h;

	memcpy(&h, at, sizeof h);
	if (h.type == PERF_RECORD_SAMPLE)
		return decode_sample(all, r, rest, rec);
	rest = (struct perf_ring_rest){ at + HEADER_BYTES, bytes - HEADER_BYTES - ID_BYTES };
	switch (h.type) {
	case PERF_RECORD_LOST:
		return decode_lost(all, rest, rec);
	case PERF_RECORD_MMAP2:
		return decode_mapped(rest, !(h.misc & PERF_RECORD_MISC_MMAP_DATA), rec);
	case PERF_RECORD_FORK:
		return decode_task(rest, PERF_FORKED, rec);
	case PERF_RECORD_EXIT:
		return decode_task(rest, PERF_ENDED, rec);
	default: /* PERF_RECORD_COMM: also when a thread gets another name */
		rec->type = PERF_EXECUTED;
		return h.misc & PERF_RECORD_MISC_COMM_EXEC &&
			take_pair(&rest, &rec->pid, &rec->tid);
	}
}

/* ---- public functions ---- */

void
perf_rings_update(struct perf_rings *all, uint64_t limit_ns)
{
	all->limit_ns = limit_ns == UINT64_MAX ? limit_ns : limit_ns - all->ahead_ns;
	/* The kernel wrote the records before it wrote the head: the acquire. */
	for (size_t i = 0; i < all->nr; i++) {
		struct perf_ring *r = &all->ring[i];

		r->is_known = false; /* its time may depend on the limit */
		r->old_end = r->end;
		r->end = __atomic_load_n(r->head, __ATOMIC_ACQUIRE);
		if (r->end - r->at > r->data_bytes) {
			debug("perf: more was written than there is room for: dropped");
			r->at = r->end;
			all->nr_damaged++;
		}
	}
}

static void
free_given(struct perf_rings *all)
{
	if (all->given)
		free_until_at(all->given);
	all->given = NULL;
}

bool
perf_rings_next(struct perf_rings *all, struct perf_record *ret)
{
	struct perf_ring *r;

	for (free_given(all); (r = oldest(all)); free_given(all)) {
		struct perf_record rec = { 0 };
		size_t bytes;
		const char *at = contiguous(all, r, &bytes);

		rec.time_ns = r->given_ns = r->time_ns;
		all->given = r;
		r->at += bytes;
		r->is_known = false;
		if (!perf_ring_decode(all, r, at, bytes, &rec))
			continue;
		all->nr_samples += rec.type == PERF_EVENT;
		rec.time_ns += all->ahead_ns;
		*ret = rec;
		return true;
	}
	return false;
}

bool
perf_rings_has_more(const struct perf_rings *all)
{
	for (size_t i = 0; i < all->nr; i++)
		if (all->ring[i].at != all->ring[i].end)
			return true;
	return false;
}
