#!/bin/sh
# memdiag export: what it serves is what the kernel says, of the processes that were asked for, and nothing else.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need python3
client="python3 $top_srcdir/tests/live/export-client.py"

# serve OPTIONS...: start an exporter on any free port; sets $exporter and $address.
serve()
{
	# The shell empties the file in its child; until then it would still have the address of the exporter before.
	: >"$dir/exporter.err"
	"$MEMDIAG" export --listen 127.0.0.1:0 "$@" 2>"$dir/exporter.err" &
	exporter=$!
	started="$started $exporter"
	until grep -q '^memdiag: listening on' "$dir/exporter.err" || ! lives $exporter; do
		sleep 0.01
	done
	address=$(sed -n 's/^memdiag: listening on //p' "$dir/exporter.err")
	[ -n "$address" ]
}

# ended [STATUS]: end the exporter with SIGTERM; its exit status must be 0.
ended()
{
	kill -TERM "$exporter"
	wait "$exporter"
}

# metric NAME LABELS: the value of a sample; LABELS are as in the document.
metric()
{
	$client get "$address" /metrics 2>"$dir/head" | sed -n "s/^$1{$2} //p"
}

# groups: the names of all groups, one a line.
groups()
{
	$client get "$address" /metrics 2>/dev/null | sed -n 's/^memdiag_processes{group="\(.*\)"} .*/\1/p'
}

# Only processes of this test: others of this machine may have any name.
cp "$TRACEES/idle" "$dir/export-a"
cp "$TRACEES/churn" "$dir/export-b"
start_command "$dir/export-a" 20
first=$tracee_pid
start_command "$dir/export-a" 3
second=$tracee_pid

check 'an exporter starts' serve --match "exe=$dir/export-*" --name '{comm}'
check 'two processes of one name are one group' [ "$(groups)" = export-a ]
check 'the bytes of a group are the RSS of its processes' $client adds-up "$address" export-a "$first" "$second"
remember "$first"
for _ in $(each_of 40); do
	$client adds-up "$address" export-a "$first" "$second" || break
done >"$dir/said" 2>&1
check 'the bytes of a group are RSS in each of many answers' [ ! -s "$dir/said" ]
check 'a group has the threads of its processes' [ "$(metric memdiag_threads 'group="export-a"')" = \
	"$(cat /proc/$first/task/*/stat /proc/$second/task/*/stat | wc -l)" ]
