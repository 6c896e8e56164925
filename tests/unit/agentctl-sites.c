/*
 * The sites of a profile as the agent's own code writes them, read by memdiag: every stack and
 * counter is what was written.  Then the file is damaged, and whatever is in it, reading ends,
 * reads nothing else, and no number comes out that cannot be.
 *
 *	agentctl-sites [FIRST-SEED [SEEDS]]
 */
#include <config.h>

#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

#include "agent/note/sites.c"
#include "capture/top.c"

#include "agentdata/collect.h"
#include "agentdata/sites.h"
#include "os/os.h"
#include "os/target.h"
#include "profile/write-heap.h"

#define MAX_NODES 20000
#define MAX_SITES 600
#define NR_STACKS 200
#define MAX_DEPTH 60

/* ---- an image, and what is in it ---- */

struct written {
	uint64_t frame[MAX_DEPTH]; /* the root first */
	uint32_t nr;
	uint64_t size;
	uint32_t tid;
	uint32_t site;
	struct wire_amount allocated, freed;
	bool is_mapped;
};

static struct written written[NR_STACKS];
static int image_fd = -1;
static unsigned int seed;

static uint32_t
some(uint32_t below)
{
	return (uint32_t)rand_r(&seed) % below;
}

static uint64_t
some_64(void)
{
	return (uint64_t)some(1u << 30) << 34 ^ (uint64_t)some(1u << 30) << 17 ^ some(1u << 30);
}

/* A function of an interpreter, as stack.c writes it: some FRAMES are. */
static const char *
code_text(uint64_t frame, char *buf, size_t size)
{
	const int len = snprintf(buf, size, "/a/path/%u.py", (unsigned int)(frame % 7)) + 1;

	snprintf(buf + len, size - (size_t)len, "function_%" PRIx64, frame);
	return buf;
}

static bool
is_code(uint64_t frame)
{
	return frame % 3 == 0;
}

static uint32_t
code_number(uint64_t frame)
{
	char text[200] = "";
	uint32_t node = 0;
	size_t len;

	code_text(frame, text, sizeof text);
	len = strlen(text) + 1;
	len += strlen(text + len);
	for (size_t i = 0; i < len; i += WIRE_TEXT_BYTES) {
		uint64_t value = 0;

		for (size_t k = i; k < i + WIRE_TEXT_BYTES; k++)
			value = value << 8 | (k < len ? (unsigned char)text[k] : 0);
		node = sites_child(node, wire_label(WIRE_LABEL_TEXT, value));
	}
	return sites_child(node, wire_label(WIRE_LABEL_LINE, frame % 1000));
}

/*
 * As sample.c does: frames from the root, the size, the thread; of mappings, as sample-mappings.c
 * does, that they are.
 */
static void
write_stack(struct written *w)
{
	uint32_t node = 0;

	for (uint32_t i = 0; i < w->nr; i++)
		node = sites_child(node,
			is_code(w->frame[i]) ? wire_label(WIRE_LABEL_CODE, code_number(w->frame[i]))
					     : w->frame[i]);
	node = sites_child(node,
		w->is_mapped ? wire_label(WIRE_LABEL_MAPPED, 0)
			     : wire_label(WIRE_LABEL_SIZE, wire_size_class(w->size)));
	node = sites_child(node, wire_label(WIRE_LABEL_THREAD, w->tid));
	if (w->is_mapped) {
		w->site = sites_of_mapping(node);
		sites_map(w->site, w->allocated);
		sites_unmap(w->site, w->freed);
		return;
	}
	w->site = sites_of(node);
	sites_add(w->site, w->allocated);
	sites_subtract(w->site, w->freed, false);
}

/* Stacks that share their outer frames with an earlier one; some are an earlier one as a whole. */
static void
make_stack(struct written *w, const struct written *earlier, uint32_t number)
{
	uint32_t shared = earlier ? some(earlier->nr + 1) : 0;

	*w = (struct written){ .size = 1 + some(100000), .tid = 1 + number, .is_mapped = !some(4) };
	if (earlier && some(5) == 0)
		shared = earlier->nr;
	if (shared)
		memcpy(w->frame, earlier->frame, shared * sizeof *w->frame);
	w->nr = shared;
	while (earlier && shared < earlier->nr && w->nr < MAX_DEPTH && some(4))
		w->frame[w->nr++] = 0x400000 + some(50);
	while (!w->nr || (!earlier && w->nr < MAX_DEPTH && some(20)))
		w->frame[w->nr++] = 0x7f0000000000 + some_64() % 100000;
	w->allocated =
		(struct wire_amount){ WIRE_BLOCK_UNITS * (1 + some(100)), 1 + some(1 << 30) };
	w->freed = (struct wire_amount){ some((uint32_t)w->allocated.units),
		some((uint32_t)w->allocated.bytes) };
}

