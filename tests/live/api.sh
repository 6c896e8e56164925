#!/bin/sh
# The installed library that programs link with: they get numbers under the agent and plain answers
# without it, and those written for MemTracer find what they know.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"

[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need pkg-config jq
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
check 'without the agent the program gets plain answers' answers '0 0 0 0 1' "$dir/program"
check 'under the agent the program gets numbers' answers '1 1000 1 1 1' $run -q --account=requested "$dir/program"
check 'the program finds its limit under the agent' answers '1 1000 1 1 0' $run -q --account=requested --limit 1G "$dir/program"
check 'with the agent preloaded by hand the program gets the same answers' answers '1 1000 1 1 1' \
	env MEMDIAG_AGENT='follow;account=requested' \
	LD_PRELOAD="$root/$(pkg-config --variable=agent memdiag | sed "s,^$root,,")" "$dir/program"
check 'a program that is not position-independent builds' builds fixed "$CC" -no-pie -fno-pic "$dir/program.c"
check 'without the agent a program that is not position-independent gets plain answers' answers '0 0 0 0 1' "$dir/fixed"
check 'under the agent a program that is not position-independent gets numbers' answers '1 1000 1 1 1' $run -q --account=requested "$dir/fixed"
if command -v "$CXX" >/dev/null; then
	cp "$dir/program.c" "$dir/program.cc"
	check 'a C++ program builds' builds plus "$CXX" "$dir/program.cc"
	check 'under the agent a C++ program gets numbers' answers '1 1000 1 1 1' $run -q --account=requested "$dir/plus"
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
check 'a program with weak references to the API builds' builds weak "$CC" -pie -fPIE "$dir/weak.c"
check 'a weak reference to the API is null without the agent' answers -1 "$dir/weak"
check 'a weak reference to the API is found under the agent' answers 1 $run -q "$dir/weak"

# ---- a record ----

cat >"$dir/recorder.c" <<'END'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <memdiag.h>

static void *volatile kept[10];

static void __attribute__((noinline)) keep_ten(void)
{
	for (int i = 0; i < 10; i++)
		kept[i] = malloc(1000); /* here */
}

int
main(void)
{
	if (memdiag_record_start(MEMDIAG_RECORD_MEM_FAST) < 0) {
		printf("%s %d\n", strerror(errno), memdiag_record_is_on());
		return memdiag_record_stop() != -1 || memdiag_record_report(1) != -1;
	}
	keep_ten();
	return memdiag_record_report(STDOUT_FILENO) < 0 || memdiag_record_stop() < 0;
}
END
flags=$(pkg-config --cflags --libs memdiag)
place="keep_ten recorder.c:$(sed -n '/here/=' "$dir/recorder.c")"
check 'a program that records itself builds' builds recorder "$CC" -g -O1 "$dir/recorder.c"
check 'without the agent the answer says so' answers 'Function not implemented 0' "$dir/recorder"
LD_LIBRARY_PATH=$libdir $run -q "$dir/recorder" >"$dir/recorded.heap" 2>"$dir/err"
check 'under the agent it writes what it has recorded' test $? = 0
cat "$dir/err"
check 'which memdiag reads' exits 0 memdiag record report "$dir/recorded.heap" --json
check 'with function, line, bytes and blocks' json_is "[.data.rows[] | select(.flat > 0)] |
	length == 1 and .[0].name == \"$place\" and .[0].flat == 10000 and .[0].blocks == 10"

# ---- MemTracer's ---------------------------------------------------------------------------------

if command -v "$CXX" >/dev/null; then
	flags="-I$(find "$root" -name include -type d) -L$libdir -lmemtracer"
	check "a program for MemTracer's header builds" builds tracer "$CXX" -std=c++17 -pthread \
		"$top_srcdir/tests/agent/memtracer.cc"
	check "the numbers of a program with MemTracer's library are right to the byte" env LD_LIBRARY_PATH="$libdir" "$dir/tracer"
	check "with MemTracer's library preloaded the numbers are right to the byte" env LD_LIBRARY_PATH="$libdir" \
		LD_PRELOAD="$libdir/libmemtracer.so" "$dir/tracer"
	check "with MemTracer's variable the program finds its limit" sh -c "LD_LIBRARY_PATH='$libdir' \
		MT_MEMORY_LIMIT=2000000000 '$dir/tracer' | grep -q ' 2000000000$'"
else
	skip 'programs for its header' 'there is no C++ compiler'
fi

env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" uninstall DESTDIR="$root" \
	>"$dir/install.log" 2>&1
check 'uninstalling leaves nothing' sh -c "[ -z \"\$(find '$root' ! -type d)\" ]"
finish
