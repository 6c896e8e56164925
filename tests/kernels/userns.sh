#!/bin/sh
# No user namespaces, by either setting.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
# shellcheck disable=SC2086 # $nobody is a list of words
max=/proc/sys/user/max_user_namespaces
was=$(cat $max)
set_to $max 0
set_to /proc/sys/kernel/unprivileged_userns_clone 0
start_tracee idle 2
works 'no user namespaces, root'
start_own idle 2
works 'no user namespaces, the owner' $nobody
set_to $max "$was"
set_to /proc/sys/kernel/unprivileged_userns_clone 1
finish
