#!/bin/sh
# Who may look at whom: each refusal names its cause and what helps, and exits with 4.
. "$top_srcdir/tests/live/lib.sh"
need jq setpriv
[ "$(id -u)" -eq 0 ] || skip_all 'only root can be different users'

# Where another user can reach them, also if only we may use the build.
install -m 755 "$MEMDIAG" "$TRACEES/idle" "$TRACEES/undumpable" "$dir"
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

# refused WORDS COMMAND...: it exits with 4 and says WORDS.
refused()
{
	pattern=$1
	shift
	"$@" >"$dir/out" 2>"$dir/err"
	status=$?
	cat "$dir/err"
	[ $status -eq 4 ] && grep -qi -e "$pattern" "$dir/err"
}

# shellcheck disable=SC2086 # $nobody is a list of words, here and below
start_command $nobody "$dir/idle" 2
own=$tracee_pid
for command in maps info trim heap; do
	# shellcheck disable=SC2086
	check "an unprivileged user may $command an own process" \
		$nobody "$dir/memdiag" $command --pid "$own" --json
done

start_tracee idle 2
remember
for command in info trim heap; do
	# shellcheck disable=SC2086
	check "but not $command one of root" refused 'uid\|root' \
		$nobody "$dir/memdiag" $command --pid "$tracee_pid"
done
check 'which is as before' unharmed
check 'and lives on' end_tracee

# shellcheck disable=SC2086
start_command $nobody "$dir/undumpable"
# shellcheck disable=SC2086
check 'nor one of its own that may not be dumped' refused 'dumpable' \
	$nobody "$dir/memdiag" info --pid "$tracee_pid"
check 'which lives on' end_tracee

start_tracee idle 2
if unshare -Ur true 2>/dev/null; then
	check 'root of another user namespace may not' refused 'user namespace' \
		unshare -Ur "$dir/memdiag" info --pid "$tracee_pid"
else
	skip 'root of another user namespace may not' 'there are no user namespaces here'
fi
check 'which leaves it alive' end_tracee

# A kernel with Yama, as far as memdiag can tell: its setting is there and ptrace says EPERM.
under_yama()
{
	scope=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -c 'mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama &&
		echo "$1" >/proc/sys/kernel/yama/ptrace_scope && shift && exec "$@"' \
		sh "$scope" "$@"
}
if command -v strace >/dev/null && under_yama 1 true 2>/dev/null; then
	deny='strace -f -o /dev/null -e trace=ptrace -e inject=ptrace:error=EPERM'
	# shellcheck disable=SC2086 # lists of words
	{
		check 'Yama 1 is named' refused 'yama.*1\|ptrace_scope.*1' \
			under_yama 1 $nobody $deny "$dir/memdiag" info --pid "$own"
		check 'Yama 2 is named' refused 'CAP_SYS_PTRACE' \
			under_yama 2 $nobody $deny "$dir/memdiag" info --pid "$own"
		check 'Yama 3 is named' refused 'reboot' \
			under_yama 3 $deny "$dir/memdiag" info --pid "$own"
		check 'a filter of our own is named' refused 'seccomp' \
			$nobody $deny --seccomp-bpf "$dir/memdiag" info --pid "$own"
	}
else
	skip 'Yama is named' 'no strace, or no mount namespace'
fi
check 'the own process lives on' end_tracee "$own"

# This one never waits for its child.
start_tracee parked read 1
wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^kept'
zombie=$(tr -d ' ' <"/proc/$tracee_pid/task/$tracee_pid/children")
wait_for "$tracee_pid" "/proc/$zombie/status" '^State:.Z'
check 'a zombie is no process any more' exits 3 memdiag info --pid "$zombie"
check 'its parent lives on' end_tracee
finish
