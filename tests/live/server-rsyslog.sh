#!/bin/sh
# rsyslogd: every line arrives, in order, however it is looked at.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
PATH=$PATH:/usr/sbin
need rsyslogd

port=$(free_port)
cat >"$dir/conf" <<CONF
global(workDirectory="$dir")
module(load="imptcp")
input(type="imptcp" port="$port" address="127.0.0.1")
template(name="line" type="string" string="%msg%\n")
*.* action(type="omfile" file="$dir/lines" template="line" flushOnTXEnd="on")
CONF
rsyslogd -n -f "$dir/conf" -i "$dir/pid" >"$dir/log" 2>&1 &
server=$!
started="$started $server"
wait_until_connected "$port" || {
	cat "$dir/log"
	skip_all 'rsyslogd does not start'
}
start_client syslog "$port" "$dir/lines"
# shellcheck disable=SC2034 # server-lib.sh reads it
timers=without
visit $server info heap trim info heap 'count start' 'count stop'
kill $server
check 'rsyslogd shuts down' wait $server
finish
