#!/bin/sh
# types on a program in C++ that says how many objects of each class it has, stripped and not, on its core file, and on
# Python.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
need g++

budget='--max-stop 300s'

# build OPTIONS...: the program of classes.cc.
build()
{
	g++ -O1 -std=c++17 -I"$top_srcdir/tests/tracees" "$@" -o "$dir/classes" "$top_srcdir/tests/tracees/classes.cc"
}

# blocks EVIDENCE NAME: in how many blocks the types are whose names begin so.
blocks()
{
	jq --arg by "$1" --arg name "$2" '[.data.types[] | select(.evidence == $by and (.name | startswith($name))) |
		.blocks] | add // 0' "$dir/out"
}

# all_classes: whether each class is in as many blocks as the program says.
all_classes()
{
	local what nr name bad=0
	while read -r what nr name; do
		case $what in
		class) [ "$(blocks rtti "$name")" = "$nr" ] ;;
		static) [ -n "$is_stripped" ] || [ "$(blocks static "$name")" = "$nr" ] ;;
		# Words behind an object that are not written may be addresses.
		below) jq -e --arg name "$name" --argjson nr "$nr" '[.data.types[] | select(.name == $name) | .below.blocks] | add |
			. >= $nr and . < $nr + 20' "$dir/out" >/dev/null ;;
		*) continue ;;
		esac || {
			echo "$what $nr $name"
			bad=1
		}
	done <"$dir/$tracee_pid.out"
	[ $bad = 0 ]
}

# check_classes WORDS
check_classes()
{
	check "$1: each class in as many blocks as there are" all_classes
	check "$1: no other class of the program" json_is '[.data.types[] | select(.evidence == "rtti" and
		(.name | test("triangle|shapes::shape$")))] == []'
	check "$1: shares add up" json_is '.data | .proven.blocks + .inferred.blocks + .global.blocks + .unknown.blocks == .in_use.blocks and
		.proven.bytes == ([.types[].bytes] | add) and .inferred.bytes == ([.types[].below.bytes] | add)'
	check "$1: the wrapped objects are not at the beginning" json_is '[.data.types[] | select(.name == "shapes::named") |
		.inner_blocks] == [400]'
}

# same_sums: whether the groups have the sums of all types together, each block once, and the largest comes first.
same_sums()
{
	json_is '.data as $d | .data.groups | length > 0 and (map(.bytes) | . == (sort | reverse)) and
		([["proven"], ["inferred"], ["global"], ["unknown"]] |
			all(. as $p | $d | getpath($p) == { blocks: ([.groups[] | getpath($p).blocks] | add),
				bytes: ([.groups[] | getpath($p).bytes] | add) })) and
		all(.[]; .blocks > 0 and .blocks == .proven.blocks + .inferred.blocks + .global.blocks + .unknown.blocks and
			.bytes == .proven.bytes + .inferred.bytes + .global.bytes + .unknown.bytes)'
}

# same_modules: whether the blocks of each module are those of its types.
same_modules()
{
	json_is '.data | .by == "module" and ([.groups[] | select(.has_type) | {key: (.module // ""), value: .proven.blocks}] |
		from_entries | map_values(select(. > 0))) == (.types | group_by(.module // "") |
		map({key: (.[0].module // ""), value: (map(.blocks) | add)}) | from_entries | map_values(select(. > 0)))'
}

# check_groups: the groups of the program by module, arena and size.
check_groups()
{
	# shellcheck disable=SC2086 # $budget is two words
	check 'types by module' exits 0 memdiag types --pid "$tracee_pid" $budget --by=module --json
	check 'modules have the sums of all types' same_sums
	check 'each module has its types' same_modules
	check 'the classes are of the program' json_is '[.data.groups[] | select(.module != null and (.module | endswith("/classes"))) |
		.proven.blocks >= 2600 and .unknown.blocks == 0] == [true]'
	# shellcheck disable=SC2086
	check 'types by arena' exits 0 memdiag types --pid "$tracee_pid" $budget --by=arena --json
	check 'arenas have the sums of all types' same_sums
	check 'nearly all is in the main arena' json_is '.data.groups[0] | .main and .arena != null and .blocks >= 7000'
	# shellcheck disable=SC2086
	check 'types by size' exits 0 memdiag types --pid "$tracee_pid" $budget --by=size --json
	check 'sizes have the sums of all types' same_sums
	check 'sizes do not overlap' json_is '.data.groups | sort_by(.from_bytes) | . as $g | all(range(1; length);
		$g[. - 1].to_bytes < $g[.].from_bytes)'
	check 'a block is in the class of its size' json_is '.data | ([.groups[] | select(.from_bytes <= 40 and 40 <= .to_bytes) |
		.proven | .bytes == 40 * .blocks] == [true])'
	for by in module arena size; do
		# shellcheck disable=SC2086
		check "the table by $by" exits 0 memdiag types --pid "$tracee_pid" $budget --by=$by
		check "has its columns" grep -q "^ *BYTES  *BLOCKS  *PROVEN  *INFERRED  *GLOBAL  *UNKNOWN  $(echo $by | tr a-z A-Z)\$" "$dir/out"
	done
	check '--by=nothing: usage' exits_saying 64 "'nothing' is not type, module, arena, size, contents or holder" memdiag types --pid "$tracee_pid" --by=nothing
}

