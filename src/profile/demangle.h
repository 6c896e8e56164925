/*
 * demangle: names of functions as their programmers wrote them.
 */
#ifndef MEMDIAG_PROFILE_DEMANGLE_H
#define MEMDIAG_PROFILE_DEMANGLE_H

/*
 * NAME of C++ (Itanium ABI) or Rust (both schemes), without arguments; NULL if it is not of these
 * or too complex.  The caller frees it.
 */
char *demangle(const char *name);

#endif
