#!/bin/sh
# Kernel lockdown, integrity: what memdiag does is allowed.  It lasts until the machine is started again.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
lockdown=/sys/kernel/security/lockdown
[ -e $lockdown ] || skip_all 'this kernel has no lockdown'
set_to $lockdown integrity
grep -q '\[integrity\]' $lockdown || skip_all 'lockdown cannot be set'
start_tracee idle 2
works integrity
start_tracee idle 2
check 'integrity: trace' exits 0 memdiag trace -d 0.1 --mount-tracefs --pid "$tracee_pid"
check 'integrity: lives on' end_tracee
finish