static void
make_image(void)
{
	const struct wire_sites_size size = { MAX_NODES, MAX_SITES };
	const uint64_t bytes = wire_sites_make(NULL, &size);

	image_fd = memfd_create("sites", MFD_CLOEXEC);
	if (image_fd < 0 || ftruncate(image_fd, (off_t)bytes) < 0)
		exit(99);
	sites = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, image_fd, 0);
	if (sites == MAP_FAILED)
		exit(99);
	wire_sites_make(sites, &size);
	sites->pid = (uint32_t)getpid();
	sites->period_bytes = 524288;
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		make_stack(&written[i], i ? &written[some(i)] : NULL, i);
		write_stack(&written[i]);
	}
}

static void
drop_image(void)
{
	munmap(sites, sites->size_bytes);
	close(image_fd);
}

/* ---- what comes out of it ---- */

static struct target self = TARGET_NONE;

/* COPY of BYTES whose end is the end of what is mapped. */
static void *
guarded(void *copy, size_t bytes)
{
	const size_t page = 4096, whole = (bytes + page - 1) / page * page;
	char *at = mmap(
		NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + whole, page, PROT_NONE) < 0)
		exit(99);
	memcpy(at + whole - bytes, copy, bytes);
	free(copy);
	return at + whole - bytes;
}

static void
unguard(void *copy, size_t bytes)
{
	const size_t page = 4096, whole = (bytes + page - 1) / page * page;

	munmap((char *)copy + bytes - whole, whole + page);
}

/* Whether the path from NODE reaches the root: by marking each node that it has met. */
static bool
is_sound(const struct sites_copy *c, uint32_t site)
{
	bool *met = calloc(c->nr_nodes + 1, sizeof *met);
	uint32_t node = c->site[site].node, nr_frames = 0;
	bool is_good = node || site == WIRE_SITE_OF_NONE || site == WIRE_SITE_OF_NO_MAPPING;

	for (; is_good && node; node = c->node[node].parent) {
		is_good = node < c->nr_nodes && !met[node] &&
			(c->node[node].address >> 56 <= WIRE_LABEL_CUT ||
				c->node[node].address >> 56 == WIRE_LABEL_CODE ||
				c->node[node].address >> 56 == WIRE_LABEL_MAPPED);
		if (!is_good)
			break;
		met[node] = true;
		nr_frames += c->node[node].address >> 56 == WIRE_LABEL_NONE ||
			c->node[node].address >> 56 == WIRE_LABEL_CODE;
		is_good = nr_frames <= WIRE_MAX_PATH;
	}
	free(met);
	return is_good;
}

static bool
stacks_are_right(const struct sites_copy *c)
{
	for (uint32_t i = 1; i < c->nr_sites; i++) {
		struct sites_stack s;

		if (sites_stack(c, i, &s) != is_sound(c, i)) {
			printf("# site %u\n", i);
			return false;
		}
		if (s.nr > WIRE_MAX_PATH || (s.leaf && s.leaf >= c->nr_nodes))
			return false;
	}
	return true;
}

/*
 * Whether a profile can be made of C, which has no negative number, and written, unless its sum is
 * none that a file has.
 */
static bool
can_be_written(const struct sites_copy *c)
{
	const struct process process = { .target = &self };
	auto_profile struct profile *p = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct err e = { 0 };
	bool is_good = profile_collect(&p, c, &process, &e) == 0 &&
		(heap_write(p, f, false, &e) == 0 || e.code == EOVERFLOW);

	for (size_t i = 0; is_good && i < p->values.nr; i++)
		is_good = p->values.v[i] >= 0;
	fclose(f);
	free(text);
	if (!is_good)
		printf("# %s\n", e.msg);
	return is_good;
}

/* Stacks to find: fewer than there are. */
#define NR_TOP 3

