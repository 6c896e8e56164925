#include <config.h>

#include "profile/allocators.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* One list with two uses: X() has a name that is also its own regular expression. */
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

/*
 * Functions of programs and libraries that hand on what malloc returns, as extended regular
 * expressions, which those of pprof understand, too.
 */
#define WRAPPERS                                                                                   \
	/* libc */                                                                                 \
	"(__)?strn?dup"                                                                            \
	"|wcsdup"                                                                                  \
	"|_*v?asprintf(_chk|_internal)?" /* GNU programs, bash, git, util-linux, systemd */        \
	"|(do_|sh_)?x(m|c|re|z|n|p|2|i|char)*alloc(array|z|0)?"                                    \
	"|x(str|strn|mem)dup(z|0)?"                                                                \
	"|xv?asprintf"                                                                             \
	"|memdup(_suffix0)?"                                                                       \
	"|greedy_realloc0?"		     /* Perl and others */                                 \
	"|(Perl_)?safe(sys|_)?(m|c|re)alloc" /* glib */                                            \
	"|g_(try_)?(m|re)alloc0?(_n)?"                                                             \
	"|g_slice_(alloc0?|copy)"                                                                  \
	"|g_strn?dup"                                                                              \
	"|g_strdup(v|_v?printf)"                                                                   \
	"|g_memdup2?" /* OpenSSL */                                                                \
	"|CRYPTO_(secure_|clear_|aligned_)*(m|z|c|re)alloc(_array)?"                               \
	"|CRYPTO_(str|strn|mem)dup" /* SQLite */                                                   \
	"|sqlite3_?(Mem|Db)?([Mm]|[Rr]e)alloc(Zero|Raw|RawNN|OrFree|64)?"                          \
	"|(dbMallocRaw|dbRealloc)Finish"                                                           \
	"|mallocWithAlarm" /* redis; zcalloc() is zlib's, too */                                   \
	"|(extended_)?z(try)?(m|c|re)alloc(_usable(_internal)?)?"                                  \
	"|zstrdup" /* nginx */                                                                     \
	"|ngx_(c|p|pc|pn)?alloc"                                                                   \
	"|ngx_p?memalign"                                                                          \
	"|ngx_palloc_(block|large|small)"                                                          \
	"|ngx_slab_c?alloc(_locked)?" /* Apache */                                                 \
	"|apr_pc?alloc(_debug)?"                                                                   \
	"|(apr_)?allocator_alloc"                                                                  \
	"|apr_p(str|strn|mem|strmem)dup" /* PostgreSQL */                                          \
	"|(re)?palloc(0|_extended|_aligned|_huge)?"                                                \
	"|pn?strdup"                                                                               \
	"|psprintf"                                                                                \
	"|pg_(m|re)alloc(0|_extended)?"                                                            \
	"|pg_strdup"                                                                               \
	"|MemoryContext(Alloc[A-Za-z]*|Strdup)"                                                    \
	"|(AllocSet|Generation|Slab|Bump|Aligned)(Alloc|Realloc)[A-Za-z]*" /* MySQL, MariaDB */    \
	"|my_(raw_|internal_|multi_|large_)?(m|re|c)alloc"                                         \
	"|my_(str|strn|mem)dup"                                                                    \
	"|sf_(m|re)alloc"                                                                          \
	"|(multi_)?alloc_root"                                                                     \
	"|root_alloc"                                                                              \
	"|(strdup|strndup|strmake|memdup)_root"                                                    \
	"|mem_heap_(z?alloc|(str|mem)?dup|add_block|create_block(_func)?|create_func)"             \
	"|ut_allocator<.*"                                                                         \
	"|MEM_ROOT::(Alloc[A-Za-z]*|ForceNewBlock)" /* PHP */                                      \
	"|_(safe_)?e(m|c|re)alloc2?"                                                               \
	"|_estrn?dup"                                                                              \
	"|_*(safe_)?(zend_|p)(m|c|re)alloc"                                                        \
	"|_?zend_mm_(re)?alloc(_[a-z_]*)?"	       /* Ruby */                                  \
	"|(objspace|ruby|rb)_x(m|c|re)alloc[a-z0-9_]*" /* Python, numpy */                         \
	"|_?Py(Mem|Object)_(Raw|Debug|DebugRaw)?([MC]|Re)?[Aa]lloc"                                \
	"|pymalloc_(alloc|realloc)"                                                                \
	"|_PyObject_Arena(Mmap|Malloc)"                                                            \
	"|new_arena"                                                                               \
	"|allocate_from_new_pool"                                                                  \
	"|_PyObject_MallocWithType|_PyObject_GC_[A-Za-z]*|gc_alloc"                                \
	"|PyType_GenericAlloc|_PyType_AllocNoTrack"                                                \
	"|PyDataMem_(User)?(RE)?NEW(_ZEROED)?"                                                     \
	"|_?npy_alloc_cache(_zero)?" /* Lua, Tcl, Erlang */                                        \
	"|luaM_(m|re|safere)alloc_"                                                                \
	"|luaM_growaux_"                                                                           \
	"|l_alloc"                                                                                 \
	"|Tcl(p|_)(Attempt)?(A|Rea)lloc"                                                           \
	"|erts_(sys_)?(re)?alloc[a-z_]*" /* the JVM */                                             \
	"|os::(malloc|realloc|strdup)(_check_oom)?"                                                \
	"|(Rea|A)llocateHeap" /* OpenLDAP, samba, BIND, libuv, dovecot, asterisk */                \
	"|ber_mem(c|re)?alloc(_x)?"                                                                \
	"|ber_strn?dup(_x)?"                                                                       \
	"|_*talloc(_.*)?"                                                                          \
	"|isc_*mem_[a-z]*(get|allocate|strn?dup)[a-z]*"                                            \
	"|uv__(m|c|re)alloc"                                                                       \
	"|uv__strn?dup"                                                                            \
	"|[pit]_(m|re)alloc(_real)?"                                                               \
	"|_*ast_(m|c|re)alloc" /* libxml2, jansson, GHC, LLVM, Qt */                               \
	"|xmlMem(Malloc|Realloc|Strdup)[A-Za-z]*"                                                  \
	"|jsonp_(malloc|strn?dup)"                                                                 \
	"|stg([MC]|Re)allocBytes"                                                                  \
	"|llvm::(safe_(m|c|re)alloc|allocate_buffer)"                                              \
	"|QArrayData::(re)?allocate[A-Za-z0-9]*" /* redact.c */                                    \
	"|allocator-[0-9a-f]{16}"

