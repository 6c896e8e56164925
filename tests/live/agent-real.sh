#!/bin/sh
# The agent preloaded into real programs: they do what they do without it, and it counts them.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
for bin in /usr/lib/postgresql/*/bin /usr/sbin /usr/libexec; do
	PATH=$PATH:$bin
done

[ -e "$top_builddir/libmemdiag-agent.so" ] ||
	skip_all "the agent is not made for this processor"
# Some programs run as another user, who may not be able to look into the build directory.
AGENT=$dir/libmemdiag-agent.so
cp "$top_builddir/libmemdiag-agent.so" "$AGENT"
huge=1000000000000

# under SETTINGS COMMAND...: run it with the agent.
under()
{
	local settings="$1"
	shift
	MEMDIAG_AGENT="follow;$settings" LD_PRELOAD="$AGENT" "$@"
}

# same COMMAND...: whether it says the same under each of the settings as without the agent; and does
# not with a limit that is too low for anything.
same()
{
	"$@" >"$dir/bare" 2>"$dir/bare.err" || return
	for settings in account=usable account=requested "limit=$huge;account=usable" \
		"limit=$huge;account=requested"; do
		under "$settings" "$@" >"$dir/counted" 2>"$dir/counted.err" &&
			cmp "$dir/bare" "$dir/counted" &&
			cmp "$dir/bare.err" "$dir/counted.err" || {
			echo "under $settings"
			tail -n 3 "$dir/counted.err"
			return 1
		}
	done
	! under limit=100000 "$@" >"$dir/counted" 2>"$dir/counted.err" &&
		grep -q 'does not fit the limit' "$dir/counted.err"
}

# try PROGRAM WORDS COMMAND...: a check if PROGRAM is installed.
try()
{
	local program="$1" words="$2"
	shift 2
	if command -v "$program" >/dev/null; then
		check "$program: $words" same "$@"
	else
		skip "$program: $words" 'it is not installed'
	fi
}

# Enough for the compiler to take its time.
large_source()
{
	seq 3000 | sed 's/.*/int f&(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * &; return s; }/'
}
large_source >"$dir/large.c"
compiles()
{
	"${CC:-cc}" -O1 -c -o "$dir/large.o" "$dir/large.c" && cksum <"$dir/large.o"
}

