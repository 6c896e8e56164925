#!/bin/sh
# knotd, a name server of many threads with liburcu: every answer is right.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
PATH=$PATH:/usr/sbin
need knotd

port=$(free_port)
mkdir "$dir/run" "$dir/db"
cat >"$dir/zone" <<'ZONE'
$TTL 3600
@ SOA ns.example.test. root.example.test. 1 3600 600 86400 60
@ NS ns.example.test.
ns A 192.0.2.2
www A 192.0.2.1
ZONE
cat >"$dir/conf" <<CONF
server:
    listen: 127.0.0.1@$port
    rundir: $dir/run
    user: $(id -un):$(id -gn)
database:
    storage: $dir/db
log:
  - target: stderr
    any: info
zone:
  - domain: example.test
    file: $dir/zone
CONF
knotd -c "$dir/conf" >"$dir/log" 2>&1 &
server=$!
started="$started $server"
wait_for $server "$dir/log" 'server started' || {
	cat "$dir/log"
	skip_all 'knotd does not start'
}
start_client dns "$port"
# shellcheck disable=SC2034 # server-lib.sh uses it
timers=without
visit $server info heap trim info heap 'count start' 'count stop'
kill $server
check 'knotd shuts down' wait $server
finish
