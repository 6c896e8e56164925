#!/bin/sh
# Stacks of real programs, walked at each malloc by src/unwind: the walk that takes over from the last one is the same as
# one that does not, and one in a hundred is compared with _Unwind_Backtrace(). tests/agent/unwind-preload.c does it.
# MEMDIAG_TEST_SHARE=100 walks some millions of stacks.
# shellcheck disable=SC3043,SC2154,SC2317 # every sh we know has local; make sets it; check calls it
. "$top_srcdir/tests/live/lib.sh"
library=$top_builddir/tests/agent/unwind-preload.so
[ -e "$library" ] || skip_all "the library cannot be made here"

# walked WHOLE COMMAND...: run it; all walks must be right, and so many of a thousand complete.
walked()
{
	local whole="$1"
	shift
	rm -f "$dir/report"
	UNWIND_REPORT=$dir/report LD_PRELOAD=$library timeout 1200 "$@" >"$dir/out" 2>"$dir/err" </dev/null || {
		tail -n 5 "$dir/err"
		return 1
	}
	sed 's/^/# /' "$dir/report"
	awk -v whole="$whole" '{
		for (i = 2; i < NF; i++)
			n[$i] += $(i + 1)
	} END {
		exit n["walks"] < 100 || n["compared"] < 1 || n["wrong"] != 0 ||
			n["complete"] + n["cut"] < n["walks"] / 1000 * whole
	}' "$dir/report" || {
		grep '^# ' "$dir/out" | head -n 40
		return 1
	}
}

cat >"$dir/work.py" <<'EOP'
import ctypes, json, re, sys, threading
sys.setrecursionlimit(20000)
def recurse(n):
    return [n] + (recurse(n - 1) if n else [])
def work():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 20)(*range(20, 0, -1))
    for i in range(int(sys.argv[1])):
        json.loads(json.dumps([{str(k): [k] * 3} for k in range(300)]))
        re.compile("(a%d|b)*c+" % i)
        try:
            recurse(800)
            {}['x']
        except KeyError:
            pass
        ctypes.CDLL(None).qsort(numbers, 20, 4, compare(lambda a, b: int(str(a[0])) - int(str(b[0]))))
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
work()
[t.join() for t in threads]
EOP

if command -v /usr/bin/python3 >/dev/null; then
	check 'python3' walked 1000 /usr/bin/python3 "$dir/work.py" "$(some 100)"
else
	skip 'python3' 'there is no /usr/bin/python3'
fi

if ${CXX:-c++} -O2 -pthread -o "$dir/cxx" "$top_srcdir/tests/agent/unwind-cxx.cc" 2>/dev/null; then
	check 'C++ with exceptions' walked 1000 "$dir/cxx" "$(some 100)"
	${CXX:-c++} -O0 -pthread -o "$dir/cxx0" "$top_srcdir/tests/agent/unwind-cxx.cc"
	check 'C++ that is not optimised' walked 1000 "$dir/cxx0" "$(some 20)"
	# ld.so does not find such a program by its beginning.
	${CXX:-c++} -O2 -pthread -no-pie -Wl,-z,max-page-size=0x200000 -o "$dir/gaps" \
		"$top_srcdir/tests/agent/unwind-cxx.cc"
	check 'a program with gaps between its segments' walked 1000 "$dir/gaps" "$(some 20)"
	# Functions are bound when they are called first, by code whose CFA is in rbx.
	${CXX:-c++} -O1 -pthread -Wl,-z,lazy -o "$dir/lazy" "$top_srcdir/tests/agent/unwind-cxx.cc"
	check 'a program that is bound lazily' walked 1000 "$dir/lazy" 1
	compiler=$(${CXX:-c++} -print-prog-name=cc1plus 2>/dev/null)
	if [ -x "$compiler" ]; then
		${CXX:-c++} -E -o "$dir/cxx.ii" "$top_srcdir/tests/agent/unwind-cxx.cc"
		check 'a compiler' walked 1000 "$compiler" -quiet -O1 -fpreprocessed "$dir/cxx.ii" -o /dev/null
	fi
else
	skip 'C++' 'there is no compiler for it'
fi

# Code that is made at run time keeps frame pointers there.
if command -v node >/dev/null; then
	check 'node' walked 990 node -e 'let a = [];
		for (let i = 0; i < +process.argv[1]; i++)
			a.push(JSON.stringify({ i, b: [i] }));
		a.sort();
		console.log(require("zlib").deflateSync(a.join("")).length)' "$(some 10000)"
else
	skip 'node' 'there is no node'
fi
# And mostly not here: such stacks end there.
if command -v java >/dev/null; then
	check 'java' walked 0 java -Xshare:auto -version
else
	skip 'java' 'there is no java'
fi
finish
