# Functions that the benches of hooks share; read after lib.sh.  A column is a name here and how its program is run.
# shellcheck shell=sh disable=SC2154 # lib.sh sets the rest

make -s -C "$build" libmemdiag-agent.so
${CXX:-c++} -O2 -pthread -o "$dir/pairs" "$here/agent-pairs.cc"

run_bare()
{
	"$dir/pairs"
}

run_preloaded()
{
	"$build/memdiag" run -q "$dir/pairs"
}

# begun WORDS...: a program that runs already, after 'memdiag WORDS' for each of them.
begun()
{
	rm -f "$dir/go" "$dir/begun"
	mkfifo "$dir/go"
	"$dir/pairs" wait <"$dir/go" >"$dir/begun" &
	pairs=$!
	exec 3>"$dir/go"
	until grep -qs '^ready' "$dir/begun"; do
		sleep 0.01
	done
	for words in "$@"; do
		# shellcheck disable=SC2086 # words
		"$build/memdiag" $words --pid $pairs >/dev/null
	done
	echo go >&3
	exec 3>&-
	wait $pairs
	grep -v '^ready' "$dir/begun"
}

run_live()
{
	begun 'count start'
}

run_stopped()
{
	begun 'count start' 'count stop'
}

run_sampled()
{
	begun 'profile start'
}

run_sampled_1k()
{
	begun 'profile start --rate 1K'
}

run_both()
{
	begun 'count start' 'profile start'
}

run_profiled()
{
	"$build/memdiag" run -q --profile -o "$dir/profiled" "$dir/pairs"
	rm -f "$dir"/profiled.*
}

run_requested()
{
	"$build/memdiag" run -q --account=requested "$dir/pairs"
}

run_limited()
{
	"$build/memdiag" run -q --limit 1T "$dir/pairs"
}

run_logged()
{
	begun "record start --mode log-fast -o $dir/logs"
	rm -rf "$dir/logs"
}

run_recorded()
{
	"$build/memdiag" run -q --record -o "$dir/recorded" "$dir/pairs"
	rm -f "$dir"/recorded.*
}

run_heaptrack_raw()
{
	heaptrack -r -o "$dir/heaptrack" "$dir/pairs" 2>/dev/null | grep '^MallocFree'
	rm -f "$dir"/heaptrack.*
}

# measure COLUMNS: as many rounds of them; lines of "COLUMN ROW NANOSECONDS" in pairs.ns.
measure()
{
	for _ in $(seq "$rounds"); do
		for column in $1; do
			"run_$column" | sed "s/^/$column /" >>"$dir/pairs.ns"
		done
	done
}
