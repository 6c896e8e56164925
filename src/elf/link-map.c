#include <config.h>

#include "elf/link-map.h"

#include "elf/image.h"
#include "elf/symbols.h"
#include "os/memory.h"
#include "os/os.h"
#include "wire/wire.h"

#include <link.h>

/* Longer than any list of libraries; a longer one is circular. */
#define MAX_LINK_MAPS 65536

/* struct r_debug and struct link_map of a 64-bit process, as debuggers know them (elf/link.h). */
struct r_debug_image {
	int32_t version, pad;
	uint64_t map, brk;
	int32_t state;
};

struct link_map_image {
	uint64_t addr, name, dynamic, next, prev;
};

static const struct object *
object_with_dynamic(const struct objects *os, raddr dynamic)
{
	for (size_t i = 0; i < os->nr; i++)
		if (image_dynamic(os->v[i].image).v == dynamic.v)
			return &os->v[i];
	return NULL;
}

/*
 * Read ld.so's r_debug, which it exports; an executable's DT_DEBUG is missing when ld.so was
 * started by name.
 */
static int
read_r_debug(const struct objects *os, const struct target *t, struct r_debug_image *ret)
{
	struct image_symbol s;
	struct err e;

	for (size_t i = 0; i < os->nr; i++)
		if (os->v[i].is_loader && image_class(os->v[i].image) == ELFCLASS64 &&
			image_find(os->v[i].image, "_r_debug", &s) == 0)
			return os_read_present(t, s.addr, ret, sizeof *ret, &e);
	return -1;
}

/*
 * glibc's ld.so sets the version, RT_ADD before the first library, and RT_CONSISTENT after the last
 * relocation (elf/rtld.c, dl_main(), 2.36).
 */
int
objects_check_loaded(const struct objects *os, const struct target *t, struct err *e)
{
	struct r_debug_image debug;

	if (t->core || read_r_debug(os, t, &debug) < 0 ||
		(debug.version && debug.map && debug.state == RT_CONSISTENT))
		return 0;
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"the libraries of %d (%s) are still being loaded: its malloc is not known yet",
		t->pid, t->comm);
	return err_hint(e, "Run memdiag again when the program has begun");
}

bool
object_is_agent(const struct object *o)
{
	struct image_symbol s;

	return image_find(o->image, WIRE_SYMBOL, &s) == 0;
}

/*
 * Return whether O is glibc's library for MALLOC_CHECK_ and mcheck(), which is preloaded since
 * 2.34: its malloc has the version that programs ask for, but no default version.
 */
static bool
is_debug_malloc(const struct object *o)
{
	const char *soname = image_soname(o->image);

	return soname && strncmp(soname, "libc_malloc_debug.so", 20) == 0;
}

/*
 * Return whether O defines malloc.  Memdiag's agent does as well, but passes each call on to the
 * next malloc.
 */
static bool
has_malloc(const struct object *o)
{
	struct image_symbol s;

	return is_debug_malloc(o) ||
		(image_find(o->image, "malloc", &s) == 0 && !object_is_agent(o));
}

bool
objects_are_of_valgrind(const struct objects *os)
{
	for (size_t i = 0; i < os->nr; i++)
		if (strstr(os->v[i].path, "/valgrind/"))
			return true;
	return false;
}

/*
 * Return the program if it is static: its calls are bound to its own functions, whatever it loads
 * later.
 */
static const struct object *
static_program(const struct objects *os)
{
	for (size_t i = 0; i < os->nr; i++)
		if (os->v[i].is_executable && image_is_static(os->v[i].image))
			return &os->v[i];
	return NULL;
}

const struct object *
objects_malloc(const struct objects *os, const struct target *t)
{
	const struct object *program = static_program(os);
	struct r_debug_image debug;
	struct link_map_image map;
	struct err e;
	raddr at;

	if (program)
		return has_malloc(program) ? program : NULL;
	if (read_r_debug(os, t, &debug) < 0)
		return NULL;
	at.v = debug.map;
	for (int n = 0; at.v && n < MAX_LINK_MAPS; n++, at.v = map.next) {
		const struct object *o;

		if (os_read_present(t, at, &map, sizeof map, &e) < 0)
			return NULL;
		o = object_with_dynamic(os, (raddr){ map.dynamic });
		/*
		 * Until 2.31 ld.so also exports a malloc, for itself (elf/dl-minimal.c); libc's
		 * comes first.
		 */
		if (o && !o->is_loader && has_malloc(o))
			return o;
	}
	return NULL;
}

const char *
object_allocator(const struct object *o)
{
	/*
	 * Symbols that only this library defines, whatever its file name; the program itself may
	 * define them.
	 */
	static const struct {
		const char *symbol, *name;
	} allocators[] = {
		/* heaptrack also passes on mimalloc's functions, so it comes first. */
		{ "heaptrack_malloc", "heaptrack" },
		{ "mallctl", "jemalloc" },
		{ "MallocExtension_ReleaseFreeMemory", "tcmalloc" },
		{ "mi_malloc", "mimalloc" },
		{ "scalable_malloc", "tbbmalloc" },
	};
	struct image_symbol s;

	if (o->is_libc)
		return "glibc";
	if (is_debug_malloc(o))
		return "MALLOC_CHECK_ and mcheck()";
	for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++)
		if (image_find(o->image, allocators[i].symbol, &s) == 0)
			return allocators[i].name;
	return NULL;
}
