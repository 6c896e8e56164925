# server-lib: what the tests of servers under a client's load share; read after lib.sh.
#
#	free_port			a port of 127.0.0.1 that nobody listens on
#	start_client KIND ADDRESS [ARGUMENT]	tests/live/client.py, which checks every answer
#	visit PID COMMANDS		COMMANDS of memdiag in turn, one every 2 s, 60 s in all; no error
#					of the client, timers on time, and no stop longer than gdb's
#	starve PID COMMANDS		the same with a client that only waits for timers, much more often
#	start_mariadbd start_nginx start_postgres start_php_fpm
#					servers with data; fails if one is not installed
#
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
need jq python3
every=2		# seconds
timers=with	# or without: the server has none that a client sees

free_port()
{
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start_client()
{
	start_command python3 "$top_srcdir/tests/live/client.py" "$@"
	client=$tracee_pid
}

# wait_until_connected PORT: until a server listens there, or fails to.
wait_until_connected()
{
	until python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' \
		"$1" 2>"$dir/connect.err"; do
		lives "$server" || return
		sleep 0.1
	done
}

# look PID COMMAND: run it; 6 is no safe point in time, nothing changed.  Keeps the longest time that
# the target, or one thread of it, stood still for it, in us.
look()
{
	# shellcheck disable=SC2086 # "count start" is two words
	memdiag $2 --pid "$1" --json
	status=$?
	nr_looks=$((nr_looks + 1))
	case $status in
	0 | 2)
		held=$(json '[.. | objects | .held_us?, .longest_us? | numbers] | max // 0')
		[ "$held" -le "$held_us" ] || held_us=$held
		;;
	6) nr_waited=$((nr_waited + 1)) ;;
	*)
		echo "$2: exit status $status"
		cat "$dir/err"
		return 1
		;;
	esac
}

# looks N PID COMMANDS: N of them, or a part; all of them at least once.
looks()
{
	local left pid="$2"
	left=$(some "$1")
	shift
	shift
	[ "$left" -gt $# ] || left=$#
	while [ "$left" -gt 0 ]; do
		for command in "$@"; do
			[ "$left" -gt 0 ] || break
			look "$pid" "$command" || return
			lives "$pid" || return
			left=$((left - 1))
			sleep "$every"
		done
	done
	# To end as it began.
	case $* in *'count stop'*) look "$pid" 'count stop' ;; esac
}

# gdb_freeze PID: how long gdb has it stopped when it attaches and detaches, in us, into $gdb_us if that is
# longer.  A call by gdb takes longer, and a server in poll() does not survive it (gdb 13: errno 516).
gdb_freeze()
{
	local us
	gdb -nx -batch -iex 'set debuginfod enabled off' -ex 'shell date +%s%N >&2' -ex "attach $1" \
		-ex detach -ex 'shell date +%s%N >&2' 2>&1 >"$dir/gdb" </dev/null |
		grep -E '^[0-9]{18,20}$' >"$dir/gdb.times"
	[ "$(wc -l <"$dir/gdb.times")" -eq 2 ] || return
	us=$((($(tail -n 1 "$dir/gdb.times") - $(head -n 1 "$dir/gdb.times")) / 1000))
	[ "$us" -le "$gdb_us" ] || gdb_us=$us
}

# gdb_freezes PID: the longest of as many as memdiag had looks: on a loaded machine one is no measure for the longest
# of many.
gdb_freezes()
{
	local left=$nr_looks
	gdb_us=0
	while [ "$left" -gt 0 ]; do
		gdb_freeze "$1" || return
		left=$((left - 1))
	done
}

# client_is FILTER: whether that is true of what the client has said.
client_is()
{
	cat "$dir/client"
	jq -e "$1" "$dir/client" >"$dir/client.is"
}

# hear_client: what the client has seen.
hear_client()
{
	ask end "$client" >"$dir/client"
	echo "# $(cat "$dir/client")"
}

starve()
{
	nr_looks=0 nr_waited=0 held_us=0 every=0.3
	check "every 0.3 s: $2 ..." looks 200 "$@"
	every=2
	hear_client
	check 'the client of an idle server saw no error' client_is '.errors == 0'
	check 'its timers fired, less than 5 s late' client_is '.timers > 0 and .latest_ms < 5000'
	kill "$(cat "$dir/$client.holder")"
	wait "$client"
}

visit()
{
	nr_looks=0 nr_waited=0 held_us=0
	check "every 2 s: $2 ..." looks 30 "$@"
	hear_client
	check 'the client made requests' client_is '.requests > 10'
	check 'none of them failed' client_is '.errors == 0'
	# As late as a loaded machine makes it; one of 3 s that memdiag starts again each time would not
	# fire before the last look.
	[ "$timers" = without ] ||
		check 'timers fired, less than 5 s late' client_is '.timers > 0 and .latest_ms < 5000'
	if command -v gdb >/dev/null && gdb_freezes "$1"; then
		echo "# longest stop $held_us us, gdb $gdb_us us; $nr_looks looks, $nr_waited found no" \
			"safe moment"
		check 'no thread stood still for longer than under gdb' test "$held_us" -le "$gdb_us"
	else
		skip 'no thread stood still for longer than under gdb' 'there is no gdb that can attach'
	fi
	kill "$(cat "$dir/$client.holder")"
	wait "$client"
}

# ---- mariadbd ----

# sql ARGUMENTS...: the client of the server that start_mariadbd has started.
sql()
{
	mariadb --no-defaults --socket="$dir/socket" --user=root --batch --unbuffered \
		--skip-column-names "$@"
}

