#!/bin/sh
# maps --format: the resident memory of a process as a profile, whose total is RSS to the byte, against smaps and pagemap read
# in another way; names that a stranger chose; a saved map; and what does not go together.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq python3 setpriv unshare

read_profile()	# read_profile decode FILE | compare PID FILE ARENA...
{
	python3 "$top_srcdir/tests/live/maps-format.py" "$@"
}

# drawn FORMAT [OPTION...]: write maps of the tracee to $dir/map.FORMAT.
drawn()
{
	local format="$1"
	shift
	rm -f "$dir/map.$format"
	memdiag maps --pid "$tracee_pid" --format="$format" -o "$dir/map.$format" -q "$@"
}

# decoded FILTER: whether it is true of $dir/map.pprof.
decoded()
{
	read_profile decode "$dir/map.pprof" >"$dir/out" && json_is "$1"
}

# total_of FILE: the sum of stacks of a folded file; nothing if a line is no stack of ours.
total_of()
{
	awk '!/^\[[^;]*\](;\[[^;]*\])* [0-9]+$/ { bad = 1; exit } { sum += $NF } END { if (!bad) printf "%.0f\n", sum }' "$1"
}

# rss_of JSON: RSS with hugetlb pages, of maps --json in $dir/out.
rss_of()
{
	jq '.data.totals | .rss_bytes + (.hugetlb_bytes // 0)' "$dir/out"
}

rollup()
{
	awk '/^Rss:/ { print $2 * 1024 }' "/proc/$tracee_pid/smaps_rollup"
}

# arenas: the addresses of its arenas where the layout is known, main arena first.
arenas()
{
	[ "$(uname -m)" = x86_64 ] || return 0
	memdiag heap --pid "$tracee_pid" --json && jq -r '.data.arenas[].address' "$dir/out"
}

# ---- a process that stands still -----------------------------------------------------------------

# is_whole: all of the tracee, in each format and by each way to count pages.
is_whole()
{
	local rss status=0 from format
	exits 0 memdiag maps --pid "$tracee_pid" --json || return
	rss=$(rss_of)
	for from in auto pagemap smaps; do
		exits 0 drawn folded --rss-from=$from && exits 0 drawn pprof --rss-from=$from || return
		[ "$(total_of "$dir/map.folded")" = "$rss" ] || {
			echo "folded by $from: $(total_of "$dir/map.folded"), not $rss"
			status=1
		}
		decoded ".totals[0] == $rss" || status=1
	done
	for format in tree flame html; do
		exits 0 drawn $format && [ -s "$dir/map.$format" ] || status=1
	done
	return $status
}

go_total()
{
	go tool pprof "$1" -unit=B -nodefraction=0 -sample_index="$2" "$dir/map.pprof" 2>"$dir/err"
}

# go_agrees: whether go tool pprof has the same total, and the names of frames as they are.
go_agrees()
{
	local rss
	rss=$(read_profile decode "$dir/map.pprof" | jq '.totals[0]')
	go_total -top resident >"$dir/out" || return
	sed -n 's/^Showing nodes accounting for \([0-9.]*\)B, 100% of \([0-9.]*\)B total$/\1 \2/p' "$dir/out" |
		awk -v rss="$rss" '$1 == rss && $2 == rss { same = 1 } END { exit !same }' || return
	grep -q ' \[glibc heap\]$' "$dir/out" && go tool pprof -raw "$dir/map.pprof" 2>"$dir/err" | grep -q '\[glibc heap\]'
}

