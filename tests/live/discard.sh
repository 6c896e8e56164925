#!/bin/sh
# The tops of thread arenas given back, page for page, while their threads rest, and while they
# allocate.
. "$top_srcdir/tests/live/lib.sh"

# With a limit, as a lock that is left behind would make all wait for ever.
discard()
{
	timeout 600 "$top_builddir/tests/unit/discard" "$@" >"$dir/out" || {
		cat "$dir/out"
		return 1
	}
}

# Its memory falls by the resident pages of the tops, byte for byte.  The first time leaves a stack
# that the next helper uses again; pages of libc's code may come at any time.
gives_back_exactly()
{
	discard "$tracee_pid" && ask work >"$dir/count" && before=$(ask anon) && discard "$tracee_pid" ||
		return
	gone=$((before - $(ask anon)))
	read -r resident left bytes busy us <"$dir/out"
	echo "resident $resident, left $left, given back $bytes, its memory fell by $gone, $us us"
	[ "$gone" -eq "$resident" ] && [ "$resident" -gt 1000000 ] && [ "$left" -eq 0 ] &&
		[ "$busy" -eq 0 ]
}

works_on()
{
	said=$(ask work)
	echo "$said"
	[ "$said" -gt "$(cat "$dir/count")" ]
}

# It goes on by itself: twice as many blocks.
is_busy()
{
	said=$(ask busy)
	until [ "$(ask busy)" -ge $((said + 5000)) ]; do
		kill -0 "$tracee_pid" || return
	done
}

gave_back_some()
{
	awk '{ bytes += $3; busy += $4; if ($5 > us) us = $5 }
		END { print bytes " bytes, " busy " busy, longest lock " us " us"; exit !bytes }' "$dir/out"
}

for threads in 1 8; do
	start_tracee tops $threads
	check "$threads: its memory falls by exactly the tops" gives_back_exactly
	check "$threads: it works on" works_on
	check "$threads: the target lives on" end_tracee
done

for arenas in 9 3; do
	start_tracee tops 8 $arenas
	check "$arenas arenas, busy" is_busy
	check "$arenas arenas, busy: 100 times" discard "$tracee_pid" 100
	check "$arenas arenas, busy: something was given back" gave_back_some
	check "$arenas arenas, busy: it goes on" is_busy
	check "$arenas arenas, busy: all blocks are good" ask rest
	check "$arenas arenas, busy: the target lives on" end_tracee
done
finish
