#!/bin/sh
# types on programs in C++ with random classes, built in several ways: each class is found in as many blocks as there are
# objects, and no other class of the program is found.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
need g++
need python3

budget='--max-stop 300s'

# same_classes EVIDENCE: whether the classes of the program are those that it says, in as many blocks.
same_classes()
{
	sed -n 's/^class //p' "$dir/$tracee_pid.out" | sort >"$dir/want"
	jq -r --arg by "$1" '.data.types[] | select(.evidence == $by and .blocks > 0 and
		(.symbol | test("c[0-9]+(E|I|$)"))) | "\(.blocks) \(.name)"' "$dir/out" | sort | diff "$dir/want" -
}

# try SEED EVIDENCE OPTION...: build the program of that seed, and look for its classes.
try()
{
	local seed="$1" evidence="$2"
	shift 2
	python3 "$top_srcdir/tests/live/types-random.py" "$seed" >"$dir/classes.cc"
	check "seed $seed, $*: it is built" g++ -std=c++17 -w "$@" -I"$top_srcdir/tests/tracees" -o "$dir/classes" "$dir/classes.cc"
	start_command "$dir/classes"
	# shellcheck disable=SC2086 # two words
	check "seed $seed, $*: types" exits 0 memdiag types --pid "$tracee_pid" $budget --json
	check "seed $seed, $*: as many of each class as there are" same_classes "$evidence"
	check 'the program still works' end_tracee
}

seed=${SEED-1}
last=$((seed + ${SEEDS-1} - 1))
while [ "$seed" -le "$last" ]; do
	try "$seed" rtti -O0
	try "$seed" rtti -O2 -s -Wl,-z,norelro
	try "$seed" rtti -O1 -no-pie -fno-pic
	try "$seed" rtti -O1 -static-libstdc++ -s
	try "$seed" vtable -O1 -fno-rtti
	seed=$((seed + 1))
done
finish
