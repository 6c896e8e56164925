#!/bin/sh
# What grew between two saved outputs, and files that cannot be compared.
. "$top_srcdir/tests/live/lib.sh"
need jq

says()	# says STATUS WORDS ARGUMENTS...
{
	says_status=$1
	says_words=$2
	shift 2
	exits "$says_status" memdiag diff "$@" && grep -q -e "$says_words" "$dir/err"
}

# saved NAME COMMAND OPTIONS...: what memdiag says of the tracee now, into $dir/NAME.json.
saved()
{
	saved_name=$1
	shift
	exits 0 memdiag "$@" --pid "$tracee_pid" --json -o "$dir/$saved_name.json"
}

start_tracee manymaps 100
for command in info maps; do
	check "$command is saved" saved $command.1 $command
done
check 'maps by object' saved object.1 maps --by=object
check 'maps by mapping' saved mapping.1 maps --by=mapping
check 'the tracee grows' sh -c "[ '$(ask 'grow 8')' = grown ]"
for command in info maps; do
	check "$command is saved again" saved $command.2 $command
done

check 'nothing grew in the same' exits 0 memdiag diff "$dir/maps.1.json" "$dir/maps.1.json"
check 'it says so' grep -q -x 'Nothing changed.' "$dir/out"
check 'maps are compared' exits 0 memdiag diff "$dir/maps.1.json" "$dir/maps.2.json" --json
check 'as maps --diff does' json_is '
	.data.compared == "maps" and .data.same_process and .partial == false and
	.data.changes.groups[0].virt_bytes == 8388608 and
	.data.changes.groups[0].rss_bytes == 8388608'
check 'it is of the process' json_is ".target.pid == $tracee_pid"
check 'as text' exits 0 memdiag diff "$dir/maps.1.json" "$dir/maps.2.json"
check 'with names' grep -q '+8.0 MiB  *+8.0 MiB .*JIT code' "$dir/out"
check 'back again it shrank' exits 0 memdiag diff "$dir/maps.2.json" "$dir/maps.1.json"
check 'with a minus' grep -q '[-]8.0 MiB  *-8.0 MiB .*JIT code' "$dir/out"
check 'info is compared' exits 0 memdiag diff "$dir/info.1.json" "$dir/info.2.json" --json
check 'what the memory is for' json_is '[.data.changes.accounting[] |
	select(.name == "other anonymous") | .bytes >= 8388608] == [true]'
check 'and arenas' json_is '.data.changes.arenas[0].name == "main arena"'
check 'the target lives on' end_tracee

# ---- documents of all kinds ----

# document SCHEMA DATA [PID]
document()
{
	echo "{\"schema\": \"memdiag.$1/1\", \"generated_at\": \"then\", \"partial\": false,
		\"target\": {\"pid\": ${3:-1}, \"start_ticks\": 5, \"comm\": \"x\"}, \"data\": $2}"
}

heap()	# heap SYSTEM IN_USE: of a thread arena; number and place in the list do not matter
{
	document heap "{\"accounting\": [{\"kind\": \"free_stranded\", \"bytes\": $2}],
		\"mmapped\": {\"count\": $1, \"bytes\": $(($1 * 100))},
		\"arenas\": [{\"index\": $1, \"main\": false, \"address\": \"0x7f0000000030\",
			\"system_bytes\": $1, \"in_use_bytes\": $2, \"resident_bytes\": 7}],
		\"sizes\": [{\"from_bytes\": 64, \"to_bytes\": 79, \"in_use_chunks\": $1,
			\"in_use_bytes\": $2, \"free_bytes\": 5}]}"
}
heap 10 100 >"$dir/heap.1.json"
heap 30 150 >"$dir/heap.2.json"
check 'heap is compared' exits 0 memdiag diff "$dir/heap.1.json" "$dir/heap.2.json" --json
check 'what it is for' json_is '.data.changes.accounting == [{"name": "free stranded", "bytes": 50}]'
check 'large blocks' json_is '.data.changes.mmapped[0] | .bytes == 2000 and .count == 20'
check 'an arena by its address' json_is '.data.changes.arenas[0] |
	.name == "arena 0x7f0000000030" and .system_bytes == 20 and .in_use_bytes == 50'
