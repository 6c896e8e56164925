#!/bin/sh
# profile --push: what a server gets, by a reader that shares nothing with memdiag, and servers that are down, slow, full or
# in the way.
# shellcheck disable=SC3043,SC2154,SC2034 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
need_hooks
need jq python3
unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY
python3 -c 'import ctypes; ctypes.CDLL("libcurl.so.4")' 2>/dev/null ||
	python3 -c 'import ctypes; ctypes.CDLL("libcurl-gnutls.so.4")' 2>/dev/null || skip_all 'libcurl is not installed'
tool=$top_srcdir/tests/live/push-server.py
nr_servers=0

# serve ANSWER...: start a server; sets $server, its directory, and $url.
serve()
{
	nr_servers=$((nr_servers + 1))
	server=$dir/server.$nr_servers
	mkdir "$server"
	python3 "$tool" "$server" "$@" 2>"$server/err" &
	server_pid=$!
	started="$started $server_pid"
	until [ -e "$server/port" ]; do
		lives $server_pid || return
		sleep 0.05
	done
	url=http://127.0.0.1:$(cat "$server/port")
}

end_server()
{
	kill -TERM $server_pid 2>/dev/null
	wait $server_pid 2>/dev/null
	true
}

# push WORDS...: begin to push the tracee's profile, in the background, until it is asked to end.
push()
{
	: >"$dir/err" # what the last one has said must not be taken for its words
	env --default-signal "$MEMDIAG" profile --pid "$tracee_pid" --rate 1 --push "$url" --push-every "${every:-100ms}" --wait=300s \
		--timeout=600s --json "$@" >"$dir/out" 2>"$dir/err" &
	memdiag_pid=$!
	started="$started $memdiag_pid"
	about_command="profile --push"
}

# received NUMBER: wait until the server has so many more requests.
received()
{
	local before want
	before=$(find "$server" -name '[0-9]*.json' | wc -l)
	want=$((before + $1))
	until [ "$(find "$server" -name '[0-9]*.json' | wc -l)" -ge $want ]; do
		lives "$memdiag_pid" || return
		sleep 0.05
	done
}

# until_said WORDS: wait until memdiag has said that.
until_said()
{
	until grep -q -e "$1" "$dir/err"; do
		lives "$memdiag_pid" || {
			cat "$dir/err" "$dir/out"
			return 1
		}
		sleep 0.05
	done
}

# ended STATUS: ask memdiag to end, and whether it does with STATUS.
ended()
{
	local got
	kill -INT "$memdiag_pid"
	wait "$memdiag_pid"
	got=$?
	[ $got -eq "$1" ] || {
		echo "exit status $got"
		cat "$dir/err"
		return 1
	}
}

# adds_up: whether the accepted profiles add up to those of the file that the same command has written.
adds_up()
{
	python3 "$tool" check "$server" && python3 "$tool" sums "$server" >"$dir/sums" || return
	"$MEMDIAG" report "$(json .data.file)" --format=pprof -o "$dir/file.pb.gz" --force &&
		python3 "$tool" totals "$dir/file.pb.gz" >"$dir/totals" && [ -s "$dir/totals" ] && diff "$dir/totals" "$dir/sums"
}

# plays: the tracee allocates between requests.
plays()
{
	received 1 && obeys 'play 1 3000 1' && received 2 && obeys 'play 2 3000 1' && received 1
}

start_tracee sites 2

# ---- what is sent ----

