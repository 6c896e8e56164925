#!/bin/sh
# Targets whose files are not where their maps say: other namespaces, another root, a libc that was
# deleted or replaced since.
. "$top_srcdir/tests/live/lib.sh"
need jq

# answers WORDS PID: info and trim work there, and it is as before.
answers()
{
	remember "$2"
	check "$1: info" exits 0 memdiag info --pid "$2" --json
	check "$1: arenas are told" json_is '.data.arenas | length >= 1'
	check "$1: trim" exits 0 memdiag trim --pid "$2"
	check "$1: maps adds up" maps_adds_up "$2"
	check "$1: it is as before" unharmed "$2"
}

# copy_program ROOT: the program with its libc and its loader in a tree of their own, each where
# the program looks for it.
copy_program()
{
	mkdir -p "$1/bin"
	cp "$TRACEES/idle" "$1/bin"
	ldd "$TRACEES/idle" | sed -n 's/.* => \(\/[^ ]*\).*/\1/p; s/^\t\(\/[^ ]*\) (.*/\1/p' |
		while read -r library; do
			mkdir -p "$1$(dirname "$library")"
			cp -L "$library" "$1$library"
		done
}

# start_bundled ROOT: start it by its own loader, as programs do that bring their libc along.
start_bundled()
{
	loader=$(find "$1" -name 'ld-*')
	libc=$(find "$1" -name 'libc.so*')
	start_command "$loader" --library-path "$(dirname "$libc")" "$1/bin/idle" 3
}

copy_program "$dir/gone"
start_bundled "$dir/gone"
rm -r "$dir/gone"
answers 'own loader, libc deleted' "$tracee_pid"
check 'own loader, libc deleted: it lives on' end_tracee

[ "$(id -u)" -eq 0 ] || {
	skip 'other roots' 'this takes root'
	finish
}
copy_program "$dir/old"
start_command chroot "$dir/old" /bin/idle 3
rm -r "$dir/old"
answers 'libc deleted' "$tracee_pid"
check 'libc deleted: it lives on' end_tracee

copy_program "$dir/new"
start_command chroot "$dir/new" /bin/idle 3
find "$dir/new" -type f | while read -r file; do
	rm "$file"
	seq 100000 | gzip -n | head -c 100000 >"$file"
done
answers 'libc replaced by something else' "$tracee_pid"
check 'libc replaced by something else: it lives on' end_tracee

unshare -pfm --mount-proc true 2>/dev/null || {
	skip 'other namespaces' 'they cannot be made here'
	finish
}
copy_program "$dir/root"
start_command unshare -pfm --mount-proc chroot "$dir/root" /bin/idle 3
wrapper=$tracee_pid
child_of "$wrapper"
answers 'other namespaces and root' "$child"
check 'other namespaces and root: it lives on' end_tracee "$wrapper"
finish
