# MD_LIBDEFLATE
# -------------
# --with-libdeflate=yes|no|auto: with it, compressed debug information is unpacked faster than by zlib
# (src/profile/debug-plain.c).
AC_DEFUN([MD_LIBDEFLATE], [
AC_ARG_WITH([libdeflate],
	[AS_HELP_STRING([--with-libdeflate],
		[unpack debug information by libdeflate, which is faster than zlib: yes, no or auto @<:@auto@:>@])],
	[], [with_libdeflate=auto])
AS_CASE([$with_libdeflate], [yes|no|auto], [],
	[AC_MSG_ERROR([bad value '$with_libdeflate' for --with-libdeflate: say yes, no or auto])])
LIBDEFLATE_LIBS=
md_libdeflate=no
AS_IF([test "$with_libdeflate" != no],
	[PKG_CHECK_MODULES([LIBDEFLATE], [libdeflate], [md_libdeflate=yes], [md_libdeflate=no])])
AS_IF([test "$md_libdeflate" = yes], [AC_DEFINE([HAVE_LIBDEFLATE], [1], [Define if libdeflate is there.])],
	[test "$with_libdeflate" = yes],
	[AC_MSG_ERROR([libdeflate is missing; Debian has it as libdeflate-dev, Fedora as libdeflate-devel])],
	[test "$with_libdeflate" = auto],
	[AC_MSG_WARN([libdeflate is missing (Debian: libdeflate-dev): zlib, which is slower, will unpack debug information])])
])
