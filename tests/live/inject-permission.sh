#!/bin/sh
# Permissions: each refusal names its cause and what helps, and exits with 4.
. "$top_srcdir/tests/live/lib.sh"
need jq setpriv
[ "$(id -u)" -eq 0 ] || skip_all 'only root can be different users'

# Where another user can reach them, also if only we may use the build.
install -m 755 "$MEMDIAG" "$TRACEES/idle" "$TRACEES/undumpable" "$dir"
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

# shellcheck disable=SC2086 # $nobody is a list of words, here and below
start_command $nobody "$dir/idle" 2
own=$tracee_pid
for command in maps info trim heap; do
	# shellcheck disable=SC2086
	check "an unprivileged user may $command an own process" \
		$nobody "$dir/memdiag" $command --pid "$own" --json
done

# A process of the same user, and of another group.
start_command setpriv --reuid=65534 --regid=65533 --clear-groups "$dir/idle" 2
for command in info trim heap; do
	# shellcheck disable=SC2086
	check "$command: nor one that runs with another group" exits_saying 4 'gid 65533, and memdiag with gid 65534' captured \
		$nobody "$dir/memdiag" $command --pid "$tracee_pid"
done
check 'the target with another group lives on' end_tracee

start_tracee idle 2
remember
for command in info trim heap; do
	# shellcheck disable=SC2086
	check "but not $command one of root" exits_saying 4 'uid\|root' captured \
		$nobody "$dir/memdiag" $command --pid "$tracee_pid"
done
check 'the target of root is as before' unharmed
check 'the target of root lives on' end_tracee

# shellcheck disable=SC2086
start_command $nobody "$dir/undumpable"
# shellcheck disable=SC2086
check "a process of one's own that may not be dumped is refused" exits_saying 4 'dumpable' captured \
	$nobody "$dir/memdiag" info --pid "$tracee_pid"
check 'the target that may not be dumped lives on' end_tracee

# Root, as in a container: what cannot be read is not taken for a program of another kind.
start_tracee idle 2
for command in info trim heap status 'count start' 'count stop'; do
	# shellcheck disable=SC2086 # words
	check "root without the capability may not $command" exits_saying 4 'CAP_SYS_PTRACE' captured \
		setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$MEMDIAG" $command \
		--pid "$tracee_pid"
	check "$command: and is not told to become root" sh -c "! grep -qi 'as root' '$dir/err'"
done
check 'doctor says so' exits 2 setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace \
	"$MEMDIAG" doctor --pid "$tracee_pid" -o "$dir/doctor"
check 'doctor notes its own missing capability' \
	grep -q 'note rights *root without CAP_SYS_PTRACE' "$dir/doctor"
check 'doctor does not advise root to run it as root' sh -c "! grep -qi 'as root' '$dir/doctor'"
check 'the target of root without the capability lives on' end_tracee

# A static program in a chroot: its file is there under the path that the kernel prints.
if "${CC:-cc}" -static -O1 -pthread -I"$top_srcdir/src" -o "$dir/static" \
	"$top_srcdir/tests/tracees/idle.c" 2>"$dir/cc"; then
	mkdir "$dir/jail"
	cp "$dir/static" "$dir/jail"
	start_command chroot --userspec=65534:65534 "$dir/jail" /static 1
	# shellcheck disable=SC2086
	check 'a static program in a chroot' exits 0 $nobody "$dir/memdiag" heap --pid "$tracee_pid"
	check 'a static program in a chroot lives on' end_tracee
else
	skip 'a static program in a chroot' 'no static libc'
fi

start_tracee idle 2
if unshare -Ur true 2>/dev/null; then
	check 'root of another user namespace may not' exits_saying 4 'user namespace' captured \
		unshare -Ur "$dir/memdiag" info --pid "$tracee_pid"
else
	skip 'root of another user namespace may not' 'there are no user namespaces here'
fi
check 'the target that another user namespace asked for lives on' end_tracee

