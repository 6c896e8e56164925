#!/bin/sh
# redis-server, whose malloc is jemalloc's: named, refused before anything is touched.
. "$top_srcdir/tests/live/lib.sh"
need jq redis-server redis-cli

redis-server --port 0 --unixsocket "$dir/socket" --save '' --dir "$dir" >"$dir/log" 2>&1 </dev/null &
server=$!
started="$started $server"
wait_for $server "$dir/log" 'ready to accept connections'
sockets()
{
	find /proc/$server/fd -lname 'socket:*' | wc -l
}
listening=$(sockets)
answers()
{
	[ "$(redis-cli -s "$dir/socket" "$@")" = PONG ]
}
if ! redis-cli -s "$dir/socket" info memory | grep -q mem_allocator:jemalloc; then
	skip_all 'this redis-server is not built with jemalloc'
fi
# The server closes the connection of the question above when it finds the time.
until [ "$(sockets)" -eq "$listening" ]; do
	sleep 0.1
done
remember $server
for command in info trim heap; do
	check "$command is refused" exits 5 memdiag $command --pid $server
	check "$command names jemalloc" grep -q jemalloc "$dir/err"
done
check 'info says what to do instead' grep -qi 'purge\|maps' "$dir/err"
check 'maps adds up' maps_adds_up $server
check 'the server is as before' unharmed $server
check 'the server answers' answers ping
redis-cli -s "$dir/socket" shutdown nosave
check 'the server shuts down' wait $server
finish
