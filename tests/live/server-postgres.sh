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
check 'and commits' test "$answer" = 20000
check 'info on the postmaster' exits 0 memdiag info --pid $server
exec 9>&-
check 'the session ends' wait $session
check 'the log has no error' sh -c "! grep -E 'ERROR|FATAL|PANIC|WARNING' '$dir/log'"
kill -INT $server
check 'the server shuts down' wait $server
finish
