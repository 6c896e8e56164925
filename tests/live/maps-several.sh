#!/bin/sh
# maps of several processes: a line for each, and their total.
. "$top_srcdir/tests/live/lib.sh"
need jq strace

name=md-$$-many
cp "$TRACEES/idle" "$dir/$name"
start_command "$dir/$name" 1
one=$tracee_pid
start_command "$dir/$name" 4 20000000
two=$tracee_pid
start_command "$dir/$name" 2 5000000
three=$tracee_pid

all="sort == ([$one, $two, $three] | sort)"
parts='.stack_rss_bytes + .heap_rss_bytes + .files_rss_bytes + .anon_rss_bytes + .shm_rss_bytes'
for way in "-p $one,$two,$three" "-p $one -p $two -p $three" "$one $two $three $two" "-p $name --all" "$name --all -p $one"; do
	# shellcheck disable=SC2086 # several words
	check "$way" exits 0 memdiag maps $way --json
	check 'are three processes' json_is "[.data.processes[].pid] | $all"
done
check 'the largest comes first' json_is '[.data.processes[].rss_bytes] | . == (sort | reverse)'
check 'which is the one with the large heap' json_is ".data.processes[0].pid == $two"
check 'the parts add up to RSS' json_is "[.data.processes[], .data.totals | ($parts) == .rss_bytes] | all"
check 'totals are sums' json_is '.data | [.processes[].rss_bytes] as $rss | [.processes[].virt_bytes] as $virt |
	.totals.rss_bytes == ($rss | add) and .totals.virt_bytes == ($virt | add)'
check 'without --pss no PSS is reported' json_is '.data.totals | has("pss_bytes") | not'
check 'VIRT is what status says' json_is "[.data.processes[] | select(.pid == $one) | .virt_bytes] ==
	[$(awk '/^VmSize/ { print $2 * 1024 }' "/proc/$one/status")]"
check 'the number of mappings, too' json_is "[.data.processes[] | select(.pid == $one) | .mappings] ==
	[$(grep -vc vsyscall "/proc/$one/maps")]"
check 'with PSS' exits 0 memdiag maps "$name" --all --pss --sort=uss --json
check 'which is less than RSS, as libc is shared' json_is '.data.totals | .uss_bytes <= .pss_bytes and .pss_bytes < .rss_bytes'
check 'sorted by USS' json_is '[.data.processes[].uss_bytes] | . == (sort | reverse)'
check 'sorted by mappings' exits 0 memdiag maps "$name" --all --sort=count --json
check 'in that order' json_is '[.data.processes[].mappings] | . == (sort | reverse)'
check 'the only one of its name is a table, too' exits 0 memdiag maps "$(basename "$dir/$name")" --all --json
check 'before the command' exits 0 memdiag -p "$one,$two" maps --json
check 'are two' json_is '.data.processes | length == 2'
check 'a thread and its process' exits 0 memdiag maps "$one" "$(ls "/proc/$one/task" | tail -n 1)" --json
check 'are one' json_is "[.data.processes[].pid] == [$one]"

check 'as text' exits 0 memdiag maps "$name" --all -n 1
check 'one line' grep -q "^ *$two .* $name\$" "$dir/out"
check 'and no other' sh -c "! grep -q '^ *$one ' '$dir/out'"
check 'which is said' grep -q -x 'and 2 more; -n 0 shows all' "$dir/out"
check 'with a total' grep -q ' total$' "$dir/out"
check 'and the most mappings of a process' grep -q -x \
	"Each process may have $(cat /proc/sys/vm/max_map_count) mappings (vm.max_map_count)." "$dir/out"
check 'more columns' exits 0 memdiag maps "$name" --all --columns=dirty,thp --sort=dirty
check 'have titles' grep -q ' DIRTY  *THP  *MAPPINGS  *NAME$' "$dir/out"
check 'the number of mappings is in the line' grep -q " $(grep -vc vsyscall "/proc/$one/maps")  $name\$" "$dir/out"
check 'an unknown column' exits_saying 64 "'x' is not a column: there are pss, uss, dirty, locked and thp" \
	memdiag maps "$one" --columns=pss,x
check 'smaps is not read for thp' sh -c "strace -f -o '$dir/trace' '$MEMDIAG' maps '$one' --columns=thp >/dev/null; ! grep -q '\"smaps' '$dir/trace'"
check 'it is for dirty' sh -c "strace -f -o '$dir/trace' '$MEMDIAG' maps '$one' --columns=dirty >/dev/null; grep -q '\"smaps' '$dir/trace'"
check 'as text' exits 0 memdiag maps "$name" --all -n 1
check 'and what it counts' grep -q 'total RSS counts a shared page once for each process' "$dir/out"
check 'a total is of all' sh -c "
	cut=\$('$MEMDIAG' maps -b '$name' --all -n 1 | awk '/ total\$/ { print \$1 }')
	[ \"\$cut\" = \"\$('$MEMDIAG' maps -b '$name' --all | awk '/ total\$/ { print \$1 }')\" ]"

check 'a name that several have' exits_saying 64 'choose one by its PID, or all of them by --all' memdiag maps "$name"
check 'a name of no process' exits_saying 3 'no process called' memdiag maps no-such-name --all
check 'one process has ended' exits_saying 2 '4194304 is left out' memdiag maps "$one,4194304"
check 'but not the other' grep -q "^ *$one " "$dir/out"
check 'as JSON' exits 2 memdiag maps "$one,4194304" --json
check 'it is partial' json_is '.partial and (.warnings | length == 1) and (.data.processes | length == 1)'
check 'all have ended' exits_saying 3 'no process 4194304' memdiag maps 4194304 4194304
check '--all of a number' exits_saying 64 'is for the name' memdiag maps "$one" --all
for option in --by=object --range=1-2 --diff=x; do
	check "$option" exits_saying 64 'take one process' memdiag maps "$one,$two" $option
done
for pid in $one $two $three; do
	check 'the target lives on' end_tracee "$pid"
done
finish
