#include <config.h>

#include "recording/log-names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const struct log_node *
log_names_node(const struct log_names *n, uint32_t number)
{
	const uint32_t hash = hash_pair(number, 0);
	const struct hash_slot *slot;

	for (size_t at = hash; (slot = hash_next(&n->by_number, hash, &at));)
		if (n->nodes.v[slot->number_1 - 1].number == number)
			return &n->nodes.v[slot->number_1 - 1];
	return NULL;
}

int
log_names_add_node(struct log_names *n, const struct log_node *node)
{
	struct log_node *added = array_add(&n->nodes);

	if (!added)
		return -1;
	*added = *node;
	return hash_add(&n->by_number, hash_pair(node->number, 0), n->nodes.nr - 1);
}

int
log_names_add_site(struct log_names *n, uint32_t site, uint32_t node)
{
	while (n->sites.nr <= site)
		if (!array_add(&n->sites))
			return -1;
	n->sites.v[site] = node + 1;
	return 0;
}

/* Merge one table.  Each returns as log_names_merge(). */
static int
merge_nodes(struct log_names *n, const struct log_names *from, size_t nr_texts)
{
	for (size_t i = 0; i < from->nodes.nr; i++) {
		struct log_node node = from->nodes.v[i];
		const struct log_node *there = log_names_node(n, node.number);

		if (there && (there->address != node.address || there->parent != node.parent))
			return 0;
		node.text += (uint32_t)nr_texts;
		if (!there && log_names_add_node(n, &node) < 0)
			return -1;
	}
	return 1;
}

static int
merge_sites(struct log_names *n, const struct log_names *from)
{
	for (size_t i = 0; i < from->sites.nr; i++) {
		const uint32_t node_1 = from->sites.v[i];
		const uint32_t there_1 = i < n->sites.nr ? n->sites.v[i] : 0;

		/* A stack that could not be read may be known in another file. */
		if (there_1 > 1 && node_1 > 1 && there_1 != node_1)
			return 0;
		if (node_1 > there_1 && log_names_add_site(n, (uint32_t)i, node_1 - 1) < 0)
			return -1;
	}
	return 1;
}

int
log_names_merge(struct log_names *n, struct log_names *from)
{
	const size_t nr_texts = n->texts.nr;
	int r;

	for (size_t i = 0; i < from->texts.nr; i++) {
		char **text = array_add(&n->texts);

		if (!text)
			return -1;
		*text = from->texts.v[i];
		from->texts.v[i] = NULL;
	}
	from->texts.nr = 0;
	r = merge_nodes(n, from, nr_texts);
	return r > 0 ? merge_sites(n, from) : r;
}

void
log_names_release(struct log_names *n)
{
	for (size_t i = 0; i < n->texts.nr; i++)
		free(n->texts.v[i]);
	free(n->texts.v);
	free(n->nodes.v);
	free(n->sites.v);
	hash_release(&n->by_number);
	*n = (struct log_names){ .texts = { 0 } };
}
