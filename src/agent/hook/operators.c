/*
 * operators: operator new and delete of C++.  The operators of the C++ library call malloc() and
 * free().  A malloc that supports C++ (jemalloc, tcmalloc, mimalloc) has its own operators, which
 * do not.  The operators here replace both, and follow the standard ([new.delete]): they call
 * malloc(), and the new_handler as long as malloc() fails.  Without a handler they throw
 * std::bad_alloc.
 *
 * If the program or a library has replaced an operator, calls go to the operators that would be
 * called without the agent.
 */
#include <config.h>

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/base/compiler.h"
#include "agent/base/real.h"
#include "agent/base/state.h"
#include "agent/hook/agent.h"

/* ---- replaced operators ---- */

/*
 * True if the operator NUMBER is left to REAL.  False before REAL is known: malloc() then takes its
 * blocks from early.c.
 */
static SLOW bool
is_replaced_slowly(enum real_operator number)
{
	if (real_operators == REAL_OPERATORS_UNKNOWN && agent_enter_slowly())
		agent_leave();
	return real_operators == REAL_OPERATORS_REPLACED && real.operator[number];
}

static inline bool
is_replaced(enum real_operator number)
{
	return UNLIKELY(real_operators != REAL_OPERATORS_PLAIN) && is_replaced_slowly(number);
}

/* ---- new ---- */

/* ALIGNMENT 0: the block is not aligned. */
static void *
operators_take(size_t alignment, size_t size)
{
	return alignment ? memalign(alignment, size) : malloc(size);
}

/*
 * The handler that the code at CALLER sets.  A C++ library that is linked into the caller's object
 * has its own handler.
 */
static void (*handler_now(const void *caller))(void)
{
	void (*(*get)(void))(void) =
		(void (*(*)(void))(void))real_find_cxx("_ZSt15get_new_handlerv", caller);

	return get ? get() : NULL;
}

/*
 * Throw std::bad_alloc by the function in CALLER's object if that was linked with
 * -static-libstdc++.  No hook is in progress then, so no work is skipped in a frame that the
 * exception passes.  If no object had an operator new, ld.so would have ended the program even
 * without the agent.
 */
static void
throw_bad_alloc(const void *caller)
{
	void (*throw)(void) = real_find_cxx("_ZSt17__throw_bad_allocv", caller);
	void *(*new)(size_t) = (void *(*)(size_t))real_find_cxx("_Znwm", caller);

	if (throw)
		throw();
	if (new)
		new (PTRDIFF_MAX); /* libc++ lacks the function that throws */
	abort();
}

/* malloc() has failed: call the handler, or throw. */
static SLOW void *
new_failed(size_t alignment, size_t size, const void *caller)
{
	void (*handler)(void);
	void *block = NULL;

	while (!block && (handler = handler_now(caller))) {
		handler();
		block = operators_take(alignment, size);
	}
	if (!block)
		throw_bad_alloc(caller);
	return block;
}

/*
 * A handler may throw, and the exception must be caught.  The operator of a C++ library does so,
 * and calls the agent's operator.  An operator inside another object is not used, since it may be a
 * replaced one with other blocks; without a library the allocation fails.
 */
static SLOW void *
nothrow_failed(size_t alignment, size_t size, const void *nothrow, const void *caller)
{
	void *(*plain)(size_t, const void *);
	void *(*aligned)(size_t, size_t, const void *);

	if (!handler_now(caller))
		return NULL;
	if (alignment) {
		aligned = (void *(*)(size_t, size_t, const void *))real_find_cxx(
			"_ZnwmSt11align_val_tRKSt9nothrow_t", NULL);
		return aligned ? aligned(size, alignment, nothrow) : NULL;
	}
	plain = (void *(*)(size_t, const void *))real_find_cxx("_ZnwmRKSt9nothrow_t", NULL);
	return plain ? plain(size, nothrow) : NULL;
}

/* The operator that would be called without the agent. */
#define REAL(name, type, parameters) ((type(*) parameters)real.operator[OPERATOR##name])

