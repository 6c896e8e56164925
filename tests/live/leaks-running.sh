#!/bin/sh
# leaks --no-stop: of a program whose threads move blocks between lists, allocate and free while it is read.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq

# found: how many of the 1,000 lost blocks are listed; they alone have 1,000 bytes.
found()
{
	json '[.data.groups[] | select(.head_bytes == 1000 and .shape == "single") | .heads] | add // 0'
}

# false_ones: how many others are listed.
false_ones()
{
	echo $(($(json .data.unreachable.blocks) - $(found)))
}

start_tracee mover
# The third thread may be inside malloc in each stop, with a block that is not in its hands yet.
check 'in one stop: status 1, or 2' exits '1 2' memdiag leaks --pid "$tracee_pid" --max-stop 300s --timeout 600s --json
check 'in one stop: all 1,000 lost blocks' test "$(found)" = 1000
echo "# in one stop: $(false_ones) other blocks"
check 'in one stop: no other block' test "$(false_ones)" -le 2
check 'in one stop: no looks' json_is '.data.looks == 0'

check 'without a stop: status 2' exits 2 memdiag leaks --pid "$tracee_pid" --no-stop --looks 2 --every 50ms --timeout 600s --json
check 'two looks: all 1,000 lost blocks' test "$(found)" = 1000
echo "# two looks: $(false_ones) other blocks"
check 'two looks are approximate' json_is '.data.looks == 2 and .data.certainty == "approximate" and .partial and .data.stop.count == 0'
check 'they say why' says 'the process ran while it was read, 2 times'

check 'eight looks: status 2' exits 2 memdiag leaks --pid "$tracee_pid" --no-stop --looks 8 --every 50ms --timeout 600s --json
check 'eight looks: all 1,000 lost blocks' test "$(found)" = 1000
check 'at most eight' json_is '.data.looks >= 2 and .data.looks <= 8'
echo "# $(json .data.looks) looks: $(false_ones) other blocks"
check 'as text: status 2' exits 2 memdiag leaks --pid "$tracee_pid" --no-stop --looks 2 --every 1ms --timeout 600s
check 'as text: how often' grep -q '^Looks: 2, without a stop; the last one removed [0-9]* blocks$' "$dir/out"
check '--fail-bytes makes no difference' exits 2 memdiag leaks --pid "$tracee_pid" --no-stop --looks 2 --every 1ms --fail-bytes 1G --timeout 600s
check 'the threads go on' goes_on 1000
check 'the program still works' end_tracee

start_tracee idle
check 'a program that is idle: status 2' exits 2 memdiag leaks --pid "$tracee_pid" --no-stop --every 1ms --json
check 'two looks are enough, as the second removes nothing' json_is '.data.looks == 2 and .data.unreachable.blocks == 0'
check '--looks without --no-stop: usage' exits 64 memdiag leaks --pid "$tracee_pid" --looks 3
check '--looks 1: usage' exits 64 memdiag leaks --pid "$tracee_pid" --no-stop --looks 1
check 'it still works' end_tracee
check '--no-stop of a core file: usage' exits 64 memdiag leaks --core x --no-stop
finish