# A kernel with Yama, as far as memdiag can see: its setting is there and ptrace says EPERM.
under_yama()
{
	scope=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m sh -c 'mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama &&
		echo "$1" >/proc/sys/kernel/yama/ptrace_scope && shift && exec "$@"' \
		sh "$scope" "$@"
}
if command -v strace >/dev/null && under_yama 1 true 2>/dev/null; then
	deny='strace -f -o /dev/null -e trace=ptrace -e inject=ptrace:error=EPERM'
	no_ptrace='setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace'
	# shellcheck disable=SC2086
	start_command $no_ptrace "$dir/idle" 2
	# shellcheck disable=SC2086 # lists of words
	{
		check 'Yama 1 is named' exits_saying 4 'yama.*1\|ptrace_scope.*1' captured \
			under_yama 1 $nobody $deny "$dir/memdiag" info --pid "$own"
		check 'Yama 2 is named, and what lifts it' exits_saying 4 \
			'needs CAP_SYS_PTRACE: kernel.yama.ptrace_scope is 2\. .* or: sysctl kernel.yama.ptrace_scope=0$' \
			captured under_yama 2 $nobody $deny "$dir/memdiag" info --pid "$own"
		check 'root without the capability is told to have it' exits_saying 4 \
			'ptrace_scope is 1.*memdiag is root, but lacks CAP_SYS_PTRACE.*--cap-add=SYS_PTRACE' \
			captured under_yama 1 $no_ptrace $deny "$dir/memdiag" info --pid "$tracee_pid"
		check 'Yama 3 is named' exits_saying 4 'reboot' captured \
			under_yama 3 $deny "$dir/memdiag" info --pid "$own"
		check 'a filter of our own is named' exits_saying 4 'seccomp' captured \
			$nobody $deny --seccomp-bpf "$dir/memdiag" info --pid "$own"
	}
	check 'the target of root with as few lives on' end_tracee
	# without_memory COMMAND...: the memory of the process $own is closed, as it is by Yama; its mappings are not.
	: >"$dir/closed"
	chmod 0 "$dir/closed"
	without_memory()
	{
		# shellcheck disable=SC2016,SC2086 # for the inner shell; a list of words
		unshare -m sh -c 'mount --bind "$1" /proc/$2/mem && shift 2 && exec "$@"' sh "$dir/closed" "$own" $nobody \
			strace -f -o /dev/null -e trace=process_vm_readv -e inject=process_vm_readv:error=EPERM "$@"
	}
	check 'maps without its memory' exits_saying 2 'go by mappings alone, .*: may not read its memory: ' captured \
		without_memory "$dir/memdiag" maps --json --pid "$own"
	check 'has the classes of its mappings, and says that it is partial' json_is '.partial and
		(.warnings | tostring | test("may not read its memory")) and
		(.data.groups | map(.name) | contains([".so", "exe", "heap", "kernel", "stack"])) and
		(.data.groups | map(.virt_bytes) | add) == .data.totals.virt_bytes and
		([.data.identities[] | select(.name == "VmSize" or .name == "VmSwap") | .difference_bytes] == [0, 0])'
	check 'maps of one address' exits_saying 2 'may not read its memory' captured \
		without_memory "$dir/memdiag" maps --at "$(sed -n 's/-.*stack.*//p' "/proc/$own/maps")" --pid "$own"
	check 'of several processes' exits_saying 2 "$own (idle): classes go by mappings alone" captured \
		without_memory "$dir/memdiag" maps --pid "$own,$$"
	# labelled COMMAND...: with the label $dir/label, and SELinux as $dir/selinux has it, as far as memdiag can see.
	mkdir -p "$dir/selinux/booleans"
	echo 1 >"$dir/selinux/enforce"
	labelled()
	{
		# shellcheck disable=SC2016 # for the inner shell
		unshare -m sh -c 'label=$1 selinux=$2 && shift 2 && for file in current apparmor/current; do
				[ ! -e /proc/$$/attr/$file ] || mount --bind "$label" /proc/$$/attr/$file || exit
			done && mount -t tmpfs none /sys/fs && mkdir /sys/fs/selinux &&
			mount --bind "$selinux" /sys/fs/selinux && exec "$@"' sh "$dir/label" "$dir/selinux" "$@"
	}
	# label_says WORDS LABEL WHY [OPTION...]: a check of what is said with this label, with options for strace.
	label_says()
	{
		words=$1 why=$3
		echo "$2" >"$dir/label"
		shift 3
		# shellcheck disable=SC2086 # a list of words
		check "$words" exits_saying 4 "$why" captured labelled $deny "$@" "$dir/memdiag" info --pid "$own"
	}
	deny="strace -D ${deny#strace}"
	profile='mem-profile (enforce)' context=system_u:system_r:mem_t:s0 module='a security module (the kernel has'
	label_says 'the profile of AppArmor is named' "$profile" \
		"memdiag runs as '$profile'. Allow 'ptrace,' .*aa-complain .* --security-opt apparmor=unconfined$"
	label_says 'and a filter with it' "$profile" \
		"'$profile', and a seccomp filter applies.* apparmor=unconfined --security-opt seccomp=unconfined$" --seccomp-bpf
	check 'doctor names it beforehand' captured labelled "$dir/memdiag" doctor
	check 'in its list' grep -q "memdiag is confined.* runs as mem-profile (enforce)" "$dir/out"
	label_says 'the context of SELinux is named' $context "memdiag runs as '$context'. Look .*ausearch"
	label_says 'and a filter with that' $context "'$context', and a seccomp filter .*seccomp=unconfined$" --seccomp-bpf
	for label in unconfined unconfined_u:unconfined_r:unconfined_t:s0 system_u:system_r:unconfined_service_t:s0 \
		'mem-profile (complain)' 'chrome (unconfined)'; do
		label_says "nothing is confined by $label" "$label" "$module"
	done
	echo 0 >"$dir/selinux/enforce"
	echo '1 1' >"$dir/selinux/booleans/deny_ptrace"
	label_says 'permissive SELinux confines nothing' $context "$module"
	echo 1 >"$dir/selinux/enforce"
	label_says 'a boolean of SELinux is named' $context 'boolean deny_ptrace is on. Run: setsebool deny_ptrace off$'
	rm "$dir/selinux/booleans/deny_ptrace"
else
	skip 'Yama is named' 'no strace, or no mount namespace'
fi
check 'the own process lives on' end_tracee "$own"

# This one never waits for its child.
start_tracee parked read 1
wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^kept'
child_of "$tracee_pid"
zombie=$child
wait_for "$tracee_pid" "/proc/$zombie/status" '^State:.Z'
check 'a zombie is no process any more' exits 3 memdiag info --pid "$zombie"
check 'its parent lives on' end_tracee
finish