# changed NAME STATE WAS IS: whether the blocks of that class changed so.
changed()
{
	jq -e --arg name "$1" --arg state "$2" --argjson was "$3" --argjson is "$4" '[.data.changes.types[] |
		select(.name == $name and .evidence == "rtti")] | length == 1 and (.[0] | .state == $state and .was.blocks == $was and
		.is.blocks == $is and .blocks == $is - $was and .bytes == .is.bytes - .was.bytes)' "$dir/out" >/dev/null
}

# has_changes: what "change" does to the program.
has_changes()
{
	changed shapes::circle changed 1000 1100 && changed shapes::triangle new 0 37 && changed 'shapes::box<int>' gone 200 0 &&
		changed shapes::square same 700 700
}

# check_changes: the program changes, and types are compared with those before.
check_changes()
{
	# shellcheck disable=SC2086 # $budget is two words
	check 'types are saved' exits 0 memdiag types --pid "$tracee_pid" $budget --json -f -o "$dir/before.json"
	check 'the program changes' obeys change
	# shellcheck disable=SC2086
	check 'types --diff' exits 0 memdiag types --pid "$tracee_pid" $budget --diff "$dir/before.json" --json -f -o "$dir/after.json"
	check 'nothing is said' test ! -s "$dir/err"
	cp "$dir/after.json" "$dir/out"
	check 'classes that grew, are new, gone or the same' has_changes
	check 'what lies below grew, too' json_is '[.data.changes.below[] | select(.name == "shapes::circle") |
		.was.blocks >= 1000 and .blocks >= 100 and .blocks <= 110] == [true]'
	check 'the largest growth is first' json_is '[.data.changes.types[].bytes] | . == (sort | reverse)'
	check 'shares are those of both' json_is '.data as $d | .data.changes.shares | length == 5 and
		all(. as $s | $d[$s.name] == $s.is) and ([.[] | select(.name != "in_use") | .bytes] | add) ==
			([.[] | select(.name == "in_use") | .bytes] | add)'
	jq -S .data.changes "$dir/out" >"$dir/changes"
	check 'diff of both files' exits 0 memdiag diff "$dir/before.json" "$dir/after.json" --json
	check 'has the same changes' sh -c "jq -S .data.changes '$dir/out' | cmp - '$dir/changes'"
	# shellcheck disable=SC2086
	check 'types --diff as text' exits 0 memdiag types --pid "$tracee_pid" $budget --diff "$dir/before.json" -n 0
	check 'says what was unknown' grep -q '^Unknown: .*% of the bytes in use before, .*% now$' "$dir/out"
	check 'a class that grew' grep -q '^ .*  1000  *1100  *+100  shapes::circle (rtti, classes)$' "$dir/out"
	check 'a class that is new' grep -q '^ .*  0 B .*  0  *37  *+37  shapes::triangle (rtti, classes) (new)$' "$dir/out"
	check 'a class that is gone' grep -q '^ .*  200  *0  *-200  shapes::box<int> (rtti, classes) (gone)$' "$dir/out"
	check 'how many are new and gone' grep -q '^New: 1, with .*; gone: 1, with .*$' "$dir/out"
	check 'a class without a change has no line' sh -c "! grep -q shapes::square '$dir/out'"
	# shellcheck disable=SC2086
	check 'memory of another program' exits 0 memdiag heap --pid "$tracee_pid" $budget --json -f -o "$dir/heap.json"
	check '--diff with a file of heap' exits_saying 1 "heap.json is of 'memdiag heap', not of 'memdiag types'" \
		memdiag types --pid "$tracee_pid" --diff "$dir/heap.json"
	check '--diff with a file that is missing' exits_saying 1 'cannot read .*nowhere.json' memdiag types --pid "$tracee_pid" \
		--diff "$dir/nowhere.json"
	head -c 3000 "$dir/before.json" >"$dir/cut.json"
	check '--diff with a file that is cut' exits_saying 1 'cannot read .*cut.json, line' memdiag types --pid "$tracee_pid" \
		--diff "$dir/cut.json"
	jq 'del(.data.types[].symbol)' "$dir/before.json" >"$dir/older.json"
	check '--diff with a file of an older memdiag' exits_saying 1 'a row of its types has no symbol.*older memdiag' memdiag types \
		--pid "$tracee_pid" --max-stop 300s --diff "$dir/older.json"
	check '--diff and --by: usage' exits_saying 64 '--diff compares types' memdiag types --pid "$tracee_pid" --by=size \
		--diff "$dir/before.json"
}

# pooled NAME: how many objects of that type are in the pools of Python.
pooled()
{
	jq --arg name "$1" '[.data.types[] | select(.name == $name) | .pooled.blocks] | add // 0' "$dir/out"
}

# same_pools: whether the bytes in use in pools are those that Python has counted, but for what it did since.
same_pools()
{
	local counted
	counted=$(sed -n 's/^# bytes in allocated blocks *= *//p' "$dir/$tracee_pid.err" | tr -d ,)
	echo "counted: $counted; found: $(json .data.pools.objects.bytes)"
	json_is ".data.pools.objects.bytes - $counted | . < 20000 and . > -20000"
}

