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

# says WORDS: whether stderr of the last memdiag has them, and nothing else but what a run adds.
says()
{
	grep -q -e "$1" "$dir/err" || {
		cat "$dir/err"
		return 1
	}
}

# make_script NAME INTERPRETER
make_script()
{
	printf '#!%s\necho "$0 ran" "$@"\n' "$2" >"$dir/bin/$1"
	chmod +x "$dir/bin/$1"
}

# ---- how it ends -------------------------------------------------------------------------------

check 'a program runs' exits 0 memdiag run true
check 'and is counted' says '^memdiag: true: peak 0 B, at the end .* blocks allocated; RSS peak'
check 'in one line' test "$(wc -l <"$dir/err")" -eq 1
check 'its status is ours' exits 7 memdiag run sh -c 'exit 7'
check 'also that of a usage error' exits 64 memdiag run -- sh -c 'exit 64'
check 'its options are its own' exits 3 memdiag run sh -c 'exit $#' sh --json -q 3
check 'a signal that ends it, too' exits 143 memdiag run sh -c 'kill -TERM $$'
check 'one that nobody can catch' exits 137 memdiag run sh -c 'kill -KILL $$'
check 'and it was counted until then' says '^memdiag: sh: peak [0-9.]* KiB'
check 'no such program' exits 127 memdiag run no-such-program
check 'is told' says '^memdiag run: cannot run no-such-program: No such file or directory$'
check 'nor such a file' exits 127 memdiag run ./no/such/program
check 'one that is no program' exits 126 memdiag run "$dir"
: >"$dir/bin/plain"
check 'or may not be run' exits 126 memdiag run plain
check 'is told, too' says 'plain: Permission denied'
make_script lost "$dir/no-such-shell"
check 'a script whose interpreter is not there' exits 127 memdiag run lost
for words in '' '--limit=much true' '--limit=0 true' '--on-limit=enomem true' \
	'--limit=1G --on-limit=x true' '--account=x true' '--print-interval=0 true' '--frobnicate true' \
	'--pid 1 true'; do
	# shellcheck disable=SC2086 # words
	check "a command line that cannot be: run $words" exits 125 memdiag run $words
