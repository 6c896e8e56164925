/*
 * Sums by function, line and object, folded stacks and the tree of calls of random profiles, by
 * seeds, against the plainest
 * sums of them: a list of names for each stack, which is gone through again for each question.
 *
 *	report-calls [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "base/cleanup.h"
#include "report/calls.h"
#include "report/folded.h"
#include "report/tree.h"
#include "seeds.h"

#define NR_FUNCTIONS 12
#define NR_OBJECTS 4
#define NR_FRAMES 30
#define MAX_DEPTH 10
#define MAX_STACKS 40
#define MAX_PATH (2 * MAX_DEPTH)

/* Two of them are malloc's. */
static const char *const functions[NR_FUNCTIONS] = { "main", "run", "load;parse", "Shop::buy(int)",
	"a", "b", "c", "d", "e", "f", "malloc", "operator new" };
static const char *const objects[NR_OBJECTS] = { "/bin/it", "/lib/libone.so", "/lib/libtwo.so",
	"/usr/lib/libjemalloc.so.2" };

static struct world {
	enum calls_by by;
	bool shows_allocators;
	const char *focus, *ignore, *hide; /* functions; NULL: none */
	size_t nr_stacks;
	struct frame {
		size_t object, nr, function[2]; /* inside out */
		uint32_t line[2];
	} frame[NR_FRAMES];
	struct stack {
		size_t nr, frame[MAX_DEPTH]; /* the leaf first */
		int64_t value;
		size_t thread_1;
		uint64_t size_bytes;
		/* What is shown of it, the root first. */
		char path[MAX_PATH][64];
		size_t nr_path;
		bool is_shown;
	} stack[MAX_STACKS];
} w;

/* ---- a profile ---- */

static void
some_world(void)
{
	memset(&w, 0, sizeof w);
	w.by = (enum calls_by)some(3);
	w.shows_allocators = some(2);
	if (w.by == CALLS_BY_FUNCTION) {
		w.focus = some(4) ? NULL : functions[4 + some(6)];
		w.ignore = some(4) ? NULL : functions[4 + some(6)];
		w.hide = some(4) ? NULL : functions[4 + some(6)];
	}
	for (size_t i = 0; i < NR_FRAMES; i++) {
		struct frame *f = &w.frame[i];

		f->object = some(10) ? some(NR_OBJECTS - 1) : NR_OBJECTS - 1;
		f->nr = 1 + (some(3) == 0);
		for (size_t k = 0; k < f->nr; k++) {
			f->function[k] = some(6) ? some(NR_FUNCTIONS - 2) : some(NR_FUNCTIONS);
			f->line[k] = 10 + (uint32_t)some(2);
		}
	}
	w.nr_stacks = 1 + some(MAX_STACKS);
	for (size_t i = 0; i < w.nr_stacks; i++) {
		struct stack *s = &w.stack[i];

		s->nr = 1 + some(MAX_DEPTH);
		for (size_t k = 0; k < s->nr; k++)
			s->frame[k] = some(NR_FRAMES);
		s->value = (int64_t)some(1000) - (some(3) ? 0 : 900);
		s->thread_1 = some(4);
		s->size_bytes = 16 * some(4);
	}
}

static int
add_frames(struct profile *p, struct err *e)
{
	uint32_t frame;

	for (size_t i = 0; i < NR_OBJECTS; i++)
		if (profile_add_mapping(p, (i + 1) << 20, (i + 2) << 20, 0, objects[i], "", e) < 0)
			return -1;
	for (size_t i = 0; i < NR_FRAMES; i++) {
		const struct frame *f = &w.frame[i];

		if (profile_add_frame(p, ((f->object + 1) << 20) + i, true, (uint32_t)f->object + 1,
			    &frame, e) < 0)
			return -1;
		for (size_t k = 0; k < f->nr; k++)
			if (profile_add_line(p, frame, functions[f->function[k]], "/src/it.c",
				    f->line[k], e) < 0)
				return -1;
	}
	return 0;
}

