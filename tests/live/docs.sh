#!/bin/sh
# Help texts, man pages and the texts for people know the same commands and options, and the commands and files that
# they name exist.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/help-lib.sh"

man=$top_srcdir/doc/man

# ---- help, pages -------------------------------------------------------------------------------

# Those of them that take an argument.
help_arguments()
{
	# shellcheck disable=SC2086 # as above
	"$MEMDIAG" $1 --help | sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z][a-z-]*\)\[\{0,1\}=.*/\2/p'
}

# The options in a page's text.
page_options()
{
	sed -e 's/\\-/-/g' -e 's/\\f[BRIP]/ /g' "$man/$1.1" | tr -cs 'a-zA-Z0-9-' '\n' |
		grep -x -E -e '--[a-z].*|-[a-zA-Z]' | sort -u
}

# The older names of options, which --help does not have and the pages mention.
older=--mode

page_has_options()
{
	help_options "$1" >"$dir/help"
	if [ "$1" = record ]; then
		help_options 'record report' | sort -u - "$dir/help" >"$dir/both" && mv "$dir/both" "$dir/help" || return
	fi
	page_options "memdiag-$1" >"$dir/page"
	if grep -q -x -e --thread "$dir/help" && [ "$1" != stacks ]; then
		grep -q -x -e $older "$dir/page" && echo $older | sort -u - "$dir/help" >"$dir/both" && mv "$dir/both" "$dir/help" || return
	fi
	[ -s "$dir/help" ] && diff "$dir/help" "$dir/page"
}

# The options of a command that take words, and these: a line for each pair.
option_words()
{
	"$MEMDIAG" --list-options="$1" | grep -e '^--' | while read -r option _ words; do
		for word in $words; do
			echo "$option $word"
		done
	done
}

# A page's text as words: "mem-fast", and ".so" without its dot.
page_words()
{
	sed -e 's/\\-/-/g' -e 's/\\f[BRIP]/ /g' -e 's/\\&//g' "$man/$1.1" | tr -cs 'a-zA-Z0-9-' '\n' | sort -u
}

# Each word that an option takes stands in its page.
page_has_words()
{
	page_words "memdiag-${1%% *}" >"$dir/page"
	option_words "$1" >"$dir/pairs"
	while read -r option word; do
		grep -q -x -F -e "${word#.}" "$dir/page" || echo "not in the page: $option=$word"
	done <"$dir/pairs" >"$dir/missing"
	cat "$dir/missing"
	[ ! -s "$dir/missing" ]
}

# Each of them stands in --help, too.  maps names two classes, and the first error lists them.
help_has_words()
{
	# shellcheck disable=SC2086 # "record report" has options of its own
	"$MEMDIAG" $1 --help | tr -cs 'a-zA-Z0-9-' '\n' | sort -u >"$dir/help"
	option_words "$1" | grep -v -e '^--class ' >"$dir/pairs"
	while read -r option word; do
		grep -q -x -F -e "${word#.}" "$dir/help" || echo "not in --help: $option=$word"
	done <"$dir/pairs" >"$dir/missing"
	cat "$dir/missing"
	[ ! -s "$dir/missing" ]
}

takes_words()
{
	option_words "$1" >"$dir/pairs"
	while read -r option word; do
		# shellcheck disable=SC2086 # "record report" has options of its own
		"$MEMDIAG" $1 "$option=$word" --help >/dev/null 2>"$dir/err" || {
			echo "$1 $option=$word: $(head -n 1 "$dir/err")"
			return 1
		}
	done <"$dir/pairs"
}

# The rows have the options of --help, which argp makes of them, and know which take an argument.
lists_options()
{
	help_options "$1" >"$dir/help"
	"$MEMDIAG" --list-options="$1" | sed 's/ .*//' | sort -u | diff "$dir/help" - &&
		help_arguments "$1" | sort -u >"$dir/help" &&
		"$MEMDIAG" --list-options="$1" | grep -v -e ' flag$' | sed -n 's/^\(--[^ ]*\) .*/\1/p' | sort -u | diff "$dir/help" -
}

# The options that all commands have that look at a process, and memdiag's own.
common_options()
{
	"$MEMDIAG" --help | grep -o -e '--[a-z][a-z-]*' | grep -v -x -e --pid
	echo -V
	grep -v -x -e diff -e export -e report -e run -e timeline "$dir/commands" >"$dir/lookers"
	while read -r name; do
		help_options "$name"
	done <"$dir/lookers" | sort | uniq -c | sed -n "s/^ *$(wc -l <"$dir/lookers") //p"
}

page_has_common_options()
{
	common_options | sort -u >"$dir/help"
	page_options memdiag | grep -v -x -e --cap-add \
		-e --max-lock -e --max-stop -e --lines -e -n -e --dry-run \
		>"$dir/page"	# Docker's, and of single commands
	diff "$dir/help" "$dir/page"
}