is_stripped=
check 'the program is built' build
# shellcheck disable=SC2086 # $budget is two words, here and below
for how in '' -s; do
	if [ -n "$how" ]; then
		is_stripped=yes
		check 'the program is built and stripped' build -s
	fi
	start_command "$dir/classes"
	check "types ${how:-with symbols}" exits 0 memdiag types --pid "$tracee_pid" $budget --json
	check_classes "${how:-with symbols}"
	check 'nothing is said on stderr' test ! -s "$dir/err"
	check 'the table' exits 0 memdiag types --pid "$tracee_pid" $budget
	check 'says what is unknown' grep -q '^  unknown .*%  all other blocks$' "$dir/out"
	check 'has the class' grep -q 'rtti  *classes  *shapes::circle$' "$dir/out"
	check_groups
	if command -v gcore >/dev/null; then
		check 'gcore' sh -c "gcore -o '$dir/core' $tracee_pid >'$dir/gcore' 2>&1"
		check 'its core file' exits 0 memdiag types --core "$dir/core.$tracee_pid" --json
		check_classes "core file ${how:-with symbols}"
	else
		skip 'a core file has the same types' 'gcore is missing'
	fi
	check_changes
	check 'the program still works' end_tracee
done

cat >"$dir/objects.py" <<'END'
import abc, os, sys
class Point:
    def __init__(self, n): self.x = self.y = n
class Abstract(abc.ABC):
    pass
class Concrete(Abstract):
    pass
points = [Point(n) for n in range(3000)]
concretes = [Concrete() for n in range(200)]
numbers = [1.5 * n for n in range(4000)]
if os.environ["PYTHONMALLOC"] == "pymalloc":
    sys._debugmallocstats()
print("ready", flush=True)
for line in sys.stdin:
    points += [Point(n) for n in range(500)]
    print("done", flush=True)
print("alive", flush=True)
END
python=$(command -v /usr/bin/python3 || command -v python3)
if [ -n "$python" ]; then
	# Without its own allocator each object is a block.
	PYTHONMALLOC=malloc start_command "$python" "$dir/objects.py"
	check 'types of Python' exits 0 memdiag types --pid "$tracee_pid" $budget --json
	check 'objects of a class' test "$(blocks python Point)" = 3000
	check 'objects of a class with another metaclass' test "$(blocks python Concrete)" = 200
	check 'numbers' test "$(blocks python float)" -ge 4000
	check 'strings, tuples, dictionaries and functions' json_is '["str", "tuple", "dict", "function", "code", "type"] -
		[.data.types[] | select(.evidence == "python") | .name] == []'
	check 'types of Python by module' exits 0 memdiag types --pid "$tracee_pid" $budget --by=module --json
	check 'modules of Python have the sums of all types' same_sums
	check 'each module of Python has its types' same_modules
	check 'classes in Python are in no file' json_is '[.data.groups[] | select(.has_type and .module == null) | .proven.blocks >= 3200] ==
		[true]'
	check 'types of Python' exits 0 memdiag types --pid "$tracee_pid" $budget --json
	check 'most is known' json_is '.data | .proven.bytes + .inferred.bytes > 7 * .in_use.bytes / 10'
	check 'nothing is in pools' json_is '.data.pools.objects.blocks == 0'
	check 'Python still works' end_tracee

	# Its own account of its pools goes to stderr (sys._debugmallocstats()).
	PYTHONMALLOC=pymalloc start_command "$python" "$dir/objects.py"
	check 'types of Python with pools' exits 0 memdiag types --pid "$tracee_pid" $budget --json
	check 'objects in pools' test "$(pooled Point)" = 3000
	check 'objects of a class with another metaclass in pools' test "$(pooled Concrete)" = 200
	check 'numbers in pools' test "$(pooled float)" -ge 4000
	check 'all objects in pools have their sum' json_is '([.data.types[].pooled.bytes] | add) + .data.pools.untyped.bytes ==
		.data.pools.objects.bytes'
	check 'bytes in pools are those of its own account' same_pools
	check 'most is known with pools' json_is '.data | .unknown.bytes < 3 * .in_use.bytes / 10'
	check 'the table of pools' exits 0 memdiag types --pid "$tracee_pid" $budget
	check 'has the class' grep -q ' 3000  Point$' "$dir/out"
	check 'as JSON' exits 0 memdiag types --pid "$tracee_pid" $budget --json -f -o "$dir/before.json"
	check 'more objects in pools' obeys more
	check 'types of Python with pools, --diff' exits 0 memdiag types --pid "$tracee_pid" $budget --diff "$dir/before.json" --json
	check 'objects in pools that are more' json_is '[.data.changes.pooled[] | select(.name == "Point") | .was.blocks == 3000 and
		.is.blocks == 3500 and .bytes == 500 * (.was.bytes / 3000)] == [true]'
	check 'Python with pools still works' end_tracee
else
	skip 'types of Python' 'there is no python3'
fi
finish