static bool
has_top(const struct sites_copy *c)
{
	const struct process process = { .target = &self };
	struct profile_top t = { .is_sampling = true };
	struct err e = { 0 };
	bool is_good = top_fill(&t, c, &process, NR_TOP, NULL, &e) == 0 && t.bytes >= 0;

	for (uint32_t i = 0; is_good && i < t.nr_stacks; i++)
		is_good = t.stack[i].bytes > 0 && t.stack[i].bytes <= t.bytes &&
			t.stack[i].blocks >= 0 && t.stack[i].function &&
			(!i || t.stack[i].bytes <= t.stack[i - 1].bytes);
	profile_top_release(&t);
	return is_good;
}

/* Read the image, which may be anything: refused, or all that comes out is possible. */
static bool
survives(bool *ret_refused)
{
	struct sites_copy c;
	struct err e = { 0 };
	bool is_good;

	*ret_refused = sites_read_file(&c, image_fd, &e) < 0;
	if (*ret_refused) {
		sites_release(&c);
		return *e.msg;
	}
	if (c.nr_nodes > MAX_NODES || c.nr_sites > MAX_SITES) {
		sites_release(&c);
		return false;
	}
	c.node = guarded(c.node, c.nr_nodes * sizeof *c.node);
	c.site = guarded(c.site, c.nr_sites * sizeof *c.site);
	is_good = stacks_are_right(&c) && can_be_written(&c) && has_top(&c);
	unguard(c.node, c.nr_nodes * sizeof *c.node);
	unguard(c.site, c.nr_sites * sizeof *c.site);
	free(c.maps);
	free(c.seen);
	return is_good;
}

/* ---- as it was written ---- */

/* Whether FOUND is WANT, or the function that was written for it. */
static bool
is_frame(const struct sites_copy *c, uint64_t found, uint64_t want)
{
	struct sites_code code;
	char text[200] = "";

	if (!is_code(want))
		return found == want;
	code_text(want, text, sizeof text);
	return wire_label_of(found) == WIRE_LABEL_CODE && sites_code(c, found, &code) &&
		strcmp(code.file, text) == 0 &&
		strcmp(code.function, text + strlen(text) + 1) == 0 && code.line == want % 1000;
}

static bool
is_as_written(const struct sites_copy *c, const struct written *w)
{
	const struct wire_site *site = &c->site[w->site];
	struct sites_stack s;

	if (!sites_stack(c, w->site, &s) || s.nr != w->nr || s.tid != w->tid || s.is_cut ||
		s.is_mapped != w->is_mapped ||
		s.size_bytes != (w->is_mapped ? 0 : wire_size_class(w->size)))
		return false;
	for (uint32_t i = 0; i < w->nr; i++)
		if (!is_frame(c, s.frame[i], w->frame[w->nr - 1 - i]))
			return false;
	return site->allocated.bytes == w->allocated.bytes && site->freed.units == w->freed.units &&
		wire_site_live(site).bytes == w->allocated.bytes - w->freed.bytes;
}

static bool
is_same_stack(const struct written *a, const struct written *b)
{
	return a->nr == b->nr && memcmp(a->frame, b->frame, a->nr * sizeof *a->frame) == 0;
}

static bool
leaves_are_right(const struct sites_copy *c)
{
	for (uint32_t i = 0; i < NR_STACKS; i++)
		for (uint32_t k = 0; k < i; k++) {
			struct sites_stack a, b;

			if (!sites_stack(c, written[i].site, &a) ||
				!sites_stack(c, written[k].site, &b) ||
				(a.leaf == b.leaf) != is_same_stack(&written[i], &written[k]))
				return false;
		}
	return true;
}

/* The stack that holds most of what malloc gave, by comparing each with each. */
static uint64_t
most_of_a_stack(void)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < NR_STACKS; i++) {
		uint64_t sum = 0;

		for (uint32_t k = 0; k < NR_STACKS; k++)
			if (!written[k].is_mapped && is_same_stack(&written[i], &written[k]))
				sum += written[k].allocated.bytes - written[k].freed.bytes;
		most = sum > most ? sum : most;
	}
	return most;
}

