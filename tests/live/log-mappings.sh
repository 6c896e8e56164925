#!/bin/sh
# Mappings in a log: of a program that keeps its own account of what it maps where, unmaps in parts, moves, overlays and
# protects, the log has each number at its end, as the record in memory has, and at moments in between.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/mapper-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
. "$top_srcdir/tests/live/log-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
cannot_hook='this memdiag was built without Zydis: it hooks no functions'
can_hook=$(has_hooks && echo yes)

# is_account_at NS ACCOUNT: whether at that time the log had what that account has in use, by site and in all.
is_account_at()
{
	local column objects
	for column in 4 5; do
		objects=
		[ $column = 4 ] || objects=--objects
		awk -v n=$column '$n > 0 { print $1, $n }' "$2" | sort >"$dir/want"
		# shellcheck disable=SC2086 # none or one
		"$MEMDIAG" timeline "$log" --at "$(($1 / 1000000))ms" --value=mapped --lines=0 --json $objects >"$dir/moment" || return
		jq -r '.data.report.rows[] | select(.name | startswith("site_")) | select(.flat > 0) |
			"\(.name) \(.flat)"' "$dir/moment" | sort >"$dir/got"
		diff "$dir/want" "$dir/got" || return
		[ "$(jq ".data.to.mapped.$([ $column = 4 ] && echo bytes || echo blocks)" "$dir/moment")" = \
			"$(awk '{ n += $2 } END { print n + 0 }' "$dir/want")" ] || return
	done
}

# Up to where the log goes, in ns.
log_ends()
{
	"$MEMDIAG" timeline --json "$log" 2>"$dir/timeline.err" | jq .data.duration_ns
}

# until_log_has_account: until the log, which is written, has all that the tracee did, or goes on for 300 s without it.
# Then $quiet_ns is in an interval of 100 ms in which the tracee does nothing, once this returns.
until_log_has_account()
{
	local end late
	late=$(($(log_ends) + patience * 1000000000))
	until is_account "$log" >"$dir/differences" 2>&1; do
		[ "$(log_ends)" -lt $late ] || {
			cat "$dir/differences"
			patience=2
			return 1
		}
		lives "$tracee_pid" || return
		sleep 0.02
	done
	end=$(log_ends)
	quiet_ns=$(((end / 100000000 + 1) * 100000000))
	until [ "$(log_ends)" -gt $((quiet_ns + 100000000)) ]; do
		lives "$tracee_pid" || return
		sleep 0.02
	done
}

# moments NAME: the tracee maps and rests in turns; $dir/moments gets lines "TIME ACCOUNT", each with an account.
moments()
{
	local turn
	: >"$dir/moments"
	quiet_ns=0
	for turn in 1 2 3; do
		check "$1: it maps, turn $turn" plays "$turn" "$(some 20000)"
		check "$1: the log has all of it, turn $turn" until_log_has_account
		cp "$dir/account" "$dir/account.$turn"
		echo "$quiet_ns $dir/account.$turn" >>"$dir/moments"
	done
	check "$1: it maps once more" plays 4 "$(some 20000)"
	most=$(ask most)
}

# had NAME: what the log had at the moments.
had()
{
	local at account
	while read -r at account; do
		check "$1: what was mapped at $((at / 1000000)) ms" is_account_at "$at" "$account"
	done <"$dir/moments"
}

# whole: whether no event is missing, by what the last memdiag said.
whole()
{
	json_is '.data | (.log // .profile.log) | .events > 0 and .dropped + .lost + .unmatched + .damaged == 0' || {
		json '.data | (.log // .profile.log)'
		return 1
	}
}

# peak_is BYTES: whether the log knows the most that was mapped.
peak_is()
{
	exits 0 memdiag timeline --json "$log" && json_is ".data.mapped_peak.bytes == $1 and
		.data.mapped_peak.bytes == ([.data.intervals[].mapped_max_bytes] | max)"
}

