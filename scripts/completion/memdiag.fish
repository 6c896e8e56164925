# fish completion for memdiag
#
# Commands, options and the words that they take are asked of memdiag itself, so there is no second list to keep.

# The lines of the options of a command, or of memdiag without one: name, kind of the argument, and its words.
function __memdiag_options
    set -l program (commandline -opc)[1]
    $program --list-options="$argv" 2>/dev/null
end

# The command that the words before the cursor name; "record report" has options of its own.
function __memdiag_command
    set -l words (commandline -opc)
    set -l commands ($words[1] --list-commands 2>/dev/null)
    set -l command
    for word in $words[2..-1]
        if test "$command:$word" = record:report
            set command record report
            break
        else if test -z "$command"; and contains -- $word $commands
            set command $word
        end
    end
    string join ' ' -- $command
end

# __memdiag_argument COMMAND OPTION: the kind of the option's argument and its words; nothing if it takes none.
function __memdiag_argument
    for line in (__memdiag_options $argv[1])
        set -l fields (string split ' ' -- $line)
        if contains -- "$fields[1]" $argv[2]; and test "$fields[2]" != flag
            string split ' ' -- $fields[2..-1]
        end
    end
end

# The argument at the cursor, as above, if the option is the word before, or the same word up to =.  "word?" is an
# argument that only = brings.
function __memdiag_argument_here
    set -l previous (commandline -opc)[-1]
    set -l option (string match -r -- '^--[^=]*(?==)' (commandline -ct))
    if test -n "$option"
        __memdiag_argument "$argv" $option
    else if string match -q -- '-*' $previous
        set -l argument (__memdiag_argument "$argv" $previous)
        string match -q -- '*\?' $argument[1]; or string join \n -- $argument
    end
end

# Processes by number, or by name if a name is begun; of the names only what a shell takes for a plain word.  ps shows
# bytes that a terminal would obey as question marks.
function __memdiag_processes
    if string match -q -r -- '^[^0-9]' $argv
        ps -e -o comm= 2>/dev/null | string match -r -- '^[A-Za-z0-9._+-]+$' | sort -u
    else
        ps -e -o pid= -o comm= 2>/dev/null | string trim -l | string replace ' ' \t
    end
end

# The words from which a program begins that memdiag runs: after run and its options, and after -- of trace.
function __memdiag_program
    set -l words (commandline -opc)
    set -l command $argv[1]
    if test "$command" = trace
        set -l at (contains -i -- -- $words); or return
        string join \n -- program $words[(math $at + 1)..-1]
        return
    end
    test "$command" = run; or return
    set -l at (math (contains -i -- run $words) + 1)
    while test $at -le (count $words); and string match -q -- '-*' $words[$at]
        set -l option $words[$at]
        set at (math $at + 1)
        if test "$option" = --
            break
        else if not string match -q -- '*=*' $option
            set -l argument (__memdiag_argument run $option)
            test -z "$argument"; or string match -q -- '*\?' $argument[1]; or set at (math $at + 1)
        end
    end
    test $at -gt (math (count $words) + 1); or string join \n -- program $words[$at..-1]
end

# Whether files are offered.
function __memdiag_wants_files
    set -l command (__memdiag_command)
    set -l program (__memdiag_program "$command")
    test -z "$program"; or return
    set -l argument (__memdiag_argument_here "$command")
    contains -- "$argument[1]" file directory; and return
    test -z "$argument"; and not string match -q -- '-*' (commandline -ct)
    and contains -- "$command" diff report timeline
end

function __memdiag_candidates
    set -l command (__memdiag_command)
    set -l current (commandline -ct)
    set -l words (commandline -opc)
    set -l program (__memdiag_program "$command")
    if test -n "$program"; and not begin
            test "$command" = run -a (count $program) -eq 1; and string match -q -- '-*' $current
        end
        complete -C (string join ' ' -- (string escape -- $program[2..-1]) "$current")
        return
    end
    set -l argument (__memdiag_argument_here "$command")
    set -l prefix (string match -r -- '^--[^=]*=' $current)
    switch "$command:$argument[1]"
        case '*:file' '*:directory'
        case '*:process'
            printf '%s\n' "$prefix"(__memdiag_processes (string replace -- "$prefix" '' $current))
        case '*:?*'
            test (count $argument) -lt 2; or printf '%s\n' "$prefix"$argument[2..-1]
        case ':'
            $words[1] --list-commands 2>/dev/null
            __memdiag_options | string match -r -- '^--[^ ]*'
        case '*'
            if string match -q -- '-*' $current
                __memdiag_options $command | string match -r -- '^--[^ ]*'
            else if test "$command:$words[-1]" = count:count
                printf '%s\n' start stop
            else if contains -- "$command:$words[-1]" profile:profile record:record
                printf '%s\n' start stop dump status
                test "$command" = profile; or echo report
            else if not contains -- "$command" diff report timeline
                __memdiag_processes $current
            end
    end
end

complete -c memdiag -f -a '(__memdiag_candidates)'
complete -c memdiag -n __memdiag_wants_files -F
