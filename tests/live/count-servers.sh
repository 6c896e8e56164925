#!/bin/sh
# Servers and runtimes that count while they are at work: mariadbd with sessions that write, through a
# thousand starts and stops; PostgreSQL, redis, python3, node, Java.  They serve on, without an error, and
# in the end every byte of code is as it was.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
PATH=$PATH:/usr/sbin:/usr/libexec
need jq

# counts_and_stops WORDS: the process tracee_pid, which works, and whose own tests are is_well.
counts_and_stops()
{
	check "$1: the bytes can be read" same_bytes
	check "$1: start" count start
	check "$1: it is counted" counted_more
	check "$1: info, heap and trim work meanwhile" others_work
	check "$1: stop" count stop
	check "$1: every byte is as it was" same_bytes
}

others_work()
{
	local command
	for command in info heap trim; do
		exits '0 2' memdiag $command --pid "$tracee_pid" --json || return
	done
	counted_more
}

# Until it has been seen to allocate.
counted_more()
{
	local before
	before=$(status .blocks_allocated) || return
	until [ "$(status .blocks_allocated)" -gt "$before" ]; do
		! grep -q '^State:.Z' "/proc/$tracee_pid/status" || return
	done
}

# ---- mariadbd ----

start_and_stop()
{
	count start && count stop
}

if command -v mariadbd >/dev/null && start_mariadbd; then
	start_sessions
	counts_and_stops mariadbd
	has >"$dir/had"
	check 'mariadbd: a thousand times' each_of 1000 start_and_stop
	has >"$dir/has"
	check 'mariadbd: it has no more than after the first time' cmp "$dir/had" "$dir/has"
	check 'mariadbd: every byte is as it was after all' same_bytes
	touch "$dir/stop"
	wait "$session_1" "$session_2" "$session_3"
	check 'mariadbd: no session saw an error' sh -c "! grep -v inserted '$dir'/session.*"
	check 'mariadbd: its log has no error' sh -c "! grep -E '\[ERROR\]|Interrupted' '$dir/log'"
	check 'mariadbd: started at rest, what was in use then is known to the byte' starts_surely
	check 'mariadbd: a table is sound' \
		test "$(sql -e 'CHECK TABLE d.t1 EXTENDED' | cut -f 4)" = OK
	sql -e SHUTDOWN
	check 'mariadbd: it shuts down while it counts' wait $tracee_pid
else
	skip mariadbd 'it is not installed'
fi

# ---- PostgreSQL: a backend is a child that has no libraries of its own ----

postgres=$(find /usr/lib/postgresql -name postgres -path '*/bin/*' 2>/dev/null | sort | tail -n 1)
start_postgres()
{
	local bin run=
	bin=$(dirname "$postgres")
	[ "$(id -u)" -ne 0 ] || run='setpriv --reuid=postgres --regid=postgres --clear-groups'
	mkdir "$dir/pg" "$dir/pg-socket" && chmod 755 "$dir" && chmod 777 "$dir/pg-socket"
	[ -z "$run" ] || chown postgres "$dir/pg"
	$run "$bin/initdb" -D "$dir/pg" -U postgres >"$dir/initdb" 2>&1 || return
	$run "$postgres" -D "$dir/pg" -k "$dir/pg-socket" -c listen_addresses= -c jit=off >"$dir/pg.log" 2>&1 </dev/null &
	server=$!
	started="$started $server"
	wait_for $server "$dir/pg.log" 'ready to accept connections'
}

if [ -n "$postgres" ] && start_postgres; then
	mkfifo "$dir/pg.in"
	psql -h "$dir/pg-socket" -U postgres -At <"$dir/pg.in" >"$dir/pg.out" 2>&1 &
	client=$!
	started="$started $client"
	exec 9>"$dir/pg.in"
	echo 'SELECT pg_backend_pid();' >&9
	wait_for $client "$dir/pg.out" '^[0-9]'
	tracee_pid=$(head -n 1 "$dir/pg.out")
	# The first time around is for what is loaded when it is needed.
	for times in 10 1000000; do
		echo "DO \$\$ BEGIN FOR i IN 1..$times LOOP
			PERFORM string_agg(n::text, 'x') FROM generate_series(1, 2000) n; END LOOP; END \$\$;"
	done >&9
	wait_for $client "$dir/pg.out" '^DO'
	counts_and_stops 'a PostgreSQL backend'
	psql -h "$dir/pg-socket" -U postgres -At -c "SELECT pg_cancel_backend($tracee_pid)" >"$dir/cancel" 2>&1
	echo "SELECT 'well';" >&9
	check 'a PostgreSQL backend: it answers' wait_for $client "$dir/pg.out" well
	exec 9>&-
	wait $client
	kill -INT $server
	check 'PostgreSQL shuts down' wait $server
else
	skip PostgreSQL 'it is not installed'
fi

# ---- runtimes ----

# runtime WORDS COMMAND...: it says ready, allocates until there is a file "enough", says alive and ends.
runtime()
{
	local words="$1"
	shift
	start_command "$@"
	counts_and_stops "$words"
	touch "$dir/enough"
	check "$words: it ends well" wait "$tracee_pid"
	check "$words: with its last word" grep -q '^alive' "$dir/$tracee_pid.out"
	rm "$dir/enough"
}

cat >"$dir/work.py" <<'EOF'
import os, sys, threading
def work():
    while not os.path.exists(sys.argv[1]):
        [bytes(1000 + i) for i in range(500)]
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
print("ready", flush=True)
[t.join() for t in threads]
print("alive", flush=True)
EOF
cat >"$dir/work.js" <<'EOF'
const fs = require("fs");
const timer = setInterval(() => {
	const a = [];
	for (let i = 0; i < 200; i++)
		a.push(Buffer.allocUnsafeSlow(10000 + i));
	if (fs.existsSync(process.argv[2])) {
		clearInterval(timer);
		console.log("alive");
	}
}, 5);
console.log("ready");
EOF
cat >"$dir/Work.java" <<'EOF'
import java.io.File;
import java.util.zip.Deflater;
class Work {
	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		while (!new File(args[0]).exists()) {
			Deflater d = new Deflater();
			d.setInput(new byte[1000]);
			d.finish();
			d.deflate(new byte[2000]);
			d.end();
		}
		System.out.println("alive");
	}
}
EOF
if command -v python3 >/dev/null; then
	runtime python3 python3 "$dir/work.py" "$dir/enough"
else
	skip python3 'it is not installed'
fi
if command -v node >/dev/null; then
	runtime node node "$dir/work.js" "$dir/enough"
else
	skip node 'it is not installed'
fi
if command -v java >/dev/null; then
	runtime Java java -XX:+UseSerialGC "$dir/Work.java" "$dir/enough"
else
	skip Java 'it is not installed'
fi

# ---- beside another profiler ----

start_command env LD_PRELOAD=libmemusage.so MEMUSAGE_OUTPUT="$dir/memusage" "$TRACEES/ledger"
check 'with memusage: refused, as malloc is not libc'"'"'s' \
	exits 5 memdiag count start --pid "$tracee_pid"
check 'with memusage: the target lives on' end_tracee

finish
