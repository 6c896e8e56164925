#!/bin/sh
# Servers that are trimmed every 200 ms, two minutes each, under clients that know every byte of the answers: no error.
# All processes of a server are trimmed in turn, with the options that change how.  The faults that this is for were in
# servers with one thread: a later wait of an event loop got what belonged to an earlier one.
#
# MEMDIAG_TEST_SERVERS='perl node' tries only these.
# shellcheck disable=SC3043 # every sh we know has local
# shellcheck disable=SC2034 # lib.sh reads it
deadline=7200
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
for bin in /usr/lib/postgresql/*/bin; do
	PATH=$bin:$PATH
done
PATH=$PATH:/usr/sbin
: "${MEMDIAG_TEST_SERVERS:=asyncio perl pool node nginx postgres php-fpm}"
need pgrep
connections=4

# options_for TURN PID: sets $options.  A process with several threads is spared --mode=thread, which may deadlock.
options_for()
{
	options=
	case $(($1 % 8)) in
	1) options=--tops ;;
	3) options=--mode=helper ;;
	5) options=--pad=64K ;;
	7) ! grep -q '^Threads:.1$' "/proc/$2/status" || options=--mode=thread ;;
	esac
}

# trim_once TURN PID: 6 is no safe moment in time, nothing changed.  One of ten may end with that.
trim_once()
{
	local status
	tracee_pid=$2
	options_for "$1" "$2"
	# shellcheck disable=SC2086 # nothing, or an option
	memdiag trim $options --pid "$2" --json
	status=$?
	case $status in
	0)
		nr_trims=$((nr_trims + 1))
		[ "$(json .data.released_bytes)" -le 0 ] || nr_released=$((nr_released + 1))
		;;
	6)
		nr_refused=$((nr_refused + 1))
		[ $((nr_refused * 10)) -le $((nr_trims + 10)) ] || {
			echo "trim $options of $2: refused, $nr_refused times so far"
			cat "$dir/err"
			return 1
		}
		;;
	*)
		echo "trim $options of $2, after $nr_trims others: exit status $status"
		cat "$dir/err"
		return 1
		;;
	esac
}

# trim_in_turn PID...: 600 times, or a part; one begins 200 ms after the one before, or when that has ended.
trim_in_turn()
{
	local left turn=0 pid
	left=$(some 600)
	while [ "$left" -gt 0 ]; do
		for pid in "$@"; do
			[ "$left" -gt 0 ] || break
			sleep 0.2 &
			tick=$!
			trim_once $turn "$pid" || return
			wait $tick
			left=$((left - 1))
		done
		turn=$((turn + 1))
	done
}

# end_if_failed PID: after a failed check a server may never end: end PID and its processes by force.
end_if_failed()
{
	[ "$nr_failed" -eq "$nr_failed_before" ] || {
		# shellcheck disable=SC2046 # a list
		kill -KILL $(processes) "$1" 2>"$dir/kill.err"
	}
}

# serves NAME KIND ADDRESS: trim the processes that the function processes prints, under a client.
serves()
{
	local name="$1"
	nr_trims=0 nr_refused=0 nr_released=0 nr_failed_before=$nr_failed
	start_command python3 "$top_srcdir/tests/live/exact-client.py" "$2" "$3" $connections
	client=$tracee_pid
	all=$(processes)
	# shellcheck disable=SC2086 # a list
	set -- $all
	check "$name: trim of $# processes in turn" trim_in_turn "$@"
	# shellcheck disable=SC2034 # lib.sh reads them
	about_process='' about_command=''
	ask end "$client" >"$dir/client"
	echo "# $name: $(jq -r '"\(.requests) requests, \(.errors) errors, \(.late) of them late, slowest \(.slowest_ms) ms"' \
		"$dir/client"); $nr_trims trims of $# processes, $nr_released gave back, $nr_refused refused"
	check "$name: nine of ten trims were made" test $((nr_trims * 10)) -ge $(($(some 600) * 9))
	check "$name: some of them gave memory back" test $nr_released -gt 0
	check "$name: there were two requests for each trim" client_is ".requests >= 2 * $nr_trims and .requests > 0"
	check "$name: every answer was right and in time" client_is '.errors == 0'
	check "$name: the same processes are there" test "$(processes)" = "$all"
	kill "$(cat "$dir/$client.holder")"
	wait "$client"
}

# serves_itself NAME KIND COMMAND...: a program that speaks the protocol of tracee.h, with the path of a socket as its
# last argument.
serves_itself()
{
	local name="$1" kind="$2" served
	shift 2
	start_command "$@" "$dir/$name.socket"
	served=$tracee_pid
	serves "$name" "$kind" "$dir/$name.socket"
	check "$name: nothing on its stderr" test ! -s "$dir/$served.err"
	end_if_failed "$served"
	check "$name: it lives on" end_tracee "$served"
}

# shows FILE COMMAND...: COMMAND, or the end of FILE.
shows()
{
	local file="$1"
	shift
	"$@" || {
		tail -n 20 "$file"
		return 1
	}
}

# shuts_down NAME SIGNAL LOG WORDS: a server that has no stdin; lines with WORDS in LOG are errors.
shuts_down()
{
	end_if_failed "$server"
	kill "-$2" "$server"
	check "$1: it shuts down" wait "$server"
	check "$1: its log has no error" shows "$3" sh -c '! grep -E "$1" "$2"' sh "$4" "$3"
}

serve_asyncio()
{
	processes() { echo "$served"; }
	serves_itself asyncio lines python3 "$top_srcdir/tests/tracees/asyncio-server.py"
}

serve_perl()
{
	processes() { echo "$served"; }
	command -v perl >/dev/null && perl -MSocket -MTime::HiRes -e 1 2>"$dir/err" || {
		skip perl 'perl is not installed, or its modules are not'
		return
	}
	serves_itself perl lines perl "$top_srcdir/tests/tracees/select-server.pl"
}

serve_pool()
{
	processes() { family "$served"; }
	serves_itself pool lines python3 "$top_srcdir/tests/tracees/pool-server.py"
}

serve_node()
{
	processes() { echo "$served"; }
	command -v node >/dev/null || {
		skip node 'node is not installed'
		return
	}
	serves_itself node http node "$top_srcdir/tests/tracees/http-server.js"
}

# The master is left out: it waits in sigsuspend(), where a call is never safe.
serve_nginx()
{
	processes() { pgrep -P "$server"; }
	command -v nginx >/dev/null && start_nginx || {
		skip nginx 'nginx is not installed, or does not start'
		return
	}
	serves nginx files "$dir/socket"
	shuts_down nginx QUIT "$dir/log" '\[(warn|error|crit|alert|emerg)\]'
}

# The launchers and writers of the server are left out: they never have a moment at which a call is safe.
serve_postgres()
{
	processes()
	{
		echo "$server"
		sed -n 's/^backend //p' "$dir/$client.out" | sort
	}
	command -v initdb postgres psql >/dev/null && start_postgres || {
		skip postgres 'PostgreSQL is not installed, or does not start'
		return
	}
	serves postgres psql "$dir/data"
	shuts_down postgres INT "$dir/postgres.log" 'ERROR|FATAL|PANIC|WARNING'
}

serve_php_fpm()
{
	processes() { family "$server"; }
	find_php_fpm && start_php_fpm || {
		skip php-fpm 'php-fpm is not installed, or does not start'
		return
	}
	serves php-fpm php "$dir/fpm.socket"
	shuts_down php-fpm QUIT "$dir/fpm.log" 'WARNING|ERROR|ALERT'
}

for name in $MEMDIAG_TEST_SERVERS; do
	case $name in
	php-fpm) serve_php_fpm ;;
	asyncio | perl | pool | node | nginx | postgres) "serve_$name" ;;
	*) check "'$name' is a server that this test knows" false ;;
	esac
done
finish
