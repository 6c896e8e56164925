#!/bin/sh
# What programs link with, as it is installed: they get numbers under the agent and plain answers
# without it, and those written for MemTracer find what they know.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"

[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need pkg-config
CC=${CC:-cc}
CXX=${CXX:-c++}

root=$dir/root
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" install DESTDIR="$root" \
	>"$dir/install.log" 2>&1 || {
	cat "$dir/install.log"
	exit 1
}
libdir=$(dirname "$(find "$root" -name libmemdiag.so.1)")
run="$(find "$root" -name memdiag -type f -perm -u=x) run"
PKG_CONFIG_SYSROOT_DIR=$root
PKG_CONFIG_LIBDIR=$libdir/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
flags=$(pkg-config --cflags --libs memdiag)

cat >"$dir/program.c" <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <memdiag.h>

int
main(void)
{
	size_t before = memdiag_live_bytes(), blocks = memdiag_live_blocks();
	void *volatile block = malloc(1000);

	printf("%d %ld %ld %d %d\n", memdiag_is_counting(), (long)(memdiag_live_bytes() - before),
		(long)(memdiag_live_blocks() - blocks), memdiag_peak_bytes() >= before + 1000,
		memdiag_limit_bytes() == SIZE_MAX);
	free(block);
	return memdiag_mapped_bytes() != 0;
}
END

# builds NAME COMPILER OPTIONS...
builds()
{
	program=$dir/$1
	shift
	# shellcheck disable=SC2086 # words
	"$@" -o "$program" $flags
}

# answers LINE COMMAND...
answers()
{
	line=$1
	shift
	LD_LIBRARY_PATH=$libdir "$@" >"$dir/out" 2>"$dir/err" || return
	[ "$(cat "$dir/out")" = "$line" ] || {
		cat "$dir/out" "$dir/err"
		return 1
	}
}

check 'a program builds' builds program "$CC" "$dir/program.c"
check 'without the agent it gets plain answers' answers '0 0 0 0 1' "$dir/program"
check 'under the agent numbers' answers '1 1000 1 1 1' $run -q --account=requested "$dir/program"
check 'and its limit' answers '1 1000 1 1 0' $run -q --account=requested --limit 1G "$dir/program"
check 'so it does with the agent preloaded by hand' answers '1 1000 1 1 1' \
	env MEMDIAG_AGENT='follow;account=requested' \
	LD_PRELOAD="$root/$(pkg-config --variable=agent memdiag | sed "s,^$root,,")" "$dir/program"
check 'code that is bound to its place' builds fixed "$CC" -no-pie -fno-pic "$dir/program.c"
check 'without the agent' answers '0 0 0 0 1' "$dir/fixed"
check 'and under it' answers '1 1000 1 1 1' $run -q --account=requested "$dir/fixed"
if command -v "$CXX" >/dev/null; then
	cp "$dir/program.c" "$dir/program.cc"
	check 'C++' builds plus "$CXX" "$dir/program.cc"
	check 'is served as well' answers '1 1000 1 1 1' $run -q --account=requested "$dir/plus"
fi

cat >"$dir/weak.c" <<'END'
#define MEMDIAG_WEAK __attribute__((weak))
#include <stdio.h>
#include <memdiag.h>

int
main(void)
{
	printf("%d\n", memdiag_is_counting ? memdiag_is_counting() : -1);
	return 0;
}
END
flags=$(pkg-config --cflags memdiag)
check 'a program that is linked with nothing' builds weak "$CC" -pie -fPIE "$dir/weak.c"
check 'finds no function without the agent' answers -1 "$dir/weak"
check 'and finds it under the agent' answers 1 $run -q "$dir/weak"

# ---- MemTracer's ---------------------------------------------------------------------------------

if command -v "$CXX" >/dev/null; then
	flags="-I$(find "$root" -name include -type d) -L$libdir -lmemtracer"
	check 'a program for its header builds' builds tracer "$CXX" -std=c++17 -pthread \
		"$top_srcdir/tests/agent/memtracer.cc"
	check 'and is right to the byte' env LD_LIBRARY_PATH="$libdir" "$dir/tracer"
	check 'with the library preloaded as well' env LD_LIBRARY_PATH="$libdir" \
		LD_PRELOAD="$libdir/libmemtracer.so" "$dir/tracer"
	check 'and its limit is that of the variable' sh -c "LD_LIBRARY_PATH='$libdir' \
		MT_MEMORY_LIMIT=2000000000 '$dir/tracer' | grep -q ' 2000000000$'"
else
	skip 'programs for its header' 'there is no C++ compiler'
fi

env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" uninstall DESTDIR="$root" \
	>"$dir/install.log" 2>&1
check 'uninstalling leaves nothing' sh -c "[ -z \"\$(find '$root' ! -type d)\" ]"
finish
