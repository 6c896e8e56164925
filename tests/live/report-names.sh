#!/bin/sh
# report-names: the function that allocates has its own name in the first row, of programs as people deploy them: replaced
# or deleted while they run, in a mount namespace, stripped, with debug information in files of their own; lambdas and
# functions of Python, too; and of programs in Rust, Ada and Go, and of C with functions of its own around malloc, where
# their compilers are.
# shellcheck disable=SC3043,SC2317 # every sh we know has local; check calls functions
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need_hooks
need jq

cat >"$dir/hot.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) void *hot_function(int n)
{
	void *p = malloc(n); /* the line */

	memset(p, 1, n);
	return p;
}

int main(void)
{
	char line[64] = "";

	puts("ready");
	fflush(stdout);
	while (read(0, line, sizeof line - 1) > 0) {
		for (int i = 0; i < 100; i++)
			hot_function(1000);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
END
${CC:-cc} -g -O1 -Wl,--build-id=sha1 -o "$dir/hot" "$dir/hot.c" || skip_all 'no compiler'
hot="hot_function hot.c:$(sed -n '/the line/=' "$dir/hot.c")"

# first WORDS...: the name of the first row that memdiag WORDS... --json has.
first()
{
	memdiag "$@" --json
	jq -r '.data.rows[0].name' "$dir/out"
}

# is_first NAME WORDS...
is_first()
{
	local name="$1" found
	shift
	found=$(first "$@")
	[ "$found" = "$name" ] || {
		echo "the first row is $found"
		return 1
	}
}

# each_way WHERE: the names of the process, which was recorded, in all the ways to see them.
each_way()
{
	check "$1: record report --pid has the name and the line" is_first "$hot" record report --pid "$tracee_pid"
	memdiag record dump --pid "$tracee_pid" -o "$dir/plain" --json
	plain=$(jq -r .data.file "$dir/out")
	check "$1: report of a file has them as long as the process runs" is_first "$hot" report "$plain" --by=line
	memdiag record dump --pid "$tracee_pid" -o "$dir/inside" --symbols-inside --json
	inside=$(jq -r .data.file "$dir/out")
	check "$1: stacks --pid has the name of main()" sh -c "'$MEMDIAG' stacks --pid $tracee_pid | grep -q 'main.*hot[.]c'"
}

# begin_record WHERE
begin_record()
{
	check "$1: a record begins" memdiag record start --pid "$tracee_pid"
	tell go "$tracee_pid"
	wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^done'
}

# ---- replaced, deleted, contained --------------------------------------------------------------

cp "$dir/hot" "$dir/replaced"
start_command "$dir/replaced"
cp /bin/true "$dir/new" && mv "$dir/new" "$dir/replaced"
begin_record 'a program that was replaced'
each_way 'a program that was replaced'
end_tracee
check 'a program that was replaced: its file with names inside has them when it has ended' is_first "$hot" report "$inside" --by=line
check 'a program that was replaced: without them the report says what is wrong with the file' sh -c \
	"'$MEMDIAG' report '$plain' 2>&1 >'$dir/text' | grep -q 'not the file that was profiled'"
check 'a program that was replaced: without them the report says how much has no name' \
	grep -q '^100.0% is in functions without names:$' "$dir/text"

cp "$dir/hot" "$dir/deleted"
start_command "$dir/deleted"
rm "$dir/deleted"
begin_record 'a program that was deleted'
each_way 'a program that was deleted'
end_tracee

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir "$dir/inner"
	printf 'mount -t tmpfs none "%s" && cp "%s" "%s/app" && exec "%s/app"\n' \
		"$dir/inner" "$dir/hot" "$dir/inner" "$dir/inner" >"$dir/contained.sh"
	start_command unshare -m sh "$dir/contained.sh"
	begin_record 'a program in a mount namespace'
	each_way 'a program in a mount namespace'
	end_tracee
else
	skip 'a program in a mount namespace' 'it cannot be made here'
fi

# ---- without names -------------------------------------------------------------------------------

# recorded PROGRAM...: the file of a record of all that it allocates.
recorded()
{
	rm -f "$dir"/r.*
	"$MEMDIAG" run -q --record -o "$dir/r" -- "$@" >"$dir/printed" 2>&1 </dev/null || return
	find "$dir" -name 'r.*.heap'
}

# The name that lets a file of the process be read goes with the process.
cp "$dir/hot" "$dir/stripped"
strip "$dir/stripped"
start_command "$dir/stripped"
begin_record 'a stripped program'
memdiag record dump --pid "$tracee_pid" -o "$dir/stripped.out" --json
file=$(jq -r .data.file "$dir/out")
end_tracee
id=$(readelf -n "$dir/stripped" | sed -n 's/.*Build ID: //p')
"$MEMDIAG" report "$file" >"$dir/text" 2>/dev/null
check 'a stripped program: the text says how much has no name, with the build-id' sh -c \
	"grep -q '^100.0% is in functions without names:$' '$dir/text' && grep -q 'stripped  build-id $id' '$dir/text'"
check 'a stripped program: the text says what helps' grep -q 'DEBUGINFOD_URLS' "$dir/text"
for format in tree html flame; do
	check "a stripped program: --format=$format says how much has no name" sh -c \
		"'$MEMDIAG' report --format=$format '$file' 2>/dev/null | grep -q '100.0% is in functions without names'"
done
memdiag report "$file" --json
check 'a stripped program: JSON has the object, its build-id and its share' json_is \
	".data.unnamed[0] | .build_id == \"$id\" and (.object | endswith(\"/stripped\")) and .value == 100000 and .share == 1"
objcopy --only-keep-debug "$dir/hot" "$dir/hot.debug"
cp "$dir/stripped" "$dir/linked"
objcopy --add-gnu-debuglink="$dir/hot.debug" "$dir/linked"
start_command "$dir/linked"
begin_record 'a program with a file of debug information'
check 'a program with a file of debug information: it has the name and the line' \
	is_first "$hot" record report --pid "$tracee_pid"
memdiag record report --pid "$tracee_pid" --json
check 'a program with a file of debug information: nothing is without a name' json_is '.data.unnamed == []'
end_tracee
printf 'heap profile: 2: 3000 [ 2: 3000] @ heapprofile\n 2: 3000 [ 2: 3000] @\n' >"$dir/no-stack.heap"
check 'a profile without addresses: it has a row' is_first '[no stack]' report "$dir/no-stack.heap"
check 'a profile without addresses: the text says that there is no stack' sh -c \
	"'$MEMDIAG' report '$dir/no-stack.heap' 2>/dev/null | grep -q '^100.0% has no stack:'"

# ---- C++ -----------------------------------------------------------------------------------------

cat >"$dir/names.cc" <<'END'
#include <cstdlib>
#include <string>
#include <vector>
static void *volatile kept;
static void *volatile kept_too;
__attribute__((noinline)) void fill_vector(std::vector<std::string> &v)
{
	for (int i = 0; i < 100; i++)
		v.push_back(std::string(1000, 'x'));
}
int main()
{
	static std::vector<std::string> v;
	auto first = [](int n) { kept = malloc(n); };
	auto second = [](int n) { kept_too = malloc(n); };

	first(300000), second(200000);
	fill_vector(v);
	_Exit(0);
}
END
if ${CXX:-c++} -g -O1 -o "$dir/names" "$dir/names.cc" 2>"$dir/err"; then
	file=$(recorded "$dir/names")
	check 'C++: a lambda has the name of the function it is in' sh -c \
		"'$MEMDIAG' report --value=allocated '$file' | sed -n 4p | grep -q 'main::{lambda:.*}::operator()'"
	check 'C++: two lambdas are two rows' test "$("$MEMDIAG" report --value=allocated "$file" | grep -c 'main::{lambda')" = 2
	check 'C++: what a container allocates is its user'"'"'s' sh -c \
		"'$MEMDIAG' report --value=allocated '$file' | sed -n 6p | grep -q ' fill_vector$'"
	check 'C++: --allocators shows the container' sh -c \
		"'$MEMDIAG' report --value=allocated --allocators '$file' | grep -q 'std::'"
	(cd "$dir" && ${CXX:-c++} -g -O1 -gsplit-dwarf -o split names.cc)
	file=$(recorded "$dir/split")
	check 'C++: lines come from a .dwo file' sh -c \
		"'$MEMDIAG' report --value=allocated --by=line '$file' 2>&1 | grep -q 'fill_vector names[.]cc:9'"
	chmod o+w "$dir"
	check 'C++: a .dwo file that another user could have put there is not read' sh -c \
		"'$MEMDIAG' report --value=allocated --by=line '$file' 2>'$dir/err' | grep -q ' fill_vector$'"
	check 'C++: and that is said' grep -q 'files (.dwo) that another user can change' "$dir/err"
	chmod o-w "$dir"
else
	skip 'C++' 'there is no compiler for it'
fi

# ---- Python --------------------------------------------------------------------------------------

for name in one two; do
	cat >"$dir/$name.py" <<END
kept = []
def load(n):
	kept.append(bytearray(n)) # $name
load($([ $name = one ] && echo 3000000 || echo 2000000))
END
done
cat >"$dir/both.py" <<'END'
import os
import one, two
os._exit(0)
END
python=
for one in python3 /usr/bin/python3; do
	case $("$one" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) in
	3.11 | 3.12 | 3.13) python=$("$one" -c 'import sys; print(sys.executable)') ;;
	esac
done
if [ "$python" ]; then
	file=$(PYTHONDONTWRITEBYTECODE=1 recorded "$python" "$dir/both.py")
	memdiag report --value=allocated "$file" --json
	check 'Python: functions of the same name in two files are two rows' json_is \
		'[.data.rows[] | select(.name | startswith("load (")) | .flat >= 2000000] == [true, true]'
	check 'Python: the first row is the function that allocates most' json_is '.data.rows[0].name == "load (one.py)"'
	check 'Python: the line is the one that runs' is_first 'load one.py:3' report --value=allocated --by=line "$file"
	memdiag report --value=allocated --view=python "$file" --json
	check 'Python: --view=python has functions of Python alone' json_is \
		'all(.data.rows[]; .name == "[no function of Python]" or (.file | test("[.]py$|^<")))'
	check 'Python: --view=python adds up to the same total' json_is \
		'([.data.rows[].flat] | add) == .data.total and .data.shown == .data.total'
	check 'Python: --view=python with --by=object is refused' exits 64 memdiag report --view=python --by=object "$file"
	check 'Python: --view=python with --format=pprof is refused' exits 64 memdiag report --view=python --format=pprof -o - "$file"
	check 'Python: --view=ruby is refused' exits 64 memdiag report --view=ruby "$file"
else
	skip 'Python' 'there is no Python from 3.11 to 3.13'
fi

# ---- other languages, and functions around malloc -----------------------------------------------

# each_language NAME WANT SOURCE COMMAND...: compile the file SOURCE, which has been written; the first row is WANT.
each_language()
{
	local name="$1" want="$2"
	shift 2
	command -v "$1" >/dev/null && (cd "$dir" && "$@") >"$dir/built" 2>&1 || {
		skip "$name: the first row is $want" 'it cannot be compiled here'
		return
	}
	file=$(recorded "$dir/program")
	check "$name: the first row is $want" is_first "$want" report --value=allocated "$file"
	rm -f "$dir/program"
}

cat >"$dir/wrapped.c" <<'END'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *xmalloc(size_t n)
{
	void *p = malloc(n);

	if (!p)
		abort();
	return p;
}
__attribute__((noinline)) char *xstrdup(const char *s)
{
	return strcpy(xmalloc(strlen(s) + 1), s);
}
__attribute__((noinline)) char *read_names(void)
{
	static char name[100000];

	memset(name, 'x', sizeof name - 1);
	return xstrdup(name);
}
int main(void)
{
	return !read_names();
}
END
each_language 'C, functions around malloc' read_names "${CC:-cc}" -g -O1 -o program wrapped.c

cat >"$dir/rust.rs" <<'END'
#[inline(never)]
fn grow_list() -> Vec<u8> {
    let mut v = Vec::new();
    for i in 0..300000u32 {
        v.push(i as u8);
    }
    v
}
fn main() {
    std::process::exit((grow_list().len() == 0) as i32);
}
END
each_language Rust rust::grow_list rustc -g -O -o program rust.rs

cat >"$dir/ada_program.adb" <<'END'
procedure Ada_Program is
   type Block is array (1 .. 50_000) of Integer;
   type Pointer is access Block;
   Kept : array (1 .. 10) of Pointer;
   procedure Make_Blocks is
   begin
      for I in Kept'Range loop
         Kept (I) := new Block'(others => I);
      end loop;
   end Make_Blocks;
begin
   Make_Blocks;
end Ada_Program;
END
each_language Ada ada_program__make_blocks gnatmake -q -g -O1 -o program ada_program.adb

mkdir -p "$dir/go"
cat >"$dir/go/main.go" <<'END'
package main

/*
#include <stdlib.h>
#include <string.h>
static void *make_block(size_t n) { return memset(malloc(n), 1, n); }
*/
import "C"
import "unsafe"

var kept []unsafe.Pointer

func main() {
	for i := 0; i < 100; i++ {
		kept = append(kept, C.make_block(10000))
	}
}
END
printf 'module program\ngo 1.19\n' >"$dir/go/go.mod"
each_language 'Go with C' make_block env GOCACHE="$dir/go/cache" GOTELEMETRY=off sh -c 'cd go && go build -o ../program .'
finish
