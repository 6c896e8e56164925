/*
 * holders: blocks that are held, and blocks that are lost, in every way that a program has.  It
 * says
 * one line for each block, "held WAY ADDRESS" or "lost WAY ADDRESS"; "hidden": the program has the
 * address, but encoded, so that only the program can find it.  The addresses are in no other place:
 * what was left on stacks and in registers is overwritten.
 */
#include "tracee.h"

#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NR 10
#define noinline __attribute__((noinline))

struct node {
	struct node *next;
	char rest[40];
};

/* Nothing reads most of these: volatile keeps the compiler from leaving the stores out. */
static void *volatile global[NR];
static __thread void *volatile own[NR];
static struct node *volatile chain;
static char *volatile interior[NR];
static char *volatile ends[NR];
static volatile uintptr_t tagged[NR], high_tag[NR], xored[NR], inverse[NR];
static void *volatile *anonymous, *volatile *shared, *volatile *read_only;
static struct node *volatile list_of_large;
static void *volatile aligned[NR];
static volatile uintptr_t counted[NR], encoded_list;
static void *volatile plain[NR], *volatile reused[NR], *volatile apart;
/* As packed structures have them: at an address that is a multiple of 4, but not of 8. */
static struct __attribute__((packed, aligned(8))) half_aligned {
	uint32_t events;
	void *volatile p;
	uint32_t rest;
} packed[NR];
static char *volatile packed_mapping, *volatile packed_block;

/* Fill a block with what is no address. */
static void *
fill(void *p, size_t size)
{
	if (!p)
		tracee_fail("malloc");
	return memset(p, 0x5a, size);
}

static void *
new_block(size_t size)
{
	return fill(malloc(size), size);
}

static struct node *
new_node(struct node *next)
{
	struct node *n = new_block(sizeof *n);

	n->next = next;
	return n;
}

/* Say what P is, and leave nothing of it on the stack. */
static noinline void
tell(const char *what, const char *way, const void *p)
{
	tracee_say("%s %s %p", what, way, p);
}

/* ---- held ---- */

static noinline void
hold_in_data(void)
{
	for (int i = 0; i < NR; i++) {
		size_t size = 24 + 8 * (size_t)i;
		char *p;

		global[i] = new_block(size);
		tell("held", "global", global[i]);
		own[i] = new_block(size);
		tell("held", "tls", own[i]);
		chain = new_node(chain);
		tell("held", "chain", chain);
		p = new_block(200);
		interior[i] = p + 8 + 16 * i;
		tell("held", "interior", p);
		p = new_block(40);
		ends[i] = p + malloc_usable_size(p);
		tell("held", "end", p);
		p = new_block(72);
		tagged[i] = (uintptr_t)p | 5;
		tell("held", "low-tag", p);
	}
}

/* A type, to memdiag: a named object that blocks have the address of. */
struct operations {
	void (*run)(void);
	long flags;
};
extern const struct operations operations;
const struct operations operations = { .flags = 1 };
static const struct operations **volatile operated;

static noinline void
hold_type(void)
{
	const struct operations **p = new_block(100);

	*p = &operations;
	operated = p;
	tell("held", "static", p);
}

static noinline void *
map_words(int flags)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tracee_fail("mmap");
	return p;
}

static noinline void
hold_in_mappings(void)
{
	anonymous = map_words(MAP_PRIVATE);
	shared = map_words(MAP_SHARED);
	read_only = map_words(MAP_PRIVATE);
	for (int i = 0; i < NR; i++) {
		anonymous[i * 3] = new_block(33);
		tell("held", "mapping", anonymous[i * 3]);
		shared[i * 3] = new_block(34);
		tell("held", "shared", shared[i * 3]);
		read_only[i * 3] = new_block(35);
		tell("held", "read-only", read_only[i * 3]);
	}
	if (mprotect((void *)(uintptr_t)read_only, 4096, PROT_READ) < 0)
		tracee_fail("mprotect");
}

/* Blocks with their own mappings that hold each other, and small ones at their ends. */
static noinline void
hold_in_large(void)
{
	for (int i = 0; i < NR; i++) {
		void **p = aligned_alloc(65536, 327680);

		aligned[i] = fill(p, 327680);
		p[1000] = new_block(42);
		tell("held", "own-aligned-mapping", p);
		tell("held", "in-aligned-mapping", p[1000]);
	}
	for (int i = 0; i < NR; i++) {
		size_t size = (size_t)300000 + 4096 * (size_t)i;
		struct node *large = new_block(size);

		large->next = list_of_large;
		list_of_large = large;
		tell("held", "own-mapping", large);
		*(void **)((char *)large + (malloc_usable_size(large) & -8UL) - 8) = new_block(41);
		tell("held", "end-of-own-mapping",
			*(void **)((char *)large + (malloc_usable_size(large) & -8UL) - 8));
	}
}