check 'sizes' json_is '.data.changes.sizes[0] |
	.in_use_chunks == 20 and .in_use_bytes == 50 and .free_bytes == 0'
check 'as text' exits 0 memdiag diff "$dir/heap.1.json" "$dir/heap.2.json"
check 'counts before and after' grep -q '+50 B  *10  *30  *0  64 B to 79 B' "$dir/out"

document heap '{"mmapped": {"count": 1, "bytes": 1}}' >"$dir/less.json"
check 'a list that one lacks' says 2 'less.json has no arenas: that is not compared' \
	"$dir/heap.1.json" "$dir/less.json"
document heap '{}' >"$dir/none.json"
check 'all that one lacks' says 1 'nothing that can be compared' "$dir/heap.1.json" "$dir/none.json"
heap 10 100 | sed 's/"partial": false/"partial": true/' >"$dir/partial.json"
check 'one that is partial' says 2 'partial.json is partial' "$dir/heap.1.json" "$dir/partial.json"
document heap '{"accounting": [{"bytes": 1}]}' >"$dir/bad.json"
check 'a row without a name' says 1 'a row of its accounting has no name' "$dir/bad.json" \
	"$dir/bad.json"
document heap '{"accounting": [1, null, "x", [], {"kind": "a", "bytes": "x"}]}' >"$dir/odd.json"
check 'rows that are none' says 1 'has no name' "$dir/odd.json" "$dir/odd.json"
document heap '{"accounting": 1}' >"$dir/number.json"
check 'a list that is none' says 1 'it has no accounting' "$dir/number.json" "$dir/number.json"
printf '%s' "$(document heap '{"accounting": [{"kind": "a\u001b[31mb", "bytes": 1}]}')" >"$dir/esc.1.json"
sed 's/"bytes": 1/"bytes": 9223372036854775807/' "$dir/esc.1.json" >"$dir/esc.2.json"
check 'names that would drive a terminal' exits 2 memdiag diff "$dir/esc.1.json" "$dir/esc.2.json"
check 'do not' sh -c "! grep -q '$(printf '\033')' '$dir/out' && grep -q '\\\\033' '$dir/out'"
heap 10 100 | sed 's/"pid": 1/"pid": 2/' >"$dir/other.json"
check 'two processes' says 0 'of two processes: 1 (x) and 2 (x)' "$dir/heap.1.json" "$dir/other.json"
check 'two commands' says 1 "maps.1.json is of 'memdiag maps', .*info.1.json of 'memdiag info'" \
	"$dir/maps.1.json" "$dir/info.1.json"
document trim '{}' >"$dir/trim.json"
check 'a command that has no lists' says 1 "what 'memdiag trim' writes cannot be compared" \
	"$dir/trim.json" "$dir/trim.json"
check 'maps by two things' says 1 'added up by class and by object' "$dir/maps.1.json" \
	"$dir/object.1.json"
check 'maps by mapping' says 1 'by mapping and by mapping' "$dir/mapping.1.json" \
	"$dir/mapping.1.json"
head -c 1000 "$dir/maps.1.json" >"$dir/cut.json"
check 'a file that is cut' says 1 'cannot read .*cut.json, line' "$dir/maps.1.json" "$dir/cut.json"
echo 'memdiag' >"$dir/text.json"
check 'a file that is no JSON' says 1 'cannot read .*text.json, line 1' "$dir/text.json" \
	"$dir/maps.1.json"
echo '{"schema": "other/1"}' >"$dir/schema.json"
check 'JSON of somebody else' says 1 'is not what memdiag writes' "$dir/schema.json" \
	"$dir/maps.1.json"
echo '[]' >"$dir/array.json"
check 'JSON that is no object' says 1 'is not what memdiag writes' "$dir/array.json" \
	"$dir/maps.1.json"
check 'no file' says 1 'cannot read .*nowhere.json' "$dir/maps.1.json" "$dir/nowhere.json"
check 'a directory' says 1 'cannot read' "$dir/maps.1.json" "$dir"
check 'one file' says 64 'which two files' "$dir/maps.1.json"
check 'three files' says 64 'more than two' 1 2 3
check 'no process is looked at' says 64 'unrecognized option' --pid 1 2 3
finish
