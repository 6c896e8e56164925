# hook-lib: what the tests of src/inject/hook.h share; read after lib.sh.  They hook functions of $tracee_pid with
# tests/unit/inject-hook, so that calls lead to $payload.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest

need_hooks
payload=$TRACEES/payload.so

# hook COMMAND...: run tests/unit/inject-hook; what it says stays in $dir/out and $dir/err.
hook()
{
	"$top_builddir/tests/unit/inject-hook" "$tracee_pid" "$@" >"$dir/out" 2>"$dir/err"
}

# hooks WANTED COMMAND...: whether hook says "ENTRIES SLOTS ALREADY" as WANTED.
hooks()
{
	local wanted="$1" said
	shift
	exits 0 hook "$@" || {
		cat "$dir/err"
		return 1
	}
	said=$(cut -d ' ' -f 1-3 "$dir/out")
	cat "$dir/out"
	[ "$said" = "$wanted" ]
}

# nr NAME: what the payload has counted.
nr()
{
	hook count "$payload" "$1" && cat "$dir/out"
}

# same_bytes: whether the code and the tables of all objects are what they were at the first call.
same_bytes()
{
	hook text "$payload" && [ -s "$dir/out" ] || return
	[ -e "$dir/$tracee_pid.text" ] || cp "$dir/out" "$dir/$tracee_pid.text"
	cmp "$dir/out" "$dir/$tracee_pid.text"
}

# all_seen: whether the payload counts the calls of the tracee churn.
all_seen()
{
	local before
	before=$(nr nr_mallocs) && goes_on 20000 && [ "$(nr nr_mallocs)" -gt "$((before + 20000))" ]
}
