#!/bin/sh
# heap --core says of a core file what heap says of the process: on every release of glibc, of static
# programs, with the files elsewhere; and says what lacks in one that was cut off.
# shellcheck disable=SC3045 # every sh we know has these limits
. "$top_srcdir/tests/live/lib.sh"
need gcore

# gcore says which memory it could not read, and writes zeroes in its place.
write_core()
{
	gcore -o "$dir/core" "$tracee_pid" >"$dir/gcore" 2>&1 && return
	cat "$dir/gcore"
	return 1
}

# Whether that was the threads' stacks: since 2.42 their guard pages are part of the mapping
# (MADV_GUARD_INSTALL, nptl/allocatestack.c).  The page of vsyscall can never be read.
lacks_stacks()
{
	grep 'Memory read failed' "$dir/gcore" | grep -qv 'at 0xffffffffff600000'
}

# core_of_tracee: what gcore writes of it, and what is said of both.  Sets core.
core_of_tracee()
{
	core=$dir/core.$tracee_pid
	check "$1: the process" exits 0 memdiag heap --pid "$tracee_pid" --json --max-stop 300s
	mv "$dir/out" "$dir/live.json"
	check "$1: its document" exits 0 memdiag heap --pid "$tracee_pid" --xml --max-stop 300s
	mv "$dir/out" "$dir/live.xml"
	check "$1: gcore" write_core
}

# The members that do not depend on which pages are zero, or on whether caches are known.
chunks()
{
	jq -c '.data | .glibc, (.arenas[] | [.index, .address, .heaps, .system_bytes, .in_use_bytes,
		.cached_bytes, .fast_bytes, .binned_bytes, .top_bytes, .threads]), .sizes' "$1"
}

same_chunks()
{
	chunks "$dir/live.json" >"$dir/a" && chunks "$dir/out" >"$dir/b" &&
		[ -s "$dir/a" ] && diff "$dir/a" "$dir/b"
}

# same_certainty: of the arenas; less where the stacks of both threads lack.
same_certainty()
{
	if lacks_stacks; then
		json_is '(.data.threads_with_unknown_cache == 2) and
			([.data.arenas[] | .certainty == "consistent" and
				.why == "it is not known what some of its threads have cached"] | all) and
			(.warnings | map(test("storage of 2 of 3 threads")) | any)'
	else
		json_is '(.data.threads_with_unknown_cache == 0) and
			(.warnings | map(test("storage of")) | any | not)' &&
			jq -c '[.data.arenas[].certainty]' "$dir/live.json" >"$dir/a" &&
			jq -c '[.data.arenas[].certainty]' "$dir/out" | diff "$dir/a" -
	fi
}

core_is_same()
{
	core_of_tracee "$1"
	check "$1: the core file" exits 0 memdiag heap --core "$core" --json
	check "$1: has the same chunks" same_chunks
	check "$1: as certain as it can be" same_certainty
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
check 'without its notes it is not a core file' exits 5 memdiag heap --core "$core"
check 'a core file that was cut off is named so' grep -q 'was cut off' "$dir/err"
gzip -c "$core" >"$dir/core.gz"
check 'a packed one' exits 5 memdiag heap --core "$dir/core.gz"
check 'a compressed core file: gzip -d is advised' grep -q 'gzip -d' "$dir/err"
check 'a program' exits 5 memdiag heap --core "$MEMDIAG"
check 'a program is not a core file' grep -q 'not a core file but a program' "$dir/err"
printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\004\000\026\000\001\000\000\000' >"$dir/other"
check 'one that ends in its header' exits 5 memdiag heap --core "$dir/other"
check 'a core file cut off within its headers is named so' \
	grep -q 'cut off within its headers' "$dir/err"
head -c 40 /dev/zero >>"$dir/other"
check 'one of another machine' exits 5 memdiag heap --core "$dir/other"
check 'a core file of another machine is named so' \
	grep -q 'machine memdiag does not know (ELF machine 22' "$dir/err"
: >"$dir/empty"
check 'an empty file is not a core file' exits 5 memdiag heap --core "$dir/empty"
check 'a file of text is not a core file' grep -q 'is not a core file' "$dir/err"
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
	check 'kernel: the process' exits 0 memdiag heap --pid "$tracee_pid" --json --max-stop 300s
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
	check 'kernel: for sure' json_is '.warnings == [] and .data.certainty == "exact"'
	rm -f "$core"

	ulimit -S -c unlimited
	start_tracee idle 2
	echo 0x03 >"/proc/$tracee_pid/coredump_filter"
	kill -ABRT "$tracee_pid"
	wait "$tracee_pid" 2>"$dir/wait"
	ulimit -S -c 0
	core=$(ls "$dir/kernel/$pattern"*)
	check 'kernel: without ELF headers' exits 5 memdiag heap --core "$core"
	check 'kernel: it is said which filter is needed' grep -q 'echo 0x33' "$dir/err"
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
	skip 'a core file of 32 bit' 'such a program cannot be built or run here'
fi

# ---- a program that was somewhere else ----
mkdir "$dir/was" "$dir/is"
cp "$TRACEES/idle" "$dir/was/idle"
start_command "$dir/was/idle" 2
core_of_tracee 'another place'
mv "$dir/was/idle" "$dir/is/idle"
check 'where the program is gone' exits 0 memdiag heap --core "$core" --json
check 'chunks are the same' same_chunks
check 'as certain' same_certainty
check 'where it is elsewhere' exits 0 memdiag heap --core "$core" --sysroot "$dir/is" --json
check 'the same chunks are found with the program elsewhere' same_chunks
check 'the process lives on' end_tracee
finish
