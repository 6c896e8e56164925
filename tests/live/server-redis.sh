#!/bin/sh
# redis-server, whose malloc is jemalloc's: info and trim ask that, also under load; heap is refused by name.
# shellcheck disable=SC3043 # every sh we know has local
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
check 'heap is refused' exits_saying 5 jemalloc memdiag heap --pid $server
check 'it says what works' grep -q "'info'" "$dir/err"
check 'maps adds up' maps_adds_up $server
check 'info' exits 0 memdiag info --pid $server --json
check 'info: the lines add up to RSS' json_is '([.data.accounting[].bytes] | add) == .data.totals.rss_bytes'

# The server has its own numbers, from the same mallctl().
redis()
{
	redis-cli -s "$dir/socket" "$@"
}
agrees()
{
	local theirs ours
	ours=$(json "$1")
	theirs=$(redis info memory | tr -d '\r' | sed -n "s/^$2://p")
	echo "$ours $theirs"
	# The client of the question, and the one of the answer, have buffers.
	[ $((ours - theirs)) -lt 500000 ] && [ $((theirs - ours)) -lt 500000 ]
}
# ---- a child that saves, and shares all of the memory: reading must not make copies ----

redis eval 'for i = 1, 20000 do redis.call("set", i, string.rep("x", 1000)) end' 0 >"$dir/redis.said"
check 'info of a server with data' exits 0 memdiag info --pid $server --json
check 'allocated is what the server says' agrees .data.jemalloc.allocated_bytes allocator_allocated
check 'active is what the server says' agrees .data.jemalloc.active_bytes allocator_active

# ---- under load ----

# loads: clients that count their errors, until they have made their requests.
loads()
{
	redis-benchmark -s "$dir/socket" -n 2000000 -r 100000 -d 500 -c 8 -t set,get -q >"$dir/load" 2>&1 &
	load=$!
	started="$started $load"
}
is_loaded()
{
	kill -0 $load 2>/dev/null
}
size()
{
	wc -l <"/proc/$server/maps"
	find "/proc/$server/task" -maxdepth 1 | wc -l
}
if command -v redis-benchmark >/dev/null; then
	loads
	asked=0
	until [ "$(redis dbsize)" -gt 25000 ]; do
		is_loaded || break
	done
	while is_loaded && [ $asked -lt "$(some 60)" ]; do
		asked=$((asked + 1))
		exits '0 2' memdiag info --pid $server >>"$dir/failed" 2>&1 || break
		[ $((asked % 6)) -ne 0 ] || exits '0 2' memdiag trim --pid $server >>"$dir/failed" 2>&1 || break
	done
	echo "# asked $asked times under load"
	check 'info and trim under load' test ! -s "$dir/failed"
	check 'more than once' test "$asked" -gt 5
	check 'the clients end well' wait $load
	check 'the clients have seen no errors' sh -c "! grep -i -e err -e closed -e refused '$dir/load'"
	redis flushall >"$dir/redis.said"
	check 'trim when all was deleted' exits 0 memdiag trim --pid $server --json
	check 'nothing is free then' json_is '.data.jemalloc.after.dirty_bytes < 3000000'
	exits 0 memdiag info --pid $server
	size >"$dir/size"
	check 'info 100 times' each_of 100 exits '0 2' memdiag info --pid $server
	size >"$dir/size.now"
	check 'as many mappings and threads' diff "$dir/size" "$dir/size.now"
else
	skip 'under load' 'redis-benchmark is not installed'
fi

# ---- a child that saves, and shares all of the memory: reading must not make copies ----

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
private_kib $server >"$dir/private"
check 'the child shares nearly all' test "$(private_kib "$child")" -lt 4000
had="$(private_kib $server) $(private_kib "$child")"
for pid in $server "$child"; do
	check 'maps, while a child saves' exits 0 memdiag maps --pid "$pid"
	check 'heap, while a child saves' exits 5 memdiag heap --pid "$pid"
done
# The server's own clock writes to a page now and then, of which it then has a copy.
not_copied()
{
	set -- $had "$(private_kib $server)" "$(private_kib "$child")"
	echo "$*"
	[ $(($3 - $1)) -lt 1000 ] && [ $(($4 - $2)) -lt 1000 ]
}
check 'no page was copied by it' not_copied
kill "$child"
check 'the server answers' answers ping
redis-cli -s "$dir/socket" shutdown nosave
check 'the server shuts down' wait $server
finish
