# MD_LTO
# ------
# With -flto in CFLAGS, calls between the files of libmemdiag.a are bound before the linker sees
# them, and --wrap has no effect.  Tests that replace functions are linked without LTO
# (NO_LTO_LIBS), from the machine code that objects hold beside the intermediate code (LTO_CFLAGS).
# Where the compiler cannot make such objects (clang before 17), its linker is relied on: lld knows
# of --wrap.
AC_DEFUN([MD_LTO], [
AC_MSG_CHECKING([whether $CC accepts -ffat-lto-objects])
md_saved_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -Werror -ffat-lto-objects"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
	[AC_MSG_RESULT([yes]); LTO_CFLAGS=-ffat-lto-objects; NO_LTO_LIBS=-fno-lto],
	[AC_MSG_RESULT([no]); LTO_CFLAGS=; NO_LTO_LIBS=])
CFLAGS=$md_saved_CFLAGS
AC_SUBST([LTO_CFLAGS])
AC_SUBST([NO_LTO_LIBS])
])
