#!/bin/sh
# Files that commands read when no process is there: what does not come, and what is small and becomes large.  Both end
# with a message, and memory has a ceiling that the kernel enforces.
# shellcheck disable=SC3043,SC3045 # every sh we know has local and ulimit -S
deadline=600
. "$top_srcdir/tests/live/lib.sh"
need gzip objcopy jq

# ---- files that do not come -------------------------------------------------------------------

mkfifo "$dir/fifo"
printf 'heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x1234\n' >"$dir/plain.heap"
for command in 'report FIFO' 'report PLAIN --base FIFO' 'record report FIFO' 'record report PLAIN --since FIFO' \
	'timeline FIFO' 'diff FIFO FIFO'; do
	words=$(echo "$command" | sed "s|FIFO|$dir/fifo|g; s|PLAIN|$dir/plain.heap|")
	# shellcheck disable=SC2086 # words
	check "$command: --timeout ends it" exits_saying 1 'gave up, --timeout has passed' memdiag $words --timeout=100ms
done
check 'report: standard input that does not come' exits_saying 1 'gave up' memdiag report - --timeout=100ms 0<>"$dir/fifo"

# start_waiting ARGUMENTS...: sets $waiting to a memdiag that waits for the FIFO.
start_waiting()
{
	"$MEMDIAG" "$@" >"$dir/out" 2>"$dir/err" &
	waiting=$!
	started="$started $waiting"
	eventually grep -q '^Max data size *[0-9]' "/proc/$waiting/limits"
}

# limit: sets $limit to the most data that it may have, and $used to what it has.
limit()
{
	limit=$(sed -n 's/^Max data size *\([0-9]*\) .*/\1/p' "/proc/$waiting/limits")
	read -r _ _ _ _ _ used _ <"/proc/$waiting/statm"
	used=$((used * $(getconf PAGESIZE)))
}

has_limit()
{
	limit
	echo "limit $limit, used $used, wanted $1 to $2"
	[ "$limit" -ge "$1" ] && [ "$limit" -le $(($2 + used)) ]
}

ended_by()
{
	kill "-$1" "$waiting" && exits "$2" wait "$waiting"
}

