#!/bin/sh
# A log of root's in a directory of another user, who moves it away and puts a symbolic link in its place; and a process
# that asks for more files than the user has.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh reads and sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
. "$top_srcdir/tests/live/log-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq setpriv
need_hooks
[ "$(id -u)" -eq 0 ] || skip_all 'only root can be different users'
build_truth

theirs=$dir/theirs
mkdir -m 700 "$dir/elsewhere"
mkdir "$theirs"
chown 65534:65534 "$theirs"

# begins DIR: a log begins there.
begins()
{
	patiently memdiag record start --mode log-fast -o "$1" --pid "$tracee_pid" --json &&
		json_is '.data.log.is_written' && writer=$(json .data.log.writer)
}

# nobody COMMAND...: as the other user.
nobody()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# exchange: the files are removed, the directory is moved, and a link to another one gets its name.
exchange()
{
	nobody mv "$theirs/logs" "$theirs/moved" && nobody ln -s "$dir/elsewhere" "$theirs/logs" &&
		rm "$theirs/moved"/*.mlog*
}

# has_next: whether the writer has made its next file, wherever.
has_next()
{
	[ -n "$(find "$theirs/moved" "$dir/elsewhere" -name '*.mlog*')" ]
}

start_command "$truth"
check 'a log begins in a directory of another user' begins "$theirs/logs"
check 'a process cannot have more files than the user' memdiag record status --files 10000 --pid "$tracee_pid"
check 'the writer goes back to its own limit' eventually log_is '.data.log.max_files == 10'
check 'fewer it can have' memdiag record status --files 3 --pid "$tracee_pid"
check 'and has' eventually log_is '.data.log.max_files == 3'
check 'the directory is exchanged for a link' exchange
check 'events come' obeys 'play 1 20000 3'
check 'another file is begun' eventually has_next
check 'it is where the first one was' test -z "$(ls "$dir/elsewhere")"
check 'the record ends' memdiag record stop --pid "$tracee_pid"
check 'the writer has ended' gone "$writer"
check 'nothing is elsewhere' test -z "$(ls "$dir/elsewhere")"

check 'where the link was there before, no log begins' exits_saying 1 'link of another user' \
	memdiag record start --mode log-fast -o "$theirs/logs" --pid "$tracee_pid"
check 'the process lives on' end_tracee
finish
