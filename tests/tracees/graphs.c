/*
 * graphs SHAPE BLOCKS [LOST [THREADS]]: a program whose blocks point to each other in a way that is
 * known.
 *
 *	hash	chains of a hash table, a pointer in each block; blocks of 40 to 160 bytes
 *	tree	a tree with pointers to parents, two pointers for each block; 64 to 96 bytes
 *	cache	chains of a hash table and a doubly linked list, three pointers in each; 64 to 104
 *	list	a single list
 *	ring	the same, whose last block has the address of the first
 *	table	a block of BLOCKS pointers, to at most 100,000 blocks
 *	large	blocks with 200 pointers each, to random blocks
 *	sizes	blocks of sizes that all differ, which nothing holds
 *
 * LOST blocks of them are lost in addition: for each six a single block, a list of two and a ring
 * of three.  "graphs lost-SHAPE BLOCKS" loses all of them: nothing has the address of the first.
 * It says "lost BLOCKS" before it is ready.  THREADS more threads wait.
 *
 * With gcc -fsanitize=leak it answers "check" with how many microseconds the sanitizer's own
 * check takes, and how many of processor time.
 */
#include "tracee.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define NR_CHAINS ((size_t)1 << 20)
#define NR_TABLE 100000

struct node {
	struct node *p[3];
};

/* Volatile: nothing reads most of these. */
static void *volatile held;
static struct node *volatile lost[3];
static struct node **chains;
static struct node *newest, *first;
static size_t nr_blocks, nr_lost;
static uint64_t random_state = UINT64_C(88172645463325252);

int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static uint64_t
draw(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

/* A block of zeroes: a block that was not written has old addresses. */
static void *
new_block(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		tracee_fail("calloc");
	return p;
}

/* Memory that is not malloc's. */
static void *
map_array(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tracee_fail("mmap");
	return p;
}

/* ---- shapes ---- */

static void
add_to_hash(size_t i)
{
	struct node *n = new_block(40 + draw(121)), **chain = &chains[draw(NR_CHAINS)];

	(void)i;
	n->p[0] = *chain;
	*chain = n;
}

static void
add_to_cache(size_t i)
{
	struct node *n = new_block(64 + draw(41)), **chain = &chains[draw(NR_CHAINS)];

	(void)i;
	n->p[0] = *chain;
	n->p[1] = newest;
	*chain = n;
	if (newest)
		newest->p[2] = n;
	newest = n;
}

static struct node **nodes; /* while they are made */

static void
add_to_tree(size_t i)
{
	struct node *n = new_block(64 + draw(33));

	nodes[i] = n;
	if (!i)
		return;
	n->p[0] = nodes[(i - 1) / 2];
	nodes[(i - 1) / 2]->p[1 + (i - 1) % 2] = n;
}

static void
add_to_list(size_t i)
{
	struct node *n = new_block(sizeof *n);

	if (!i)
		first = n;
	n->p[0] = newest;
	newest = n;
}

static void
add_large(size_t i)
{
	void **p = new_block(200 * sizeof *p);

	nodes[i] = (struct node *)p;
	for (size_t k = 0; k < 200; k++)
		p[k] = nodes[k ? draw(i + 1) : i ? i - 1 : 0];
}

static void
add_size(size_t i)
{
	void *volatile p = new_block(24 + 16 * i);

	(void)p;
}

static void
make_table(void)
{
	void **p = new_block(nr_blocks * sizeof *p);
	size_t nr = nr_blocks < NR_TABLE ? nr_blocks : NR_TABLE;

	for (size_t i = 0; i < nr_blocks; i++)
		p[i] = i < nr ? new_block(24) : p[i - nr];
	held = p;
}

/* ---- lost blocks ---- */

/* Lose the block number I of those that are lost. */
static void
lose(size_t i)
{
	size_t at = i % 6, whole = nr_lost - nr_lost % 6;
	struct node *n = new_block(48);

	if (i >= whole || at == 0)
		return;
	if (at == 2 || at > 3)
		n->p[0] = lost[0];
	lost[0] = n;
	if (at == 3)
		lost[1] = n;
	if (at == 5)
		lost[1]->p[0] = n;
}

static void
make_nodes(void (*add)(size_t i))
{
	size_t step = nr_lost ? nr_blocks / nr_lost : 0, done = 0;

	for (size_t i = 0; i < nr_blocks; i++) {
		add(i);
		if (step && i % step == step / 2 && done < nr_lost)
			lose(done++);
	}
	while (done < nr_lost)
		lose(done++);
	lost[0] = lost[1] = NULL;
}

static void __attribute__((noinline)) make(const char *shape)
{
	const size_t array_bytes = nr_blocks * sizeof *nodes;

	if (strcmp(shape, "hash") == 0 || strcmp(shape, "cache") == 0) {
		held = chains = new_block(NR_CHAINS * sizeof *chains);
		make_nodes(*shape == 'h' ? add_to_hash : add_to_cache);
	} else if (strcmp(shape, "tree") == 0 || strcmp(shape, "large") == 0) {
		nodes = map_array(array_bytes);
		make_nodes(*shape == 't' ? add_to_tree : add_large);
		held = nodes[*shape == 't' ? 0 : nr_blocks - 1];
		munmap(nodes, array_bytes);
	} else if (strcmp(shape, "list") == 0 || strcmp(shape, "ring") == 0) {
		make_nodes(add_to_list);
		if (*shape == 'r')
			first->p[0] = newest;
		held = newest;
	} else if (strcmp(shape, "sizes") == 0) {
		make_nodes(add_size);
	} else if (strcmp(shape, "table") == 0) {
		make_table();
	} else {
		errno = EINVAL;
		tracee_fail(shape);
	}
	nodes = chains = NULL;
	newest = first = NULL;
}

/* ---- the check of the sanitizer ---- */

static uint64_t
cpu_us(int who)
{
	struct rusage use;

	getrusage(who, &use);
	return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
		(uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* The check runs in a process that shares this one's memory. */
static void
check(void)
{
	uint64_t cpu = cpu_us(RUSAGE_SELF) + cpu_us(RUSAGE_CHILDREN), start = tracee_now_ns();

	if (!__lsan_do_recoverable_leak_check) {
		tracee_say("no sanitizer");
		return;
	}
	__lsan_do_recoverable_leak_check();
	tracee_say("checked %lu %lu", (unsigned long)((tracee_now_ns() - start) / 1000),
		(unsigned long)(cpu_us(RUSAGE_SELF) + cpu_us(RUSAGE_CHILDREN) - cpu));
}

int
main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "list";
	bool is_lost = strncmp(shape, "lost-", 5) == 0;
	char line[64];

	nr_blocks = (size_t)tracee_number(argc, argv, 2, 1000);
	nr_lost = (size_t)tracee_number(argc, argv, 3, 0);
	make(is_lost ? shape + 5 : shape);
	if (is_lost)
		held = NULL;
	for (long i = tracee_number(argc, argv, 4, 0); i > 0; i--)
		tracee_thread(tracee_wait_for_ever, NULL);
	tracee_scrub();
	tracee_say("lost %zu", nr_lost);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		if (strcmp(line, "check") == 0)
			check();
		else
			tracee_say("what is '%s'?", line);
	return tracee_end();
}
