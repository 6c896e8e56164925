#include <config.h>

#include "agentdata/sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentdata/agent-segment.h"
#include "os/memory.h"

/* The source that sites are read from. */
struct source {
	const struct target *target; /* NULL for the file */
	raddr at;
	int fd;
	uint64_t offset; /* in the file */
};

static int
agentctl_sites_read_part(
	const struct source *s, uint64_t offset, void *to, size_t size, struct err *e)
{
	char *at = to;

	offset += s->offset;
	if (s->target)
		return os_read(s->target, raddr_add(s->at, offset), to, size, e);
	while (size) {
		const ssize_t n = pread(s->fd, at, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, n ? errno : EIO, "cannot read the sites of a profile");
		at += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static void *
read_array(const struct source *s, uint64_t offset, uint32_t nr, size_t size, struct err *e)
{
	void *v = malloc(nr * size);

	if (!v) {
		err_set(e, ENOMEM, "cannot copy the sites of a profile");
		return NULL;
	}
	if (agentctl_sites_read_part(s, offset, v, nr * size, e) == 0)
		return v;
	free(v);
	return NULL;
}

static uint32_t
lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Read a text of the sites, which the caller frees; NULL with E. */
static char *
sites_read_text(const struct source *s, uint64_t at, uint32_t bytes, struct err *e)
{
	char *text = malloc(bytes + 1);

	if (!text) {
		err_set(e, ENOMEM, "cannot copy the sites of a profile");
		return NULL;
	}
	text[bytes] = '\0';
	if (agentctl_sites_read_part(s, at, text, bytes, e) == 0)
		return text;
	free(text);
	return NULL;
}

/* Read the mapped code, if the agent has recorded it and is not rewriting it now. */
static int
sites_read_maps(
	struct sites_copy *c, const struct source *s, const struct wire_sites *head, struct err *e)
{
	const uint32_t which = head->maps_now & 1;

	c->maps = sites_read_text(s, head->maps_at + which * WIRE_MAPS_BYTES,
		lesser(head->maps_bytes[which], WIRE_MAPS_BYTES), e);
	c->seen_bytes = lesser(head->seen_bytes, WIRE_SEEN_BYTES);
	c->seen = sites_read_text(s, head->seen_at, c->seen_bytes, e);
	return c->maps && c->seen ? 0 : -1;
}

/*
 * Raise the peak to the present sum of the sites, if that is more: threads hold back a part of what
 * they add to the total from which the peak is taken.
 */
static void
agentctl_sites_raise_peak(struct sites_copy *c)
{
	uint64_t live;

	if (wire_capture_of(c->head.period_bytes) == WIRE_PROFILE)
		return;
	live = sites_add_up(c).live.bytes;
	if (live > INT64_MAX || (int64_t)live <= c->head.peak_bytes)
		return;
	c->head.peak_bytes = (int64_t)live;
	/* No site has stored its amount at that peak. */
	c->head.epoch++;
}

/* Read the head, then the sites, then the nodes: so each site has its nodes. */
static int
sites_read_all(struct sites_copy *c, const struct source *s, struct err *e)
{
	struct wire_sites later;

	*c = (struct sites_copy){ .at = s->at };
	if (agentctl_sites_read_part(s, 0, &c->head, sizeof c->head, e) < 0)
		return -1;
	if (!wire_sites_is_valid(&c->head, UINT64_MAX))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the sites of the profile are of another memdiag, or damaged");
	c->nr_sites = lesser(c->head.nr_sites, c->head.max_sites);
	c->site = read_array(s, c->head.sites_at, c->nr_sites, sizeof *c->site, e);
	if (!c->site || agentctl_sites_read_part(s, 0, &later, sizeof later, e) < 0)
		return -1;
	c->nr_nodes = lesser(later.nr_nodes, c->head.max_nodes);
	c->node = read_array(s, c->head.nodes_at, c->nr_nodes, sizeof *c->node, e);
	if (!c->node || sites_read_maps(c, s, &later, e) < 0)
		return -1;
	agentctl_sites_raise_peak(c);
	return 0;
}

int
sites_read_file(struct sites_copy *c, int fd, struct err *e)
{
	return sites_read_all(c, &(struct source){ .fd = fd }, e);
}

int
sites_read_part(struct sites_copy *c, int fd, uint64_t offset, struct err *e)
{
	return sites_read_all(c, &(struct source){ .fd = fd, .offset = offset }, e);
}

int
sites_read_target(struct sites_copy *c, const struct target *t, raddr at, struct err *e)
{
	return sites_read_all(c, &(struct source){ .target = t, .at = at, .fd = -1 }, e);
}

int
sites_read_process(struct sites_copy *c, const struct process *p, struct err *e)
{
	auto_agent_segment struct agent_segment agent = { 0 };
	const struct target *t = p->target;

	*c = (struct sites_copy){ .nr_nodes = 0 };
	if (agent_segment_read(&agent, p, e) < 0)
		return -1;
	if (agent.sites_at.v && !agent.is_parents)
		return sites_read_target(c, t, agent.sites_at, e);
	err_set_kind(e, ERR_UNSUPPORTED, 0, "%d (%s) has no profile", t->pid, t->comm);
	return err_hint(e, "'memdiag profile start -p %d' begins one", t->pid);
}

void
sites_release(struct sites_copy *c)
{
	free(c->node);
	free(c->site);
	free(c->maps);
	free(c->seen);
	*c = (struct sites_copy){ .nr_nodes = 0 };
}

/* Add a frame or a label.  False if the stack has more frames than possible. */
static bool
sites_add_frame(struct sites_stack *s, uint64_t address)
{
	switch (wire_label_of(address)) {
	case WIRE_LABEL_NONE:
	case WIRE_LABEL_CODE:
		if (s->nr == WIRE_MAX_PATH)
			return false;
		s->frame[s->nr++] = address;
		return true;
	case WIRE_LABEL_SIZE:
		s->size_bytes = wire_label_value(address);
		return true;
	case WIRE_LABEL_THREAD:
		s->tid = (uint32_t)wire_label_value(address);
		return true;
	case WIRE_LABEL_CUT:
		s->is_cut = true;
		return true;
	case WIRE_LABEL_MAPPED:
		s->is_mapped = true;
		return true;
	case WIRE_LABEL_TEXT:
	case WIRE_LABEL_LINE:
		return false;
	}
	return false;
}

/* A path is no longer, unless it is a loop: the process may have written anything there. */
#define MAX_NODES_OF_PATH (WIRE_MAX_PATH + 8)

bool
sites_stack(const struct sites_copy *c, uint32_t site, struct sites_stack *ret)
{
	const uint32_t node = c->site[site].node;

	if (!sites_stack_of_node(c, node, ret))
		return false;
	ret->is_mapped |= site == WIRE_SITE_OF_NO_MAPPING;
	return node || site == WIRE_SITE_OF_NONE || site == WIRE_SITE_OF_NO_MAPPING;
}

bool
sites_stack_of_node(const struct sites_copy *c, uint32_t node, struct sites_stack *ret)
{
	unsigned int left = MAX_NODES_OF_PATH;

	ret->nr = ret->tid = ret->leaf = 0;
	ret->size_bytes = 0;
	ret->is_cut = ret->is_mapped = false;
	for (; node; node = c->node[node].parent) {
		if (!left-- || node >= c->nr_nodes || !sites_add_frame(ret, c->node[node].address))
			return false;
		if (ret->nr && !ret->leaf)
			ret->leaf = node;
	}
	return true;
}

/* Return the nodes of a text up to NODE, the last one first.  0 if C is damaged there. */
static uint32_t
agentctl_sites_text_path(
	const struct sites_copy *c, uint32_t node, uint32_t path[WIRE_MAX_TEXT_NODES])
{
	uint32_t nr = 0;

	for (; node; node = c->node[node].parent) {
		if (nr == WIRE_MAX_TEXT_NODES || node >= c->nr_nodes ||
			wire_label_of(c->node[node].address) != WIRE_LABEL_TEXT)
			return 0;
		path[nr++] = node;
	}
	return nr;
}

static bool
agentctl_sites_is_line(const struct sites_copy *c, uint64_t node)
{
	return node < c->nr_nodes && wire_label_of(c->node[node].address) == WIRE_LABEL_LINE;
}

bool
sites_code(const struct sites_copy *c, uint64_t frame, struct sites_code *ret)
{
	const uint64_t number = wire_label_value(frame);
	uint32_t path[WIRE_MAX_TEXT_NODES], nr, parent;
	char *at = ret->text;

	if (!number || !agentctl_sites_is_line(c, number))
		return false;
	ret->line = (uint32_t)wire_label_value(c->node[number].address);
	parent = c->node[number].parent;
	/* The running line is below the line where the function begins. */
	nr = agentctl_sites_text_path(
		c, agentctl_sites_is_line(c, parent) ? c->node[parent].parent : parent, path);
	if (!nr)
		return false;
	while (nr--)
		for (int shift = 8 * (WIRE_TEXT_BYTES - 1); shift >= 0; shift -= 8)
			*at++ = (char)(c->node[path[nr]].address >> shift);
	*at = '\0';
	ret->file = ret->text;
	ret->function = memchr(ret->text, '\0', (size_t)(at - ret->text));
	if (!ret->function || ++ret->function >= at || !*ret->function)
		return false;
	return true;
}

static void
agentctl_sites_add(struct wire_amount *to, struct wire_amount a)
{
	to->units += a.units;
	to->bytes += a.bytes;
}

enum site_kind { SITE_OF_BLOCKS, SITE_OF_MAPPINGS, SITE_WITHOUT_STACK };

/* Return the kind of SITE: all labels except that of a cut stack are below its frames. */
static enum site_kind
sites_kind_of(const struct sites_copy *c, uint32_t site)
{
	unsigned int left = MAX_NODES_OF_PATH;
	enum site_kind kind = SITE_WITHOUT_STACK;

	if (site == WIRE_SITE_OF_NO_MAPPING)
		return SITE_OF_MAPPINGS;
	for (uint32_t node = c->site[site].node; node && node < c->nr_nodes && left--;
		node = c->node[node].parent) {
		const enum wire_label label = wire_label_of(c->node[node].address);

		if (label == WIRE_LABEL_MAPPED)
			return SITE_OF_MAPPINGS;
		if (label == WIRE_LABEL_NONE || label == WIRE_LABEL_CODE)
			return SITE_OF_BLOCKS;
		if (label == WIRE_LABEL_CUT)
			kind = SITE_OF_BLOCKS;
	}
	return kind;
}

struct sites_sum
sites_add_up(const struct sites_copy *c)
{
	struct sites_sum sum = { .live = { 0 } };

	for (uint32_t i = 1; i < c->nr_sites; i++) {
		const enum site_kind kind = sites_kind_of(c, i);

		if (kind == SITE_OF_MAPPINGS)
			continue;
		agentctl_sites_add(&sum.allocated, c->site[i].allocated);
		agentctl_sites_add(&sum.live, wire_site_live(&c->site[i]));
		agentctl_sites_add(&sum.temporary, c->site[i].temporary);
		if (kind == SITE_WITHOUT_STACK)
			agentctl_sites_add(&sum.no_stack, c->site[i].allocated);
	}
	/* Not from the sites' own counters: one of them may have changed during the copy. */
	sum.freed.units = sum.allocated.units - sum.live.units;
	sum.freed.bytes = sum.allocated.bytes - sum.live.bytes;
	return sum;
}

int64_t
sites_blocks(struct wire_amount a)
{
	return (int64_t)wire_objects(a);
}

int64_t
sites_bytes(struct wire_amount a)
{
	return a.bytes > INT64_MAX ? INT64_MAX : (int64_t)a.bytes;
}
