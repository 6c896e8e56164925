#!/bin/sh
# mariadbd under a write load.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/heap-lib.sh"
PATH=$PATH:/usr/sbin:/usr/libexec
need jq mariadbd mariadb mariadb-install-db gdb python3

user=
[ "$(id -u)" -ne 0 ] || user=--user=root
log=$dir/log
socket=$dir/socket
mariadb-install-db --no-defaults --datadir="$dir/data" --auth-root-authentication-method=normal \
	--skip-test-db $user >"$dir/install" 2>&1 || {
	cat "$dir/install"
	skip_all 'mariadb-install-db failed'
}
# Later ones reserve 8 TiB for a pool that grows, which gcore would write out.
pool_max=
mariadbd --no-defaults --verbose --help 2>"$dir/help.err" | grep -q innodb-buffer-pool-size-max &&
	pool_max=--innodb-buffer-pool-size-max=32M
mariadbd --no-defaults $user --datadir="$dir/data" --socket="$socket" --skip-networking \
	--innodb-buffer-pool-size=32M $pool_max --innodb-flush-log-at-trx-commit=0 --log-warnings=9 \
	>"$log" 2>&1 </dev/null &
server=$!
started="$started $server"
wait_for $server "$log" 'ready for connections'

sql()
{
	mariadb --no-defaults --socket="$socket" --user=root --batch --unbuffered --skip-column-names "$@"
}

answers()
{
	[ "$(sql -e 'SELECT 6 * 7')" = 42 ]
}

# the heaps of a malloc_info document, a line each: system, peak, fast, rest
heaps()
{
	python3 -c '
import sys, xml.etree.ElementTree as tree
text = sys.stdin.read()
begin = text.rindex("<malloc")
end = text.index("</malloc>", begin) + len("</malloc>")
for heap in tree.fromstring(text[begin:end]).iter("heap"):
	get = lambda tag, kind: heap.find("%s[@type=\"%s\"]" % (tag, kind)).get("size")
	print(get("system", "current"), get("system", "max"), get("total", "fast"),
		get("total", "rest"))'
}

# On the quiet server memdiag and gdb must report the same.  It has threads of its own that allocate
# now and then, so an answer before gdb and one after it both count.
same_as_gdb()
{
	filter='.data.arenas[] | "\(.system_bytes) \(.max_system_bytes) \(.fast_bytes) \(.rest_bytes)"'
	for nr_gdb_calls in 1 2 3 4 5; do
		exits 0 memdiag info --pid $server --json || return
		json "$filter" >"$dir/heaps.before"
		gdb -nx --batch -p $server -ex 'call (int)malloc_info(0, *(void **)&stderr)' \
			>"$dir/gdb" 2>&1
		heaps <"$log" >"$dir/heaps.gdb"
		exits 0 memdiag info --pid $server --json || return
		json "$filter" >"$dir/heaps.after"
		[ -s "$dir/heaps.gdb" ] || return
		for when in before after; do
			cmp -s "$dir/heaps.$when" "$dir/heaps.gdb" && return
		done
		echo "try $nr_gdb_calls:"
		diff "$dir/heaps.before" "$dir/heaps.gdb"
	done
	return 1
}
sql -e 'CREATE DATABASE d'
# Three sessions write, and one fails to log in again and again, which the server logs.
for session in 1 2 3; do
	sql -e "CREATE TABLE d.t$session (id INT AUTO_INCREMENT PRIMARY KEY, s TEXT)"
	while [ ! -e "$dir/stop" ]; do
		echo "INSERT INTO t$session (s) SELECT REPEAT('x', 3000) FROM seq_1_to_50;
			UPDATE t$session SET s = CONCAT(s, 'y') ORDER BY id DESC LIMIT 20;
			SELECT 'inserted';"
	done | sql d >"$dir/session.$session" 2>&1 &
	eval "session_$session=$!"
done
: >"$dir/refused"
while [ ! -e "$dir/stop" ]; do
	mariadb --no-defaults --socket="$socket" --user=stranger -e 'SELECT 1' 2>>"$dir/refused"
done &
stranger=$!
wait_for "$session_1" "$dir/session.1" inserted

under_load()
{
	exits 0 memdiag "$@" --pid $server --json && answers
}
check 'info, 20 times under load' each_of 20 under_load info
check 'info with descriptor 2 redirected, 20 times under load' \
	each_of 20 under_load info --capture=fd2

# Clients prepare statements and go: what they took is free then, in many arenas.
leave_free_memory()
{
	columns=$(seq 60 | sed "s/.*/REPEAT('&', 3) AS column_&/" | paste -s -d ,)
	seq 200 | sed "s/.*/PREPARE s& FROM \"SELECT $columns\";/" >"$dir/prepare"
	clients=
	for _ in $(seq 16); do
		sql <"$dir/prepare" >/dev/null &
		clients="$clients $!"
	done
	# shellcheck disable=SC2086 # a list
	wait $clients
}

# Within 5 %, while the sessions go on writing.  Of the arenas: the rest of the server grows meanwhile.
comes_true()
{
	leave_free_memory
	exits '0 2' memdiag trim -n --pid $server --json || return
	predicted=$(json .data.predicted.rss_bytes)
	exits 0 memdiag trim --pid $server --json || return
	went=$(json '.data.before.arenas_resident_bytes - .data.after.arenas_resident_bytes')
	echo "predicted $predicted, went $went"
	[ "$predicted" -gt 50000000 ] && [ $((went - predicted)) -lt $((predicted / 20)) ] &&
		[ $((predicted - went)) -lt $((predicted / 20)) ]
}
check 'what trim -n predicts under load comes true' comes_true
sed 's/^/# /' "$dir/check.said"
check 'trim, 5 times under load' each_of 5 under_load trim
check 'maps adds up under load' maps_adds_up $server
rows=$(sql -e 'SELECT COUNT(*) FROM d.t1')
goes_on()
{
	until [ "$(sql -e 'SELECT COUNT(*) FROM d.t1')" -gt "$rows" ]; do
		kill -0 $server || return
	done
}
check 'the load goes on' goes_on

touch "$dir/stop"
wait "$session_1" "$session_2" "$session_3" "$stranger"
check_heap 'mariadbd after the load' $server
check 'no session saw an error' sh -c "! grep -v inserted '$dir'/session.*"
check 'some logins were refused' test "$(grep -c 'Access denied' "$dir/refused")" -gt 10
check 'the log has each of them' test "$(grep -c 'Access denied' "$log")" -eq \
	"$(grep -c 'Access denied' "$dir/refused")"
check 'the log has no error' sh -c "! grep -E '\[ERROR\]|Interrupted' '$log'"
check 'no poll of the server failed' test "$(sql -e "SHOW STATUS LIKE 'Connection_errors_select'" | cut -f 2)" -eq 0
# A call by gdb in a thread that polls makes poll() fail with error 516, which the server logs.
check 'the numbers are those of gdb on the quiet server' same_as_gdb
wc -l <"$dir/heaps.gdb" | sed 's/^/# heaps compared: /'
check "the log has only gdb's words of malloc_info" \
	test "$(grep -c '<malloc ' "$log")" -eq "$nr_gdb_calls"
check 'a table is sound' test "$(sql -e 'CHECK TABLE d.t1 EXTENDED' | cut -f 4)" = OK
check 'the server answers' answers
sql -e SHUTDOWN
check 'the server shuts down' wait $server
finish
