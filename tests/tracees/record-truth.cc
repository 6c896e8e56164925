/*
 * record-truth: allocate at random in every way that there is, and keep an account of each function that
 * does, beside which a record of the program is compared.
 *
 *	play SEED N THREADS	-> "done" when each of so many threads has done N steps and has ended; 0: this one does
 *	crowd SEED N TIMES	-> "done" when TIMES threads have done N steps each, one after the other
 *	deep N			-> "done" when N blocks were allocated, each by another stack
 *	swap TIMES		-> "done" when a block was freed by another thread, which took the address again
 *				   for one that this thread freed, so often
 *	huge BYTES		-> "done" when a block of BYTES was allocated, or "none"
 *	top			-> "done" when a block was there that made more in use than ever, and was freed
 *	busy SEED		-> "done" when three threads play without end
 *	drop			-> "done" when all blocks are freed
 *	reset			-> "done" when the account is at zero; blocks that are there are not of it
 *	fork SEED N FILE	-> the number of a child, which has ended, that has done N steps from zero and saved FILE
 *	save FILE		-> "done" when it is written: a line for each function with its name, and in bytes and
 *				   blocks what was allocated, is in use, was temporary, and was in use when most was; and
 *				   "before", what was freed of earlier blocks
 *
 * Temporary is what its own thread has freed before it allocated again.
 */
#include "tracee.h"

#include <atomic>
#include <fcntl.h>
#include <initializer_list>
#include <malloc.h>
#include <new>
#include <sys/wait.h>

namespace
{

const int NR_SITES = 16, NR_SLOTS = 1500, MAX_THREADS = 256;
const int DEEP_SITE = 14, TOP_SITE = 15;

/* ---- the account ---- */

struct amount {
	std::atomic<long long> bytes, blocks;

	void
	add(size_t size, int sign)
	{
		bytes.fetch_add(sign * static_cast<long long>(size));
		blocks.fetch_add(sign);
	}
};

struct account {
	amount allocated, live, temporary;
	long long peak_bytes, peak_blocks;
} accounts[NR_SITES];
amount before;
std::atomic<long long> in_use;
long long most_in_use;
int generation;

struct thread {
	unsigned int seed;
	bool is_alone;
	unsigned long long number; /* of what it allocated last, in the whole program */
};

struct block {
	void *at;
	size_t size, alignment;
	int site, generation;
	unsigned long long number;
};

std::atomic<unsigned long long> numbers;

void
keep_peak()
{
	if (in_use <= most_in_use)
		return;
	most_in_use = in_use;
	for (account &a : accounts) {
		a.peak_bytes = a.live.bytes;
		a.peak_blocks = a.live.blocks;
	}
}

void
note_taken(thread *t, block *b)
{
	account &a = accounts[b->site];

	b->generation = generation;
	b->number = t->number = ++numbers;
	a.allocated.add(b->size, 1);
	a.live.add(b->size, 1);
	in_use += static_cast<long long>(b->size);
	if (t->is_alone)
		keep_peak();
}

void
note_freed(const thread *t, const block *b, bool is_resized)
{
	account &a = accounts[b->site];

	if (b->generation != generation) {
		before.add(b->size, 1);
		return;
	}
	a.live.add(b->size, -1);
	in_use -= static_cast<long long>(b->size);
	if (!is_resized && t->number == b->number)
		a.temporary.add(b->size, 1);
}

/* ---- the functions ---- */

} // namespace

/* Not the last call of a function, which would leave no frame of it. */
#define SITE(k, call)                                                                              \
	extern "C" __attribute__((noinline)) void *site_##k(                                       \
		void *old, size_t size, size_t alignment)                                          \
	{                                                                                          \
		void *volatile p = call;                                                           \
                                                                                                   \
		(void)old, (void)alignment;                                                        \
		return p;                                                                          \
	}

