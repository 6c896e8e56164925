#!/bin/sh
# memdiag record report --addresses, and --min-size and --max-size of a process: single blocks of its live set, of both kinds,
# are those that a program which makes and frees blocks at random says that it keeps.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq python3
need_hooks

# agrees LEAST MOST N SITES OPTIONS...: a report with these OPTIONS is what the tracee keeps.
agrees()
{
	local least="$1" most="$2" nr="$3" sites="$4"
	shift 4
	ask "blocks $dir/blocks" >/dev/null &&
		exits 0 memdiag record report --pid "$tracee_pid" --by=function --lines=0 --json "$@" &&
		python3 "$top_srcdir/tests/live/record-addresses.py" "$dir/blocks" "$dir/out" "$least" "$most" "$nr" "$sites"
}
any=1000000000000

set -- ${MEMDIAG_TEST_SEEDS:-1 2}
seed=$1
last=$2
while [ "$seed" -le "$last" ]; do
	for mode in mem-fast mem-record; do
		about="seed $seed, $mode"
		start_tracee ages
		check "$about: a record begins" exits 0 patiently memdiag record start --mode $mode --pid "$tracee_pid"
		for step in 1 2 3; do
			ask "play $seed$step 1500" >/dev/null
			check "$about, step $step: all blocks" agrees 0 $any 1000000 . --addresses 1000000
			echo "# $(tail -n 1 "$dir/check.said")"
		done
		check "$about: the largest" agrees 0 $any 7 . --addresses 7
		check "$about: of one site" agrees 0 $any 1000000 site_2 --addresses 1000000 --focus 'site_2$'
		check "$about: of all but one" agrees 0 $any 1000000 'site_[^1]' --addresses 1000000 --ignore 'site_1$'
		check "$about: by size" agrees 25 5000 0 . --min-size 25 --max-size 5000
		echo "# $(tail -n 1 "$dir/check.said")"
		check "$about: large ones with addresses" agrees 200000 $any 1000000 . --min-size 200000 --addresses 1000000
		# Its words are four, and in the table it has three entries.  No page of it is touched.
		ask 'make 3 1 5000000000' >/dev/null
		ask "blocks $dir/blocks" >/dev/null
		if grep -q '^0x.* 5000000000 3 ' "$dir/blocks"; then
			check "$about: a block of more than 4 GiB" agrees 0 $any 1000000 . --addresses 1000000
		else
			skip "$about: a block of more than 4 GiB" 'there is no room for it'
			ask 'drop 3 5000' >/dev/null
		fi
		check "$about: the record ends" exits 0 patiently memdiag record stop --pid "$tracee_pid" -o "$dir/last"
		check "$about: the program lives on" end_tracee
	done
	seed=$((seed + 1))
done

start_tracee ages
check 'addresses without a record' exits_saying 5 'has not been recorded' memdiag record report "$tracee_pid" --addresses 5
check 'a record with a log begins' exits 0 patiently memdiag record start --mode log-fast -o "$dir/logs" --pid "$tracee_pid"
ask 'play 77 1000' >/dev/null
check 'a record with a log has addresses, too' agrees 0 $any 1000000 . --addresses 1000000
remember
check 'as text' exits 0 memdiag record report "$tracee_pid" --addresses 2
check 'text has both blocks below the table' sh -c "sed -n '/^ADDRESS/,\$p' '$dir/out' | grep -c '^7f[0-9a-f]*  .* MiB .* site_[0-3] <- ' | grep -qx 2"
check 'and how many more there are' grep -q '^and [0-9]* smaller blocks$' "$dir/out"
check 'the process is as it was' unharmed
for words in '--addresses=0' '--addresses=-1' '--addresses=x' '--addresses=' '--addresses=99999999999' '--addresses=1 --older=1s' \
	'--addresses=1 --format=tree' '--addresses=1 --focus=(' '--min-size=1 --value=peak' '--min-size=1 --value=allocated'; do
	# shellcheck disable=SC2086 # words
	check "a command line that cannot be: $words" exits 64 memdiag record report --pid "$tracee_pid" $words
done
check 'a directory has no addresses' exits_saying 64 'in the memory of a process' memdiag record report "$dir/logs" --addresses 1
check 'memdiag report has no such option' exits 64 memdiag report --pid "$tracee_pid" --addresses 1
check 'it ends' exits 0 patiently memdiag record stop --pid "$tracee_pid" -o "$dir/last"
for words in '--addresses=5' '--min-size=5' '--max-size=5'; do
	check "when the record has ended its live set is gone: $words" exits_saying 5 'is not recorded any more' \
		memdiag record report "$tracee_pid" $words
done
check 'the program lives on' end_tracee
finish
