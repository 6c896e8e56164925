# MD_FUZZ
# -------
# --enable-fuzz=yes links tests/fuzz/* with libFuzzer (clang only); otherwise the same files are
# built with a small driver that replays the inputs it is given.
AC_DEFUN([MD_FUZZ], [
AC_ARG_ENABLE([fuzz],
	[AS_HELP_STRING([--enable-fuzz], [link the fuzz targets with libFuzzer @<:@no@:>@])],
	[], [enable_fuzz=no])
AS_CASE([$enable_fuzz], [yes|no], [],
	[AC_MSG_ERROR([bad value '$enable_fuzz' for --enable-fuzz: say yes or no])])
FUZZ_CFLAGS=
AS_IF([test "$enable_fuzz" = yes], [
	md_saved_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS -fsanitize=fuzzer-no-link"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [FUZZ_CFLAGS=-fsanitize=fuzzer-no-link],
		[AC_MSG_ERROR([--enable-fuzz needs a compiler with libFuzzer (clang)])])
	CFLAGS=$md_saved_CFLAGS
])
AM_CONDITIONAL([FUZZ], [test "$enable_fuzz" = yes])
AC_SUBST([FUZZ_CFLAGS])
])
