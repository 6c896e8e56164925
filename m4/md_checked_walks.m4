# MD_CHECKED_WALKS
# ----------------
# --enable-checked-walks=yes builds an agent that walks each stack a second time, without what it has
# taken over from the last one, and ends the program if the two differ.  For tests: it is slow.
AC_DEFUN([MD_CHECKED_WALKS], [
AC_ARG_ENABLE([checked-walks],
	[AS_HELP_STRING([--enable-checked-walks],
		[let the agent check each stack that it takes over from the last @<:@no@:>@])],
	[], [enable_checked_walks=no])
AS_CASE([$enable_checked_walks],
	[yes], [AC_DEFINE([CHECKED_WALKS], [1], [Define to 1 to check stacks that are taken over.])],
	[no], [],
	[AC_MSG_ERROR([bad value '$enable_checked_walks' for --enable-checked-walks: say yes or no])])
])