/* Whether a profile of C has the sums of blocks, and of mappings, that were written. */
static bool
sums_are_apart(const struct sites_copy *c)
{
	static const char *const types[] = { "alloc_space", "mapped_alloc_space", "inuse_space",
		"mapped_space" };
	const struct process process = { .target = &self };
	auto_profile struct profile *p = NULL;
	int64_t want[4] = { 0 }, got[4] = { 0 };
	struct err e = { 0 };

	if (profile_collect(&p, c, &process, &e) < 0)
		return false;
	for (uint32_t i = 0; i < NR_STACKS; i++) {
		const struct written *w = &written[i];

		want[w->is_mapped] += (int64_t)w->allocated.bytes;
		want[2 + w->is_mapped] += (int64_t)(w->allocated.bytes - w->freed.bytes);
	}
	for (size_t i = 0; i < p->samples.nr; i++)
		for (int k = 0; k < 4; k++)
			got[k] += profile_values(p, i)[profile_find_type(p, types[k])];
	return want[1] && memcmp(want, got, sizeof want) == 0 && sites->mapped_bytes == want[3] &&
		sites->live_bytes == want[2];
}

/* Whether the sums of C are those of the blocks that were written. */
static bool
adds_up_blocks(const struct sites_copy *c)
{
	const struct sites_sum sum = sites_add_up(c);
	uint64_t allocated = 0, freed = 0;

	for (uint32_t i = 0; i < NR_STACKS; i++)
		if (!written[i].is_mapped) {
			allocated += written[i].allocated.bytes;
			freed += written[i].freed.bytes;
		}
	return sum.allocated.bytes == allocated && sum.freed.bytes == freed &&
		sum.live.bytes == allocated - freed;
}

static void
test_whole(void)
{
	const struct process process = { .target = &self };
	struct profile_top top = { .is_sampling = true };
	struct sites_copy c;
	struct err e = { 0 };
	bool is_right = true;

	if (!ok(sites_read_file(&c, image_fd, &e) == 0, "an image can be read"))
		return;
	for (uint32_t i = 0; i < NR_STACKS; i++)
		is_right &= is_as_written(&c, &written[i]);
	ok(is_right, "every stack and its counters are as they were written");
	ok(leaves_are_right(&c), "sites have one leaf if they have one stack");
	ok(top_fill(&top, &c, &process, NR_TOP, NULL, &e) == 0, "the greatest are found");
	is_u64((uint64_t)top.stack[0].bytes, most_of_a_stack(),
		"the first is the one that holds most");
	ok(can_be_written(&c), "and it can be written");
	ok(sums_are_apart(&c), "blocks and mappings are values of their own");
	ok(adds_up_blocks(&c), "the sums are of blocks alone");
	profile_top_release(&top);
	sites_release(&c);
}

/* As if threads had held back what they have added. */
static void
test_late_peak(void)
{
	const uint64_t period_bytes = sites->period_bytes;
	const int64_t peak_bytes = sites->peak_bytes;
	uint64_t peak = 0;
	struct sites_copy c;
	struct err e = { 0 };

	sites->period_bytes = 0;
	sites->peak_bytes = 288;
	if (ok(sites_read_file(&c, image_fd, &e) == 0, "a record can be read")) {
		for (uint32_t i = 0; i < NR_STACKS; i++)
			if (!written[i].is_mapped)
				peak += wire_site_peak(&c.head, &c.site[written[i].site]).bytes;
		is_u64((uint64_t)c.head.peak_bytes, (uint64_t)sites->live_bytes,
			"its peak is no less than what is live");
		is_u64(peak, (uint64_t)sites->live_bytes, "nor is that of its sites");
		sites_release(&c);
	}
	sites->period_bytes = period_bytes;
	sites->peak_bytes = peak_bytes;
}

/* ---- damage ---- */

static void
damage_head(void)
{
	((unsigned char *)sites)[some(sizeof *sites)] = (unsigned char)some(256);
}

static void
damage_numbers(void)
{
	static const uint32_t odd[] = { 0, 1, 2, MAX_SITES, MAX_SITES + 1, MAX_NODES, MAX_NODES + 1,
		UINT32_MAX, INT32_MAX };
	uint32_t *const number[] = { &sites->nr_nodes, &sites->nr_sites, &sites->max_nodes,
		&sites->max_sites, &sites->nr_buckets, &sites->epoch, &sites->header_bytes };

	*number[some(7)] = odd[some(9)];
	sites->period_bytes = some(2) ? some_64() << 1 : UINT64_MAX;
	sites->started_ns = some_64() << 1;
}

