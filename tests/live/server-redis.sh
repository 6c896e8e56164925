#!/bin/sh
# redis-server, whose malloc is jemalloc's: named, refused before anything is touched.
. "$top_srcdir/tests/live/lib.sh"
need jq redis-server redis-cli pgrep

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

# ---- a child that saves, and shares all of the memory ----
redis()
{
	redis-cli -s "$dir/socket" "$@"
}

# private PID: KiB that it does not share; a look must not make copies.
private()
{
	awk '/^Private/ { sum += $2 } END { print sum }' "/proc/$1/smaps_rollup"
}

redis eval 'for i = 1, 20000 do redis.call("set", i, string.rep("x", 1000)) end' 0 >"$dir/redis.said"
redis config set rdb-key-save-delay 1000000 >"$dir/redis.said"
redis bgsave >"$dir/redis.said"
saver()
{
	pgrep -P $server
}
until saver >"$dir/saver"; do
	kill -0 $server || break
done
child=$(cat "$dir/saver")
private $server >"$dir/private"
check 'the child shares nearly all' test "$(private "$child")" -lt 4000
had="$(private $server) $(private "$child")"
for pid in $server "$child"; do
	check 'maps, while a child saves' exits 0 memdiag maps --pid "$pid"
	check 'heap, while a child saves' exits 5 memdiag heap --pid "$pid"
done
# The server's own clock writes to a page now and then, of which it then has a copy.
not_copied()
{
	set -- $had "$(private $server)" "$(private "$child")"
	echo "$*"
	[ $(($3 - $1)) -lt 1000 ] && [ $(($4 - $2)) -lt 1000 ]
}
check 'no page was copied by it' not_copied
kill "$child"
check 'the server answers' answers ping
redis-cli -s "$dir/socket" shutdown nosave
check 'the server shuts down' wait $server
finish
