#include <config.h>

#include "recording/log-source.h"

#include <errno.h>
#include <unistd.h>

#include "os/memory.h"
#include "os/part.h"

/* Read without mapping the file: another process that has it may make it shorter. */
static int
log_source_read_file(
	const struct log_source *s, uint64_t offset, char *to, size_t size, struct err *e)
{
	while (size) {
		const ssize_t n = pread(s->fd, to, size, (off_t)(s->offset + offset));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, n ? errno : EIO, "cannot read the log of a record");
		to += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

int
log_source_read(const struct log_source *s, uint64_t offset, void *to, size_t size, struct err *e)
{
	return s->target ? os_read(s->target, raddr_add(s->at, offset), to, size, e)
			 : log_source_read_file(s, offset, to, size, e);
}

int
log_source_write(
	const struct log_source *s, uint64_t offset, const void *from, size_t size, struct err *e)
{
	const struct os_part part = { "a record", s->at, s->size_bytes };

	if (s->target)
		return os_part_write(s->target, &part, raddr_add(s->at, offset), from, size, e);
	if (pwrite(s->fd, from, size, (off_t)(s->offset + offset)) != (ssize_t)size)
		return err_set(e, errno, "cannot write to the log of a record");
	return 0;
}
