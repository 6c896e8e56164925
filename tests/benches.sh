#!/bin/sh
# The programs of scripts/bench compile, and its scripts have no syntax errors: some are run once in months.
. "$top_srcdir/tests/live/lib.sh"
need "${CXX:-c++}"
benches=$top_srcdir/scripts/bench

# compile FILE: with all that any bench gives the compiler.  Other compilers have other warnings, which are no errors.
compile()
{
	# shellcheck disable=SC2086 # CC and CXX may have options
	case $1 in
	*.cc) set -- ${CXX:-c++} "$1" ;;
	*) set -- ${CC:-cc} -std=gnu11 -Werror=implicit-function-declaration "$1" ;;
	esac
	"$@" -D_GNU_SOURCE -O2 -fPIC -pthread -I"$top_srcdir/src" -I"$top_builddir" -c -o "$dir/program.o"
}

for file in "$benches"/*.c "$benches"/*.cc; do
	check "${file##*/} compiles" compile "$file"
done
for file in "$benches"/*; do
	read -r first <"$file"
	[ "$first" != '#!/bin/sh' ] || check "the syntax of ${file##*/}" sh -n "$file"
done
finish
