#!/bin/sh
# memdiag trace where it is not permitted or not possible: the message names what is missing and what helps, and the
# process and the mounts are as before.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"
trace='memdiag trace -d 0.1'
start_tracee idle 2
remember
cat /proc/self/mountinfo >"$dir/mounts"

# ---- rights --------------------------------------------------------------------------------------

# Where only root can enter the build.
cp "$MEMDIAG" "$dir"
chmod 755 "$dir"
# refused STATUS WORDS COMMAND...: it exits with STATUS and says WORDS.
refused()
{
	wanted=$1 words=$2
	shift 2
	captured "$@"
	[ $? -eq "$wanted" ] && grep -q -e "$words" "$dir/err"
}
# without COMMAND...: tracefs is not mounted there.
without()
{
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m sh -c 'mount -t tmpfs nodev /sys/kernel && exec "$@"' sh "$@"
}
nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
as_nobody()
{
	wanted=$1 words=$2
	shift 2
	# shellcheck disable=SC2086 # words
	refused "$wanted" "$words" $nobody "$@"
}
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	check 'the process of another user' \
		as_nobody 4 'CAP_SYS_PTRACE' "$dir/memdiag" trace -d 0.1 "$tracee_pid"
	# shellcheck disable=SC2016 # the inner shell's
	of_its_own='sleep 100 & "$0" trace "$@" $!; status=$?; kill $!; exit $status'
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ]; then
		check 'its own process: --rss' as_nobody 4 'memdiag has no CAP_PERFMON, and kernel.perf_event_paranoid is' \
			sh -c "$of_its_own" "$dir/memdiag" --rss -d 0.1
		check 'what helps' grep -q 'Run memdiag as root, or: sysctl kernel.perf_event_paranoid=0' "$dir/err"
	else
		skip 'its own process: --rss' 'all users may watch events here'
	fi
	check 'its own process: no tracefs' as_nobody 4 'tracefs is ' sh -c "$of_its_own" "$dir/memdiag" -d 0.1
	# shellcheck disable=SC2086 # words
	check 'it may not mount one' refused 4 'cannot mount tracefs for memdiag alone: Operation not permitted' \
		without $nobody sh -c "$of_its_own" "$dir/memdiag" -d 0.1 --mount-tracefs
	check 'what helps against that' grep -q 'Run memdiag as root (CAP_SYS_ADMIN)' "$dir/err"
else
	skip 'another user' 'only root can be another user'
fi

check 'no tracefs' refused 4 'tracefs is not mounted. Add --mount-tracefs, ' \
	without "$MEMDIAG" trace -d 0.1 "$tracee_pid"

# denied ERROR: perf_event_open() fails with it.
perf_event_open=298
[ "$(uname -m)" = x86_64 ] || perf_event_open=241
denied()
{
	refused 4 'a seccomp filter applies to memdiag' \
		python3 "$top_srcdir/tests/live/deny.py" $perf_event_open "$1" "$MEMDIAG" trace -d 0.1 --mount-tracefs "$tracee_pid"
}
check 'a filter of system calls: EPERM' denied 1
check 'a filter of system calls: ENOSYS' denied 38
few_files()
{
	# shellcheck disable=SC2016 # the inner shell's
	refused 1 'files must be open, and 20 may be. Raise the limit as root (ulimit -n ' \
		sh -c 'ulimit -n 20 && exec "$@"' sh "$MEMDIAG" trace -d 0.1 --mount-tracefs "$tracee_pid"
}
check 'too few files may be open' few_files

# ---- processes -----------------------------------------------------------------------------------

check 'the process is as before' unharmed
check 'it lives on' end_tracee
check 'a process that there is not' exits_saying 3 '4194304' $trace --mount-tracefs 4194304
if has_kernel_threads; then
	check 'a kernel thread' exits_saying 5 'kernel thread' $trace --mount-tracefs 2
else
	skip 'a kernel thread' 'this container has none'
fi
sh -c 'sleep 0.2 & echo $! >"$0"; exec sleep 100000' "$dir/zombie" &
started="$started $!"
until [ -s "$dir/zombie" ] && grep -q '^State:.Z' "/proc/$(cat "$dir/zombie")/status"; do
	sleep 0.01
done
check 'a zombie' exits_saying 3 'zombie' $trace --mount-tracefs "$(cat "$dir/zombie")"
if [ -x "$TRACEES/idle-i386" ]; then
	start_tracee idle-i386 1
	check 'a program of 32 bits has no calls that are traced' exits '0 2' $trace --mount-tracefs --json "$tracee_pid"
	check 'a program of 32 bits lives on' end_tracee
else
	skip 'a program of 32 bits' 'such a program cannot be built or run here'
fi
check 'no mount is left' cmp "$dir/mounts" /proc/self/mountinfo
finish
