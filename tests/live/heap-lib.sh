# heap-lib: for tests of real servers: whether heap says of one what its own malloc_info says, and
# of a core file of it the same.
# shellcheck disable=SC2154,SC3043 # lib.sh sets the rest; every sh we know has local

# standing PID COMMAND...: run COMMAND while PID is stopped.
standing()
{
	standing_pid=$1
	shift
	kill -STOP "$standing_pid"
	until grep -q '^State:.*T' "/proc/$standing_pid/status"; do
		sleep 0.01
	done
	"$@"
	standing_status=$?
	kill -CONT "$standing_pid"
	return $standing_status
}

# same_xml OPTIONS...: whether heap --xml of the tracee is malloc_info's document.
same_xml()
{
	exits 0 memdiag info --method=inject --max-lock 600s --xml --pid "$tracee_pid" && mv "$dir/out" "$dir/theirs" &&
		exits 0 memdiag heap --xml --pid "$tracee_pid" --max-stop 300s "$@" && diff "$dir/theirs" "$dir/out"
}

# heap_adds_up PID: whether all of it adds up.
heap_adds_up()
{
	exits 0 memdiag heap --pid "$1" --max-stop 300s --json &&
		json_is '.data.arenas | length > 0 and all(
			.system_bytes == .in_use_bytes + .cached_bytes + .fast_bytes +
				.binned_bytes + .top_bytes + .overhead_bytes and
			.resident_bytes == ([.accounting[].bytes] | add) and
			.resident_bytes == (.pages | .live_bytes + .mixed_bytes +
				.trimmable_bytes + .cached_bytes + .top_bytes))'
}

# heap_is_exact PID: whether all of it is known and adds up.  A thread of the server may be at work in an arena
# when it is stopped, which is not exact then: it is looked at again, at another moment.
heap_is_exact()
{
	local end
	clock
	end=$((now + patience))
	while [ "$now" -lt "$end" ]; do
		standing "$1" heap_adds_up "$1" || return
		[ "$(json .data.certainty)" != exact ] || return 0
		json '.data.arenas[] | select(.certainty != "exact") | "\(.index): \(.why)"'
		json_is '.data.arenas | all(.certainty == "exact" or .why == "a thread was at work in it")' ||
			return
		sleep 0.5
		clock
	done
	patience=2
	return 1
}

# xml PID FILE COMMAND...: the document of a command of memdiag, into FILE.
xml()
{
	xml_pid=$1
	xml_file=$2
	shift 2
	exits 0 memdiag "$@" --xml --pid "$xml_pid" && mv "$dir/out" "$xml_file"
}

# malloc_info_is_same PID: a server has threads that allocate now and then, so heap before
# malloc_info and heap after it both count, and it is tried again: also when the server still puts things in order
# after a load.
malloc_info_is_same()
{
	local end
	clock
	end=$((now + patience))
	while [ "$now" -lt "$end" ]; do
		xml "$1" "$dir/before" heap --max-stop 300s &&
			xml "$1" "$dir/theirs" info --method=inject &&
			xml "$1" "$dir/after" heap --max-stop 300s || return
		! cmp -s "$dir/theirs" "$dir/before" || return 0
		! cmp -s "$dir/theirs" "$dir/after" || return 0
		sleep 0.25
		clock
	done
	patience=2
	echo "not equal after many tries"
	diff "$dir/theirs" "$dir/after" | head -n 20
	return 1
}

# The members that do not depend on which pages are zero.
heap_chunks()
{
	jq -c '.data | (.arenas[] | [.index, .address, .heaps, .system_bytes, .in_use_bytes,
		.cached_bytes, .fast_bytes, .binned_bytes, .top_bytes, .certainty]), .sizes' "$1"
}

# take_core PID: what heap says goes to $dir/live.json, the core file is $dir/core.PID.
take_core()
{
	exits 0 memdiag heap --pid "$1" --max-stop 300s --json && mv "$dir/out" "$dir/live.json" &&
		gcore -o "$dir/core" "$1"
}

# core_is_same: whether the last heap --core says what $dir/live.json does.
core_is_same()
{
	heap_chunks "$dir/live.json" >"$dir/live" && heap_chunks "$dir/out" >"$dir/dead" &&
		[ -s "$dir/live" ] && diff "$dir/live" "$dir/dead" && jq -se '
			map([.data.arenas[].resident_bytes] | add) | .[1] <= .[0] and .[1] > 0' \
			"$dir/live.json" "$dir/out"
}

# core_mib PID: how large gcore may make its file, which has no holes: of a server that reserves
# memory that is tens of gigabytes.
core_mib()
{
	awk '/^VmSize/ { print int($2 / 1024) }' "/proc/$1/status"
}

# check_heap NAME PID: all of that, of a server that is quiet.
check_heap()
{
	check "$1: heap is exact and adds up" heap_is_exact "$2"
	echo "# $1: $(json '[.data.arenas[].resident_bytes] | add') bytes in" \
		"$(json '.data.arenas | length') arenas"
	check "$1: malloc_info says the same" malloc_info_is_same "$2"
	if ! command -v gcore >"$dir/gcore"; then
		skip "$1: a core file" 'gcore is not installed'
		return
	fi
	if [ "$(core_mib "$2")" -gt 4096 ]; then
		skip "$1: a core file" "it would be of $(core_mib "$2") MiB"
		return
	fi
	check "$1: a core file is made while it stands still" standing "$2" take_core "$2"
	check "$1: which can be read" exits 0 memdiag heap --core "$dir/core.$2" --json
	check "$1: and has the same in it" core_is_same
	rm -f "$dir/core.$2"
}