static noinline void
hold_in_keys(void)
{
	for (int i = 0; i < 40; i++) {
		pthread_key_t key;
		void *p = new_block(50);

		if (pthread_key_create(&key, NULL) != 0 || pthread_setspecific(key, p) != 0)
			tracee_fail("pthread_key_create");
		tell("held", i < 32 ? "key" : "second-level-key", p);
	}
}

static void
on_exit_does_nothing(int status, void *arg)
{
	(void)status;
	(void)arg;
}

static noinline void
hold_in_exit(void)
{
	for (int i = 0; i < NR; i++) {
		void *p = new_block(60);

		on_exit(on_exit_does_nothing, p);
		tell("held", "on-exit", p);
	}
}

/* ---- held by threads ---- */

static atomic_int nr_threads_ready;

static noinline void
fill_stack(void **p)
{
	for (int i = 0; i < NR; i++) {
		p[i] = new_block(70);
		tell("held", "stack", p[i]);
		own[i] = new_block(71);
		tell("held", "tls-of-thread", own[i]);
	}
}

static void *
hold_on_stack(void *arg)
{
	void *p[NR];

	fill_stack(p);
	__asm__ volatile("" ::"r"(p) : "memory");
	tracee_scrub();
	nr_threads_ready++;
	tracee_wait_for_ever(arg);
	__asm__ volatile("" ::"r"(p) : "memory");
	return NULL;
}

#if defined __x86_64__
/* Overwrite the red zone as well, and wait without touching memory. */
#define WAIT_WITH(move)                                                                            \
	move "\n\txor %0, %0\n\tmovq $0, %1\n\tlea -128(%%rsp), %%rdi\n\t"                         \
	     "xor %%eax, %%eax\n\tmov $16, %%ecx\n\trep stosq\n1:\tpause\n\tjmp 1b"

static void *
hold_in_register(void *arg)
{
	void *p = new_block(80);

	(void)arg;
	tell("held", "register", p);
	tracee_scrub();
	nr_threads_ready++;
	__asm__ volatile(WAIT_WITH("mov %0, %%r12")
			 : "+r"(p), "=m"(arg)
			 :
			 : "r12", "rax", "rcx", "rdi", "memory");
	return NULL;
}

static void *
hold_in_vector_register(void *arg)
{
	void *p = new_block(81);

	(void)arg;
	tell("held", "vector-register", p);
	tracee_scrub();
	nr_threads_ready++;
	__asm__ volatile(WAIT_WITH("movq %0, %%xmm9")
			 : "+r"(p), "=m"(arg)
			 :
			 : "xmm9", "rax", "rcx", "rdi", "memory");
	return NULL;
}
#endif

/* A coroutine that is suspended: only its stack, in a mapping, has the addresses. */
static ucontext_t outside, inside;

static noinline void
fill_coroutine(void **p)
{
	for (int i = 0; i < NR; i++) {
		p[i] = new_block(90);
		tell("held", "coroutine", p[i]);
	}
}

static void
run_coroutine(void)
{
	void *p[NR];

	fill_coroutine(p);
	__asm__ volatile("" ::"r"(p) : "memory");
	swapcontext(&inside, &outside);
	__asm__ volatile("" ::"r"(p) : "memory");
}

static noinline void
hold_in_coroutine(void)
{
	const size_t size = 256 * 1024;

	getcontext(&inside);
	inside.uc_stack.ss_size = size;
	inside.uc_stack.ss_sp =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	inside.uc_link = &outside;
	makecontext(&inside, run_coroutine, 0);
	swapcontext(&outside, &inside);
}

/* ---- lost ---- */

static noinline void
lose_blocks(void)
{
	for (int i = 0; i < NR; i++) {
		struct node *a, *b, *c;
		void *p = new_block(100);

		tell("lost", "single", p);
		a = new_node(NULL);
		a->next = a;
		tell("lost", "self", a);
		a = new_node(new_node(new_node(NULL)));
		for (b = a; b; b = b->next)
			tell("lost", "list", b);
		a = new_node(NULL);
		b = new_node(a);
		c = new_node(b);
		a->next = c;
		tell("lost", "ring", a);
		tell("lost", "ring", b);
		tell("lost", "ring", c);
		p = new_block(400000);
		tell("lost", "own-mapping", p);
	}
}

/* What a freed block points to is lost: one in a thread's cache, and one in a bin. */
static noinline void
lose_in_freed(void)
{
	for (int i = 0; i < NR; i++) {
		struct node *cached = new_node(new_node(NULL)), **large = new_block(4000);

		tell("lost", "held-by-cached", cached->next);
		/* Not in the first words, which malloc overwrites. */
		memcpy(cached->rest + 24, &cached->next, sizeof cached->next);
		large[20] = new_node(NULL);
		tell("lost", "held-by-freed", large[20]);
		free(large);
		free(cached);
	}
}

