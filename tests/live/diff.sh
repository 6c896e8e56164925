#!/bin/sh
# Growth between two saved outputs, and files that cannot be compared.
. "$top_srcdir/tests/live/lib.sh"
need jq

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
check 'maps --by=object is saved' saved object.1 maps --by=object
check 'maps --by=mapping is saved' saved mapping.1 maps --by=mapping
check 'the tracee grows' sh -c "[ '$(ask 'grow 8')' = grown ]"
for command in info maps; do
	check "$command is saved again" saved $command.2 $command
done

check 'diff of an output with itself runs' exits 0 memdiag diff "$dir/maps.1.json" "$dir/maps.1.json"
check 'diff of an output with itself: nothing changed' grep -q -x 'Nothing changed.' "$dir/out"
check 'diff of two outputs of maps as JSON' exits 0 memdiag diff "$dir/maps.1.json" "$dir/maps.2.json" --json
check 'diff of two outputs of maps: the changes are those of maps --diff' json_is '
	.data.compared == "maps" and .data.same_process and .partial == false and
	.data.changes.groups[0].virt_bytes == 8388608 and
	.data.changes.groups[0].rss_bytes == 8388608'
check 'diff of two outputs of maps is of their process' json_is ".target.pid == $tracee_pid"
check 'diff of two outputs of maps as text' exits 0 memdiag diff "$dir/maps.1.json" "$dir/maps.2.json"
check 'the table has names and signs' grep -q '+8.0 MiB  *+8.0 MiB .*JIT code' "$dir/out"
check 'compared backwards, it shrank' exits 0 memdiag diff "$dir/maps.2.json" "$dir/maps.1.json"
check 'what shrank has a minus' grep -q '[-]8.0 MiB  *-8.0 MiB .*JIT code' "$dir/out"
# A change of a guess is a guess, whichever side it is on.
check 'nothing that is sure is marked' sh -c "! grep -q '?' '$dir/out'"
check 'outputs with guesses are made' sh -c "jq '(.. | objects | select(has(\"confidence\"))).confidence = \"guess\"' \
	'$dir/maps.2.json' >'$dir/guess.json'"
for files in 'maps.1 guess' 'guess maps.1'; do
	check "diff of $files, of which one has guesses" exits 0 memdiag diff "$dir/${files% *}.json" "$dir/${files#* }.json"
	check "diff of $files: the line of a guess is marked" grep -q '8.0 MiB .*JIT code ?' "$dir/out"
	check "diff of $files: the mark of a guess is explained" grep -q '^? marks a guess' "$dir/out"
done
check 'diff of two outputs of info as JSON' exits 0 memdiag diff "$dir/info.1.json" "$dir/info.2.json" --json
check 'diff of two outputs of info: what the memory is for' json_is '[.data.changes.accounting[] |
	select(.name == "other anonymous") | .bytes >= 8388608] == [true]'
check 'changed arenas are listed' json_is '.data.changes.arenas[0].name == "main arena"'
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
check 'diff of two outputs of heap as JSON' exits 0 memdiag diff "$dir/heap.1.json" "$dir/heap.2.json" --json
check 'diff of two outputs of heap: what the memory is for' json_is '.data.changes.accounting == [{"name": "free stranded", "bytes": 50}]'
check 'diff of two outputs of heap: large blocks' json_is '.data.changes.mmapped[0] | .bytes == 2000 and .count == 20'
check 'diff of two outputs of heap: an arena by its address' json_is '.data.changes.arenas[0] |
	.name == "arena 0x7f0000000030" and .system_bytes == 20 and .in_use_bytes == 50'
check 'diff of two outputs of heap: sizes of blocks' json_is '.data.changes.sizes[0] |
	.in_use_chunks == 20 and .in_use_bytes == 50 and .free_bytes == 0'
check 'diff of two outputs of heap as text' exits 0 memdiag diff "$dir/heap.1.json" "$dir/heap.2.json"
check 'diff of two outputs of heap as text: counts before and after' grep -q '+50 B  *10  *30  *0  64 B to 79 B' "$dir/out"

document heap '{"mmapped": {"count": 1, "bytes": 1}}' >"$dir/less.json"
check 'no mark is explained if none is printed' sh -c "! grep -q 'marks a guess' '$dir/out'"
check 'diff with a list that one output lacks: partial' exits_saying 2 'less.json has no arenas: that is not compared' memdiag diff \
	"$dir/heap.1.json" "$dir/less.json"
