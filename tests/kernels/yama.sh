#!/bin/sh
# kernel.yama.ptrace_scope 0, 1 and 2: as root, as the owner, and as another user.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
# shellcheck disable=SC2086 # $nobody is a list of words
scope=/proc/sys/kernel/yama/ptrace_scope
[ -e $scope ] || skip_all 'this kernel has no Yama'

for value in 0 1 2; do
	set_to $scope $value
	start_tracee idle 2
	all_refuse "$value, another user" 'belongs to uid 0' $nobody
	works "$value, root"
	# The programs in tests/tracees let any process trace them (PR_SET_PTRACER), which matters for 1 alone.
	start_command $nobody sh -c 'echo ready; read -r line; echo alive'
	case $value in
	0) all_exit "$value, the owner" 0 $nobody ;;
	1) all_refuse "$value, the owner" 'kernel.yama.ptrace_scope is 1' $nobody ;;
	2) all_refuse "$value, the owner" 'kernel.yama.ptrace_scope is 2' $nobody ;;
	esac
	if [ $value -gt 0 ]; then
		check "$value: doctor says so beforehand" exits 2 captured $nobody "$MEMDIAG" doctor
		check "$value: by the setting" grep -q "ptrace_scope.* $value" "$dir/out"
		check "$value: doctor of the process" exits 2 captured $nobody "$MEMDIAG" doctor --pid "$tracee_pid"
	fi
	# A program that memdiag has started loads the agent by itself.
	check "$value, the owner: memdiag run" exits 0 captured $nobody "$MEMDIAG" run -q --limit 1G true
	works "$value, root on that of another user"
done
set_to $scope 0
finish
