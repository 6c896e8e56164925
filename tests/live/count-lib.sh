# count-lib: what the tests of counting in a process that runs share; read after lib.sh.  All are about
# the ledger tracee_pid, see tests/tracees/ledger.c.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest

# count VERB: whether 'memdiag count VERB' changes something.
count()
{
	exits 0 patiently memdiag count "$1" --pid "$tracee_pid" --json &&
		json_is '.data.entries > 8 and .data.foreign == 0 and (.data.was_so_already | not)'
}

# count_already VERB: whether it was so already, and nothing is changed.
count_already()
{
	exits 0 patiently memdiag count "$1" --pid "$tracee_pid" --json &&
		json_is '.data.entries == 0 and .data.slots == 0 and .data.was_so_already'
}

# status FILTER: of what the agent has counted.
status()
{
	memdiag status --pid "$tracee_pid" --json && json ".data | $1"
}

# rest: bytes and blocks that were counted besides the ledger's: what libc and others have, and keep.
rest()
{
	local sum
	sum=$(ask sum) || return
	status "\"\(.live_bytes - .mapped_bytes - ${sum% *}) \(.blocks - ${sum#* })\""
}

# does COMMAND...: whether it is counted to the byte and the block when the tracee does that.
does()
{
	local before after
	before=$(rest) && obeys "$*" && after=$(rest) || return
	echo "besides the ledger: $before, then $after"
	[ "$before" = "$after" ]
}

# child_changes_nothing COMMAND: whether what a child does that is made by COMMAND is not counted.
child_changes_nothing()
{
	local before
	before=$(rest) && [ "$(ask "$1")" = 0 ] || return
	echo "$before"
	[ "$before" = "$(rest)" ]
}

# start_in_time: begin until it is known how many blocks are doubtful: on a machine that has much else to do
# not all threads may be stopped in time.  Sets doubtful.
start_in_time()
{
	local try=0 end
	clock
	end=$((now + patience))
	while [ "$now" -lt "$end" ]; do
		count start && doubtful=$(json .data.doubtful_blocks) || return
		[ "$doubtful" = null ] || return 0
		echo "try $((try += 1))"
		count stop || return
		clock
	done
	patience=2
	return 1
}

# starts_surely: begin until nothing is uncertain. On a loaded machine a thread may be in the middle of a call each
# time that memdiag reads the heap.
starts_surely()
{
	local try=0 end
	clock
	end=$((now + patience))
	while [ "$now" -lt "$end" ]; do
		count start || return
		[ "$(json .data.doubtful_blocks)" != 0 ] || return 0
		echo "try $((try += 1)): $(json .data.doubtful_blocks) doubtful"
		count stop || return
		clock
	done
	patience=2
	return 1
}

# agrees_with_heap: whether what was counted is what the heap has, as it is read for a new start.
agrees_with_heap()
{
	local counted
	counted=$(status '.live_bytes - .mapped_bytes') && count stop && start_in_time || return
	json '.data | "\(.before_bytes) in use, \(.doubtful_blocks) doubtful"'
	echo "counted: $counted"
	json_is ".data.before_bytes == $counted and .data.doubtful_blocks == 0"
}

# nearly_agrees_with_heap DOUBTFUL: the same, but for so many blocks, each of which may have any size.
nearly_agrees_with_heap()
{
	local counted blocks
	counted=$(status .blocks) && count stop && start_in_time && blocks=$(status .blocks) || return
	echo "counted: $counted blocks, $1 of them doubtful; there are $blocks"
	[ $((counted - blocks)) -le "$1" ] && [ $((blocks - counted)) -le "$1" ]
}

# counts_threads: whether what the threads of the tracee seccomp allocate is counted.
counts_threads()
{
	local before after
	before=$(status .blocks_allocated) && obeys 'threads 150' &&
		after=$(status .blocks_allocated) || return
	echo "$before blocks, then $after"
	[ "$after" -ge $((before + 300)) ]
}
