#!/bin/sh
# AppArmor: memdiag with a profile that denies ptrace, and a target with one.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
need apparmor_parser aa-exec
[ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ] || skip_all 'this kernel has no AppArmor'
apparmor_parser -r -K >"$dir/parser" 2>&1 <<'PROFILE' || skip_all "the profile cannot be loaded: $(cat "$dir/parser")"
profile memdiag-no-ptrace {
	file,
	/** rwlkmix,
	capability,
	network,
	unix,
	signal,
	mount,
	umount,
	pivot_root,
	deny ptrace,
}
PROFILE
confined='aa-exec -p memdiag-no-ptrace --'

# shellcheck disable=SC2086 # a list of words
{
	start_tracee idle 2
	all_refuse 'memdiag may not' "memdiag runs as 'memdiag-no-ptrace (enforce)'.*aa-complain" $confined
	check 'memdiag may not: doctor of the process' exits 2 captured $confined "$MEMDIAG" doctor --pid "$tracee_pid"
	check 'doctor names the profile' grep -q 'memdiag is confined.*memdiag-no-ptrace (enforce)' "$dir/out"
	works 'memdiag without a profile'
	start_command $confined "$TRACEES/idle" 2
	works 'a target with a profile'
}
finish
