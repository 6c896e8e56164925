# log-lib: what the tests of logs share; read after record-lib.sh.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh reads and sets the rest

# begins_log [OPTIONS...]: a log of the tracee begins, in $dir/logs.
begins_log()
{
	patiently memdiag record start --mode log-fast -o "$dir/logs" --pid "$tracee_pid" --json "$@" &&
		json_is '.data.log.is_written' && writer=$(json .data.log.writer)
}

# log_is FILTER: whether that is so of the status of the record.
log_is()
{
	memdiag record status --pid "$tracee_pid" --json && json_is "$1"
}

# until_log FILTER: until it is.
until_log()
{
	until log_is "$1"; do
		lives "$tracee_pid" || return
		sleep 0.02
	done
}

# log_is_whole: whether what the last memdiag said of the log is all that was recorded.
log_is_whole()
{
	json_is '.data | .log.events > 0 and .log.dropped == 0 and .log.lost == 0 and .log.unmatched == 0 and
		.log.damaged == 0 and .log.events == .noted.allocated.blocks + .noted.freed.blocks' || {
		json '.data | [.log, .noted]'
		return 1
	}
}

# gone PID: until that process has ended.
gone()
{
	# Its number may be another program's by now.
	while grep -qsx memdiag "/proc/$1/comm"; do
		sleep 0.01
	done
}

# log_files [DIR]: how many there are.
log_files()
{
	find "${1:-$dir/logs}" -name '*.mlog.zst' | wc -l
}
