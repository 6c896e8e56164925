/*
 * replaced: a program that has operator new and delete of its own, in a library of its own, or not at
 * all.  Blocks of such operators begin with a word by which they are known again, so one that is given
 * to other operators ends the program.
 *
 * With -DPOOL these are made, with -DUSE a program that uses all operators and prints how often its own
 * were called, with -DHOST=FILE a C program that loads the rest as a plugin; with -DFAIL a plugin whose
 * new fails, after its handler was called.
 */
#ifdef POOL
#include <cstdlib>
#include <new>

#define MAGIC 0x6c6f6f70

long pool_new, pool_delete;

void *
operator new(std::size_t size)
{
	long *p = static_cast<long *>(std::malloc(size + 2 * sizeof(long)));

	if (!p)
		throw std::bad_alloc();
	p[0] = MAGIC;
	pool_new++;
	return p + 2;
}

void
operator delete(void *block) noexcept
{
	long *p = static_cast<long *>(block);

	if (!p)
		return;
	if (p[-2] != MAGIC)
		std::abort();
	p[-2] = 0;
	pool_delete++;
	std::free(p - 2);
}
#endif

#ifdef USE
#include <cstdio>
#include <new>
#include <string>

#ifndef NONE
extern long pool_new, pool_delete;
#else
static long pool_new, pool_delete;
#endif

/* So that no compiler leaves a pair out. */
static void *volatile seen;

struct alignas(64) wide {
	char v[64];
	virtual ~wide() {}
};

int
main()
{
	seen = new int(1);
	delete static_cast<int *>(seen);
	seen = new char[100];
	delete[] static_cast<char *>(seen);
	seen = new (std::nothrow) char[100];
	operator delete[](seen, std::nothrow);
	seen = new (std::nothrow) int(1);
	operator delete(seen, std::nothrow);
	seen = operator new(17);
	operator delete(seen, std::size_t(17));
	seen = operator new[](18);
	operator delete[](seen, std::size_t(18));
	wide *w = new wide;
	seen = w;
	delete w;
	std::string text(1000, 'x');
	seen = &text[0];
	std::printf("%ld %ld\n", pool_new, pool_delete);
	return 0;
}
#endif

#ifdef FAIL
#include <cstddef>
#include <cstdio>
#include <new>

static int nr_calls;

static void
handle()
{
	nr_calls++;
	std::set_new_handler(nullptr);
}

template <typename type>
static void
fail()
{
	void *volatile seen;
	volatile std::size_t size = (std::size_t(1) << 62) / sizeof(type);

	std::set_new_handler(handle);
	try {
		seen = new type[size];
		std::printf("got %p\n", seen);
	} catch (const std::bad_alloc &) {
		std::puts("caught bad_alloc");
	}
	seen = new (std::nothrow) type[size];
	std::printf("nothrow: %p\n", seen);
}

struct alignas(64) wide {
	char v[64];
};

int
plugin_main()
{
	fail<char>();
	fail<wide>();
	std::printf("%d calls of the handler\n", nr_calls);
	return 0;
}
#endif

#ifdef HOST
#include <dlfcn.h>
#include <stdio.h>

int
main(void)
{
	void *plugin = dlopen(HOST, RTLD_NOW | RTLD_LOCAL);
	int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "_Z11plugin_mainv") : NULL;

	if (!run) {
		puts(dlerror());
		return 99;
	}
	return run();
}
#endif
