#!/bin/sh
# The programs of scripts/bench compile, and its scripts have no syntax errors: some are run once in months.
. "$top_srcdir/tests/live/lib.sh"
benches=$top_srcdir/scripts/bench

# compile FILE: with all that any bench gives the compiler, without a warning.
compile()
{
	case $1 in
	*.cc) set -- "${CXX:-c++}" "$1" ;;
	*) set -- "${CC:-cc}" -std=gnu11 "$1" ;;
	esac
	# shellcheck disable=SC2086 # CC may have options
	"$@" -D_GNU_SOURCE -O2 -fPIC -pthread -Wall -Werror -I"$top_srcdir/src" -I"$top_builddir" -c -o "$dir/program.o"
}

for file in "$benches"/*.c "$benches"/*.cc; do
	check "${file##*/} compiles" compile "$file"
done
for file in "$benches"/*; do
	read -r first <"$file"
	[ "$first" != '#!/bin/sh' ] || check "the syntax of ${file##*/}" sh -n "$file"
done
finish
