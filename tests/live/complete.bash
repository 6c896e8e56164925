# shellcheck shell=bash disable=SC1090
# complete.bash SCRIPT QUERIES OUT: for each command line of QUERIES, write it and bash's candidates for its last word to
# OUT.  bash makes three words of "--by=class".
source "$1"
while IFS= read -r query; do
	echo "> $query"
	read -r -a COMP_WORDS <<<"${query//=/ = }"
	[[ $query != *' ' ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
	_memdiag memdiag "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}" 2>/dev/null
	((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
done <"$2" >"$3"
