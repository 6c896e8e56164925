# MD_ZSTD
# -------
# --with-zstd=yes|no|auto: with it, memdiag reads recordings that are compressed by zstd, as those of
# heaptrack are; without, "zstd -d" has to come first.
AC_DEFUN([MD_ZSTD], [
AC_ARG_WITH([zstd],
	[AS_HELP_STRING([--with-zstd],
		[read recordings compressed by zstd: yes, no or auto @<:@auto@:>@])],
	[], [with_zstd=auto])
AS_CASE([$with_zstd], [yes|no|auto], [],
	[AC_MSG_ERROR([bad value '$with_zstd' for --with-zstd: say yes, no or auto])])
ZSTD_LIBS=
md_zstd=no
AS_IF([test "$with_zstd" != no], [PKG_CHECK_MODULES([ZSTD], [libzstd], [md_zstd=yes], [md_zstd=no])])
AS_IF([test "$md_zstd" = yes], [AC_DEFINE([HAVE_ZSTD], [1], [Define if libzstd is there.])],
	[test "$with_zstd" = yes],
	[AC_MSG_ERROR([libzstd is missing; Debian has it as libzstd-dev, Fedora as libzstd-devel])],
	[test "$with_zstd" = auto],
	[AC_MSG_WARN([libzstd is missing (Debian: libzstd-dev): files of heaptrack will have to be unpacked first])])
])
