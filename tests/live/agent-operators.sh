#!/bin/sh
# Operator new and delete of C++ under the agent: counted whichever malloc is behind it; and where a program or a
# library has replaced them, those are called as they would be without it.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"

AGENT=$top_builddir/libmemdiag-agent.so
[ -e "$AGENT" ] || skip_all "the agent is not made for this processor"
CXX=${CXX:-c++}
command -v "$CXX" >/dev/null || skip_all 'there is no C++ compiler'
source=$top_srcdir/tests/agent/replaced.cc
lib=$(dirname "$(ldconfig -p | sed -n 's/.*(libc6,x86-64).* //p' | grep '/libc\.so\.6$' | head -n 1)")

# compile OUTPUT SOURCE WORDS...
compile()
{
	local output="$1" from="$2"
	shift 2
	"$CXX" -std=c++17 -O1 -pthread -I"$top_srcdir/include" -I"$top_srcdir/src" -I"$top_srcdir/tests/unit" \
		-o "$dir/$output" "$from" "$@" || exit
}

compile libpool.so "$source" -DPOOL -fPIC -shared
compile inside "$source" -DPOOL -DUSE
compile library "$source" -DUSE "$dir/libpool.so" -Wl,-rpath,"$dir"
compile none "$source" -DUSE -DNONE
compile cxx "$top_srcdir/tests/agent/cxx.cc"
compile plugin.so "$top_srcdir/tests/agent/cxx.cc" -Dmain=plugin_main -fPIC -shared
${CC:-cc} -x c -O1 -D_GNU_SOURCE -DHOST="\"$dir/plugin.so\"" -o "$dir/host" "$source" -ldl || exit
compile fail.so "$source" -DFAIL -fPIC -shared -static-libstdc++ -static-libgcc
${CC:-cc} -x c -O1 -D_GNU_SOURCE -DHOST="\"$dir/fail.so\"" -o "$dir/fail" "$source" -ldl || exit

# pool PRELOADED PROGRAM: how often the program's own operators were called, or by what it ended: where a malloc has
# operators, too, but not all (mimalloc), a program that replaces some of them is given blocks of both.
pool()
{
	MEMDIAG_AGENT="follow;${settings:-account=usable}" LD_PRELOAD="$1" timeout 600 "$dir/$2" 2>&1 || echo "status $?"
}

# as_before PROGRAM BEFORE BEHIND: whether they are called as often as without the agent.
as_before()
{
	local without with
	without=$(pool "$2 $3" "$1")
	with=$(pool "$2 $AGENT $3" "$1")
	echo "without the agent $without, with it $with"
	[ "$without" = "$with" ]
}

# throws BEHIND: whether both operators of the plugin throw what it catches.
throws()
{
	[ "$(pool "$AGENT $1" fail | tee /dev/stderr | grep -cx 'caught bad_alloc')" -eq 2 ]
}

# all_is_well BEHIND COMMAND...: whether the program says so.
all_is_well()
{
	local behind="$1"
	shift
	MEMDIAG_AGENT="follow;$settings" LD_PRELOAD="$AGENT $behind" timeout 600 "$@" >"$dir/tap" 2>&1 &&
		grep -q '^1\.\.' "$dir/tap" && ! grep -q '^not ok' "$dir/tap" || {
		grep -A 1 '^not ok' "$dir/tap" || tail -n 3 "$dir/tap"
		return 1
	}
}

check 'the program has operators of its own' test "$(pool '' inside)" != '0 0'
check 'and those of a library' test "$(pool '' library)" != '0 0'
check 'a C++ library inside of a plugin: its handler is called' as_before fail '' ''
for name in '' libjemalloc.so.2 libtcmalloc.so.4 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	what=${name:-glibc}
	behind=${name:+$lib/$name}
	if [ -n "$name" ] && [ ! -e "$behind" ]; then
		skip "$name" 'it is not installed'
		continue
	fi
	for account in usable requested; do
		settings=account=$account
		check "$what, $account: the program's own operators" as_before inside '' "$behind"
		check "$what, $account: a library's" as_before library '' "$behind"
		check "$what, $account: one in front" as_before none "$dir/libpool.so" "$behind"
		check "$what, $account: one behind" as_before none '' "$dir/libpool.so $behind"
		settings="account=$account;on-limit=enomem;limit=50000000"
		check "$what, $account: counted, limited" all_is_well "$behind" "$dir/cxx"
		check "$what, $account: std::bad_alloc by a C++ library inside of a plugin" throws "$behind"
		check "$what, $account: in a plugin of a C program" all_is_well "$behind" "$dir/host"
	done
done
finish
