# complete.zsh SCRIPT QUERIES OUT: for each command line of QUERIES, write it and zsh's candidates for its last word to
# OUT.  They exist only in the line editor, so an interactive zsh has a terminal for it; compadd is what all completion
# functions give them to.
zmodload zsh/zpty || exit
export complete_dir=${1:h} complete_queries=$2 complete_out=$3
: >$complete_out
cat >$complete_out.zshrc <<'END'
	fpath=($complete_dir $fpath)
	autoload -U compinit && compinit -u -D
	compadd()
	{
		local -a hits
		if ! ((${@[(I)-[OAD]]})); then
			builtin compadd -O hits "$@"
			((! $#hits)) || print -rl -- $IPREFIX$^hits >>$complete_out
		fi
		builtin compadd "$@"
	}
	complete_one()
	{
		_main_complete
		compstate[list]= compstate[insert]=
	}
	complete_all()
	{
		local query
		for query in ${(f)"$(<$complete_queries)"}; do
			print -r -- "> $query" >>$complete_out
			BUFFER=$query CURSOR=$#query
			zle complete_one
		done
		exit
	}
	zle -C complete_one list-choices complete_one
	zle -N complete_all
	bindkey "^T" complete_all
	print ready
END
zpty inner zsh -f -i
zpty -w inner "source $complete_out.zshrc"
zpty -r -m inner line '*ready*'
zpty -w -n inner $'\024'
while zpty -r inner line; do :; done
