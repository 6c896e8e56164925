# Functions that the benches share.  A bench is called with the folder memdiag was built in ('.') and the
# number of rounds; it sets $program to the tracee it measures on and sources this file.
# shellcheck shell=sh

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-.}" && pwd)
# shellcheck disable=SC2034 # the benches use it
rounds=${2:-5}
dir=$(mktemp -d)
target=
holder=

leave()
{
	[ -z "$target" ] || kill "$target" "$holder" 2>/dev/null || :
	[ ! -d "$dir/tracing" ] || umount "$dir/tracing" 2>/dev/null || :
	rm -rf --one-file-system "$dir"
}
trap leave EXIT
trap 'exit 1' INT TERM
# shellcheck disable=SC2154 # the bench sets it
make -s -C "$build" memdiag "tests/tracees/$program"
${CC:-cc} -O2 -o "$dir/took" "$here/took.c"

# start ARGUMENTS: $program as the target; sets $target.
start()
{
	start_command "$build/tests/tracees/$program" "$@"
}

# start_command COMMAND...: any target that says "ready" and ends with its stdin; sets $target.
start_command()
{
	rm -f "$dir/in"
	mkfifo "$dir/in"
	: >"$dir/said"
	"$@" <"$dir/in" >>"$dir/said" 2>&1 &
	target=$!
	sleep 100000 >"$dir/in" &
	holder=$!
	until grep -q '^ready' "$dir/said"; do
		kill -0 "$target" || { cat "$dir/said"; exit 1; }
		sleep 0.1
	done
}

stop()
{
	kill "$holder"
	wait "$target" || :
	target=
}

# took NAME COMMAND...: run it, and note how many microseconds it took.
took()
{
	name=$1
	shift
	"$dir/took" "$@" >>"$dir/$name.us" || :
}

# row WORK UNIT MEMDIAG PEER PEER_VALUE BOUND GOAL: add a line to the table of scripts/bench/all, if that runs this bench.
# BOUND is the least that a correct tool needs; "-" for a PEER, its value or a BOUND that does not exist.  GOAL is
# "peer N": the peer takes at least N times what memdiag takes; "bound N": memdiag takes at most N times the bound;
# or "self N": memdiag takes at most N; or "-".  An awk program appends such a line, with tabs, to $rows_file.
rows_file=${BENCH_ROWS:-/dev/null}
row()
{
	(IFS='	'; echo "$*" >>"$rows_file")
}

# per A B [SCALE]: print A / B / SCALE, with three digits after the point.
per()
{
	awk -v a="$1" -v b="$2" -v s="${3:-1}" 'BEGIN { printf "%.3f", b * s ? a / b / s : 0 }'
}

# median NAME: of what was noted.
median()
{
	sort -n "$dir/$1.us" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

forget()
{
	rm -f "$dir"/*.us
}
