#include <config.h>

#include "report/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/allocators.h"
#include "profile/hash.h"

const char *const calls_by_names[] = { "function", "line", "object", NULL };
const char *const calls_view_names[] = { "all", "python", NULL };

enum { MATCH_FOCUS = 1, MATCH_IGNORE = 2, MATCH_HIDE = 4 };

/* The role of code when a program allocates. */
enum role {
	ROLE_PROGRAM,
	ROLE_HELPER,	  /* is_library_helper() */
	ROLE_INTERPRETER, /* Python's interpreter, and its modules */
	ROLE_SCRIPT,	  /* a Python function */
};

struct filter {
	regex_t regex;
	bool is_set;
};

/* State for building the paths. */
struct maker {
	struct calls *c;
	struct hash by_name;
	struct hash by_group[2]; /* by thread, by size */
	struct filter filter[3]; /* indexed by MATCH_ */
	struct allocators allocators;
	bool *is_allocator; /* by function of the profile: allocators_have() */
	struct {
		uint8_t *v; /* MATCH_ of each node */
		size_t nr, room;
	} matches;
	/* The nodes of frame I, innermost first: from first[I] to first[I + 1]. */
	struct {
		uint32_t *v;
		size_t nr, room;
	} of_frames;
	struct {
		uint8_t *v; /* enum role of each node */
		size_t nr, room;
	} roles;
	struct {
		uint32_t *v; /* of each node */
		size_t nr, room;
	} lines;
	size_t *first;
	uint16_t *nr_allocators; /* by frame: number of innermost nodes that are allocators */
	uint32_t *seen;		 /* by node: the last path that contained it, plus 1 */
	struct {
		uint32_t *v; /* nodes of a stack, the leaf first */
		size_t nr, room;
	} path, path_lines;
	uint32_t rest; /* the node for stacks without any visible node */
};

static void
maker_release(struct maker *m)
{
	for (size_t i = 0; i < 3; i++)
		if (m->filter[i].is_set)
			regfree(&m->filter[i].regex);
	allocators_release(&m->allocators);
	hash_release(&m->by_name);
	hash_release(&m->by_group[0]);
	hash_release(&m->by_group[1]);
	free(m->matches.v);
	free(m->of_frames.v);
	free(m->roles.v);
	free(m->lines.v);
	free(m->is_allocator);
	free(m->first);
	free(m->nr_allocators);
	free(m->seen);
	free(m->path.v);
	free(m->path_lines.v);
}
#define auto_maker __attribute__((cleanup(maker_release)))

void
calls_release(struct calls *c)
{
	for (size_t i = 0; i < c->nodes.nr; i++)
		free((char *)(uintptr_t)c->nodes.v[i].name);
	free(c->nodes.v);
	free(c->paths.v);
	free(c->steps.v);
	free(c->step_lines.v);
	free(c->threads.v);
	free(c->sizes.v);
	*c = (struct calls){ 0 };
}

static int
calls_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot add up the profile");
}

/* ---- filters ---- */

static int
compile(struct filter *f, const char *option, const char *pattern, struct err *e)
{
	char why[128];
	int r;

	if (!pattern)
		return 0;
	r = regcomp(&f->regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (r) {
		regerror(r, &f->regex, why, sizeof why);
		return err_set_kind(
			e, ERR_USAGE, 0, "--%s: not a regular expression: %s", option, why);
	}
	f->is_set = true;
	return 0;
}

static uint8_t
calls_match(const struct maker *m, const struct calls_node *node)
{
	const char *text[] = { node->name, node->file, node->object };
	uint8_t found = 0;

	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; m->filter[i].is_set && k < 3; k++)
			if (regexec(&m->filter[i].regex, text[k], 0, NULL, 0) == 0)
				found |= (uint8_t)(1u << i);
	return found;
}

/* ---- nodes ---- */

static const char *
calls_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Return the file of NODE, or its object if the file is unknown, to distinguish equal names. */
static const char *
origin_of(const struct maker *m, const struct calls_node *node)
{
	return m->c->options.by == CALLS_BY_OBJECT ? "" : *node->file ? node->file : node->object;
}

