#!/bin/sh
# info on a program that has grown: all of RSS is accounted for, every arena is there, and the
# sentence at the end leads on.
. "$top_srcdir/tests/live/lib.sh"
need jq
MALLOC_ARENAS_MAX=1	# nearly the name of a setting: one more thing to say
export MALLOC_ARENAS_MAX
awk '/^MemAvailable/ { exit !($2 > 1500000) }' /proc/meminfo || skip_all 'less than 1.5 GB are available'
start_tracee bloat 64
unset MALLOC_ARENAS_MAX

# The arenas of the document as lines "nr system max fast rest".  glibc 2.43 has no fast chunks, and does not name them.
document_arenas()
{
	sed -n 's/.*<heap nr="\([0-9]*\)">.*/heap \1/p
		s/.*<total type="fast" count="[0-9]*" size="\([0-9]*\)".*/fast \1/p
		s/.*<total type="rest" count="[0-9]*" size="\([0-9]*\)".*/rest \1/p
		s/.*<system type="current" size="\([0-9]*\)".*/system \1/p
		s/.*<system type="max" size="\([0-9]*\)".*/max \1/p
		s/.*<\/heap>.*/end/p' "$dir/xml" |
		awk '$1 == "end" { print v["heap"], v["system"], v["max"], v["fast"] + 0, v["rest"] }
			{ v[$1] = $2 }'
}

same_arenas()
{
	document_arenas >"$dir/theirs"
	json '.data.arenas[] | "\(.index) \(.system_bytes) \(.max_system_bytes) \(.fast_bytes) \(.rest_bytes)"' \
		>"$dir/ours"
	[ -s "$dir/ours" ] && diff "$dir/theirs" "$dir/ours"
}

check 'the raw document is given' exits 0 memdiag info --pid "$tracee_pid" --xml
cp "$dir/out" "$dir/xml"
check 'it is malloc_info'\''s' grep -q '^<malloc version="1">' "$dir/xml"
check 'info --json runs' exits 0 memdiag info --pid "$tracee_pid" --json
check 'the schema is named' json_is '.schema == "memdiag.info/1" and (.partial | not)'
check 'the accounting sums to RSS' \
	json_is '([.data.accounting[].bytes] | add) == .data.totals.rss_bytes'
check 'hardly anything is unaccounted' json_is \
	'[.data.accounting[] | select(.kind == "unaccounted").bytes | fabs] | max < 1048576'
check 'every arena is as the document has it' same_arenas
check 'arenas are made of what is in use and what is free' json_is \
	'[.data.arenas[] | .in_use_bytes + .fast_bytes + .rest_bytes - .system_bytes | fabs] | max < 65536'
check 'no arena has more resident than it has mapped' json_is \
	'[.data.arenas[] | .resident_bytes <= .max_system_bytes + 1048576] | all'
check 'arenas have what malloc has resident' json_is \
	'([.data.arenas[].resident_bytes] | add) ==
	 ([.data.accounting[] | select(.kind == "malloc_in_use" or .kind == "malloc_free").bytes] | add)'
check 'every thread has its arena' json_is \
	"([.data.arenas[].threads] | add) == $(find /proc/"$tracee_pid"/task -mindepth 1 -maxdepth 1 | wc -l)"
check 'all that is to be said is there' json_is \
	'[.verdicts[].id] | contains(["virt-only", "env-not-effective"])'
check 'one cause explains what is free' json_is \
	'[.verdicts[].id] - ["virt-only", "env-not-effective"] | . == ["arena-sprawl"] or . == ["retained"]'
check 'the borrowed thread is reported' json_is \
	'.data.borrow.mode == "helper" and .data.borrow.tid > 0 and .data.borrow.held_us > 0 and
	.data.borrow.capture == "stream"'

# The resident memory by both of them, in the names of maps.
json '.data.accounting | map({ (.kind): .bytes }) | add |
	"heap \(.malloc_in_use + .malloc_free + .malloc_mmapped)", "stack \(.stacks)",
	"files \(.files)", "shm \(.shared_memory)", "anon \(.other_anonymous)"' >"$dir/by-info"
check 'maps --json runs' exits 0 memdiag maps --pid "$tracee_pid" --json
json '.data.groups | map({ (.name): .rss_bytes }) | add |
	"heap \(.heap)", "stack \(.stack)", "files \(.exe + .[".so"] + .file)", "shm \(.shm // 0)",
	"anon \(.anon)"' >"$dir/by-maps"
check 'info and maps agree' diff "$dir/by-info" "$dir/by-maps"

check 'the text runs' exits 0 memdiag info "$tracee_pid"
cp "$dir/out" "$dir/text"
check 'it begins with the process' grep -q "^bloat $tracee_pid (glibc .*RSS .*VIRT" "$dir/text"
check 'the next command is there to be copied' grep -qx "NEXT     memdiag trim -p $tracee_pid" "$dir/text"
check 'the three weightiest verdicts' test "$(grep -c '^VERDICT' "$dir/text")" -eq 3
check 'no bars in a file' sh -c "! grep -q '##' '$dir/text'"
check 'nothing on stderr' test ! -s "$dir/err"

check '-n cuts the list' exits 0 memdiag info "$tracee_pid" -n 2
check 'the lines that -n hides are counted' grep -q '^and [0-9]* more; -n 0 shows all' "$dir/out"
check '--sort=nr sorts' exits 0 memdiag info "$tracee_pid" --sort=nr -n 0
check 'by number' sh -c "awk '/^ARENA/ { on = 1; next } /^\$/ { on = 0 } on { print \$1 }' '$dir/out' >'$dir/nr' &&
	test -s '$dir/nr' && sort -n -C '$dir/nr'"
check '--arena shows one' exits 0 memdiag info "$tracee_pid" --arena 1 --json
check '--arena prints the sizes of that arena alone' \
	json_is '(.data.arenas | length) == 1 and .data.arenas[0].index == 1 and
	(.data.arenas[0].sizes | length) > 0 and
	([.data.arenas[0].sizes[].total_bytes] | add) <= .data.arenas[0].system_bytes'
check 'an arena that is not there is a usage error' exits 64 memdiag info "$tracee_pid" --arena 9999
check '-b prints bytes' exits 0 memdiag info "$tracee_pid" -b
check '-b prints no units in the tables' sh -c "! grep -v ^VERDICT '$dir/out' | grep -q iB"
check 'the target lives on' end_tracee
finish
