#!/bin/sh
# The runs that doc/tutorial.md and README show can be made again, and print what these say about them.
. "$top_srcdir/tests/live/lib.sh"

need mariadbd mariadb mariadb-install-db redis-server redis-cli prometheus promtool setpriv python3 jq
[ "$(id -u)" -eq 0 ] || skip_all 'only root can start a server as somebody else'

check 'scripts/journeys runs' sh -c "'$top_srcdir/scripts/journeys' '$top_builddir' >'$dir/runs' 2>&1"
sed 's/^/# /' "$dir/runs"

# run WORDS: what the run whose command has WORDS said.
run()
{
	awk -v words="$1" '/^\$ / { is_wanted = $0 ~ words } is_wanted' "$dir/runs"
}

# says WORDS PATTERN
says()
{
	run "$1" >"$dir/run"
	grep -q -E -e "$2" "$dir/run" || {
		cat "$dir/run"
		return 1
	}
}

check 'info: the memory is free inside malloc' says 'info.*--lines' '^ +free inside malloc .* [0-9]{3}\.[0-9] MiB'
check 'info: and spread over arenas' says 'info.*--lines' '^VERDICT +arena-sprawl: '
check 'info: trim comes next' says 'info.*--lines' '^NEXT +memdiag trim -p [0-9]+$'
check 'heap: it can be trimmed' says 'heap.*--arenas' '^  free, trimmable +[0-9]{3}\.[0-9] MiB  in '
check 'heap: to the byte' says 'heap.*--arenas' '^Arenas: [0-9]+ exact\. The process was stopped '
check 'diff: that is what grew' says 'diff monday' '^ *\+[0-9]{3}\.[0-9] MiB  free trimmable$'
check 'doctor: what is missing' says 'doctor' '^  no +mappings .*CAP_SYS_PTRACE is missing'
check 'trim -n: hundreds of MiB would go back' says 'trim -n' '^RSS .* -[0-9]{3}\.[0-9] MiB$'
check 'trim -n: nothing is in the way' sh -c "! grep -q '^CAVEAT' '$dir/runs'"
check 'trim: hundreds of MiB go back' says 'trim --pid' '^released [0-9]{3}\.[0-9] MiB; '
check 'maps: VIRT is reserve' says 'maps --pid [0-9]*$' '^reserve +[0-9.]+ TiB +0 B '
check 'maps: equal to the kernel' says 'maps --pid [0-9]*$' "^Equal to the kernel's own: VmSize, VmRSS,"
check 'maps: arenas have grown' says '--diff' '^ *\+[0-9.]+ MiB +\+[0-9.]+ MiB .*thread arenas$'
check 'count: a server begins to' says 'count start' '^mariadbd [0-9]+ counts from now on$'
check 'count: with what it had' says 'count start' '^in use so far: ~?[0-9.]+ MiB'
check 'count: and no more' says 'count stop' '^mariadbd [0-9]+ does not count any more: '
check 'record: the leak has its line' says 'record report.*--since' '^ *\+[0-9.]+ MiB +\+20000 .* remember queue\.c:16$'
check 'stacks: it waits in main' says 'stacks --pid' '^  #[0-9]+ +0x[0-9a-f]+ main at queue\.c:35 in queue$'
check 'log: the peak is in the middle' says 'timeline logs$' '^peak 51\.5 MiB at [0-9.]+ s; at the end 13\.1 MiB in 66000 blocks$'
check 'log: who had it' says 'timeline logs --peak' '^40\.0 MiB .* export_orders$'
check 'log: who has grown' says 'timeline logs --from' '^ *\+[0-9.]+ MiB .* remember_client$'
check 'web: the server uses its memory' says 'info --pid [0-9]*$' '^VERDICT +live-large: '
check 'web: retained comes next' says 'info --pid [0-9]*$' '^NEXT +memdiag retained .*-p [0-9]+$'
check 'web: most is bytes of Python' says 'types --pid' '^ *3[0-9]{2}\.[0-9] MiB .* 5[0-9]{3}  python .* bytes$'
check 'web: which its pages hold' says 'retained --pid.*--lines 4$' '^ *3[0-9]{2}\.[0-9] MiB +9[0-9]\.[0-9]% +50[0-9]{2}  objects of Python: Page$'
check 'web: others are lost' says 'retained --pid.*--lines 4$' ' (49|50)[0-9]{2}  nothing: see memdiag leaks$'
check 'web: the graph has the pages' says 'retained --pid.*--format=tree' '^ *3[0-9]{2}\.[0-9] MiB .*  bytes [(]50[0-9]{2}[)]$'
check 'web: a page has the largest block' says 'retained --pid.*--holds' '^objects of Python: Page$'
check 'web: and nothing else has' says 'retained --pid.*--holds' '^No other place has its address$'
check 'web: a block for each visit is lost' says 'leaks --pid' '^Unreachable: [0-9.]+ KiB in (49|50)[0-9]{2} blocks'
check 'web: the pages have their code' says 'report web.heap' ' Page\.__init__$'
check 'web: what is lost has its line' says 'leaks --pid' ' count_visit at stats\.c:13 in stats\.so$'
check 'trace: malloc has nothing of it' says 'info --pid [0-9]*$' '^VERDICT +other-allocator: '
check 'trace: it is mapped' says 'maps.*--by=mapping' ' 192\.0 MiB +[0-9.]+ MiB .* anon over 64 MiB'
check 'trace: each call has its stack' says 'trace.*--min-size' '^ .* mmap +128\.0 MiB .* map_table <- sort_day <- main'
check 'trace: what is left' says 'trace.*--min-size' '^64\.0 MiB mapped in 1 call, 0 B of it freed, 64\.0 MiB left, [0-9.]+ MiB resident'
check 'trace: whose it is' says 'trace.*--min-size' '^  #2 .* load_day at orders\.c:14 in orders$'
check 'trace: who touches it' says 'trace.*--rss' '^  #0 .* index_day at orders\.c:20 in orders$'
check 'redis: jemalloc is asked' says 'info --pid [0-9]*$' '^redis-server [0-9]+ \(jemalloc [0-9.]+, '
check 'redis: its memory is in pieces' says 'info --pid [0-9]*$' '^VERDICT +fragmented: '
check 'redis: trim' says 'trim --pid [0-9]*$' 'jemalloc purged for '
check 'a hundred servers: their sum' says 'query.*sum by' '^{group="[a-z@.-]*"} => [0-9]+ @'
check 'a hundred servers: watch' says 'watch --pid' '^RSS [0-9.]+ MiB'
check 'a hundred servers: check' says 'check --pid' '^MEMDIAG OK - '
check 'tcmalloc: it is named' says 'info --pid [0-9]*$' 'not use glibc malloc but tcmalloc'
check 'tcmalloc: not supported' says 'info --pid [0-9]*$' '^\[exit status 5\]'
check 'somebody else: the cause' says setpriv 'belongs to uid 0, and we are uid 65534'
check 'somebody else: not permitted' says setpriv '^\[exit status 4\]'
finish