check 'a group counts the processes with malloc of glibc' [ "$(metric memdiag_glibc_malloc_processes 'group="export-a"')" = 2 ]
check 'the kind stack is the class of memdiag maps' sh -c "
	want=\$('$MEMDIAG' maps --json $first | jq '[.data.groups[] | select(.name == \"stack\") | .rss_bytes] | add')
	want=\$((want + \$('$MEMDIAG' maps --json $second | jq '[.data.groups[] | select(.name == \"stack\") | .rss_bytes] | add')))
	[ \"\$want\" = \"$(metric memdiag_resident_bytes 'group="export-a",kind="stack"')\" ]"
check 'an exported process is unharmed' unharmed "$first"

# ---- processes come, change and go ----

start_command "$dir/export-b" 2
check 'a new process adds a group' [ "$(groups | tr '\n' ' ')" = 'export-a export-b ' ]
check 'the process of a new group ends' end_tracee
check 'a group without processes is gone' [ "$(groups)" = export-a ]
start_command sh -c "echo ready; read -r line; exec '$dir/export-a' 1"
check 'a process that meets no condition is left out' [ "$(metric memdiag_processes 'group="export-a"')" = 2 ]
ask exec >/dev/null
wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^ready'
third=$tracee_pid
check 'a process that executed a matching program is exported' eventually \
	sh -c "$client get $address /metrics 2>/dev/null | grep -q -F 'memdiag_processes{group=\"export-a\"} 3'"
check 'the bytes of an executed program are its RSS' $client adds-up "$address" export-a "$first" "$second" "$tracee_pid"
check 'no error was counted' [ "$(metric memdiag_scrape_errors_total 'reason="other"')" = 0 ]

# ---- what is served ----

check 'the metrics are in the format of Prometheus' sh -c "$client get $address /metrics 2>'$dir/head' | $client parse"
check 'the Content-Type is that of Prometheus' grep -q -i '^content-type: text/plain; version=0.0.4' "$dir/head"
check 'OpenMetrics ends with # EOF' sh -c "$client get $address /metrics 'Accept: application/openmetrics-text; version=1.0.0' \
	2>'$dir/head' | tail -n 1 | grep -q -x '# EOF'"
check 'the Content-Type is that of OpenMetrics' grep -q -i '^content-type: application/openmetrics-text; version=1.0.0' "$dir/head"
if command -v promtool >/dev/null; then
	check 'promtool has nothing to say' sh -c \
		"$client get $address /metrics 2>/dev/null | promtool check metrics >'$dir/said' 2>&1 && [ ! -s '$dir/said' ]"
else
	skip 'promtool has nothing to say' 'promtool is not installed'
fi
check '/sd has a target for each group' sh -c \
	"$client get $address /sd 2>/dev/null | jq -e '[.[].labels.__param_group] == [\"export-a\"]'"
# profile_is GROUP PID...: whether the profile of the group has the bytes of RSS of the processes.
profile_is()
{
	local group=$1 want
	shift
	$client get "$address" "/debug/pprof/memory_map?group=$group" >"$dir/map.pb.gz" 2>"$dir/head" || return
	want=$(for pid in "$@"; do cat "/proc/$pid/smaps_rollup"; done | awk '$1 == "Rss:" { n += $2 } END { print n * 1024 }')
	"$MEMDIAG" report --format=folded "$dir/map.pb.gz" >"$dir/folded" || return
	[ "$(awk '{ n += $NF } END { print n }' "$dir/folded")" = "$want" ]
}

check 'memory_map has the RSS of a group' profile_is export-a "$first" "$second" "$tracee_pid"
check 'memory_map has the chunks of the main arena' grep -q '^\[export-a\];\[glibc heap\];\[main arena\];\[chunks\]' "$dir/folded"
if command -v go >/dev/null; then
	check 'go tool pprof opens memory_map' sh -c "cd '$dir' && HOME='$dir' go tool pprof -top \
		'http://$address/debug/pprof/memory_map?group=export-a' >'$dir/out' 2>'$dir/err' && grep -q 'glibc heap' '$dir/out'"
else
	skip 'go tool pprof opens memory_map' 'go is not installed'
fi
if [ -e "$top_builddir/libmemdiag-agent.so" ] && has_hooks; then
	check '/debug/pprof/heap without a running profile is 404' sh -c "! $client get $address '/debug/pprof/heap?group=export-a' >'$dir/out' 2>'$dir/head' &&
		grep -q ' 404 ' '$dir/head' && grep -q 'memdiag profile start' '$dir/out'"
	start_command "$dir/export-b" 2
	check 'no process is profiled' eventually sh -c "$client get $address /metrics | grep -x 'memdiag_profiled_processes{group=\"export-b\"} 0'"
	check 'memdiag profile start' memdiag profile start --pid "$tracee_pid" -c 4K --timeout=300s
	check 'a profiled process is counted' eventually sh -c "$client get $address /metrics | grep -x 'memdiag_profiled_processes{group=\"export-b\"} 1'"
	check '/debug/pprof/heap has a running profile with names' eventually sh -c "$client get $address '/debug/pprof/heap?group=export-b' >'$dir/heap.pb.gz' 2>'$dir/head' &&
		'$MEMDIAG' report '$dir/heap.pb.gz' >'$dir/out' && grep -q 'churn' '$dir/out'"
	check 'memdiag profile stop' memdiag profile stop --pid "$tracee_pid" --timeout=300s -o "$dir/b"
	check 'and no longer afterwards' eventually sh -c "$client get $address /metrics | grep -x 'memdiag_profiled_processes{group=\"export-b\"} 0'"
	check '/debug/pprof/heap of a stopped profile is 404' sh -c "! $client get $address '/debug/pprof/heap?group=export-b' >'$dir/out' 2>'$dir/head' && grep -q ' 404 ' '$dir/head'"
	check 'a profiled process lives on' end_tracee
	tracee_pid=$third
fi
# ---- what changes in a time ----

# nothing_changes GROUP: whether the profile of the next second has values that cancel out.
nothing_changes()
{
	$client get "$address" "/debug/pprof/memory_map?group=$1&seconds=1" >"$dir/change.pb.gz" 2>"$dir/head" &&
		"$MEMDIAG" report --format=folded "$dir/change.pb.gz" >"$dir/folded"
	[ -s "$dir/change.pb.gz" ] && [ "$(awk '{ n += $NF } END { print n + 0 }' "$dir/folded")" -eq 0 ]
}

# growth_is_seen: whether a profile has some of what the tracee takes until it is there.
growth_is_seen()
{
	local taken=0 seen
	$client get "$address" '/debug/pprof/memory_map?group=export-f&seconds=3' >"$dir/change.pb.gz" 2>"$dir/head" &
	asking=$!
	while kill -0 $asking 2>/dev/null; do
		ask 'take 10 100000' >/dev/null
		taken=$((taken + 1000000))
	done
	wait $asking || return
	"$MEMDIAG" report --format=folded "$dir/change.pb.gz" >"$dir/folded"
	cat "$dir/folded"
	seen=$(awk '{ n += $NF } END { printf "%.0f", n }' "$dir/folded")
	[ "$seen" -gt 100000 ] && [ "$seen" -le $((taken + taken / 4 + 1000000)) ]
}

cp "$TRACEES/fill" "$dir/export-f"
start_command "$dir/export-f"
check 'in a process that rests nothing changes' nothing_changes export-f
check 'what a process takes meanwhile is seen' growth_is_seen
check 'others are answered meanwhile, and no more than eight wait' $client busy "$address" \
	'/debug/pprof/memory_map?group=export-f&seconds=3' 20 8
check 'when they have been answered others may ask' nothing_changes export-f
check 'a time that is none is 400' sh -c "! $client get $address '/debug/pprof/memory_map?group=export-f&seconds=x' 2>'$dir/head' && grep -q ' 400 ' '$dir/head'"
check 'a process that was watched lives on' end_tracee
tracee_pid=$third

# ---- memory whose pages wait for a handler ----

cp "$TRACEES/missing-arena" "$dir/export-m"
if start_command "$dir/export-m"; then
	check 'an arena that is not there stops no answer' sh -c \
		"timeout 60 $client get $address /metrics 2>'$dir/head' | grep -x 'memdiag_processes{group=\"export-m\"} 1'"
	check 'nor its profile' timeout 60 $client get "$address" '/debug/pprof/memory_map?group=export-m'
	check 'its process lives on' end_tracee
else
	skip 'an arena that is not there stops no answer' 'userfaultfd is not available'
fi
tracee_pid=$third

check 'memory_map of an unknown group is 404' sh -c "! $client get $address '/debug/pprof/memory_map?group=x' 2>'$dir/head' && grep -q ' 404 ' '$dir/head'"
check 'memory_map without a group is 400' sh -c "! $client get $address /debug/pprof/memory_map 2>'$dir/head' && grep -q ' 400 ' '$dir/head'"
check '/-/healthy answers' $client get "$address" /-/healthy
check '/ answers' $client get "$address" /

# ---- what cannot be ----

check 'hostile requests get their statuses' $client hostile "$address"
check '1,000 connections are answered' $client crowd "$address" 1000
check 'the exporter takes at most 64 MiB' sh -c \
	"[ \$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$exporter/status) -le 65536 ]"
check 'the exporter has a seccomp filter' grep -q '^Seccomp:.*2$' "/proc/$exporter/status"
check 'the exporter has no_new_privs' grep -q '^NoNewPrivs:.*1$' "/proc/$exporter/status"
# With a request that waits.
$client get "$address" '/debug/pprof/memory_map?group=export-a&seconds=300' >"$dir/waits" 2>&1 &
started="$started $!"
check 'an exporter answers beside it' $client get "$address" /-/healthy
check 'an exporter ends at SIGTERM with status 0' ended

check 'an exporter with --request-timeout starts' serve --match "exe=$dir/export-*" --request-timeout 200ms
check 'connections that send slowly are closed' $client slow "$address" 100 120
check 'slow connections do not keep others out' $client get "$address" /-/healthy
check 'an exporter with --request-timeout ends' ended

# ---- names ----

cp "$TRACEES/idle" "$dir/$(printf 'odd "name\\')"
start_command "$dir/$(printf 'odd "name\\')" 1
check 'an exporter with --name={exe} starts' serve --match "exe=$dir/*" --name 'x-{exe}' --max-groups 2
check 'names with quotes and backslashes are escaped' sh -c "$client get $address /metrics 2>/dev/null | $client parse"
cp "$TRACEES/idle" "$dir/export-c"
start_command "$dir/export-c" 1
check 'names beyond --max-groups are other groups' [ "$(groups | sort | tr '\n' ' ')" = \
	"other groups x-export-a x-odd \\\"name\\\\ " ]
check 'an exporter with --name={exe} ends' ended
check 'an exporter with --max-processes starts' serve --match "exe=$dir/*" --name all --max-processes 2
check '--max-processes leaves out processes' [ "$(metric memdiag_processes 'group="all"')" = 2 ]
check 'processes that are left out are counted' sh -c "[ $($client get "$address" /metrics 2>/dev/null |
	sed -n 's/^memdiag_processes_left_out //p') -ge 2 ]"