machine=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
mib=1048576
for command in report 'record report' timeline "diff $dir/fifo"; do
	# shellcheck disable=SC2086 # words
	start_waiting $command "$dir/fifo" --max-memory=64M
	command=${command%% /*}
	check "$command: --max-memory is a limit of the kernel's" has_limit $((64 * mib)) $((64 * mib))
	check "$command: the OOM killer takes memdiag first" grep -q -x 1000 "/proc/$waiting/oom_score_adj"
	check "$command: SIGTERM ends it" ended_by TERM 143
done
start_waiting report "$dir/fifo"
check 'report: at most half of the machine without --max-memory' has_limit $((64 * mib)) $((machine * 512))
check 'report: SIGTERM ends it then, too' ended_by TERM 143

# ---- files that become large ------------------------------------------------------------------

# refused FILE WORDS COMMAND ARGUMENTS...: it names FILE, WORDS, what is the most, and the option.
refused()
{
	local file="$1" words="$2"
	shift 2
	exits_saying 1 "cannot .*$file.*$words.*Cannot allocate memory. memdiag takes 64.0 MiB at most; --max-memory" \
		memdiag "$@" --max-memory=64M --timeout=300s
}

head -c 134217728 /dev/zero | gzip -1 >"$dir/zeros.gz"
check 'report: gzip' refused zeros.gz 'of its .* KiB are 32.0 MiB uncompressed' report "$dir/zeros.gz"
check 'report --base: gzip' refused zeros.gz uncompressed report "$dir/plain.heap" --base "$dir/zeros.gz"
# A type of values, and empty samples, which take two bytes each.
{ printf '2\0' && yes "$(printf '\022')" | head -c 8000000 | tr '\n' '\0'; } >"$dir/samples.pb"
check 'report: messages of protobuf' refused samples.pb 'its 7.6 MiB are .* MiB unpacked' report "$dir/samples.pb"
truncate -s 1G "$dir/sparse"
check 'report: a large file' refused sparse 'which has 1.0 GiB' report "$dir/sparse"
check 'report: an endless pipe' refused 'standard input' 'too many bytes' report - </dev/zero
filler=$(printf '%071d' 0)
{ printf 'v 10400 3\nX x\nI 1000 10\n' && seq 100000000 100600000 | sed "s/.*/s 50 &$filler/"; } | gzip -1 >"$dir/strings.gz"
check 'timeline: strings of heaptrack' refused strings.gz '' timeline "$dir/strings.gz"
check 'report: the same' refused strings.gz '' report "$dir/strings.gz"
if command -v zstd >/dev/null && grep -q '^#define HAVE_ZSTD 1' "$top_builddir/config.h"; then
	{ printf 'v 10400 3\nX x\nI 1000 10\n' && head -c 134217728 /dev/zero; } | zstd -q --ultra --long=27 >"$dir/window.zst"
	check 'timeline: the window of zstd, not called damaged' refused window.zst '' timeline "$dir/window.zst"
else
	skip 'timeline: the window of zstd, not called damaged' 'no zstd'
fi
{ printf '{"a": [1' && seq 1000000 | sed 's/^/,"/; s/$/"/' && printf ']}'; } >"$dir/large.json"
check 'diff: JSON' refused large.json '' diff "$dir/large.json" "$dir/large.json"
check 'maps --diff: JSON' refused large.json '' maps --pid $$ --diff "$dir/large.json"

# ---- programs and their debug information -----------------------------------------------------

# profile_of FILE: a profile of 100 bytes by a function of it.
profile_of()
{
	printf 'heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x%x\n\nMAPPED_LIBRARIES:\n%s\n' \
		$((0x400000 + function + 4)) "00400000-00500000 r-xp 00000000 00:00 0 $1" >"$dir/of.heap"
}

# warned FILE: a report of it with too little memory has the bytes, and warns of names.
warned()
{
	profile_of "$1"
	exits_saying 0 "$1 needs more memory than memdiag may take (--max-memory)" \
		memdiag report "$dir/of.heap" --json --max-memory=64M --timeout=300s || return
	json_is '.data.total == 100'
}

# named FILE: a report of it with enough memory names the function.
named()
{
	profile_of "$1"
	exits 0 memdiag report "$dir/of.heap" --max-memory=64M --timeout=300s && grep -q -w main "$dir/out" && [ ! -s "$dir/err" ]
}

cp "$TRACEES/idle" "$dir/program"
function=0x$(nm "$dir/program" | sed -n 's/ T main$//p')
check 'a program: its name is found with 64 MiB' named "$dir/program"
head -c 134217728 /dev/zero >"$dir/zeros"
{ cat "$dir/program" && cat "$dir/zeros"; } | gzip -1 >"$dir/program.gz"
check 'a program that is compressed' warned "$dir/program.gz"
objcopy --remove-section .debug_str --add-section .debug_str="$dir/zeros" "$dir/program" "$dir/large"
objcopy --compress-debug-sections=zlib "$dir/large" "$dir/sections"
rm "$dir/large"
check 'compressed debug sections' warned "$dir/sections"
if command -v xz >/dev/null; then
	xz -1 <"$dir/zeros" >"$dir/zeros.xz"
	objcopy --strip-all "$dir/program" "$dir/stripped"
	objcopy --add-section .gnu_debugdata="$dir/zeros.xz" "$dir/stripped" "$dir/minidebug"
	check '.gnu_debugdata' warned "$dir/minidebug"
else
	skip '.gnu_debugdata' 'xz is not installed'
fi
rm "$dir/zeros"
if [ "$(id -u)" -eq 0 ]; then
	cp "$dir/program" "$dir/theirs"
	truncate -s 1G "$dir/theirs"
	chown 65534 "$dir/theirs"
	check 'a large file that another user can change, which is copied' warned "$dir/theirs"
else
	skip 'a large file that another user can change, which is copied' 'only root can be different users'
fi
# libdw ends the program without memory, or asserts that there is some.
{
	printf 'heap profile: 1: 100 [1: 100] @ heapprofile\n'
	nm "$MEMDIAG" | sed -n 's/ [tT] .*//p' | while read -r at; do
		printf '1: 100 [1: 100] @ 0x%x\n' $((0x400000 + 0x$at + 4))
	done
	printf '\nMAPPED_LIBRARIES:\n00400000-00f00000 r-xp 00000000 00:00 0 %s\n' "$MEMDIAG"
} >"$dir/self.heap"

# ends_well: for any limit that the shell sets, report ends with its answer or an error of its own.
ends_well()
{
	local kib
	for kib in $(seq 13500 100 16500) $(seq 17000 1000 28000); do
		(ulimit -S -d "$kib" && exits '0 1' memdiag report "$dir/self.heap" --by=line --timeout=300s) || return
		[ -s "$dir/out" ] || grep -q -e --max-memory "$dir/err" || {
			cat "$dir/err"
			return 1
		}
	done
}
if grep -q 'fsanitize' "$top_builddir/config.log"; then
	skip 'libdw without memory' 'a sanitizer has terabytes of data itself'
else
	check 'libdw without memory' ends_well
fi

# ---- the option -------------------------------------------------------------------------------

check '--max-memory: too little' exits_saying 64 'is too little memory' memdiag report "$dir/plain.heap" --max-memory=1M
check '--max-memory: not a size' exits_saying 64 'is not a size' memdiag report "$dir/plain.heap" --max-memory=much
check 'heap: it is for --core' exits_saying 64 'is for --core' memdiag heap $$ --max-memory=64M
check 'maps: it is for --diff' exits_saying 64 'is for --diff' memdiag maps $$ --max-memory=64M
finish
