/*
 * random-graph SEED: a program that allocates, links and drops blocks at random, and says
 * "lost SIZE" for each block that nothing reaches in the end, and "heads N": how many groups of
 * them nothing leads to from another group, where a group is a block or the blocks of a ring.
 *
 * Each block has another size, and malloc gives as many bytes as were asked for, so a size names a
 * block.  Slots for addresses are in global variables, thread-local variables and stacks of two
 * threads, and in the blocks; some addresses are in the middle of a block.  What the program itself
 * knows of its blocks are numbers, and encoded addresses.
 *
 * "check" overwrites what is left on the stack and in registers, and with gcc -fsanitize=leak runs
 * the sanitizer's check.
 */
#include "tracee.h"

#define MAX_BLOCKS 200
#define NR_ROOTS 5
#define NR_SLOTS 3 /* of a root, and as many of a block are used */
#define KEY UINT64_C(0x123456789abcdef0)
#define NONE (-1)

enum { GLOBAL, TLS, STACK, TLS_OF_THREAD, STACK_OF_THREAD };

/* The slots of a root, or of a block. */
struct holder {
	uintptr_t encoded; /* the address of its slots; 0: freed */
	size_t bytes;
	int to[NR_SLOTS]; /* the block that each has an address of; NONE */
	bool is_reached, is_lost_below[MAX_BLOCKS];
};

static void *volatile global[NR_SLOTS];
static __thread void *volatile own[NR_SLOTS];
static struct holder root[NR_ROOTS], block[MAX_BLOCKS];
static int nr_blocks;
static uint64_t random_state;

int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* SplitMix64. */
static unsigned int
draw(unsigned int below)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (unsigned int)((z ^ z >> 31) % below);
}

static void
holder_init(struct holder *h, void *volatile *slots, size_t bytes)
{
	h->encoded = (uintptr_t)slots ^ KEY;
	h->bytes = bytes;
	for (int i = 0; i < NR_SLOTS; i++)
		h->to[i] = NONE;
}

static void *volatile *
holder_slots(const struct holder *h)
{
	return (void *volatile *)(h->encoded ^ KEY);
}

/* ---- changes ---- */

/* A root, or a block that is not freed. */
static struct holder *
any_holder(void)
{
	struct holder *h = &block[draw((unsigned int)nr_blocks + 1) % MAX_BLOCKS];

	return draw(4) && h->encoded ? h : &root[draw(NR_ROOTS)];
}

/* Store the address of block NR, or one in the middle of it. */
static void
store(struct holder *h, int slot, int nr)
{
	size_t at = draw(6) ? 0 : draw((unsigned int)block[nr].bytes);

	holder_slots(h)[slot] = (char *)(uintptr_t)holder_slots(&block[nr]) + at;
	h->to[slot] = nr;
}

static void
drop(struct holder *h, int slot)
{
	holder_slots(h)[slot] = NULL;
	h->to[slot] = NONE;
}

static void
allocate(void)
{
	struct holder *b = &block[nr_blocks];
	size_t bytes = 24 + 16 * (size_t)nr_blocks;
	void *p = calloc(1, bytes);

	if (!p)
		tracee_fail("calloc");
	holder_init(b, p, bytes);
	store(any_holder(), (int)draw(NR_SLOTS), nr_blocks++);
}

/* Free a block; no dangling address stays, because it could lead to a later block. */
static void
release(int nr)
{
	for (int i = 0; i < NR_ROOTS + nr_blocks; i++) {
		struct holder *h = i < NR_ROOTS ? &root[i] : &block[i - NR_ROOTS];

		for (int k = 0; k < NR_SLOTS; k++)
			if (h->encoded && h->to[k] == nr)
				drop(h, k);
	}
	free((void *)(uintptr_t)holder_slots(&block[nr]));
	block[nr].encoded = 0;
}

static void
change(void)
{
	int nr = nr_blocks ? (int)draw((unsigned int)nr_blocks) : NONE;

	switch (draw(nr < 0 ? 1 : 8)) {
	case 0:
	case 1:
	case 2:
		if (nr_blocks < MAX_BLOCKS)
			allocate();
		break;
	case 3:
	case 4:
		if (block[nr].encoded)
			store(any_holder(), (int)draw(NR_SLOTS), nr);
		break;
	case 5:
	case 6:
		drop(any_holder(), (int)draw(NR_SLOTS));
		break;
	default:
		if (block[nr].encoded && !draw(4))
			release(nr);
	}
}

/* ---- the truth ---- */

static void
reach(struct holder *h)
{
	for (int i = 0; i < NR_SLOTS; i++) {
		struct holder *to = h->to[i] < 0 ? NULL : &block[h->to[i]];

		if (to && !to->is_reached) {
			to->is_reached = true;
			reach(to);
		}
	}
}

static bool
is_lost(int nr)
{
	return block[nr].encoded && !block[nr].is_reached;
}

/* Which lost blocks lost ones lead to (Warshall's algorithm). */
static void
find_below(void)
{
	for (int i = 0; i < nr_blocks; i++)
		for (int k = 0; k < NR_SLOTS; k++)
			if (is_lost(i) && block[i].to[k] >= 0 && is_lost(block[i].to[k]))
				block[i].is_lost_below[block[i].to[k]] = true;
	for (int by = 0; by < nr_blocks; by++)
		for (int i = 0; i < nr_blocks; i++)
			for (int k = 0; block[i].is_lost_below[by] && k < nr_blocks; k++)
				block[i].is_lost_below[k] |= block[by].is_lost_below[k];
}

/* Whether NR is the first of its group, and nothing else leads to it. */
static bool
is_head(int nr)
{
	for (int i = 0; i < nr_blocks; i++)
		if (block[i].is_lost_below[nr] && i != nr &&
			(!block[nr].is_lost_below[i] || i < nr))
			return false;
	return is_lost(nr);
}

static void
say_truth(void)
{
	int heads = 0;

	for (int i = 0; i < NR_ROOTS; i++)
		reach(&root[i]);
	find_below();
	for (int i = 0; i < nr_blocks; i++) {
		if (is_lost(i))
			tracee_say("lost %zu", block[i].bytes);
		heads += is_head(i);
	}
	tracee_say("heads %d", heads);
}

/* ---- threads ---- */

static volatile bool has_thread;

static void *
run_thread(void *arg)
{
	void *volatile slots[NR_SLOTS] = { 0 };

	holder_init(&root[STACK_OF_THREAD], slots, sizeof slots);
	holder_init(&root[TLS_OF_THREAD], own, sizeof own);
	has_thread = true;
	tracee_wait_for_ever(arg);
	return slots[0];
}

static void __attribute__((noinline)) change_all(void)
{
	int nr = 100 + (int)draw(500);

	while (nr-- > 0)
		change();
	say_truth();
}

int
main(int argc, char **argv)
{
	void *volatile slots[NR_SLOTS] = { 0 };
	char line[64];

	random_state = (uint64_t)tracee_number(argc, argv, 1, 1);
	holder_init(&root[GLOBAL], global, sizeof global);
	holder_init(&root[TLS], own, sizeof own);
	holder_init(&root[STACK], slots, sizeof slots);
	tracee_thread(run_thread, NULL);
	while (!has_thread)
		usleep(100);
	change_all();
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		tracee_scrub();
		if (strcmp(line, "check") == 0 && __lsan_do_recoverable_leak_check)
			__lsan_do_recoverable_leak_check();
		tracee_say("checked");
	}
	/* Not by a return: valgrind looks at what main has then. */
	exit(tracee_end());
}