check 'an exporter with --max-processes ends' ended

# ---- other ways ----

check '--once prints metrics' sh -c "'$MEMDIAG' export --once --match 'exe=$dir/*' | $client parse"
check '--textfile writes a file' memdiag export --textfile "$dir/memdiag.prom" --match "exe=$dir/*"
check 'the file of --textfile is complete' sh -c "$client parse <'$dir/memdiag.prom'"
check '--textfile replaces a file' memdiag export --textfile "$dir/memdiag.prom" --match "exe=$dir/*"
check '--textfile leaves no temporary file' [ "$(echo "$dir"/*memdiag.prom*)" = "$dir/memdiag.prom" ]
check '--textfile in a missing directory' exits_saying 1 'No such file' memdiag export --textfile "$dir/none/x.prom"

"$MEMDIAG" export --listen "unix:$dir/socket" --match "exe=$dir/*" 2>"$dir/exporter.err" &
exporter=$!
started="$started $exporter"
check 'an exporter on a unix socket starts' wait_for $exporter "$dir/exporter.err" 'listening on'
check 'a unix socket is served' $client get "unix:$dir/socket" /metrics
check 'the mode of a unix socket is 0660' [ "$(stat -c %a "$dir/socket")" = 660 ]
check 'a second exporter on a unix socket is refused' exits_saying 1 'in use' memdiag export --listen "unix:$dir/socket"
kill -KILL $exporter
wait $exporter 2>/dev/null
"$MEMDIAG" export --listen "unix:$dir/socket" --match "exe=$dir/*" 2>"$dir/exporter.err" &
exporter=$!
started="$started $exporter"
check 'the socket of a killed exporter is replaced' wait_for $exporter "$dir/exporter.err" 'listening on'
check 'a replaced socket is served' $client get "unix:$dir/socket" /metrics
check 'an exporter on a unix socket ends' ended
check 'a file in the place of a unix socket stays' sh -c \
	"echo mine >'$dir/file'; ! '$MEMDIAG' export --listen 'unix:$dir/file' 2>/dev/null && [ \"\$(cat '$dir/file')\" = mine ]"