page_is_clean()
{
	groff -man -ww -z "$man/$1" >"$dir/warnings" 2>&1
	cat "$dir/warnings"
	[ ! -s "$dir/warnings" ]
}

"$MEMDIAG" --list-commands | sort >"$dir/commands"
check 'there are commands' test -s "$dir/commands"
while read -r name; do
	check "$name --help is there" exits 0 memdiag "$name" --help
	check "$name --help says nothing on stderr" test ! -s "$dir/err"
	check "$name --help has examples" grep -q "^  memdiag $name " "$dir/out"
	case $name in
	check) statuses='^Exit status: 0 OK' ;;	# those of monitoring plugins
	*) statuses='^Exit status: 0 done' ;;
	esac
	check "$name --help has the exit statuses" grep -q "$statuses" "$dir/out"
	check "$name --help fits 80 columns" test -z "$(grep '.\{80\}' "$dir/out")"
	check "memdiag --help names $name" sh -c "'$MEMDIAG' --help | grep -q '^  $name '"
	check "memdiag-$name(1) has its options" page_has_options "$name"
	check "memdiag-$name(1) has the words of its options" page_has_words "$name"
	check "$name --help has the words of its options" help_has_words "$name"
	check "$name takes the words of its options" takes_words "$name"
	check "$name lists its options" lists_options "$name"
done <"$dir/commands"
check 'memdiag-record(1) has the words of the options of record report' page_has_words 'record report'
check 'record report --help has the words of its options' help_has_words 'record report'
check 'record report takes the words of its options' takes_words 'record report'
check 'record report lists its options' lists_options 'record report'
check 'the options before a command are listed' sh -c "'$MEMDIAG' --list-options= | grep -x -e '--version flag'"
check 'an unknown command has no options' exits_saying 64 "'x' is not a command" memdiag --list-options=x
check 'an unknown verb has no options' exits_saying 64 "'x' is not a command" memdiag --list-options='record x'
check 'memdiag(1) has the common options' page_has_common_options

for page in "$man"/*.1; do
	page=$(basename "$page" .1)
	case $page in
	memdiag) ;;
	*) check "$page(1) is about a command" grep -q -x -e "${page#memdiag-}" "$dir/commands" ;;
	esac
	if command -v groff >/dev/null; then
		check "$page(1) formats without a warning" page_is_clean "$page.1"
	else
		skip "$page(1) formats without a warning" 'groff is not installed'
	fi
done

if command -v groff >/dev/null; then
	check 'memdiag(3) formats without a warning' page_is_clean memdiag.3
fi

# Each function of the header has its word in the page.
page_has_functions()
{
	grep -o 'memdiag_[a-z_]*(' "$top_srcdir/include/memdiag.h" | sort -u >"$dir/help"
	grep -o '^\.B .* memdiag_[a-z_]*(' "$man/memdiag.3" | sed 's/.* //' | sort | diff "$dir/help" -
}

check 'memdiag(3) has the functions of memdiag.h' page_has_functions

# ---- texts for people --------------------------------------------------------------------------

# Files of the tree that a text names.  A name with a word in capitals stands for many, and a test
# that is built is named by its source.
files_exist()
{
	for name in $(grep -o -E '\b(scripts|src|tests|doc|m4|completion)/[]A-Za-z0-9_./*-]*[A-Za-z0-9*/]' "$1" |
		grep -v -E '(^|[/._-])[A-Z]{3,}([/._-]|$)'); do
		[ -e "$name" ] || [ -e "$name.c" ] || echo "$name"
	done >"$dir/missing"
	cat "$dir/missing"
	[ ! -s "$dir/missing" ]
}

# Options behind "memdiag COMMAND" in a text.
options_exist()
{
	grep -o -E '(^|[^a-zA-Z/_-])memdiag [a-z]+( [^`(#]*)?' "$1" | sed 's/^.*memdiag //' |
		while read -r name rest; do
			grep -q -x -e "$name" "$dir/commands" || continue
			case $name:$rest in
			record:report*) name='record report' ;;
			esac
			help_options "$name" >"$dir/help"
			for option in $(echo "$rest" | grep -o -E '(^| )--?[a-z][a-z-]*'); do
				grep -q -x -e "$option" "$dir/help" || echo "memdiag $name $option"
			done
		done >"$dir/missing"
	cat "$dir/missing"
	[ ! -s "$dir/missing" ]
}

# "make TARGET" on the lines to be typed.
targets_exist()
{
	for target in $(sed -n 's/^    make \([a-z-]*\).*/\1/p' "$1" | grep '^[a-z]'); do
		grep -q "^$target:" "$top_builddir/Makefile" || echo "make $target"
	done >"$dir/missing"
	cat "$dir/missing"
	[ ! -s "$dir/missing" ]
}