static void
damage_nodes(void)
{
	for (uint32_t i = some(20) + 1; i--;) {
		struct wire_node *n = &wire_nodes(sites)[some(sites->nr_nodes)];

		n->parent = some(3) ? some(sites->nr_nodes) : (uint32_t)some_64();
		if (some(3) == 0)
			n->address = some_64() << some(3);
	}
}

/* A frame that is called by one that it calls. */
static void
damage_into_rings(void)
{
	for (uint32_t i = some(5) + 1; i--;) {
		const uint32_t leaf = wire_site(sites, 1 + some(sites->nr_sites - 1))->node;
		uint32_t node = leaf;

		for (uint32_t up = some(MAX_DEPTH); up-- && wire_nodes(sites)[node].parent;)
			node = wire_nodes(sites)[node].parent;
		wire_nodes(sites)[node].parent = leaf;
	}
}

static void
damage_counters(void)
{
	for (uint32_t i = some(50) + 1; i--;) {
		uint64_t *word = (uint64_t *)&wire_site(sites, some(sites->nr_sites))->allocated;

		word[some(10)] = some(3) ? UINT64_MAX - some(3) : some_64() << 1;
	}
}

static void
damage_sites(void)
{
	for (uint32_t i = some(20) + 1; i--;)
		wire_site(sites, some(sites->nr_sites))->node =
			some(2) ? some(2 * MAX_NODES) : (uint32_t)some_64();
}

static void
damage_anything(void)
{
	unsigned char *byte = (unsigned char *)sites;

	for (uint32_t i = some(2000) + 1; i--;)
		byte[WIRE_SITES_HEADER_BYTES +
			some((uint32_t)sites->size_bytes - WIRE_SITES_HEADER_BYTES)] =
			(unsigned char)some(256);
}

static const struct {
	const char *name;
	void (*damage)(void);
	bool may_refuse;
} kind[] = {
	{ "a byte of the head", damage_head, true },
	{ "numbers of the head", damage_numbers, true },
	{ "nodes", damage_nodes, false },
	{ "rings", damage_into_rings, false },
	{ "counters", damage_counters, false },
	{ "sites", damage_sites, false },
	{ "bytes anywhere", damage_anything, false },
};

static void
test_damage(size_t k, int rounds)
{
	const uint64_t bytes = sites->size_bytes;
	void *whole = malloc(bytes);
	int nr_refused = 0, nr_bad = 0;

	memcpy(whole, sites, bytes);
	for (int i = 0; i < rounds; i++) {
		bool is_refused = false;

		kind[k].damage();
		nr_bad += !survives(&is_refused);
		nr_refused += is_refused;
		memcpy(sites, whole, bytes);
	}
	is_u64((uint64_t)nr_bad, 0, kind[k].name);
	ok(kind[k].may_refuse || !nr_refused, "%s: %d of %d are refused", kind[k].name, nr_refused,
		rounds);
	free(whole);
}

/* A file that ends too early, as of a full disk or a wrong file. */
static void
test_cut(int rounds)
{
	const uint64_t bytes = sites->size_bytes;
	const uint64_t used = sites->sites_at + sites->nr_sites * sizeof(struct wire_site);
	void *whole = malloc(bytes);
	int nr_wrong = 0;

	memcpy(whole, sites, bytes);
	for (int i = 0; i < rounds; i++) {
		const uint64_t len = some((uint32_t)bytes);
		bool is_refused = false;

		if (ftruncate(image_fd, (off_t)len) < 0)
			exit(99);
		nr_wrong += !survives(&is_refused) || is_refused != (len < used);
		if (ftruncate(image_fd, (off_t)bytes) < 0)
			exit(99);
		memcpy(sites, whole, bytes);
	}
	is_u64((uint64_t)nr_wrong, 0, "a file that is cut is refused where something is missing");
	free(whole);
}

int
main(int argc, char **argv)
{
	const unsigned int first = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	const unsigned int nr = argc > 2 ? (unsigned int)atoi(argv[2]) : 3;
	struct err e = { 0 };

	if (target_open(&self, getpid(), &e) < 0)
		exit(99);
	for (unsigned int i = first; i < first + nr; i++) {
		printf("# seed %u\n", i);
		seed = i;
		make_image();
		test_whole();
		test_late_peak();
		for (size_t k = 0; k < sizeof kind / sizeof *kind; k++)
			test_damage(k, tap_share(400));
		test_cut(tap_share(200));
		drop_image();
	}
	target_release(&self);
	return tap_end();
}
