#include <config.h>

#include "report/allocators.h"

#include <stddef.h>
#include <string.h>

/* One list for two uses: X() has a name that is also its own regular expression. */
#define PLAIN(X)                                                                                   \
	X("malloc")                                                                                \
	X("calloc")                                                                                \
	X("realloc")                                                                               \
	X("reallocarray")                                                                          \
	X("memalign")                                                                              \
	X("aligned_alloc")                                                                         \
	X("posix_memalign")                                                                        \
	X("valloc")                                                                                \
	X("pvalloc")                                                                               \
	X("__libc_malloc")                                                                         \
	X("__libc_calloc")                                                                         \
	X("__libc_realloc")                                                                        \
	X("__libc_memalign")                                                                       \
	X("__libc_valloc")                                                                         \
	X("__libc_pvalloc")                                                                        \
	X("mmap")                                                                                  \
	X("mmap64")                                                                                \
	X("mremap")                                                                                \
	X("__mmap")                                                                                \
	X("__mmap64")                                                                              \
	X("__mremap")                                                                              \
	X("cfree")                                                                                 \
	X("operator new")                                                                          \
	X("operator new.*")                                                                        \
	X("__rust_alloc")                                                                          \
	X("__rust_alloc_zeroed")                                                                   \
	X("__rust_realloc")                                                                        \
	X("__rdl_alloc")                                                                           \
	X("__rdl_realloc")                                                                         \
	X("tc_.*")                                                                                 \
	X("je_.*")                                                                                 \
	X("mi_.*")                                                                                 \
	X("tcmalloc::.*")

#define ITEM(name) name,
#define ALTERNATIVE(name) "|" name

static const char *const names[] = { PLAIN(ITEM) };

bool
is_allocator(const char *name)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t len = strlen(names[i]);
		bool is_prefix = len > 2 && strcmp(names[i] + len - 2, ".*") == 0;

		if (is_prefix ? strncmp(name, names[i], len - 2) == 0 : strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

bool
is_allocator_library(const char *path)
{
	static const char *const libraries[] = { "libmemdiag-agent.so", "libmemtracer.so",
		"libjemalloc.so", "libtcmalloc", "libmimalloc" };
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (strncmp(base, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return false;
}

const char *
allocators_regex(void)
{
	return "memdiag_agent_.*" PLAIN(ALTERNATIVE);
}