log=$dir/logs
for threads in 1 4; do
	name="$threads threads, of a process that runs"
	if [ -z "$can_hook" ]; then
		skip "$name" "$cannot_hook"
		continue
	fi
	rm -rf "$log"
	start_command "$mapper" $threads
	check "$name: what was mapped before" obeys 'play 1 2000'
	check "$name: a log begins" begins_log
	check "$name: what was mapped before goes" obeys drop
	check "$name: the account begins again" obeys anew
	moments "$name"
	check "$name: the record ends" record stop -o "$dir/p"
	check "$name: no event is missing" whole
	check "$name: nor a call" json_is '.data.noted | .mappings_lost == 0 and .mappings > 0'
	file=$(written)
	check "$name: the record in memory is the account" is_account "$file"
	check "$name: so is the log" is_account "$log"
	had "$name"
	[ $threads != 1 ] || check "$name: the most that was mapped" peak_is "$most"
	check "$name: the target lives on" end_tracee
done

log=$dir/run
for threads in 1 4; do
	name="$threads threads, run"
	rm -rf "$log"
	start_command "$MEMDIAG" run --record=log-fast --json -o "$log" -- "$mapper" $threads
	moments "$name"
	check "$name: it drops all" obeys drop
	check "$name: it maps again" plays 5 2000
	most=$(ask most)
	check "$name: it ends" end_tracee
	cp "$dir/$nr_started.err" "$dir/out"
	check "$name: no event is missing" whole
	check "$name: the log is the account" is_account "$log"
	had "$name"
	[ $threads != 1 ] || check "$name: the most that was mapped" peak_is "$most"
done

# ---- what a reader of the log sees ----

check 'text' exits 0 memdiag timeline "$log"
check 'has a plot of mappings' grep -q ' + mapped$' "$dir/out"
check 'and what they are' grep -q "^mapped by the program's own mmap at most .* at the end .* mappings$" "$dir/out"
check 'CSV' exits 0 memdiag timeline --format=csv "$log"
check 'has a column' sh -c "awk -F, 'NR == 1 { exit \$10 != \"mapped_max_bytes\" }' '$dir/out'"
check 'of bytes' sh -c "awk -F, 'NR > 1 && \$10 > 0 { n++ } END { exit !n }' '$dir/out'"
check 'SVG' exits 0 memdiag timeline --format=svg "$log"
check 'has a line' grep -q '<path class="mapped" d="M' "$dir/out"
check 'the growth' exits 0 memdiag timeline "$log" --from="$((quiet_ns / 1000000))ms" --value=mapped --lines=0 --json
check 'is what is mapped at the end, less what was' json_is "([.data.report.rows[].flat] | add) ==
	$(awk '{ n += $4 } END { print n }' "$dir/account") - $(awk '{ n += $4 } END { print n }' "$dir/account.3")"
check 'DHAT' exits 0 memdiag timeline --format=dhat "$log"
check 'has what malloc gave alone' sh -c "jq -e '[.ftbl[] | select(test(\"site_\"))] == []' '$dir/out'"
check 'the massif format' exits 0 memdiag timeline --format=massif "$log"
check 'has, too' sh -c "! grep -q site_ '$dir/out'"
check 'the peak of what malloc gave' exits 0 memdiag timeline "$log" --peak --json
check 'is of malloc alone' json_is '[.data.report.rows[] | select(.name | startswith("site_"))] == []'
check 'what is added up is said' sh -c "'$MEMDIAG' timeline '$log' --at=end --value=mapped | grep -q mapped_space"
check '--value without a moment' exits_saying 64 'is for --at' memdiag timeline "$log" --value=mapped
check '--value of something else' exits_saying 64 'is not in-use or mapped' memdiag timeline "$log" --peak --value=peak
check "a recording without mappings" exits_saying 64 'has no mappings' \
	memdiag timeline --at=end --value=mapped "$top_srcdir/tests/data/report_heaptrack/version-3.txt"
finish
