# complete.fish SCRIPT QUERIES OUT: for each command line of QUERIES, write it and fish's candidates for its last word to
# OUT, without their descriptions.
source $argv[1]
while read -l query
    echo "> $query"
    complete -C $query | string replace -r '\t.*' ''
end <$argv[2] >$argv[3]
exit 0
