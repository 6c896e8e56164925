#!/bin/sh
# report --peek: callers and callees with the values of the folded stacks; and --format=speedscope and firefox, which have them,
# too.
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need python3 jq
data=$top_srcdir/tests/data
oracle=$top_srcdir/tests/live/report-peek.py

# An older profile of the same process: some stacks have grown since, others have shrunk.
sed -e 's/^#+ 1 112 4 400 3 300 4 400 1 100/#+ 1 112 9 900 7 700 9 900 2 200/' -e '/^#+ 2 112/d' -e '/^ .*0x401055/d' \
	"$data/report_heap/ours.heap" >"$dir/older.heap"

reports()
{
	exits '0 2' memdiag report "$@"
}

# peeks FILE OPTIONS...: every function of FILE has the callers and callees that its folded stacks have.
peeks()
{
	reports "$@" --format=folded -o "$dir/folded" --force && reports "$@" --format=peek -b -n 0 &&
		python3 "$oracle" peek "$dir/folded" <"$dir/out"
}

# viewer FORMAT FILE OPTIONS...: FORMAT has the stacks and values of each type.
viewer()
{
	viewer=$1
	shift
	reports "$@" --format="$viewer" -o "$dir/viewer.json" --force && reports "$@" --json -n 0 &&
		cp "$dir/out" "$dir/rows.json" || return
	for type in $(jq -r '.data.types[].name' "$dir/rows.json"); do
		reports "$@" --value="$type" --format=folded -o "$dir/folded" --force &&
			python3 "$oracle" "$viewer" "$dir/folded" "$dir/viewer.json" "$type" "$dir/rows.json" || return
	done
}

for file in report_heap/ours.heap report_heap/symbols.heap report_heap/jemalloc-threads.heap report_pprof/go-1.19.pb.gz \
	report_heaptrack/version-3.txt; do
	check "peek of $file" peeks "$data/$file"
	check "peek of $file by lines" peeks "$data/$file" --by=line
	check "speedscope of $file" viewer speedscope "$data/$file"
	check "firefox of $file" viewer firefox "$data/$file"
	check "firefox of $file by lines" viewer firefox "$data/$file" --by=line
done
# Profiles made at random.  MEMDIAG_TEST_SEEDS="FIRST LAST" tries others.
seeds=${MEMDIAG_TEST_SEEDS:-1 $(some 5)}
for seed in $(seq "${seeds% *}" "${seeds#* }"); do
	check "profile $seed is made" python3 "$top_srcdir/tests/live/report-oracle.py" "$MEMDIAG" "$dir" "$seed"
	check "speedscope of profile $seed" viewer speedscope "$dir/own.heap"
	check "firefox of profile $seed" viewer firefox "$dir/own.heap"
	check "peek of profile $seed" peeks "$dir/own.heap"
done
# The disk is full in the middle of the text.
awk 'BEGIN {
	print "heap profile: 5000: 500000 [5000: 500000] @ heapprofile"
	for (i = 1; i <= 5000; i++)
		printf "1: 100 [1: 100] @ 0x%x 0x%x\n", 4194304 + 16 * i, 8388608 + 16 * i
}' >"$dir/large.heap"
for format in speedscope firefox html peek; do
	check "--format=$format on a full disk says so" sh -c '"$1" report "$2" -b -n 0 --format="$3" >/dev/full 2>"$4/err"; [ $? -eq 1 ] &&
		grep -q "No space left" "$4/err" && ! grep -q "allocate" "$4/err"' - "$MEMDIAG" "$dir/large.heap" "$format" "$dir"
done
check 'peek of a difference' peeks "$data/report_heap/ours.heap" --base "$dir/older.heap"

# Functions that call each other: a stack counts once for each pair.
sed -e '/^#+/d' -e '/^ .*@ 0x401055/d' -e 's/@ 0x401011 .*/@ 0x401011 0x401022 0x401011 0x401022 0x401011 0x401033/' \
	-e 's/@ 0x401066 .*/@ 0x401022 0x401022 0x401033/' "$data/report_heap/ours.heap" >"$dir/recursive.heap"
check 'peek of functions that call each other' peeks "$dir/recursive.heap"
check '--peek alone is enough' reports "$dir/recursive.heap" --peek='^main$' -b
check '--peek shows what matches, and nothing else' sh -c '[ "$(grep -c "^ *[0-9].*%" "$1/out")" -ge 1 ] && ! grep -q -e "^ *[0-9].* outer$" "$1/out"' - "$dir"
check '--peek of nothing' exits 1 memdiag report "$dir/recursive.heap" --peek=nosuchfunction
check '--peek of nothing says so' says "no function matches 'nosuchfunction'"
check '--peek needs an expression' exits 64 memdiag report "$dir/recursive.heap" --peek='('
check '--peek of what is no expression says so' says 'not a regular expression'
check '--peek with another format' exits 64 memdiag report "$dir/recursive.heap" --peek=main --format=tree
check '--peek with another format says so' says 'option of --format=peek'
check '--source with another format' exits 64 memdiag report "$dir/recursive.heap" --source=/tmp --format=tree
check '--source with another format says so' says 'option of --format=html'
check 'firefox of a difference' viewer firefox "$data/report_heap/ours.heap" --base "$dir/older.heap"
check 'firefox of nothing' viewer firefox "$data/report_heap/ours.heap" --focus=nosuchfunction
check 'speedscope of a difference is refused' exits 5 memdiag report "$data/report_heap/ours.heap" --format=speedscope \
	--base "$dir/older.heap" --value=allocated
check 'speedscope of a difference says what can show it' says 'format=html can'
finish
