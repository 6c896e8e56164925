#!/bin/sh
# Stacks of threads that say themselves where they stand; what eu-stack says of them; and that they are left as they
# were.
. "$top_srcdir/tests/live/lib.sh"
need jq

# functions_of TID: the program's own functions on its stack, the innermost first; a row of equal ones as "NAME*N".
functions_of()
{
	jq -r --argjson tid "$1" '
		.data.stacks[] | select([.threads[].tid] | index($tid)) | .frames[] |
		.functions[-1].name // "" | select(test("^(wait_in_|spin_|nest_|run_|recurse|on_signal|interrupted_|call_without_)"))
		' "$dir/out" |
		uniq -c | awk '{ printf "%s%s%s", (NR > 1 ? " " : ""), $2, ($1 > 1 ? "*" $1 : "") }'
}

# stands KIND: whether memdiag sees all threads of KIND where they say they are.
stands()
{
	grep "^stack $1 " "$dir/$tracee_pid.out" >"$dir/$1.said" || return
	while read -r _ _ tid functions; do
		seen=$(functions_of "$((tid + ${tid_offset:-0}))")
		[ "$seen" = "$functions" ] || {
			echo "thread $tid: '$seen', not '$functions'"
			return 1
		}
	done <"$dir/$1.said"
}

# A thread says where it will be just before it is there.
stacks_are_right()
{
	exits 0 memdiag stacks "$tracee_pid" --json --no-lines || return
	for kind in ${kinds:-parked deep handler altstack no-table made}; do
		stands "$kind" || return
	done
}

# ---- every kind of stack ---------------------------------------------------------------------------

start_tracee nest worker 12 spin
check 'stacks --json: all stacks are where their threads say' soon stacks_are_right
check 'stacks --json with lines runs' exits 0 memdiag stacks "$tracee_pid" --json
check 'stacks --json: a thread that runs is where it says' stands spinning
check 'stacks --json: all stacks are complete' json_is '[.data.stacks[].end] | unique == ["complete"]'
check 'stacks --json: a recursion is deeper than what is copied at first' json_is '[.data.stacks[].frames | length] | max > 700'
check 'stacks --json says nothing on stderr' test ! -s "$dir/err"
check 'stacks --json: threads with the same stack are together' json_is '
	[.data.stacks[] | select(.threads[0].name == "worker") | .threads | length] == [12]'
check 'stacks --json: each thread is there once' json_is "
	([.data.stacks[].threads[].tid] | sort) == ([$(find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 -printf '%f,')0] - [0] | sort) and
	.data.thread_count == ([.data.stacks[].threads[]] | length) and .data.stack_count == (.data.stacks | length)"
check 'stacks --json: only what was found by frame pointer is marked' json_is '
	[.data.stacks[].frames[] | select(.by_frame_pointer) | .functions[-1].name] | sort ==
		["run_made_code", "run_without_table"]'