start_mariadbd()
{
	local user=
	[ "$(id -u)" -ne 0 ] || user=--user=root
	mariadb-install-db --no-defaults --datadir="$dir/data" --auth-root-authentication-method=normal \
		--skip-test-db $user >"$dir/install" 2>&1 || return
	mariadbd --no-defaults $user --datadir="$dir/data" --socket="$dir/socket" --skip-networking \
		--innodb-buffer-pool-size=32M --innodb-flush-log-at-trx-commit=0 >"$dir/log" 2>&1 </dev/null &
	tracee_pid=$!
	started="$started $tracee_pid"
	wait_for $tracee_pid "$dir/log" 'ready for connections'
}

# start_sessions: three sessions write all the time, until $dir/stop is there.
start_sessions()
{
	local session
	sql -e 'CREATE DATABASE d'
	for session in 1 2 3; do
		sql -e "CREATE TABLE d.t$session (id INT AUTO_INCREMENT PRIMARY KEY, s TEXT)"
		while [ ! -e "$dir/stop" ]; do
			echo "INSERT INTO t$session (s) SELECT REPEAT('x', 3000) FROM seq_1_to_50;
				DELETE FROM t$session ORDER BY id LIMIT 50;
				SELECT 'inserted';"
		done | sql d >"$dir/session.$session" 2>&1 &
		eval "session_$session=$!"
	done
	wait_for "$session_1" "$dir/session.1" inserted
}

# has: what the process tracee_pid has that could become more each time.  Its own threads come and go.
has()
{
	find "/proc/$tracee_pid/fd" -lname '*memfd*' | wc -l
	grep -c 'memdiag\|r-xp 00000000 00:00' "/proc/$tracee_pid/maps"
}

# ---- servers that answer exact-client.py ----

# family PID: it and its children.
family()
{
	echo "$1"
	pgrep -P "$1"
}

# start_nginx: two workers and their master, which is $server; at $dir/socket.
start_nginx()
{
	local n
	mkdir "$dir/root" "$dir/root/slow"
	for n in $(seq 0 49); do
		yes "$n:$n" | tr '\n' ' ' | head -c $((n * 2000)) >"$dir/root/$n"
		ln "$dir/root/$n" "$dir/root/slow/$n"
	done
	cat >"$dir/conf" <<-CONF
		daemon off;
		worker_processes 2;
		pid $dir/pid;
		error_log $dir/log notice;
		events { worker_connections 100; }
		http {
			access_log off;
			client_body_temp_path $dir/body;
			proxy_temp_path $dir/proxy;
			fastcgi_temp_path $dir/fastcgi;
			uwsgi_temp_path $dir/uwsgi;
			scgi_temp_path $dir/scgi;
			keepalive_timeout 1h;
			keepalive_requests 1000000000;
			default_type text/plain;
			gzip on;
			gzip_types text/plain;
			add_header X-Seq \$args;
			server {
				listen unix:$dir/socket;
				root $dir/root;
				location /slow/ { limit_rate 400k; }
			}
		}
	CONF
	nginx -c "$dir/conf" -e "$dir/log" >"$dir/out" 2>&1 &
	server=$!
	started="$started $server"
	wait_for $server "$dir/log" 'start worker process '
}

# start_postgres: $server; at $dir/data, for user tester.
start_postgres()
{
	local as=
	if [ "$(id -u)" -eq 0 ]; then
		id postgres >/dev/null 2>&1 || return
		as='setpriv --reuid=postgres --regid=postgres --clear-groups'
	fi
	mkdir "$dir/data"
	[ -z "$as" ] || chown postgres "$dir/data"
	# shellcheck disable=SC2086 # a list of words
	$as initdb --no-sync -U tester -A trust -D "$dir/data" >"$dir/initdb" 2>&1 || return
	# shellcheck disable=SC2086
	$as postgres -D "$dir/data" -k "$dir/data" -c listen_addresses= -c fsync=off >"$dir/postgres.log" 2>&1 </dev/null &
	server=$!
	started="$started $server"
	wait_for $server "$dir/postgres.log" 'ready to accept connections'
}

# find_php_fpm: its name has a release in it.
find_php_fpm()
{
	for php_fpm in $(echo "$PATH" | tr ':' '\n' | sed 's/$/\/php-fpm*/'); do
		[ ! -x "$php_fpm" ] || return 0
	done
	return 1
}

# start_php_fpm: three workers and their master, which is $server; at $dir/fpm.socket.
start_php_fpm()
{
	cat >"$dir/page.php" <<-'PAGE'
		<?php
		$seq = (int)$_GET["seq"];
		$length = (int)$_GET["length"];
		$kept = [];
		for ($i = 0; $i < 300; $i++)
			$kept[] = str_repeat("x", 20 + $i * (int)$_GET["seed"] % 3000);
		unset($kept);
		usleep(1000 * (int)$_GET["ms"]);
		header("X-Seq: $seq");
		echo substr(str_repeat("$seq:" . (int)$_GET["seed"] . " ", $length), 0, $length);
	PAGE
	cat >"$dir/fpm.conf" <<-CONF
		[global]
		error_log = $dir/fpm.log
		daemonize = no
		[www]
		user = $(id -un)
		group = $(id -gn)
		listen = $dir/fpm.socket
		pm = static
		pm.max_children = 3
	CONF
	USE_ZEND_ALLOC=0 "$php_fpm" -n -F -R -y "$dir/fpm.conf" >"$dir/fpm.out" 2>&1 </dev/null &
	server=$!
	started="$started $server"
	wait_for $server "$dir/fpm.log" 'ready to handle connections'
}
