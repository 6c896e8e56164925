# tracefs-lib: probes of the kernel's in tests; read after lib.sh.
#
#	$tracing	where tracefs is mounted; the script is skipped where it cannot be
#	$group		the name that all probes of this script are to have: $group/PROBE
#	probes_off	remove them; done at the end in any case
#
# shellcheck disable=SC2154 # lib.sh sets the rest

group=memdiag_test_$$
tracing=
mounted=

let_probes_go()
{
	status=$?
	probes_off
	[ -z "$mounted" ] || umount "$mounted"
	return $status
}
trap 'let_probes_go; leave' EXIT

probes_off()
{
	[ -d "$tracing/events/$group" ] || return 0
	echo 0 >"$tracing/events/$group/enable"
	sed -n "s,^[pr][0-9]*:\($group/[^ ]*\) .*,-:\1,p" "$tracing/uprobe_events" >"$dir/probes"
	while read -r probe; do
		echo "$probe" >>"$tracing/uprobe_events"
	done <"$dir/probes"
}

for at in /sys/kernel/tracing /sys/kernel/debug/tracing; do
	[ ! -w "$at/uprobe_events" ] || tracing=$at
done
if [ -z "$tracing" ]; then
	mkdir "$dir/tracing"
	mount -t tracefs tracefs "$dir/tracing" 2>"$dir/err" ||
		skip_all "tracefs cannot be mounted: $(head -n 1 "$dir/err")"
	mounted=$dir/tracing
	tracing=$mounted
	[ -w "$tracing/uprobe_events" ] || skip_all 'the kernel has no uprobes'
fi
