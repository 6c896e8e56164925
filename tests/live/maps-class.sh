#!/bin/sh
# maps --class, --object and --range: a part of an address space, in every view.
. "$top_srcdir/tests/live/lib.sh"
need jq
start_tracee bloat 4
pid=$tracee_pid

check 'maps without a filter runs' exits 0 memdiag maps "$pid" --json
check 'maps without a filter: what is shown is the total' json_is '.data.filter == null and .data.shown.rss_bytes == .data.totals.rss_bytes'
heap=$(json '.data.groups[] | select(.name == "heap") | .rss_bytes')
arenas=$(json '.data.groups[].parts[]? | select(.name == "thread arenas") | .rss_bytes')
stack=$(json '.data.groups[] | select(.name == "stack") | .rss_bytes')
for by in class object arena thread; do
	check "--class heap --by=$by" exits 0 memdiag maps "$pid" --class heap --by=$by --json
	check "--class heap --by=$by is the heap alone" json_is "(.data.groups | map(.rss_bytes) | add) == $heap and
		.data.shown.rss_bytes == $heap and .data.totals.rss_bytes > $heap and .data.filter.classes == [\"heap\"]"
done
check '--class heap by mapping' exits 0 memdiag maps "$pid" --class heap --by=mapping --json
check '--class heap --by=mapping is the heap, mapping by mapping' json_is ".data.mappings | all(.class == \"heap\") and (map(.rss_bytes) | add) == $heap"
check '--class heap --class=stack runs' exits 0 memdiag maps "$pid" --class heap --class=stack --json
check '--class heap --class=stack is both' json_is ".data.shown.rss_bytes == $heap + $stack and ([.data.groups[].name] | sort) == [\"heap\", \"stack\"]"
check '--class of a part of a class runs' exits 0 memdiag maps "$pid" --class 'thread arenas' --json
check '--class of a part of a class is that part' json_is ".data.shown.rss_bytes == $arenas"
check '--class of a part as the table has it runs' exits 0 memdiag maps "$pid" --class 'anon mappings under 1 MiB'

# libc.so.6, or before 2.34 libc-2.31.so and the like.
libc=$(sed -n 's,.*/\(libc[.-][^/]*\)$,\1,p' "/proc/$pid/maps" | head -n 1)
check '--class of a class of the user runs' exits 0 memdiag maps "$pid" --class mine --class "mine=*/$libc" --by=mapping --json
check '--class of a class of the user is what matches' json_is \
	".data.mappings | length > 2 and all(.class == \"mine\" and (.path | endswith(\"/$libc\")))"
check 'a class of the user --by=mapping runs' exits 0 memdiag maps "$pid" --class "mine=*/$libc" --by=mapping
check 'a class of the user --by=mapping has its name in the table' grep -q " mine  *.*/$libc" "$dir/out"
check '--class of a class whose file is in another one runs' exits 0 memdiag maps "$pid" --class .so --class "mine=*/$libc" --by=mapping --json
check '--class of a class whose file is in another one is without that file' json_is '.data.mappings | length > 2 and all(.path // "" | test("/libc[.-][^/]*$") | not)'
check '--class of an unknown class: a usage error' exits_saying 64 \
	"'heep' is not a class: there are stack, heap, exe, .so, file, shm, anon, reserve, kernel, their parts" memdiag maps "$pid" --class heep
check '--class of a class without memory runs' exits 0 memdiag maps "$pid" --class shm
check '--class of a class without memory is an empty table' grep -q '^total *0 B *0 B' "$dir/out"

for object in "$libc" 'libc[.-]*' "*/$libc"; do
	check "--object $object" exits 0 memdiag maps "$pid" --object "$object" --by=object --json
	check "--object $object is libc alone" json_is ".data.groups | length == 1 and (.[0].name | endswith(\"/$libc\"))"
done
check '--object of libc by class runs' exits 0 memdiag maps "$pid" --object "$libc" --json
check '--object of libc by class is .so' json_is '[.data.groups[].name] == [".so"]'
check '--object and --class run' exits 0 memdiag maps "$pid" --object "$libc" --class '.so text' --json
check '--object and --class are what is both' json_is '.data.shown.count == 1'
check '--object of an object that is missing: status 1' exits_saying 1 "$pid has no object called 'none.so'; --by=object lists them" \
	memdiag maps "$pid" --object none.so

# The [heap] line, and two pages in it.
line=$(sed -n 's/ .*\[heap\]$//p' "/proc/$pid/maps")
start=0x${line%-*}
check '--range of a mapping runs' exits 0 memdiag maps "$pid" --range "$line" --json
check '--range of a mapping is that mapping' json_is ".data.shown | .virt_bytes == $((0x${line#*-} - start)) and
	.rss_bytes == $(awk '/^[0-9a-f]*-/ { is = /\[heap\]/ } is && $1 == "Rss:" { print $2 * 1024 }' "/proc/$pid/smaps")"
two=$(printf '%x-%#x' $((start + 1)) $((start + 4096 + 1)))
check '--range within a mapping runs' exits 0 memdiag maps "$pid" --range "$two" --by=mapping --json
check '--range within a mapping is whole pages' json_is "[.data.mappings[].start, .data.mappings[].end] ==
	[\"$start\", \"$(printf '%#x' $((start + 8192)))\"] and .data.shown.rss_bytes == 8192"
check '--range: the totals are those of the whole process' json_is "$all_same"
check '--range of unmapped memory: status 1' exits_saying 1 "nothing of $pid is mapped within 1000-2000" memdiag maps "$pid" --range 1000-2000
for range in '' 1 1- -1 2000-1000 1000-1000 g-h 1000-2000-3000 ' 1-2'; do
	check "--range '$range': a usage error" exits_saying 64 'is not a range' memdiag maps "$pid" "--range=$range"
done

check '--class, --object and --range as text' exits 0 memdiag maps "$pid" --class heap --class stack --object '*' --range 0-ffffffffffff
check '--class, --object and --range as text: what is shown' grep -q -x 'Only heap, stack in objects called \* within 0-1000000000000:' "$dir/out"
check 'maps without a filter as text' exits 0 memdiag maps "$pid"
check 'maps without a filter as text has no such line' sh -c "! grep '^Only ' '$dir/out'"

# ---- several processes ----
check '--class heap of two processes runs' exits 0 memdiag maps "$pid" $$ --class heap --json
check '--class heap of two processes is the heap of each' json_is "([.data.processes[] | select(.pid == $pid) | .rss_bytes] == [$heap]) and
	(.data.processes | all(.rss_bytes == .heap_rss_bytes)) and .data.filter.classes == [\"heap\"]"
check '--class heap of two processes as text' exits 0 memdiag maps "$pid" $$ --class heap
check '--class heap of two processes as text: what is shown' grep -q -x 'Only heap:' "$dir/out"
check '--class NAME=GLOB alone of two processes: a usage error' exits_saying 64 'choose NAME of --class' memdiag maps "$pid" $$ --class 'x=y'
check '--range of two processes: a usage error' exits_saying 64 'take one process' memdiag maps "$pid" $$ --range 1-2
check '--at and --class: a usage error' exits_saying 64 'looks at one address' memdiag maps "$pid" --at 1 --class heap

# ---- what grew ----
check '--class heap --json -o FILE saves an output' exits 0 memdiag maps "$pid" --class heap --json -o "$dir/then.json"
check '--diff of a class with itself runs' exits 0 memdiag maps "$pid" --class heap --diff "$dir/then.json" --json
check '--diff of a class with itself: nothing has changed' json_is '.data.changes | length > 0 and all(.rss_bytes == 0)'
check '--diff of the whole with a class: a usage error' exits_saying 64 'was saved with other --class' memdiag maps "$pid" --diff "$dir/then.json"
check 'maps --json -o FILE saves the whole' exits 0 memdiag maps "$pid" --json -o "$dir/whole.json"
check '--diff of a class with the whole: a usage error' exits_saying 64 'was saved with other --class' memdiag maps "$pid" --class heap --diff "$dir/whole.json"
check 'memdiag diff of the whole and a class: status 1' exits_saying 1 'saved with different --class' memdiag diff "$dir/whole.json" "$dir/then.json"
check 'the target lives on' end_tracee
finish
