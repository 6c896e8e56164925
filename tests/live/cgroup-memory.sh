#!/bin/sh
# A target whose memory cgroup is nearly full.  The page cache does not make it so; and where memdiag
# itself is in that cgroup, as by 'docker exec', the OOM killer takes memdiag and not the target.
. "$top_srcdir/tests/live/lib.sh"
need jq

# ---- a cgroup of our own, of either version ----

v1=/sys/fs/cgroup/memory
v2=/sys/fs/cgroup
name=memdiag-test.$$
if [ -w $v1/memory.limit_in_bytes ] || [ -w $v1/cgroup.procs ]; then
	group=$v1/$name limit=memory.limit_in_bytes usage=memory.usage_in_bytes
elif [ -w $v2/cgroup.procs ] && grep -qw memory $v2/cgroup.subtree_control 2>/dev/null; then
	group=$v2/$name limit=memory.max usage=memory.current
else
	skip_all 'no memory cgroup may be made here'
fi
mkdir "$group" 2>/dev/null || skip_all 'no memory cgroup may be made here'
# Before lib.sh's own: what is in it must have ended.
drop_group()
{
	status=$?
	for pid in $started; do
		kill -KILL "$pid" 2>/dev/null
	done
	eventually rmdir "$group" >/dev/null 2>&1
	started=
	(exit $status)
	leave
}
trap drop_group EXIT

# inside COMMAND...: run it in the cgroup.
cat >"$dir/inside" <<'END'
#!/bin/sh
echo $$ >"$1/cgroup.procs" || exit 99
shift
exec "$@"
END
chmod 755 "$dir/inside"
set_room()	# BYTES more than are used
{
	echo $(($(cat "$group/$usage") + $1)) >"$group/$limit"
}
in_group()
{
	# shellcheck disable=SC2145 # the first word is the program
	start_command "$dir/inside" "$group" "$TRACEES/$@"
}

# ---- limit-near ----

in_group chunks 100 1000000
used=$(cat "$group/$usage")
[ "$used" -ge 90000000 ] || skip_all 'what is used in a memory cgroup is not counted here'
set_room 4000000
check 'a full cgroup' exits 0 memdiag info --pid "$tracee_pid" --json --method=read
check 'is said first' json_is '.verdicts[0] | .id == "limit-near" and .severity == "critical"'
echo 400000000 >"$group/$limit"
"$dir/inside" "$group" dd if=/dev/zero of="$dir/cache" bs=1M count=290 2>"$dir/dd"
used=$(cat "$group/$usage")
if [ "$used" -ge 370000000 ]; then
	check 'a cgroup full of page cache' exits 0 memdiag info --pid "$tracee_pid" --json --method=read
	check 'is not full' json_is '[.verdicts[].id] | index("limit-near") == null'
	check 'doctor' exits '0 2' memdiag doctor --pid "$tracee_pid" --json
	check 'doctor shows the memory that cannot be dropped' json_is '[.data.findings[] | select(.about == "cgroup")][0].text |
		test(", (9|1[0-9])[0-9]?\\.[0-9] MiB in use")'
else
	skip 'a cgroup full of page cache' 'files here are not counted in it'
fi
rm -f "$dir/cache"
check 'the target lives on' end_tracee

# ---- the OOM killer ----

# Two million free chunks: to read them takes much memory of memdiag's own.
echo 4000000000 >"$group/$limit"
in_group chunks 4000000 120 2
killed()
{
	set_room "$1"
	shift
	echo 0 >/proc/self/oom_score_adj 2>/dev/null
	"$dir/inside" "$group" "$MEMDIAG" "$@" --pid "$tracee_pid" >"$dir/out" 2>"$dir/err"
	status=$?
	echo "exit status $status"
	lives "$tracee_pid" || return
	[ $status -ne 137 ] || nr_killed=$((nr_killed + 1))
}
nr_killed=0
for room in 2000000 8000000 20000000 60000000; do
	check "$room bytes of room: heap leaves the target alone" killed $room heap
	check "$room bytes of room: trim -n as well" killed $room trim -n
	check "$room bytes of room: info as well" killed $room info --method=read
	check "$room bytes of room: maps as well" killed $room maps
done
echo "# memdiag was taken $nr_killed times"
check 'memdiag was the one that was taken' test "$nr_killed" -gt 0
check 'the target lives on' end_tracee
finish
