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

# median NAME: of what was noted.
median()
{
	sort -n "$dir/$1.us" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

forget()
{
	rm -f "$dir"/*.us
}