/* Return the node called NAME at the place of LIKE, created if needed.  Takes ownership of NAME. */
static int
find_node(struct maker *m, char *name, const struct calls_node *like, uint32_t *ret, struct err *e)
{
	auto_free char *owned = name;
	struct calls *c = m->c;
	const char *origin = origin_of(m, like);
	uint32_t hash;
	const struct hash_slot *slot;
	struct calls_node *node;
	uint8_t *matches;

	if (!name)
		return calls_no_memory(e);
	hash = hash_pair(hash_bytes(name, strlen(name)), hash_bytes(origin, strlen(origin)));
	for (size_t at = hash; (slot = hash_next(&m->by_name, hash, &at));) {
		node = &c->nodes.v[slot->number_1 - 1];
		if (strcmp(node->name, name) == 0 && strcmp(origin_of(m, node), origin) == 0) {
			*ret = slot->number_1 - 1;
			return 0;
		}
	}
	node = array_add(&c->nodes);
	if (!node)
		return calls_no_memory(e);
	*node = *like;
	node->name = take_ptr(&owned);
	matches = array_add(&m->matches);
	if (!matches || hash_add(&m->by_name, hash, c->nodes.nr - 1) < 0)
		return calls_no_memory(e);
	*matches = calls_match(m, node);
	*ret = (uint32_t)(c->nodes.nr - 1);
	return 0;
}

/* ---- shared names ---- */

static int
calls_by_name(const void *a, const void *b, void *arg)
{
	const struct maker *m = arg;
	const struct calls_node *x = &m->c->nodes.v[*(const uint32_t *)a];
	const struct calls_node *y = &m->c->nodes.v[*(const uint32_t *)b];
	const int r = strcmp(x->name, y->name);

	return r ? r : strcmp(calls_base_name(origin_of(m, x)), calls_base_name(origin_of(m, y)));
}

/* Append ORIGIN in parentheses to NODE's name. */
static int
add_origin(struct calls_node *node, const char *origin, struct err *e)
{
	char *name;

	if (!*origin)
		return 0;
	if (asprintf(&name, "%s (%s)", node->name, origin) < 0)
		return calls_no_memory(e);
	free((char *)(uintptr_t)node->name);
	node->name = name;
	return 0;
}

/*
 * Append to the names of the NR nodes NUMBER, which share calls_by_name(), what distinguishes them.
 */
static int
distinguish(struct maker *m, const uint32_t *number, size_t nr, struct err *e)
{
	struct calls_node *v = m->c->nodes.v;
	bool is_base_enough = true;

	for (size_t i = 1; i < nr && is_base_enough; i++)
		is_base_enough = calls_by_name(&number[i - 1], &number[i], m) != 0;
	for (size_t i = 0; i < nr; i++) {
		const char *origin = origin_of(m, &v[number[i]]);

		if (add_origin(&v[number[i]], is_base_enough ? calls_base_name(origin) : origin,
			    e) < 0)
			return -1;
	}
	return 0;
}