static struct profile *
make_profile(void)
{
	struct profile *p = profile_new();
	struct err e;

	if (!p || profile_add_type(p, "other", "count", &e) < 0 ||
		profile_add_type(p, "space", "bytes", &e) < 0 || add_frames(p, &e) < 0)
		abort();
	for (size_t i = 0; i < w.nr_stacks; i++) {
		const struct stack *s = &w.stack[i];
		struct profile_sample sample = { .size_bytes = s->size_bytes };
		const int64_t values[2] = { 1, s->value };
		uint32_t frame[MAX_DEPTH];

		for (size_t k = 0; k < s->nr; k++)
			frame[k] = (uint32_t)s->frame[k];
		if (profile_stack(p, frame, s->nr, &sample.stack, &e) < 0 ||
			(s->thread_1 &&
				profile_thread(
					p, (int64_t)s->thread_1, "it", &sample.thread_1, &e) < 0) ||
			profile_add_sample(p, sample, values, &e) < 0)
			abort();
	}
	return p;
}

/* ---- the plainest sums ---- */

static bool
is_malloc(size_t frame, size_t k)
{
	return w.frame[frame].object == NR_OBJECTS - 1 ||
		w.frame[frame].function[k] >= NR_FUNCTIONS - 2;
}

static void
name_place(char *ret, size_t frame, size_t k)
{
	const struct frame *f = &w.frame[frame];

	if (w.by == CALLS_BY_OBJECT)
		snprintf(ret, 64, "%s", strrchr(objects[f->object], '/') + 1);
	else if (w.by == CALLS_BY_LINE)
		snprintf(ret, 64, "%s it.c:%u", functions[f->function[k]], f->line[k]);
	else
		snprintf(ret, 64, "%s", functions[f->function[k]]);
}

/*
 * All places of the stack, inside out: those of malloc, and all that they call, are no part of the
 * path, unless nothing
 * else is there; then the outermost frame is.  Of objects, a frame is malloc's as a whole.
 */
static void
make_path(struct stack *s)
{
	size_t place[MAX_PATH][2], nr = 0, from = 0;
	const size_t root = s->frame[s->nr - 1];
	char name[64];

	for (size_t i = 0; i < s->nr; i++) {
		bool is_whole = true;

		for (size_t k = 0; k < w.frame[s->frame[i]].nr; k++) {
			place[nr][0] = s->frame[i];
			place[nr++][1] = k;
			if (!w.shows_allocators && is_malloc(s->frame[i], k) &&
				w.by != CALLS_BY_OBJECT)
				from = nr;
		}
		/* The outermost function that is inlined there decides. */
		is_whole = is_malloc(s->frame[i], w.frame[s->frame[i]].nr - 1);
		if (!w.shows_allocators && is_whole && w.by == CALLS_BY_OBJECT)
			from = nr;
	}
	if (from == nr)
		from -= w.frame[root].nr;
	for (size_t i = nr; i-- > from;) {
		name_place(name, place[i][0], place[i][1]);
		if (w.by == CALLS_BY_OBJECT && s->nr_path &&
			strcmp(s->path[s->nr_path - 1], name) == 0)
			continue;
		memcpy(s->path[s->nr_path++], name, sizeof name);
	}
}

static bool
has(const struct stack *s, const char *name)
{
	for (size_t i = 0; i < s->nr_path; i++)
		if (strcmp(s->path[i], name) == 0)
			return true;
	return false;
}

static void
hide(struct stack *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_path; i++)
		if (strcmp(s->path[i], w.hide) != 0)
			memmove(s->path[nr++], s->path[i], sizeof s->path[i]);
	s->nr_path = nr;
}

static void
make_paths(void)
{
	for (size_t i = 0; i < w.nr_stacks; i++) {
		struct stack *s = &w.stack[i];

		make_path(s);
		s->is_shown = s->value && (!w.focus || has(s, w.focus)) &&
			(!w.ignore || !has(s, w.ignore));
		if (w.hide)
			hide(s);
	}
}

static int64_t
size_of(int64_t value)
{
	return value < 0 ? -value : value;
}

/* ---- rows ---- */

static bool
check_node(const struct calls_node *n)
{
	int64_t flat = 0, cum = 0;

	for (size_t i = 0; i < w.nr_stacks; i++) {
		const struct stack *s = &w.stack[i];

		if (!s->is_shown || !s->nr_path)
			continue;
		flat += strcmp(s->path[s->nr_path - 1], n->name) == 0 ? s->value : 0;
		cum += has(s, n->name) ? s->value : 0;
	}
	if (n->flat != flat || n->cum != cum)
		return FAIL("%s has %" PRId64 " and %" PRId64 ", not %" PRId64 " and %" PRId64,
			n->name, n->flat, n->cum, flat, cum);
	return true;
}