keeps_history()
{
	rm -rf "$dir/history"
	mkdir "$dir/history"
	cp "$top_srcdir"/src/*/*.c "$dir/history"
	(cd "$dir/history" && export GIT_AUTHOR_DATE='2020-01-01 00:00:00 +0000' \
		GIT_COMMITTER_DATE='2020-01-01 00:00:00 +0000' HOME="$dir" &&
		git -c init.defaultBranch=main init -q &&
		git add . && git -c user.name=a -c user.email=a@b -c gc.autoDetach=false \
			commit -q -m all && git gc -q && git fsck --no-progress && git rev-parse HEAD)
}

python='
import json, threading, subprocess
total = []
def work(n):
    data = json.loads(json.dumps({str(i): list(range(n % 50)) for i in range(3000)}))
    total.append(sum(map(len, data.values())))
threads = [threading.Thread(target=work, args=(n,)) for n in range(100)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(total), subprocess.check_output(["echo", "child"]))
'
node='
const { Worker, isMainThread } = require("worker_threads");
let a = []; for (let i = 0; i < 300000; i++) a.push({ i, s: "x".repeat(i % 100) });
console.log(a.reduce((n, o) => n + o.s.length, 0), Buffer.alloc(50000000).length);
if (isMainThread) new Worker("console.log(6 * 7)", { eval: true });
'
cat >"$dir/Main.java" <<'PROGRAM'
import java.util.*;
public class Main {
	public static void main(String[] a) throws Exception {
		List<byte[]> l = new ArrayList<>();
		Thread[] t = new Thread[8];
		long[] sum = new long[8];
		for (int i = 0; i < 20000; i++) l.add(new byte[i % 1000]);
		for (int k = 0; k < 8; k++) {
			int n = k;
			t[k] = new Thread(() -> { for (byte[] b : l) sum[n] += b.length; });
			t[k].start();
		}
		for (Thread x : t) x.join();
		System.out.println(Arrays.stream(sum).sum());
	}
}
PROGRAM

# Where versions are managed, the python3 of $PATH is a script that runs scripts.
python3=$(python3 -c 'import sys; print(sys.executable)' 2>"$dir/err" || echo python3)
try "$python3" 'threads and a child' "$python3" -c "$python"
try "${CC:-cc}" 'a large file' compiles
try git 'a repository' keeps_history
try node 'a worker' node -e "$node"
if command -v javac >/dev/null && javac -d "$dir" "$dir/Main.java" 2>"$dir/javac"; then
	try java 'threads' java -cp "$dir" Main
else
	skip 'java: threads' 'there is no compiler for it'
fi

# ---- servers --------------------------------------------------------------------------------------

sql()
{
	mariadb --no-defaults --socket="$dir/socket" --user=root --batch --skip-column-names "$@"
}

mariadb_works()
{
	rm -rf "$dir/data"
	mariadb-install-db --no-defaults --datadir="$dir/data" --skip-test-db $user \
		--auth-root-authentication-method=normal >"$dir/install" 2>&1 || return
	MEMDIAG_AGENT="follow;$1" LD_PRELOAD="$AGENT" mariadbd --no-defaults $user \
		--datadir="$dir/data" --socket="$dir/socket" --skip-networking \
		--innodb-buffer-pool-size=32M --innodb-flush-log-at-trx-commit=0 \
		>"$dir/log" 2>&1 </dev/null &
	server=$!
	started="$started $server"
	wait_for $server "$dir/log" 'ready for connections' && sql -e 'CREATE DATABASE d' || return
	grep -q memdiag-agent /proc/$server/maps || return
	sessions=
	for session in 1 2 3 4; do
		{
			echo "CREATE TABLE t$session (id INT AUTO_INCREMENT PRIMARY KEY, s TEXT);"
			seq 50 | sed "s/.*/INSERT INTO t$session (s) SELECT REPEAT('x', 3000) FROM \
				seq_1_to_50; UPDATE t$session SET s = CONCAT(s, 'y') ORDER BY id LIMIT 20;/"
			echo "SELECT COUNT(*), SUM(LENGTH(s)) FROM t$session;"
		} | sql d >"$dir/session.$session" 2>&1 &
		sessions="$sessions $!"
	done
	# shellcheck disable=SC2086 # a list
	wait $sessions
	cat "$dir"/session.[1-4] | sort -u >"$dir/sessions"
	sql -e SHUTDOWN
	wait $server && printf '2500\t7501000\n' | diff - "$dir/sessions" &&
		! grep -E '\[ERROR\]' "$dir/log"
}

postgres_works()
{
	rm -rf "$dir/cluster"
	mkdir "$dir/cluster"
	[ -z "$as" ] || chown postgres "$dir/cluster"
	$as initdb --no-sync -U tester -A trust -D "$dir/cluster" >"$dir/initdb" 2>&1 || return
	MEMDIAG_AGENT="follow;$1" LD_PRELOAD="$AGENT" $as postgres -D "$dir/cluster" \
		-k "$dir/cluster" -c listen_addresses= -c fsync=off >"$dir/log" 2>&1 </dev/null &
	server=$!
	started="$started $server"
	wait_for $server "$dir/log" 'ready to accept connections' &&
		grep -q memdiag-agent /proc/$server/maps &&
		pgbench -h "$dir/cluster" -U tester -i -q postgres >"$dir/pgbench" 2>&1 &&
		pgbench -h "$dir/cluster" -U tester -c 4 -t 200 postgres >"$dir/pgbench" 2>&1 &&
		grep -q '^number of transactions actually processed: 800/800' "$dir/pgbench" || return
	kill -INT $server
	wait $server && ! grep -E 'ERROR|FATAL|PANIC|WARNING|terminated' "$dir/log"
}

user=
as=
if [ "$(id -u)" -eq 0 ]; then
	user=--user=root
	as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
for settings in account=usable "account=requested;limit=$huge"; do
	if command -v mariadbd mariadb mariadb-install-db >/dev/null; then
		check "mariadbd under a load, $settings" mariadb_works "$settings"
	else
		skip "mariadbd, $settings" 'it is not installed'
	fi
	if command -v postgres pgbench >/dev/null && { [ -z "$as" ] || id postgres >/dev/null; }; then
		check "PostgreSQL under pgbench, $settings" postgres_works "$settings"
	else
		skip "PostgreSQL, $settings" 'it is not installed, or there is no user for it'
	fi
done
finish