/* Rename rows with equal names, which would look like one row counted twice. */
static int
distinguish_all(struct maker *m, struct err *e)
{
	struct calls *c = m->c;
	auto_free uint32_t *order = calloc(c->nodes.nr + 1, sizeof *order);

	if (!order)
		return calls_no_memory(e);
	for (size_t i = 0; i < c->nodes.nr; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, c->nodes.nr, sizeof *order, calls_by_name, m);
	for (size_t i = 0, end; i < c->nodes.nr; i = end) {
		const char *name = c->nodes.v[order[i]].name;

		for (end = i + 1;
			end < c->nodes.nr && strcmp(c->nodes.v[order[end]].name, name) == 0;)
			end++;
		if (end - i > 1 && distinguish(m, &order[i], end - i, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- names and roles of frames ---- */

/* Return a name for FRAME if it has no function: its place in the object. */
static char *
name_of_place(const struct profile *p, const struct profile_frame *frame)
{
	const struct profile_mapping *m =
		frame->mapping_1 ? &p->mappings.v[frame->mapping_1 - 1] : NULL;
	uint64_t pc = profile_frame_pc(frame);
	char *name;
	int r;

	if (m && *m->path)
		r = asprintf(&name, "%s+0x%" PRIx64, calls_base_name(m->path),
			pc - m->start + m->offset_bytes);
	else
		r = asprintf(&name, "0x%" PRIx64, pc);
	return r < 0 ? NULL : name;
}

static char *
name_of_line(const struct calls_node *node)
{
	char *name;
	int r;

	if (!*node->file)
		return strdup(node->function);
	r = asprintf(
		&name, "%s %s:%" PRIu32, node->function, calls_base_name(node->file), node->line);
	return r < 0 ? NULL : name;
}

/* Add a node to the current frame, in ROLE. */
static int
add_node(struct maker *m, char *name, const struct calls_node *like, enum role role, struct err *e)
{
	uint32_t *node = array_add(&m->of_frames);
	uint8_t *its_role = array_add(&m->roles);
	uint32_t *its_line = array_add(&m->lines);

	if (!node || !its_role || !its_line) {
		free(name);
		return calls_no_memory(e);
	}
	*its_role = (uint8_t)role;
	*its_line = like->line;
	return find_node(m, name, like, node, e);
}

static const char *
object_of(const struct profile *p, const struct profile_frame *frame)
{
	return frame->mapping_1 ? p->mappings.v[frame->mapping_1 - 1].path : "";
}

/* True if LIKE, without an object, is a Python function: "load", of "store.py" or "<string>". */
static bool
is_script(const struct calls_node *like)
{
	const size_t len = strlen(like->file);

	return !*like->object && len &&
		(*like->file == '<' || (len > 3 && strcmp(like->file + len - 3, ".py") == 0));
}

/* True for a shared object where the system has its own. */
static bool
is_system_library(const char *object)
{
	return (strncmp(object, "/lib", 4) == 0 || strncmp(object, "/usr/lib", 8) == 0) &&
		strstr(calls_base_name(object), ".so");
}

static enum calls_code
code_of(const struct calls_node *like, bool is_of_allocator)
{
	if (is_of_allocator)
		return CODE_ALLOCATOR;
	return is_system_library(like->object) || is_library_helper(like->function) ||
			is_interpreter(like->object)
		? CODE_LIBRARY
		: CODE_OWN;
}

static enum role
role_of(const struct calls_node *like)
{
	return is_script(like)			    ? ROLE_SCRIPT
		: is_library_helper(like->function) ? ROLE_HELPER
		: is_interpreter(like->object)	    ? ROLE_INTERPRETER
						    : ROLE_PROGRAM;
}

/*
 * Return a function's name for a row; "<module>" gets the file, as the name is the same for all
 * modules.
 */
static char *
name_of_function(const struct calls_node *like)
{
	char *name;

	if (*like->function != '<' || !is_script(like))
		return strdup(like->function);
	return asprintf(&name, "%s %s", like->function, calls_base_name(like->file)) < 0 ? NULL
											 : name;
}

/* Add the node for FRAME's object, shared by all of its functions. */
static int
add_object(struct maker *m, size_t i, const struct calls_node *like, struct err *e)
{
	const bool is_all = m->nr_allocators[i] >= m->c->p->frames.v[i].nr_lines;

	m->nr_allocators[i] = m->nr_allocators[i] && is_all;
	return add_node(m, strdup(*like->object ? calls_base_name(like->object) : "[unknown]"),
		like, ROLE_PROGRAM, e);
}

/* Add the nodes of frame I, and count its allocators. */
static int
calls_add_frame(struct maker *m, size_t i, struct err *e)
{
	const struct profile *p = m->c->p;
	const struct profile_frame *frame = &p->frames.v[i];
	struct calls_node like = { .object = object_of(p, frame), .function = "", .file = "" };
	bool is_library = is_allocator_library(like.object);
	enum calls_by by = m->c->options.by;

	m->first[i] = m->of_frames.nr;
	for (size_t k = 0; k < frame->nr_lines; k++) {
		const struct profile_line *line = &p->lines.v[frame->first_line + k];

		like.function = p->functions.v[line->function].name;
		like.file = p->functions.v[line->function].file;
		like.line = line->line;
		if (is_library || m->is_allocator[line->function])
			m->nr_allocators[i] = (uint16_t)(k + 1);
		like.code = code_of(&like, is_library || m->is_allocator[line->function]);
		if (by != CALLS_BY_OBJECT &&
			add_node(m,
				by == CALLS_BY_LINE ? name_of_line(&like) : name_of_function(&like),
				&like, role_of(&like), e) < 0)
			return -1;
	}
	if (is_library && !frame->nr_lines)
		m->nr_allocators[i] = 1;
	if (!frame->nr_lines || by == CALLS_BY_OBJECT) {
		like.function = "";
		like.code = code_of(&like, is_library);
	}
	if (by == CALLS_BY_OBJECT)
		return add_object(m, i, &like, e);
	return frame->nr_lines ? 0 : add_node(m, name_of_place(p, frame), &like, role_of(&like), e);
}

static int
calls_add_rest(struct maker *m, struct err *e)
{
	const char *name = m->c->options.view == CALLS_VIEW_PYTHON ? "[no function of Python]"
								   : CALLS_NO_STACK;
	const struct calls_node like = { .object = "", .function = name, .file = "" };

	return find_node(m, strdup(name), &like, &m->rest, e);
}

/* Look each function up once: it may be in many frames. */
static int
find_allocators(struct maker *m, struct err *e)
{
	const struct profile *p = m->c->p;

	if (allocators_compile(&m->allocators, e) < 0)
		return -1;
	m->is_allocator = calloc(p->functions.nr + 1, sizeof *m->is_allocator);
	if (!m->is_allocator)
		return calls_no_memory(e);
	for (size_t i = 0; i < p->functions.nr; i++)
		m->is_allocator[i] = allocators_have(&m->allocators, p->functions.v[i].name);
	return 0;
}

static int
add_frames(struct maker *m, struct err *e)
{
	size_t nr = m->c->p->frames.nr;

	m->first = calloc(nr + 1, sizeof *m->first);
	m->nr_allocators = calloc(nr + 1, sizeof *m->nr_allocators);
	if (!m->first || !m->nr_allocators)
		return calls_no_memory(e);
	for (size_t i = 0; i < nr; i++)
		if (calls_add_frame(m, i, e) < 0)
			return -1;
	m->first[nr] = m->of_frames.nr;
	if (calls_add_rest(m, e) < 0 || distinguish_all(m, e) < 0)
		return -1;
	m->seen = calloc(m->c->nodes.nr + 1, sizeof *m->seen);
	return m->seen ? 0 : calls_no_memory(e);
}

/* ---- paths ---- */

/* A position in a stack: a frame, and a node of it. */
struct calls_place {
	size_t frame, node;
};

/* Return the next position outwards from AT. */
static struct calls_place
outwards(const struct maker *m, const uint32_t *frames, struct calls_place at)
{
	const uint32_t frame = frames[at.frame];

	if (m->first[frame] + at.node + 1 < m->first[frame + 1])
		return (struct calls_place){ at.frame, at.node + 1 };
	return (struct calls_place){ at.frame + 1, 0 };
}

/*
 * Skip positions in ROLE from AT outwards.  Returns AT if the stack ends with them, or if the next
 * position is not in WANTED; ROLE_PROGRAM accepts any.
 */
static struct calls_place
skip_role(const struct maker *m, const struct profile_stack *stack, struct calls_place at,
	enum role role, enum role wanted)
{
	const uint32_t *frames = &m->c->p->stack_frames.v[stack->first];
	struct calls_place to = at;
	enum role found = role;

	while (to.frame < stack->nr &&
		(found = m->roles.v[m->first[frames[to.frame]] + to.node]) == role)
		to = outwards(m, frames, to);
	return to.frame < stack->nr && (wanted == ROLE_PROGRAM || found == wanted) ? to : at;
}

/* Return the position after STACK's outermost allocator; the root if nothing follows. */
static struct calls_place
skip_allocators(const struct maker *m, const struct profile_stack *stack)
{
	const uint32_t *frames = &m->c->p->stack_frames.v[stack->first];
	struct calls_place ret = { 0, 0 };
	size_t i = stack->nr;

	while (i > 0 && !m->nr_allocators[frames[i - 1]])
		i--;
	if (!i)
		return ret;
	ret = (struct calls_place){ i - 1, m->nr_allocators[frames[i - 1]] };
	if (m->first[frames[i - 1]] + ret.node < m->first[frames[i - 1] + 1])
		return ret;
	return (struct calls_place){ i < stack->nr ? i : i - 1, 0 };
}

/*
 * Return the start of the user's part of STACK: after the outermost allocator, whose callees are
 * internal; after the language library that the program called to allocate; and, if a Python
 * function runs, after the interpreter.
 */
static struct calls_place
find_user(const struct maker *m, const struct profile_stack *stack)
{
	struct calls_place at = { 0, 0 };

	if (m->c->options.has_allocators)
		return at;
	at = skip_allocators(m, stack);
	at = skip_role(m, stack, at, ROLE_HELPER, ROLE_PROGRAM);
	return skip_role(m, stack, at, ROLE_INTERPRETER, ROLE_SCRIPT);
}

/* True if node K of all frames is shown. */
static bool
is_in_view(const struct maker *m, size_t k)
{
	return m->c->options.view == CALLS_VIEW_ALL || m->roles.v[k] == ROLE_SCRIPT;
}

static int
add_step(struct maker *m, uint32_t node, uint32_t line, struct err *e)
{
	uint32_t *step = array_add(&m->path), *its_line = array_add(&m->path_lines);

	if (!step || !its_line)
		return calls_no_memory(e);
	*step = node;
	*its_line = line;
	return 0;
}

/* Store the nodes of STACK in m->path, and their MATCH_ bits in *RET. */
static int
make_path(struct maker *m, const struct profile_stack *stack, uint8_t *ret, struct err *e)
{
	const uint32_t *frames = &m->c->p->stack_frames.v[stack->first];
	struct calls_place at = find_user(m, stack);

	m->path.nr = m->path_lines.nr = 0;
	*ret = 0;
	for (size_t i = at.frame; i < stack->nr; i++, at.node = 0)
		for (size_t k = m->first[frames[i]] + at.node; k < m->first[frames[i] + 1]; k++) {
			uint32_t node = m->of_frames.v[k];

			*ret |= m->matches.v[node];
			if (m->matches.v[node] & MATCH_HIDE || !is_in_view(m, k))
				continue;
			/* Calls within an object are not steps. */
			if (m->c->options.by == CALLS_BY_OBJECT && m->path.nr &&
				m->path.v[m->path.nr - 1] == node)
				continue;
			if (add_step(m, node, m->lines.v[k], e) < 0)
				return -1;
		}
	return !m->path.nr && (!stack->nr || m->c->options.view == CALLS_VIEW_PYTHON)
		? add_step(m, m->rest, 0, e)
		: 0;
}

static int
add_to_group(struct calls_groups *groups, struct hash *h, struct calls_group like, struct err *e)
{
	uint32_t hash = hash_pair(like.thread_1, like.size_bytes);
	const struct hash_slot *slot;
	struct calls_group *g;

	for (size_t at = hash; (slot = hash_next(h, hash, &at));) {
		g = &groups->v[slot->number_1 - 1];
		if (g->thread_1 == like.thread_1 && g->size_bytes == like.size_bytes) {
			g->value = profile_sum(g->value, like.value);
			return 0;
		}
	}
	g = array_add(groups);
	if (!g || hash_add(h, hash, groups->nr - 1) < 0)
		return calls_no_memory(e);
	*g = like;
	return 0;
}

/* Keep the lines of m->path, in the order of the steps. */
static int
add_step_lines(struct maker *m, struct err *e)
{
	struct calls *c = m->c;

	if (array_reserve(&c->step_lines, c->steps.room) < 0)
		return calls_no_memory(e);
	for (size_t i = m->path_lines.nr; i-- > 0;)
		c->step_lines.v[c->step_lines.nr++] = m->path_lines.v[i];
	return 0;
}

/* Add m->path with VALUE of SAMPLE: to the whole path at its leaf, and once to each node. */
static int
calls_add_path(struct maker *m, size_t sample, int64_t value, struct err *e)
{
	struct calls *c = m->c;
	struct calls_path *path = array_add(&c->paths);
	struct calls_node *leaf = m->path.nr ? &c->nodes.v[m->path.v[0]] : NULL;

	/* Allocate at least one step: a path without steps needs an address, too. */
	if (!path ||
		(c->steps.room - c->steps.nr <= m->path.nr &&
			array_reserve(&c->steps, 2 * (c->steps.nr + m->path.nr) + 1) < 0))
		return calls_no_memory(e);
	*path = (struct calls_path){ c->steps.nr, (uint32_t)m->path.nr, (uint32_t)sample, value };
	if (c->options.is_whole && add_step_lines(m, e) < 0)
		return -1;
	c->shown = profile_sum(c->shown, value);
	c->shown_total = profile_sum(c->shown_total, value < 0 ? -value : value);
	if (leaf)
		leaf->flat = profile_sum(leaf->flat, value);
	for (size_t i = m->path.nr; i-- > 0;) {
		uint32_t node = m->path.v[i];

		c->steps.v[c->steps.nr++] = node;
		if (m->seen[node] == c->paths.nr)
			continue;
		m->seen[node] = (uint32_t)c->paths.nr;
		c->nodes.v[node].cum = profile_sum(c->nodes.v[node].cum, value);
	}
	return 0;
}

static int
calls_add_samples(struct maker *m, struct err *e)
{
	const struct profile *p = m->c->p;
	bool has_focus = m->filter[0].is_set;
	auto_free bool *is_counted = calloc(p->stacks.nr + 1, sizeof *is_counted);
	uint8_t found;

	if (!is_counted)
		return calls_no_memory(e);
	for (size_t i = 0; i < p->samples.nr; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		int64_t value = profile_values(p, i)[m->c->options.type];

		if (!value && !m->c->options.is_whole)
			continue;
		m->c->total = profile_sum(m->c->total, value < 0 ? -value : value);
		if (make_path(m, &p->stacks.v[s->stack], &found, e) < 0)
			return -1;
		if ((found & MATCH_IGNORE) || (has_focus && !(found & MATCH_FOCUS)))
			continue;
		m->c->nr_stacks += !is_counted[s->stack];
		is_counted[s->stack] = true;
		if (calls_add_path(m, i, value, e) < 0 ||
			(s->thread_1 &&
				add_to_group(&m->c->threads, &m->by_group[0],
					(struct calls_group){ s->thread_1, 0, value }, e) < 0) ||
			(s->size_bytes &&
				add_to_group(&m->c->sizes, &m->by_group[1],
					(struct calls_group){ 0, s->size_bytes, value }, e) < 0))
			return -1;
	}
	return 0;
}

/* ---- the whole ---- */

static int
calls_by_value(const void *a, const void *b)
{
	const struct calls_group *x = a, *y = b;

	if (x->size_bytes != y->size_bytes)
		return x->size_bytes < y->size_bytes ? -1 : 1;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return (x->thread_1 > y->thread_1) - (x->thread_1 < y->thread_1);
}

static void
sort_groups(struct calls_groups *groups)
{
	if (groups->nr)
		qsort(groups->v, groups->nr, sizeof *groups->v, calls_by_value);
}

int
calls_make(struct calls *c, const struct profile *p, const struct calls_options *options,
	struct err *e)
{
	auto_maker struct maker m = { .c = c };

	c->p = p;
	c->options = *options;
	if (find_allocators(&m, e) < 0 || compile(&m.filter[0], "focus", options->focus, e) < 0 ||
		compile(&m.filter[1], "ignore", options->ignore, e) < 0 ||
		compile(&m.filter[2], "hide", options->hide, e) < 0 || add_frames(&m, e) < 0 ||
		calls_add_samples(&m, e) < 0)
		return -1;
	sort_groups(&c->threads);
	sort_groups(&c->sizes);
	return 0;
}

int
calls_make_whole(struct calls *c, const struct calls *like, struct err *e)
{
	struct calls_options options = like->options;

	options.is_whole = true;
	return calls_make(c, like->p, &options, e);
}

struct calls_order {
	const struct calls *c;
	bool by_cum;
};

/* Compare absolute values: in a difference, shrinkage matters as much as growth. */
static int
compare_sizes(int64_t a, int64_t b)
{
	uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;

	return (x < y) - (x > y);
}

static int
by_flat(const void *a, const void *b, void *arg)
{
	const struct calls_order *o = arg;
	const struct calls_node *x = &o->c->nodes.v[*(const uint32_t *)a];
	const struct calls_node *y = &o->c->nodes.v[*(const uint32_t *)b];
	int r = o->by_cum ? compare_sizes(x->cum, y->cum) : compare_sizes(x->flat, y->flat);

	if (!r)
		r = o->by_cum ? compare_sizes(x->flat, y->flat) : compare_sizes(x->cum, y->cum);
	return r ? r : strcmp(x->name, y->name);
}

uint32_t *
calls_order(const struct calls *c, bool by_cum)
{
	uint32_t *order = calloc(c->nodes.nr + 1, sizeof *order);
	struct calls_order how = { c, by_cum };

	for (size_t i = 0; order && i < c->nodes.nr; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, c->nodes.nr, sizeof *order, by_flat, &how);
	return order;
}

double
calls_share(const struct calls *c, int64_t value)
{
	return c->total ? (double)value / (double)c->total : 0;
}

double
calls_share_of_shown(const struct calls *c, int64_t value)
{
	double size = value < 0 ? -(double)value : (double)value;

	return c->shown_total ? size / (double)c->shown_total : 0;
}
