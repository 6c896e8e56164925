/*
 * Which function of a stack is the first row: the program's own, behind what hands on malloc's
 * memory for it; and rows of functions with the same name.
 */
#include <config.h>

#include <string.h>

#include "profile/allocators.h"
#include "report/calls.h"
#include "profile/profile.h"
#include "tap.h"

/* ---- single names ---- */

static const char *const wrappers[] = { "malloc", "operator new", "operator new[]", "strdup",
	"__strdup", "__asprintf_chk", "xmalloc", "xcalloc", "xnrealloc", "x2realloc", "xzalloc",
	"xmemdupz", "xstrdup", "do_xmalloc", "sh_xmalloc", "safemalloc", "Perl_safesysmalloc",
	"g_malloc0", "g_try_malloc0_n", "g_slice_alloc0", "g_strdup_printf", "CRYPTO_zalloc",
	"sqlite3MemMalloc", "sqlite3DbMallocRawNN", "sqlite3_malloc64", "zmalloc",
	"ztrymalloc_usable_internal", "ngx_pcalloc", "ngx_palloc_large", "apr_palloc", "palloc0",
	"repalloc", "MemoryContextAllocZero", "AllocSetAllocLarge", "my_malloc", "alloc_root",
	"strmake_root", "mem_heap_create_block_func", "_emalloc", "_safe_erealloc",
	"zend_mm_alloc_huge", "ruby_xmalloc2", "objspace_xmalloc0", "_PyObject_Malloc",
	"PyMem_RawMalloc", "_PyMem_DebugRawMalloc", "PyDataMem_UserNEW", "luaM_malloc_",
	"TclpAlloc", "os::malloc", "ReallocateHeap", "ber_memalloc_x", "_talloc_zero",
	"isc__mem_get", "uv__malloc", "jsonp_strdup", "stgMallocBytes", "llvm::allocate_buffer",
	"QArrayData::reallocateUnaligned" };

static const char *const others[] = { "", "main", "xml_parse", "xfs_alloc", "allocate", "mallocs",
	"my_mallocs", "g_alloc_table", "page_alloc", "strdup_all", "zmalloc_used_memory",
	"PyObject_Call", "PyMem_SetAllocator", "MemoryContextCreate", "os::init", "talloctor",
	"apr_pool_create", "ngx_http_alloc_large_header_buffer" };

static const char *const helpers[] = { "std::vector<int>::push_back", "std::__1::string::append",
	"__gnu_cxx::new_allocator<int>::allocate", "alloc::vec::Vec<T,A>::push",
	"<alloc::raw_vec::RawVecInner>::grow_one",
	"<alloc::vec::Vec<T> as core::clone::Clone>::clone",
	"<T as alloc::slice::hack::ConvertVec>::to_vec", "alloc::slice::<impl [T]>::into_vec",
	"<&str as core::convert::Into<T>>::into", "core::iter::traits::Iterator::collect",
	"hashbrown::raw::RawTable<T>::reserve_rehash", "__gnat_malloc",
	"ada__strings__unbounded__append", "_cgo_3adc_Cfunc__Cmalloc" };

static const char *const programs[] = { "app::Server::run", "core::Engine::start",
	"alloc::Pool::get", "<app::Row as core::clone::Clone>::clone", "<app::Row>::new",
	"stdlib::x", "adapter__run", "main" };

