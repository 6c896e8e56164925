/*
 * real: the functions behind the hooks.
 */
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
	 * By their other names, __libc_malloc and so on: libc's own, even if another library has
	 * put its own in front.
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
	int (*_dl_find_object)(void *, struct dl_find_object *); /* since 2.35 */
	void (*operator[NR_OPERATORS])(void); /* enum real_operator; NULL if they are malloc's */
	/*
	 * The name of another malloc in front of the agent, whose blocks may reach functions that
	 * it does not have; else NULL.
	 */
	void (*front_free)(void *);
	void *(*front_realloc)(void *, size_t);
};
extern struct real real;

/*
 * Find them: each in the first object behind the agent that has it, as RTLD_NEXT would, which must
 * not be asked as it may call malloc.  False when malloc is not complete; the agent is transparent
 * then.
 */
bool real_find(void);

/*
 * Whether no code calls the hooks by their names: libc comes first, as when the agent is loaded
 * later.
 */
bool real_is_behind_libc(void);

/*
 * Which operators new and delete the program has: those of the C++ library, which call malloc and
 * free, or of the malloc behind us, which do the same; or others, of the program or a library.
 */
extern enum real_operators {
	REAL_OPERATORS_UNKNOWN, /* real_find() has not been called */
	REAL_OPERATORS_PLAIN,
	REAL_OPERATORS_REPLACED, /* those that REAL has must be called */
} real_operators;

/*
 * The function NAME of the C++ library that the code at CALLER uses: that of its own object, which
 * may have been linked with -static-libstdc++; else of a library that is loaded now; else of
 * whichever object has it.  With no CALLER, of a library alone.  NULL: none.  Not in a
 * hook: it takes ld.so's lock.
 */
void (*real_find_cxx(const char *name, const void *caller))(void);

/* The address at which INFO defines NAME of TYPE, STT_FUNC or STT_OBJECT; 0: it does not. */
struct dl_phdr_info;
uintptr_t real_symbol(const struct dl_phdr_info *info, const char *name, unsigned int type);

/* Whether malloc is glibc's. */
extern bool real_is_glibc;
/*
 * Whether what is loaded calls a malloc that is not, also by functions that only this one has, and
 * which a preloaded agent does not hook: a program finds out by their names which malloc it has.
 */
extern bool real_has_unhooked;
/* And, as far as is known, its chunks have the size in front (sysmalloc, malloc/malloc.c). */
extern bool real_has_headers;

#pragma GCC visibility pop

#endif
