#!/bin/sh
# /proc with hidepid=2, and with a group that may see all.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
# shellcheck disable=SC2086 # $nobody is a list of words
mount -o remount,hidepid=2 /proc
start_tracee idle 2
all_refuse 'another user' 'hidepid' $nobody
check 'doctor says so beforehand' exits 2 captured $nobody "$MEMDIAG" doctor
check 'by the option of the mount' grep -q hidepid "$dir/out"
works root
start_own idle 2
works 'the owner' $nobody
mount -o remount,hidepid=0 /proc
finish
