# tracee-lib: programs to look at; read by lib.sh.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh and the tests set and read the rest

# lives PID: whether it has not ended; one that nobody has waited for yet has, unless other threads of it
# go on.
lives()
{
	grep -q -e '^State:.[^XZ]' -e '^Threads:.\([2-9]\|[0-9][0-9]\)' "/proc/$1/status" 2>/dev/null
}

# wait_for PID FILE WORDS: until FILE has a line that matches WORDS; fails if PID ends before.
wait_for()
{
	until grep -q -e "$3" "$2" 2>/dev/null; do
		lives "$1" || grep -q -e "$3" "$2" || return
		sleep 0.01
	done
}

# clock: sets $now to the seconds since the machine was started.
clock()
{
	read -r now _ </proc/uptime
	now=${now%%.*}
}

# eventually COMMAND...: until COMMAND succeeds, for what happens by itself within moments, if at all.  It fails after
# 300 s, so that a test ends that fails; later ones in the same script then look for two seconds only.
patience=300
eventually()
{
	local end
	clock
	end=$((now + patience))
	until "$@"; do
		clock
		[ "$now" -lt "$end" ] || {
			patience=2
			echo "it did not come: $*"
			return 1
		}
		sleep 0.02
	done
}

# soon COMMAND...: the same of $tracee_pid; fails if that ends before.
soon()
{
	eventually succeeds_or_ends "$@" && [ "$has_succeeded" = yes ]
}

# succeeds_or_ends COMMAND...: whether COMMAND succeeds, which sets has_succeeded, or $tracee_pid has ended.
succeeds_or_ends()
{
	has_succeeded=yes
	! "$@" || return 0
	! lives "$tracee_pid" || return 1
	"$@" || has_succeeded=no
}

# start_tracee NAME ARGUMENTS...: start tests/tracees/NAME; returns when it has said "ready".
# Sets tracee_pid.
start_tracee()
{
	local name="$1"
	shift
	start_command "$TRACEES/$name" "$@"
}

# start_command COMMAND...: start any program that speaks the protocol of tests/tracees/tracee.h.
# Sets tracee_pid, which names its files: $dir/PID.in .out .err and .holder, the process that
# holds its stdin open.
start_command()
{
	local stream
	shorten "$@"
	about_process=$short
	about_command=
	nr_started=$((nr_started + 1))
	mkfifo "$dir/$nr_started.in"
	# A background job without job control gets /dev/null for stdin: name it.
	"$@" <"$dir/$nr_started.in" >"$dir/$nr_started.out" 2>"$dir/$nr_started.err" &
	tracee_pid=$!
	sleep "$MEMDIAG_TEST_DEADLINE" >"$dir/$nr_started.in" &
	started="$started $tracee_pid $!"
	echo $! >"$dir/$tracee_pid.holder"
	for stream in in out err; do
		# Numbers are used again: an earlier one's may be there.
		ln -sf $nr_started.$stream "$dir/$tracee_pid.$stream"
	done
	if ! wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^ready'; then
		echo "# $* did not get ready"
		sed 's/^/#   /' "$dir/$tracee_pid.err"
		exit 1
	fi
	# The whole line: ask() counts from there.
	until [ "$(wc -l <"$dir/$tracee_pid.out")" -gt 0 ] || ! lives "$tracee_pid"; do
		sleep 0.01
	done
}

# tell WORDS [PID]: give a tracee a command.  Opened for both, as opening a pipe whose reader has ended would wait.
tell()
{
	echo "$1" 1<>"$dir/${2:-$tracee_pid}.in"
}

# ask WORDS [PID]: the same; prints the line it answers.
ask()
{
	local pid="${2:-$tracee_pid}" nr_lines
	nr_lines=$(wc -l <"$dir/$pid.out")
	tell "$1" "$pid"
	until [ "$(wc -l <"$dir/$pid.out")" -gt "$nr_lines" ]; do
		lives "$pid" || return
		sleep 0.01
	done
	sed -n "$((nr_lines + 1))p" "$dir/$pid.out"
}

# obeys COMMAND [PID]: whether the tracee answers the COMMAND with "done".
obeys()
{
	[ "$(ask "$@")" = "done" ]
}

# goes_on N [COMMAND]: until COMMAND (count) is answered with N more than the first time; fails if the tracee ends.
goes_on()
{
	local more="$1" command="${2:-count}" first now
	first=$(ask "$command") || return
	until now=$(ask "$command") && [ "$now" -gt $((first + more)) ]; do
		lives "$tracee_pid" || return
	done
}

# end_tracee [PID]: close its stdin; it must say "alive" and exit with 0.
end_tracee()
{
	local pid="${1:-$tracee_pid}"
	kill "$(cat "$dir/$pid.holder")"
	wait "$pid" || {
		echo "exit status $?"
		cat "$dir/$pid.err"
		return 1
	}
	[ "$(tail -n 1 "$dir/$pid.out")" = alive ] || {
		tail -n 3 "$dir/$pid.out"
		return 1
	}
}


# child_of PID: sets $child to its first child, once it has one; fails if PID ends before.
child_of()
{
	child=
	until [ -n "$child" ]; do
		[ -e "/proc/$1" ] || return
		# It has no end of line.
		read -r child _ <"/proc/$1/task/$1/children" || :
	done
}

# says_kept PID: whether the tracee parked says that what it parked with was kept.
says_kept()
{
	wait_for "$1" "$dir/$1.out" '^kept\|^broken'
	grep '^broken' "$dir/$1.out"
	grep -q '^kept' "$dir/$1.out"
}
