# debian-lib: packages of other suites of Debian, from the archives that this machine's apt is set up for, checked by
# apt against Debian's keys.  Nothing is installed.  A script sets $work, a folder of its own, and then says
#
#	archives			their addresses; Debian's own first, if apt has looked at them before
#	look_into SUITE			fetch the list of packages of SUITE, from the first archive that has it
#	apt_get, apt_cache WORD...	the programs with that list; what they say of an error is in $work/said
#	download PACKAGE...		into $work
# shellcheck shell=sh disable=SC2154 # $work is the script's
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
arch=$(dpkg --print-architecture 2>/dev/null) || arch=

archives()
{
	{
		apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
			'Component: main' 'Label: Debian'
		apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main'
	} | awk '!seen[$0]++'
}

# with_own_lists PROGRAM WORD...: run it with lists and sources of our own, in the folder apt.
with_own_lists()
{
	program=$1
	shift
	"$program" -qq -o Dir::State="$work/apt" -o Dir::State::status=/dev/null \
		-o Dir::Cache="$work/apt/cache" -o Dir::Etc::sourcelist="$work/apt/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=1 \
		-o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10 "$@"
}

apt_get()
{
	with_own_lists apt-get "$@" 2>"$work/said"
}

apt_cache()
{
	with_own_lists apt-cache "$@" 2>"$work/said"
}

look_into()
{
	signed=
	[ ! -e $keyring ] || signed=$keyring
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	: >"$work/said"
	for archive in $(archives); do
		echo "deb [arch=$arch${signed:+ signed-by=$signed}] $archive $1 main" \
			>"$work/apt/sources.list"
		apt_get update -o APT::Update::Error-Mode=any && return
	done
	return 1
}

download()
{
	(cd "$work" && apt_get download "$@")
}

# why_not: why the last of them has failed, in a line.
why_not()
{
	grep -m 1 '^E:' "$work/said" || echo 'no archive is known'
}
