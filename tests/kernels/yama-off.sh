#!/bin/sh
# kernel.yama.ptrace_scope 3: nothing is traced until the machine is started again, so this is the last test.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
scope=/proc/sys/kernel/yama/ptrace_scope
[ -e $scope ] || skip_all 'this kernel has no Yama'
set_to $scope 3
start_tracee idle 2
all_refuse root 'kernel.yama.ptrace_scope is 3'
check 'doctor says so beforehand' exits 2 memdiag doctor
check 'by the setting' grep -q 'ptrace_scope.* 3' "$dir/out"
check 'the target lives on' end_tracee
finish
