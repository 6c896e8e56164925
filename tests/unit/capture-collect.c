/*
 * Profiles of what the agent's own code has noted: blocks and mappings come and go, by seeds, in
 * random stacks, and all
 * values of each sample are those of a list of our own; then what a profile says of what it lacks,
 * and of whose it is.
 *
 *	profile-collect [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/note/sites.c"

#include "agentdata/collect.h"
#include "agentdata/sites.h"
#include "capture/stack.h"
#include "seeds.h"

#define MAX_NODES 4000
#define MAX_SITES 200
#define NR_STACKS 20
#define MAX_DEPTH 6
#define NR_EVENTS 300
#define NR_VALUES 12

static const char *const types[NR_VALUES] = { "inuse_objects", "inuse_space", "alloc_objects",
	"alloc_space", "peak_objects", "peak_space", "temporary_objects", "temporary_space",
	"mapped_objects", "mapped_space", "mapped_alloc_objects", "mapped_alloc_space" };

static struct stack {
	uint64_t frame[MAX_DEPTH]; /* the root first */
	uint32_t nr, node, site, tid;
	uint64_t size;
	bool is_mapped;
	int64_t value[NR_VALUES]; /* what a sample is to have, in the order of TYPES */
} stacks[NR_STACKS];

static int image_fd = -1;

/* ---- what is noted ---- */

static bool
make_image(void)
{
	const struct wire_sites_size size = { MAX_NODES, MAX_SITES };
	const uint64_t bytes = wire_sites_make(NULL, &size);

	image_fd = memfd_create("sites", MFD_CLOEXEC);
	if (image_fd < 0 || ftruncate(image_fd, (off_t)bytes) < 0)
		return false;
	sites = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, image_fd, 0);
	if (sites == MAP_FAILED)
		return false;
	wire_sites_make(sites, &size);
	sites->pid = 4711;
	sites->started_ns = 1234567890;
	sites->period_bytes = 524288;
	return true;
}

static void
drop_image(void)
{
	munmap(sites, sites->size_bytes);
	close(image_fd);
}

/* The number of the stack is its leaf, so each has a site of its own. */
static void
make_stack(struct stack *s, uint32_t number)
{
	uint32_t node = 0;

	*s = (struct stack){
		.nr = 1 + (uint32_t)some(MAX_DEPTH), .tid = 100 + number, .is_mapped = some(4) == 0
	};
	s->size = 16 * (1 + some(60));
	for (uint32_t i = 0; i < s->nr; i++) {
		s->frame[i] = i + 1 < s->nr ? 0x400000 + some(10) : 0x500000 + number;
		node = sites_child(node, s->frame[i]);
	}
	s->node = node;
	node = sites_child(node,
		s->is_mapped ? wire_label(WIRE_LABEL_MAPPED, 0)
			     : wire_label(WIRE_LABEL_SIZE, wire_size_class(s->size)));
	node = sites_child(node, wire_label(WIRE_LABEL_THREAD, s->tid));
	s->site = s->is_mapped ? sites_of_mapping(node) : sites_of(node);
}

/* Add blocks and bytes to the pair of values that begins with FIRST. */
static void
change(struct stack *s, size_t first, int64_t blocks, int64_t bytes)
{
	s->value[first] += blocks;
	s->value[first + 1] += bytes;
}

/* All that are live now are at the peak. */
static void
note_peak(void)
{
	for (size_t i = 0; i < NR_STACKS; i++)
		if (!stacks[i].is_mapped)
			memcpy(&stacks[i].value[4], &stacks[i].value[0],
				2 * sizeof stacks[i].value[0]);
}

static void
map_or_unmap(struct stack *s, int64_t bytes)
{
	if (s->value[8] && some(2)) {
		/* All of them. */
		sites_unmap(s->site,
			(struct wire_amount){
				(uint64_t)s->value[8] * WIRE_BLOCK_UNITS, (uint64_t)s->value[9] });
		change(s, 8, -s->value[8], -s->value[9]);
		return;
	}
	sites_map(s->site, (struct wire_amount){ WIRE_BLOCK_UNITS, (uint64_t)bytes });
	change(s, 8, 1, bytes);
	change(s, 10, 1, bytes);
}

