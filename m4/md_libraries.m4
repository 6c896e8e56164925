# MD_LIBRARIES
# ------------
# The libraries memdiag cannot do without.  Of libunwind the remote unwinder is enough: the accessors
# that libunwind-ptrace would add are our own (src/stack).
AC_DEFUN([MD_LIBRARIES], [
PKG_CHECK_MODULES([LIBUNWIND], [libunwind-generic])
PKG_CHECK_MODULES([LIBELF], [libelf])
PKG_CHECK_MODULES([EXPAT], [expat])
PKG_CHECK_MODULES([JANSSON], [jansson])
PKG_CHECK_MODULES([SMARTCOLS], [smartcols])
AC_CHECK_FUNC([argp_parse], [],
	[AC_MSG_ERROR([argp is missing from this C library; memdiag is built with glibc])])
AC_SUBST([MD_LIBS],
	["-pthread $LIBUNWIND_LIBS $LIBELF_LIBS $EXPAT_LIBS $JANSSON_LIBS $SMARTCOLS_LIBS"])
AC_SUBST([MD_CFLAGS],
	["-pthread $LIBUNWIND_CFLAGS $LIBELF_CFLAGS $EXPAT_CFLAGS $JANSSON_CFLAGS $SMARTCOLS_CFLAGS"])
])
