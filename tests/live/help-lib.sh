# help-lib: the options of a command, as its help has them.
# shellcheck shell=sh

# The options that --help of a command defines, "-b" and "--bytes" each on a line.
help_options()
{
	# shellcheck disable=SC2086 # "record report" has options of its own
	"$MEMDIAG" $1 --help |
		sed -n 's/^ *\(\(-[a-zA-Z]\), \)\{0,1\} *\(--[a-z][a-z-]*\).*/\2\n\3/p' |
		grep . | sort -u
}