check 'stacks --json: code made at run time is an address' json_is "
	[.data.stacks[].frames[] | select(.object == null) | .address[:-3]] ==
		[\"$(sed -n 's/made at \(.*\)...$/\1/p' "$dir/$tracee_pid.out")\"]"
check 'stacks --json: only the trampolines of both signal handlers are marked' json_is '
	[.data.stacks[].frames[] | select(.is_signal) | .functions[-1].name // "trampoline"] | length == 2'
check 'stacks --json has inlined functions' json_is '
	[.data.stacks[].frames[].functions | select(length == 2) | [.[].name] |
		select(. == ["inlined_part", "nest_b"])] | length > 0'
check 'stacks --json has lines' json_is '
	[.data.stacks[].frames[].functions[] | select(.name == "nest_a") | .file, .line] |
		(.[0] | endswith("nest.c")) and (.[1] | type == "number")'
nr_threads=$(find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | wc -l)
# With the alternate stack, and with the recursion, whose frames clang makes small enough.
check 'stacks stops each thread once, and one or two for which a copy is not enough again' \
	json_is ".data.stop.count - $nr_threads | . == 1 or . == 2"
check 'stacks --json: the longest stop is one of all stops' json_is '.data.stop | .longest_ns <= .total_ns and .longest_ns > 0'

# ---- text, folded, threads ----

check 'stacks as text runs' exits 0 memdiag stacks "$tracee_pid"
check 'stacks as text: the head has threads, stacks and the longest stop' grep -q "^nest $tracee_pid: $nr_threads threads, .* different stacks; longest stop of a thread " "$dir/out"
check 'stacks as text: threads with the same stack are one group' grep -q '^12 threads: [0-9]* worker, [0-9]* worker' "$dir/out"
check 'stacks as text: inlined functions are marked' grep -q 'inlined_part at nest.c:[0-9]* \[inlined\]' "$dir/out"
check 'stacks as text: a recursion is one line' grep -q '#3 .* recurse .*\[699 times, to #701\]$' "$dir/out"
check 'stacks as text: a guess is marked' grep -q 'run_without_table .*\[by frame pointer\]$' "$dir/out"
check 'stacks as text: both signal handlers are marked' test "$(grep -c '\[signal handler called\]$' "$dir/out")" = 2
check 'stacks as text: code made at run time has no file' grep -q '? (memory without a file)$' "$dir/out"
check 'stacks --no-lines runs' exits 0 memdiag stacks "$tracee_pid" --no-lines
check 'stacks --no-lines: functions have no lines' sh -c "grep -q ' nest_a in nest\$' '$dir/out' && ! grep -q 'nest[.]c' '$dir/out'"
check 'stacks --format=folded runs' exits 0 memdiag stacks "$tracee_pid" --format=folded
check 'stacks --format=folded: all threads are counted' sh -c \
	"[ \"\$(awk '{ sum += \$NF } END { print sum }' '$dir/out')\" = $nr_threads ]"
check 'stacks --format=folded: inlined functions, the outermost first' \
	grep -q ';run_parked;nest_a;nest_b;inlined_part;nest_c;wait_in_syscall;.* 12$' "$dir/out"
one=$(awk '$1 == "stack" && $2 == "handler" { print $3 }' "$dir/$tracee_pid.out")
other=$(awk '$1 == "stack" && $2 == "made" { print $3 }' "$dir/$tracee_pid.out")
check 'stacks --thread of one thread runs' exits 0 memdiag stacks "$tracee_pid" --thread "$one" --json
check 'stacks --thread has no other thread' json_is "[.data.stacks[].threads[].tid] == [$one]"
for two in "--thread=$one,$other" "--thread=$one --thread=$other" "--thread=$other,$one,$other"; do
	# shellcheck disable=SC2086 # options
	check "two threads: $two" exits 0 memdiag stacks "$tracee_pid" $two --json
	check "two threads: no other: $two" json_is "[.data.stacks[].threads[].tid] | sort == ([$one, $other] | sort)"
done
check 'stacks --thread of another process: refused' exits_saying 3 "has no thread $$" memdiag stacks "$tracee_pid" --thread $$
check 'stacks --thread with the number of the process' exits 0 memdiag stacks "$tracee_pid" --thread "$tracee_pid" --json
check 'stacks of the number of a thread' exits 0 memdiag stacks "$one" --json
check 'stacks of the number of a thread has all threads of the process' json_is ".data.thread_count == $nr_threads"

# ---- eu-stack says the same ----

# The addresses of each thread that sleeps, "TID ADDRESS...".
eu_addresses()
{
	eu-stack -n 0 -p "$tracee_pid" 2>"$dir/eu.err" | awk '
		/^TID/ { sub(":", ""); tid = $2 }
		/^#/ { print tid, $2 }'
}
our_addresses()
{
	jq -r '.data.stacks[] | .threads[].tid as $tid | .frames[] | "\($tid) \(.address)"' "$dir/out" |
		while read -r tid address; do
			printf '%d 0x%016x\n' "$tid" "$address"
		done
}
same_as_eu_stack()
{
	exits 0 memdiag stacks "$tracee_pid" --json || return
	spinning=$(awk '$2 == "spinning" { print $3 }' "$dir/$tracee_pid.out")
	our_addresses | grep -v "^$spinning " | sort -s -n -k 1,1 >"$dir/ours"
	eu_addresses | grep -v "^$spinning " | sort -s -n -k 1,1 >"$dir/theirs"
	echo "$(wc -l <"$dir/ours") frames"
	[ -s "$dir/ours" ] && diff "$dir/ours" "$dir/theirs"
}
if command -v eu-stack >/dev/null; then
	# A thread that was let go may not have entered its call again.
	check 'eu-stack sees the same frames, all of them' soon same_as_eu_stack
else
	skip 'eu-stack sees the same frames' 'eu-stack is not installed'
fi

# ---- it is as it was ----

remember
check 'stacks 20 times in a row' each_of 20 exits 0 memdiag stacks "$tracee_pid" --json
check 'a process is unchanged after 20 stacks' unharmed
check 'threads stand where they stood after 20 stacks' soon stacks_are_right

kill -STOP "$tracee_pid"
is_stopped()
{
	! grep -L '^State:.T' /proc/"$tracee_pid"/task/*/status | grep .
}
check 'a process is stopped by SIGSTOP' soon is_stopped
check 'stacks of a process that is stopped' stacks_are_right
check 'a process that was stopped before stacks stays stopped' is_stopped
kill -CONT "$tracee_pid"

check 'a storm of threads begins' test "$(ask storm)" = 'a storm'
storm()
{
	exits 0 memdiag stacks "$tracee_pid" --json --no-lines && [ ! -s "$dir/err" ] &&
		for kind in parked deep handler altstack no-table made spinning; do
			stands $kind || return
		done
}
check 'stacks 20 times while threads come and go' each_of 20 storm
killed()	# killed SECONDS: that is when
{
	"$MEMDIAG" stacks "$tracee_pid" >/dev/null 2>&1 &
	victim=$!
	sleep "$1"
	kill -KILL "$victim" 2>/dev/null
	wait "$victim"
	first=$(ask spins) && [ "${first% spins}" -gt 0 ] && until [ "$(ask spins)" != "$first" ]; do :; done
}
kill_it()
{
	nr=0
	while [ $nr -lt "$(some 50)" ]; do
		nr=$((nr + 1))
		killed "0.00$((nr * 7 % 10))$((nr / 5))" || return	# 0.7 to 10 ms
	done
}
check 'a process goes on after memdiag was killed at any moment' kill_it
check 'threads come and go after memdiag was killed' storm
check 'no thread is traced after memdiag was killed' sh -c "! grep '^TracerPid:.*[1-9]' /proc/$tracee_pid/task/*/status"
check 'the process lives on after memdiag was killed' end_tracee

# ---- other programs ----

start_tracee nest-static worker 2
check 'stacks of a static program, which has no .eh_frame_hdr' soon stacks_are_right
check 'stacks of a static program are complete' json_is '[.data.stacks[].end] | unique == ["complete"]'
check 'a static program lives on' end_tracee

cp "$TRACEES/nest" "$dir/stripped" && strip --strip-all "$dir/stripped"
start_command "$dir/stripped" worker 2
depth_is_right()
{
	exits 0 memdiag stacks "$tracee_pid" --json && json_is '
		[.data.stacks[] | select(.threads | length == 2) | .frames[] | select(.object | endswith("/stripped")) |
			.functions | length] == [0, 0, 0, 0, 0]'
}
check 'stacks of a stripped program have frames without names' soon depth_is_right
check 'stacks of a stripped program, as text' exits 0 memdiag stacks "$tracee_pid"
check 'stacks of a stripped program have offsets instead of names' grep -q '? (stripped+0x[0-9a-f]*)$' "$dir/out"
check 'a stripped program lives on' end_tracee

# As clang and rustc make programs: no section has the addresses of units.
objcopy --remove-section .debug_aranges "$TRACEES/nest" "$dir/clangs"
start_command "$dir/clangs" worker 2
has_lines()
{
	exits 0 memdiag stacks "$tracee_pid" --json && json_is '
		[.data.stacks[].frames[].functions | select([.[].name] == ["inlined_part", "nest_b"]) | .[] |
			(.file // "" | endswith("nest.c")) and .line > 0] | length > 0 and all'
}
check 'without .debug_aranges a program has lines, too' soon has_lines
check 'the program without .debug_aranges lives on' end_tracee

cp "$TRACEES/nest" "$dir/nest"
start_command "$dir/nest" worker 2
rm "$dir/nest"
if [ "$(id -u)" -eq 0 ]; then
	check 'stacks of a program that was deleted' soon stacks_are_right
else
	skip 'a program that was deleted has names' 'only root may open it'
fi
echo other >"$dir/nest"
check 'stacks of a program that was replaced' exits '0' memdiag stacks "$tracee_pid" --json
check 'stacks of a program that was replaced are complete' json_is '[.data.stacks[].end] | unique == ["complete"]'
check 'the deleted program lives on' end_tracee

# Other namespaces, where the program has other numbers and paths.
if unshare -pfm --mount-proc true 2>/dev/null; then
	mkdir "$dir/place"
	cp "$TRACEES/nest" "$dir/place/nest"
	start_command unshare -pfm --mount-proc sh -c \
		'mount -t tmpfs none "$1" && cp "$2" "$1/nest" && exec "$1/nest" worker 2' sh "$dir/place" "$TRACEES/nest"
	outside=$tracee_pid
	child_of "$outside"
	inside=$child
	rm "$dir/place/nest"
	# The threads' numbers there begin with 1, without gaps as nothing else runs there but sh's children before.
	kinds='parked handler altstack no-table made'
	in_namespaces()
	{
		exits 0 memdiag stacks "$inside" --json || return
		for task in "/proc/$inside/task/"*; do
			awk -v tid="${task##*/}" '/^NSpid:/ { print $NF, tid }' "$task/status"
		done >"$dir/numbers"
		cp "$dir/$tracee_pid.out" "$dir/said"
		awk 'NR == FNR { tid[$1] = $2; next } $1 == "stack" { $3 = tid[$3] } { print }' \
			"$dir/numbers" "$dir/said" >"$dir/translated"
		for kind in $kinds; do
			grep "^stack $kind " "$dir/translated" >"$dir/$kind.said" || return
			while read -r _ _ tid functions; do
				[ "$(functions_of "$tid")" = "$functions" ] || {
					echo "$kind: '$(functions_of "$tid")', not '$functions'"
					return 1
				}
			done <"$dir/$kind.said"
		done
	}
	check 'stacks of a process in other namespaces' soon in_namespaces
	kinds=
	kill "$(cat "$dir/$tracee_pid.holder")"
	check 'the process in other namespaces lives on' wait "$outside"
else
	skip 'in other namespaces' 'unshare is not permitted'
fi

# ---- hostile names ----

hostile=$(printf 'a\033[31m;x\n"\\')
start_tracee nest "$hostile" 2
mkdir "$dir/$(printf 'h\033[2J\n')"
check 'stacks of threads with hostile names' soon stacks_are_right
check 'stacks --json of threads with hostile names escapes them' json_is '[.data.stacks[].threads[] | select(.name | test("31m")) | .name] |
	length == 2 and .[0] == "a\\033[31m;x\\012\"\\\\"'
for format in text folded; do
	check "a hostile name: $format" exits 0 memdiag stacks "$tracee_pid" --format=$format
	check "a hostile name: $format has no control bytes" sh -c \
		"! LC_ALL=C tr -d '\\n' <'$dir/out' | LC_ALL=C grep -q '[[:cntrl:]]'"
done
check 'the process with hostile names lives on' end_tracee
at=$dir/$(printf 'h\033[2J\n')/$(printf ';\033[1m nest')
cp "$TRACEES/nest" "$at"
start_command "$at" worker 2
for format in text folded; do
	check "a hostile path: $format" exits 0 memdiag stacks "$tracee_pid" --format=$format
	check "a hostile path: $format has no control bytes" sh -c \
		"! LC_ALL=C tr -d '\\n' <'$dir/out' | LC_ALL=C grep -q '[[:cntrl:]]'"
done
check 'stacks of a program with a hostile path have names' soon stacks_are_right
check 'the program with a hostile path lives on' end_tracee

# A map of names that a compiler has written.
start_tracee nest worker 1
map=/tmp/perf-$tracee_pid.map
made=$(sed -n 's/made at 0x\(.*\)$/\1/p' "$dir/$tracee_pid.out")
# shellcheck disable=SC2034 # lib.sh removes it
elsewhere=$map
echo "$made 1000 made_function" >"$map"
is_named()
{
	exits 0 memdiag stacks "$tracee_pid" --json &&
		json_is '[.data.stacks[].frames[] | select(.object == null) | .functions[].name] == ["made_function"]'
}
check 'code made at run time has the name of its map' soon is_named
if [ "$(id -u)" -eq 0 ]; then
	chown 65534 "$map"
	check "but not if another user's" exits 0 memdiag stacks "$tracee_pid" --json
	check "but not if another user's: no name" json_is '
		[.data.stacks[].frames[] | select(.object == null) | .functions[].name] == []'
fi
rm -f "$map"
check 'the process with a perf map lives on' end_tracee

# ---- what cannot be ----

start_tracee idle 1
check 'stacks --thread=x: a usage error' exits_saying 64 'is not a number' memdiag stacks "$tracee_pid" --thread=x
check 'stacks --thread=0: a usage error' exits_saying 64 'is not the number of a thread' memdiag stacks "$tracee_pid" --thread=0
check 'stacks --thread=,: a usage error' exits_saying 64 'which thread' memdiag stacks "$tracee_pid" --thread=,
check 'stacks --thread of a thread that does not exist: refused' exits_saying 3 'has no thread 4194304' memdiag stacks "$tracee_pid" --thread=4194304
check 'stacks --format=svg: a usage error' exits_saying 64 'is not text, json or folded' memdiag stacks "$tracee_pid" --format=svg
check 'stacks --json --format=folded: a usage error' exits_saying 64 'one format at a time' memdiag stacks "$tracee_pid" --json --format=folded
check 'stacks --json --format=json runs' exits 0 memdiag stacks "$tracee_pid" --json --format=json
check 'stacks --max-stop=soon: a usage error' exits_saying 64 'is not a duration' memdiag stacks "$tracee_pid" --max-stop=soon
if has_kernel_threads; then
	check 'stacks of a kernel thread: refused' exits_saying 5 'kernel thread' memdiag stacks 2
else
	skip 'a kernel thread' 'this container has none'
fi
if command -v strace >/dev/null; then
	strace -q -o /dev/null -p "$tracee_pid" 2>"$dir/strace.err" &
	tracer=$!
	soon grep -q '^TracerPid:.*[1-9]' "/proc/$tracee_pid/status"
	check 'stacks of a process that strace traces: refused' exits_saying 4 'traces\|traced' memdiag stacks "$tracee_pid"
	kill "$tracer"
	wait "$tracer" 2>/dev/null
fi
check 'the process that strace traced lives on' end_tracee
if [ -x "$TRACEES/idle-i386" ]; then
	start_tracee idle-i386 1
	check 'stacks of a 32-bit program: refused' exits_saying 5 'another processor' memdiag stacks "$tracee_pid"
	check 'the 32-bit program lives on' end_tracee
else
	skip 'a 32-bit program' 'such a program cannot be built or run here'
fi
start_tracee zombie-leader
check 'stacks of a process whose first thread has ended' exits 0 memdiag stacks "$tracee_pid" --json
check 'stacks of a process whose first thread has ended has the others' json_is ".data.thread_count >= 1 and ([.data.stacks[].threads[].tid] | index($tracee_pid)) == null"
check 'the process without a first thread lives on' end_tracee
sh -c 'sleep 0.2 & echo $! >"$0"; exec sleep 100000' "$dir/zombie" &
parent=$!
started="$started $parent"
until [ -s "$dir/zombie" ] && grep -q '^State:.Z' "/proc/$(cat "$dir/zombie")/status"; do sleep 0.01; done
check 'stacks of a zombie: refused' exits_saying 3 'zombie' memdiag stacks "$(cat "$dir/zombie")"
kill "$parent"
start_tracee vfork
check 'stacks of a thread that waits for a vfork child: partial' exits 2 memdiag stacks "$tracee_pid" --json
check 'stacks of a thread that waits for a vfork child: says so' says '1 thread could not be stopped in time'
check 'stacks --json of a thread that waits for a vfork child' json_is '
	.partial and [.data.stacks[] | select(.end == "missing") | .frames] == [[]]'
check 'the process with a vfork child lives on' end_tracee
start_tracee kernel-workers
check 'stacks of a process with threads of the kernel' exits 0 memdiag stacks "$tracee_pid" --json
check 'stacks leaves threads of the kernel (iou-wrk) out' json_is '[.data.stacks[].threads[].name | select(startswith("iou-"))] == []'
check 'the process with threads of the kernel lives on' end_tracee
if [ "$(id -u)" -eq 0 ]; then
	install -m 755 "$MEMDIAG" "$dir/memdiag"
	start_tracee idle 1
	check "another user's process" exits_saying 4 'uid\|root' captured \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/memdiag" stacks "$tracee_pid"
	check 'stacks by root without CAP_SYS_PTRACE: refused' exits_saying 4 'CAP_SYS_PTRACE' captured \
		setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$MEMDIAG" stacks "$tracee_pid"
	check 'the process lives on after stacks without CAP_SYS_PTRACE' end_tracee
	install -m 755 "$TRACEES/nest" "$dir/nest"
	start_command setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/nest" worker 2
	unprivileged()
	{
		captured setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/memdiag" stacks "$tracee_pid" --json &&
			for kind in parked deep handler altstack no-table made; do
				stands $kind || return
			done
	}
	check "an unprivileged user's own process" soon unprivileged
	check "an unprivileged user's own process lives on" end_tracee
fi
finish