/* All blocks of a stack are gone or one more comes; LIVE and PEAK are sums of all stacks. */
static void
take_or_give(struct stack *s, int64_t bytes, int64_t *live, int64_t *peak)
{
	const int64_t blocks = 1 + (int64_t)some(5);
	const bool is_temporary = some(3) == 0;

	if (s->value[0] && some(2)) {
		sites_subtract(s->site,
			(struct wire_amount){
				(uint64_t)s->value[0] * WIRE_BLOCK_UNITS, (uint64_t)s->value[1] },
			is_temporary);
		*live -= s->value[1];
		if (is_temporary)
			change(s, 6, s->value[0], s->value[1]);
		change(s, 0, -s->value[0], -s->value[1]);
		return;
	}
	sites_add(s->site,
		(struct wire_amount){ (uint64_t)blocks * WIRE_BLOCK_UNITS, (uint64_t)bytes });
	*live += bytes;
	change(s, 0, blocks, bytes);
	change(s, 2, blocks, bytes);
	if (*live > *peak) {
		*peak = *live;
		note_peak();
	}
}

static void
play(void)
{
	int64_t live = 0, peak = 0;

	for (size_t i = 0; i < NR_EVENTS; i++) {
		struct stack *s = &stacks[some(NR_STACKS)];
		const int64_t bytes = 1 + (int64_t)some(100000);

		if (s->is_mapped)
			map_or_unmap(s, bytes);
		else
			take_or_give(s, bytes, &live, &peak);
	}
}

/* ---- what is collected ---- */

static bool
is_of_stack(const struct profile *p, size_t i, const struct stack *s)
{
	const struct profile_sample *got = &p->samples.v[i];
	const struct profile_stack *stack = &p->stacks.v[got->stack];

	return stack->nr == s->nr &&
		p->frames.v[p->stack_frames.v[stack->first]].address == s->frame[s->nr - 1];
}

static bool
check_sample(const struct profile *p, size_t i, const struct stack *s)
{
	const struct profile_sample *got = &p->samples.v[i];
	const struct profile_stack *stack = &p->stacks.v[got->stack];

	for (uint32_t k = 0; k < s->nr; k++)
		if (p->frames.v[p->stack_frames.v[stack->first + k]].address !=
			s->frame[s->nr - 1 - k])
			return FAIL("frame %u", k);
	if (got->size_bytes != (s->is_mapped ? 0 : wire_size_class(s->size)))
		return FAIL("blocks of %" PRIu64, got->size_bytes);
	if (!got->thread_1 || p->threads.v[got->thread_1 - 1].tid != s->tid)
		return FAIL("it is not of thread %u", s->tid);
	for (size_t k = 0; k < NR_VALUES; k++) {
		const int type = profile_find_type(p, types[k]);

		if (type < 0 || profile_values(p, i)[type] != s->value[k])
			return FAIL("%s is %" PRId64 ", not %" PRId64, types[k],
				type < 0 ? -1 : profile_values(p, i)[type], s->value[k]);
	}
	return true;
}

static bool
check_stack(const struct profile *p, const struct stack *s)
{
	const bool is_used = s->value[2] || s->value[10];
	size_t nr = 0;

	for (size_t i = 0; i < p->samples.nr; i++) {
		if (!is_of_stack(p, i, s))
			continue;
		if (!check_sample(p, i, s))
			return false;
		nr++;
	}
	return nr == is_used || FAIL("a stack has %zu samples", nr);
}

static bool
check(const struct sites_copy *c)
{
	auto_profile struct profile *p = NULL;
	struct err e = { 0 };

	if (profile_collect(&p, c, NULL, &e) < 0)
		return FAIL("%s", e.msg);
	if (p->pid != 4711 || p->time_ns != 1234567890 || p->period_bytes != 524288 ||
		p->types.nr != NR_VALUES)
		return FAIL("pid %" PRId64 ", time %" PRIu64 ", period %" PRId64, p->pid,
			p->time_ns, p->period_bytes);
	for (size_t i = 0; i < NR_STACKS; i++)
		if (!check_stack(p, &stacks[i]))
			return false;
	return true;
}

static bool
try(void)
{
	auto_sites struct sites_copy c = { .nr_nodes = 0 };
	struct err e = { 0 };
	bool is_good;

	if (!make_image())
		return FAIL("no memory for an image");
	for (uint32_t i = 0; i < NR_STACKS; i++)
		make_stack(&stacks[i], i);
	play();
	is_good = sites_read_file(&c, image_fd, &e) == 0 ? check(&c) : FAIL("%s", e.msg);
	drop_image();
	return is_good;
}

