# MD_ZYDIS
# --------
# --with-zydis=yes|no|auto: with it, memdiag counts in processes that run ("memdiag count"); without,
# that command refuses and says why, and everything else works.  Used on x86-64 alone.  Zydis has no
# .pc file in Debian 12; its interface is that of release 4.
AC_DEFUN([MD_ZYDIS], [
AC_ARG_WITH([zydis],
	[AS_HELP_STRING([--with-zydis],
		[hook functions of processes that run, for "memdiag count": yes, no or auto @<:@auto@:>@])],
	[], [with_zydis=auto])
AS_CASE([$with_zydis], [yes|no|auto], [],
	[AC_MSG_ERROR([bad value '$with_zydis' for --with-zydis: say yes, no or auto])])
ZYDIS_LIBS=
md_zydis=no
AS_IF([test "$md_arch" = x86_64 && test "$with_zydis" != no], [
	AC_CHECK_DECL([ZYDIS_STACK_WIDTH_64],
		[AC_CHECK_LIB([Zydis], [ZydisDecoderDecodeFull], [md_zydis=yes; ZYDIS_LIBS=-lZydis])],
		[], [[#include <Zydis/Zydis.h>]])
	AS_IF([test "$md_zydis" = yes], [],
		[test "$with_zydis" = yes],
		[AC_MSG_ERROR([Zydis 4 is missing; Debian has it as libzydis-dev])],
		[AC_MSG_WARN([Zydis 4 is missing (Debian: libzydis-dev): "memdiag count" will refuse])])
])
AM_CONDITIONAL([HAVE_ZYDIS], [test "$md_zydis" = yes])
AS_IF([test "$md_zydis" = yes], [AC_DEFINE([HAVE_ZYDIS], [1], [Define if Zydis 4 is there.])])
])
