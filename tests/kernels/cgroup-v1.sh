#!/bin/sh
# The tests of cgroups on cgroup v1: tests/live/cgroup-memory.sh and inject-cgroups.sh.
[ -d /run/memdiag-kernels ] || { echo '1..0 # SKIP it needs a machine of scripts/check-kernels'; exit 0; }
echo '-memory -cpu -pids' >/sys/fs/cgroup/cgroup.subtree_control
umount /sys/fs/cgroup
mount -t tmpfs cgroup /sys/fs/cgroup
undo()
{
	umount /sys/fs/cgroup/* 2>/dev/null
	umount /sys/fs/cgroup
	mount -t cgroup2 none /sys/fs/cgroup
	echo '+memory +cpu +pids' >/sys/fs/cgroup/cgroup.subtree_control
}
for controller in memory freezer cpu; do
	mkdir /sys/fs/cgroup/$controller
	mount -t cgroup -o $controller cgroup /sys/fs/cgroup/$controller || why="this kernel has no cgroup v1 of $controller"
done 2>/dev/null
if [ "${why-}" ]; then
	echo "1..0 # SKIP $why"
	undo
	exit 0
fi
sh "$top_srcdir/tests/live/cgroup-memory.sh"
status=$?
sh "$top_srcdir/tests/live/inject-cgroups.sh" || status=$?
undo
exit $status
