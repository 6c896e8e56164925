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
	check "maps of three processes: maps $way" exits 0 memdiag maps $way --json
	check "maps of three processes has all of them: maps $way" json_is "[.data.processes[].pid] | $all"
done
check 'maps of three processes: the largest comes first' json_is '[.data.processes[].rss_bytes] | . == (sort | reverse)'
check 'maps of three processes: the largest is the one with the large heap' json_is ".data.processes[0].pid == $two"
check 'maps of three processes: the parts add up to RSS' json_is "[.data.processes[], .data.totals | ($parts) == .rss_bytes] | all"
check 'maps of three processes: totals are sums' json_is '.data | [.processes[].rss_bytes] as $rss | [.processes[].virt_bytes] as $virt |
	.totals.rss_bytes == ($rss | add) and .totals.virt_bytes == ($virt | add)'
check 'without --pss no PSS is reported' json_is '.data.totals | has("pss_bytes") | not'
check 'maps of three processes: VIRT is what status says' json_is "[.data.processes[] | select(.pid == $one) | .virt_bytes] ==
	[$(awk '/^VmSize/ { print $2 * 1024 }' "/proc/$one/status")]"
check 'maps of three processes: the number of mappings is that of /proc/PID/maps' json_is "[.data.processes[] | select(.pid == $one) | .mappings] ==
	[$(grep -vc vsyscall "/proc/$one/maps")]"
check 'maps of three processes with --pss' exits 0 memdiag maps "$name" --all --pss --sort=uss --json
check 'maps --pss of three processes: PSS is less than RSS, as libc is shared' json_is '.data.totals | .uss_bytes <= .pss_bytes and .pss_bytes < .rss_bytes'
check 'maps --sort=uss: processes are in that order' json_is '[.data.processes[].uss_bytes] | . == (sort | reverse)'
check 'maps --sort=count of three processes runs' exits 0 memdiag maps "$name" --all --sort=count --json
check 'maps --sort=count: processes are in that order' json_is '[.data.processes[].mappings] | . == (sort | reverse)'
check 'the only one of its name is a table, too' exits 0 memdiag maps "$(basename "$dir/$name")" --all --json
check 'memdiag -p PID,PID maps runs' exits 0 memdiag -p "$one,$two" maps --json
check 'memdiag -p PID,PID maps has two processes' json_is '.data.processes | length == 2'
check 'maps of a process and a thread of it runs' exits 0 memdiag maps "$one" "$(ls "/proc/$one/task" | tail -n 1)" --json
check 'maps of a process and a thread of it has one process' json_is "[.data.processes[].pid] == [$one]"

check 'maps -n 1 of three processes as text' exits 0 memdiag maps "$name" --all -n 1
check 'maps -n 1 of three processes: a line for the largest' grep -q "^ *$two .* $name\$" "$dir/out"
check 'maps -n 1 of three processes: no other line' sh -c "! grep -q '^ *$one ' '$dir/out'"
check 'maps -n 1 of three processes: says how many more there are' grep -q -x 'and 2 more; -n 0 shows all' "$dir/out"
check 'maps -n 1 of three processes: a line with the total' grep -q ' total$' "$dir/out"
check 'maps -n 1 of three processes: the most mappings of a process' grep -q -x \
	"Each process may have $(cat /proc/sys/vm/max_map_count) mappings (vm.max_map_count)." "$dir/out"
check 'maps --columns=dirty,thp of three processes runs' exits 0 memdiag maps "$name" --all --columns=dirty,thp --sort=dirty
check 'maps --columns=dirty,thp of three processes: columns have titles' grep -q ' DIRTY  *THP  *MAPPINGS  *NAME$' "$dir/out"
check 'the number of mappings is in the line' grep -q " $(grep -vc vsyscall "/proc/$one/maps")  $name\$" "$dir/out"
check 'maps --columns=x: a usage error' exits_saying 64 "'x' is not a column: there are pss, uss, dirty, locked and thp" \
	memdiag maps "$one" --columns=pss,x
check 'smaps is not read for thp' sh -c "strace -f -o '$dir/trace' '$MEMDIAG' maps '$one' --columns=thp >/dev/null; ! grep -q '\"smaps' '$dir/trace'"
check 'smaps is read for dirty' sh -c "strace -f -o '$dir/trace' '$MEMDIAG' maps '$one' --columns=dirty >/dev/null; grep -q '\"smaps' '$dir/trace'"
check 'maps -n 1 of three processes once more' exits 0 memdiag maps "$name" --all -n 1
check 'maps of three processes: says what the total RSS counts' grep -q 'total RSS counts a shared page once for each process' "$dir/out"
check 'maps -n 1 of three processes: the total is of all' sh -c "
	cut=\$('$MEMDIAG' maps -b '$name' --all -n 1 | awk '/ total\$/ { print \$1 }')
	[ \"\$cut\" = \"\$('$MEMDIAG' maps -b '$name' --all | awk '/ total\$/ { print \$1 }')\" ]"

check 'maps of a name that several have: a usage error' exits_saying 64 'choose one by its PID, or all of them by --all' memdiag maps "$name"
check 'maps of a name of no process: status 3' exits_saying 3 'no process called' memdiag maps no-such-name --all
check 'maps of two processes of which one has ended: partial' exits_saying 2 '4194304 is left out' memdiag maps "$one,4194304"
check 'maps of two processes of which one has ended: has the other' grep -q "^ *$one " "$dir/out"
check 'maps of two processes of which one has ended, as JSON' exits 2 memdiag maps "$one,4194304" --json
check 'maps --json of two processes of which one has ended: partial' json_is '.partial and (.warnings | length == 1) and (.data.processes | length == 1)'
check 'maps of two processes that have ended: status 3' exits_saying 3 'no process 4194304' memdiag maps 4194304 4194304
check 'maps --all of a number: a usage error' exits_saying 64 'is for the name' memdiag maps "$one" --all
for option in --by=object --range=1-2 --diff=x; do
	check "maps of two processes with $option: a usage error" exits_saying 64 'take one process' memdiag maps "$one,$two" $option
done
for pid in $one $two $three; do
	check 'the target lives on' end_tracee "$pid"
done
finish
