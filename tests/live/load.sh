#!/bin/sh
# A library is loaded into programs of all kinds: it is there, they are as they were, no arena more.
# A library that cannot be loaded: the reason is printed and nothing stays.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
payload=$TRACEES/payload.so

load()
{
	"$top_builddir/tests/unit/inject-load" "$@" >"$dir/out" 2>"$dir/err"
}

# loads HOW MODE PID LIBRARY: whether it is loaded now, "new" or "there" before, in MODE, and the number
# of arenas has not changed.
loads()
{
	local start was mode before after us
	exits 0 load "$3" "$4" || {
		cat "$dir/err"
		return 1
	}
	read -r start was mode before after us <"$dir/out"
	echo "at $start, $was, $mode, arenas $before and $after, held for $us us"
	[ "$was" = "$1" ] && [ "$mode" = "$2" ] && [ "$before" -eq "$after" ] &&
		[ "$(nr_mapped "$3")" -eq 1 ]
}

# nr_mapped PID: how often the payload is mapped with code, whatever its file is called.
nr_mapped()
{
	grep -c 'r-xp.*payload' "/proc/$1/maps"
}

# refused STATUS WORDS PID LIBRARY: whether it is not loaded, for that reason, and nothing is left.
refused()
{
	remember "$3"
	exits "$1" load "$3" "$4"
	cat "$dir/err"
	grep -q -e "$2" "$dir/err" && unharmed "$3" && [ "$(nr_mapped "$3")" -eq 0 ]
}

# no_more_fds PID: whether it has those that a tracee begins with.
no_more_fds()
{
	find "/proc/$1/fd" -type l -printf '%f %l\n'
	[ "$(find "/proc/$1/fd" -type l | wc -l)" -eq "$nr_fds" ]
}

# Until its threads let signals in, which they do not while they begin.
have_begun()
{
	while grep -q '^SigBlk.*[1-9a-f]' /proc/"$tracee_pid"/task/*/status; do
		sleep 0.01
	done
}

in_tracee()
{
	local words="$1" mode="$2"
	shift 2
	start_tracee "$@"
	have_begun
	nr_fds=$(find "/proc/$tracee_pid/fd" -type l | wc -l)
	check "$words: is refused one that depends on what is not there" refused 1 \
		'no-such-library.so: cannot open shared object file' "$tracee_pid" \
		"$TRACEES/payload-orphan.so"
	check "$words: loads it" loads new "$mode" "$tracee_pid" "$payload"
	check "$words: a second time it is there" loads there "$mode_of_none" "$tracee_pid" "$payload"
	check "$words: has no more descriptors" no_more_fds "$tracee_pid"
	check "$words: the target lives on" end_tracee
}

# The mode that load reports when nothing had to be done.
mode_of_none=thread

in_tracee 'one thread' thread idle
in_tracee 'eight busy threads' helper churn 8
in_tracee 'a hundred threads' helper manythreads 100

# ---- where the target does not see the file ----

if unshare -m true 2>"$dir/err"; then
	mkdir "$dir/lib" && cp "$payload" "$TRACEES/payload-orphan.so" "$dir/lib"
	# shellcheck disable=SC2016 # for the inner shell
	start_command unshare -m sh -c 'cd / && mount --make-rprivate / &&
		mount -t tmpfs none "$1" && shift && exec "$@"' sh \
		"$dir/lib" "$(realpath "$TRACEES/churn")" 4
	nr_fds=$(find "/proc/$tracee_pid/fd" -type l | wc -l)
	check 'hidden: says why not' refused 1 \
		'given a copy of: no-such-library.so: cannot open' "$tracee_pid" "$dir/lib/payload-orphan.so"
	check 'hidden: loads a copy' loads new helper "$tracee_pid" "$dir/lib/payload.so"
	check 'hidden: a second time it is there' loads there "$mode_of_none" "$tracee_pid" \
		"$dir/lib/payload.so"
	check 'hidden: has no more descriptors' no_more_fds "$tracee_pid"
	check 'hidden: the target lives on' end_tracee

	# shellcheck disable=SC2016
	start_command unshare -m sh -c 'mount --make-rprivate / && mount --bind "$1" "$1" &&
		mount -o remount,bind,noexec "$1" && shift && exec "$@"' sh "$dir/lib" "$TRACEES/idle"
	check 'noexec: says so' refused 5 'mounted noexec there' "$tracee_pid" "$dir/lib/payload.so"
	check 'noexec: the target lives on' end_tracee
else
	skip 'where the target does not see the file' "no mount namespaces here: $(cat "$dir/err")"
fi

# ---- a user that may not read the file ----

if [ "$(id -u)" -eq 0 ]; then
	mkdir "$dir/mine" && cp "$payload" "$dir/mine" && chmod 700 "$dir/mine"
	cp "$TRACEES/idle" "$dir/idle"
	start_command setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/idle"
	check 'another user: loads a copy' loads new thread "$tracee_pid" "$dir/mine/payload.so"
	check 'another user: the target lives on' end_tracee
else
	skip 'another user' 'only root can become one'
fi

# ---- what is refused beforehand ----

start_tracee seccomp
check 'a filter that kills for one call: refused' refused 5 'would end it for memfd_create()' "$tracee_pid" \
	"$payload"
check 'a filter that kills for one call: the target lives on' end_tracee
start_tracee seccomp thread
check 'a filter of one thread: refused' refused 5 "on thread [0-9]*, would end it for" "$tracee_pid" "$payload"
check 'a filter of one thread: the target lives on' end_tracee
start_tracee seccomp load
check 'a filter that lets a load pass: loads' loads new thread "$tracee_pid" "$payload"
check 'a filter that lets a load pass: the target lives on' end_tracee
start_tracee seccomp refuse
check 'a filter that only refuses: it is said that it cannot be' refused 1 'Operation not permitted' \
	"$tracee_pid" "$payload"
check 'a filter that only refuses: the target lives on' end_tracee
for form in static musl; do
	if [ -x "$TRACEES/idle-$form" ]; then
		start_tracee idle-$form
		check "$form: refused" refused 5 '' "$tracee_pid" "$payload"
		check "$form: the target lives on" end_tracee
	else
		skip "$form" 'there is no such program'
	fi
done
start_tracee idle
check 'no library: refused' refused 1 'not an ELF file' "$tracee_pid" "$top_srcdir/README"
check 'no file: refused' refused 1 'No such file' "$tracee_pid" "$dir/nothing"
check 'the target lives on' end_tracee

# ---- other releases of glibc ----

on_release()
{
	start_release_tracee churn 4
	have_begun
	# Without libdl there is no dlerror() before 2.34.
	case $release in
	2.[12]? | 2.3[0-3]) words='does not say why' ;;
	*) words='no-such-library.so: cannot open' ;;
	esac
	check "$release: says why not" refused 1 "$words" "$tracee_pid" \
		"$TRACEES/payload-orphan.so"
	check "$release: loads it" loads new helper "$tracee_pid" "$payload"
	check "$release: the target lives on" end_tracee
}
for_each_release on_release
finish