/* The greatest first, whatever its sign; equal ones by the other number, then by name. */
static bool
check_order(const struct calls *c, bool by_cum)
{
	auto_free uint32_t *order = calls_order(c, by_cum);

	for (size_t i = 0; i + 1 < c->nodes.nr; i++) {
		const struct calls_node *a = &c->nodes.v[order[i]], *b = &c->nodes.v[order[i + 1]];
		const int64_t x = size_of(by_cum ? a->cum : a->flat),
			      y = size_of(by_cum ? b->cum : b->flat);
		const int64_t xx = size_of(by_cum ? a->flat : a->cum),
			      yy = size_of(by_cum ? b->flat : b->cum);

		if (x < y || (x == y && (xx < yy || (xx == yy && strcmp(a->name, b->name) >= 0))))
			return FAIL("%s comes before %s", a->name, b->name);
	}
	return true;
}

/* Groups of threads, or of sizes: each has the sum of its stacks, and all of them are there. */
static bool
check_groups(const struct calls *c, const struct calls_groups *g, bool is_thread)
{
	size_t nr = 0;

	for (size_t i = 0; i < g->nr; i++) {
		const struct calls_group *group = &g->v[i];
		const uint64_t key = is_thread ? (uint64_t)c->p->threads.v[group->thread_1 - 1].tid
					       : group->size_bytes;
		int64_t value = 0;

		for (size_t k = 0; k < w.nr_stacks; k++) {
			const struct stack *s = &w.stack[k];

			if (!s->is_shown || (is_thread ? s->thread_1 : s->size_bytes) != key)
				continue;
			value += s->value;
			nr++;
		}
		if (group->value != value)
			return FAIL("group %" PRIu64 " has %" PRId64 ", not %" PRId64, key,
				group->value, value);
		if (i && (is_thread ? g->v[i - 1].value < value : g->v[i - 1].size_bytes >= key))
			return FAIL("groups are not in order");
	}
	for (size_t k = 0; k < w.nr_stacks; k++)
		nr -= w.stack[k].is_shown &&
			(is_thread ? w.stack[k].thread_1 : w.stack[k].size_bytes);
	return !nr || FAIL("stacks are in no group, or in two");
}

static bool
check_rows(const struct calls *c)
{
	int64_t total = 0, shown = 0, shown_total = 0;

	for (size_t i = 0; i < w.nr_stacks; i++) {
		total += size_of(w.stack[i].value);
		shown += w.stack[i].is_shown ? w.stack[i].value : 0;
		shown_total += w.stack[i].is_shown ? size_of(w.stack[i].value) : 0;
	}
	if (c->total != total || c->shown != shown || c->shown_total != shown_total)
		return FAIL("total %" PRId64 ", shown %" PRId64 " of %" PRId64, c->total, c->shown,
			c->shown_total);
	for (size_t i = 0; i < c->nodes.nr; i++)
		if (!check_node(&c->nodes.v[i]))
			return false;
	return check_order(c, false) && check_order(c, true) &&
		check_groups(c, &c->threads, true) && check_groups(c, &c->sizes, false);
}

/* ---- folded stacks ---- */

/* The line of S without its value, as flamegraph.pl reads it. */
static void
fold(char *ret, size_t size, const struct stack *s)
{
	size_t len = 0;

	*ret = '\0';
	for (size_t i = 0; i < s->nr_path && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s", i ? ";" : "",
			strcmp(s->path[i], "load;parse") == 0 ? "load:parse" : s->path[i]);
	if (w.by == CALLS_BY_LINE)
		for (char *at = ret; (at = strstr(at, "load;parse"));)
			at[4] = ':';
	if (!s->nr_path)
		snprintf(ret, size, "[hidden]");
}

/* LINE is there once, with the sum of all stacks that have it. */
static bool
check_line(char *line)
{
	char *space = strrchr(line, ' ');
	int64_t sum = 0;
	size_t nr = 0;

	if (!space)
		return FAIL("'%s' has no value", line);
	*space = '\0';
	for (size_t i = 0; i < w.nr_stacks; i++) {
		char want[2000];

		fold(want, sizeof want, &w.stack[i]);
		if (!w.stack[i].is_shown || strcmp(want, line) != 0)
			continue;
		sum += w.stack[i].value;
		nr++;
		w.stack[i].is_shown = false; /* only one line may have it */
	}
	if (!nr)
		return FAIL("no stack is '%s', or another line has it", line);
	return strtoll(space + 1, NULL, 10) == sum ||
		FAIL("'%s' has %s, not %" PRId64, line, space + 1, sum);
}

