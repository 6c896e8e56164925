#!/bin/sh
# A backend of PostgreSQL that a session of psql keeps busy: every answer is right, pg_sleep() ends on time.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
for bin in /usr/lib/postgresql/*/bin; do
	PATH=$bin:$PATH
done
need initdb postgres psql

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
$as postgres -D "$dir/data" -k "$dir/data" -c listen_addresses= -c fsync=off >"$dir/log" 2>&1 &
server=$!
started="$started $server"
wait_for $server "$dir/log" 'ready to accept connections'
start_client psql "$dir/data"
backend=$(sed -n 's/^backend //p' "$dir/$client.out")
visit "$backend" info heap trim info heap 'count start' 'count stop'
kill -INT $server
check 'the server shuts down' wait $server
finish
