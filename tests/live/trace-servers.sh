#!/bin/sh
# memdiag trace of real programs while they start: the function that takes the most is named, and they work afterwards.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"

# begin WORDS...: with $begin_options, a shell that executes this when it is told to, so that it is traced from its first call on.
begin_options=
begin()
{
	rm -f "$dir/go" "$dir/end"
	mkfifo "$dir/go" "$dir/end"
	# shellcheck disable=SC2016 # the inner shell's
	sh -c 'read -r _ <"$0/go" && exec "$@" <>"$0/end"' "$dir" "$@" >"$dir/log" 2>&1 &
	server=$!
	started="$started $server"
	# shellcheck disable=SC2034 # trace-lib.sh reads it
	trace_target=$server
	# shellcheck disable=SC2086 # nothing, or a word
	begin_trace --json $begin_options && says_to go
}
# says_to NAME: a line for the one that reads there.
says_to()
{
	# shellcheck disable=SC2016 # the inner shell's
	timeout 300 sh -c 'echo >"$1"' sh "$dir/$1"
}
ends_well()
{
	says_to end && wait "$server"
}

# takes LEAST FUNCTION: so many bytes were mapped with this function in the stack; fewer, and more than nothing, where
# records were lost: other processes that begin make calls too.
takes()
{
	least=$1
	json_is '.data.events.lost_records == 0' >/dev/null || {
		echo "$(jq .data.events.lost_records "$dir/out") records were lost"
		least=1
	}
	json_is "([.data.stacks[] | select([.frames[].functions[].name] | any(test(\"$2\"))) | .mapped_bytes] | add) >= $least"
}
# is_all: what each stack has mapped is freed or left, if the process still runs.
is_all()
{
	json_is '[.data.stacks[] | select(.left_bytes != null and .mapped_bytes < .left_bytes)] == []'
}

sql()
{
	mariadb --no-defaults --socket="$dir/socket" --user=root --batch --skip-column-names "$@"
}
user=
[ "$(id -u)" -ne 0 ] || user=--user=root
maria()
{
	# shellcheck disable=SC2086 # nothing, or a word
	mariadb-install-db --no-defaults --datadir="$dir/data" --skip-test-db $user \
		--auth-root-authentication-method=normal >"$dir/install" 2>&1 || return
	# shellcheck disable=SC2086 # nothing, or a word
	begin mariadbd --no-defaults $user --datadir="$dir/data" --socket="$dir/socket" --skip-networking \
		--innodb-buffer-pool-size=256M && wait_for "$server" "$dir/log" 'ready for connections' && end_trace INT
}
if command -v mariadbd mariadb mariadb-install-db >/dev/null; then
	check 'mariadbd starts with a buffer pool of 256 MiB' maria
	check 'mariadbd: its buffer pool is named' takes 268435456 'my_virtual_mem_commit|my_large_virtual_alloc|os_mem_alloc_large'
	check 'mariadbd: what is left was mapped' is_all
	check 'mariadbd: it answers' sh -c "[ \"\$(mariadb --no-defaults --socket='$dir/socket' --user=root -BN -e 'SELECT 6 * 7')\" = 42 ]"
	check 'mariadbd: it shuts down' sql -e SHUTDOWN
	wait "$server"
else
	skip mariadbd 'it is not installed'
fi

run_java()
{
	cat >"$dir/Grow.java" <<-'PROGRAM'
		public class Grow {
			public static void main(String[] a) throws Exception {
				byte[][] all = new byte[20][];
				for (int i = 0; i < all.length; i++) {
					all[i] = new byte[10 << 20];
					Thread t = new Thread(() -> { });
					t.start();
					t.join();
				}
				System.out.println("grown " + all.length);
				System.in.read();
			}
		}
	PROGRAM
	javac -d "$dir" "$dir/Grow.java" && begin java -Xms16m -Xmx512m -XX:+UseG1GC -cp "$dir" Grow &&
		wait_for "$server" "$dir/log" '^grown 20' && end_trace INT
}
if command -v java javac >/dev/null; then
	check 'java: its heap grows' run_java
	check 'java: the function that reserves it is named' takes 536870912 '^os::.*reserve_memory'
	check 'java: the function that grows it is named' takes 209715200 'HeapRegionManager::expand|G1CollectedHeap::expand'
	check 'java: what is left was mapped' is_all
	check 'java: it comes to its end' ends_well
else
	skip java 'it is not installed'
fi

# The runtime of Go maps memory by calls of its own, on a stack of its own; pages are touched on that of the goroutine.
build_go()
{
	cat >"$dir/main.go" <<-'PROGRAM'
		package main

		import (
			"bufio"
			"fmt"
			"os"
		)

		var all [][]byte

		//go:noinline
		func grow(n int) {
			b := make([]byte, n)
			for i := 0; i < n; i += 4096 {
				b[i] = 1
			}
			all = append(all, b)
		}

		func main() {
			for i := 0; i < 4; i++ {
				grow(100 << 20)
			}
			fmt.Println("grown", len(all))
			bufio.NewReader(os.Stdin).ReadString('\n')
		}
	PROGRAM
	captured env HOME="$dir" GOCACHE="$dir/cache" GOFLAGS=-mod=mod go build -o "$dir/grow" "$dir/main.go"
}
run_go()
{
	begin "$dir/grow" && wait_for "$server" "$dir/log" '^grown 4' && end_trace INT
}
if command -v go >/dev/null && build_go; then
	check 'go: its heap grows' run_go
	check 'go: the function of its runtime that maps is named' takes 314572800 'runtime[.].*mheap.*grow'
	check 'go: it comes to its end' ends_well
	begin_options=--rss
	check 'go: its heap is touched' run_go
	check 'go: the function that touches is named' json_is '[.data.stacks[] | select(.touched_bytes > 1048576) |
		.frames[].functions[].name] | index("main.grow") != null'
	check 'go: it ends after --rss' ends_well
	begin_options=
else
	skip go 'it is not installed'
fi

python3=$(python3 -c 'import sys; print(sys.executable)' 2>"$dir/err" || echo python3)
run_python()
{
	begin "$python3" -c '
import sys
l = [bytearray(100 << 20) for i in range(3)]
l.append(bytearray(10))
for i in range(200): l[3] += bytes(1 << 20)
print("grown", sum(map(len, l)), flush=True)
sys.stdin.readline()' && wait_for "$server" "$dir/log" '^grown' && end_trace INT
}
check 'python3: arrays of 100 MiB, and one that grows' run_python
check 'python3: the function that makes them is named' takes 314572800 'bytearray|PyByteArray_Resize'
check 'python3: what is left was mapped' is_all
check 'python3: it comes to its end' ends_well
finish
