# MD_LIBRARIES
# ------------
# The libraries memdiag cannot do without, Zydis, zstd, libdeflate, and protoc-c, which compiles src/profile/pprof.proto.  Of libunwind
# the remote unwinder is enough: the accessors that libunwind-ptrace would add are our own (src/stack).
AC_DEFUN([MD_LIBRARIES], [
PKG_CHECK_MODULES([LIBUNWIND], [libunwind-generic])
PKG_CHECK_MODULES([LIBELF], [libelf])
PKG_CHECK_MODULES([LIBDW], [libdw])
PKG_CHECK_MODULES([ZLIB], [zlib])
PKG_CHECK_MODULES([PROTOBUF_C], [libprotobuf-c])
AC_PATH_PROG([PROTOC_C], [protoc-c], [no])
AS_IF([test "$PROTOC_C" = no],
	[AC_MSG_ERROR([protoc-c is missing; Debian has it as protobuf-c-compiler, Fedora as protobuf-c-compiler])])
dnl Without a .pc file, and only static.
AC_CHECK_HEADER([libiberty/demangle.h], [],
	[AC_MSG_ERROR([libiberty is missing; Debian has it as libiberty-dev, Fedora as binutils-devel])])
AC_CHECK_LIB([iberty], [rust_demangle_callback], [:],
	[AC_MSG_ERROR([libiberty is missing; Debian has it as libiberty-dev, Fedora as binutils-devel])])
PKG_CHECK_MODULES([EXPAT], [expat])
md_saved_CPPFLAGS=$CPPFLAGS
CPPFLAGS="$CPPFLAGS $EXPAT_CFLAGS"
AC_CHECK_DECLS([XML_GetCurrentLineNumber64], [], [], [[#include <expat.h>]])
CPPFLAGS=$md_saved_CPPFLAGS
PKG_CHECK_MODULES([JANSSON], [jansson])
PKG_CHECK_MODULES([SMARTCOLS], [smartcols])
PKG_CHECK_MODULES([NCURSES], [ncursesw])
PKG_CHECK_MODULES([MICROHTTPD], [libmicrohttpd])
PKG_CHECK_MODULES([SECCOMP], [libseccomp])
PKG_CHECK_MODULES([CAP_NG], [libcap-ng])
dnl HMAC-SHA256 for report --redact: no library that was linked before has a keyed hash.
PKG_CHECK_MODULES([NETTLE], [nettle])
dnl Its headers alone: profile --push loads it (src/export/push-http.c says why).
PKG_CHECK_MODULES([CURL], [libcurl])
MD_ZYDIS
MD_ZSTD
MD_LIBDEFLATE
AC_CHECK_FUNC([argp_parse], [],
	[AC_MSG_ERROR([argp is missing from this C library; memdiag is built with glibc])])
AC_SUBST([MD_LIBS],
	["-pthread -lm $LIBUNWIND_LIBS $LIBDW_LIBS $LIBELF_LIBS $ZLIB_LIBS $PROTOBUF_C_LIBS -liberty $EXPAT_LIBS $JANSSON_LIBS $SMARTCOLS_LIBS $NCURSES_LIBS $NETTLE_LIBS $ZSTD_LIBS $LIBDEFLATE_LIBS $ZYDIS_LIBS"])
dnl Of memdiag-export alone.
AC_SUBST([MD_EXPORT_LIBS], ["$MICROHTTPD_LIBS $SECCOMP_LIBS $CAP_NG_LIBS"])
AC_SUBST([MD_CFLAGS],
	["-pthread $LIBUNWIND_CFLAGS $LIBDW_CFLAGS $LIBELF_CFLAGS $ZLIB_CFLAGS $PROTOBUF_C_CFLAGS $EXPAT_CFLAGS $JANSSON_CFLAGS $SMARTCOLS_CFLAGS $NCURSES_CFLAGS $NETTLE_CFLAGS $CURL_CFLAGS $ZSTD_CFLAGS $LIBDEFLATE_CFLAGS $MICROHTTPD_CFLAGS $SECCOMP_CFLAGS $CAP_NG_CFLAGS"])
])
