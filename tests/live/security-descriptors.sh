#!/bin/sh
# Root's memdiag and a process of another user that exchanges descriptors in the middle of its work, so that memdiag
# would read or write what only root may.  Nothing outside of the process changes, and memdiag comes back.
. "$top_srcdir/tests/live/lib.sh"
need_hooks
need setpriv python3
[ "$(id -u)" -eq 0 ] || skip_all 'only root can be different users'

# Where the other user can reach it, and an agent of which the process must be given a copy.
install -m 755 "$TRACEES/swapper" "$dir"
mkdir -m 700 "$dir/private"
cp "$MEMDIAG" "$dir/private/memdiag"
cp "$top_builddir/libmemdiag-agent.so" "$dir/private"
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

# With all repetitions 200 tries, with a quarter of them 13: each takes some 50 ms.
tries=$((($(some 200) * $(some 100) + 99) / 100))

# attacker MODE [-e] KIND FILE [LOG]: start one, with new files; FILE has MODE.
attacker()
{
	rm -f "$dir/file"
	printf 'only root may write this\n' >"$dir/file"
	chmod "$1" "$dir/file"
	cp "$dir/file" "$dir/before"
	: >"$dir/log"
	chown 65534 "$dir/log"
	shift
	# shellcheck disable=SC2086 # a list of words
	start_command $nobody "$dir/swapper" "$@"
}

# same_file: whether FILE is unchanged.
same_file()
{
	cmp "$dir/before" "$dir/file"
}

# nothing_leaked: whether LOG has nothing of FILE.
nothing_leaked()
{
	! grep 'only root' "$dir/log"
}

# harmless COMMAND...: memdiag COMMAND with the attacker comes back, and leaves the files alone.
harmless()
{
	"$dir/private/memdiag" "$@" --wait=300s --timeout=600s --pid "$tracee_pid" >"$dir/out" 2>"$dir/err"
	status=$?
	if [ $status -gt 6 ] || [ $status -eq 3 ]; then
		echo "exit status $status"
		return 1
	fi
	same_file && nothing_leaked
}

# enough NR: whether there were NR tries, and files were exchanged, or no descriptor of such a process can be copied.
enough()
{
	[ "$1" -ge "$tries" ] || return 1
	[ "$(ask count)" -eq 0 ] || return 0
	says 'before Linux 6.9' >"$dir/old-kernel"
}

# starts: profile start and stop.
starts()
{
	nr=0
	until enough $nr; do
		nr=$((nr + 1))
		harmless profile start || return
		"$dir/private/memdiag" profile stop --wait=300s -o "$dir/profile" --pid "$tracee_pid" >"$dir/stop" 2>&1
	done
}

# first_starts: the same, each with another process, which has no agent yet.
first_starts()
{
	nr=0 nr_exchanged=0
	while [ $nr -lt $tries ] || [ $nr_exchanged -eq 0 ]; do
		nr=$((nr + 1))
		attacker 600 "$@"
		harmless profile start || return
		nr_exchanged=$((nr_exchanged + $(ask count)))
		end_tracee || return
	done
}

# asks: info with descriptor 2 redirected.  Where it is refused beforehand, nothing is exchanged.
asks()
{
	nr=0
	while [ $nr -lt $tries ]; do
		nr=$((nr + 1))
		harmless info --capture=fd2 --method=inject || return
	done
}

for leader in -e ''; do
	name=${leader:+first thread ended: }

	# shellcheck disable=SC2086 # no word or one, here and below
	attacker 600 $leader memfd "$dir/file"
	check "${name}profile start: the file of the samples or of the agent is exchanged" starts
	check "${name}profile start: the process lives on" end_tracee

	# shellcheck disable=SC2086
	attacker 600 $leader caught "$dir/file" "$dir/log"
	check "${name}info: the file that catches descriptor 2 is exchanged" asks
	check "${name}info, caught: the process lives on" end_tracee

	# shellcheck disable=SC2086
	attacker 644 $leader log "$dir/file"
	check "${name}info: descriptor 2 is a file that the process may only read" asks
	check "${name}info, log: the process lives on" end_tracee

	# shellcheck disable=SC2086
	attacker 644 $leader late "$dir/file" "$dir/log"
	check "${name}info: descriptor 2 becomes such a file in between" asks
	check "${name}info, late: the process lives on" end_tracee
done

check 'profile start: a full pipe instead of the copy of the agent' first_starts pipe "$dir/file"
check 'first thread ended: profile start: a file instead of the copy of the agent' first_starts -e memfd "$dir/file"

# Its files ask for the rights of the writer: root may lower this, the process may not.
attacker 600 score /proc/self/oom_score_adj
check 'info: descriptor 2 is a file by which the kernel is controlled' \
	exits_saying 5 'its file controls the kernel' memdiag info --capture=fd2 --method=inject --pid "$tracee_pid"
check 'info, oom_score_adj: the process lives on' end_tracee

# A kernel without pidfd_getfd(), or that refuses it (438 everywhere).
# without ERROR MEMDIAG...: run MEMDIAG, for which it fails with ERROR.
without()
{
	error=$1
	shift
	captured python3 "$top_srcdir/tests/live/deny.py" 438 "$error" "$@" --wait=300s --timeout=600s --pid "$tracee_pid"
}
attacker 644 late "$dir/file" "$dir/log"
check 'pidfd_getfd is refused: profile start is as well' \
	exits_saying 4 'pidfd_getfd() is refused.*seccomp' without 1 "$dir/private/memdiag" profile start
check 'pidfd_getfd is refused: nor is descriptor 2 opened' \
	exits_saying 4 'pidfd_getfd() is refused.*--capture=stream' without 1 "$MEMDIAG" info --capture=fd2
check 'no pidfd_getfd: descriptor 2 is not opened by its name' \
	exits_saying 5 'it needs pidfd_getfd().*--capture=stream' without 38 "$MEMDIAG" info --capture=fd2
check 'no pidfd_getfd: a file in memory is' exits 0 without 38 "$dir/private/memdiag" profile start
check 'no pidfd_getfd: the samples are read' exits 0 without 38 "$dir/private/memdiag" profile stop -o "$dir/profile"
check 'no pidfd_getfd: the process lives on' end_tracee
finish
