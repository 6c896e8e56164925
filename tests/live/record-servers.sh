#!/bin/sh
# The mode of a record is changed a hundred times while mariadbd is at work: its clients see no error, each log can be
# read, nothing is left in the server or beside it, and it shuts down.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh and server-lib.sh set the rest
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/log-lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
PATH=$PATH:/usr/sbin:/usr/libexec
need jq mariadbd mariadb mariadb-install-db

# Each mode after each other one, but for a log after a log, which is refused: that is tried, too.
modes='mem-fast mem-record closed mem-record mem-fast closed log-fast mem-fast log-record mem-record log-fast closed
	log-record mem-fast mem-record log-fast log-record stop log-record log-fast mem-record log-record closed stop'
is_logged=
nr_changes=0
nr_logs=0

# next_mode: sets $mode to it.
next_mode()
{
	# shellcheck disable=SC2086 # words
	set -- $modes
	shift $((nr_changes % $#))
	mode=$1
	nr_changes=$((nr_changes + 1))
}

# is_now FILTER: whether that is so of the record.
is_now()
{
	exits 0 memdiag record status --pid "$tracee_pid" --json && json_is ".data | $1"
}

# was_read: the log that has just ended has events, and is whole; its files are removed.
was_read()
{
	exits 0 memdiag timeline --json "$dir/logs" && json_is '.data.allocated.blocks > 0' && rm -rf "$dir/logs" || return
	nr_logs=$((nr_logs + 1))
}

become_logged()
{
	if [ "$is_logged" ]; then
		exits_saying 1 'is being written already' memdiag record start --mode "$mode" -o "$dir/logs" --pid "$tracee_pid"
		return
	fi
	exits 0 patiently memdiag record start --mode "$mode" -o "$dir/logs" --pid "$tracee_pid" &&
		is_now '.is_recording and .log.is_written' || return
	is_logged=yes
	# There is something in it when it ends.
	soon is_now '.log.events > 0'
}

# become_unlogged COMMAND...: COMMAND ends the log, if there is one.
become_unlogged()
{
	exits 0 patiently memdiag record "$@" --pid "$tracee_pid" || return
	rm -f "$dir"/stopped.*
	[ -z "$is_logged" ] || was_read || return
	is_logged=
}

change()
{
	next_mode
	case $mode in
	log-*) become_logged ;;
	mem-*) become_unlogged start --mode "$mode" && is_now '.is_recording and (.log == null or (.log.is_written | not))' ;;
	closed) become_unlogged start --mode closed -o "$dir/stopped" && is_now '.is_recording | not' ;;
	stop) become_unlogged stop -o "$dir/stopped" && is_now '.is_recording | not' ;;
	esac || {
		echo "change $nr_changes, to $mode"
		return 1
	}
}

each_mode()
{
	while [ $nr_changes -lt 24 ]; do
		change || return
	done
}

# besides: files of memdiag's that are not in $dir.
besides()
{
	find /dev/shm "${TMPDIR:-/tmp}" -maxdepth 1 -name '*memdiag*' ! -name 'memdiag-test.*' -newer "$dir/begin"
}

# address_space: in MiB.
address_space()
{
	awk '/^VmSize/ { print int($2 / 1024) }' "/proc/$tracee_pid/status"
}

nr_inserted()
{
	cat "$dir"/session.* | wc -l
}

# no_larger: an array of sites or of live blocks that stayed would be hundreds of MiB each time.
no_larger()
{
	echo "$(cat "$dir/space") MiB, now $(address_space)"
	[ "$(address_space)" -lt $(($(cat "$dir/space") + 1024)) ]
}

start_mariadbd || skip_all 'mariadbd cannot be started'
start_sessions
same_bytes
: >"$dir/begin"
# Each mode once: what stays for good is there then.
check 'each mode' each_mode
has >"$dir/had"
address_space >"$dir/space"
before=$(nr_inserted)
check 'a hundred changes' each_of 100 change
# To end as it began.
check 'none' become_unlogged start --mode closed -o "$dir/stopped"
echo "# $nr_changes changes, $nr_logs logs; the clients had $(($(nr_inserted) - before)) answers meanwhile"
check 'the clients went on' test "$(nr_inserted)" -gt $((before + nr_changes))
has >"$dir/has"
check 'it has no more descriptors and mappings of ours' cmp "$dir/had" "$dir/has"
check 'and no more address space' no_larger
check 'every byte is as it was' same_bytes
check 'nothing is left beside it' test -z "$(besides)"
touch "$dir/stop"
# shellcheck disable=SC2154 # start_sessions sets them
wait "$session_1" "$session_2" "$session_3"
check 'no session saw an error' sh -c "! grep -v inserted '$dir'/session.*"
sql -e SHUTDOWN
check 'it shuts down' wait "$tracee_pid"
check 'its log has no error' sh -c "! grep -i -e '\[ERROR\]' -e 'got signal' -e assertion '$dir/log'"
finish
