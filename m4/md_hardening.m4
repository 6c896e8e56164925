# MD_HARDENING
# ------------
# Put what makes damage to memory harder to use into HARDENING_CFLAGS and HARDENING_LDFLAGS, as far
# as compiler and linker know it; --disable-hardening leaves it out.  What the user's flags have to
# say about _FORTIFY_SOURCE stays, and with a sanitizer or without optimisation it is left out.
AC_DEFUN([MD_HARDENING], [
AC_ARG_ENABLE([hardening],
	[AS_HELP_STRING([--disable-hardening],
		[no stack protector, _FORTIFY_SOURCE, PIE, full RELRO @<:@enabled@:>@])],
	[], [enable_hardening=yes])
AS_CASE([$enable_hardening], [yes|no], [],
	[AC_MSG_ERROR([bad value '$enable_hardening' for --enable-hardening: say yes or no])])
HARDENING_CFLAGS=
HARDENING_LDFLAGS=
md_saved_CFLAGS=$CFLAGS
md_saved_LDFLAGS=$LDFLAGS
md_candidates=
AS_IF([test "$enable_hardening" = yes],
	[md_candidates="-fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIE"])
AS_CASE(["$enable_hardening $CPPFLAGS $CFLAGS"], [no*|*_FORTIFY_SOURCE*|*-fsanitize*], [],
	[md_candidates="$md_candidates -U_FORTIFY_SOURCE/-D_FORTIFY_SOURCE=2"
	md_candidates="$md_candidates -U_FORTIFY_SOURCE/-D_FORTIFY_SOURCE=3"])
for md_flag in $md_candidates
do
	md_flag=`echo "$md_flag" | tr / ' '`
	AC_MSG_CHECKING([whether $CC accepts $md_flag])
	CFLAGS="$md_saved_CFLAGS -Werror $md_flag"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]])],
		[AC_MSG_RESULT([yes]); HARDENING_CFLAGS="$HARDENING_CFLAGS $md_flag"],
		[AC_MSG_RESULT([no])])
done
md_candidates=
AS_IF([test "$enable_hardening" = yes], [md_candidates="-pie -Wl,-z,relro -Wl,-z,now"])
for md_flag in $md_candidates
do
	AC_MSG_CHECKING([whether $CC links with $md_flag])
	CFLAGS="$md_saved_CFLAGS -Werror $HARDENING_CFLAGS"
	LDFLAGS="$md_saved_LDFLAGS $md_flag"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()],
		[AC_MSG_RESULT([yes]); HARDENING_LDFLAGS="$HARDENING_LDFLAGS $md_flag"],
		[AC_MSG_RESULT([no])])
done
CFLAGS=$md_saved_CFLAGS
LDFLAGS=$md_saved_LDFLAGS
AC_SUBST([HARDENING_CFLAGS])
AC_SUBST([HARDENING_LDFLAGS])
])
