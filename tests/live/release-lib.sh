# release-lib: the same on other releases of glibc; read by lib.sh.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh and the tests set and read the rest

# releases_of SET: of the lines of stdin, from the oldest release to the newest, those of SET.
releases_of()
{
	case $1 in
	ends) sed -n '1p; $p' ;;
	between) sed '1d; $d' ;;
	*) cat ;;
	esac
}

# for_each_release FUNCTION: call it once for every release that scripts/glibc-releases has fetched,
# with $release (2.31), $loader and $libdir set; those that lack are skipped by name.  'make check' takes the
# oldest and the newest (MEMDIAG_TEST_RELEASES=ends), releases-between.sh the others.
for_each_release()
{
	"$top_srcdir/scripts/glibc-releases" --offline >"$dir/releases" 2>"$dir/releases.err"
	sed -n 's/.*not here: //p' "$dir/releases.err" | tr ' ' '\n' >"$dir/releases.missing"
	while read -r suite <&3; do
		skip "glibc of Debian $suite" 'not fetched: see scripts/glibc-releases'
	done 3<"$dir/releases.missing"
	# The first is the oldest: what is built for it runs on all.
	read -r release loader libdir <"$dir/releases" || return 0
	sysroot=${libdir%/lib/*}
	releases_of "${MEMDIAG_TEST_RELEASES:-all}" <"$dir/releases" >"$dir/releases.set"
	while read -r release loader libdir <&3; do
		if [ -e "$sysroot/usr/include/stdio.h" ]; then
			"$1"
		else
			skip "glibc $release" 'the oldest release is not here to build for'
		fi
	done 3<"$dir/releases.set"
}

# release_program NAME: build tests/tracees/NAME to run on all of the releases; sets $program.
release_program()
{
	program=$dir/$1
	[ ! -x "$program" ] || return 0
	# Without -B gcc finds this machine's own libc first, by the way it was built.
	"${CC:-cc}" --sysroot="$sysroot" -B"$sysroot/usr/lib/${libdir##*/}" -O1 -pthread \
		-I"$top_srcdir/src" -o "$program" "$top_srcdir/tests/tracees/$1.c" -lrt -ldl
}

# start_release_tracee NAME ARGUMENTS...: as start_tracee, on the glibc of $release.
start_release_tracee()
{
	release_program "$1" || exit
	shift
	start_command "$loader" --library-path "$libdir" "$program" "$@"
}