# Documents that a text names: from the top if the name begins with doc/, else from the folder of the text.
documents_exist()
{
	for name in $(grep -o -E '[A-Za-z0-9_./-]+\.md\b' "$1" | sort -u | grep -v -E '(^|[/._-])[A-Z]{3,}\.md$' | grep -v '^doc/'); do
		[ -e "$(dirname "$1")/$name" ] || echo "$name"
	done >"$dir/missing"
	# Targets of links, without the part after #.
	for name in $(grep -o -E '\]\([^):]+\)' "$1" | sed -e 's/^](//' -e 's/)$//' -e 's/#.*//' | sort -u); do
		[ -e "$(dirname "$1")/$name" ] || echo "$name"
	done >>"$dir/missing"
	# Links to a section of the same text: its title in lower case, with - for spaces.
	sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -d -c 'a-z0-9\n-' >"$dir/sections"
	grep -o -E '\]\(#[^)]+\)' "$1" | sed -e 's/^](#//' -e 's/)$//' | grep -v -x -F -f "$dir/sections" >>"$dir/missing"
	cat "$dir/missing"
	[ ! -s "$dir/missing" ]
}

begins_with_two_commands()
{
	grep '^    ' README | sed 's/^ *//; s/ .*//' | grep . | head -n 3 | uniq >"$dir/first"
	head -n 1 "$dir/first" | grep -q -x scripts/quickstart && grep -q -x '    make -C build/quickstart install .*' README
}

cd "$top_srcdir" || exit
for text in README HACKING NEWS doc/*.md doc/internals/*.md doc/howto/*.md; do
	check "$text names files that exist" files_exist "$text"
	check "$text names documents that exist" documents_exist "$text"
	check "$text names options that exist" options_exist "$text"
	check "$text names targets of make that exist" targets_exist "$text"
done
check 'README begins with the two commands' begins_with_two_commands
check 'README has at most 220 lines' test "$(wc -l <README)" -le 220

# The packages of README are those that scripts/install-deps installs for a build.
lists_packages()
{
	awk '/build-apt\)/ { on = 1 } /;;/ { on = 0 } on' scripts/install-deps | sed 's/#.*//; s/.*||//' |
		grep -o -E '[a-z][a-z0-9+-]*(\|[a-z0-9-]*)?' | sed 's/|.*//' | grep -v -x -e echo -e build-apt |
		sort -u >"$dir/packages"
	awk '/^    autoconf/ { on = 1 } /^$/ { on = 0 } on' README | tr -s ' ' '\n' | grep . | sort -u |
		diff "$dir/packages" -
}

check 'README lists the packages of the build' lists_packages

# Of each command one line, in which it stands as it is typed.
lists_commands()
{
	sed -n 's/^    memdiag \([a-z]*\) .*[a-z].*/\1/p' README | sort | diff "$dir/commands" -
}

check 'README has one line for each command' lists_commands

# ---- the files of doc/ ---------------------------------------------------------------------------

# The files of doc/ as doc/README.md names them: the man pages of commands are one entry, and texts show the pictures.
is_documented()
{
	find doc -type f ! -name Makemodule.am ! -path "doc/pictures/*" | sed 's,^doc/,,' | grep -v -x README.md |
		grep -v -x -F -e "$(sed 's,.*,man/memdiag-&.1,' "$dir/commands")" | sort >"$dir/files"
	grep -o -E '^\| \[[^]]*\]\([^)]*\)' doc/README.md | sed 's/.*(//; s/)//' | sort >"$dir/listed"
	grep -q 'man/memdiag-COMMAND\.1' doc/README.md && diff "$dir/files" "$dir/listed"
}

# A release has them: they are in what "make dist" copies.
is_distributed()
{
	printf 'include Makefile\nprint-files:\n\t@printf "%%s\\n" $(DISTFILES)\n' >"$dir/print.mk"
	(cd "$top_builddir" && make -s -f "$dir/print.mk" print-files) | sed 's,.*/doc/,doc/,' | grep '^doc/' | sort -u >"$dir/given"
	find doc -type f ! -name Makemodule.am | sort | comm -2 -3 - "$dir/given" >"$dir/missing"
	cat "$dir/missing"
	[ -s "$dir/given" ] && [ ! -s "$dir/missing" ]
}

# The pictures that a text shows, as paths from the top.
pictures_of()
{
	tr '\n' ' ' <"$1" | grep -o -E '!\[[^]]*\]\([^)]*\)' | sed 's/.*(//; s/)//' | sed "s,^,$(dirname "$1")/,; s,^\./,,"
}

# Each has a text in its place for readers who do not see it.
has_alternatives()
{
	! grep -n -E '!\[ *\]' "$1"
}

