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

# ---- types and retained ----

types()	# types ROWS [UNKNOWN]: of 1000 bytes in use
{
	document types "{\"in_use\": {\"bytes\": 1000, \"blocks\": 9}, \"proven\": {\"bytes\": $((1000 - ${2:-0})), \"blocks\": 8},
		\"inferred\": {\"bytes\": 0, \"blocks\": 0}, \"global\": {\"bytes\": 0, \"blocks\": 0},
		\"unknown\": {\"bytes\": ${2:-0}, \"blocks\": 1}, \"types\": [$1]}"
}
row()	# row NAME SYMBOL EVIDENCE MODULE BYTES
{
	echo "{\"name\": \"$1\", \"symbol\": $2, \"evidence\": \"$3\", \"module\": $4, \"bytes\": $5, \"blocks\": 2,
		\"examples\": [\"0x$5\"], \"below\": {\"bytes\": 0, \"blocks\": 0}, \"pooled\": {\"bytes\": 0, \"blocks\": 0}}"
}
types "$(row A '"1A"' rtti '"/lib/a"' 100), $(row A '"1A"' rtti '"/lib/b"' 50), $(row A '"1A"' vtable '"/lib/a"' 30), $(row X null python null 70)" \
	100 >"$dir/types.1.json"
types "$(row A '"1A"' rtti '"/lib/b"' 51), $(row A '"1A"' vtable '"/lib/a"' 30), $(row B '"1A"' rtti '"/lib/a"' 103), $(row X null python null 60),
	$(row X null python null 15)" 250 >"$dir/types.2.json"
check 'diff of two outputs of types as JSON' exits 0 memdiag diff "$dir/types.1.json" "$dir/types.2.json" --json
check 'a type is known by how it is known, symbol and module; rows that are the same one are added up' json_is '[.data.changes.types[] |
	[.name, .evidence, .module, .was.bytes, .is.bytes, .bytes, .blocks, .state]] == [
	["X", "python", null, 70, 75, 5, 2, "changed"], ["B", "rtti", "/lib/a", 100, 103, 3, 0, "changed"],
	["A", "rtti", "/lib/b", 50, 51, 1, 0, "changed"], ["A", "vtable", "/lib/a", 30, 30, 0, 0, "same"]]'
check 'shares of both' json_is '[.data.changes.shares[] | [.name, .bytes]] == [["unknown", 150], ["global", 0], ["in_use", 0],
	["inferred", 0], ["proven", -150]]'
check 'diff of two outputs of types as text' exits 0 memdiag diff "$dir/types.1.json" "$dir/types.2.json"
check 'says what is unknown' grep -q '^Unknown: 10.0% of the bytes in use before, 25.0% now$' "$dir/out"
check 'bytes and blocks before, now, and the change' grep -q '^ *70 B  *75 B  *+5 B  *2  *4  *+2  X (python)$' "$dir/out"
check 'diff of types with itself' exits 0 memdiag diff "$dir/types.1.json" "$dir/types.1.json"
check 'nothing changed' grep -q '^Nothing changed.$' "$dir/out"
for bad in 'del(.data.types[0].name)@a row of its types has no name' 'del(.data.types[0].symbol)@no symbol.*older memdiag' \
	'.data.types[0].bytes = "7"@a row of its types has no bytes' 'del(.data.types[0].blocks)@a row of its types has no blocks' \
	'.data.types[0].bytes = -7@a row of its types has no bytes' '.data.types[0].bytes = 1.5@a row of its types has no bytes' \
	'.data.types[0].below = 7@a row of its below has no below.bytes' '.data.types[0] = 7@a row of its types has no name' \
	'.data.types = 7@it has no types' '.data.unknown.bytes = null@a row of its shares has no bytes' \
	'.schema = "memdiag.types/2"@has the format .memdiag.types/2., which this memdiag cannot compare' \
	'.schema = "memdiag.leaks/1"@only two of the same kind'; do
	jq "${bad%%@*}" "$dir/types.1.json" >"$dir/bad.json"
	check "diff with types after ${bad%%@*}: status 1" exits_saying 1 "${bad#*@}" memdiag diff "$dir/types.2.json" "$dir/bad.json"
