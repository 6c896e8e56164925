# MD_TEST_LIBDW
# -------------
# elfutils' libdw, which a test compares the agent's reading of unwind tables with. Optional.
AC_DEFUN([MD_TEST_LIBDW], [
PKG_CHECK_MODULES([TEST_LIBDW], [libdw], [md_test_libdw=yes], [md_test_libdw=no])
AM_CONDITIONAL([TEST_LIBDW], [test "$md_test_libdw" = yes])
])