document heap '{}' >"$dir/none.json"
check 'diff with an output that has no list of the other: status 1' exits_saying 1 'nothing that can be compared' memdiag diff "$dir/heap.1.json" "$dir/none.json"
heap 10 100 | sed 's/"partial": false/"partial": true/' >"$dir/partial.json"
check 'diff with an output that is partial: partial' exits_saying 2 'partial.json is partial' memdiag diff "$dir/heap.1.json" "$dir/partial.json"
document heap '{"accounting": [{"bytes": 1}]}' >"$dir/bad.json"
check 'diff with a row without a name: status 1' exits_saying 1 'a row of its accounting has no name' memdiag diff "$dir/bad.json" \
	"$dir/bad.json"
document heap '{"accounting": [1, null, "x", [], {"kind": "a", "bytes": "x"}]}' >"$dir/odd.json"
check 'diff with rows that are no objects: status 1' exits_saying 1 'has no name' memdiag diff "$dir/odd.json" "$dir/odd.json"
document heap '{"accounting": 1}' >"$dir/number.json"
check 'diff with accounting that is no list: status 1' exits_saying 1 'it has no accounting' memdiag diff "$dir/number.json" "$dir/number.json"
printf '%s' "$(document heap '{"accounting": [{"kind": "a\u001b[31mb", "bytes": 1}]}')" >"$dir/esc.1.json"
sed 's/"bytes": 1/"bytes": 9223372036854775807/' "$dir/esc.1.json" >"$dir/esc.2.json"
check 'diff with names that would drive a terminal' exits 2 memdiag diff "$dir/esc.1.json" "$dir/esc.2.json"
check 'control characters are escaped in the table' \
	sh -c "! grep -q '$(printf '\033')' '$dir/out' && grep -q '\\\\033' '$dir/out'"
heap 10 100 | sed 's/"pid": 1/"pid": 2/' >"$dir/other.json"
check 'diff of outputs of two processes: says so' exits_saying 0 'of two processes: 1 (x) and 2 (x)' memdiag diff "$dir/heap.1.json" "$dir/other.json"
heap 10 100 | sed 's/"start_ticks": 5/"start_ticks": 6/' >"$dir/reused.json"
check 'a PID that was given to a later process' exits_saying 0 'of two processes: 1 (x) and 1 (x)' memdiag diff \
	"$dir/heap.1.json" "$dir/reused.json"
check 'two documents with equal PIDs are diffed as JSON' exits 0 memdiag diff "$dir/heap.1.json" \
	"$dir/reused.json" --json
check 'their processes differ by start time' json_is '.data.same_process == false'
check 'diff of outputs of two commands: status 1' exits_saying 1 "maps.1.json is of 'memdiag maps', .*info.1.json of 'memdiag info'" memdiag diff \
	"$dir/maps.1.json" "$dir/info.1.json"
document trim '{}' >"$dir/trim.json"
check 'diff of outputs of trim: status 1' exits_saying 1 "what 'memdiag trim' writes cannot be compared" memdiag diff \
	"$dir/trim.json" "$dir/trim.json"
check 'diff of maps by class and by object: status 1' exits_saying 1 'added up by class and by object' memdiag diff "$dir/maps.1.json" \
	"$dir/object.1.json"
check 'diff of maps by mapping with itself' exits 0 memdiag diff "$dir/mapping.1.json" "$dir/mapping.1.json" --json
check 'diff of maps by mapping with itself: no mapping changed' json_is '.data.changes.mappings | length > 5 and all(.rss_bytes == 0)'
head -c 1000 "$dir/maps.1.json" >"$dir/cut.json"
check 'diff with a file that is cut: status 1' exits_saying 1 'cannot read .*cut.json, line' memdiag diff "$dir/maps.1.json" "$dir/cut.json"
echo 'memdiag' >"$dir/text.json"
check 'diff with a file that is no JSON: status 1' exits_saying 1 'cannot read .*text.json, line 1' memdiag diff "$dir/text.json" \
	"$dir/maps.1.json"
echo '{"schema": "other/1"}' >"$dir/schema.json"
check 'diff with JSON of another program: status 1' exits_saying 1 'is not what memdiag writes' memdiag diff "$dir/schema.json" \
	"$dir/maps.1.json"
echo '[]' >"$dir/array.json"
check 'diff with JSON that is no object: status 1' exits_saying 1 'is not what memdiag writes' memdiag diff "$dir/array.json" \
	"$dir/maps.1.json"
check 'diff with a file that is missing: status 1' exits_saying 1 'cannot read .*nowhere.json' memdiag diff "$dir/maps.1.json" "$dir/nowhere.json"
check 'diff with a directory: status 1' exits_saying 1 'cannot read' memdiag diff "$dir/maps.1.json" "$dir"
check 'diff of one file: a usage error' exits_saying 64 'which two files' memdiag diff "$dir/maps.1.json"
check 'diff of three files: a usage error' exits_saying 64 'more than two' memdiag diff 1 2 3
check 'diff --pid: a usage error' exits_saying 64 'unrecognized option' memdiag diff --pid 1 2 3
finish
