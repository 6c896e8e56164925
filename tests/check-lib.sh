#!/bin/sh
# scripts/check-lib.sh: a test program that fails is run again, and what it has left is seen; the arguments of
# scripts/check-long.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"

# A source of its own: check scripts/try, a Makefile whose test programs print what plan/PROGRAM has
# for this run, one line a run, and the state of a machine in a file.
source=$dir/source
mkdir -p "$source/scripts" "$source/tests"
cp "$top_srcdir/scripts/check-lib.sh" "$source/scripts/"
cat >"$source/scripts/machine-state" <<-'END'
	#!/bin/sh
	cat state
	find "$HOME" -mindepth 1
END
chmod +x "$source/scripts/machine-state"
cat >"$source/scripts/try" <<-'END'
	#!/bin/sh
	cd "$(dirname "$0")/.." || exit
	. scripts/check-lib.sh
	adopt "$@"
	begin
	save_machine_state
	longest_wait=${wait:-0}
	steps()
	{
		[ -z "${next_to-}" ] || begin_step two sh -c "$next_to"
		step one sh -c "$1"
		end_if_failed
		[ -z "${next_to-}" ] || end_step
		tests some tests TESTS check
	}
	steps "$@"
	finish
END
printf 'check:\n\t%s\n' '@for t in $(TESTS); do sh run $$t; done; echo "# TOTAL: `cat total`"; \
	test ! -e status || exit `cat status`' >"$source/tests/Makefile"
cat >"$source/tests/run" <<-'END'
	echo again >>"runs-$1"
	nr=$(wc -l <"runs-$1")
	sed -n "${nr}p" "plan-$1" | tr '+' '\n' | sed "s/..*/&: $1 1 - words/" | tee "$1.log"
	echo $(($(cat total) + $(grep -c : "$1.log"))) >total
	[ ! -e "do-$1" ] || . "./do-$1"
END

# plan PROGRAM RESULT...: its results, a word for each run; a+b are two of one run.
plan()
{
	local program="$1"
	shift
	printf '%s\n' "$@" >"$source/tests/plan-$program"
	programs="$programs $program"
}

