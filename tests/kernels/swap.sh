#!/bin/sh
# Swap is on, and a part of the target is swapped.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
swap=/var/swap
group=/sys/fs/cgroup/memdiag-swap
dd if=/dev/zero of=$swap bs=1M count=256 2>/dev/null && chmod 600 $swap && mkswap $swap >/dev/null &&
	swapon $swap || skip_all 'there can be no swap'
mkdir $group
is_swapped()
{
	awk '$1 == "VmSwap:" { swapped = $2 } END { exit swapped < 20000 }' "/proc/$tracee_pid/status"
}
# VmSwap lags behind before Linux 6.16; the sum of smaps does not.
adds_up()
{
	exits 0 memdiag maps --pid "$tracee_pid" --json && json_is ".data.totals.swap_bytes == $(
		awk '$1 == "Swap:" { sum += $2 } END { print sum * 1024 }' "/proc/$tracee_pid/smaps") and
		([.data.identities[] | select(.name == \"VmSwap\") | .explained_by // \"lag behind\"] |
			length == 1 and all(test(\"lag behind\")))"
}
# shellcheck disable=SC2016 # for the inner shell
start_command sh -c 'echo $$ >"$0" && exec "$@"' $group/cgroup.procs "$TRACEES/bloat" 8
echo 40M >$group/memory.high
check 'a part is swapped' soon is_swapped
echo max >$group/memory.high
check 'maps adds up' soon adds_up
check 'maps reads nothing in' is_swapped
# What is in swap is not read in, so that chunks in there are not known.
check 'heap does not know all' exits 2 memdiag heap --arenas --pid "$tracee_pid"
check 'heap says why' grep -q 'in swap$' "$dir/out"
check 'heap says of nothing that it is damaged' test "$(grep -c damaged "$dir/out")" -eq 0
check 'info says why, too' exits_saying 2 'arenas; arena 0: .*in swap$' memdiag info --method=read --pid "$tracee_pid"
all_exit 'swapped' '0 2'
check 'swapped: lives on' end_tracee
rmdir $group
swapoff $swap
rm $swap
finish