done
jq 'del(.data.unknown)' "$dir/types.1.json" >"$dir/bad.json"
check 'diff with types that lack a share: partial' exits_saying 2 'bad.json has no shares: that is not compared' memdiag diff \
	"$dir/types.2.json" "$dir/bad.json"
jq '.data.types[0] |= (.name = "a\u001b[31mb" | .bytes = 77777 | .module = "/\u001b]0;x")' "$dir/types.1.json" |
	jq '.data.types += [.data.types[0]]' | sed 's/77777/4000000000000000000/' >"$dir/esc.json"
check 'diff with names and numbers that are not sane' exits 0 memdiag diff "$dir/types.2.json" "$dir/esc.json"
check 'they are escaped in the table' sh -c "! grep -q '$(printf '\033')' '$dir/out' && grep -q 'a.033' '$dir/out'"
check 'diff with them as JSON' exits 0 memdiag diff "$dir/types.2.json" "$dir/esc.json" --json

retained()	# retained ROOTS
{
	document retained "{\"in_use\": {\"bytes\": 1000, \"blocks\": 9}, \"shared\": {\"bytes\": 5, \"blocks\": 1},
		\"unreachable\": {\"bytes\": 0, \"blocks\": 0}, \"roots\": [$1],
		\"types\": [{\"name\": \"A\", \"evidence\": \"rtti\", \"blocks\": 1, \"retained\": {\"bytes\": 7, \"blocks\": 1}}]}"
}
root()	# root KIND SYMBOL MODULE ADDRESS TID TYPE BYTES
{
	echo "{\"kind\": \"$1\", \"symbol\": $2, \"module\": $3, \"address\": \"$4\", \"tid\": $5, \"type\": $6,
		\"retained\": {\"bytes\": $7, \"blocks\": 1}}"
}
retained "$(root global '"cache"' '"/bin/s"' 0x10 null null 100), $(root stack null null 0x20 7 null 10), $(root mapping null null 0x30 null null 5),
	$(root mapping null null 0x40 null null 6), $(root object null null 0x50 null '"dict"' 9)" >"$dir/retained.1.json"
retained "$(root global '"cache"' '"/bin/s"' 0x11 null null 150), $(root stack null null 0x21 8 null 10), $(root mapping null null 0x31 null null 12),
	$(root object null null 0x51 null '"dict"' 9)" >"$dir/retained.2.json"
check 'diff of two outputs of retained as JSON' exits 0 memdiag diff "$dir/retained.1.json" "$dir/retained.2.json" --json
check 'a root is known by its kind and name, not by its address' json_is '[.data.changes.roots[] | [.name, .was.bytes, .is.bytes, .state]] == [
	["global cache (/bin/s)", 100, 150, "changed"], ["stack of thread 8", 0, 10, "new"], ["mappings", 11, 12, "changed"],
	["objects of Python: dict", 9, 9, "same"], ["stack of thread 7", 10, 0, "gone"]]'
check 'types and shares of retained' json_is '.data.changes | (.types[0].state == "same") and (.shares | length == 3)'
check 'diff of two outputs of retained as text' exits 0 memdiag diff "$dir/retained.1.json" "$dir/retained.2.json"
check 'a root in a line' grep -q '^ *100 B  *150 B  *+50 B  *1  *1  *+0  global cache (/bin/s)$' "$dir/out"
check 'the roots that are new and gone' grep -q '^New: 1, with 10 B; gone: 1, with 10 B$' "$dir/out"
jq 'del(.data.roots[0].kind)' "$dir/retained.1.json" >"$dir/bad.json"
check 'diff with a root without a kind: status 1' exits_saying 1 'a row of its roots has no name' memdiag diff "$dir/bad.json" "$dir/retained.2.json"
document retained '{"path": {"root": null, "hops": [], "referrers": 0}}' >"$dir/holds.json"
check 'diff with an output of retained --holds: status 1' exits_saying 1 'nothing that can be compared' memdiag diff "$dir/holds.json" \
	"$dir/retained.2.json"
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