/*
 * The size that the C++ library requests: one byte instead of none
 * (libstdc++-v3/libsupc++/new_op.cc).
 */
static inline size_t
least_one(size_t size)
{
	return size + !size;
}

#define CALLER __builtin_return_address(0)

#define NEW(name)                                                                                  \
	EXPORT void *name(size_t size);                                                            \
	EXPORT void *name(size_t size)                                                             \
	{                                                                                          \
		void *block;                                                                       \
                                                                                                   \
		if (is_replaced(OPERATOR##name))                                                   \
			return REAL(name, void *, (size_t))(size);                                 \
		block = malloc(least_one(size));                                                   \
		return LIKELY(block) ? block : new_failed(0, least_one(size), CALLER);             \
	}
NEW(_Znwm)
NEW(_Znam)
#undef NEW

#define NEW(name)                                                                                  \
	EXPORT void *name(size_t size, const void *nothrow);                                       \
	EXPORT void *name(size_t size, const void *nothrow)                                        \
	{                                                                                          \
		void *block;                                                                       \
                                                                                                   \
		if (is_replaced(OPERATOR##name))                                                   \
			return REAL(name, void *, (size_t, const void *))(size, nothrow);          \
		block = malloc(least_one(size));                                                   \
		return LIKELY(block) ? block                                                       \
				     : nothrow_failed(0, least_one(size), nothrow, CALLER);        \
	}
NEW(_ZnwmRKSt9nothrow_t)
NEW(_ZnamRKSt9nothrow_t)
#undef NEW

#define NEW(name)                                                                                  \
	EXPORT void *name(size_t size, size_t alignment);                                          \
	EXPORT void *name(size_t size, size_t alignment)                                           \
	{                                                                                          \
		void *block;                                                                       \
                                                                                                   \
		if (is_replaced(OPERATOR##name))                                                   \
			return REAL(name, void *, (size_t, size_t))(size, alignment);              \
		block = memalign(alignment, least_one(size));                                      \
		return LIKELY(block) ? block : new_failed(alignment, least_one(size), CALLER);     \
	}
NEW(_ZnwmSt11align_val_t)
NEW(_ZnamSt11align_val_t)
#undef NEW

#define NEW(name)                                                                                  \
	EXPORT void *name(size_t size, size_t alignment, const void *nothrow);                     \
	EXPORT void *name(size_t size, size_t alignment, const void *nothrow)                      \
	{                                                                                          \
		void *block;                                                                       \
                                                                                                   \
		if (is_replaced(OPERATOR##name))                                                   \
			return REAL(name, void *, (size_t, size_t, const void *))(                 \
				size, alignment, nothrow);                                         \
		block = memalign(alignment, least_one(size));                                      \
		return LIKELY(block)                                                               \
			? block                                                                    \
			: nothrow_failed(alignment, least_one(size), nothrow, CALLER);             \
	}
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t)
#undef NEW

/* ---- delete: the size and the alignment are hints ---- */

#define DELETE(name, parameters, arguments)                                                        \
	static SLOW void name##_slowly parameters                                                  \
	{                                                                                          \
		if (is_replaced(OPERATOR##name))                                                   \
			REAL(name, void, parameters) arguments;                                    \
		else                                                                               \
			free(block);                                                               \
	}                                                                                          \
	EXPORT void name parameters;                                                               \
	EXPORT void name parameters                                                                \
	{                                                                                          \
		if (UNLIKELY(real_operators != REAL_OPERATORS_PLAIN))                              \
			name##_slowly arguments;                                                   \
		else                                                                               \
			free(block);                                                               \
	}
DELETE(_ZdlPv, (void *block), (block))
DELETE(_ZdaPv, (void *block), (block))
DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *nothrow), (block, nothrow))
DELETE(_ZdlPvm, (void *block, size_t size), (block, size))
DELETE(_ZdaPvm, (void *block, size_t size), (block, size))
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, const void *nothrow),
	(block, alignment, nothrow))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, const void *nothrow),
	(block, alignment, nothrow))
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
	(block, size, alignment))
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t alignment),
	(block, size, alignment))
#undef DELETE