static void
check_names(void)
{
	struct allocators a = { .is_compiled = false };
	struct err e = { 0 };

	if (!ok(allocators_compile(&a, &e) == 0, "the list of allocators is compiled"))
		return;
	for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
		ok(allocators_have(&a, wrappers[i]), "'%s' hands on malloc's memory", wrappers[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ok(!allocators_have(&a, others[i]), "'%s' is a function of a program", others[i]);
	for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
		ok(is_library_helper(helpers[i]), "'%s' is of a language's library", helpers[i]);
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		ok(!is_library_helper(programs[i]), "'%s' is of no language's library",
			programs[i]);
	allocators_release(&a);
}

/* ---- stacks ---- */

#define MAX_FRAMES 8

struct frame {
	const char *function, *file, *object;
};

static struct profile *
new_profile(void)
{
	struct profile *p = profile_new();
	struct err e;

	if (!p || profile_add_type(p, "inuse_space", "bytes", &e) < 0)
		exit(1);
	return p;
}

/* The mapping of OBJECT, each of one page. */
static uint32_t
mapping_of(struct profile *p, const char *object)
{
	struct err e;

	for (size_t i = 0; i < p->mappings.nr; i++)
		if (strcmp(p->mappings.v[i].path, object) == 0)
			return (uint32_t)i + 1;
	if (profile_add_mapping(p, 0x1000 * (p->mappings.nr + 1), 0x1000 * (p->mappings.nr + 2), 0,
		    object, "", &e) < 0)
		exit(1);
	return (uint32_t)p->mappings.nr;
}

/* A sample of VALUE bytes whose stack has the frames up to one without a function. */
static void
add_sample(struct profile *p, const struct frame *frame, int64_t value)
{
	static uint64_t address = 0x100000;
	uint32_t frames[MAX_FRAMES], nr = 0, stack;
	struct profile_sample sample = { .stack = 0 };
	struct err e;

	for (; nr < MAX_FRAMES && frame[nr].function; nr++) {
		const char *object = frame[nr].object;

		if (profile_add_frame(p, address++, true, *object ? mapping_of(p, object) : 0,
			    &frames[nr], &e) < 0 ||
			profile_add_line(p, frames[nr], frame[nr].function, frame[nr].file, 1, &e) <
				0)
			exit(1);
	}
	if (profile_stack(p, frames, nr, &stack, &e) < 0)
		exit(1);
	sample.stack = stack;
	if (profile_add_sample(p, sample, &value, &e) < 0)
		exit(1);
}

/* The name of the row that has the stack FRAME itself. */
static void
has_first_row(
	const struct frame *frame, struct calls_options options, const char *want, const char *name)
{
	struct profile *p = new_profile();
	struct calls c = { .p = NULL };
	uint32_t *order;
	struct err e;

	add_sample(p, frame, 100);
	if (calls_make(&c, p, &options, &e) < 0)
		exit(1);
	order = calls_order(&c, false);
	is_str(order ? c.nodes.v[order[0]].name : NULL, want, name);
	ok(order && c.nodes.v[order[0]].flat == 100, "%s: it has all bytes", name);
	free(order);
	calls_release(&c);
	profile_free(p);
}

#define PYTHON "/usr/bin/python3.11"
#define NUMPY "/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.so"
#define APP "/srv/app"

static void
check_stacks(void)
{
	const struct calls_options plain = { .by = CALLS_BY_FUNCTION },
				   all = { .has_allocators = true },
				   python = { .view = CALLS_VIEW_PYTHON };
	const struct frame wrapped[] = { { "malloc", "", "/lib/libc.so.6" },
		{ "xrealloc", "x.c", APP }, { "grow", "a.c", APP }, { "main", "a.c", APP }, { 0 } };
	const struct frame unknown_inside[] = { { "malloc", "", "/lib/libc.so.6" },
		{ "inner", "", "/lib/libapr.so" }, { "apr_palloc", "", "/lib/libapr.so" },
		{ "handler", "a.c", APP }, { 0 } };
	const struct frame container[] = { { "operator new", "", "/lib/libstdc++.so.6" },
		{ "std::vector<int>::_M_realloc_insert", "vector.tcc", APP },
		{ "std::vector<int>::push_back", "stl_vector.h", APP }, { "fill", "a.cc", APP },
		{ "main", "a.cc", APP }, { 0 } };
	const struct frame called_back[] = { { "malloc", "", "/lib/libc.so.6" },
		{ "visit", "a.cc", APP }, { "std::for_each<int*>", "stl_algo.h", APP },
		{ "main", "a.cc", APP }, { 0 } };
	const struct frame only_library[] = { { "malloc", "", "/lib/libc.so.6" },
		{ "std::locale::_Impl::_Impl", "", "/lib/libstdc++.so.6" },
		{ "std::ios_base::Init::Init", "", "/lib/libstdc++.so.6" }, { 0 } };
	const struct frame script[] = { { "malloc", "", "/lib/libc.so.6" },
		{ "list_resize", "listobject.c", PYTHON },
		{ "PyList_Append", "listobject.c", PYTHON }, { "Store.load", "/srv/store.py", "" },
		{ "<module>", "/srv/store.py", "" }, { 0 } };
	const struct frame module[] = { { "malloc", "", "/lib/libc.so.6" },
		{ "PyUnicode_New", "unicodeobject.c", PYTHON }, { "<module>", "/srv/store.py", "" },
		{ 0 } };
	const struct frame extension[] = { { "malloc", "", "/lib/libc.so.6" },
		{ "array_zeros", "multiarray.c", NUMPY },
		{ "cfunction_call", "methodobject.c", PYTHON },
		{ "Store.load", "/srv/store.py", "" }, { 0 } };
	const struct frame start[] = { { "malloc", "", "/lib/libc.so.6" },
		{ "dict_new", "dictobject.c", PYTHON }, { "Py_Main", "main.c", PYTHON }, { 0 } };
	const struct frame embedded[] = { { "malloc", "", "/lib/libc.so.6" },
		{ "dict_new", "dictobject.c", "/lib/libpython3.11.so.1.0" },
		{ "Py_Initialize", "pylifecycle.c", "/lib/libpython3.11.so.1.0" },
		{ "main", "a.c", APP }, { 0 } };
	const struct frame nothing[] = { { 0 } };

	has_first_row(wrapped, plain, "grow", "the caller of xrealloc()");
	has_first_row(wrapped, all, "malloc", "malloc() with --allocators");
	has_first_row(unknown_inside, plain, "handler",
		"the caller of apr_palloc(), which calls another");
	has_first_row(container, plain, "fill", "the caller of a container of C++");
	has_first_row(container, all, "operator new", "operator new with --allocators");
	has_first_row(called_back, plain, "visit", "a function that std::for_each() calls");
	has_first_row(only_library, plain, "std::locale::_Impl::_Impl",
		"a library that no program calls");
	has_first_row(script, plain, "Store.load", "a function of Python below its interpreter");
	has_first_row(script, all, "malloc", "malloc() of Python with --allocators");
	has_first_row(module, plain, "<module> store.py", "a module of Python, with its file");
	has_first_row(extension, plain, "array_zeros", "an extension of Python in C");
	has_first_row(
		extension, python, "Store.load", "an extension of Python in C with --view=python");
	has_first_row(start, plain, "dict_new", "the interpreter of Python before any function");
	has_first_row(start, python, "[no function of Python]",
		"the interpreter of Python before any function with --view=python");
	has_first_row(embedded, plain, "dict_new",
		"the interpreter of Python that a C program calls, before any function of Python");
	has_first_row(nothing, plain, "[no stack]", "a sample without a stack");
}

/* ---- the same name ---- */

static void
has_row(const struct calls *c, const char *row, int64_t flat, const char *name)
{
	int64_t found = -1;

	for (size_t i = 0; i < c->nodes.nr; i++)
		if (strcmp(c->nodes.v[i].name, row) == 0)
			found = c->nodes.v[i].flat;
	if (!ok(found == flat, "%s", name))
		printf("#   '%s' has %" PRId64 ", want %" PRId64 "\n", row, found, flat);
}

static void
check_same_names(void)
{
	const struct calls_options plain = { .by = CALLS_BY_FUNCTION };
	const struct frame a[] = { { "init", "/src/a/init.c", APP }, { 0 } };
	const struct frame b[] = { { "init", "/src/b/init.c", APP }, { 0 } };
	const struct frame a_too[] = { { "init", "/src/a/init.c", "/srv/other" }, { 0 } };
	const struct frame load_a[] = { { "load", "a.py", "" }, { 0 } };
	const struct frame load_b[] = { { "load", "b.py", "" }, { 0 } };
	const struct frame in_x[] = { { "setup", "", "/lib/x.so" }, { 0 } };
	const struct frame in_y[] = { { "setup", "", "/lib/y.so" }, { 0 } };
	const struct frame once[] = { { "run", "/src/a/init.c", APP }, { 0 } };
	struct profile *p = new_profile();
	struct calls c = { .p = NULL };
	struct err e;

	add_sample(p, a, 1);
	add_sample(p, b, 2);
	add_sample(p, a_too, 4);
	add_sample(p, load_a, 8);
	add_sample(p, load_b, 16);
	add_sample(p, in_x, 32);
	add_sample(p, in_y, 64);
	add_sample(p, once, 128);
	if (calls_make(&c, p, &plain, &e) < 0)
		exit(1);
	has_row(&c, "init (/src/a/init.c)", 5, "a function of one file in two objects is one row");
	has_row(&c, "init (/src/b/init.c)", 2, "one of another directory's file is another row");
	has_row(&c, "load (a.py)", 8, "functions of Python in two files are two rows, the first");
	has_row(&c, "load (b.py)", 16, "functions of Python in two files are two rows, the second");
	has_row(&c, "setup (x.so)", 32,
		"functions without a file are distinguished by the object, the first");
	has_row(&c, "setup (y.so)", 64,
		"functions without a file are distinguished by the object, the second");
	has_row(&c, "run", 128, "a name that only one function has stays as it is");
	calls_release(&c);
	profile_free(p);
}

int
main(void)
{
	check_names();
	check_stacks();
	check_same_names();
	return tap_end();
}