for program in 'idle 1' 'tops 3' 'bloat 4'; do
	# shellcheck disable=SC2086 # a list of words
	start_tracee $program
	check 'its memory as a profile is RSS to the byte' is_whole
	check 'RSS is that of smaps_rollup' decoded ".totals[0] == $(rollup)"
	check 'each part is that of smaps and pagemap' read_profile compare "$tracee_pid" "$dir/map.pprof"
	check 'by address again' exits 0 drawn pprof
	# shellcheck disable=SC2046 # a list of words
	check 'the tops of its arenas are those in its memory' read_profile compare "$tracee_pid" "$dir/map.pprof" $(arenas)
	[ "${program% *}" != tops ] || check 'the threads of tops have left much at the tops' decoded \
		'[.samples[] | select(.stack[3] == "[free: top]") | .values[0]] | length >= 2 and add > 4000000'
	check 'types, the first of which is shown first' decoded \
		'.types == [["resident", "bytes"], ["swap", "bytes"]] and .default == ["resident"]'
	check 'comments name memdiag, the process and the unit' decoded ".comments | (.[0] | test(\"^memdiag .* maps\$\")) and
		(.[1] == \"process $tracee_pid, ${program% *}\") and any(test(\"resident bytes\"))"
	check 'report has the same total' sh -c "
		[ \"\$('$MEMDIAG' report '$dir/map.pprof' --json | jq .data.total)\" = \"\$('$MEMDIAG' maps '$tracee_pid' --json | jq '.data.totals | .rss_bytes + (.hugetlb_bytes // 0)')\" ]"
	if command -v go >/dev/null; then
		check 'go tool pprof has the same total and names' go_agrees
	else
		skip 'go tool pprof' 'go is not installed'
	fi
	check 'the target lives on' end_tracee
done

# ---- without the right to count pages by address, or to read memory ------------------------------

start_tracee idle
check 'by smaps the top of an arena is not known' exits 0 drawn folded --rss-from=smaps
check 'by smaps it is one with the chunks' grep -q '\[main arena\];\[chunks and top\] ' "$dir/map.folded"
check 'by address it is separate' exits 0 drawn folded
check 'by address there are chunks' grep -q '\[main arena\];\[chunks\] ' "$dir/map.folded"
cp "$MEMDIAG" "$dir/memdiag"
as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
# shellcheck disable=SC2086 # a list of words
check 'a process whose mappings may not be read is an error' exits_saying 4 'CAP_SYS_PTRACE is missing' captured \
	$as_nobody "$dir/memdiag" maps "$tracee_pid" --format=folded
check 'nothing was written' test ! -s "$dir/out"
if command -v script >/dev/null; then
	check 'no terminal gets compressed data' exits 64 captured script -qec "'$MEMDIAG' maps $tracee_pid --format=pprof" /dev/null
	check 'the error names -o' grep -q 'will not write compressed data to a terminal; use -o FILE' "$dir/out"
else
	skip 'no terminal gets compressed data' 'script is not installed'
fi
check 'the target lives on' end_tracee

# ---- names that a stranger chose -----------------------------------------------------------------

cat >"$dir/hostile.py" <<'PROGRAM'
import ctypes, mmap, os, sys, threading

libc = ctypes.CDLL(None)
path = os.path.join(sys.argv[1], "a;b (x) <y>\n\x1b[31m" + "z" * 200)
with open(path, "wb") as file:
    file.write(b"x" * 65536)
with open(path, "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 65536)
    sum(mapped[i] for i in range(0, 65536, 4096))
ready = threading.Event()


def sleeper():
    libc.prctl(15, b"m;(l)<o>\n\x1b[c", 0, 0, 0)
    ready.set()
    forever.wait()


forever = threading.Event()
thread = threading.Thread(target=sleeper)
thread.start()
ready.wait()
libc.prctl(15, b"p;(q)<r> 1\n", 0, 0, 0)
print("ready", flush=True)
sys.stdin.read()
forever.set()
thread.join()
print("alive", flush=True)
PROGRAM
start_command python3 "$dir/hostile.py" "$dir"
check 'hostile names: the profile' exits 0 drawn pprof
check 'hostile names: the parts are those of smaps, each frame a name in brackets' read_profile compare "$tracee_pid" "$dir/map.pprof"
check 'hostile names: the root' decoded '[.samples[].stack[0]] | unique == ["[p;[q][r] 1\\012]"]'
check 'hostile names: the thread' decoded '[.samples[] | select(.stack[2] == "[thread stacks]" or .stack[1] == "[stack]") | .stack[3]] |
	index("[m;[l][o]\\012\\033[c]") != null'
check 'hostile names: the thread is a label as it is' decoded '[.samples[].labels.thread] | index("m;(l)<o>\\012\\033[c") != null'
check 'hostile names: the file' decoded '[.samples[].stack[3] // empty | select(test("/a;b \\[x\\] \\[y\\]"))] | length == 1'
check 'hostile names: long ones are cut' decoded '[.samples[].stack[] | length] | max <= 255'
check 'hostile names: folded' exits 0 drawn folded
check 'hostile names: folded has a line for each stack, and RSS' sh -c "[ \"$(total_of "$dir/map.folded")\" = '$(rollup)' ]"
check 'hostile names: nothing for a terminal' sh -c "! grep -q '[[:cntrl:]]' '$dir/map.folded'"
check 'hostile names: flame' exits 0 drawn flame
check 'hostile names: the picture is XML' python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$dir/map.flame"
check 'the target lives on' end_tracee

# ---- a saved map ---------------------------------------------------------------------------------

# sum_of FIELD FILE: in bytes, by awk.
sum_of()
{
	awk -v field="$1:" '/^[0-9a-f]+-[0-9a-f]+ / { is = $6 != "[vsyscall]" } is && $1 == field { sum += $2 }
		END { printf "%.0f", sum * 1024 }' "$2"
}

# from_file FILE: its profile has the sums of awk.
from_file()
{
	rm -f "$dir/map.pprof"
	exits 0 memdiag maps --from "$1" --format=pprof -o "$dir/map.pprof" &&
		decoded ".totals == [$(sum_of Rss "$1"), $(sum_of Swap "$1")]"
}
for server in redis nginx mariadb; do
	sed 's/^Swap:  *0 kB/Swap: 12 kB/' "$top_srcdir/tests/data/map_file/$server.smaps" >"$dir/$server.smaps"
	check "the smaps of $server, with swap" from_file "$dir/$server.smaps"
	check "the root of $server is its file" decoded "[.samples[].stack[0]] | unique == [\"[$server.smaps]\"]"
	check "report shows the swap of $server" sh -c "
		'$MEMDIAG' report '$dir/map.pprof' --value swap --json | jq -e '.data.total == $(sum_of Swap "$dir/$server.smaps")'"
done
grep -v '^Swap:' "$dir/nginx.smaps" >"$dir/swapless"
check 'smaps without swap' exits 0 memdiag maps --from "$dir/swapless" --format=pprof --force -o "$dir/map.pprof"
check 'smaps without swap: the profile has RSS alone' decoded '.types == [["resident", "bytes"]]'
check 'a saved maps has no RSS' exits_saying 5 'pages were not counted: .*has no RSS' memdiag maps --from /proc/self/maps --format=folded

# ---- what does not go together -------------------------------------------------------------------

start_tracee idle
for option in --at=1000 --by=object --sort=virt --class=heap --object=x --range=1000-2000 --pss --columns=thp --diff=x; do
	check "--format=pprof and $option" exits_saying 64 'shows all of RSS by class' memdiag maps "$tracee_pid" --format=pprof "$option"
done
check '--format and --json' exits_saying 64 'one format at a time' memdiag maps "$tracee_pid" --format=flame --json
check '--format and several processes' exits_saying 64 '--format=folded takes one process' memdiag maps "$tracee_pid" 1 --format=folded
check '--format and no RSS' exits_saying 64 '--rss-from=none does not count' memdiag maps "$tracee_pid" --format=flame --rss-from=none
for format in graph dot heap; do
	check "--format=$format" exits_saying 64 'shows calls' memdiag maps "$tracee_pid" --format=$format
done
check 'an unknown format' exits_saying 64 'not one of the formats' memdiag maps "$tracee_pid" --format=x
check '--format=json is --json' exits 0 memdiag maps "$tracee_pid" --format=json --by=object
check '--format=json has it by object' json_is '.schema == "memdiag.maps/1" and .data.by == "object"'
check '--format=text is the table' exits 0 memdiag maps "$tracee_pid" --format=text --sort=virt
check '--format=text has a total' grep -q '^total ' "$dir/out"
check 'the target lives on' end_tracee
finish
