/*
 * classes: objects of classes, and other blocks, in known numbers.  It says "class NUMBER NAME" for
 * each class whose vtable is in that many blocks, "below NUMBER NAME" for blocks without a type
 * that only objects of that class lead to, and "static NUMBER NAME" for a named object.  All other
 * blocks have random bytes.
 *
 * "lose N" makes N squares, and N circles with bodies, and forgets them; "hide N" makes a list of N
 * links of which only a number that is not an address is kept, and two links that are kept.
 * "change" makes 100 circles with bodies and 37 triangles, and deletes the 200 boxes of int.
 */
#include "tracee.h"

#include <malloc.h>
#include <memory>
#include <string>
#include <vector>

namespace shapes
{

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
	void *body = nullptr; /* without a type */
};

struct circle : shape {
	double radius = 1;
	double area() const override { return radius; }
};

struct named {
	virtual ~named() = default;
	virtual int name() const { return 1; }
	int number = 2;
};

/* Two bases: a pointer to the second has another vtable. */
struct square : shape, named {
	double side = 1;
	double area() const override { return side; }
};

template <typename T> struct box : shape {
	T content{};
	double area() const override { return 2; }
};

/* Only made by "change". */
struct triangle : shape {
	double area() const override { return 3; }
};

/* An element of a list. */
struct link : shape {
	link *next = nullptr;
	double area() const override { return 4; }
};

} // namespace shapes

struct operations {
	int (*open)(int);
	int (*close)(int);
	long flags;
};

static int
nothing(int n)
{
	return n;
}

extern const struct operations file_operations, pipe_operations;
const struct operations file_operations = { nothing, nothing, 1 };
const struct operations pipe_operations = { nothing, nothing, 2 };

struct handle {
	const struct operations *operations;
	long state[4];
};

/* As my_malloc() of MariaDB: three words before what the caller gets. */
struct header {
	unsigned long magic, size, key;
};

static std::vector<std::unique_ptr<shapes::shape>> all;
static std::vector<std::shared_ptr<shapes::circle>> shared;
static std::vector<void *> others;
static unsigned long seed = 88172645463325252UL;

static unsigned long
draw()
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void *
random_block(size_t size)
{
	unsigned long *p = static_cast<unsigned long *>(malloc(size));

	/* No address: the highest bit is set. */
	for (size_t i = 0; i < malloc_usable_size(p) / sizeof *p; i++)
		p[i] = draw() | 1UL << 63;
	return p;
}

template <typename T>
static void
make(int nr, const char *name, bool has_body)
{
	for (int i = 0; i < nr; i++) {
		std::unique_ptr<T> object(new T);

		if (has_body)
			object->body = random_block(64);
		all.push_back(std::move(object));
	}
	tracee_say("class %d %s", nr, name);
	if (has_body)
		tracee_say("below %d %s", nr, name);
}

static void
make_wrapped(int nr)
{
	for (int i = 0; i < nr; i++) {
		char *p = static_cast<char *>(malloc(sizeof(header) + sizeof(shapes::named)));
		header *h = reinterpret_cast<header *>(p);

		h->magic = draw() | 1UL << 63;
		h->size = sizeof(shapes::named);
		h->key = 7;
		others.push_back(new (p + sizeof *h) shapes::named);
	}
	tracee_say("class %d shapes::named", nr);
}

static void
make_handles(int nr)
{
	for (int i = 0; i < nr; i++) {
		handle *h = static_cast<handle *>(random_block(sizeof *h));

		h->operations = &file_operations;
		others.push_back(h);
	}
	tracee_say("static %d file_operations", nr);
}

/* Freed: vtables stay in the memory. */
static void
make_stale(int nr)
{
	std::vector<std::unique_ptr<shapes::triangle>> freed;

	for (int i = 0; i < nr; i++)
		freed.emplace_back(new shapes::triangle);
}

static void
change()
{
	for (int i = 0; i < 100; i++) {
		all.emplace_back(new shapes::circle);
		all.back()->body = random_block(64);
	}
	for (int i = 0; i < 37; i++)
		all.emplace_back(new shapes::triangle);
	for (auto &shape : all)
		if (dynamic_cast<shapes::box<int> *>(shape.get()))
			shape.reset();
}

static __attribute__((noinline)) void
lose(int nr)
{
	for (int i = 0; i < nr; i++) {
		shapes::shape *volatile circle = new shapes::circle;

		circle->body = random_block(64);
		new shapes::square;
	}
}

static volatile uintptr_t hidden;

static __attribute__((noinline)) void
hide(int nr)
{
	shapes::link *first = nullptr;

	for (int i = 0; i < nr; i++) {
		shapes::link *more = new shapes::link;

		more->next = first;
		first = more;
	}
	hidden = ~reinterpret_cast<uintptr_t>(first);
	for (int i = 0; i < 2; i++)
		all.emplace_back(new shapes::link);
}

int
main()
{
	char line[32];

	/* Vectors that grow would leave addresses in blocks that are used again. */
	all.reserve(2400);
	shared.reserve(50);
	others.reserve(6000);
	make_stale(500);
	make<shapes::circle>(1000, "shapes::circle", true);
	make<shapes::square>(700, "shapes::square", false);
	make<shapes::box<std::string>>(300, "shapes::box<std::", false);
	make<shapes::box<int>>(200, "shapes::box<int>", false);
	make_wrapped(400);
	make_handles(600);
	for (int i = 0; i < 50; i++)
		shared.push_back(std::make_shared<shapes::circle>());
	tracee_say("class 50 std::_Sp_counted_ptr_inplace<shapes::circle");
	for (int i = 0; i < 5000; i++)
		others.push_back(random_block(24 + draw() % 300));
	if (pipe_operations.flags != 2)
		return 1;
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "change") == 0)
			change();
		else if (strncmp(line, "lose ", 5) == 0)
			lose(atoi(line + 5));
		else if (strncmp(line, "hide ", 5) == 0)
			hide(atoi(line + 5));
		tracee_scrub();
		tracee_say("done");
	}
	return tracee_end();
}
