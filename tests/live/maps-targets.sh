#!/bin/sh
# Processes of all sorts: whatever it is, each byte is counted once and the kernel agrees; and what
# may not be seen is said to be so.
. "$top_srcdir/tests/live/lib.sh"
need python3 setpriv unshare

sound="($all_same)"' and
	(.data.totals.virt_bytes == ([.data.groups[].virt_bytes] | add)) and
	(.data.totals.rss_bytes == ([.data.groups[].rss_bytes] | add))'

# shellcheck disable=SC2120 # check passes them
maps()	# maps ARGUMENTS: a snapshot of the tracee
{
	exits 0 memdiag maps "$tracee_pid" --json "$@"
}

maps_is_sound()
{
	maps && json_is "$sound"
}

whole()	# whole WORDS: maps works on the tracee, and the sums are right
{
	check "$1" maps
	# A program that has just said that it is ready may still be at work, and change while maps reads it.
	check "$1: every byte is counted, and the kernel agrees" soon maps_is_sound
}

# ---- other kinds of programs ----
for form in static i386 musl; do
	if [ -x "$TRACEES/idle-$form" ]; then
		start_tracee "idle-$form"
		whole "$form"
		check "$form: the program and a stack are seen" json_is \
			'[.data.groups[].name] | index("exe") != null and index("stack") != null'
		check 'the target lives on' end_tracee
	else
		skip "$form" 'such a program cannot be built or run here'
	fi
done
start_tracee zombie-leader
check "glibc's malloc needs no word" sh -c "! '$MEMDIAG' maps $tracee_pid | grep '^malloc is'"
whole 'the first thread has ended'
check 'the target lives on' end_tracee
start_tracee manythreads 200
whole '200 threads'
check 'maps --by=thread of 200 threads' maps --by=thread
check 'maps --by=thread of 200 threads has all of them' json_is '[.data.groups[].name | select(test("^[0-9]+ "))] | length >= 200'
check 'the target lives on' end_tracee

# ---- other allocators ----
# Big and small blocks, made and freed: what lies where differs from one allocator to the next.
cat >"$dir/blocks.py" <<'PROGRAM'
import sys
blocks = [bytes(size) for size in (100, 5000, 300000, 3000000) for _ in range(50)]
del blocks[::2]
print("ready", flush=True)
sys.stdin.read()
print("alive", flush=True)
PROGRAM
for allocator in libtcmalloc_minimal.so.4 libjemalloc.so.2 libmimalloc.so.2; do
	if ! ldconfig -p | grep -q "$allocator"; then
		skip "$allocator" 'it is not installed'
		continue
	fi
	start_command env LD_PRELOAD="$allocator" "$TRACEES/idle"
	whole "$allocator"
	check 'the target lives on' end_tracee
	start_command env LD_PRELOAD="$allocator" PYTHONMALLOC=malloc python3 "$dir/blocks.py"
	whole "$allocator at work"
	name=${allocator#lib}
	name=${name%%[._]*}
	check 'the owner of that malloc is reported' json_is \
		".data.malloc | .name == \"$name\" and (.path | contains(\"$allocator\"))"
	heap='[.data.groups[].parts[]? | select(.name == "mimalloc heap")]'
	if [ "$name" = mimalloc ]; then
		check 'the memory of that malloc is known by its place' json_is \
			"$heap | map([.confidence, .rss_bytes > 75000000]) == [[\"guess\", true]]"
	else
		check 'the memory of that malloc is not known' json_is "$heap == []"
	fi
	check 'maps of another malloc as text' exits 0 memdiag maps "$tracee_pid"
	check 'maps of another malloc as text: where to look for the rest' grep -q "^malloc is $name's (.*$allocator" "$dir/out"
	check 'the target lives on' end_tracee
done

# ---- libraries that are hard to reach ----
library=$(ldd "$MEMDIAG" | awk '/libexpat/ { print $3 }')
cp "$library" "$dir/libgone.so"
start_command env LD_PRELOAD="$dir/libgone.so" "$TRACEES/idle"
rm "$dir/libgone.so"
whole 'a library that is deleted'
check 'maps --by=object of a library that was deleted' maps --by=object
check 'a library that was deleted is a library, and deleted' json_is '[.data.groups[] |
	select(.name | endswith("/libgone.so (deleted)")) | .confidence] == ["verified"]'
