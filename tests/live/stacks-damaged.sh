#!/bin/sh
# Unwind tables that are damaged, or made to mislead.
. "$top_srcdir/tests/live/lib.sh"
need jq python3

# functions_of TID: the program's own functions on its stack, the innermost first.
functions_of()
{
	jq -r --argjson tid "$1" '[
		.data.stacks[] | select([.threads[].tid] | index($tid)) | .frames[] |
		.functions[-1].name // "" | select(test("^(wait_in_|odd_|run_)"))] | join(" ")' "$dir/out"
}
stands()
{
	grep '^stack ' "$dir/$tracee_pid.out" >"$dir/said"
	while read -r _ _ tid functions; do
		[ "$(functions_of "$tid")" = "$functions" ] || {
			echo "$(functions_of "$tid"), not $functions"
			return 1
		}
	done <"$dir/said"
}

for program in odd-tables odd-tables-static; do
	start_tracee $program
	remember
	check 'misleading tables' exits 0 patient_stacks --json
	check 'misleading tables: callers are found all the same' stands
	check 'misleading tables: by the frame pointer, and it is said' json_is '
		[.data.stacks[].frames[] | select(.by_frame_pointer) | .functions[-1].name] ==
			[range('"$(grep -c '^stack ' "$dir/$tracee_pid.out")"') | "run_odd"]'
	check 'misleading tables: all are complete' json_is '[.data.stacks[].end] | unique == ["complete"]'
	check 'misleading tables: it is unchanged' unharmed
	check 'misleading tables: it lives on' end_tracee
done

# A thread is proven safe by the same tables.
start_tracee odd-tables stdio
for command in info trim; do
	check "misleading tables: $command" exits '0 6' captured \
		timeout -s KILL 900 "$MEMDIAG" $command --timeout=600s --wait=1s "$tracee_pid"
done
check 'misleading tables: it lives on after info and trim' end_tracee

# ---- random damage ---------------------------------------------------------------------------

# damaged PROGRAM SECTION SEED SHARE: nest has six threads of its own, and two workers.
damaged()
{
	python3 "$top_srcdir/tests/live/damage-section.py" "$TRACEES/$1" "$dir/damaged" "$2" "$3" "$4" || return
	chmod 755 "$dir/damaged"
	start_command "$dir/damaged" worker 2 || return
	exits 0 patient_stacks --json && json_is '.data.thread_count == 8' && end_tracee && return
	echo "$1, seed $3, share $4 of $2"
	return 1
}
all_damaged()
{
	seed=0
	while [ $seed -lt "$(some 40)" ]; do
		seed=$((seed + 1))
		damaged "$1" "$2" $seed "$3" || return
	done
}
check 'few bytes of .eh_frame damaged' all_damaged nest .eh_frame 0.01
check 'many bytes of .eh_frame damaged' all_damaged nest .eh_frame 0.2
check 'its table of addresses damaged' all_damaged nest .eh_frame_hdr 0.1
check 'few bytes of .eh_frame damaged in a static program' all_damaged nest-static .eh_frame 0.0005
check 'many bytes of .eh_frame damaged in a static program' all_damaged nest-static .eh_frame 0.05
finish
