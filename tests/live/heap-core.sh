#!/bin/sh
# heap --core says of a core file what heap says of the process: on every release of glibc, of static
# programs, with the files elsewhere; and says what lacks in one that was cut off.
# shellcheck disable=SC3045 # every sh we know has these limits
deadline=300
. "$top_srcdir/tests/live/lib.sh"
need gcore

# core_of_tracee: what gcore writes of it, and what is said of both.  Sets core.
core_of_tracee()
{
	core=$dir/core.$tracee_pid
	check "$1: the process" exits 0 memdiag heap --pid "$tracee_pid" --json --max-stop-ms 5000
	mv "$dir/out" "$dir/live.json"
	check "$1: its document" exits 0 memdiag heap --pid "$tracee_pid" --xml --max-stop-ms 5000
	mv "$dir/out" "$dir/live.xml"
	check "$1: gcore" gcore -o "$dir/core" "$tracee_pid"
}

# What does not depend on which pages are zero.
chunks()
{
	jq -c '.data | .glibc, (.arenas[] | [.index, .address, .heaps, .system_bytes, .in_use_bytes,
		.cached_bytes, .fast_bytes, .binned_bytes, .top_bytes, .certainty, .threads]), .sizes' "$1"
}

same_chunks()
{
	chunks "$dir/live.json" >"$dir/a" && chunks "$dir/out" >"$dir/b" &&
		[ -s "$dir/a" ] && diff "$dir/a" "$dir/b"
}

core_is_same()
{
	core_of_tracee "$1"
	check "$1: the core file" exits 0 memdiag heap --core "$core" --json
	check "$1: has the same chunks" same_chunks
	check "$1: and pages, at least" json_is \
		'.warnings | map(test("at least what is said")) | any'
	check "$1: its document" exits 0 memdiag heap --core "$core" --xml
	check "$1: is the same" cmp "$dir/live.xml" "$dir/out"
}

on_release()
{
	start_release_tracee idle 2
	core_is_same "glibc $release"
	check "glibc $release: the process lives on" end_tracee
	rm -f "$core"
}
for_each_release on_release

# ---- cut off ----
start_tracee idle 2
core_is_same 'this glibc'
size=$(stat -c %s "$core")
truncate -s $((size / 2)) "$core"
check 'without its notes it is none' exits 5 memdiag heap --core "$core"
check 'and said why' grep -q 'was cut off' "$dir/err"
gzip -c "$core" >"$dir/core.gz"
check 'a packed one' exits 5 memdiag heap --core "$dir/core.gz"
check 'is to be unpacked' grep -q 'gzip -d' "$dir/err"
check 'a program' exits 5 memdiag heap --core "$MEMDIAG"
check 'is none' grep -q 'no core file but a program' "$dir/err"
printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\004\000\026\000\001\000\000\000' >"$dir/other"
check 'one that ends in its header' exits 5 memdiag heap --core "$dir/other"
check 'which is said' grep -q 'cut off within its headers' "$dir/err"
head -c 40 /dev/zero >>"$dir/other"
check 'one of another machine' exits 5 memdiag heap --core "$dir/other"
check 'which is said, too' grep -q 'machine memdiag does not know (ELF machine 22' "$dir/err"
: >"$dir/empty"
check 'nothing at all' exits 5 memdiag heap --core "$dir/empty"
check 'is none either' grep -q 'is no core file' "$dir/err"
check 'a directory' exits 5 memdiag heap --core "$dir"
check 'the process lives on' end_tracee
rm -f "$core"

# ---- the kernel's, which has holes ----
pattern=$(cat /proc/sys/kernel/core_pattern)
case $pattern in
*[/%\|]*)
	skip 'a core file of the kernel' "core_pattern is $pattern"
	;;
*)
	mkdir "$dir/kernel" && cd "$dir/kernel" && ulimit -S -c unlimited
	start_tracee bloat 32
	check 'kernel: the process' exits 0 memdiag heap --pid "$tracee_pid" --json --max-stop-ms 5000
	mv "$dir/out" "$dir/live.json"
	kill -ABRT "$tracee_pid"
	wait "$tracee_pid" 2>"$dir/wait"
	ulimit -S -c 0
	core=$(ls "$dir/kernel/$pattern"*)
	check 'kernel: the core file' exits 0 memdiag heap --core "$core" --json
	check 'kernel: has the same chunks' same_chunks
	check 'kernel: and the same pages' sh -c "
		pages='.data.arenas[] | [.resident_bytes, .pages]'
		jq -c \"\$pages\" '$dir/live.json' >'$dir/a'; jq -c \"\$pages\" '$dir/out' | diff '$dir/a' -"
	check 'kernel: for sure' json_is '.warnings == []'
	rm -f "$core"
	;;
esac

# ---- of 32 bit ----
if [ -x "$TRACEES/idle-i386" ]; then
	start_tracee idle-i386 2
	core_is_same i386
	check 'the process lives on' end_tracee
	rm -f "$core"
else
	skip 'a core file of 32 bit' 'there is no compiler for i386'
fi

# ---- a program that was somewhere else ----
mkdir "$dir/was" "$dir/is"
cp "$TRACEES/idle" "$dir/was/idle"
start_command "$dir/was/idle" 2
core_of_tracee 'another place'
mv "$dir/was/idle" "$dir/is/idle"
check 'where the program is gone' exits 0 memdiag heap --core "$core" --json
check 'chunks are the same' same_chunks
check 'where it is elsewhere' exits 0 memdiag heap --core "$core" --sysroot "$dir/is" --json
check 'they are the same, too' same_chunks
check 'the process lives on' end_tracee
finish
