# shellcheck shell=sh
# Control groups of their own for targets.

groups=
# leave_groups: remove them; call it at the end.
leave_groups()
{
	for group in $groups; do
		rmdir "$group" 2>/dev/null
	done
}

# mounted CONTROLLER: where its hierarchy is, of v1, or v2 for ''; with the controller of v2 in it if there is one.
mounted()
{
	awk -v want="$1" '
		{ for (i = 7; $i != "-"; i++); type = $(i + 1); n = split($(i + 3), option, ",") }
		want == "" && type == "cgroup2" { print $5; exit }
		want != "" && type == "cgroup" { for (j = 1; j <= n; j++) if (option[j] == want) { print $5; exit } }
	' /proc/self/mountinfo
}

# new_group CONTROLLER [NAME]: make one; sets $group.  Fails where that cannot be done.
new_group()
{
	# shellcheck disable=SC3043 # dash has it
	local mount
	mount=$(mounted "$1")
	[ -n "$mount" ] || {
		mount=$(mounted '')
		[ -n "$mount" ] && grep -qw "$1" "$mount/cgroup.subtree_control" || return
	}
	group=$mount/memdiag-test.$$${2-}
	mkdir "$group" 2>/dev/null && groups="$group $groups"
}

# start_in GROUP COMMAND...: as start_command.
start_in()
{
	# shellcheck disable=SC3043 # dash has it
	local into="$1"
	shift
	# shellcheck disable=SC2016 # of that shell
	start_command sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$into" "$@"
}

# limit_room KIB: let the group of memory have that much more than it uses.
limit_room()
{
	if [ -e "$group/memory.max" ]; then
		echo $(($(cat "$group/memory.current") + $1 * 1024)) >"$group/memory.max"
	else
		echo $(($(cat "$group/memory.usage_in_bytes") + $1 * 1024)) >"$group/memory.limit_in_bytes"
	fi
}
