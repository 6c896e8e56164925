/* real: the functions that the hooks call. */
#ifndef MEMDIAG_AGENT_BASE_REAL_H
#define MEMDIAG_AGENT_BASE_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

struct dl_find_object;

/*
 * Operator new and delete: of one object or an array, nothrow, sized, and aligned
 * (Itanium C++ ABI, 5.1.5: size_t is m where it is unsigned long).
 */
#define REAL_OPERATORS(X)                                                                          \
	X(_Znwm)                                                                                   \
	X(_Znam)                                                                                   \
	X(_ZnwmRKSt9nothrow_t)                                                                     \
	X(_ZnamRKSt9nothrow_t)                                                                     \
	X(_ZnwmSt11align_val_t)                                                                    \
	X(_ZnamSt11align_val_t)                                                                    \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t)                                                      \
	X(_ZnamSt11align_val_tRKSt9nothrow_t)                                                      \
	X(_ZdlPv)                                                                                  \
	X(_ZdaPv)                                                                                  \
	X(_ZdlPvRKSt9nothrow_t)                                                                    \
	X(_ZdaPvRKSt9nothrow_t)                                                                    \
	X(_ZdlPvm)                                                                                 \
	X(_ZdaPvm)                                                                                 \
	X(_ZdlPvSt11align_val_t)                                                                   \
	X(_ZdaPvSt11align_val_t)                                                                   \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t)                                                     \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t)                                                     \
	X(_ZdlPvmSt11align_val_t)                                                                  \
	X(_ZdaPvmSt11align_val_t)

enum real_operator {
#define X(name) OPERATOR##name,
	REAL_OPERATORS(X)
#undef X
		NR_OPERATORS,
};

struct real {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
	/*
	 * libc's own functions by their other names, __libc_malloc and so on, even if another
	 * library overrides the usual names.
	 */
	void *(*libc_malloc)(size_t);
	void (*libc_free)(void *);
	void *(*libc_calloc)(size_t, size_t);
	void *(*libc_realloc)(void *, size_t);
	void *(*libc_memalign)(size_t, size_t);
	void *(*libc_valloc)(size_t);
	void *(*libc_pvalloc)(size_t);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*mprotect)(void *, size_t, int);
	int (*pkey_mprotect)(void *, size_t, int, int);
	pid_t (*_Fork)(void);
	int (*execve)(const char *, char *const *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*fexecve)(int, char *const *, char *const *);
	int (*posix_spawn)(
		pid_t *, const char *, const void *, const void *, char *const *, char *const *);
	int (*posix_spawnp)(
		pid_t *, const char *, const void *, const void *, char *const *, char *const *);
	int (*pthread_create)(void *, const void *, void *(*)(void *), void *);
	int (*_dl_find_object)(void *, struct dl_find_object *); /* since glibc 2.35 */
	void (*operator[NR_OPERATORS])(void); /* enum real_operator; NULL if malloc defines them */
	/*
	 * The functions of another malloc in front of the agent, whose blocks may reach functions
	 * that this malloc does not define; else NULL.
	 */
	void (*front_free)(void *);
	void *(*front_realloc)(void *, size_t);
};
extern struct real real;

/*
 * Find the real functions: each in the first object after the agent that has it, as RTLD_NEXT
 * would.  RTLD_NEXT itself must not be used, since dlsym() may call malloc.  False if malloc is
 * incomplete; the agent is then transparent.
 */
bool real_find(void);

/*
 * True if no code calls the hooks by their names, because libc precedes the agent, as after loading
 * into a running process.
 */
bool real_is_behind_libc(void);

/*
 * The operators new and delete of the program: those of the C++ library or of the next malloc,
 * which call malloc and free or do the same; or replaced ones in the program or a library.
 */
extern enum real_operators {
	REAL_OPERATORS_UNKNOWN, /* real_find() was not called */
	REAL_OPERATORS_PLAIN,
	REAL_OPERATORS_REPLACED, /* the operators in REAL must be called */
} real_operators;

/*
 * The function NAME of the C++ library that the code at CALLER uses.  The search begins in the
 * caller's own object, which may have been linked with -static-libstdc++, and continues with the
 * libraries that are loaded now and then any object.  With CALLER NULL, only libraries are
 * searched.  NULL if it is not found.  Do not call this in a hook: it takes ld.so's lock.
 */
void (*real_find_cxx(const char *name, const void *caller))(void);

/* The address at which INFO defines NAME of TYPE, STT_FUNC or STT_OBJECT; 0 if it does not. */
struct dl_phdr_info;
uintptr_t real_symbol(const struct dl_phdr_info *info, const char *name, unsigned int type);

/* True if malloc is glibc's. */
extern bool real_is_glibc;
/*
 * True if the loaded objects have another malloc and call functions that only this malloc has and
 * that a preloaded agent does not hook.  A program detects its malloc by the names of such
 * functions.
 */
extern bool real_has_unhooked;
/*
 * True if malloc is glibc's and, as far as is known, its chunks begin with their size (sysmalloc,
 * malloc/malloc.c).
 */
extern bool real_has_headers;

#pragma GCC visibility pop

#endif
