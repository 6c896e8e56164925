#!/bin/sh
# Programs started with the agent: they find all as they would without memdiag, end as they would, and
# what the agent cannot get into is refused before it starts.
. "$top_srcdir/tests/live/lib.sh"
need jq

AGENT=$top_builddir/libmemdiag-agent.so
[ -e "$AGENT" ] || skip_all "the agent is not made for this processor"
exact=$top_builddir/tests/agent/exact
mkdir "$dir/bin"
PATH=$dir/bin:$PATH

# make_script NAME INTERPRETER
make_script()
{
	printf '#!%s\necho "$0 ran" "$@"\n' "$2" >"$dir/bin/$1"
	chmod +x "$dir/bin/$1"
}

# ---- how it ends -------------------------------------------------------------------------------

check 'run of a program runs' exits 0 memdiag run true
check 'the counted program has its line' \
	says '^memdiag: true: peak 0 B, at the end .* blocks allocated; RSS peak'
check 'stderr of a counted program is one line' test "$(wc -l <"$dir/err")" -eq 1
check 'run returns the status of the program' exits 7 memdiag run sh -c 'exit 7'
check 'run returns 64 if the program exits with 64' exits 64 memdiag run -- sh -c 'exit 64'
check 'run passes the options of the program on' exits 3 memdiag run sh -c 'exit $#' sh --json -q 3
check 'run of a program that SIGTERM ends returns 143' exits 143 memdiag run sh -c 'kill -TERM $$'
check 'run of a program that SIGKILL ends returns 137' exits 137 memdiag run sh -c 'kill -KILL $$'
check 'a killed program was counted until then' says '^memdiag: sh: peak [1-9][0-9.]* \(Ki\)\{0,1\}B'
check 'run of a program that does not exist returns 127' exits 127 memdiag run no-such-program
check 'a program that does not exist is named' \
	says '^memdiag run: cannot run no-such-program: No such file or directory$'
check 'a file that does not exist cannot be run' exits 127 memdiag run ./no/such/program
check 'run of a directory returns 126' exits 126 memdiag run "$dir"
: >"$dir/bin/plain"
check 'a file that is not executable cannot be run' exits 126 memdiag run plain
check 'a file that is not executable is named' says 'plain: Permission denied'
make_script lost "$dir/no-such-shell"
check 'a script whose interpreter is not there' exits 127 memdiag run lost
for words in '' '--limit=much true' '--limit=0 true' '--on-limit=enomem true' \
	'--limit=1G --on-limit=x true' '--account=x true' '--print-interval=0ms true' '--frobnicate true' \
	'--pid 1 true'; do
	# shellcheck disable=SC2086 # words
	check "a command line that cannot be: run $words" exits 125 memdiag run $words
