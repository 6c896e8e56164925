#!/bin/sh
# packaging/: each file that "make install" installs is in one package, and each pattern of a package stands for a file; the
# versions and the lists of packages that a build needs agree.  scripts/packages builds the packages.
. "$top_srcdir/tests/live/lib.sh"

packaging=$top_srcdir/packaging
spec=$packaging/rpm/memdiag.spec
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"

# ---- files -------------------------------------------------------------------------------------

# Into the directories of a distribution, whatever this build was configured for.
install_all()
{
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" install DESTDIR="$dir/root" prefix=/usr exec_prefix=/usr \
		bindir=/usr/bin libdir=/usr/lib/LIB includedir=/usr/include datarootdir=/usr/share datadir=/usr/share \
		mandir=/usr/share/man "$@" &&
		(cd "$dir/root" && find . ! -type d) | sed 's|^\./||' | sort >"$dir/files"
}

# debian_patterns: "PACKAGE PATTERN", one for each line of debian/*.install.
debian_patterns()
{
	for file in "$packaging"/debian/*.install; do
		package=${file##*/}
		sed "s|^|${package%.install} |" "$file"
	done
}

# rpm_patterns: the lines of %files, with the macros' values.
rpm_patterns()
{
	awk '
		/^%changelog/ { package = "" }
		/^%files/ { package = $2 == "" ? "memdiag" : $2; next }
		package != "" && /^%{/ { print package, $0 }' "$spec" |
		sed 's|%{_bindir}|usr/bin|; s|%{_libdir}|usr/lib/LIB|; s|%{_includedir}|usr/include|
			s|%{_datadir}|usr/share|; s|%{_mandir}|usr/share/man|; s|%{_libexecdir}|usr/libexec|'
}

# each_file_once: by the patterns in $dir/patterns; one that is a directory stands for all below it.
each_file_once()
{
	: >"$dir/used"
	while read -r file; do
		nr=0
		while read -r package pattern; do
			# shellcheck disable=SC2254 # a pattern
			case $file in
			$pattern | $pattern/*)
				nr=$((nr + 1))
				echo "$package $pattern" >>"$dir/used"
				;;
			esac
		done <"$dir/patterns"
		[ $nr -eq 1 ] || echo "in $nr packages: $file"
	done <"$dir/files" >"$dir/wrong"
	sort -u "$dir/used" >"$dir/used-once"
	sort -u "$dir/patterns" | comm -23 - "$dir/used-once" | sed 's/^/no file: /' >>"$dir/wrong"
	cat "$dir/wrong"
	[ -s "$dir/files" ] && [ ! -s "$dir/wrong" ]
}

check 'all is installed' install_all zshcompletiondir=/usr/share/zsh/vendor-completions
debian_patterns >"$dir/patterns"
check 'Debian: each file is in one package' each_file_once
rpm_patterns >"$dir/patterns"
check 'RPM: each file is in one package' each_file_once

# ---- versions ----------------------------------------------------------------------------------

version=$(sed -n 's/^AC_INIT(\[memdiag\], \[\([^]]*\)\].*/\1/p' "$top_srcdir/configure.ac")
check "the version in configure.ac is one" [ -n "$version" ]
check "Debian: the version is that of configure.ac" \
	[ "$(sed -n '1s/^memdiag (\(.*\)-[^-]*) .*/\1/p' "$packaging/debian/changelog")" = "$version" ]
check "RPM: the version is that of configure.ac" [ "$(sed -n 's/^Version: *//p' "$spec")" = "$version" ]
check 'RPM: the newest change is of this version' \
	[ "$(sed -n '/^%changelog/{n;s/.* - \(.*\)-[^-]*$/\1/p}' "$spec")" = "$version" ]

# ---- what a build needs ------------------------------------------------------------------------

# needed GROUP: the packages that scripts/install-deps installs for a build, a line for each, without alternatives.
needed()
{
	awk -v group="$1)" '$1 == group { on = 1 } /;;/ { on = 0 } on' "$top_srcdir/scripts/install-deps" | sed 's/#.*//; s/.*||//' |
		grep -o -E '[a-z][a-z0-9+-]*(\|[a-z0-9-]*)?' | sed 's/|.*//' | grep -v -x -e echo -e "$1" | sort -u
}

# What an archive does not need, or what is there for every build.
debian_lists_needed()
{
	needed build-apt | grep -v -x -e autoconf -e automake -e gcc -e libc6-dev -e make >"$dir/needed"
	awk '/^Build-Depends:/ { on = 1; next } /^[^ ]/ { on = 0 } on' "$packaging/debian/control" |
		sed 's/^ //; s/,$//; s/ \[.*//; s/.* | //' | grep -v '^debhelper-compat ' | sort | diff "$dir/needed" -
}

rpm_lists_needed()
{
	needed build-dnf | grep -v -x -e autoconf -e automake >"$dir/needed"
	sed -n 's/^BuildRequires: *//p' "$spec" | sort | diff "$dir/needed" -
}

check 'Debian: the build needs what scripts/install-deps installs' debian_lists_needed
check 'RPM: the build needs what scripts/install-deps installs' rpm_lists_needed
finish
