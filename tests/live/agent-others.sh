#!/bin/sh
# The agent with others that stand in front of libc's malloc: behind it, they are counted; before it,
# there is nothing to count.  In any order the program works.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"

AGENT=$top_builddir/libmemdiag-agent.so
[ -e "$AGENT" ] || skip_all "the agent is not made for this processor"
programs=$top_builddir/tests/agent
lib=$(dirname "$(ldconfig -p | sed -n 's/.*(libc6,x86-64).* //p' | grep '/libc\.so\.6$' | head -n 1)")

# tap LIBRARIES SETTINGS PROGRAM...: whether it says that all is well.
tap()
{
	local libraries="$1" settings="$2" program="$3"
	shift 3
	MEMDIAG_AGENT="follow;$settings" LD_PRELOAD="$libraries" timeout 600 "$programs/$program" "$@" \
		>"$dir/tap" 2>"$dir/tap.err" && grep -q '^1\.\.' "$dir/tap" &&
		! grep -A 1 '^not ok' "$dir/tap" || {
		grep -A 1 '^not ok' "$dir/tap" || tail -n 3 "$dir/tap" "$dir/tap.err"
		return 1
	}
}

# Whether sort prints the same as without an agent.  It calls reallocarray(), which jemalloc lacks.
works()
{
	MEMDIAG_AGENT="follow;$1" LD_PRELOAD="$2" timeout 600 sort -n "$dir/numbers" \
		>"$dir/sorted" 2>"$dir/sort.err" && cmp "$dir/sorted" "$dir/expected"
}

seq 100000 -1 1 >"$dir/numbers"
seq 1 100000 >"$dir/expected"
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2 libc_malloc_debug.so.0; do
	if [ ! -e "$lib/$name" ]; then
		skip "$name" 'it is not installed'
		continue
	fi
	behind="$AGENT $lib/$name"
	check "$name behind: exact" tap "$behind" account=usable exact other
	check "$name behind: exact, requested bytes" \
		tap "$behind" account=requested exact requested other
	check "$name behind: limit" \
		tap "$behind" 'on-limit=enomem;limit=12000000' limit rounds
	check "$name behind: threads" tap "$behind" account=requested threads
	check "$name behind: fork" tap "$behind" account=requested fork _Fork
	check "$name before: it works" works account=requested "$lib/$name $AGENT"
done
# It has a header in front of its blocks, and leaves malloc_usable_size() to libc.
if [ -e "$lib/libmemusage.so" ]; then
	for account in usable requested; do
		check "libmemusage.so behind, $account bytes" \
			works account=$account "$AGENT $lib/libmemusage.so"
		check "libmemusage.so before, $account bytes" \
			works account=$account "$lib/libmemusage.so $AGENT"
	done
else
	skip libmemusage.so 'it is not installed'
fi
finish
