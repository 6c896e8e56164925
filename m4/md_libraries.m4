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
# Zydis has no .pc file in Debian 12.  Its interface is that of release 4.
ZYDIS_LIBS=
AS_IF([test "$md_arch" = x86_64], [
	AC_CHECK_DECL([ZYDIS_STACK_WIDTH_64], [],
		[AC_MSG_ERROR([Zydis 4 is needed; Debian has it as libzydis-dev])],
		[[#include <Zydis/Zydis.h>]])
	AC_CHECK_LIB([Zydis], [ZydisDecoderDecodeFull], [ZYDIS_LIBS=-lZydis],
		[AC_MSG_ERROR([cannot link with Zydis])])
])
AC_CHECK_FUNC([argp_parse], [],
	[AC_MSG_ERROR([argp is missing from this C library; memdiag is built with glibc])])
AC_SUBST([MD_LIBS],
	["-pthread $LIBUNWIND_LIBS $LIBELF_LIBS $EXPAT_LIBS $JANSSON_LIBS $SMARTCOLS_LIBS $ZYDIS_LIBS"])
AC_SUBST([MD_CFLAGS],
	["-pthread $LIBUNWIND_CFLAGS $LIBELF_CFLAGS $EXPAT_CFLAGS $JANSSON_CFLAGS $SMARTCOLS_CFLAGS"])
])