#define ITEM(name) name,
#define ALTERNATIVE(name) "|" name

static const char *const names[] = { PLAIN(ITEM) };

/* Return whether NAME of the list is the beginning of several, and the length of that. */
static bool
is_prefix_of_list(const char *name, size_t *ret_len)
{
	const size_t len = strlen(name);

	*ret_len = len - 2;
	return len > 2 && strcmp(name + len - 2, ".*") == 0;
}

bool
is_allocator(const char *name)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t len;

		if (is_prefix_of_list(names[i], &len) ? strncmp(name, names[i], len) == 0
						      : strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

bool
is_public_allocator(const char *name)
{
	size_t len;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!is_prefix_of_list(names[i], &len) && strcmp(name, names[i]) == 0)
			return true;
	return strcmp(name, "operator new[]") == 0;
}

static const char *
allocators_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool
is_allocator_library(const char *path)
{
	static const char *const libraries[] = { "libmemdiag-agent.so", "libmemtracer.so",
		"libjemalloc.so", "libtcmalloc", "libmimalloc", "allocator-" /* redact.c */ };
	const char *base = allocators_base_name(path);

	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
		if (strncmp(base, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return false;
}

bool
is_interpreter(const char *path)
{
	const char *base = allocators_base_name(path);

	return strncmp(base, "python3", 7) == 0 || strncmp(base, "libpython3", 10) == 0 ||
		strstr(path, "/lib-dynload/");
}

const char *
allocators_regex(void)
{
	return "memdiag_agent_.*" PLAIN(ALTERNATIVE) "|" WRAPPERS;
}

/* ---- functions that allocate for their callers ---- */

int
allocators_compile(struct allocators *a, struct err *e)
{
	static const char pattern[] = "^(" WRAPPERS ")$";
	char why[128];
	int r;

	r = regcomp(&a->wrappers, pattern, REG_EXTENDED | REG_NOSUB);
	a->is_compiled = !r;
	if (!r)
		return 0;
	regerror(r, &a->wrappers, why, sizeof why);
	return err_set(e, r == REG_ESPACE ? ENOMEM : 0, "cannot compile a list: %s", why);
}

void
allocators_release(struct allocators *a)
{
	if (a->is_compiled)
		regfree(&a->wrappers);
	a->is_compiled = false;
}

bool
allocators_have(const struct allocators *a, const char *name)
{
	return is_allocator(name) || regexec(&a->wrappers, name, 0, NULL, 0) == 0;
}

static bool
begins_with_any(const char *name, const char *const *prefix)
{
	for (; *prefix; prefix++)
		if (strncmp(name, *prefix, strlen(*prefix)) == 0)
			return true;
	return false;
}

/*
 * Return the trait of Rust's "<TYPE as TRAIT>::function", whose TYPE is not a named one: T, [u8],
 * &str.
 */
static const char *
trait_of(const char *name)
{
	const char *as = strstr(name, " as "), *path = strstr(name, "::");

	return as && path && as < path ? as + 4 : "";
}

bool
is_library_helper(const char *name)
{
	/* "core::" alone might be a namespace of the program. */
	static const char *const libraries[] = { "std::", "__gnu_cxx::", "hashbrown::",
		"alloc::alloc::", "alloc::borrow::", "alloc::boxed::", "alloc::collections::",
		"alloc::ffi::", "alloc::fmt::", "alloc::raw_vec::", "alloc::rc::", "alloc::slice::",
		"alloc::str::", "alloc::string::", "alloc::sync::", "alloc::vec::", "core::alloc::",
		"core::array::", "core::cell::", "core::clone::", "core::convert::",
		"core::default::", "core::fmt::", "core::hash::", "core::iter::", "core::mem::",
		"core::ops::", "core::option::", "core::pin::", "core::ptr::", "core::result::",
		"core::slice::", "core::str::", "__gnat_", "system__", "ada__", "gnat__", "_cgo_",
		"library-" /* redact.c */, NULL };

	if (*name != '<')
		return begins_with_any(name, libraries);
	name += strspn(name, "<&[(");
	return begins_with_any(name, libraries) || begins_with_any(trait_of(name), libraries);
}
