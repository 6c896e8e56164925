#!/bin/sh
# memdiag export and what reads it: Debian's Prometheus, the textfile collector of node_exporter, wrk with 1,000 connections.
# Processes come and go all the time.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need python3 prometheus jq curl
client="python3 $top_srcdir/tests/live/export-client.py"

# free_port: print a TCP port that is not in use.
free_port()
{
	python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# query EXPRESSION FILTER: what Prometheus says of it.
query()
{
	curl -sS --data-urlencode "query=$1" "http://127.0.0.1:$port/api/v1/query" | jq -r ".data.result[] | $2"
}

# rss PID...: the bytes of smaps_rollup.
rss()
{
	for pid in "$@"; do cat "/proc/$pid/smaps_rollup"; done | awk '$1 == "Rss:" { n += $2 } END { print n * 1024 }'
}

# restless: processes that match, each for a moment.
restless()
{
	while [ ! -e "$dir/enough" ]; do
		for _ in 1 2 3 4 5; do
			timeout 0.1 "$dir/export-brief" 3 </dev/null >/dev/null 2>&1 &
		done
		wait
	done
}

cp "$TRACEES/idle" "$dir/export-still"
cp "$TRACEES/churn" "$dir/export-busy"
cp "$TRACEES/idle" "$dir/export-brief"
start_command "$dir/export-still" 10
first=$tracee_pid
start_command "$dir/export-still" 1
second=$tracee_pid
start_command "$dir/export-busy" 3
busy=$tracee_pid
want=$(rss "$first" "$second")

"$MEMDIAG" export --listen 127.0.0.1:0 --match "exe=$dir/export-*" --name '{comm}' 2>"$dir/exporter.err" &
exporter=$!
started="$started $exporter"
check 'an exporter starts' wait_for $exporter "$dir/exporter.err" 'listening on'
address=$(sed -n 's/^memdiag: listening on //p' "$dir/exporter.err")
restless &
restless=$!

port=$(free_port)
cat >"$dir/prometheus.yml" <<EOF
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: memdiag
    static_configs:
      - targets: ['$address']
  - job_name: groups
    scrape_interval: 1h
    http_sd_configs:
      - url: http://$address/sd
EOF
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/tsdb" --web.listen-address="127.0.0.1:$port" \
	--log.level=warn >"$dir/prometheus.out" 2>&1 &
prometheus=$!
started="$started $prometheus"
scraped()
{
	[ "$(query 'count_over_time(up{job="memdiag"}[10m])' '.value[1]')" -ge "$1" ] 2>/dev/null
}
check 'Prometheus scrapes it 100 times' eventually scraped 100
check 'each scrape was answered' [ "$(query 'min_over_time(up{job="memdiag"}[10m])' '.value[1]')" = 1 ]
check 'RSS of the still processes is what it was' [ "$(rss "$first" "$second")" = "$want" ]
query 'sum without (kind) (memdiag_resident_bytes{group="export-still"})' '.value[1]' >"$dir/last"
check 'the sum over kinds is RSS in the last sample' [ "$(cat "$dir/last")" = "$want" ]
for f in min max; do
	check "the sum over kinds is RSS: $f of all samples" [ "$(query \
		"${f}_over_time((sum without (kind) (memdiag_resident_bytes{group=\"export-still\"}))[10m:1s])" '.value[1]')" = "$want" ]
done
check 'processes came and went meanwhile' sh -c \
	"[ $(query 'max_over_time(memdiag_processes{group="export-brief"}[10m])' '.value[1]' | grep . || echo 0) -ge 1 ]"
check 'no error was counted' [ "$(query 'sum (memdiag_scrape_errors_total)' '.value[1]')" = 0 ]
check 'a program that allocates all the time has its arenas' sh -c \
	"[ $(query 'memdiag_arenas{group="export-busy"}' '.value[1]') -ge 3 ]"
check 'discovery has the groups' sh -c "curl -sS 'http://127.0.0.1:$port/api/v1/targets' |
	jq -e '[.data.activeTargets[].discoveredLabels.__param_group] | index(\"export-still\")'"

if command -v wrk >/dev/null; then
	ticks()
	{
		awk '{ print $14 + $15 }' "/proc/$exporter/stat"
	}
	before=$(ticks)
	wrk -t 2 -c 1000 -d 10s "http://$address/metrics" >"$dir/wrk" 2>&1
	check '1,000 connections of wrk' grep -q 'requests in' "$dir/wrk"
	after=$(ticks)
	echo "# $(grep 'requests in' "$dir/wrk"); $((after - before)) ticks of processor time"
	check 'the exporter answers after wrk' $client get "$address" /-/healthy
	check 'the exporter takes at most 64 MiB' sh -c \
		"[ \$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$exporter/status) -le 65536 ]"
else
	skip '1,000 connections of wrk' 'wrk is not installed'
fi

touch "$dir/enough"
wait $restless
kill -TERM $prometheus
wait $prometheus

node_exporter=$(command -v prometheus-node-exporter node_exporter | head -n 1)
if [ -n "$node_exporter" ]; then
	mkdir "$dir/textfile"
	check '--textfile for node_exporter' memdiag export --textfile "$dir/textfile/memdiag.prom" --match "exe=$dir/export-*" --name '{comm}'
	port=$(free_port)
	"$node_exporter" --collector.disable-defaults --collector.textfile --collector.textfile.directory="$dir/textfile" \
		--web.listen-address="127.0.0.1:$port" >"$dir/node.out" 2>&1 &
	node=$!
	started="$started $node"
	check 'node_exporter serves the file' eventually sh -c \
		"curl -sS http://127.0.0.1:$port/metrics | grep -q '^memdiag_processes{group=\"export-still\"} 2'"
	check 'node_exporter counts no error' sh -c "curl -sS http://127.0.0.1:$port/metrics | grep -q '^node_textfile_scrape_error 0'"
	kill -TERM $node
	wait $node
else
	skip '--textfile for node_exporter' 'node_exporter is not installed'
fi

kill -TERM $exporter
check 'the exporter ends' wait $exporter
for pid in "$first" "$second" "$busy"; do
	check 'a process lives on' end_tracee "$pid"
done
finish