/*
 * A chunk that was in a bin has the addresses of the headers of others, which are the last bytes of
 * the blocks before them.
 */
static noinline void
lose_before_reused(void)
{
	for (int i = 0; i < NR; i++) {
		tell("lost", "before-reused", new_block(2000));
		reused[i] = new_block(3000);
	}
	apart = new_block(24); /* else the last one becomes part of the top */
	for (int i = 0; i < NR; i++)
		free(reused[i]);
	for (int i = 0; i < NR; i++) {
		reused[i] = malloc(3000); /* not written */
		tell("held", "reused", reused[i]);
	}
}

/* main_arena.top is the address of the end of the last block. */
static noinline void
lose_last(void)
{
	void *p = new_block(130 * 1000);

	tell("lost", "last-of-the-heap", p);
}

static noinline void
fill_dead_stack(void **p)
{
	for (int i = 0; i < NR; i++) {
		p[i] = new_block(110);
		tell("lost", "dead-stack", p[i]);
	}
}

static void *
lose_on_stack(void *arg)
{
	void *p[NR];

	fill_dead_stack(p);
	__asm__ volatile("" ::"r"(p) : "memory");
	return arg;
}

#define PIECE (1024 * 1024)

/* Store P at AT, which is a multiple of 4. */
static noinline void
store_packed(char *at, void *p)
{
	memcpy(at, &p, sizeof p);
}

/*
 * Hide blocks in pointers at every fourth byte: in data, and where memdiag's reading in pieces of
 * 1 MiB divides them, in a mapping and in a block.
 */
static noinline void
hide_in_packed(void)
{
	packed_mapping =
		mmap(NULL, 3 * PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (packed_mapping == MAP_FAILED)
		tracee_fail("mmap");
	memset(packed_mapping, 0, 3 * PIECE);
	packed_block = new_block(3 * PIECE);
	tell("held", "block-with-packed", packed_block);
	for (int i = 0; i < NR; i++) {
		void *p = new_block(130);

		packed[i].p = p;
		tell("hidden", "packed", p);
	}
	for (int i = 1; i <= 2; i++) {
		void *p = new_block(131);

		store_packed(packed_mapping + (size_t)i * PIECE - 4, p);
		tell("hidden", "packed-in-mapping", p);
		p = new_block(132);
		store_packed(packed_block + (size_t)i * PIECE - 4, p);
		tell("hidden", "packed-in-block", p);
	}
}

/* A list whose blocks are linked to each other, but whose head is encoded; and others like them. */
static noinline void
hide_list(void)
{
	struct node *first = NULL;

	for (int i = 0; i < 2 * NR; i++) {
		struct node *n = new_block(152);

		n->next = first;
		first = n;
		tell("hidden", "encoded-list", n);
	}
	encoded_list = (uintptr_t)first ^ (uintptr_t)0x1234567812345678;
	for (int i = 0; i < NR; i++) {
		plain[i] = new_block(152);
		tell("held", "like-encoded-list", plain[i]);
	}
}

static noinline void
hide_blocks(void)
{
	for (int i = 0; i < NR; i++) {
		void *p = new_block(120);

		high_tag[i] = (uintptr_t)p | (uintptr_t)0xa5 << 56;
		tell("hidden", "high-tag", p);
		p = new_block(123);
		counted[i] = (uintptr_t)p | (uintptr_t)(0x8001 + i) << 48;
		tell("hidden", "counter", p);
		p = new_block(121);
		xored[i] = (uintptr_t)p ^ (uintptr_t)0x1234567812345678;
		tell("hidden", "xor", p);
		p = new_block(122);
		inverse[i] = ~(uintptr_t)p;
		tell("hidden", "inverse", p);
	}
}

/* ---- all of it ---- */

static void
start(void *(*run)(void *))
{
	int before = nr_threads_ready;

	tracee_thread(run, NULL);
	while (nr_threads_ready == before)
		usleep(1000);
}

int
main(void)
{
	pthread_t ended;

	setvbuf(stdout, NULL, _IONBF, 0);
	start(hold_on_stack);
#if defined __x86_64__
	start(hold_in_register);
	start(hold_in_vector_register);
#endif
	/* Its stack stays, as no thread begins later. */
	if (pthread_create(&ended, NULL, lose_on_stack, NULL) != 0 ||
		pthread_join(ended, NULL) != 0)
		tracee_fail("pthread_create");
	hold_in_data();
	hold_type();
	hold_in_mappings();
	hold_in_large();
	hold_in_keys();
	hold_in_exit();
	hold_in_coroutine();
	lose_blocks();
	lose_in_freed();
	lose_before_reused();
	hide_blocks();
	hide_in_packed();
	hide_list();
	lose_last();
	tracee_scrub();
	tracee_ready();
	return tracee_park();
}
