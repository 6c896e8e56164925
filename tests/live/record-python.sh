#!/bin/sh
# A record of a Python program whose functions come in turns, in the same native frames and with code objects at the same
# addresses: each function has allocated what the program itself has noted, below the very callers.  And of one that a
# generator writes: so has each line.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
need_hooks

# by_call FILE: as turns.py prints it.
by_call()
{
	"$MEMDIAG" report --value=allocated --by=line --format=folded "$1" >"$dir/folded" || return
	awk '{
		bytes = $NF
		sub(/ [0-9]+$/, "")
		n = split($0, frame, ";")
		nr = 0
		for (i = 1; i < n; i++)
			if (frame[i] ~ /^py_through /)
				nr++
			else if (frame[i] ~ /^py_caller / && frame[i + 1] ~ /^py_/)
				sum[nr " " frame[i] " " frame[i + 1]] += bytes
	} END { for (key in sum) print key, sum[key] }' "$dir/folded" | LC_ALL=C sort
}

# by_line FILE: as lines.py prints it.
by_line()
{
	"$MEMDIAG" report --value=allocated --by=line --format=folded "$1" >"$dir/folded" || return
	awk '{
		bytes = $NF
		sub(/ [0-9]+$/, "")
		n = split($0, frame, ";")
		# note() itself keeps its sums; what it is called with was allocated by its caller.
		if (split(frame[n], part, / lines[.]py:/) == 2 && part[1] ~ /^py_/)
			sum[part[1] " " part[2]] += bytes
	} END { for (key in sum) print key, sum[key] }' "$dir/folded" | LC_ALL=C sort
}

# are_lines_right FILE: whether each line that the program has noted is there, with as many bytes.  The interpreter
# allocates at others: a generator where its function begins.
are_lines_right()
{
	by_line "$1" >"$dir/all" && awk 'NR == FNR { noted[$1, $2]; next } ($1, $2) in noted' "$dir/noted" "$dir/all" \
		>"$dir/found" && diff "$dir/noted" "$dir/found"
}

is_right()
{
	by_call "$1" >"$dir/found" && test -s "$dir/found" && diff "$dir/noted" "$dir/found"
}

: >"$dir/versions"
for python in python3 python3.11 python3.12 python3.13 /usr/bin/python3 "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.1[123].*/bin/python3; do
	version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3]) if (3, 11) <= sys.version_info < (3, 14) else 0' \
		2>/dev/null) || continue
	if [ -z "$version" ] || [ "$version" = 0 ] || grep -q -x -F "$version" "$dir/versions"; then
		continue
	fi
	echo "$version" >>"$dir/versions"
	python=$("$python" -c 'import sys; print(sys.executable)')
	rm -f "$dir"/p.*
	check "Python $version is recorded" sh -c "PYTHONMALLOC=malloc '$MEMDIAG' run -q --record -o '$dir/p' '$python' \
		'$top_srcdir/tests/tracees/turns.py' 5 >'$dir/printed'"
	LC_ALL=C sort "$dir/printed" >"$dir/noted"
	check "Python $version: all functions have allocated" test "$(wc -l <"$dir/noted")" -eq 54
	check "Python $version: each has allocated what it says" is_right "$(find "$dir" -name 'p.*.heap')"
	for seed in 1 2 3; do
		rm -f "$dir"/p.*
		check "Python $version, seed $seed: functions by chance are recorded" sh -c "'$MEMDIAG' run -q --record -o '$dir/p' \
			'$python' '$top_srcdir/tests/tracees/lines.py' $seed >'$dir/printed'"
		LC_ALL=C sort "$dir/printed" >"$dir/noted"
		check "Python $version, seed $seed: 100 lines have allocated" test "$(wc -l <"$dir/noted")" -gt 100
		check "Python $version, seed $seed: each line has allocated what it says" \
			are_lines_right "$(find "$dir" -name 'p.*.heap')"
	done
done
[ -s "$dir/versions" ] || skip 'Python' 'there is no Python from 3.11 to 3.13'
finish
