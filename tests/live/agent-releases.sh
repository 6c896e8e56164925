#!/bin/sh
# The agent is one file for all releases of glibc from 2.17 on.  agent-releases-all.sh runs more programs.
: "${release_tests:=mappings}"
. "$top_srcdir/tests/live/lib.sh"

AGENT=$top_builddir/libmemdiag-agent.so
[ -e "$AGENT" ] || skip_all "the agent is not made for this processor"

needs_libc_alone()
{
	readelf -dW "$AGENT" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$dir/needed"
	echo libc.so.6 | diff - "$dir/needed"
}

# The newest version of any symbol that it takes from libc.
newest_is()
{
	readelf -VW "$AGENT" | grep -o -E 'GLIBC_[0-9.]+' | sort -V | tail -n 1 >"$dir/newest"
	printf '%s\n' GLIBC_2.17 "$(cat "$dir/newest")" | sort -V -C -r || {
		cat "$dir/newest"
		return 1
	}
}

# Words of thread-local storage: more may not fit when it is loaded late.
has_small_tls()
{
	size=$(readelf -lW "$AGENT" | awk '$1 == "TLS" { print $6 }')
	[ $((size)) -le 64 ] && [ $((size)) -gt 0 ]
}

if command -v readelf >/dev/null; then
	check 'it needs libc alone' needs_libc_alone
	check 'the agent takes no symbol newer than 2.17' newest_is
	check 'it takes a few words of every thread' has_small_tls
else
	skip 'what it needs' 'readelf is not installed'
fi

run_here()
{
	MEMDIAG_AGENT="follow${2:+;account=requested}" "$loader" --library-path "$libdir" \
		--preload "$AGENT" "$dir/$1" $2 >"$dir/tap" 2>&1 &&
		grep -q '^1\.\.' "$dir/tap" && ! grep -A 1 '^not ok' "$dir/tap" || {
		tail -n 3 "$dir/tap"
		return 1
	}
}

release()
{
	for name in $release_tests; do
		[ -x "$dir/$name" ] || "${CC:-cc}" --sysroot="$sysroot" \
			-B"$sysroot/usr/lib/${libdir##*/}" -O1 -pthread \
			-I"$top_srcdir/include" -I"$top_srcdir/src" \
			-I"$top_srcdir/tests/unit" -I"$top_srcdir/tests/agent" \
			-o "$dir/$name" "$top_srcdir/tests/agent/$name.c" || exit
		check "glibc $release: $name" run_here $name ''
	done
	case $release_tests in
	*exact*) check "glibc $release: exact, requested bytes" run_here exact requested ;;
	esac
}

# ld.so of 2.31 is the first that takes --preload.
for_each_release release
finish
