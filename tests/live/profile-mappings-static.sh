#!/bin/sh
# Mappings in a profile of a static program, whose account has the same numbers.  What malloc maps is told from what the
# program maps by stacks, some of which are kept, so there are several seeds: MEMDIAG_TEST_SEEDS="FIRST LAST" tries others.
# shellcheck disable=SC2154 # lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/mapper-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
need_hooks
[ "$(uname -m)" = x86_64 ] || skip_all 'static programs are hooked on x86-64 only'

set -- ${MEMDIAG_TEST_SEEDS:-10 14}
for seed in $(seq "$1" "$2"); do
	start_tracee mapper-static 3
	check "seed $seed: a profile begins" profile start
	check "seed $seed: it maps" plays "$seed" "$(some 2000)"
	check "seed $seed: it ends" profile stop -o "$dir/p"
	check "seed $seed: it is exact" is_account "$(written)"
	check "seed $seed: the target lives on" end_tracee
done
finish
