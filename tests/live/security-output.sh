#!/bin/sh
# Root's memdiag writes into a directory of another user, who exchanges what is there for symbolic links.  Files
# elsewhere stay as they are, and none are made.
. "$top_srcdir/tests/live/lib.sh"
need setpriv mkfifo
[ "$(id -u)" -eq 0 ] || skip_all 'only root can be different users'
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
install -m 755 "$TRACEES/exchanger" "$dir"

# 200 tries with all repetitions, 20 with a quarter of them.
tries=200
[ "$(some 100)" -eq 100 ] || tries=20

theirs=$dir/theirs
victim=$dir/victim
mkdir "$theirs"
mkfifo "$theirs/out"
printf 'only root may write this\n' >"$victim"
cp "$victim" "$dir/before"
ln -s "$victim" "$theirs/link"
chown -hR 65534:65534 "$theirs"

# writes NAME [OPTION]: memdiag writes to NAME there, or refuses; the victim is unchanged.  A FIFO has a reader.
writes()
{
	name=$1
	shift
	"$MEMDIAG" doctor -o "$theirs/$name" "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	[ $status -le 1 ] || {
		echo "exit status $status"
		cat "$dir/err"
		return 1
	}
	cmp "$dir/before" "$victim"
}

# races: the same while the names are exchanged.
races()
{
	nr=0
	while [ $nr -lt $tries ] || [ "$(ask count)" -eq 0 ]; do
		nr=$((nr + 1))
		writes out || {
			echo "try $nr of $tries"
			cp "$dir/before" "$victim"
			return 1
		}
	done
}

exec 9<>"$theirs/out"
cat "$theirs/out" >/dev/null &
reader=$!
# shellcheck disable=SC2086 # a list of words
start_command $nobody "$dir/exchanger" "$theirs" out link
check 'a FIFO is exchanged for a link to a file of root' races
check 'the process lives on' end_tracee
exec 9<&-
kill $reader

rm "$theirs/out" "$theirs/link"
setpriv --reuid=65534 --regid=65534 --clear-groups ln -s "$victim" "$theirs/link"
check 'a link of another user is refused' exits_saying 1 'link of another user' memdiag doctor -o "$theirs/link"
check 'also with --force' writes link --force
cp "$dir/before" "$victim"
check 'a new file is written' exits 0 memdiag doctor -o "$theirs/new"
check 'and replaced only with --force' exits_saying 1 'without --force' memdiag doctor -o "$theirs/new"
check 'with --force it is' exits 0 memdiag doctor -o "$theirs/new" --force
ln -s new "$theirs/own-link"
check 'a link of root is followed' exits 0 memdiag doctor -o "$theirs/own-link" --force
check 'and stays a link' test -L "$theirs/own-link"
check 'a device is written to' exits 0 memdiag doctor -o /dev/null
check 'nothing else is left' test "$(ls "$theirs" | tr '\n' ' ')" = 'link new own-link '

# The standard output by its name.
"$MEMDIAG" doctor -o /dev/stdout | grep -q kernel
check '/dev/stdout, a pipe' test $? -eq 0
"$MEMDIAG" doctor -o /dev/stdout --force >"$dir/stdout"
check '/dev/stdout, a file' grep -q kernel "$dir/stdout"
finish
