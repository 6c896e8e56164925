#!/bin/sh
# A PostgreSQL backend in the middle of a transaction: one thread, waiting in epoll_wait.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/heap-lib.sh"
for bin in /usr/lib/postgresql/*/bin; do
	PATH=$bin:$PATH
done
need jq initdb postgres psql

as=
if [ "$(id -u)" -eq 0 ]; then
	id postgres >/dev/null 2>&1 || skip_all 'there is no user postgres, and root may not run it'
	as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
mkdir "$dir/data"
[ -z "$as" ] || chown postgres "$dir/data"
# shellcheck disable=SC2086 # a list of words
$as initdb --no-sync -U tester -A trust -D "$dir/data" >"$dir/initdb" 2>&1 || {
	cat "$dir/initdb"
	skip_all 'initdb failed'
}
# shellcheck disable=SC2086
$as postgres -D "$dir/data" -k "$dir/data" -c listen_addresses= -c fsync=off \
	>"$dir/log" 2>&1 </dev/null &
server=$!
started="$started $server"
wait_for $server "$dir/log" 'ready to accept connections'

# psql, which answers each line of SQL with one.
mkfifo "$dir/sql"
: >"$dir/answers"
psql -X -q -A -t -h "$dir/data" -U tester postgres <"$dir/sql" >>"$dir/answers" 2>&1 &
session=$!
started="$started $session"
exec 9>"$dir/sql"
nr_answers=0
query()
{
	echo "$1" >&9
	nr_answers=$((nr_answers + 1))
	until [ "$(wc -l <"$dir/answers")" -ge $nr_answers ]; do
		kill -0 $session || return
		sleep 0.01
	done
	answer=$(sed -n "${nr_answers}p" "$dir/answers")
}

query 'BEGIN; CREATE TABLE t AS SELECT i, repeat($$x$$, 1000) s FROM generate_series(1, 20000) i;
	SELECT pg_backend_pid();'
backend=$answer
remember "$backend"
for command in info 'info --capture=fd2' trim; do
	# shellcheck disable=SC2086 # a command and its options
	check "$command in mid-transaction, ten times" \
		each_of 10 exits 0 memdiag $command --pid "$backend" --json
done
check 'its only thread was borrowed' json_is '.data.borrow.mode == "thread"'
check 'the backend is as before' unharmed "$backend"
check_heap 'a backend' "$backend"
check 'maps adds up' maps_adds_up "$backend"
query 'SELECT count(*) + sum(length(s)) FROM t;'
check 'the transaction goes on' test "$answer" = 20020000
query 'COMMIT; SELECT count(*) FROM t;'
check 'the transaction commits, and all rows are there' test "$answer" = 20000
check 'info on the postmaster' exits 0 memdiag info --pid $server

# The launchers and writers were forked in a signal handler, or wait with a signal mask: info reads where it must.
others=0
for pid in $(cat "/proc/$server/task/$server/children"); do
	name=$(tr '\0' ' ' <"/proc/$pid/cmdline")
	[ "$pid" -ne "$backend" ] || continue
	others=$((others + 1))
	check "info on $name" exits 0 memdiag info --pid "$pid" --json
	check 'heap finds the arenas of the process' json_is '.data.arenas | length > 0'
done
check 'launchers and writers were asked' test $others -ge 3

# All of the server at once.  A session that ended meanwhile would be left out: none does.
all="$server $(cat "/proc/$server/task/$server/children")"

# of_all COMMAND: COMMAND of all processes.  Launchers have no moment at which a call is safe: trim waits for each of them
# as long as --wait says.  A longer one is only for the backend, whose thread can always be borrowed.
of_all()
{
	# shellcheck disable=SC2086 # several words
	if [ "$1" != trim ]; then
		exits '0 2' memdiag $1 $all --json
		return
	fi
	for wait in 2s 20s 300s; do
		# shellcheck disable=SC2086
		exits '0 2' memdiag trim --wait=$wait $all --json || return
		! json_is ".data.processes | any(.target.pid == $backend)" || return 0
	done
	return 1
}

for command in info heap 'trim -n' trim maps; do
	check "$command of all processes" of_all "$command"
	check "$command: all are there, or named as left out" json_is "[.data.processes[] | (.target.pid // .pid)] as \$there |
		[.warnings[] | select(test(\"is left out\")) | split(\" \")[0] | tonumber] as \$out |
		(\$there + \$out | sort) == ([$(echo $all | tr ' ' ,)] | sort) and (\$there | index($backend)) != null"
	check "$command: the largest is the first" json_is '
		[.data.processes[] | (.process.rss_bytes // .rss_bytes)] | . == (sort | reverse)'
done
# shellcheck disable=SC2086
check 'info adds up what malloc has in all processes' exits '0 2' memdiag info $all --json
check 'the total is the sum of the processes' json_is '.data.totals.malloc_in_use_bytes ==
	([.data.processes[].data.accounting[] | select(.kind == "malloc_in_use") | .bytes] | add) and
	.data.totals.rss_bytes == ([.data.processes[].data.totals.rss_bytes] | add)'
query 'SELECT count(*) FROM t;'
check 'the session still answers' test "$answer" = 20000
exec 9>&-
check 'the session ends' wait $session
check 'the log has no error' sh -c "! grep -E 'ERROR|FATAL|PANIC|WARNING' '$dir/log'"
kill -INT $server
check 'the server shuts down' wait $server
finish
