#!/bin/sh
# The default build of memdiag is hardened; the agent uses nothing of libc that musl or an old glibc lacks; and memdiag
# refuses rights that its file has.
. "$top_srcdir/tests/live/lib.sh"
need readelf nm setpriv

# made_with FLAG: whether configure has found that FLAG works.
made_with()
{
	grep -q "^HARDENING_[A-Z]* = .*$1" "$top_builddir/Makefile"
}

"$top_srcdir/scripts/checksec" "$MEMDIAG" "$top_builddir"/libmemdiag-agent.so >"$dir/table" 2>"$dir/err"
sed 's/^/# /' "$dir/table"

# is FILE COLUMN WANTED: whether the table has that.
is()
{
	awk -v file="$1" -v column="$2" -v wanted="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i }
		$1 == file { found = $at ~ wanted } END { exit !found }' "$dir/table"
}

if made_with -pie; then
	check 'memdiag is read-only after its relocation' is memdiag RELRO '^full$'
	check 'memdiag is loaded at a random address' is memdiag PIE '^yes$'
else
	skip 'memdiag is hardened' 'configured with --disable-hardening'
fi
if made_with stack-protector; then
	check 'memdiag has a stack protector' is memdiag CANARY '^yes$'
	# Not only the static libraries in it.
	check 'and so have its own files' test "$(nm -A "$top_builddir/libmemdiag.a" 2>/dev/null |
		grep -c 'U __stack_chk_fail$')" -gt 20
else
	skip 'memdiag has a stack protector' 'not in this build'
fi
if made_with FORTIFY; then
	check 'memdiag calls checked functions' is memdiag FORTIFY '^[1-9]'
else
	skip 'memdiag calls checked functions' 'not in this build'
fi
check 'no stack is executable' sh -c "! grep -w rwx '$dir/table'"

# The agent is loaded into programs of musl and of each glibc since 2.17, whatever flags built it.
nm -D --undefined-only "$top_builddir/libmemdiag-agent.so" | awk '{ print $NF }' >"$dir/undefined"
check 'the agent calls no checked functions' sh -c "! grep '_chk' '$dir/undefined' | grep -v __stack_chk_fail"
check 'the agent needs no newer glibc' sh -c "sed -n 's/.*@GLIBC_2\\.\\([0-9]*\\).*/\\1/p' '$dir/undefined' |
	awk '\$1 > 17 { print; bad = 1 } END { exit bad }'"

if [ "$(id -u)" -eq 0 ]; then
	install -m 4755 "$MEMDIAG" "$dir/setuid"
	check 'setuid: memdiag refuses to run' exits_saying 4 'setuid' \
		captured setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/setuid" doctor
	check 'root may start that file' exits 0 captured "$dir/setuid" doctor
else
	skip 'setuid: memdiag refuses to run' 'only root can make such a file'
fi
finish
