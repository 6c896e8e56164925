#!/bin/sh
# Servers and runtimes that are profiled while they are at work: the report names their own functions, they serve on,
# and a hundred profiles leave no more in them than one.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
PATH=$PATH:/usr/sbin:/usr/libexec
need jq

# names WHAT: profile the process tracee_pid while it works; whether functions like WHAT allocate.
names()
{
	profile --seconds "$(some 20)s" --rate 16K -o "$dir/p" &&
		memdiag report --value=allocated --allocators --lines=0 "$(written)" && grep -q -E "$1" "$dir/out" || {
		head -n 30 "$dir/out"
		return 1
	}
}

# whole_stacks: at least nine of ten samples of the last profile lead to a thread's or the program's first function.
whole_stacks()
{
	memdiag report --value=allocated --format=folded "$(find "$dir" -name 'p.*.heap' | sort | tail -n 1)" &&
		awk '{ n = $NF; sum += n }
			/^[^;]*(clone|_start|main|start_thread)/ { whole += n }
			END { printf "%d %% are whole\n", 100 * whole / sum; exit !(sum && whole > 0.9 * sum) }' "$dir/out"
}

start_and_stop()
{
	profile start && profile stop -o "$dir/q" && rm "$dir"/q.*
}

# cycles NAME TIMES: so many more profiles leave no more in it than one.
cycles()
{
	check "$1: once more" start_and_stop
	has >"$dir/had"
	check "$1: $2 times" each_of "$2" start_and_stop
	has >"$dir/has"
	check "$1: it has no more than after the first time" cmp "$dir/had" "$dir/has"
	check "$1: every byte is as it was" same_bytes
}

# ---- mariadbd ----

if command -v mariadbd >/dev/null && start_mariadbd; then
	start_sessions
	same_bytes
	check 'mariadbd: its own functions are named' names 'THD|Item|Query|st_|handler|Sql|JOIN|alloc_root|my_malloc'
	check 'mariadbd: nearly all stacks are whole' whole_stacks
	cycles mariadbd 100
	touch "$dir/stop"
	wait "$session_1" "$session_2" "$session_3"
	check 'mariadbd: no session saw an error' sh -c "! grep -v inserted '$dir'/session.*"
	sql -e SHUTDOWN
	check 'mariadbd: it shuts down' wait "$tracee_pid"
else
	skip mariadbd 'it is not installed'
fi

# ---- a PostgreSQL backend ----

