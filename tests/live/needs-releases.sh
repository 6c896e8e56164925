#!/bin/sh
# The list of the system calls of each operation, compared with strace of the same operation on each release of glibc.
. "$top_srcdir/tests/live/lib.sh"
need jq strace

# made FROM TO: the calls between these marks in the output of strace, but those of the test itself.
made()
{
	awk -v from="close(-$1)" -v to="close(-$2)" '
		index($0, from) { is_in = 1; next }
		index($0, to) { is_in = 0 }
		is_in && match($0, /[a-z_0-9]+\(/) { print substr($0, RSTART, RLENGTH - 1) }' "$dir/strace" |
		grep -v -x -e tgkill -e gettid -e getpid -e clock_nanosleep -e nanosleep | sort -u
}

# listed ABOUT: the calls that doctor lists for it.
listed()
{
	jq -r ".data.findings[] | select(.about == \"$1\") | .text" "$dir/out" | sed 's/; with several threads also /, /' |
		tr -d ' ' | tr , '\n' | sort -u
}

# all_are_listed NR ABOUT
all_are_listed()
{
	made $((1000 + $1)) $((2000 + $1)) >"$dir/made"
	listed "$2" >"$dir/listed"
	echo "made: $(tr '\n' ' ' <"$dir/made")"
	[ -s "$dir/listed" ] && [ -z "$(comm -23 "$dir/made" "$dir/listed")" ]
}

compare()
{
	release_program operates || exit
	strace -f -o "$dir/strace" "$loader" --library-path "$libdir" "$program" </dev/null >"$dir/ignored"
	check "glibc $release: the program makes each operation" grep -q 'close(-2003)' "$dir/strace"
	start_release_tracee operates
	check "glibc $release: doctor" exits 0 memdiag doctor --pid "$tracee_pid" --json
	check "glibc $release: the calls of malloc_info() are listed" all_are_listed 1 'calls of info'
	check "glibc $release: the calls of malloc_trim() are listed" all_are_listed 2 'calls of trim'
	check "glibc $release: it takes madvise()" grep -q '^madvise$' "$dir/made"
	check "glibc $release: the calls of a helper are listed" all_are_listed 3 'calls of info'
	check "glibc $release: a helper takes clone() or clone3()" grep -q '^clone' "$dir/made"
	check "glibc $release: the calls for a free top are listed" all_are_listed 4 'calls of --tops'
	check "glibc $release: the target lives on" end_tracee
}

for_each_release compare
finish
