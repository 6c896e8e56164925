#include <config.h>

#include "recording/log-writer-stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/log-format.h"

/* A path of nodes is no longer, unless it is a loop: the process may have written anything. */
#define MAX_PATH (WIRE_MAX_PATH + 8)
#define BITS 64

int
log_buffer_reserve(struct log_buffer *b, size_t len, struct err *e)
{
	size_t room = b->room ? b->room : 4096;
	uint8_t *bigger;

	if (b->room - b->nr >= len)
		return 0;
	while (room - b->nr < len)
		room *= 2;
	bigger = realloc(b->v, room);
	if (!bigger)
		return err_set(e, ENOMEM, "cannot write the log");
	b->v = bigger;
	b->room = room;
	return 0;
}

void
log_stacks_restart(struct log_stacks *s)
{
	if (s->node)
		memset(s->node, 0, s->nr_nodes / 8);
	s->last_address = 0;
	s->has_new = false;
	free(take_ptr(&s->maps));
	s->maps_bytes = 0;
}

/* Make room for a bit for NODE. */
static int
reserve_nodes(struct log_stacks *s, uint32_t node, struct err *e)
{
	uint32_t nr = s->nr_nodes ? s->nr_nodes : 4096;
	uint64_t *bigger;

	if (node < s->nr_nodes)
		return 0;
	while (nr <= node)
		nr *= 2;
	bigger = realloc(s->node, nr / 8);
	if (!bigger)
		return err_set(e, ENOMEM, "cannot write the log");
	memset((char *)bigger + s->nr_nodes / 8, 0, (nr - s->nr_nodes) / 8);
	s->node = bigger;
	s->nr_nodes = nr;
	return 0;
}

static bool
log_writer_stacks_is_written(const struct log_stacks *s, uint32_t node)
{
	return node < s->nr_nodes && s->node[node / BITS] >> node % BITS & 1;
}

static int
log_writer_stacks_put_node(struct log_stacks *s, struct log_buffer *b, uint32_t number,
	const struct wire_node *node, struct err *e)
{
	uint8_t *at;

	if (reserve_nodes(s, number, e) < 0 || log_buffer_reserve(b, LOG_MAX_RECORD_BYTES, e) < 0)
		return -1;
	at = b->v + b->nr;
	*at++ = LOG_NODE;
	at = log_put(at, number);
	at = log_put(at, node->parent);
	at = log_put(at, log_fold(node->address - s->last_address));
	b->nr = (size_t)(at - b->v);
	s->last_address = node->address;
	s->node[number / BITS] |= UINT64_C(1) << number % BITS;
	s->has_new = true;
	return 0;
}

/* A path of nodes that are not in the file, in reading order: from NODE towards the root. */
struct path {
	struct {
		uint32_t number;
		struct wire_node node;
	} v[MAX_PATH];
	size_t nr;
};

/* Read a path.  False if it cannot be read, or is endless. */
static bool
read_path(const struct log_stacks *s, uint32_t node, struct path *p)
{
	struct err ignored = { 0 };

	for (p->nr = 0; node && !log_writer_stacks_is_written(s, node); p->nr++) {
		if (p->nr == MAX_PATH || node >= WIRE_SITES_MAX_NODES ||
			s->names.node(s->names.context, node, &p->v[p->nr].node, &ignored) < 0)
			return false;
		p->v[p->nr].number = node;
		node = p->v[p->nr].node.parent;
	}
	return true;
}

/* Write the name of an interpreter's function, which the frame ADDRESS refers to. */
static int
put_code(struct log_stacks *s, struct log_buffer *b, uint64_t address, struct err *e)
{
	const uint64_t node = wire_label_value(address);
	struct path p;

	if (wire_label_of(address) != WIRE_LABEL_CODE || node >= WIRE_SITES_MAX_NODES ||
		!read_path(s, (uint32_t)node, &p))
		return 0;
	while (p.nr--)
		if (log_writer_stacks_put_node(s, b, p.v[p.nr].number, &p.v[p.nr].node, e) < 0)
			return -1;
	return 0;
}

/* Write NODE and its callers. *RET_IS_KNOWN is false if they cannot be read. */
static int
log_writer_stacks_put_path(struct log_stacks *s, struct log_buffer *b, uint32_t node,
	bool *ret_is_known, struct err *e)
{
	struct path p;

	*ret_is_known = read_path(s, node, &p);
	if (!*ret_is_known)
		return 0;
	while (p.nr--)
		if (put_code(s, b, p.v[p.nr].node.address, e) < 0 ||
			/* In damaged memory, the name may have been a part of the path. */
			(!log_writer_stacks_is_written(s, p.v[p.nr].number) &&
				log_writer_stacks_put_node(
					s, b, p.v[p.nr].number, &p.v[p.nr].node, e) < 0))
			return -1;
	return 0;
}

int
log_stacks_put_site(struct log_stacks *s, struct log_buffer *b, uint32_t site, struct err *e)
{
	struct wire_site got = { 0 };
	struct err ignored = { 0 };
	bool is_known = s->names.site(s->names.context, site, &got, &ignored) == 0;
	uint8_t *at;

	if (is_known && log_writer_stacks_put_path(s, b, got.node, &is_known, e) < 0)
		return -1;
	if (log_buffer_reserve(b, LOG_MAX_RECORD_BYTES, e) < 0)
		return -1;
	s->nr_unknown += !is_known;
	at = b->v + b->nr;
	*at++ = LOG_SITE;
	at = log_put(at, site);
	at = log_put(at, is_known ? got.node : 0);
	b->nr = (size_t)(at - b->v);
	return 0;
}

int
log_stacks_put_maps(struct log_stacks *s, struct log_buffer *b, bool is_first, struct err *e)
{
	struct err ignored = { 0 };
	const char *text;
	char *copy;
	size_t len;

	if ((!s->has_new && !is_first) || s->names.maps(s->names.context, &text, &ignored) < 0)
		return 0;
	s->has_new = false;
	len = strnlen(text, LOG_MAX_MAPS_BYTES);
	if (len == s->maps_bytes && s->maps && memcmp(s->maps, text, len) == 0)
		return 0;
	copy = malloc(len + 1);
	if (!copy || log_buffer_reserve(b, LOG_MAX_RECORD_BYTES + len, e) < 0) {
		free(copy);
		return err_set(e, ENOMEM, "cannot write the log");
	}
	memcpy(copy, text, len);
	free(s->maps);
	s->maps = copy;
	s->maps_bytes = len;
	b->v[b->nr++] = LOG_MAPS;
	b->nr = (size_t)(log_put(b->v + b->nr, len) - b->v);
	memcpy(b->v + b->nr, text, len);
	b->nr += len;
	return 0;
}

void
log_stacks_release(struct log_stacks *s)
{
	free(s->node);
	free(s->maps);
	*s = (struct log_stacks){ .node = NULL };
}