static void *
posix_aligned(size_t alignment, size_t size)
{
	void *p;

	return posix_memalign(&p, alignment, size) ? nullptr : p;
}

SITE(0, malloc(size))
SITE(1, calloc(1, size))
SITE(2, calloc(size, 1))
SITE(3, realloc(old, size))
SITE(4, realloc(nullptr, size))
SITE(5, memalign(alignment, size))
SITE(6, posix_aligned(alignment, size))
SITE(7, aligned_alloc(alignment, size))
SITE(8, valloc(size))
SITE(9, ::operator new(size))
SITE(10, ::operator new[](size))
SITE(11, ::operator new(size, std::nothrow))
SITE(12, ::operator new(size, std::align_val_t(alignment)))
SITE(13, malloc(size))
SITE(14, malloc(size))
SITE(15, malloc(size))

namespace
{

void *(*const site[NR_SITES])(void *, size_t, size_t) = { site_0, site_1, site_2, site_3, site_4,
	site_5, site_6, site_7, site_8, site_9, site_10, site_11, site_12, site_13, site_14, site_15 };

void
release(const block *b)
{
	switch (b->site) {
	case 9:
	case 11:
		::operator delete(b->at);
		break;
	case 10:
		::operator delete[](b->at);
		break;
	case 12:
		::operator delete(b->at, std::align_val_t(b->alignment));
		break;
	default:
		free(b->at);
	}
}

/* ---- steps ---- */

struct slot {
	std::atomic<bool> is_taken;
	block b;
} slots[NR_SLOTS];

unsigned int
some(thread *t, unsigned int most)
{
	return static_cast<unsigned int>(rand_r(&t->seed)) % most;
}

/* Small ones are the most, some have mappings of their own, some are nothing. */
size_t
some_size(thread *t)
{
	const unsigned int kind = some(t, 400);

	if (kind == 0)
		return 132000 + some(t, 200000);
	if (kind < 20)
		return some(t, 2) * some(t, 20000);
	return some(t, 16U << some(t, 7)) + 1;
}

/*
 * The size that the operators ask malloc for: a byte for 0, and whole multiples of an alignment
 * (libsupc++/new_op.cc, new_opa.cc of gcc 12).
 */
size_t
asked(int k, size_t size, size_t alignment)
{
	if (k < 9 || k > 12)
		return size;
	size = size ? size : 1;
	return k == 12 ? (size + alignment - 1) / alignment * alignment : size;
}

void
take(thread *t, block *b, int k)
{
	b->site = k;
	b->alignment = 16U << some(t, 8);
	b->size = asked(k, some_size(t), b->alignment);
	b->at = site[k](nullptr, b->size, b->alignment);
	if (!b->at)
		tracee_fail("malloc");
	note_taken(t, b);
}

void
drop(thread *t, block *b)
{
	/* First: as soon as it is freed, another thread may have it. */
	note_freed(t, b, false);
	release(b);
	b->at = nullptr;
}

void
resize(thread *t, block *b)
{
	const unsigned int how = some(t, 10);
	const size_t size = how == 0 ? 0 : how < 4 ? b->size + some(t, 50) : some_size(t) + 1;
	void *p;

	if (how == 9) { /* in vain */
		if (site_3(b->at, some(t, 2) ? size_t(1) << 61 : size_t(-1) - 100, 0))
			_exit(98);
		return;
	}
	p = site_3(b->at, size, 0);
	note_freed(t, b, true);
	b->at = p;
	if (!size)
		return;
	if (!p)
		tracee_fail("realloc");
	b->site = 3;
	b->size = size;
	note_taken(t, b);
}

bool
can_resize(const block *b)
{
	return b->site < 9 || b->site == 13;
}

/* One after the other of the same thread: chains of realloc(), and blocks that are freed at once. */
void
act(thread *t, block *b)
{
	const unsigned int how = some(t, 100);

	if (how < 20 && b->at && can_resize(b)) {
		for (unsigned int n = some(t, 4) + 1; n && b->at; n--)
			resize(t, b);
	} else if (how < 40 && b->at) {
		drop(t, b);
	} else if (how == 99) {
		if (site_0(nullptr, size_t(1) << 61, 0) || site_2(nullptr, size_t(-1) - 10, 0))
			_exit(98);
	} else {
		if (b->at)
			drop(t, b);
		take(t, b, static_cast<int>(some(t, DEEP_SITE)));
		if (how > 80)
			drop(t, b);
	}
}

void
step(thread *t)
{
	slot *s;

	do
		s = &slots[some(t, NR_SLOTS)];
	while (s->is_taken.exchange(true));
	act(t, &s->b);
	s->is_taken = false;
}

long nr_steps;

void *
work(void *arg)
{
	thread t = { static_cast<unsigned int>(reinterpret_cast<uintptr_t>(arg)), false, 0 };

	for (long i = 0; i < nr_steps; i++)
		step(&t);
	return nullptr;
}

thread self;

void *
seed_of(unsigned int seed, unsigned int i)
{
	return reinterpret_cast<void *>(static_cast<uintptr_t>(seed * 1000 + i));
}

void
play(unsigned int seed, unsigned int nr)
{
	static pthread_t t[MAX_THREADS];

	self.seed = seed;
	self.is_alone = !nr;
	if (nr)
		self.number = 0; /* libc allocates for threads */
	for (long i = 0; !nr && i < nr_steps; i++)
		step(&self);
	for (unsigned int i = 0; i < nr && i < MAX_THREADS; i++)
		if (pthread_create(&t[i], nullptr, work, seed_of(seed, i)))
			tracee_fail("pthread_create");
	for (unsigned int i = 0; i < nr && i < MAX_THREADS; i++)
		pthread_join(t[i], nullptr);
}

void
crowd(unsigned int seed, unsigned int times)
{
	pthread_t t;

	self.is_alone = false;
	self.number = 0;
	for (unsigned int i = 0; i < times; i++)
		if (pthread_create(&t, nullptr, work, seed_of(seed, i)) || pthread_join(t, nullptr))
			tracee_fail("pthread_create");
}

/* Alone in front of all that was, so that the peak of threads is known, too. */
void
top()
{
	block b = {};

	self.is_alone = true;
	b.site = TOP_SITE;
	b.size = size_t(64) << 20;
	b.at = site_15(nullptr, b.size, 0);
	note_taken(&self, &b);
	drop(&self, &b);
}

/* ---- an address that two threads take in turn ---- */

void *
take_again(void *arg)
{
	thread t = {};
	block *b = static_cast<block *>(arg);

	drop(&t, b);
	b->at = site_13(nullptr, b->size, 0);
	note_taken(&t, b);
	return nullptr;
}

void
swap()
{
	pthread_t t;
	block b = {};

	b.site = 13;
	b.size = 500;
	b.at = site_13(nullptr, b.size, 0);
	note_taken(&self, &b);
	if (pthread_create(&t, nullptr, take_again, &b) || pthread_join(t, nullptr))
		tracee_fail("pthread_create");
	drop(&self, &b);
}

block huge_block;

bool
take_huge(size_t size)
{
	huge_block = {};
	huge_block.site = 13;
	huge_block.size = size;
	huge_block.at = site_13(nullptr, size, 0);
	if (huge_block.at)
		note_taken(&self, &huge_block);
	return huge_block.at;
}

/* ---- many stacks ---- */

struct link {
	link *next;
	block b;
} *links;

void take_link();
void left(unsigned int path);

__attribute__((noinline)) void
right(unsigned int path)
{
	if (path == 1)
		take_link();
	else if (path & 1)
		right(path >> 1);
	else
		left(path >> 1);
	__asm__ volatile("");
}

__attribute__((noinline)) void
left(unsigned int path)
{
	if (path == 1)
		take_link();
	else if (path & 1)
		right(path >> 1);
	else
		left(path >> 1);
	__asm__ volatile("");
}

__attribute__((noinline)) void
take_link()
{
	link *l = static_cast<link *>(site_14(nullptr, sizeof *l, 0));

	l->next = links;
	l->b = {};
	l->b.at = l;
	l->b.size = sizeof *l;
	l->b.site = DEEP_SITE;
	note_taken(&self, &l->b);
	links = l;
}

void
drop_all()
{
	for (slot &s : slots)
		if (s.b.at)
			drop(&self, &s.b);
	while (links) {
		block b = links->b;

		links = links->next;
		drop(&self, &b);
	}
	if (huge_block.at)
		drop(&self, &huge_block);
}

/* ---- commands ---- */

void
reset()
{
	generation++;
	for (account &a : accounts) {
		for (amount *m : { &a.allocated, &a.live, &a.temporary })
			m->bytes = m->blocks = 0;
		a.peak_bytes = a.peak_blocks = 0;
	}
	before.bytes = before.blocks = 0;
	in_use = most_in_use = 0;
	self.number = 0;
}

void
save(const char *file)
{
	const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	char line[256];
	int n;

	for (int k = 0; k < NR_SITES; k++) {
		const account &a = accounts[k];

		n = snprintf(line, sizeof line, "site_%d %lld %lld %lld %lld %lld %lld %lld %lld\n",
			k, a.allocated.bytes.load(), a.allocated.blocks.load(), a.live.bytes.load(),
			a.live.blocks.load(), a.temporary.bytes.load(), a.temporary.blocks.load(),
			a.peak_bytes, a.peak_blocks);
		if (write(fd, line, static_cast<size_t>(n)) != n)
			tracee_fail(file);
	}
	n = snprintf(line, sizeof line, "before %lld %lld\n", before.bytes.load(), before.blocks.load());
	if (write(fd, line, static_cast<size_t>(n)) != n)
		tracee_fail(file);
	close(fd);
}

int
fork_one(unsigned int seed, const char *file)
{
	const pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		reset();
		play(seed, 0);
		save(file);
		exit(0);
	}
	waitpid(pid, &status, 0);
	return status == 0 ? pid : -1;
}