# fresh: no program, no trace of the last run.
users_home=$dir/home
fresh()
{
	rm -rf "$source/build" "$source"/tests/*-* "$source/tests/status" "$users_home"
	mkdir "$users_home"
	programs=
	echo as ever >"$source/state"
	echo 0 >"$source/tests/total"
}

# try [COMMAND]: run the check; COMMAND is its first step.
try()
{
	env -u MEMDIAG_CHECK_ADOPTS -u XDG_CACHE_HOME -u PYENV_ROOT HOME="$users_home" TMPDIR="$dir" MAKEFLAGS= TESTS="$programs" \
		sh "$source/scripts/try" "${1:-true}" >"$dir/out" 2>"$dir/err"
}

# gives STATUS LAST-LINE [COMMAND]: whether the check ends so.
gives()
{
	local status=0
	try "${3-}" || status=$?
	cat "$dir/out" "$dir/err"
	[ $status -eq "$1" ] && [ "$(tail -n 1 "$dir/out")" = "$2" ]
}

printed()
{
	grep -qx -e "$1" "$dir/out"
}

not_printed()
{
	! grep -q -e "$1" "$dir/out"
}

fresh
plan good PASS+PASS+SKIP+XFAIL
check 'all is well' gives 0 '5 passed, 0 failed, 1 skipped'
check 'nothing is left in TMPDIR' [ -z "$(find "$dir" -name 'memdiag-check.*')" ]

fresh
plan good PASS
plan chance PASS+FAIL PASS+PASS PASS
check 'failed, passed, passed: the check passes' gives 0 '3 passed, 0 failed, 0 skipped'
check 'it is named' printed 'FLAKY: some: chance'
check 'it counts neither as passed nor as failed' not_printed '^FAIL'
check 'the log of its first run is kept' grep -q FAIL "$source/build/try-logs/flaky/some-chance.log"

fresh
plan good PASS
plan broken FAIL PASS FAIL
check 'failed, passed, failed: the check fails' gives 1 '3 passed, 1 failed, 0 skipped'
check 'its failure is printed' printed 'FAIL: broken 1 - words'
check 'it is not flaky' not_printed FLAKY

fresh
plan broken ERROR FAIL
check 'failed twice: the check fails' gives 1 '2 passed, 1 failed, 0 skipped'
check 'it is not run a third time' [ "$(wc -l <"$source/tests/runs-broken")" -eq 2 ]

fresh
plan broken FAIL SKIP PASS
check 'skipped when run again is not passed' gives 1 '2 passed, 1 failed, 0 skipped'

fresh
plan broken XPASS XPASS
check 'an unexpected pass is a failure' gives 1 '2 passed, 1 failed, 0 skipped'

fresh
for program in a b c d e; do
	plan $program FAIL PASS PASS
done
check 'five that are flaky' gives 0 '2 passed, 0 failed, 0 skipped'
check 'are named' [ "$(grep -c '^FLAKY: some: [a-e]$' "$dir/out")" -eq 5 ]

fresh
for program in a b c d e f; do
	plan $program FAIL PASS PASS
done
check 'six that fail are too many' gives 1 '2 passed, 6 failed, 0 skipped'
check 'none is run again' [ "$(cat "$source"/tests/runs-? | wc -l)" -eq 6 ]

fresh
plan good PASS
echo 2 >"$source/tests/status"
check 'make fails without a failed test' gives 1 '3 passed, 1 failed, 0 skipped'
check 'the run is named' printed 'FAIL: some (.* s)'

fresh
plan none ''
check 'no test ran' gives 1 '2 passed, 1 failed, 0 skipped'

fresh
plan good PASS
check 'a step fails' gives 1 '0 passed, 1 failed, 0 skipped' 'echo the cause; exit 3'
check 'its output is printed' printed '    the cause'
check 'what follows is not run' [ ! -e "$source/tests/runs-good" ]

fresh
plan good PASS
export next_to=': >began; until [ -e one ]; do sleep 0.01; done'
check 'a step that runs next to another' gives 0 '4 passed, 0 failed, 0 skipped' 'until [ -e began ]; do sleep 0.01; done; : >one'
rm "$source/began" "$source/one"
fresh
plan good PASS
export next_to='echo the other cause; exit 3'
check 'a step fails that runs next to another' gives 1 '3 passed, 1 failed, 0 skipped'
check 'a step that runs next to another: its failure is printed' printed 'FAIL: two ([0-9]* s)'
check 'a step that runs next to another: its output is printed' printed '    the other cause'
fresh
plan good PASS
check 'both steps fail, and both count' gives 1 '0 passed, 2 failed, 0 skipped' 'exit 3'
export next_to=

fresh
plan good PASS
echo 'echo changed >>../state' >"$source/tests/do-good"
check 'the machine is changed' gives 1 '2 passed, 1 failed, 0 skipped'
check 'the change is printed' printed '    > changed'

fresh
plan good PASS
echo ': >"$TMPDIR/left"' >"$source/tests/do-good"
check 'a file is left' gives 1 '2 passed, 1 failed, 0 skipped'
check 'it is named' printed '    .*/memdiag-check\..*/left'

# What chromium and others make when they run for the first time.
fresh
plan good PASS
echo ': >"$HOME/.made"; echo "$XDG_CACHE_HOME $PYENV_ROOT" >home-says' >"$source/tests/do-good"
check 'a file in HOME is no change' gives 0 '3 passed, 0 failed, 0 skipped'
check 'HOME is a folder for this run' [ -e "$source/build/try-logs/home/.made" ]
check 'glibc and Python are those of the user' \
	[ "$(cat "$source/tests/home-says")" = "$users_home/.cache $users_home/.pyenv" ]

fresh
plan good PASS
echo ": >'$users_home/.made'" >"$source/tests/do-good"
check "a file in the user's HOME is a change" gives 1 '2 passed, 1 failed, 0 skipped'
check 'it is named' printed '    > .*/home/.made'

fresh
plan good PASS
echo '{ sleep 1000 & echo $! >sleeper; } >/dev/null 2>&1' >"$source/tests/do-good"
if command -v perl >/dev/null; then
	# No process has this number: it is as one that has ended after /proc was listed.
	sed -i 's|/proc/\[0-9\]\*/status|/proc/0/status &|' "$source/scripts/check-lib.sh"
	check 'a process ends while processes are listed' grep -q ' /proc/0/status /proc/' "$source/scripts/check-lib.sh"
	check 'a process is left' gives 1 '2 passed, 1 failed, 0 skipped'
	check 'it is named' printed "    process $(cat "$source/tests/sleeper") sleep"
	kill "$(cat "$source/tests/sleeper")"
	fresh
	plan good PASS
	echo '{ sleep 0.5 & } >/dev/null 2>&1' >"$source/tests/do-good"
	export wait=300
	check 'one that ends is none' gives 0 '3 passed, 0 failed, 0 skipped'
else
	skip 'a process is left' 'perl is not here'
fi

fresh
plan good PASS
echo 1 >"$source/tests/total"
check 'a result that was not seen is a failure' gives 1 '3 passed, 1 failed, 0 skipped'
check 'the number is printed' printed 'FAIL: some 1 results were seen, but there are 2'

# The first program has printed half a line when the second one prints its own.
fresh
cat >"$source/tests/Makefile" <<'END'
check:
	@$(MAKE) one two
	@echo '# TOTAL: 3'
one:
	@printf 'PASS: one 1 - is'; touch half; until [ -e whole ]; do sleep 0.01; done; echo ' whole'
two:
	@until [ -e half ]; do sleep 0.01; done; echo 'PASS: two 1 - is whole'; echo 'SKIP: two 2 - nothing'; touch whole
END
sed -i 's/^\. scripts.*/&; jobs=2/' "$source/scripts/try"
check 'two programs at once: each result has its line' gives 0 '4 passed, 0 failed, 1 skipped'

# ---- the arguments of scripts/check-long ----

# It ends before the first step.
mkdir -p "$dir/long/scripts"
cp "$top_srcdir/scripts/check-long" "$dir/long/scripts/"
echo 'adopt() { :; }; begin() { :; }; prepare() { exit; }' >"$dir/long/scripts/check-lib.sh"
check_long()
{
	captured sh "$dir/long/scripts/check-long" "$@"
}

check 'check-long: without arguments' exits 0 check_long
check 'check-long: a seed is chosen and printed' grep -q -x 'the same again: scripts/check-long --seed [1-9][0-9]*' "$dir/out"
for seed in 1 20261310 4000000000; do
	check "check-long: --seed $seed" exits 0 check_long --seed $seed
	check "check-long: --seed $seed is printed" grep -q -x "the same again: scripts/check-long --seed $seed" "$dir/out"
done
for seed in '' 0 08 -1 1x x ' 1' 4000000001 99999999999; do
	check "check-long: '$seed' is refused" exits_saying 64 "^check-long: '$seed' is not a seed; give .* 1 to 4000000000\$" \
		check_long --seed "$seed"
done
for words in 1 --seed --seed=1 '--seed 1 2' '--help' '--sed 1'; do
	# shellcheck disable=SC2086 # several words
	check "check-long: $words: the usage" exits_saying 64 '^usage: scripts/check-long \[--seed N\]$' check_long $words
done

# ---- the state of this machine ----

cp "$top_srcdir/scripts/machine-state" "$source/scripts/"
state()
{
	TMPDIR=$dir "$source/scripts/machine-state" --installed >"$dir/$1"
}

# seen WORDS: whether the state now has another line with WORDS than before.
seen()
{
	state after
	diff "$dir/before" "$dir/after" | tee /dev/stderr | grep -q "^[<>].*$1"
}

state before
check 'the state has /dev/null' grep -q '^/dev/null c [0-7]* 0:0' "$dir/before"
check 'the state has sysctls' grep -q '^/proc/sys/vm/overcommit_memory:[0-2]$' "$dir/before"
check 'the state has no sysctls that the kernel writes itself' \
	[ "$(grep -c '/ns_last_pid:\|/tcp_fastopen_key:' "$dir/before")" -eq 0 ]
check 'the state has mounts' grep -q '^mount .* /proc ' "$dir/before"
check 'the state has files of the system' grep -q '^/etc/passwd f 644 0:0 ' "$dir/before"
TMPDIR=$dir "$source/scripts/machine-state" >"$dir/without"
check 'without --installed: devices, mounts and sysctls' \
	[ "$(grep -c '^/dev/null c \|^/proc/sys/vm/overcommit_memory:\|^mount .* /proc ' "$dir/without")" -ge 3 ]
check 'without --installed: nothing of /etc, /usr and HOME' \
	[ "$(grep -c "^/etc/\|^/usr/\|^${HOME:-/root}/" "$dir/without")" -eq 0 ]
check 'the state does not have what the first run of chromium makes' \
	[ "$(grep -c '^/usr/lib/chromium/extensions' "$dir/before")" -eq 0 ]
HOME=$dir/home
mkdir -p "$HOME"
state before
: >"$HOME/.made"
check "a new file in the user's HOME is seen" seen "$HOME/.made f"
elsewhere=/dev/shm/memdiag-left-$$
: >$elsewhere
check 'a new file is seen' seen "$elsewhere f"
chmod 600 $elsewhere
state before
chmod 640 $elsewhere
check 'its mode is seen' seen "$elsewhere f 640"
if id=$(ipcmk -M 4096 | grep -o '[0-9]*$'); then
	check 'a segment is seen' seen "System V shm .* $id "
	ipcrm -m "$id"
else
	skip 'a segment is seen' 'no System V memory here'
fi
finish
