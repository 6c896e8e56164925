# Functions that the benches with a PostgreSQL server share; read after lib.sh.
# shellcheck shell=sh disable=SC2154 # lib.sh sets the rest

for bin in /usr/lib/postgresql/*/bin; do
	PATH=$bin:$PATH
done

has_postgres()
{
	command -v initdb >/dev/null && command -v pgbench >/dev/null
}

# Where that user can read it.
chmod 755 "$dir"
cp "$build/memdiag" "$build/libmemdiag-agent.so" "$dir"
as=
[ "$(id -u)" -ne 0 ] || as='setpriv --reuid=postgres --regid=postgres --clear-groups'
servers=

# serve NAME COMMAND...: a server of its own, started by COMMAND.
serve()
{
	data=$dir/$1
	shift
	mkdir "$data"
	[ -z "$as" ] || chown postgres "$data"
	# shellcheck disable=SC2086 # words
	$as initdb --no-sync -U bench -A trust -D "$data" >/dev/null
	# shellcheck disable=SC2086
	$as "$@" postgres -D "$data" -k "$data" -c listen_addresses= -c fsync=off -c autovacuum=off \
		>"$data.log" 2>&1 </dev/null &
	servers="$servers $!"
	echo $! >"$data.pid"
	until grep -q 'ready to accept' "$data.log"; do
		kill -0 $! || { cat "$data.log"; exit 1; }
		sleep 0.1
	done
	pgbench -q -i -s 5 -U bench -h "$data" postgres >/dev/null 2>&1
}

stop_servers()
{
	# shellcheck disable=SC2086 # a list
	kill $servers 2>/dev/null || :
	wait
	leave
}

# load: pgbench works on the server named bare, and reports every second how many transactions there were, to
# descriptor 3; sets $backend, the process that serves it.
load()
{
	mkfifo "$dir/seconds"
	pgbench -S -n -M simple -P 1 -T 100000 -U bench -h "$dir/bare" postgres >/dev/null 2>"$dir/seconds" &
	servers="$servers $!"
	exec 3<"$dir/seconds"
	read -r line <&3
	# Where the scheduler has both on one CPU or on two, a transaction takes twice the time or half of it.
	backend=$(pgrep -n -P "$(cat "$dir/bare.pid")")
	taskset -cp 0 $! >/dev/null
	taskset -cp 0 "$backend" >/dev/null
}

# turns START STOP: the process that serves the load is under 'memdiag START' and is not, in turns; transactions per second
# go into turn-start and turn-stop.
turns()
{
	rm -f "$dir"/turn-*.us
	for _ in $(seq $((2 * rounds))); do
		for way in start stop; do
			words=$1
			[ $way = start ] || words=$2
			# shellcheck disable=SC2086 # words
			"$dir/memdiag" $words --pid "$backend" >/dev/null
			read -r line <&3
			for _ in 1 2; do
				before=$(cut -d ' ' -f 1 "/proc/$backend/schedstat")
				read -r line <&3
				after=$(cut -d ' ' -f 1 "/proc/$backend/schedstat")
				tps=$(echo "$line" | sed -n 's/.* s, \([0-9.]*\) tps.*/\1/p')
				echo "$tps" >>"$dir/turn-$way.us"
				echo "$before $after $tps" | awk '{ print ($2 - $1) / 1000 / $3 }' \
					>>"$dir/turn-$way-cpu.us"
			done
		done
	done
}

# quartile OPTIONS NAME: of what was noted, a quarter is before it in the order of sort OPTIONS.
quartile()
{
	sort "$1" "$dir/$2.us" | awk '{ v[NR] = $1 } END { print v[int((NR + 3) / 4)] }'
}

# print_turns NAME: the median; the median of the ratios of neighbours, as the machine has slow minutes; the best
# quartile, when nobody else was in the way.
print_turns()
{
	printf '\nthe same process of PostgreSQL in turns, pgbench -S, on one CPU\n'
	paste "$dir/turn-start.us" "$dir/turn-stop.us" | awk '{ print $1 / $2 }' >"$dir/ratio.us"
	paste "$dir/turn-start-cpu.us" "$dir/turn-stop-cpu.us" | awk '{ print $1 / $2 }' >"$dir/ratio-cpu.us"
	for way in stop start; do
		awk -v name="$1" -v way=$way -v tps="$(median turn-$way)" -v ratio="$(median ratio)" \
			-v best="$(quartile -rn turn-$way)" \
			-v bare_best="$(quartile -rn turn-stop)" \
			-v cpu="$(median turn-$way-cpu)" -v cpu_ratio="$(median ratio-cpu)" \
			-v least="$(quartile -n turn-$way-cpu)" \
			-v bare_least="$(quartile -n turn-stop-cpu)" 'BEGIN {
			if (way == "stop") {
				name = "bare"
				ratio = cpu_ratio = 1
				printf "%-8s %32s   %32s\n", "", "transactions/s, neighbours, best", "CPU us each, neighbours, best"
			}
			printf "%-8s %13.0f %8.1f%% %8.1f%%   %12.2f %9.1f%% %8.1f%%\n", name, tps, 100 * ratio,
				100 * best / bare_best, cpu, 100 * cpu_ratio, 100 * least / bare_least
		}'
	done
}