done
check 'a file that is there stays' sh -c "echo mine >'$dir/file'
	'$MEMDIAG' run -o '$dir/file' touch '$dir/ran' 2>'$dir/err'; [ \$? -eq 125 ] &&
	[ \"\$(cat '$dir/file')\" = mine ] && [ ! -e '$dir/ran' ]"
check 'a full disk' sh -c "'$MEMDIAG' run -o /dev/full true 2>'$dir/err'; [ \$? -eq 125 ] &&
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
	"$(LD_PRELOAD=$top_builddir/tests/agent/early.so "$MEMDIAG" run -q printenv LD_PRELOAD)" = \
	"$AGENT:$top_builddir/tests/agent/early.so"
check 'with -q the program takes our place' sh -c "'$MEMDIAG' run -q sh -c 'echo \$\$' >'$dir/out' &
	echo \$! >'$dir/pid'; wait; cmp '$dir/pid' '$dir/out'"
check 'and nothing is said' sh -c "[ -z \"\$('$MEMDIAG' run -q true 2>&1)\" ]"
make_script greets /bin/sh
check 'a script' sh -c "'$MEMDIAG' run greets you 2>'$dir/err' | grep -q '/greets ran you'"
printf 'echo no head\n' >"$dir/bin/headless"
chmod +x "$dir/bin/headless"
check 'one that only a shell knows' sh -c "'$MEMDIAG' run headless 2>'$dir/err' | grep -q 'no head'"
check 'a program becomes another' memdiag run sh -c 'exec python3 -c "x = [str(i) * 50 for i in range(99999)]"'
check 'which is counted' says '^memdiag: sh: peak [0-9.]* MiB'

# ---- what it is told ---------------------------------------------------------------------------

# The agent's own tests, with what run says to it.
tap()
{
	memdiag run -q "$@" && ! grep '^not ok' "$dir/out"
}

check 'usable bytes, exact' tap "$exact"
check 'requested bytes, exact' tap --account=requested "$exact" requested
check 'children that are followed' tap --follow-children "$top_builddir/tests/agent/fork"
check 'children that are not' tap "$top_builddir/tests/agent/fork" alone
check 'a limit' tap --limit 12000000 --on-limit=enomem "$top_builddir/tests/agent/limit"

hungry='import sys
x = []
for i in range(1000): x.append(bytes(100000))
print("full")'
check 'at the limit it ends' exits 255 memdiag run --limit 30M python3 -c "$hungry"
check 'and says so' says '^\[MEMTRACER\] alloc memory:[0-9]*, allocated_memory: [0-9]*, memory_limit: 31457280, Memory limit exceeded!$'
check 'it never had more' says 'peak \(29.[0-9]\|30.0\) MiB'
check 'or its call fails' exits 1 memdiag run --limit 30M --on-limit=enomem python3 -c "$hungry"
check 'as it is prepared for' says '^MemoryError'
check 'or it is ended by a signal' exits 143 memdiag run --limit 30M --on-limit=signal python3 -c "$hungry"
check 'or dumps core' exits 134 memdiag run --limit 30M --on-limit=abort python3 -c "$hungry"
check 'or goes on' exits 0 memdiag run --limit 30M --on-limit=report python3 -c "$hungry"
check 'to the end' grep -q full "$dir/out"
check 'and that is said once' test "$(grep -c 'exceeded! Going on' "$dir/err")" -eq 1
check 'with -v all is told' exits 1 memdiag run -v --limit 30M --on-limit=enomem python3 -c "$hungry"
check 'of the limit, too' says '^limit  *30.0 MiB, on which: enomem; [1-9][0-9]* calls were refused$'
check 'and of one that is passed' exits 0 memdiag run -v --limit 30M --on-limit=report python3 -c "$hungry"
check 'that it was' says '^limit  *30.0 MiB, on which: report; it was passed$'
check 'lines come' memdiag run --print-interval 100 sleep 0.35
check 'at once and then' test "$(grep -c '^memdiag: [0-9]* has [0-9]* bytes' "$dir/err")" -ge 3
check 'JSON' memdiag run --json -o "$dir/json" -f python3 -c 'print([0] * 3)'
cp "$dir/json" "$dir/out"
check 'has the numbers' json_is '.schema == "memdiag.run/1" and (.partial | not) and
	.data.exit_status == 0 and .data.signal == null and .data.peak_bytes >= .data.live_bytes and
	.data.blocks == .data.blocks_allocated - .data.blocks_freed and .data.max_rss_bytes > 0 and
	.data.way == "preloaded" and .data.limit == null'
check 'JSON of one that was killed' exits 137 memdiag run --limit 1G --json -o "$dir/json" -f sh -c 'kill -KILL $$'
cp "$dir/json" "$dir/out"
check 'has them, too' json_is '.data.signal == 9 and .data.exit_status == null and .data.blocks > 0 and
	.data.limit == {"bytes": 1073741824, "on_limit": "exit", "refused": 0, "passed": false}'

check 'JSON of a limit that was passed' exits 0 memdiag run --limit 30M --on-limit=report --json \
	-o "$dir/json" -f python3 -c "$hungry"
cp "$dir/json" "$dir/out"
check 'says so' json_is '.data.limit.passed and .data.limit.refused == 0'
check 'JSON of one that was refused' exits 1 memdiag run --limit 30M --on-limit=enomem --json \
	-o "$dir/json" -f python3 -c "$hungry"
cp "$dir/json" "$dir/out"
check 'says how often' json_is '.data.limit.refused > 0 and (.data.limit.passed | not)'
check 'with -q, JSON is written all the same' exits 0 memdiag run -q --json true
cp "$dir/err" "$dir/out"
check 'where a line would be' json_is '.data.program == "true" and .data.exit_status == 0'
check 'and a file' exits 0 memdiag run -q -o "$dir/quietly" true
check 'if there is one' grep -q '^memdiag: true: peak' "$dir/quietly"
check 'what it was told before is not told twice' test \
	"$(MEMDIAG_AGENT='limit=1' "$MEMDIAG" run -q env | grep -c '^MEMDIAG_AGENT=')" -eq 1

# Who reads what we say has gone before the program ends.
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
	check 'is told not to be' says '^memdiag: true: was not counted: the agent did not start in it$'
	LD_PRELOAD=$memusage check 'as JSON' exits 0 memdiag run --json -o "$dir/json" -f true
	cp "$dir/json" "$dir/out"
	check 'it is part of an answer' json_is '.partial and (.data | has("live_bytes") | not) and
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

check 'a static program' refused 'idle-static is statically linked' "$TRACEES/idle-static"
for form in i386 musl; do
	if [ -x "$TRACEES/idle-$form" ]; then
		check "a program for $form" refused "idle-$form is .*for" "$TRACEES/idle-$form"
	else
		skip "a program for $form" 'there is no compiler for it'
	fi
done
make_script static-script "$TRACEES/idle-static"
check 'a script of a static program' refused 'idle-static is statically linked' static-script
make_script script-script "$dir/bin/static-script"
check 'a script of such a script' refused 'idle-static is statically linked' script-script
if [ "$(id -u)" -eq 0 ]; then
	cp "$(command -v id)" "$dir/bin/setuid"
	chown 65534 "$dir/bin/setuid"
	chmod 4755 "$dir/bin/setuid"
	check 'a setuid program' refused 'setuid is setuid' setuid
	chmod 755 "$dir/bin/setuid"
	check 'and without that it runs' exits 0 memdiag run setuid
	chown 0:65534 "$dir/bin/setuid"
	chmod 2755 "$dir/bin/setuid"
	check 'a setgid program' refused 'setuid is setgid' setuid
else
	skip 'setuid programs' 'only root can make them'
fi
loader=$(readelf -lW "$exact" 2>/dev/null | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
if [ -n "$loader" ]; then
	check 'ld.so itself may be the program' exits 0 memdiag run "$loader" /bin/sh -c :
	check 'and what it runs is counted' says 'peak [0-9.]* KiB'
else
	skip 'ld.so itself' 'readelf is not installed'
fi
mkdir "$dir/a b"
cp "$MEMDIAG" "$AGENT" "$dir/a b"
check 'where LD_PRELOAD cannot name the agent' sh -c "'$dir/a b/memdiag' run true 2>'$dir/err'; [ \$? -eq 125 ]"
check 'that is said' says 'LD_PRELOAD cannot name'
finish
