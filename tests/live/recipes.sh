#!/bin/sh
# The recipes and tables of README, doc/safety.md and doc/deploy.md: the commands work, the settings have
# an effect, and the limits, verdicts and labels are those of memdiag.
. "$top_srcdir/tests/live/lib.sh"
need jq

# section FILE TITLE: the indented lines below it.
section()
{
	awk -v title="$2" '
		/^[A-Z][A-Z ,?]*$/ || /^## / { is_in = $0 == title; next }
		is_in && /^    / { print substr($0, 5) }' "$top_srcdir/$1"
}

# ---- limits, verdicts, labels ----

# has_default COMMAND OPTION VALUE: whether --help of COMMAND gives it.
has_default()
{
	"$MEMDIAG" "$1" --help | grep -A 3 -e "--$2=" | tr -s ' \n' ' ' | grep -q -F "($3)"
}

# The rows of doc/safety.md as text: COMMAND TOUCHES PAUSE STAYS.
sed -n 's/^| `//p' "$top_srcdir/doc/safety.md" | tr -d '`|' | tr -s ' ' >"$dir/safe"
check 'every command is in the table' sh -c "
	'$MEMDIAG' --list-commands | while read -r name; do
		grep -q \"^\$name \" '$dir/safe' || { echo \$name; exit 1; }
	done"

# README has the same limits in short.
section README 'IS IT SAFE ON A PRODUCTION SERVER?' | tr -s ' \n' ' ' >"$dir/short"
check 'README: every command' sh -c "
	'$MEMDIAG' --list-commands | while read -r name; do
		grep -q -w \"\$name\" '$dir/short' || { echo \$name; exit 1; }
	done"
check 'README: info: 10 ms' grep -q 'malloc_info(); an arena is locked for 10 ms at most' "$dir/short"
check 'README: trim: 500 ms' grep -q 'malloc_trim(); an arena is locked for 500 ms at most' "$dir/short"
check 'README: heap: 200 ms' grep -q 'heap, trim -n all threads are stopped together, for at most 200 ms at a time' "$dir/short"

check 'info: 10 ms' sh -c "grep -q '^info .* 10 ms;' '$dir/safe'"
check 'info: is its default' has_default info max-lock 10ms
check 'heap: 200 ms' sh -c "grep -q '^heap .* 200 ms ' '$dir/safe'"
check 'heap: is its default' has_default heap max-stop 200ms
check 'trim -n: is its default, too' has_default trim max-stop 200ms
check 'trim: 500 ms' sh -c "grep -q '^trim [^-].* 500 ms;' '$dir/safe'"
check 'trim: is its default' has_default trim max-lock 500ms
check 'count: 200 ms' sh -c "grep -q '^count start .* 200 ms ' '$dir/safe'"
check 'count: is its default' has_default count max-stop 200ms
check 'a thread is looked for for 5 s' has_default info wait 5s

section README 'LEAK, FRAGMENTATION OR CACHE?' >"$dir/causes"
verdicts_exist()
{
	grep -o '([a-z, -]*)' "$dir/causes" | tr -d '(),' | tr ' ' '\n' >"$dir/ids"
	[ "$(wc -l <"$dir/ids")" -gt 8 ] || return
	while read -r id; do
		grep -q "^### \`$id\`" "$top_srcdir/doc/verdicts.md" || { echo "$id"; return 1; }
	done <"$dir/ids"
}
check 'its verdicts exist' verdicts_exist

start_tracee bloat 16
"$MEMDIAG" info "$tracee_pid" >"$dir/labels"
"$MEMDIAG" heap "$tracee_pid" >>"$dir/labels"
labels_exist()
{
	grep -o '"[^"]*"' "$dir/causes" | tr -d '"' | sort -u >"$dir/wanted"
	[ -s "$dir/wanted" ] || return
	while read -r label; do
		grep -q "$label" "$dir/labels" || { echo "$label"; return 1; }
	done <"$dir/wanted"
}
check 'its labels are those of info and heap' labels_exist

# ---- an alert ----

# shellcheck disable=SC2123 # the lines of doc/deploy.md say memdiag
PATH=$(cd "$top_builddir" && pwd):$PATH

# alerts BYTES: what the alert prints for verdicts above that.
alerts()
{
	section doc/deploy.md '## An alert' | sed "s/PID/$tracee_pid/; s/500e6/$1/" >"$dir/alert"
	[ "$(wc -l <"$dir/alert")" -eq 3 ] && (cd "$dir" && sh -e alert >said 2>&1)
}

check 'the alert runs' alerts 500e6
check 'the alert prints nothing below its limit' test ! -s "$dir/said"
check 'the alert runs with a lower limit' alerts 1e6
check 'with a lower limit the alert names the memory' grep -q 'memory' "$dir/said"
check 'the target lives on' end_tracee

# ---- settings ----

section doc/deploy.md '## Settings that stay' | grep ' PROGRAM$' >"$dir/settings"
check 'four settings' test "$(wc -l <"$dir/settings")" -eq 4
nr=0
while read -r setting program; do
	nr=$((nr + 1))
	start_command env "$setting" "$TRACEES/idle" 2
	case $setting in
	*[._]arena_max=* | *ARENA_MAX=*) wanted='.arena_max == 4' ;;
	*trim_threshold=*) wanted='.trim_threshold_bytes == 131072 and .thresholds_fixed' ;;
	*mmap_threshold=*) wanted='.mmap_threshold_bytes == 131072 and .thresholds_fixed' ;;
	*) wanted=false ;;
	esac
	check "$setting $program" exits 0 memdiag heap "$tracee_pid" --json
	check "$setting has an effect" json_is ".data.layout.parameters | $wanted"
	check 'the target lives on' end_tracee
done <"$dir/settings"

# ---- services ----

section doc/deploy.md '## Containers and services' >"$dir/services"
check 'containers and services have lines' test "$(wc -l <"$dir/services")" -eq 5
unit=$(systemctl list-units --type=service --state=running --plain --no-legend 2>/dev/null |
	sed -n 's/ .*//p' | head -n 1)
if [ -n "$unit" ]; then
	# It is somebody else's, so memdiag does not touch it.
	sed -n "/systemctl/{ s/UNIT/$unit/; s/memdiag info --pid/echo/; p; }" "$dir/services" >"$dir/service"
	check 'the PID of a service' sh -c "sh -e '$dir/service' | grep -q -x '[1-9][0-9]*'"
else
	skip 'the PID of a service' 'systemd does not run here'
fi
skip 'docker' 'takes an image with memdiag'
skip 'kubectl debug' 'takes a cluster'
finish
