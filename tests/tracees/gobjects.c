/*
 * gobjects: instances of classes of GObject in known numbers, and blocks that have the address of a
 * class, or the size of its instances, and are none.  It says "gobject BLOCKS BYTES NAME" for each
 * class, or "missing" without the library.
 */
#include "tracee.h"

#include <dlfcn.h>
#include <malloc.h>

typedef unsigned long gtype;

/* GTypeInfo and GTypeQuery of gobject/gtype.h. */
struct type_info {
	uint16_t class_size;
	void *base_init, *base_finalize;
	void (*class_init)(void *class, void *data);
	void *class_finalize;
	const void *class_data;
	uint16_t instance_size, n_preallocs;
	void *instance_init;
	const void *value_table;
};

struct type_query {
	gtype type;
	const char *name;
	unsigned int class_size, instance_size;
};

#define G_OBJECT ((gtype)20 << 2)
#define NR_KINDS 4

static struct {
	gtype (*register_static)(gtype, const char *, const struct type_info *, int);
	void (*query)(gtype, struct type_query *);
	void (*adjust_private)(void *class, int *size_or_offset);
	void *(*new)(gtype, const char *, ...);
} g;

static const struct {
	const char *name;
	int parent; /* number of another one, or -1 */
	unsigned int more_bytes, private_bytes;
	int nr;
} kind[NR_KINDS] = {
	{ "MemCircle", -1, 16, 0, 1000 },
	{ "MemSquare", -1, 0, 200, 700 },
	{ "MemDeepSquare", 1, 40, 24, 300 },
	{ "MemNone", -1, 8, 0, 0 },
};

/* Not static: a compiler leaves out what is only written to. */
extern void *kept[8000];
void *kept[8000];
static size_t nr_kept;

/* DATA is the size of the private part of the class, or NULL. */
static void
init_class(void *class, void *data)
{
	if (data)
		g.adjust_private(class, data);
}

static bool
find_library(void)
{
	void *library = dlopen("libgobject-2.0.so.0", RTLD_NOW);

	if (!library)
		return false;
	*(void **)&g.register_static = dlsym(library, "g_type_register_static");
	*(void **)&g.query = dlsym(library, "g_type_query");
	*(void **)&g.adjust_private = dlsym(library, "g_type_class_adjust_private_offset");
	*(void **)&g.new = dlsym(library, "g_object_new");
	return g.register_static && g.query && g.adjust_private && g.new;
}

static gtype
make_type(gtype parent, int i)
{
	struct type_query query;
	struct type_info info = { .class_init = init_class };
	static int private[NR_KINDS];

	if (kind[i].private_bytes) {
		private[i] = (int)kind[i].private_bytes;
		info.class_data = &private[i];
	}
	g.query(parent, &query);
	info.class_size = (uint16_t)query.class_size;
	info.instance_size = (uint16_t)(query.instance_size + kind[i].more_bytes);
	return g.register_static(parent, kind[i].name, &info, 0);
}

/* The bytes of the private parts of kind I, which are before the object (gobject/gtype.c). */
static size_t
private_bytes(int i)
{
	const size_t before = kind[i].parent < 0 ? 0 : private_bytes(kind[i].parent);

	return kind[i].private_bytes ? (before + kind[i].private_bytes + 15) / 16 * 16 : before;
}

/* A block of the size of OBJECT without the address of its class, and others with that alone. */
static void
make_lies(void *object, void *class)
{
	const size_t bytes = malloc_usable_size(object);
	void **same = calloc(1, bytes), **larger = calloc(1, bytes + 64), **smaller = calloc(1, 24);

	larger[1] = smaller[0] = class;
	kept[nr_kept++] = same;
	kept[nr_kept++] = larger;
	kept[nr_kept++] = smaller;
}

int
main(void)
{
	gtype type[NR_KINDS];

	setenv("G_SLICE", "always-malloc", 1);
	if (!find_library()) {
		tracee_say("missing");
		return 0;
	}
	for (int i = 0; i < NR_KINDS; i++) {
		size_t bytes = 0;

		type[i] = make_type(kind[i].parent < 0 ? G_OBJECT : type[kind[i].parent], i);
		for (int k = 0; k < kind[i].nr; k++) {
			char *object = g.new(type[i], NULL);
			char *block = object - private_bytes(i);

			bytes += malloc_usable_size(block);
			kept[nr_kept++] = object;
			if (k % 10 == 0)
				make_lies(block, *(void **)object);
		}
		if (kind[i].nr)
			tracee_say("gobject %d %zu %s", kind[i].nr, bytes, kind[i].name);
	}
	tracee_ready();
	return tracee_park();
}