# A picture is a PNG or an SVG that can be drawn, has a size, and is small.
is_picture()
{
	[ "$(wc -c <"$1")" -le 102400 ] || return
	case $1 in
	*.png)
		# signature, then the first chunk, and the last one, which is empty
		[ "$(head -c 16 "$1" | od -A n -t x1 | tr -d ' \n')" = 89504e470d0a1a0a0000000d49484452 ] &&
			[ "$(tail -c 12 "$1" | od -A n -t x1 | tr -d ' \n')" = 0000000049454e44ae426082 ]
		;;
	*.svg) grep -q '^<svg xmlns="http://www.w3.org/2000/svg".* width="[0-9]*" height="[0-9]*" ' "$1" && is_xml "$1" ;;
	*) false ;;
	esac
}

if command -v python3 >/dev/null; then
	is_xml()
	{
		python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"
	}
else
	is_xml()
	{
		[ "$(tail -n 1 "$1")" = '</svg>' ]
	}
fi

for text in README doc/*.md doc/internals/*.md doc/howto/*.md; do
	pictures_of "$text" >>"$dir/pictures"
	has_alternatives "$text" || echo "$text" >>"$dir/no-alternatives"
done
while read -r picture; do
	check "$picture is a picture of at most 100 KiB" is_picture "$picture"
done <"$dir/pictures"
check 'each picture has an alternative text' test ! -e "$dir/no-alternatives"

all_pictures_are_shown()
{
	find doc -name '*.png' -o -name '*.svg' | sort >"$dir/files"
	sort -u "$dir/pictures" | diff "$dir/files" -
}

check 'texts show every picture of doc/' all_pictures_are_shown
check 'doc/README.md lists every file of doc/' is_documented
check 'a release has every file of doc/' is_distributed

# Each cause that src/diagnose looks for has its section.
explains_causes()
{
	sed -n 's/^	{ "\([a-z-]*\)", SUBJECT_.*/\1/p' src/diagnose/causes.c | sort >"$dir/causes"
	sed -n 's/^### `\([a-z-]*\)`.*/\1/p' doc/verdicts.md | sort >"$dir/explained"
	[ -s "$dir/causes" ] && diff "$dir/causes" "$dir/explained"
}

check 'doc/verdicts.md explains every verdict' explains_causes

# The table has each of them as well.
tabulates_causes()
{
	sed -n 's/^|[^|]*| `\([a-z-]*\)` | [a-z, ]* | [^|]* |$/\1/p' doc/verdicts.md | sort | diff "$dir/causes" -
}

check 'doc/verdicts.md has every verdict in its table' tabulates_causes

# The runs in the tutorial are those of scripts/journeys.
shows_journeys()
{
	sed -n 's/^    \$ \(memdiag .*\)/\1/p' doc/tutorial.md |
		sed -e 's/--pid [0-9][0-9]*/--pid PID/' -e 's/--holds 0x[0-9a-f]*/--holds ADDRESS/' | sort >"$dir/shown"
	sed -n -e 's/^show .*\(memdiag .*\)/\1/p' -e 's/^begin \(memdiag .*\)/\1 \&/p' scripts/journeys |
		sed -e 's/--pid "[^"]*"/--pid PID/' -e 's/--holds "[^"]*"/--holds ADDRESS/' | sort | diff - "$dir/shown"
}

# run_of COMMAND FILE: the lines of that run in the file, up to the text that follows.
run_of()
{
	awk -v command="    \$ $1" '$0 == command { on = 1 } on && /^[^ ]/ { exit } on && NF' "$2"
}

# The runs in README are those of the tutorial, line by line; [...] stands for lines that are left out.
shows_tutorial()
{
	sed -n 's/^    \$ \(memdiag .*\)/\1/p' README >"$dir/shown"
	[ "$(cut -d ' ' -f 2 "$dir/shown" | sort | paste -s -d ' ')" = 'info maps trim' ] || return
	while read -r command; do
		run_of "$command" doc/tutorial.md >"$dir/whole"
		[ -s "$dir/whole" ] || return
		run_of "$command" README | grep -v -x -F '      [...]' | grep -v -x -F -f "$dir/whole" && return 1
	done <"$dir/shown"
	true
}

check 'doc/tutorial.md shows the runs of scripts/journeys' shows_journeys
check 'README shows runs of doc/tutorial.md' shows_tutorial
while read -r name; do
	if grep -q "^ *\$ memdiag $name" doc/tutorial.md; then
		check "doc/tutorial.md shows $name" true
	elif head -n 1 NEWS | grep -q unreleased; then
		skip "doc/tutorial.md shows $name" 'not yet: the next release wants it'
	else
		check "doc/tutorial.md shows $name" false
	fi
done <"$dir/commands"
finish