$client pass "$MEMDIAG" export --listen systemd --match "exe=$dir/*" >"$dir/port" 2>"$dir/exporter.err" &
exporter=$!
started="$started $exporter"
check 'an exporter on a socket of systemd starts' wait_for $exporter "$dir/exporter.err" 'listening on'
check 'a socket of systemd is served' $client get "127.0.0.1:$(cat "$dir/port")" /metrics
check 'an exporter on a socket of systemd ends' ended
check '--listen systemd without a socket' exits_saying 64 'has passed no socket' memdiag export --listen systemd

if command -v openssl >/dev/null && command -v curl >/dev/null; then
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/key" -out "$dir/cert" -subj /CN=localhost -days 2 2>/dev/null
	check 'an exporter with a certificate starts' serve --match "exe=$dir/*" --tls-cert "$dir/cert" --tls-key "$dir/key"
	check 'HTTPS is served' curl -sS --cacert "$dir/cert" "https://localhost:${address#*:}/metrics" -o "$dir/metrics"
	check 'metrics by HTTPS are complete' sh -c "$client parse <'$dir/metrics'"
	check 'an exporter with a certificate serves no HTTP' sh -c "! curl -sS 'http://$address/metrics' 2>/dev/null"
	check 'an exporter with a certificate ends' ended
	check 'a certificate in the place of a key' exits_saying 1 'PEM' memdiag export --listen 127.0.0.1:0 \
		--tls-cert "$dir/cert" --tls-key "$dir/cert"
