#include <config.h>

#include "recording/history-priv.h"

int
history_read(struct history *h, struct recording *r, const struct history_moments *moments,
	struct err *e)
{
	return (r->ops->parts ? history_read_parts(h, r, moments, e)
			      : history_read_one(h, r, moments, false, e)) < 0
		? -1
		: history_end(h, e);
}
