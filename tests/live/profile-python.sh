#!/bin/sh
# A profile of a Python program has its functions in place of the interpreter's own, and each has allocated what the
# program itself has noted; whatever calls it, and though its code object may be freed and its address used again.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
need_hooks
need jq

# by_function FILE: lines "NAME BYTES" of the functions py_... that allocate, by the innermost of them in each stack.
by_function()
{
	"$MEMDIAG" report --value=allocated --allocators --format=folded "$1" >"$dir/folded" || return
	awk '{
		bytes = $NF
		sub(/ [0-9]+$/, "")
		n = split($0, frame, ";")
		for (i = n; i > 0; i--)
			if (frame[i] ~ /^(Py[.]|py_)/) {
				sum[frame[i]] += bytes
				break
			}
	} END { for (name in sum) print name, sum[name] }' "$dir/folded" | LC_ALL=C sort
}

# noted: the same of the program's own, of those that are known.  Without the GIL no function is; and where a function is
# traced, the interpreter allocates more (3.12).
noted()
{
	echo sums >"$dir/$tracee_pid.in"
	until grep -q '^end' "$dir/$tracee_pid.out"; do
		lives "$tracee_pid" || return
		sleep 0.05
	done
	grep -E '^(Py[.]|py_).* [1-9]' "$dir/$tracee_pid.out" | LC_ALL=C sort >"$dir/all"
	grep -v -E '^(py_without_gil|py_traced) ' "$dir/all"
}

# same NOTED FOUND: whether both lists are the same, to the byte; but once or twice the interpreter has needed another
# node for its map of arenas (Objects/obmalloc.c: 16384 words, 32768 above them), in whatever function that was.
same()
{
	awk 'NR == FNR { noted[$1] = $2; next }
		{ found[$1] = $2 }
		END {
			for (name in found)
				if (!(name in noted)) {
					print "not noted:", name, found[name]
					failed = 1
				}
			for (name in noted) {
				more = found[name] - noted[name]
				if (more == 131072 || more == 262144 || more == 393216)
					nr_nodes++
				else if (more) {
					print name, "has", found[name], "not", noted[name]
					failed = 1
				}
			}
			exit failed || nr_nodes > 2
		}' "$1" "$2"
}

# is_right FILE: whether both are the same.
is_right()
{
	by_function "$1" >"$dir/found" && grep -v '^py_traced ' "$dir/found" >"$dir/known" &&
		same "$dir/noted" "$dir/known" &&
		sed -n 's/^py_traced //p' "$dir/all" "$dir/found" | {
			read -r least && read -r found && [ "$found" -ge "$least" ]
		}
}

# without_gil: what was allocated through libffi by no known function is what the program has noted of it.
without_gil()
{
	awk '/;[^;]*ffi[^;]*/ && !/;py_/ { sum += $NF } END { print "py_without_gil", sum }' "$dir/folded" >"$dir/found"
	grep '^py_without_gil ' "$dir/all" | diff - "$dir/found"
}

# each_python PYTHON: all of it with that interpreter.
each_python()
{
	local name
	name=$("$1" -c 'import platform; print("Python", platform.python_version())')
	start_command "$1" "$top_srcdir/tests/tracees/functions.py" 3
	check "$name: a profile begins" profile start --rate 1
	check "$name: it works" obeys "work $(some 400)"
	check "$name: it ends" profile stop -o "$dir/p"
	noted >"$dir/noted"
	check "$name: all functions are there" test "$(wc -l <"$dir/noted")" -gt 30
	check "$name: each has allocated what it says" is_right "$(written)"
	check "$name: calls within one call of the interpreter" \
		grep -q ';work;py_recursive;py_recursive;py_recursive;py_recursive;py_recursive;py_recursive;[^;]*' "$dir/folded"
	check "$name: a caller that is no function of its own" grep -q ';run_text;py_exec_3;' "$dir/folded"
	check "$name: through a function of C" grep -q -E ';work;.*;py_by_map;' "$dir/folded"
	check "$name: what Python code calls has no native frame of the interpreter around it" sh -c \
		"! grep -E 'EvalFrameDefault;(py_|Py[.]|work)' '$dir/folded'"
	check "$name: without the GIL, no function is known" without_gil
	check "$name: where a function is written" sh -c \
		"'$MEMDIAG' report --value=allocated --by=line --lines=0 '$(written)' | grep -q 'py_leaf functions.py:'"
	check "$name: deeper than a stack can be" profile start --rate 1
	check "$name: deeper than a stack can be: it works" obeys 'deep 5000'
	check "$name: deeper than a stack can be: it ends" profile stop -o "$dir/q"
	check "$name: deeper than a stack can be: the file can be read" memdiag report "$(written)"
	check "$name: all bytes of code are as they were" same_bytes
	check "$name: the target lives on" end_tracee
	# Its memory is gone then, but the names are in the file.
	start_command "$1" "$top_srcdir/tests/tracees/functions.py" 1
	env --default-signal "$MEMDIAG" profile --wait=300s --timeout=600s --pid "$tracee_pid" --seconds 1h --rate 1 -o "$dir/r" >"$dir/early" 2>&1 &
	early=$!
	until profile status && json_is .data.is_profiling; do
		lives "$tracee_pid" || break
		sleep 0.05
	done
	check "$name: to the end: it works" obeys 'work 20'
	noted >"$dir/noted"
	check "$name: to the end: the target lives on until then" end_tracee
	wait $early
	check "$name: to the end: each has allocated what it says" \
		is_right "$(sed -n 's/^memory profile written: //p' "$dir/early")"
}

# written_by_agent PYTHON: the same of a file that the agent itself writes.
written_by_agent()
{
	start_command env MEMDIAG_AGENT="profile;rate=1;profile-prefix=$dir/s" \
		LD_PRELOAD="$top_builddir/libmemdiag-agent.so" "$1" "$top_srcdir/tests/tracees/functions.py" 2
	check "$1, preloaded: it works" obeys 'work 50'
	noted >"$dir/noted"
	check "$1, preloaded: it lives on" end_tracee
	check "$1, preloaded: each has allocated what it says" is_right "$(find "$dir" -name "s.$tracee_pid.*.heap")"
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
	each_python "$python"
	written_by_agent "$python"
done
[ -s "$dir/versions" ] || skip 'Python' 'there is no Python from 3.11 to 3.13'
finish
