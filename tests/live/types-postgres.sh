#!/bin/sh
# types on a process of PostgreSQL, against its own account of its memory contexts (pg_backend_memory_contexts, since 14).
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/server-lib.sh"
for bin in /usr/lib/postgresql/*/bin; do
	PATH=$bin:$PATH
done
need jq initdb postgres psql

start_postgres || skip_all 'PostgreSQL does not start'
mkfifo "$dir/sql"
psql -X -q -t -A -F ' ' -h "$dir/data" -U tester postgres <"$dir/sql" >"$dir/psql" 2>&1 &
started="$started $!"
exec 9>"$dir/sql"

# account WORD: what PostgreSQL says to have in contexts that a query does not change, into the file of that name: the
# name without spaces, contexts, bytes.
account()
{
	cat >&9 <<-SQL
		SELECT replace(name, ' ', '_'), count(*), sum(total_bytes) FROM pg_backend_memory_contexts WHERE name IN
			('CacheMemoryContext', 'TopMemoryContext', 'ErrorContext', 'index info', 'relation rules') GROUP BY name ORDER BY name;
		SELECT 'end $1 ' || pg_backend_pid();
	SQL
	wait_for "$server" "$dir/psql" "^end $1 "
	awk -v last="$1" '$1 != "end" { said = said $0 "\n"; next } $2 == last { printf "%s", said; exit } { said = "" }' \
		"$dir/psql" >"$dir/$1"
	backend=$(sed -n "s/^end $1 //p" "$dir/psql")
}

# same_account: whether each of these contexts has the bytes that PostgreSQL has requested for it.  A block has up to 40 more, or
# nearly a page if it has its own mapping.
same_account()
{
	local name nr bytes found blocks
	while read -r name nr bytes; do
		found=$(jq --arg name "$name" '[.data.types[] | select(.evidence == "context" and (.name | gsub(" "; "_")) == $name) |
			.bytes] | add // 0' "$dir/out")
		blocks=$(jq --arg name "$name" '[.data.types[] | select(.evidence == "context" and (.name | gsub(" "; "_")) == $name) |
			.blocks] | add // 0' "$dir/out")
		echo "$name: $nr contexts, $bytes bytes; found $found bytes in $blocks blocks"
		[ "$blocks" -ge "$nr" ] && [ "$found" -ge "$bytes" ] && [ "$found" -le $((bytes + 40 * blocks + 4096 * (bytes / 131072))) ] ||
			return
	done <"$dir/after"
	[ "$(wc -l <"$dir/after")" -ge 4 ]
}

account warm
account before
check 'types of a process of PostgreSQL' exits 0 memdiag types --pid "$backend" --max-stop 300s --json
account after
check 'its contexts did not change meanwhile' cmp "$dir/before" "$dir/after"
check 'each has the bytes of its own account' same_account
sed 's/^/# /' "$dir/check.said"
check 'most of its memory is proven' json_is '.data | .proven.bytes > 7 * .in_use.bytes / 10'
check 'the table' exits 0 memdiag types --pid "$backend" --max-stop 300s
check 'has the context' grep -q 'context  *postgres  *CacheMemoryContext$' "$dir/out"
exec 9>&-
kill -INT "$server"
check 'PostgreSQL shuts down' wait "$server"
finish
