/* demangle: names of functions as in the source. */
#ifndef MEMDIAG_PROFILE_DEMANGLE_H
#define MEMDIAG_PROFILE_DEMANGLE_H

/*
 * Return NAME of C++ (Itanium ABI) or Rust (both schemes), without arguments; NULL if it is of
 * another kind or too complex.  The caller frees it.
 */
char *demangle(const char *name);

#endif
