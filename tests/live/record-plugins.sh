#!/bin/sh
# Libraries that are loaded and unloaded at random, one where another was: each has what its functions have allocated, also
# when it is not mapped any more, in a process, in files and in a log; with and without build-ids, by absolute and relative names.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq python3
need_hooks

# make_library K: of a size that has to do with K, so that most do not fit where another one was.
make_library()
{
	local id=sha1
	[ $(($1 % 3)) -ne 0 ] || id=none
	cat >"$dir/plugin.c" <<-SOURCE
		#include <stdlib.h>
		__asm__(".text\n.skip $(($1 % 5 * 5000 + 1))");
		void *plugin_$1_make(size_t size);
		void *plugin_$1_make(size_t size)
		{
			void *volatile p = malloc(size);
			return p;
		}
	SOURCE
	${CC:-cc} -O1 -g -shared -fPIC -Wl,--build-id=$id -o "$dir/libraries/plugin-$1.so" "$dir/plugin.c"
}

nr=24
mkdir "$dir/libraries"
k=0
while [ $k -lt $nr ]; do
	make_library $k || skip_all 'no compiler'
	k=$((k + 1))
done

# plays SEED THREADS: they come to the same addresses often; only then something is tested.
plays()
{
	local said
	said=$(ask "play $1 $(some 300) $2") && ask "live $dir/live" >/dev/null || return
	echo "# seed $1, $2 threads: $said"
	case $said in
	'shared '[1-9]*) ;;
	*) return 1 ;;
	esac
}

# agrees COMMAND...: this report is what the tracee says.
agrees()
{
	exits 0 memdiag "$@" && python3 "$top_srcdir/tests/live/record-plugins.py" "$dir/live" "$dir/out"
}

# in_file PREFIX: the file that has just been written.
in_file()
{
	agrees report --json -n 0 "$(find "$dir" -maxdepth 1 -name "$1.*.heap" | sort | tail -n 1)"
}

# start_inside COMMAND...: in the directory that relative names are in.
tracees=$(realpath "$TRACEES")
start_inside()
{
	# shellcheck disable=SC2016 # of the other shell
	start_command sh -c 'cd "$1" && shift && exec "$@"' sh "$dir/libraries" "$@"
}

set -- ${MEMDIAG_TEST_SEEDS:-1 2}
seed=$1
last=$2
while [ "$seed" -le "$last" ]; do
	for threads in 1 4; do
		about="seed $seed, $threads threads"
		for mode in mem-fast mem-record log-fast; do
			to="$dir/$mode-$seed-$threads"
			output=
			[ $mode != log-fast ] || output="--output=$to"
			start_inside "$tracees/plugins" "$dir/libraries" $nr
			check "$about: a record of mode $mode begins" exits 0 patiently memdiag record start --mode $mode $output --pid "$tracee_pid"
			check "$about, $mode: libraries share addresses" plays "$seed" $threads
			check "$about, $mode: the process has what each library has allocated" \
				agrees record report --pid "$tracee_pid" --by=function --json -n 0
			if [ $mode = log-fast ]; then
				check "$about, $mode: the record ends" exits 0 memdiag record stop --pid "$tracee_pid"
				check "$about, $mode: the log has what each library has allocated" agrees timeline --at=end --json -n 0 "$to"
			else
				check "$about, $mode: the record ends" exits 0 memdiag record stop -o "$to" --pid "$tracee_pid"
				check "$about, $mode: the file has what each library has allocated" in_file "$mode-$seed-$threads"
			fi
			check "$about, $mode: the target lives on" end_tracee "$tracee_pid"
		done
		start_inside "$(realpath "$MEMDIAG")" run --record -o "$dir/ran-$seed-$threads" -- "$tracees/plugins" "$dir/libraries" $nr
		check "$about: libraries of a program that is run share addresses" plays "$seed" $threads
		check "$about: the program ends" end_tracee "$tracee_pid"
		check "$about: the file of a program that was run has what each library has allocated" in_file "ran-$seed-$threads"
	done
	seed=$((seed + 1))
done
finish
