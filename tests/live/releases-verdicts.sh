#!/bin/sh
# The causes that tests/live/verdicts.sh proves on this machine's glibc, on other releases.
. "$top_srcdir/tests/live/lib.sh"
need jq
kinds='other-allocator virt-only live-large returned retained threshold-grown tops-stuck orphan-arenas
	pinned fragmented sparse cache-retained fork-shared mmapped-large mmap-limit main-in-pieces
	thread-stacks'
# Where there are more CPUs, as many arenas as that takes reserve a lot: another cause.
[ "$(nproc --all)" -gt 3 ] || kinds="$kinds arena-sprawl"
[ "$(id -u)" -ne 0 ] || kinds="$kinds locked"

# names WORDS: whether heap's verdicts are just that.
names()
{
	# On a machine that is busy with other tests threads take their time to stop.
	exits '0 2' memdiag heap --pid "$tracee_pid" --max-stop 300s --json &&
		[ "$(json '[.verdicts[].id] | join(" ")')" = "$1" ] || {
		json '.verdicts[] | "\(.id): \(.text)"'
		return 1
	}
}

try_release()
{
	start_release_tracee cause healthy
	check "$release: nothing to do" names ''
	check "$release: it lives on" end_tracee
	for kind in $kinds; do
		start_release_tracee cause "$kind"
		# It makes no more arenas than there are CPUs, or 8.
		[ "$kind $release" != 'arena-sprawl 2.44' ] || kind=retained
		check "$release: $kind" names "$kind"
		check "$release: $kind: it lives on" end_tracee
	done
}

for_each_release try_release
finish
