#include <config.h>

#include "agentctl/record-log.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "wire/log.h"
#include "wire/sites.h"

/* ---- memory of the process, or a file ---- */

static int
read_part(const struct record_log_place *p, uint64_t offset, void *to, size_t size, struct err *e)
{
	ssize_t n;

	if (p->target)
		return os_read(p->target, raddr_add(p->at, offset), to, size, e);
	do
		n = pread(p->fd, to, size, (off_t)(p->offset_bytes + offset));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : err_set(e, n < 0 ? errno : EIO, "cannot read a log");
}

static int
write_part(const struct record_log_place *p, uint64_t offset, const void *from, size_t size,
	struct err *e)
{
	ssize_t n;

	if (p->target)
		return os_write(p->target, raddr_add(p->at, offset), from, size, e);
	do
		n = pwrite(p->fd, from, size, (off_t)(p->offset_bytes + offset));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : err_set(e, n < 0 ? errno : EIO, "cannot write a log");
}

/* ---- its state ---- */

static int
refuse_log(struct err *e)
{
	return err_set_kind(e, ERR_UNSUPPORTED, 0, "the log is of another memdiag, or damaged");
}

/* Count the blocks in use among the NR_TOUCHED that were ever used. */
static int
count_used(struct record_log *l, uint32_t nr_touched, struct err *e)
{
	for (uint32_t i = 0; i < nr_touched; i++) {
		const uint64_t at =
			l->log_at + WIRE_LOG_HEADER_BYTES + (uint64_t)i * WIRE_LOG_BLOCK_BYTES;
		uint32_t owner;

		if (read_part(&l->place, at + offsetof(struct wire_log_block, owner), &owner,
			    sizeof owner, e) < 0)
			return -1;
		l->nr_used += owner != 0;
	}
	return 0;
}

int
record_log_read(struct record_log *ret, const struct record_log_place *place, struct err *e)
{
	struct record_log l = { .place = *place };
	struct wire_sites head;
	struct wire_log log;

	if (read_part(place, 0, &head, sizeof head, e) < 0)
		return -1;
	if (!wire_sites_is_valid(&head, UINT64_MAX))
		return refuse_log(e);
	*ret = l;
	if (!head.log_at)
		return 0;
	if (read_part(place, head.log_at, &log, sizeof log, e) < 0)
		return -1;
	l.nr_blocks = (uint32_t)((head.size_bytes - head.log_at) / WIRE_LOG_BLOCK_BYTES);
	if (log.magic != WIRE_LOG_MAGIC || log.nr_blocks != l.nr_blocks ||
		log.nr_touched > l.nr_blocks)
		return refuse_log(e);
	l.log_at = head.log_at;
	l.is_open = log.is_open;
	l.nr_openings = log.nr_openings;
	l.opened_ns = log.opened_ns;
	l.nr_dropped = log.nr_dropped;
	l.dropped_bytes = log.dropped_bytes;
	if (count_used(&l, log.nr_touched, e) < 0)
		return -1;
	*ret = l;
	return 0;
}

/* ---- opened and closed ---- */

#define WRITE(l, member, value, e)                                                                 \
	write_part(&(l)->place, (l)->log_at + offsetof(struct wire_log, member), &(value),         \
		sizeof(value), e)

/* IS_OPEN last: from then on threads append. */
static int
open_log(struct record_log *l, struct err *e)
{
	const uint64_t now = os_coarse_ns();
	/* 0 means that it is closed. */
	const uint32_t opening = l->nr_openings + 1 ? l->nr_openings + 1 : 1;

	if (WRITE(l, opened_ns, now, e) < 0 || WRITE(l, nr_openings, opening, e) < 0 ||
		WRITE(l, is_open, opening, e) < 0)
		return -1;
	l->opened_ns = now;
	l->nr_openings = opening;
	return 0;
}

int
record_log_set_open(struct record_log *l, bool is_open, struct err *e)
{
	const uint32_t closed = 0;

	if (!l->log_at)
		return err_set_kind(
			e, ERR_UNSUPPORTED, 0, "the record was begun without room for a log");
	if (l->is_open == is_open)
		return 0;
	if ((is_open ? open_log(l, e) : WRITE(l, is_open, closed, e)) < 0)
		return -1;
	l->is_open = is_open;
	return 0;
}
