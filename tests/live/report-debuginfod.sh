#!/bin/sh
# Names that report gets by build-id from a debuginfod server, when the program is missing, replaced or stripped.
. "$top_srcdir/tests/live/lib.sh"
need python3 c++ strip
id=1234567890123456789012345678901234567891
/sbin/ldconfig -p | grep -q 'libdebuginfod\.so\.1 ' || skip_all 'libdebuginfod is not installed'

cat >"$dir/program.cc" <<'PROGRAM'
#include <stdio.h>
namespace shop {
__attribute__((noinline)) void *caller() { return __builtin_return_address(0); }
__attribute__((noinline)) void *outer() { void *p = caller(); __asm__ volatile(""); return p; }
}
int main()
{
	char line[4096];
	printf("%p\n", shop::outer());
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps)) fputs(line, stdout);
	return !maps;
}
PROGRAM
c++ -g -O1 -Wl,--build-id=0x$id -o "$dir/program" "$dir/program.cc" || skip_all 'this compiler gives no build-ids'
"$dir/program" >"$dir/maps"
{
	echo 'heap profile: 1: 100 [ 1: 100] @ heapprofile'
	echo '# memdiag heap 1'
	echo "1: 100 [ 1: 100] @ $(head -n 1 "$dir/maps")"
	echo 'MAPPED_LIBRARIES:'
	sed 1d "$dir/maps"
	sed -n "s,^\([0-9a-f]*\)-.* r-xp .*$dir/program,# build-id 0x\1 $id,p" "$dir/maps"
	echo '# end'
} >"$dir/made.heap"

# The server has the program without its symbols, and these apart, as debuginfod does.
mkdir -p "$dir/served/buildid/$id"
cp "$dir/program" "$dir/served/buildid/$id/debuginfo"
strip -o "$dir/served/buildid/$id/executable" "$dir/program"
python3 -u - "$dir/served" >"$dir/port" 2>"$dir/requests" <<'SERVER' &
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.HTTPServer(("127.0.0.1", 0), handler)
print(server.server_port)
server.serve_forever()
SERVER
server=$!
started="$started $server"
wait_for $server "$dir/port" '^[0-9]' || skip_all 'no server can listen here'

# names OPTIONS...: whether the function is named, with the server and an empty cache.
names()
{
	rm -rf "$dir/cache"
	DEBUGINFOD_URLS="http://127.0.0.1:$(cat "$dir/port")" DEBUGINFOD_CACHE_PATH="$dir/cache" no_proxy=127.0.0.1 \
		memdiag report "$dir/made.heap" "$@" || return
	cat "$dir/out" "$dir/err"
	grep -q 'shop::outer' "$dir/out"
}

unset DEBUGINFOD_URLS
mv "$dir/program" "$dir/kept"
check 'without a server a missing program has no names' sh -c \
	"'$MEMDIAG' report '$dir/made.heap' 2>'$dir/err' | grep -q 'program+0x' && grep -q 'cannot be read' '$dir/err'"
check 'the server names the functions of a missing program' names
check 'a program that the server has is not reported as missing' test ! -s "$dir/err"
c++ -O1 -Wl,--build-id=0x1111 -o "$dir/program" "$dir/program.cc"
check 'the server names the functions of a replaced program' names
strip -o "$dir/program" "$dir/kept"
check 'the server names the functions of a stripped program' names
check 'the server was asked by build-id' grep -q "GET /buildid/$id/debuginfo" "$dir/requests"
check 'lines of the source are known from the server' names --by=line
check 'the line is that of the call' grep -q 'shop::outer program.cc:4' "$dir/out"
finish