done
check 'a file that is there stays' sh -c "echo mine >'$dir/file'
	'$MEMDIAG' run -o '$dir/file' touch '$dir/ran' 2>'$dir/err'; [ \$? -eq 125 ] &&
	[ \"\$(cat '$dir/file')\" = mine ] && [ ! -e '$dir/ran' ]"
check 'run -o /dev/full returns 125, and says why' sh -c "'$MEMDIAG' run -o /dev/full true 2>'$dir/err'; [ \$? -eq 125 ] &&
	grep -q 'No space left' '$dir/err'"
check 'a closed stderr is nobody'\''s failure' sh -c "'$MEMDIAG' run true 2>&-"

# ---- what it finds -----------------------------------------------------------------------------

# same COMMAND...: whether it says the same as without memdiag, with and without one in between.
same()
{
	"$@" >"$dir/plain.out" 2>&1
	"$MEMDIAG" run -o "$dir/told" -f "$@" >"$dir/run.out" 2>&1 &&
		diff "$dir/plain.out" "$dir/run.out" &&
		"$MEMDIAG" run -q "$@" >"$dir/run.out" 2>&1 && diff "$dir/plain.out" "$dir/run.out"
}

check 'the same environment, but for two' same sh -c 'env | grep -v -e ^MEMDIAG_AGENT -e ^LD_PRELOAD | sort'
check 'the same descriptors' same sh -c 'ls /proc/$$/fd'
check 'the same descriptors when they are closed' same sh -c 'ls /proc/$$/fd' <&-
check 'the same signals ignored and blocked' same grep ^Sig[BI] /proc/self/status
check 'SIGPIPE and SIGCHLD ignored as well' sh -c "trap '' PIPE CHLD
	'$MEMDIAG' run -q grep ^SigIgn /proc/self/status >'$dir/a'
	'$MEMDIAG' run grep ^SigIgn /proc/self/status >'$dir/b' 2>&1
	grep ^SigIgn /proc/self/status | tee '$dir/c' | cmp - '$dir/a' && head -n 1 '$dir/b' | cmp - '$dir/c' &&
	grep -q 'SigIgn:.*[^0]' '$dir/c'"
check 'the same name for itself' same sh -c 'tr "\0" " " </proc/$$/cmdline'
check 'stdin, stdout' test "$(echo words | "$MEMDIAG" run cat 2>"$dir/err")" = words
check 'a library that was to be preloaded is so, behind the agent' test \
	"$(LD_PRELOAD=$top_builddir/tests/agent/atfork.so "$MEMDIAG" run -q printenv LD_PRELOAD)" = \
	"$AGENT:$top_builddir/tests/agent/atfork.so"
check 'with -q the program takes our place' sh -c "'$MEMDIAG' run -q sh -c 'echo \$\$' >'$dir/out' &
	echo \$! >'$dir/pid'; wait; cmp '$dir/pid' '$dir/out'"
check 'with -q nothing is printed' sh -c "[ -z \"\$('$MEMDIAG' run -q true 2>&1)\" ]"
make_script greets /bin/sh
check 'a script' sh -c "'$MEMDIAG' run greets you 2>'$dir/err' | grep -q '/greets ran you'"
printf 'echo no head\n' >"$dir/bin/headless"
chmod +x "$dir/bin/headless"
check 'one that only a shell knows' sh -c "'$MEMDIAG' run headless 2>'$dir/err' | grep -q 'no head'"
check 'a program becomes another' memdiag run sh -c 'exec python3 -c "x = [str(i) * 50 for i in range(99999)]"'
check 'a program after exec is counted' says '^memdiag: sh: peak [0-9.]* MiB'

# ---- the agent's messages -----------------------------------------------------------------------

# The agent's own tests, with what run says to it.
tap()
{
	memdiag run -q "$@" && ! grep '^not ok' "$dir/out"
}

check 'usable bytes, exact' tap "$exact"
check 'requested bytes, exact' tap --account=requested "$exact" requested
check 'children that are followed' tap --follow-children "$top_builddir/tests/agent/fork"
check 'children that are not' tap "$top_builddir/tests/agent/fork" alone
check 'a limit with --on-limit=enomem is held' tap --limit 12000000 --on-limit=enomem "$top_builddir/tests/agent/grow"

hungry='import sys
x = []
for i in range(1000): x.append(bytes(100000))
print("full")'
check '--on-limit=exit: the program ends' exits 255 memdiag run --limit 30M python3 -c "$hungry"
check '--on-limit=exit: the call, the limit and what is in use are printed' \
	says '^memdiag: .* ([0-9]*): a call for [0-9]* bytes does not fit the limit of 31457280 bytes, of which [0-9]* are in use'
check '--on-limit=exit: the peak is at most the limit' says 'peak \(29.[0-9]\|30.0\) MiB'
check '--on-limit=enomem: the call fails' \
	exits 1 memdiag run --limit 30M --on-limit=enomem python3 -c "$hungry"
check '--on-limit=enomem: the program gets its MemoryError' says 'MemoryError$'
check '--on-limit=signal: the program is ended by SIGTERM' \
	exits 143 memdiag run --limit 30M --on-limit=signal python3 -c "$hungry"
check '--on-limit=abort: the program dumps core' \
	exits 134 memdiag run --limit 30M --on-limit=abort python3 -c "$hungry"
check '--on-limit=report: the program goes on' \
	exits 0 memdiag run --limit 30M --on-limit=report python3 -c "$hungry"
check '--on-limit=report: it goes on to the end' grep -q full "$dir/out"
check '--on-limit=report: the limit is reported once' \
	test "$(grep -c 'in use. Going on' "$dir/err")" -eq 1
check '-v with a limit: the program fails' \
	exits 1 memdiag run -v --limit 30M --on-limit=enomem python3 -c "$hungry"
check '-v with a limit: the refused calls are counted' \
	says '^limit  *30.0 MiB (on limit: enomem); [1-9][0-9]* calls were refused$'
check '-v with a limit that was passed: the program goes on' \
	exits 0 memdiag run -v --limit 30M --on-limit=report python3 -c "$hungry"
check '-v with a limit that was passed: it is shown' \
	says '^limit  *30.0 MiB (on limit: report); it was passed$'
# Inaccessible memory is committed bit by bit, as node and Java do with their heaps.
commits='import ctypes, mmap, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
step = 1 << 20
at = libc.mmap(None, 1 << 30, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
for i in range(200):
	if libc.mprotect(at + i * step, step, mmap.PROT_READ | mmap.PROT_WRITE) != 0: sys.exit(i < 100)
print("full")'
check 'memory that mprotect makes accessible has a limit' exits 1 memdiag run --limit 100M --on-limit=enomem \
	python3 -c "$commits"
check 'the peak of memory made accessible is the limit' says 'peak \(99.[0-9]\|100.0\) MiB'
check 'the program ends at the limit of memory made accessible' \
	exits 255 memdiag run --limit 100M python3 -c "$commits"
check 'below it, none is refused' exits 0 memdiag run --limit 300M python3 -c "$commits"
if command -v node >/dev/null; then
	check 'the heap of node has a limit' exits 255 memdiag run --limit 400M \
		node -e 'let a = []; for (;;) a.push(new Array(10000).fill(a.length))'
	check 'the limit of the heap of node is reported' says 'does not fit the limit of 419430400 bytes'
else
	skip 'the heap of node has a limit' 'it is not installed'
fi

# ---- what is not counted -----------------------------------------------------------------------

shares='import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
size = 300 << 20
shm = libc.shmget(0, ctypes.c_size_t(size), 0o600)
at = libc.shmat(shm, None, 0)
libc.shmctl(shm, 0, None)
ctypes.memset(at, 1, size)'
check 'a program with memory that is not counted' exits 0 memdiag run python3 -c "$shares"
check 'the memory that is not counted is reported' says '^memdiag: 3[0-9][0-9]\.[0-9] MiB of the RSS peak were not counted: .*System V'
check 'a program with memory that is not counted: run writes JSON' exits 0 memdiag run --json -o "$dir/json" -f python3 -c "$shares"
cp "$dir/json" "$dir/out"
check 'the memory that is not counted is a warning in JSON' json_is '[.warnings[] | tostring | contains("RSS peak was not counted")] | any'

# The counters have room for many threads and processes; what nobody uses takes no memory.
little_shared()
{
	awk '$2 ~ /^[r-][w-][x-][ps]$/ { is_shared = $2 ~ /^rw.s$/ } is_shared && $1 == "Rss:" { sum += $2 }
		END { print sum + 0, "KiB"; exit !(sum > 0 && sum <= 128) }' "/proc/$tracee_pid/smaps"
}
start_command "$MEMDIAG" run -q "$TRACEES/idle"
check 'the counters of a new process take at most 128 KiB' little_shared
check 'the process with few counters lives on' end_tracee

# A thread prints; before 2.34 only programs that have libpthread can have one.
lines_come()
{
	LD_PRELOAD=libpthread.so.0 memdiag run --print-interval 100ms sh -c \
		"until [ \"\$(grep -c '^memdiag: [0-9]* has' '$dir/err')\" -ge 3 ]; do sleep 0.01; done"
}
check 'run with lines while the program runs' lines_come
check 'the first line comes at once, more come later' \
	test "$(grep -c '^memdiag: [0-9]* has [0-9]* bytes' "$dir/err")" -ge 3
check 'run writes JSON of a program that exits with 0' memdiag run --json -o "$dir/json" -f python3 -c 'print([0] * 3)'
cp "$dir/json" "$dir/out"
check 'the JSON of a program has its numbers' \
	json_is '.schema == "memdiag.run/1" and (.partial | not) and
	.data.exit_status == 0 and .data.signal == null and .data.peak_bytes >= .data.live_bytes and
	.data.blocks == .data.blocks_allocated - .data.blocks_freed and .data.max_rss_bytes > 0 and
	.data.way == "preloaded" and .data.limit == null'
check 'run writes JSON of a program that was killed' exits 137 memdiag run --limit 1G --json -o "$dir/json" -f sh -c 'kill -KILL $$'
cp "$dir/json" "$dir/out"
check 'the JSON of a killed program has its numbers' \
	json_is '.data.signal == 9 and .data.exit_status == null and .data.blocks > 0 and
	.data.limit == {"bytes": 1073741824, "on_limit": "exit", "refused": 0, "passed": false}'

check 'run writes JSON of a limit that was passed' exits 0 memdiag run --limit 30M --on-limit=report --json \
	-o "$dir/json" -f python3 -c "$hungry"
cp "$dir/json" "$dir/out"
check 'the JSON shows that the limit was passed' \
	json_is '.data.limit.passed and .data.limit.refused == 0'
check 'run writes JSON of calls that were refused' exits 1 memdiag run --limit 30M --on-limit=enomem --json \
	-o "$dir/json" -f python3 -c "$hungry"
cp "$dir/json" "$dir/out"
check 'the JSON shows how often it was refused' \
	json_is '.data.limit.refused > 0 and (.data.limit.passed | not)'
check 'with -q, JSON is written all the same' exits 0 memdiag run -q --json true
cp "$dir/err" "$dir/out"
check 'with -q JSON is written to stderr' json_is '.data.program == "true" and .data.exit_status == 0'
check 'with -q and -o the program runs' exits 0 memdiag run -q -o "$dir/quietly" true
check 'with -q and -o the line is in the file' grep -q '^memdiag: true: peak' "$dir/quietly"
check 'an earlier message is not repeated' test \
	"$(MEMDIAG_AGENT='limit=1' "$MEMDIAG" run -q env | grep -c '^MEMDIAG_AGENT=')" -eq 1

# The reader of our output has gone before the program ends.
loses_reader()
{
	{
		"$MEMDIAG" run sh -c "until [ -e '$dir/gone' ]; do sleep 0.01; done; exit 7" 2>&1
		echo $? >"$dir/status"
	} | {
		exec <&-
		: >"$dir/gone"
	}
	cat "$dir/status"
	[ "$(cat "$dir/status")" -eq 7 ]
}
check 'a reader that has gone is no reason to end in another way' loses_reader

# Its malloc has something in front of its blocks that only it knows.
memusage=$(ldconfig -p | sed -n 's/.*(libc6,x86-64).* => //p' | grep '/libc\.so\.6$' | head -n 1)
memusage=${memusage%/*}/libmemusage.so
if [ -e "$memusage" ]; then
	LD_PRELOAD=$memusage check 'a malloc that cannot be counted' exits 0 memdiag run true
	check 'a malloc that cannot be counted: the line shows it' \
		says '^memdiag: true: was not counted: the agent did not start in it$'
	LD_PRELOAD=$memusage check 'a malloc that cannot be counted, as JSON' exits 0 memdiag run --json -o "$dir/json" -f true
	cp "$dir/json" "$dir/out"
	check 'a malloc that cannot be counted: the JSON is partial' json_is '.partial and (.data | has("live_bytes") | not) and
		(.warnings[0] | tostring | contains("not counted"))'
else
	skip 'a malloc that cannot be counted' 'libmemusage.so is not installed'
fi

# ---- what is refused ---------------------------------------------------------------------------

# refused WORDS PROGRAM: 125, WORDS, and the program has not run.
refused()
{
	exits 125 memdiag run "$2" </dev/null && says "$1" && says 'nothing would be counted' &&
		[ ! -s "$dir/out" ]
}

check 'run of a static program: refused' refused 'idle-static is statically linked' "$TRACEES/idle-static"
if [ -x "$TRACEES/idle-i386" ]; then
	check "a program for i386" refused "idle-i386 is .*for" "$TRACEES/idle-i386"
else
	skip "a program for i386" 'such a program cannot be built or run here'
fi
make_script static-script "$TRACEES/idle-static"
check 'run of a script of a static program: refused' refused 'idle-static is statically linked' static-script
make_script script-script "$dir/bin/static-script"
check 'run of a script of a script of a static program: refused' refused 'idle-static is statically linked' script-script
if [ "$(id -u)" -eq 0 ]; then
	cp "$(command -v id)" "$dir/bin/setuid"
	chown 65534 "$dir/bin/setuid"
	chmod 4755 "$dir/bin/setuid"
	check 'run of a setuid program: refused' refused 'setuid is setuid' setuid
	chmod 755 "$dir/bin/setuid"
	check 'the program runs once it is not setuid' exits 0 memdiag run setuid
	chown 0:65534 "$dir/bin/setuid"
	chmod 2755 "$dir/bin/setuid"
	check 'run of a setgid program: refused' refused 'setuid is setgid' setuid
else
	skip 'setuid programs' 'only root can make them'
fi
loader=$(readelf -lW "$exact" 2>/dev/null | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
if [ -n "$loader" ]; then
	check 'ld.so itself may be the program' exits 0 memdiag run "$loader" /bin/sh -c :
	check 'what ld.so runs is counted' says 'peak [1-9][0-9.]* \(Ki\)\{0,1\}B'
else
	skip 'ld.so itself' 'readelf is not installed'
fi
mkdir "$dir/a b"
cp "$MEMDIAG" "$AGENT" "$dir/a b"
check 'where LD_PRELOAD cannot name the agent' sh -c "'$dir/a b/memdiag' run true 2>'$dir/err'; [ \$? -eq 125 ]"
check 'the path that LD_PRELOAD cannot name is reported' says 'LD_PRELOAD cannot name'

# The program can open the files that memdiag has mapped.
# shellcheck disable=SC2016 # for the inner shell
empties='for f in $(echo "$MEMDIAG_AGENT" | tr ";" "\\n" | sed -n "s,.*=/proc/,/proc/,p"); do
	! truncate -s 0 "$f" 2>/dev/null || exit 1
done'
check 'a program cannot empty the files of its counters and samples' \
	exits 0 memdiag run --profile -o "$dir/emptied" -- sh -c "$empties"
check 'a program that tries that is counted' says 'peak [1-9][0-9.]* \(Ki\)\{0,1\}B'

# ---- MemTracer's variables -------------------------------------------------------------------------

with_variables()
{
	MT_MEMORY_LIMIT=12x MT_PRINT_INTERVAL_MS=soon "$MEMDIAG" run "$@" true >"$dir/out" 2>"$dir/err"
}

check "MemTracer's variables: it runs" with_variables
check "MemTracer's variables: they have no effect" says "^memdiag: MT_MEMORY_LIMIT has no effect .*; use --limit\$"
check "MemTracer's variables: each of them" \
	says "^memdiag: MT_PRINT_INTERVAL_MS has no effect .*; use --print-interval\$"
check "MemTracer's variables: no line of MemTracer's" sh -c '! grep -i memtracer "$1"' sh "$dir/err"
check "MemTracer's variables: with -q it runs, too" with_variables -q
check "MemTracer's variables: and nothing is said" test ! -s "$dir/err"
finish
