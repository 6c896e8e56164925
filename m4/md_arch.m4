# MD_ARCH
# -------
# Which file of src/arch/*.c is built.  Every command but those that call into the target
# works anywhere; an architecture without a file gets arch-none.c, which refuses by name.
AC_DEFUN([MD_ARCH], [
AC_CANONICAL_HOST
AS_CASE([$host_cpu],
	[x86_64], [md_arch=x86_64],
	[aarch64], [md_arch=aarch64],
	[md_arch=none])
AM_CONDITIONAL([ARCH_X86_64], [test "$md_arch" = x86_64])
AM_CONDITIONAL([ARCH_AARCH64], [test "$md_arch" = aarch64])
AM_CONDITIONAL([ARCH_NONE], [test "$md_arch" = none])
])