void
answer(const char *line)
{
	unsigned int seed = 0, nr = 0;
	char file[200] = "";
	size_t size;

	if (sscanf(line, "play %u %ld %u", &seed, &nr_steps, &nr) == 3) {
		play(seed, nr);
	} else if (sscanf(line, "crowd %u %ld %u", &seed, &nr_steps, &nr) == 3) {
		crowd(seed, nr);
	} else if (sscanf(line, "deep %u", &nr) == 1) {
		for (unsigned int i = 0; i < nr; i++)
			left(nr + i);
	} else if (sscanf(line, "swap %u", &nr) == 1) {
		while (nr--)
			swap();
	} else if (sscanf(line, "huge %zu", &size) == 1) {
		tracee_say(take_huge(size) ? "done" : "none");
		return;
	} else if (sscanf(line, "busy %u", &seed) == 1) {
		nr_steps = INT64_MAX;
		for (unsigned int i = 0; i < 3; i++)
			tracee_thread(work, seed_of(seed, i));
	} else if (sscanf(line, "fork %u %ld %199s", &seed, &nr_steps, file) == 3) {
		tracee_say("%d", fork_one(seed, file));
		return;
	} else if (sscanf(line, "save %199s", file) == 1) {
		save(file);
	} else if (strcmp(line, "top") == 0) {
		top();
	} else if (strcmp(line, "drop") == 0) {
		drop_all();
	} else if (strcmp(line, "reset") == 0) {
		reset();
	} else {
		tracee_say("what?");
		return;
	}
	tracee_say("done");
}

} // namespace

int
main()
{
	char line[256];

	mallopt(M_MMAP_THRESHOLD, 131072);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		answer(line);
	return tracee_end();
}