for bin in /usr/lib/postgresql/*/bin; do
	PATH=$bin:$PATH
done

# start_backend: a server, and pgbench with one connection until it is killed; sets server, pgbench and tracee_pid,
# which is the backend that serves it.
start_backend()
{
	local as=
	command -v initdb >/dev/null && command -v pgbench >/dev/null || return
	if [ "$(id -u)" -eq 0 ]; then
		id postgres >/dev/null 2>&1 || return
		as='setpriv --reuid=postgres --regid=postgres --clear-groups'
	fi
	mkdir "$dir/cluster"
	[ -z "$as" ] || chown postgres "$dir/cluster"
	# shellcheck disable=SC2086 # words
	$as initdb --no-sync -U tester -A trust -D "$dir/cluster" >"$dir/initdb" 2>&1 || return
	# shellcheck disable=SC2086
	$as postgres -D "$dir/cluster" -k "$dir/cluster" -c listen_addresses= -c fsync=off -c autovacuum=off \
		>"$dir/postgres.log" 2>&1 </dev/null &
	server=$!
	started="$started $server"
	wait_for $server "$dir/postgres.log" 'ready to accept connections'
	pgbench -q -i -U tester -h "$dir/cluster" postgres >"$dir/initdb" 2>&1 || return
	pgbench -P 1 -T 100000 -U tester -h "$dir/cluster" postgres >"$dir/pgbench.out" 2>"$dir/pgbench" &
	pgbench=$!
	started="$started $pgbench"
	wait_for $pgbench "$dir/pgbench" tps
	tracee_pid=$(backend_of)
	[ -n "$tracee_pid" ]
}

# backend_of: the process of the server that has a session.
backend_of()
{
	psql -X -A -t -h "$dir/cluster" -U tester postgres -c \
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench'"
}

# progresses: whether pgbench makes transactions, none of which fails.
progresses()
{
	local lines
	lines=$(wc -l <"$dir/pgbench")
	until [ "$(wc -l <"$dir/pgbench")" -gt $((lines + 1)) ]; do
		lives "$pgbench" || return
		sleep 0.1
	done
	tail -n 1 "$dir/pgbench" | grep -q ' tps, .* 0 failed$'
}

# ends_well: whether pgbench ends with 0.
ends_well()
{
	wait "$pgbench" && return
	echo "exit status $?"
	tail -n 5 "$dir/pgbench"
	return 1
}

# logged_no_error: whether there is none in the server's log; prints the log from before the first one.
logged_no_error()
{
	grep -E -B 5 -A 20 'ERROR|FATAL|PANIC|WARNING' "$dir/postgres.log" || return 0
	return 1
}

if start_backend; then
	same_bytes
	check 'a PostgreSQL backend: its own functions are named' names 'AllocSet|palloc|MemoryContext|exec_|Cache'
	check 'a PostgreSQL backend: nearly all stacks are whole' whole_stacks
	cycles 'a PostgreSQL backend' 60
	check 'a PostgreSQL backend: transactions go on, and none failed' progresses
	# As when its time is up: it ends the transaction and the session.  Killed within one it leaves a backend that
	# cannot write to it, which is an error in the log: "FATAL:  connection to client lost".
	kill -ALRM "$pgbench"
	check 'a PostgreSQL backend: pgbench ends the session' ends_well
	check 'a PostgreSQL backend: the log has no error' logged_no_error
	kill -INT "$server"
	check 'a PostgreSQL backend: its server shuts down' wait "$server"
else
	skip 'a PostgreSQL backend' 'there is no PostgreSQL that can be started'
fi

# ---- runtimes ----

# runtime NAME WORDS COMMAND...: profile a program that works until it is killed; functions like WORDS allocate.
runtime()
{
	local name="$1" words="$2"
	shift 2
	command -v "$1" >/dev/null || {
		skip "$name" "$1 is not installed"
		return
	}
	"$@" >"$dir/log" 2>&1 </dev/null &
	tracee_pid=$!
	started="$started $tracee_pid"
	wait_for $tracee_pid "$dir/log" ready
	check "$name: its functions are named" names "$words"
	check "$name: nearly all stacks are whole" whole_stacks
	cycles "$name" 60
	check "$name: it goes on" lives $tracee_pid
	kill $tracee_pid
	wait $tracee_pid
}

runtime python3 '_PyObject_Malloc|PyMem|_Py|PyUnicode_' python3 -u -c '
import sys
print("ready")
kept = []
while True:
    kept.append(str(len(kept)) * 2000)
    if len(kept) > 3000:
        kept = []
'
runtime node 'node::|v8::' node -e '
console.log("ready");
setInterval(() => { const all = []; for (let i = 0; i < 200; i++) all.push(Buffer.alloc(20000, i)); }, 1);
'


# Its own heap is mmap()'s, but zlib's streams and the compiler's memory are malloc's.  Code made at run time has no
# unwind tables: without frame pointers a stack ends at the first of its frames.
cat >"$dir/Zip.java" <<'END'
import java.util.zip.Deflater;

public class Zip {
	static volatile byte[] kept;

	static void work() {
		byte[] from = new byte[10000], to = new byte[20000];

		for (;;) {
			Deflater deflater = new Deflater();

			deflater.setInput(from);
			deflater.finish();
			deflater.deflate(to);
			deflater.end();
			kept = to;
		}
	}

	public static void main(String[] args) {
		for (int i = 0; i < 3; i++)
			new Thread(Zip::work).start();
		System.out.println("ready");
	}
}
END
if command -v javac >/dev/null && javac -d "$dir" "$dir/Zip.java"; then
	runtime Java 'deflateInit|Java_java_util_zip' java -XX:+PreserveFramePointer -Xmx128m -cp "$dir" Zip
else
	skip Java 'javac is not installed'
fi

# ---- another allocator ----

# redis_profiled: Debian's redis-server has libjemalloc, whose own profiler works while clients do.
redis_profiled()
{
	redis-benchmark -s "$dir/redis" -n 1000000 -r 100000 -d 500 -c 8 -t set -q >"$dir/load" 2>&1 &
	load=$!
	profile --seconds 2s --rate 4K -o "$dir/r" || return
	memdiag report --lines=0 "$(written)" && wait $load && ! grep -i -e error -e closed "$dir/load"
}

redis_needs_setting()
{
	exits 5 memdiag profile start --pid "$tracee_pid" && says 'MALLOC_CONF=prof:true,prof_active:false'
}

# start_redis CONF
start_redis()
{
	MALLOC_CONF=$1 redis-server --port 0 --unixsocket "$dir/redis" --save '' >"$dir/redis.log" 2>&1 </dev/null &
	tracee_pid=$!
	started="$started $tracee_pid"
	wait_for $tracee_pid "$dir/redis.log" 'eady to accept'
}

if command -v redis-benchmark >/dev/null && ldd "$(command -v redis-server)" | grep -q jemalloc; then
	start_redis ''
	check 'redis with jemalloc: what to set' redis_needs_setting
	kill $tracee_pid
	wait $tracee_pid
	start_redis prof:true,prof_active:false
	check 'redis with jemalloc: its profiler is driven' redis_profiled
	check 'redis with jemalloc: functions of its own' grep -q -E 'readQueryFromClient|zmalloc|tryObjectEncoding|createObject' \
		"$dir/out"
	check 'redis with jemalloc: 50 times' each_of 50 start_and_stop
	kill $tracee_pid
	check 'redis with jemalloc: it shuts down' wait $tracee_pid
else
	skip 'redis with jemalloc' 'none is installed'
fi
finish
