/*
 * cxx: operator new and related functions, exceptions, and what runs before and after main().  Under a limit of
 * 50 MB with on-limit=enomem.
 */
#include "count.h"

#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct alignas(64) wide {
	char v[64];
};

/* Allocates in a constructor and a destructor of its own, of the program and of every thread. */
struct eager {
	std::string *text = new std::string(1000, 'x');
	~eager()
	{
		delete text;
		take_and_free(500);
	}
};
static eager of_program;
static thread_local eager of_thread;

/* A compiler may leave out a new and its delete if nobody else gets the pointer; gcc 16 does. */
template <typename type>
static type *
shown(type *p)
{
	block = p;
	return p;
}

static void
try_new()
{
	begin_count();
	int *one = shown(new int(5));
	ok(memdiag_live_bytes() - count_before >= sizeof(int), "new");
	delete one;
	counted(0, "delete");
	wide *many = shown(new wide[7]);
	ok(reinterpret_cast<uintptr_t>(many) % 64 == 0, "new of what is aligned");
	ok(memdiag_live_bytes() - count_before >= 7 * sizeof(wide), "counts");
	delete[] many;
	counted(0, "delete of it");
	char *p = shown(new (std::nothrow) char[1000]);
	delete[] p;
	counted(0, "nothrow");
}

static int
throw_deep(int depth)
{
	std::string local(100, 'y');

	if (depth == 0)
		throw std::runtime_error(local);
	return throw_deep(depth - 1) + static_cast<int>(local.size());
}

static void
try_exceptions()
{
	int nr_caught = 0;

	for (int round = 0; round < 2; round++) {
		begin_count();		/* the first makes libgcc allocate what it keeps */
		for (int i = 0; i < 50; i++) {
			try {
				throw_deep(20);
			} catch (const std::exception &) {
				nr_caught++;
			}
		}
	}
	counted(0, "exceptions through functions that own blocks");
	is_u64(static_cast<uint64_t>(nr_caught), 100, "all were caught");
}

/* Volatile: gcc 15 and later assume that new changes no variable (-fassume-sane-operators-new-delete). */
static char *volatile spare;

static void
give_spare()
{
	delete[] spare;
	spare = nullptr;
	std::set_new_handler(nullptr);
}

static void
try_limit()
{
	bool is_thrown = false;

	try {
		block = new char[60000000];
	} catch (const std::bad_alloc &) {
		is_thrown = true;
	}
	ok(is_thrown, "more than the limit is a bad_alloc");
	ok(!new (std::nothrow) char[60000000], "or nothing, with nothrow");
	spare = new char[30000000];
	std::set_new_handler(give_spare);
	char *p = shown(new char[30000000]);
	ok(p && !spare, "a new_handler can make room");
	delete[] p;
	is_thrown = false;
	std::vector<int> grows;
	try {
		for (;;)
			grows.push_back(1);
	} catch (const std::bad_alloc &) {
		is_thrown = true;
	}
	ok(is_thrown && grows.size() > 1000000, "a vector grows as far as it can");
}

int
main()
{
	need_agent();
	try_new();
	try_exceptions();
	for (int round = 0; round < 2; round++) {
		begin_count();
		for (int i = 0; i < 20; i++)
			std::thread([] { of_thread.text->append(1000, 'z'); }).join();
	}
	counted(0, "thread_local objects with blocks");
	try_limit();
	return tap_end();
}