/* ---- what a profile lacks ---- */

/* Whether P has the comment TEXT. */
static bool
says(const struct profile *p, const char *text)
{
	for (size_t i = 0; i < p->comments.nr; i++)
		if (strcmp(p->comments.v[i], text) == 0)
			return true;
	return false;
}

static void
test_comments(void)
{
	struct sites_copy c;
	auto_profile struct profile *none = NULL, *all = NULL;
	struct err e = { 0 };

	if (!make_image() || sites_read_file(&c, image_fd, &e) < 0)
		exit(99);
	if (profile_collect(&none, &c, NULL, &e) < 0)
		exit(99);
	is_u64(none->comments.nr, 1, "a profile that lacks nothing says only that it began late");
	c.head.nr_lost = 3;
	c.head.nr_forgotten = 4;
	c.head.nr_missed = 5;
	c.head.no_room.units = 6 * WIRE_BLOCK_UNITS;
	c.head.nr_mappings_lost = 7;
	if (profile_collect(&all, &c, NULL, &e) < 0)
		exit(99);
	ok(says(all, "3 samples were lost in signal handlers"),
		"samples that were lost are a comment");
	ok(says(all, "4 blocks count as in use for good: no memory to know them"),
		"blocks that were forgotten are a comment");
	ok(says(all, "5 blocks that signal handlers freed count as in use"),
		"blocks whose free was missed are a comment");
	ok(says(all,
		   "6 blocks were not recorded: --max-overhead was reached, or there was no "
		   "memory"),
		"blocks without room are a comment");
	ok(says(all,
		   "7 calls of mmap and related functions, of signal handlers or without room, "
		   "were not noted"),
		"mappings that were lost are a comment");
	is_u64(all->comments.nr, 6, "nothing else is a comment");
	sites_release(&c);
	drop_image();
}

/* ---- build-ids of a process that has ended ---- */

/* The build-id in a profile of this program's file, if that has INODE. */
static void
read_build_id(const char *path, uint64_t inode, char *ret, size_t size)
{
	struct sites_copy c = { .nr_nodes = 0 };
	auto_profile struct profile *p = profile_new();
	struct err e;

	if (asprintf(&c.maps, "00400000-00401000 r-xp 00000000 08:01 %" PRIu64 "   %s\n", inode,
		    path) < 0 ||
		profile_map(p, &c, NULL, &e) < 0 || p->mappings.nr != 1)
		exit(99);
	snprintf(ret, size, "%s", p->mappings.v[0].build_id);
	free(c.maps);
}

/* The path may lead to another file by now. */
static void
test_build_ids(void)
{
	char path[4096] = "", right[128], wrong[128];
	struct stat st;

	if (readlink("/proc/self/exe", path, sizeof path - 1) < 0 || stat(path, &st) < 0)
		exit(99);
	read_build_id(path, st.st_ino, right, sizeof right);
	read_build_id(path, st.st_ino + 1, wrong, sizeof wrong);
	if (!*right)
		skip("the build-id of a file with the inode that was mapped",
			"this program has no build-id");
	else
		ok(strlen(right) >= 32, "the build-id of a file with the inode that was mapped");
	is_str(wrong, "", "a file with another inode has no build-id");
}

/* ---- one stack as text ---- */

static void
test_text(void)
{
	struct sites_copy c;
	char *text = NULL;
	struct err e = { 0 };
	uint32_t node = 0;

	if (!make_image())
		exit(99);
	node = sites_child(sites_child(sites_child(0, 0x400010), 0x400020), 0x400030);
	sites_add(sites_of(node), (struct wire_amount){ WIRE_BLOCK_UNITS, 5 });
	if (sites_read_file(&c, image_fd, &e) < 0)
		exit(99);
	ok(profile_stack_text(&text, &c, node, NULL, "> ", &e) == 0, "a stack is made text");
	is_str(text, "> 0x40002f\n> 0x40001f\n> 0x40000f\n",
		"the text is the calls, the innermost first");
	free(text);
	text = NULL;
	ok(profile_stack_text(&text, &c, 0, NULL, "", &e) < 0 && !text,
		"a node that is no stack is refused");
	sites_release(&c);
	drop_image();
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 200), try,
		"samples have what was allocated, freed, mapped, and at the peak");
	test_comments();
	test_build_ids();
	test_text();
	return tap_end();
}
