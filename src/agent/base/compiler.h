/* compiler: short names for attributes of the compiler. */
#ifndef MEMDIAG_AGENT_BASE_COMPILER_H
#define MEMDIAG_AGENT_BASE_COMPILER_H

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define EXPORT __attribute__((visibility("default")))
/* Define NAME as a second name of the function OF. */
#if __has_attribute(copy)
#define ALSO(name, of) EXPORT __typeof__(of) name __attribute__((alias(#of), copy(of)))
#else
#define ALSO(name, of) EXPORT __typeof__(of) name __attribute__((alias(#of)))
#endif
/* Not inlined: the quick path of a hook then needs no stack frame for its slow path. */
#define SLOW __attribute__((noinline, cold))
/* Inlined into each caller, where the caller's arguments are constants. */
#define INLINE static inline __attribute__((always_inline))

#endif
