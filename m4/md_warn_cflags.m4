# MD_WARN_CFLAGS
# --------------
# Put every warning flag that the compiler knows into WARN_CFLAGS; --enable-werror=yes adds
# -Werror.  The user's CFLAGS are never touched.
AC_DEFUN([MD_WARN_CFLAGS], [
AC_ARG_ENABLE([werror],
	[AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors @<:@no@:>@])],
	[], [enable_werror=no])
AS_CASE([$enable_werror], [yes|no], [],
	[AC_MSG_ERROR([bad value '$enable_werror' for --enable-werror: say yes or no])])
WARN_CFLAGS=
md_saved_CFLAGS=$CFLAGS
for md_flag in -Wall -Wextra -Wformat=2 -Wmissing-prototypes -Wstrict-prototypes \
	-Wold-style-definition -Wpointer-arith -Wwrite-strings -Wvla -Wundef \
	-Wjump-misses-init -Wlogical-op -Wno-missing-field-initializers
do
	AC_MSG_CHECKING([whether $CC accepts $md_flag])
	CFLAGS="$md_saved_CFLAGS -Werror $md_flag"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
		[AC_MSG_RESULT([yes]); WARN_CFLAGS="$WARN_CFLAGS $md_flag"],
		[AC_MSG_RESULT([no])])
done
CFLAGS=$md_saved_CFLAGS
AS_IF([test "$enable_werror" = yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])
])
