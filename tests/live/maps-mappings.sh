#!/bin/sh
# One mapping of each sort: each is in the class it should be, every byte is counted once, and the
# sums are the kernel's own, whichever way pages are counted.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"

# at NAME: the address of what the tracee calls so.
at()
{
	sed -n "s/^$1 \\([0-9a-f]*\\)-.*/0x\\1/p" "$dir/$tracee_pid.out" | head -n 1
}

# maps OPTIONS: take a snapshot of the tracee into $dir/out.
maps()
{
	exits 0 memdiag maps --pid "$tracee_pid" --json "$@"
}

# is NAME FILTER: whether FILTER holds for the mapping.
is()
{
	json_is ".data.mappings[] | select(.start == \"$(at "$1")\") | $2"
}

kernel_pss()
{
	awk '/^Pss:/ { print $2 * 1024 }' "/proc/$tracee_pid/smaps_rollup"
}

# pss_agrees: whether PSS is within a few pages of the kernel's. It changes when a process that shares libc begins or ends.
pss_agrees()
{
	local before
	before=$(kernel_pss)
	maps --pss && [ "$(kernel_pss)" = "$before" ] && json_is "(.data.totals.pss_bytes - $before | fabs) < 65536"
}

sums='(.data.totals.virt_bytes == ([.data.groups[].virt_bytes] | add)) and
	(.data.totals.rss_bytes == ([.data.groups[].rss_bytes] | add)) and
	(.data.groups | all(.parts == null or .virt_bytes == ([.parts[].virt_bytes] | add)))'

# The files must not lie on a tmpfs, where they would be shared memory.
files=$(mktemp -d "$top_builddir/tests/maps-mappings.XXXXXX")
elsewhere=$files

# The test's own pages, given back at the end.
pool=/proc/sys/vm/nr_hugepages
had=$(cat "$pool")
echo 6 2>/dev/null >"$pool"
start_tracee mappings "$files"

check 'it runs' maps
check 'every sum equals the counter of the kernel' json_is "$all_same"
check 'every byte is in one group' json_is "$sums"
if grep -q '^vdso none' "$dir/$tracee_pid.out"; then
	skip 'vdso counts as file wherever it lies' 'this kernel does not let it be moved'
elif [ "$(json .data.rss_from)" = pagemap ]; then
	skip 'vdso counts as file wherever it lies' 'pagemap does not show which pages are those of files'
else
	check 'vdso counts as file wherever it lies' json_is "[.data.identities[] |
		select(.name == \"RssFile\" or .name == \"RssAnon\") | $same] == [true, true]"
fi
check 'VIRT is what status says' json_is ".data.totals.virt_bytes == \
	$(awk '/^VmSize/ { print $2 * 1024 }' "/proc/$tracee_pid/status")"
check 'RSS is what status says' json_is ".data | .totals.rss_bytes as \$ours |
	.identities[] | select(.name == \"VmRSS\") | $same and .ours_bytes == \$ours and .kernel_bytes == $(awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$tracee_pid/status")"

check 'a file that is mapped twice is reported, and no other' json_is '[.data.repeats[] |
	(.path | endswith("/twice")), .virt_bytes, .rss_bytes] == [true, 524288, 524288]'
check 'as text' exits 0 memdiag maps "$tracee_pid"
check 'with its name last' grep -q '^Mapped more than once.* 512.0 KiB of VIRT, .* 512.0 KiB of RSS: .*/twice$' "$dir/out"

check 'mapping by mapping' maps --by=mapping
check 'a file, read' is private '.part == "private files" and .rss_bytes > 0'
check 'a file, written to privately' is written '.part == "private files"'
check 'a shared file' is shared '.part == "shared files"'
check 'a newline and an escape in a name are no newline and no escape' \
	is newline '.path | endswith("/new\\\\012line\\033[31m")'