check 'the target lives on' end_tracee

mkdir "$dir/there"
# shellcheck disable=SC2016 # the inner shell's
if unshare -m true 2>/dev/null; then
	start_command unshare -m sh -c 'mount -t tmpfs none "$1/there" &&
		cp "$2" "$1/there/libthere.so" && LD_PRELOAD="$1/there/libthere.so" exec "$3"' \
		sh "$dir" "$library" "$TRACEES/idle"
	whole 'another mount namespace'
	check 'maps --by=mapping of a library on a tmpfs that memdiag cannot see' maps --by=mapping
	check 'a library on a tmpfs that memdiag cannot see is a library' json_is '[.data.mappings[] |
		select(.path // "" | endswith("/libthere.so")) | .class] | unique == [".so"]'
	check 'the target lives on' end_tracee
else
	skip 'another mount namespace' 'none can be made here'
fi

# ---- who may see what ----
cp "$MEMDIAG" "$TRACEES/idle" "$dir"
as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'

if [ "$(id -u)" -eq 0 ]; then
	# shellcheck disable=SC2086 # words
	start_command $as_nobody "$dir/idle"
	theirs=$tracee_pid
	# shellcheck disable=SC2086
	check 'the user nobody sees a process of their own' sh -c \
		"$as_nobody '$dir/memdiag' maps '$theirs' --json >'$dir/out'"
	check 'the user nobody sees all of a process of their own' json_is "$sound"
	start_tracee idle
	# shellcheck disable=SC2086
	check "nobody sees root's totals only" exits_saying 2 'CAP_SYS_PTRACE is missing' captured \
		$as_nobody "$dir/memdiag" maps "$tracee_pid" --json
	check 'the totals that nobody sees of a process of root are right' json_is ".partial and .data.totals.virt_bytes == \
		$(awk '/^VmSize/ { print $2 * 1024 }' "/proc/$tracee_pid/status") and (.warnings | length) == 1"
	# shellcheck disable=SC2086
	check 'nobody sees the totals of a process of root as text' exits_saying 2 'CAP_SYS_PTRACE is missing' captured \
		$as_nobody "$dir/memdiag" maps "$tracee_pid"
	check 'nobody sees VIRT of a process of root' grep -q '^idle .* VIRT ' "$dir/out"
	check 'the target lives on' end_tracee
	tracee_pid=$theirs
	check 'without the right to open pagemap it is smaps' exits_saying 2 'CAP_DAC_READ_SEARCH' captured \
		setpriv --bounding-set=-dac_read_search,-dac_override \
		"$dir/memdiag" maps "$tracee_pid" --json
	check 'without the right to open pagemap: smaps has all of it' json_is ".partial and .data.rss_from == \"smaps\" and $sound"
	check 'without the right to open pagemap: --rss-from=pagemap is partial' exits_saying 2 'CAP_DAC_READ_SEARCH' captured \
		setpriv --bounding-set=-dac_read_search,-dac_override \
		"$dir/memdiag" maps "$tracee_pid" --json --rss-from=scan
	check 'without the right to open pagemap: --rss-from=pagemap has VIRT, and no RSS' json_is '.data.rss_from == "none" and
		(.data.groups | all(.rss_bytes == null and .virt_bytes > 0))'
	check 'the target lives on' end_tracee
else
	skip 'who may see what' 'only root can become somebody else'
fi

# ---- targets that do not hold still ----
start_tracee churn
unexplained=0
for _ in 1 2 3 4 5; do
	memdiag maps "$tracee_pid" --json || unexplained=99
	json_is '.data.identities | all(.difference_bytes == 0 or .explained_by != "not explained")' ||
		unexplained=$((unexplained + 1))
done
check 'differences of a busy target have a reason' test "$unexplained" -eq 0
check 'the target lives on' end_tracee

ends_meanwhile()
{
	nr=$((nr + 1))
	sleep "0.00$((nr % 10))" &
	exits '0 3' memdiag maps $! --json
	status=$?
	wait $!
	return $status
}
nr=0
check 'a target that ends meanwhile' each_of 40 ends_meanwhile
finish