serve 200
push -o "$dir/p" --push-name 'shop {x}' --push-label env=test --push-label zone=a-1 --push-tenant team
check 'profiles are pushed while the process allocates' plays
check 'Ctrl-C ends --push' ended 0
check 'pyroscope: the deltas add up to the totals of the file' adds_up
check 'pyroscope: name, labels, tenant' sh -c "jq -e --arg pid '$tracee_pid' '
	.path == \"/ingest\" and (.query.name | test(\"^shop__x_[{]hostname=[^,{}=]+,pid=\" + \$pid + \",env=test,zone=a-1[}]\$\")) and
	.headers[\"X-Scope-OrgID\"] == \"team\"' '$server/0000.json'"
check 'functions have names' grep -q 'work;step;site_[0-9] ' "$dir/sums"
check 'JSON counts the profiles' json_is '.data.pushes.accepted >= 5 and .data.pushes.refused == 0 and .data.pushes.dropped == 0'
check 'nothing is said if all is well' test ! -s "$dir/err"
end_server

serve 200
printf '# secret\nAuthorization: Bearer zsecret\r\n\nX-Other: 1' >"$dir/headers"
push -o "$dir/p" --push-format parca --push-header-file "$dir/headers"
check 'parca: profiles are pushed' plays
check 'parca: Ctrl-C ends --push' ended 0
check 'parca: the deltas add up to the totals of the file' adds_up
check 'parca: path, labels, and the headers of --push-header-file' jq -e '
	.path == "/profiles/writeraw" and .labels.job == "sites" and .headers.Authorization == "Bearer zsecret" and
	.headers["X-Other"] == "1" and .type == "application/json"' "$server/0000.json"
check 'no header of the file is in a message' sh -c "! grep zsecret '$dir/out' '$dir/err'"
end_server

serve 200
push --seconds 500ms
check '--seconds ends --push' sh -c "until ! [ -d /proc/$memdiag_pid ] || grep -q State:.Z /proc/$memdiag_pid/status; do sleep 0.05; done"
check '--seconds ends --push with 0' wait "$memdiag_pid"
check 'no file is written without --output' json_is '.data.file == null and .data.pushes.accepted >= 1'
end_server

# ---- servers that fail ----

# recovers WORDS ANSWER...: whether all is received after these answers, and memdiag has said WORDS.
recovers()
{
	local words="$1" every=1s # the queue holds what is pushed while memdiag waits
	shift
	serve "$@" || return
	push -o "$dir/p"
	until_said "$words" && until_said 'accepted again' && obeys 'play 3 2000 1' && received 2 && ended 0 && adds_up
	local failed=$?
	end_server
	return $failed
}
check 'a server that answers 500 gets the profile again' recovers 'HTTP status 500: .*; retrying' 500 200
check 'retries are counted' json_is '.data.pushes.retries >= 1'
check "the server's answer is one printable line" sh -c "! grep -e 'two lines' '$dir/err' && ! grep -q \$(printf '\\033') '$dir/err'"
check 'a server that answers 429 gets the profile again' recovers 'HTTP status 429' 429 200
check 'a server that closes without an answer' recovers 'cannot push' cut 200
check 'a server that closes in the middle of its answer' recovers 'cannot push' close 200

serve 400 200
push -o "$dir/p"
check 'a server that answers 400 has refused a profile' until_said 'refused by http://127.*HTTP status 400'
check 'the tracee allocates after a profile was refused' obeys 'play 3 1000 1'
check 'a refused profile is not sent again, and others are' received 3
check 'a refused profile has its exit status' ended 2
check 'the allocations of a refused profile are in the next one' adds_up
check 'a refused profile is counted' json_is '.data.pushes.refused == 1 and .data.pushes.retries == 0'
end_server

serve 200
elsewhere_server=$server elsewhere_pid=$server_pid
serve "302:$url/elsewhere"
push --push-header-file "$dir/headers"
check 'a redirect is refused' until_said 'redirects are not followed'
check 'a redirect: the end' ended 2
check 'the other server gets nothing' test "$(find "$elsewhere_server" -name '*.json' | wc -l)" -eq 0
end_server
server_pid=$elsewhere_pid
end_server

# Nothing listens there any more.
url="http://zname:zpassword@${url#http://}?token=zsecret"
push -o "$dir/p"
check 'a server that is down is reported' until_said 'cannot push to http://127.*; retrying'
check 'a server that is down: the process works' obeys 'play 4 1000 1'
check 'a server that is down: the end' ended 2
check 'a server that is down: the file has all' sh -c "'$MEMDIAG' report '$(json .data.file)' --value allocated | grep -q site_"
check 'a server that is down: profiles are dropped' json_is '.data.pushes.accepted == 0 and .data.pushes.dropped >= 1'
check 'user, password and query of the URL are not printed' sh -c "! grep -e zname -e zpassword -e zsecret '$dir/err' '$dir/out'"

serve hang
push
check 'a server that hangs gets one request' received 1
check 'a server that hangs: the process works' obeys 'play 5 1000 1'
check 'a server that hangs: the oldest profile is dropped' until_said 'the oldest profile was dropped'
kill -INT "$memdiag_pid"
sleep 0.2
check 'a server that hangs: asked twice, memdiag ends at once' ended 2
check 'a server that hangs: profiles are dropped' json_is '.data.pushes.accepted == 0 and .data.pushes.dropped > 10'
end_server

# Ten profiles wait within a second, and the server needs longer.
serve 503 503 503 200
push -o "$dir/p"
check 'a queue that is full is reported' until_said 'the oldest profile was dropped'
check 'a queue that is full: the process allocates' obeys 'play 6 2000 1'
check 'a queue that is full: the server comes back' until_said 'accepted again'
check 'a queue that is full: the end' ended 2
check 'the allocations of dropped profiles are in the next one' adds_up
end_server

serve 200
url=https://${url#http://}
push
check 'an error of TLS has its name' until_said 'cannot push to https.*\(TLS\|tls\|SSL\)'
check 'an error of TLS: the end' ended 2
end_server

# ---- processes that end ----

serve 200
push
check 'memdiag is killed: profiles have been pushed' received 2
kill -KILL "$memdiag_pid"
wait "$memdiag_pid" 2>/dev/null
check 'memdiag is killed: the process works' obeys 'play 7 1000 1'
check 'memdiag is killed: the profile can be ended' exits 0 memdiag profile stop --pid "$tracee_pid" -o "$dir/p"
check 'the target lives on' end_tracee
end_server

serve 200
start_tracee sites 2
push -o "$dir/p"
check 'a process that ends: it allocates' plays
check 'a process that ends' end_tracee
wait "$memdiag_pid"
check 'a process that ends: partial' test $? -eq 2
check 'a process that ends: its last profile is pushed' adds_up
end_server

# A name with everything that ends a label or a header.
serve 200
name=$(printf 'a{b=c},\n\r&"\\\377')
cp "$TRACEES/sites" "$dir/$name"
start_command "$dir/$name" 1
push
check 'a process with a hostile name is pushed' received 2
check 'a process with a hostile name: the end' ended 0
check 'a hostile name is one label' jq -e '.query.name | test("^a_b_c_[_0-9]+[{]hostname=[^,{}=]+,pid=[0-9]+[}]$")' "$server/0000.json"
check 'a process with a hostile name lives on' end_tracee
end_server

# ---- options ----

start_tracee idle
for option in --push-every=1s --push-format=parca --push-name=x --push-label=a=b --push-tenant=x --push-header-file="$dir/headers"; do
	check "${option%%=*} without --push is refused" exits_saying 64 'are for --push URL' \
		memdiag profile --pid "$tracee_pid" --seconds 1s "$option"
done
check '--push with start is refused' exits_saying 64 'all by itself' memdiag profile start --pid "$tracee_pid" --push http://h
check 'another scheme is refused' exits_saying 64 'http:// or https://' memdiag profile --pid "$tracee_pid" --push file:///etc/passwd
check 'another scheme: the URL is not printed' sh -c "! grep passwd '$dir/err'"
for label in a 1a=b a-b=c a= 'a=b,c=d' 'a=}'; do
	check "the label $label is refused" exits_saying 64 'is not a label' \
		memdiag profile --pid "$tracee_pid" --push http://h --push-label "$label"
done
echo 'no header' >"$dir/bad"
check 'a bad header is refused' exits_saying 64 'is not a header' \
	memdiag profile --pid "$tracee_pid" --push http://h --push-header-file "$dir/bad"
check 'a missing file of headers' exits 1 memdiag profile --pid "$tracee_pid" --push http://h --push-header-file "$dir/missing"
check 'no agent was loaded for that' sh -c "! grep -q memdiag-agent /proc/$tracee_pid/maps"
check 'the target of bad options lives on' end_tracee
finish