check 'a blank at the end of a name stays' is blank '.path | endswith("/blank ")'
check 'a file called [heap] is no heap' is heap-file '.part == "shared files"'
check 'a file called (deleted) is not' is not-deleted '.part == "private files"'
check 'a deleted file is' is deleted '.part == "deleted files"'
check 'a path of 3,700 bytes is whole' is deep '(.path | length) > 3700 and (.path | endswith("/deep"))'
check 'a file mapped twice counts twice' json_is \
	'[.data.mappings[] | select(.path // "" | endswith("/twice")) | .rss_bytes] == [524288, 524288]'
check 'shared anonymous memory' is shared-anon '.part == "shared anonymous" and .rss_bytes == 12288'
check 'System V' is sysv '.part == "System V shm" and .rss_bytes == 4096'
if grep -q '^sysv-huge none' "$dir/$tracee_pid.out"; then
	skip 'System V with huge pages' 'no page could be had for the hugetlb pool'
else
	check 'System V with huge pages' is sysv-huge \
		'.part == "hugetlb" and .rss_bytes == 0 and .hugetlb_bytes == 2097152'
fi
if grep -q '^shmid 0' "$dir/$tracee_pid.out"; then
	check 'whose inodes are 0' grep -q ' 0  *.SYSV' "/proc/$tracee_pid/maps"
else
	skip 'whose inodes are 0' 'it takes CAP_SYS_ADMIN to make an IPC namespace'
fi
check 'a memfd with a wild name' is memfd '.part == "memfd" and .path == "/memfd:a/b] [heap] (deleted)"'
check 'private /dev/zero is anonymous' is dev-zero '.class == "anon" and .rss_bytes == 4096'
check 'code without a file' is jit '.part == "JIT code"'
check 'a reserve' is reserve '.class == "reserve" and .rss_bytes == 0'
# Some kernels of virtual machines have no common page of zeros.
zero_kib=$(awk -v start="$(at zero-pages)" 'BEGIN { start = substr(start, 3) }
	index($1, start "-") == 1 { found = 1 } found && $1 == "Rss:" { print $2; exit }' "/proc/$tracee_pid/smaps")
check 'zero pages are as resident as the kernel says' is zero-pages ".rss_bytes == $((zero_kib * 1024))"
if grep -q '^guard-pages none' "$dir/$tracee_pid.out"; then
	skip 'guard pages are not swapped' 'this kernel has no MADV_GUARD_INSTALL'
else
	check 'guard pages are not swapped' is guards '.rss_bytes == 4096 and .swap_bytes == 0'
fi
# Before 6.7 smaps alone shows huge pages.
knows_huge || maps --by=mapping --pss
if grep -q madvise /sys/kernel/mm/transparent_hugepage/enabled; then
	check 'a transparent huge page' json_is '[.data.mappings[].thp_bytes] | add >= 2097152'
else
	skip 'a transparent huge page' 'transparent huge pages are off'
fi
if grep -q '^hugetlb none' "$dir/$tracee_pid.out"; then
	skip 'hugetlb has a column of its own, and grows' 'no page could be had for the hugetlb pool'
else
	check 'hugetlb has a column of its own' is hugetlb \
		'.part == "hugetlb" and .rss_bytes == 0 and .hugetlb_bytes == 2097152'
	maps -o "$dir/then.json"
	check 'the tracee takes another page of it' test "$(ask touch)" = touched
	check 'which is compared' maps --diff "$dir/then.json" --sort=hugetlb
	check 'the hugetlb pages of the later maps have grown' \
		json_is '[.data.changes[] | select(.hugetlb_bytes != 0) |
		.hugetlb_bytes, .rss_bytes] == [2097152, 0, 2097152, 0] and
		.data.changes[0].hugetlb_bytes == 2097152'
	check 'as text' exits 0 memdiag maps "$tracee_pid" --diff "$dir/then.json" --sort=hugetlb
	check 'hugetlb pages have a column in the comparison' \
		grep -q '^ *0  *0  *0  *+2.0 MiB  *[12]  *[12]  hugetlb' "$dir/out"
