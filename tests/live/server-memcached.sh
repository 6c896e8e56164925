#!/bin/sh
# memcached under load: no client sees an error, and keys expire on time.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
need memcached

user=
[ "$(id -u)" -ne 0 ] || user='-u root'
# shellcheck disable=SC2086 # a list of words
memcached $user -s "$dir/socket" -t 2 >"$dir/log" 2>&1 &
server=$!
started="$started $server"
until [ -S "$dir/socket" ]; do
	lives $server || break
	sleep 0.1
done
start_client --idle memcached "$dir/socket"
starve $server info heap
start_client memcached "$dir/socket"
visit $server info heap trim info heap 'count start' 'count stop'
kill $server
check 'memcached shuts down' wait $server
finish
