/*
 * compiler: attributes of the compiler by short names.
 */
#ifndef MEMDIAG_AGENT_BASE_COMPILER_H
#define MEMDIAG_AGENT_BASE_COMPILER_H

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define EXPORT __attribute__((visibility("default")))
/* Another name, by which it is called as well. */
#if __has_attribute(copy)
#define ALSO(name, of) EXPORT __typeof__(of) name __attribute__((alias(#of), copy(of)))
#else
#define ALSO(name, of) EXPORT __typeof__(of) name __attribute__((alias(#of)))
#endif
/* Not inlined, so that a hook's quick way needs no stack frame for its slow one. */
#define SLOW __attribute__((noinline, cold))
/* Compiled into each caller, with the constants that it passes. */
#define INLINE static inline __attribute__((always_inline))

#endif
