# MD_TRACEES
# ----------
# What the test programs in tests/tracees can be built as: 32-bit, linked against musl.
# A form that cannot be built, or that the kernel does not run, is left out, and the test that wanted it skips and says why.
AC_DEFUN([MD_TRACEES], [
# Before glibc 2.34 these were in libraries of their own.
md_saved_LIBS=$LIBS
LIBS=
AC_SEARCH_LIBS([dlopen], [dl])
AC_SEARCH_LIBS([timer_create], [rt])
TEST_LIBS=$LIBS
LIBS=$md_saved_LIBS
AC_SUBST([TEST_LIBS])
AC_MSG_CHECKING([whether 32-bit programs can be built and run])
md_saved_CFLAGS=$CFLAGS
# Debian keeps <asm/*.h> of both widths in the directory of one, where -m32 does not look.
M32_CFLAGS='-m32 -idirafter /usr/include/x86_64-linux-gnu'
CFLAGS="$CFLAGS $M32_CFLAGS"
AC_RUN_IFELSE([AC_LANG_PROGRAM([#include <sys/prctl.h>])], [md_m32=yes], [md_m32=no], [md_m32=no])
CFLAGS=$md_saved_CFLAGS
AC_MSG_RESULT([$md_m32])
AC_SUBST([M32_CFLAGS])
AM_CONDITIONAL([HAVE_M32], [test "$md_m32" = yes])
AC_CHECK_PROG([MUSL_GCC], [musl-gcc], [musl-gcc])
AM_CONDITIONAL([HAVE_MUSL], [test -n "$MUSL_GCC"])
])
