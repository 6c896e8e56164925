#!/bin/sh
# A worker of nginx under load: no client sees an error, and the keepalive timeout comes on time.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
PATH=$PATH:/usr/sbin
need nginx pgrep

mkdir "$dir/root"
{
	seq 1000
	echo PAGE
} >"$dir/root/page"
cat >"$dir/conf" <<CONF
daemon off;
worker_processes 1;
pid $dir/pid;
error_log $dir/log notice;
events { worker_connections 100; }
http {
	access_log off;
	client_body_temp_path $dir/body;
	proxy_temp_path $dir/proxy;
	fastcgi_temp_path $dir/fastcgi;
	uwsgi_temp_path $dir/uwsgi;
	scgi_temp_path $dir/scgi;
	keepalive_timeout 3s;
	keepalive_requests 1000000;
	server {
		listen unix:$dir/socket;
		root $dir/root;
	}
}
CONF
nginx -c "$dir/conf" -e "$dir/log" >"$dir/out" 2>&1 &
server=$!
started="$started $server"
wait_for $server "$dir/log" 'start worker process ' || {
	cat "$dir/out" "$dir/log"
	skip_all 'nginx does not start'
}
worker=$(pgrep -P $server)
start_client --idle http "$dir/socket"
starve "$worker" info heap
start_client http "$dir/socket"
visit "$worker" info heap trim info heap 'count start' 'count stop'
check 'the same worker is there' test "$(pgrep -P $server)" = "$worker"
kill -QUIT $server
check 'nginx shuts down' wait $server
finish
