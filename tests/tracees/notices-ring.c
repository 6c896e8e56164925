#include "notices.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Linux 5.11; older headers lack these. */
#define FEATURE_EXT_ARG (1u << 8)
#define ENTER_EXT_ARG (1u << 3)
#define NR_ENTRIES 4
#define REMOVAL UINT64_MAX /* the number that its event has in place of a wait's */

static void
ring_enter(const struct ring *r, unsigned int nr_wanted)
{
	syscall(SYS_io_uring_enter, r->fd, 0L, nr_wanted, IORING_ENTER_GETEVENTS, NULL, 0L);
}

/* Set up R; false if the kernel has no io_uring with timeouts. */
bool
ring_open(struct ring *r)
{
	struct io_uring_params p = { 0 };
	unsigned char *rings;
	size_t bytes;

	r->fd = (int)syscall(SYS_io_uring_setup, NR_ENTRIES, &p);
	if (r->fd < 0)
		return false;
	if (!(p.features & FEATURE_EXT_ARG) || !(p.features & IORING_FEAT_SINGLE_MMAP)) {
		close(r->fd);
		return false;
	}
	bytes = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	if (bytes < p.sq_off.array + p.sq_entries * sizeof(uint32_t))
		bytes = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
	rings = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	r->sqes = mmap(NULL, p.sq_entries * sizeof *r->sqes, PROT_READ | PROT_WRITE, MAP_SHARED,
		r->fd, IORING_OFF_SQES);
	if (rings == MAP_FAILED || r->sqes == MAP_FAILED)
		tracee_fail("io_uring");
	r->sq_tail = (uint32_t *)(void *)(rings + p.sq_off.tail);
	r->sq_mask = (uint32_t *)(void *)(rings + p.sq_off.ring_mask);
	r->sq_array = (uint32_t *)(void *)(rings + p.sq_off.array);
	r->cq_head = (uint32_t *)(void *)(rings + p.cq_off.head);
	r->cq_tail = (uint32_t *)(void *)(rings + p.cq_off.tail);
	r->cq_mask = (uint32_t *)(void *)(rings + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(void *)(rings + p.cq_off.cqes);
	return true;
}

static void
submit(struct ring *r, const struct io_uring_sqe *what)
{
	uint32_t tail = *r->sq_tail, at = tail & *r->sq_mask;

	r->sqes[at] = *what;
	r->sq_array[at] = at;
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	while (syscall(SYS_io_uring_enter, r->fd, 1L, 0L, 0L, NULL, 0L) != 1)
		if (errno != EINTR)
			tracee_fail("io_uring_enter");
}

static bool
take(struct ring *r, struct io_uring_cqe *ret_event)
{
	uint32_t head = *r->cq_head;

	if (head == __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE))
		return false;
	*ret_event = r->cqes[head & *r->cq_mask];
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return true;
}

/* Begin the poll before the wait, so that the wait's system call submits nothing. */
void
prepare_ring(struct waiter *w)
{
	struct slot *s = w->slot;

	submit(&w->ring,
		&(struct io_uring_sqe){ .opcode = IORING_OP_POLL_ADD,
			.fd = w->channel[w->at][0],
			.poll_events = POLLIN,
			.user_data = w->nr });
	s->ring[0] = 0;
	s->ring[1] = 8;
	s->ring[2] = w->timeout_ns == NO_TIMEOUT ? 0 : (uint64_t)(uintptr_t)slot_time(w);
	set_call(w, SYS_io_uring_enter, 6,
		(uint64_t[]){ (uint64_t)w->ring.fd, 0, 1, IORING_ENTER_GETEVENTS | ENTER_EXT_ARG,
			(uint64_t)(uintptr_t)s->ring, sizeof s->ring });
}

/* Take all events, and note those of the poll and of its removal. */
static void
take_all(struct waiter *w, bool *is_polled, bool *is_removed)
{
	struct io_uring_cqe event;

	while (take(&w->ring, &event)) {
		if (event.user_data == w->nr)
			*is_polled = true;
		else if (event.user_data == REMOVAL)
			*is_removed = true;
		else
			fault(w, FAULT_RESULT, "an event of wait %lu", (uint64_t)event.user_data);
		if (event.user_data == w->nr && event.res != -ECANCELED && event.res != POLLIN)
			fault(w, FAULT_RESULT, "an event with result %d", event.res);
	}
}

/* Count the events; finish_ring() takes them. */
void
judge_ring(struct waiter *w, long result, enum outcome how)
{
	uint32_t nr = __atomic_load_n(w->ring.cq_tail, __ATOMIC_ACQUIRE) - *w->ring.cq_head;

	if (how != EVENT_CAME)
		return;
	if (result != 0 || nr != 1)
		fault(w, FAULT_RESULT, "result %ld with %u events", result, nr);
	else
		channel_is_true(w, w->at, "polled");
}

void
finish_ring(struct waiter *w)
{
	bool is_polled = false, is_removed = false;

	take_all(w, &is_polled, &is_removed);
	if (is_polled)
		return;
	submit(&w->ring,
		&(struct io_uring_sqe){ .opcode = IORING_OP_POLL_REMOVE,
			.fd = -1,
			.addr = w->nr,
			.user_data = REMOVAL });
	while (take_all(w, &is_polled, &is_removed), !is_polled || !is_removed)
		ring_enter(&w->ring, 1);
}

bool
ring_is_here(void)
{
	return has_ring;
}