else
	skip 'HTTPS' 'openssl or curl is not installed'
fi

# ---- rights ----

if [ "$(id -u)" -eq 0 ]; then
	check 'an exporter with --user starts' serve --match "exe=$dir/*" --name all --user nobody
	check '--user: it runs as that user' grep -q "^Uid:.$(id -u nobody).$(id -u nobody)" "/proc/$exporter/status"
	check '--user: it has two capabilities' grep -q '^CapPrm:.0000000000080004$' "/proc/$exporter/status"
	pgrep -f "^$dir/" >"$dir/pids"
	check '--user: it reads processes of others' xargs -a "$dir/pids" $client adds-up "$address" all
	check 'an exporter with --user ends' ended
	chmod 755 "$dir"
	if command -v setpriv >/dev/null; then
		# The directory of the build may be open to root alone.
		mkdir "$dir/open"
		cp "$MEMDIAG" "$top_builddir/memdiag-export" "$dir/open"
		setpriv --reuid nobody --clear-groups "$dir/open/memdiag" export --once --match 'comm=export-*' >"$dir/out" 2>"$dir/err"
		check 'without capabilities it runs' grep -q '^memdiag_scrape_errors_total{reason="permission"} [1-9]' "$dir/out"
		check 'without capabilities nothing is exported' sh -c "! grep -q '^memdiag_processes{' '$dir/out'"
	fi
	if command -v setpriv >/dev/null; then
		setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=-all,+sys_ptrace,+dac_read_search \
			--ambient-caps=-all,+sys_ptrace,+dac_read_search --bounding-set=-all,+sys_ptrace,+dac_read_search --no-new-privs \
			"$MEMDIAG" export --once --match "exe=$dir/*" --name all >"$dir/out" 2>"$dir/err"
		check 'two ambient capabilities suffice' grep -q '^memdiag_processes{group="all"} [1-9]' "$dir/out"
	fi
	check 'a user that does not exist' exits_saying 64 'no user' memdiag export --listen 127.0.0.1:0 --user no-such-user
fi
check '--once with few descriptors' sh -c "ulimit -n 24; '$MEMDIAG' export --once --match 'exe=$dir/*' >'$dir/out' 2>'$dir/err'"
check 'processes that lack a descriptor are counted as errors' sh -c "! grep -q '^memdiag_scrape_errors_total{reason=\"resources\"} 0' '$dir/out'"

# ---- command lines ----

check 'an address that is none' exits_saying 64 'is not HOST:PORT' memdiag export --listen 9776
check 'an address of another machine' exits_saying 1 'cannot listen' memdiag export --listen 192.0.2.1:80
check 'a condition that is none' exits_saying 64 'is not KEY=VALUE' memdiag export --match mysqld
check 'an unknown key' exits_saying 64 'unknown key' memdiag export --match pid=1
check 'a name with a PID' exits_saying 64 'is unknown' memdiag export --name '{pid}'
check 'a certificate without a key' exits_saying 64 'needs --tls-key' memdiag export --tls-cert x
check 'a certificate that is not there' exits_saying 1 'No such file' memdiag export --tls-cert /x --tls-key /x
check '--once with --listen' exits_saying 64 'no requests' memdiag export --once --listen 127.0.0.1:0
check 'a file without --once' exits_saying 64 'takes the metrics of --once' memdiag export -o "$dir/x"
check 'JSON' exits_saying 64 'no JSON' memdiag export --once --json
check 'a word too many' exits 64 memdiag export --once 1234

check 'the program that serves can neither trace nor write' sh -c \
	"! nm -D '$top_builddir/memdiag-export' | grep -E ' U (ptrace|process_vm_writev|tgkill|pidfd_send_signal|exec[vle]*)(@|\$)'"
for pid in "$first" "$second"; do
	check 'a process lives on' end_tracee "$pid"
done
finish
