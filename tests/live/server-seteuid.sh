#!/bin/sh
# A server whose threads change the effective user for each request, as FTP servers do: seteuid() signals
# all threads and waits for them.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'only root can be different users'

python3 "$top_srcdir/tests/tracees/seteuid-server.py" "$dir/socket" >"$dir/log" 2>&1 &
server=$!
started="$started $server"
until [ -S "$dir/socket" ]; do
	lives $server || break
	sleep 0.1
done
start_client lines "$dir/socket"
visit $server info trim 'count start' 'count stop' heap 'count start' 'count stop'
check 'it goes on' lives $server
kill $server
finish