fi

check 'classes of the user' maps --class 'mo=*.mo' --class 'mine=*/twice'
check 'hold what matches' json_is \
	'([.data.groups[] | select(.name == "mo") | .count] == [1]) and
	([.data.groups[] | select(.name == "mine") | .count] == [2])'
check 'and every byte is still in one group' json_is "$sums"
check 'a class of everything that has a name' maps --class 'all=*'
check 'leaves what has none where it was' json_is \
	'[.data.groups[].name] | contains(["all", "anon", "reserve"]) and index("file") == null'

check 'smaps instead' maps --rss-from=smaps
check 'gives the same sums' json_is ".data.rss_from == \"smaps\" and ($all_same) and ($sums)"
check 'pagemap instead' maps --rss-from=pagemap
if [ "$(id -u)" -eq 0 ]; then
	check 'gives the same sums, and does not know huge pages' json_is \
		".data.rss_from == \"pagemap\" and ($all_same) and ($sums) and .data.totals.thp_bytes == null"
	no_admin='setpriv --bounding-set -sys_admin --inh-caps -sys_admin'
else
	skip 'gives the same sums, and does not know huge pages' 'it is not root'
	no_admin=
fi
check 'pagemap without CAP_SYS_ADMIN' exits 0 captured $no_admin "$MEMDIAG" maps "$tracee_pid" --json --rss-from=pagemap
if [ "$zero_kib" -eq 0 ]; then
	check 'knows zero pages for the difference' json_is \
		'.data.rss_from == "pagemap" and ([.data.identities[] | select(.difference_bytes != 0)] | length > 0
		and all(.name == "VmRSS" and .difference_bytes >= 2097152 and (.explained_by | test("zero page"))))'
else
	skip 'knows zero pages for the difference' 'this kernel has no common page of zeros'
fi
check 'huge pages by pagemap are not known' sh -c \
	"'$MEMDIAG' maps $tracee_pid --rss-from=pagemap --columns=thp 2>&1 | grep -q 'thp is unknown.*--pss'"
check 'no counting at all' maps --rss-from=none
check 'unknown RSS is null in JSON' json_is '.data.groups | all(.rss_bytes == null)'
check 'PSS without RSS' maps --rss-from=none --pss
check 'does not make huge pages known' json_is '.data.groups | all(.thp_bytes == null)'
check 'PSS and USS' maps --pss
check 'of one walk of the pages' sh -c "strace -f -o '$dir/trace' '$MEMDIAG' maps $tracee_pid --pss >/dev/null &&
	! grep -q smaps_rollup '$dir/trace' && [ \$(grep -c '\"smaps\"' '$dir/trace') -eq 1 ]"
check 'USS is part of them' json_is '.data.totals.uss_bytes > 2000000 and
	.data.totals.uss_bytes < .data.totals.pss_bytes and (.data.groups | all(.uss_bytes <= .rss_bytes))'
check 'PSS is what the kernel says' soon pss_agrees

for by in object arena thread; do
	check "by $by" maps --by=$by
	check "every byte is in one $by" json_is "$sums"
done
# shellcheck disable=SC2016 # awk's own variables
check 'no escape reaches a terminal' sh -c '
	"$1" maps --pid "$2" --by=mapping >"$3" && ! grep -q "$(printf "\033")" "$3"' \
	sh "$MEMDIAG" "$tracee_pid" "$dir/text"
grep -q '^hugetlb none' "$dir/$tracee_pid.out" ||
	check 'leaks makes no copy: after a fork huge pages may be missing' \
		exits_saying 5 'huge pages of hugetlbfs' memdiag leaks --fork --pid "$tracee_pid"
check 'the target lives on' end_tracee
echo "$had" 2>/dev/null >"$pool"
finish