/* The last check, as it uses the stacks up. */
static bool
check_folded(const struct calls *c)
{
	auto_free char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	char *rest = NULL;
	struct err e;

	if (folded_write(c, f, &e) < 0 || fclose(f) != 0)
		return FAIL("folded stacks are written: %s", e.msg);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!check_line(line))
			return false;
	for (size_t i = 0; i < w.nr_stacks; i++)
		if (w.stack[i].is_shown)
			return FAIL("stack %zu is in no line", i);
	return true;
}

/* ---- the tree ---- */

/* Whether the path of S begins with the calls of T to node N; *RET_IS_ALL: it is all of it. */
static bool
begins_with(const struct stack *s, const struct tree *t, size_t n, const struct calls *c,
	bool *ret_is_all)
{
	size_t depth = t->v[n].depth;

	*ret_is_all = s->nr_path == depth;
	if (s->nr_path < depth)
		return false;
	for (; depth; depth--, n = t->v[n].parent)
		if (strcmp(s->path[depth - 1], c->nodes.v[t->v[n].node].name) != 0)
			return false;
	return true;
}

static bool
check_children(const struct tree *t, size_t n)
{
	const struct tree_node *node = &t->v[n];
	uint64_t width = 0;

	for (uint32_t i = 0; i < node->nr_children; i++) {
		const struct tree_node *child = &t->v[t->children[node->first_child + i]];

		if (child->parent != n || child->depth != node->depth + 1)
			return FAIL("node %zu has a child of %u", n, child->parent);
		if (i && t->v[t->children[node->first_child + i - 1]].value < child->value)
			return FAIL("children of node %zu are not in order", n);
		width += child->width;
	}
	return node->width >= width || FAIL("node %zu is narrower than its children", n);
}

static bool
check_tree(const struct calls *c)
{
	auto_tree struct tree t = { .v = NULL };
	struct err e;
	bool is_all;

	if (tree_make(&t, c, &e) < 0)
		return FAIL("%s", e.msg);
	for (size_t n = 0; n < t.nr; n++) {
		int64_t value = 0, self = 0;

		for (size_t i = 0; i < w.nr_stacks; i++)
			if (w.stack[i].is_shown && begins_with(&w.stack[i], &t, n, c, &is_all)) {
				value += w.stack[i].value;
				self += is_all ? w.stack[i].value : 0;
			}
		if (t.v[n].value != value || t.v[n].self != self)
			return FAIL("node %zu has %" PRId64 " and itself %" PRId64 ", not %" PRId64
				    " and %" PRId64,
				n, t.v[n].value, t.v[n].self, value, self);
		if (t.v[n].width < (uint64_t)(value > 0 ? value : 0) || !check_children(&t, n))
			return FAIL("node %zu is too narrow, or has other children", n);
	}
	return true;
}

/* ---- all of it ---- */

/* A pattern that matches NAME alone, into BUF; NULL if that is. */
static const char *
pattern_of(const char *name, char buf[16])
{
	snprintf(buf, 16, "^%s$", name ? name : "");
	return name ? buf : NULL;
}

static bool
try(void)
{
	auto_profile struct profile *p = NULL;
	auto_calls struct calls c = { .p = NULL };
	struct calls_options options = { .type = 1 };
	char focus[16], ignore[16], hidden[16];
	struct err e;

	some_world();
	make_paths();
	p = make_profile();
	options.by = w.by;
	options.has_allocators = w.shows_allocators;
	options.focus = pattern_of(w.focus, focus);
	options.ignore = pattern_of(w.ignore, ignore);
	options.hide = pattern_of(w.hide, hidden);
	if (calls_make(&c, p, &options, &e) < 0)
		return FAIL("%s", e.msg);
	return check_rows(&c) && check_tree(&c) && check_folded(&c);
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 600), try,
		"sums, folded stacks and trees are those of the stacks");
	return tap_end();
}
