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
check 'with the sum of what the cgroup uses' json_is '.verdicts[0].text | test(": [0-9.]+ MiB of this process, .* of the kernel, .* of others")'
echo 600000000 >"$group/$limit"
first_pid=$tracee_pid
in_group cause held-files
set_room 4000000
check 'a cgroup that files in memory fill' exits 0 memdiag info --pid "$first_pid" --json --method=read
check 'with the process that holds them, and its descriptor' json_is '.verdicts[0].text |
	test("most: descriptor [0-9]+ of '"$tracee_pid"' \\(cause\\), /memfd:cause \\(deleted\\), 100.0 MiB")'
check 'the process lives on' end_tracee
tracee_pid=$first_pid
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

# ---- what a record and a profile of each block take ----

# starts_bounded COMMAND...: it begins, bounded by half of the room, and the target works on in its cgroup for a while.
starts_bounded()
{
	memdiag "$@" --pid "$tracee_pid" --json || { cat "$dir/err"; return 1; }
	json_is '.data.max_overhead_bytes | . > 8000000 and . <= 21000000' || return
	before=$(ask count)
	for _ in $(seq 300); do
		lives "$tracee_pid" || return
		[ $(($(ask count) - before)) -lt 3000000 ] || return 0
		sleep 0.1
	done
	echo "only $(($(ask count) - before)) blocks were replaced"
	return 1
}

echo 4000000000 >"$group/$limit"
for how in 'record start' 'record start --live-set table' 'record start --mode log-fast' 'profile start --rate 1'; do
	in_group replace 300
	set_room 40000000
	# shellcheck disable=SC2086 # a command and its options
	set -- $how
	case $how in
	*log*) set -- "$@" -o "$dir/log" ;;
	esac
	check "$how: in a cgroup with 40 MB left it is bounded, and the target is not taken" starts_bounded "$@"
	check "$how: it ends" exits '0 2' memdiag "$1" stop --pid "$tracee_pid" -o "$dir/out.$1"
	check "$how: the target lives on" end_tracee
	echo 4000000000 >"$group/$limit"
done

in_group replace 300
set_room 12000000
check 'a record in a cgroup with 12 MB left is refused with both numbers' \
	exits_saying 6 'has 1[01]\.[0-9] MiB left below .*, and this takes up to 16.0 MiB there' \
	memdiag record start --pid "$tracee_pid"
check 'more than is left is refused with both numbers' \
	exits_saying 6 'and this takes up to 1.0 GiB there' \
	memdiag record start --max-overhead 1G --pid "$tracee_pid"
check 'a profile of samples begins there' exits 0 memdiag profile start --pid "$tracee_pid"
check 'a profile of samples ends there' exits 0 memdiag profile stop --pid "$tracee_pid" -o "$dir/samples"
check 'the target of a refused record lives on' end_tracee
echo 4000000000 >"$group/$limit"

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
