#!/bin/sh
# leaks on servers that lose nothing, while clients that know every byte of the answers are at work: nothing is
# unreachable but what is named here, and every answer is right.  A server that loses lists of blocks: each list is found.
#
# MEMDIAG_TEST_SERVERS='perl node' tries only these.
# shellcheck disable=SC3043 # every sh we know has local
# shellcheck disable=SC2034 # lib.sh reads it
deadline=3600
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
for bin in /usr/lib/postgresql/*/bin; do
	PATH=$bin:$PATH
done
PATH=$PATH:/usr/sbin:/usr/libexec
: "${MEMDIAG_TEST_SERVERS:=asyncio losing perl pool node nginx postgres php-fpm mariadbd redis java}"
need pgrep
connections=4

# explained: the kinds of blocks that the server loses in truth (leaks-explain.py says why).
explained=

# finds_nothing PID: 6 is that a thread was inside malloc in each stop, and 2 that the read was not exact then.
finds_nothing()
{
	local status
	memdiag leaks --pid "$1" --max-stop 300s --lines 0 --json
	status=$?
	case $status in
	0 | 1)
		nr_certain=$((nr_certain + 1))
		blocks=$(json .data.in_use.blocks)
		# shellcheck disable=SC2086 # words
		[ $status -eq 0 ] || python3 "$top_srcdir/tests/live/leaks-explain.py" "$1" $explained <"$dir/out"
		;;
	2 | 6) nr_uncertain=$((nr_uncertain + 1)) ;;
	*)
		echo "leaks of $1: exit status $status"
		cat "$dir/err"
		return 1
		;;
	esac
}

# in_turn N PID...: leaks of each, N times.
in_turn()
{
	local left pid
	left=$(some "$1")
	shift
	while [ "$left" -gt 0 ]; do
		for pid in "$@"; do
			finds_nothing "$pid" && lives "$pid" || return
		done
		left=$((left - 1))
	done
}

# loses_nothing NAME PID...: 30 times.
loses_nothing()
{
	local name="$1"
	shift
	nr_certain=0 nr_uncertain=0 blocks=0
	check "$name: nothing is unreachable in $# processes" in_turn 30 "$@"
	about_process='' about_command=''
	echo "# $name: certain $nr_certain times, not $nr_uncertain times; $blocks blocks in the last"
	check "$name: that was certain most times" test $nr_certain -gt $nr_uncertain
}

# serves NAME KIND ADDRESS: leaks of the processes that the function processes prints, under a client.
serves()
{
	local name="$1"
	start_command python3 "$top_srcdir/tests/live/exact-client.py" "$2" "$3" $connections
	client=$tracee_pid
	all=$(processes)
	# shellcheck disable=SC2086 # a list
	loses_nothing "$name" $all
	ask end "$client" >"$dir/client"
	echo "# $name: $(jq -r '"\(.requests) requests, \(.errors) errors, slowest \(.slowest_ms) ms"' "$dir/client")"
	check "$name: every answer was right and in time" client_is '.errors == 0 and .requests > 0'
	check "$name: the same processes are there" test "$(processes)" = "$all"
	kill "$(cat "$dir/$client.holder")"
	wait "$client"
}

# serves_itself NAME KIND COMMAND...: a program that speaks the protocol of tracee.h, with the path of a socket as its
# last argument.
serves_itself()
{
	local name="$1" kind="$2"
	shift 2
	start_command "$@" "$dir/$name.socket"
	served=$tracee_pid
	serves "$name" "$kind" "$dir/$name.socket"
	check "$name: nothing on its stderr" test ! -s "$dir/$served.err"
	check "$name: it lives on" end_tracee "$served"
}

# shuts_down NAME SIGNAL
shuts_down()
{
	kill "-$2" "$server"
	check "$1: it shuts down" wait "$server"
}

serve_asyncio()
{
	processes() { echo "$served"; }
	serves_itself asyncio lines python3 "$top_srcdir/tests/tracees/asyncio-server.py"
}

serve_perl()
{
	processes() { echo "$served"; }
	command -v perl >/dev/null && perl -MSocket -MTime::HiRes -e 1 2>"$dir/err" || {
		skip perl 'perl is not installed, or its modules are not'
		return
	}
	serves_itself perl lines perl "$top_srcdir/tests/tracees/select-server.pl"
}

serve_pool()
{
	processes() { family "$served"; }
	explained=lock
	serves_itself pool lines python3 "$top_srcdir/tests/tracees/pool-server.py"
}

serve_node()
{
	processes() { echo "$served"; }
	command -v node >/dev/null || {
		skip node 'node is not installed'
		return
	}
	serves_itself node http node "$top_srcdir/tests/tracees/http-server.js"
}

serve_nginx()
{
	processes() { family "$server"; }
	command -v nginx >/dev/null && start_nginx || {
		skip nginx 'nginx is not installed, or does not start'
		return
	}
	serves nginx files "$dir/socket"
	shuts_down nginx QUIT
}

serve_postgres()
{
	processes() { family "$server"; }
	command -v initdb postgres psql >/dev/null && start_postgres || {
		skip postgres 'PostgreSQL is not installed, or does not start'
		return
	}
	explained='environment directory'
	serves postgres psql "$dir/data"
	shuts_down postgres INT
}

serve_php_fpm()
{
	processes() { family "$server"; }
	find_php_fpm && start_php_fpm || {
		skip php-fpm 'php-fpm is not installed, or does not start'
		return
	}
	explained=environment
	serves php-fpm php "$dir/fpm.socket"
	shuts_down php-fpm QUIT
}

serve_mariadbd()
{
	command -v mariadbd mariadb-install-db >/dev/null && start_mariadbd || {
		skip mariadbd 'it is not installed, or does not start'
		return
	}
	server=$tracee_pid
	start_sessions
	loses_nothing mariadbd "$server"
	touch "$dir/stop"
	wait "$session_1" "$session_2" "$session_3"
	check 'mariadbd: no session saw an error' sh -c "! grep -v inserted '$dir'/session.*"
	sql -e SHUTDOWN
	check 'mariadbd: it shuts down' wait "$server"
}

# redis_is WORDS: the allocator that it was built with.
redis_is()
{
	redis-cli -s "$dir/redis" info memory | grep -q "mem_allocator:$1"
}

serve_redis()
{
	command -v redis-server redis-cli >/dev/null || {
		skip redis 'redis is not installed'
		return
	}
	redis-server --port 0 --unixsocket "$dir/redis" --save '' --dir "$dir" >"$dir/redis.log" 2>&1 </dev/null &
	server=$!
	started="$started $server"
	wait_for $server "$dir/redis.log" 'ready to accept connections'
	redis-cli -s "$dir/redis" eval 'for i = 1, 100000 do redis.call("set", i, string.rep("x", i % 300)) end' 0 \
		>"$dir/redis.said"
	if redis_is jemalloc; then
		check 'redis: jemalloc is refused by name' exits_saying 5 jemalloc memdiag leaks --pid $server
	else
		loses_nothing redis "$server"
	fi
	check 'redis: it answers' test "$(redis-cli -s "$dir/redis" dbsize)" = 100000
	shuts_down redis TERM
}

serve_java()
{
	command -v java javac >/dev/null || {
		skip java 'java is not installed'
		return
	}
	javac -d "$dir" "$top_srcdir/tests/tracees/Busy.java"
	start_command java -Xmx128m -cp "$dir" Busy 40
	explained='option handle-mark'
	loses_nothing java "$tracee_pid"
	check 'java: it works' test "$(ask 1000)" = 332833500
	check 'java: it lives on' end_tracee
}

# ---- a server that loses blocks ----

# lists: how many lists the server says to have lost; it answers one line.
lists()
{
	ask lost "$served"
}

# finds_lists: whether none is found that was not lost; more may be found than before, as the server goes on.  An address of
# a block that was free before a list was made may be left in other blocks: then the list is reached.  A block has 72 bytes,
# or 88 if what was left of a free one was too small.
finds_lists()
{
	local after
	exits '0 1 2 6' memdiag leaks --pid "$served" --max-stop 300s --lines 0 --json || return
	after=$(lists)
	[ "$(json .partial)" = false ] || return 0
	nr_certain=$((nr_certain + 1))
	json '.data.groups | tostring'
	json_is ".data | .heads <= $after and .unreachable.blocks <= 5 * $after and all(.groups[]; .head_bytes == 72 or .head_bytes == 88) and
		all(.groups[]; .shape == \"list\" or .shape == \"single\")"
}

has_lost()
{
	[ "$(lists)" -ge "$1" ]
}

# finds_most: whether most of the lost blocks are found when the server rests.
finds_most()
{
	finds_lists || return
	echo "$(json .data.unreachable.blocks) of $((5 * $(lists)))"
	[ "$(json .data.unreachable.blocks)" -ge $((5 * $(lists) * 2 / 3)) ]
}

serve_losing()
{
	"${CC:-cc}" -O2 -shared -fPIC -o "$dir/lose.so" "$top_srcdir/tests/tracees/lose.c" || {
		skip losing 'the compiler does not work'
		return
	}
	start_command python3 "$top_srcdir/tests/tracees/losing-server.py" "$dir/lose.so" "$dir/losing.socket"
	served=$tracee_pid nr_certain=0
	start_command python3 "$top_srcdir/tests/live/exact-client.py" lines "$dir/losing.socket" $connections
	client=$tracee_pid tracee_pid=$served
	check 'losing: the lists are found while it loses more' each_of 30 finds_lists
	check 'losing: that was certain' test $nr_certain -gt 0
	check 'losing: it loses 50 lists' soon has_lost 50
	ask end "$client" >"$dir/client"
	check 'losing: every answer was right and in time' client_is '.errors == 0 and .requests > 0'
	check 'losing: most of them are found when it rests' finds_most
	sed 's/^/# losing: /' "$dir/check.said" | tail -n 1
	kill "$(cat "$dir/$client.holder")"
	wait "$client"
	check 'losing: it lives on' end_tracee "$served"
}

for name in $MEMDIAG_TEST_SERVERS; do
	explained=
	case $name in
	php-fpm) serve_php_fpm ;;
	asyncio | losing | perl | pool | node | nginx | postgres | mariadbd | redis | java) "serve_$name" ;;
	*) check "'$name' is a server that this test knows" false ;;
	esac
done
finish
