#!/bin/sh
# report reads other profilers' files, and they read report's, with equal totals.
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need jq
data=$top_srcdir/tests/data
GOCACHE=$dir/go HOME=$dir PPROF_TMPDIR=$dir
export GOCACHE HOME PPROF_TMPDIR

# total FILE OPTIONS...: by report, in bytes.
total()
{
	"$MEMDIAG" report "$@" --json -q | jq .data.total
}

# is_alike A B: within 1 %, or what a tool that prints one digit of a megabyte can know.
is_alike()
{
	awk -v a="$1" -v b="$2" -v digit="${3:-0}" \
		'BEGIN { d = a - b; if (d < 0) d = -d; print a, b; exit !(d <= a * 0.01 + digit) }'
}

# By go tool pprof, in bytes.  "Showing nodes accounting for 1.01MB, 100% of 1.01MB total"
go_total()	# go_total TYPE FILE
{
	go tool pprof -top -unit=B -nodefraction=0 -sample_index="$1" "$2" 2>/dev/null |
		sed -n 's/^Showing nodes.* of \([0-9.]*\)B total.*/\1/p;s/^Showing nodes accounting for \([0-9.]*\)B, 100% of.*/\1/p' | head -n 1
}

# By jeprof or google-pprof, in bytes: they add up what they show with --text --show_bytes.
perl_total()	# perl_total TOOL OPTION FILE
{
	"$1" --text --show_bytes --nodefraction=0 "$2" "$MEMDIAG" "$3" 2>/dev/null | sed -n 's/^Total: \([0-9]*\) B$/\1/p'
}

# same_totals NAME FILE: of all tools that there are.
same_totals()
{
	for value in in-use:inuse_space allocated:alloc_space; do
		ours=$(total "$2" --value "${value%:*}" 2>/dev/null)
		[ -n "$ours" ] && [ "$ours" != null ] || continue
		if command -v go >/dev/null; then
			check "$1: go tool pprof has the same ${value#*:}" is_alike "$ours" "$(go_total "${value#*:}" "$2")"
		else
			skip "$1: go tool pprof" 'go is not installed'
		fi
		case $2 in
		*.gz) continue ;;
		esac
		for tool in jeprof google-pprof; do
			if command -v $tool >/dev/null; then
				check "$1: $tool has the same ${value#*:}" is_alike "$ours" \
					"$(perl_total $tool "--${value#*:}" "$2")"
			else
				skip "$1: $tool" "$tool is not installed"
			fi
		done
	done
}

# written NAME FILE: what report writes of FILE, too.
written()
{
	for format in heap pprof; do
		case $format in
		heap) again=$dir/$1.heap ;;
		*) again=$dir/$1.pb.gz ;;
		esac
		check "$1 is written as $format" exits 0 memdiag report "$2" -q --format=$format -o "$again" --force
		[ "$(total "$2")" = "$(total "$again")" ]
		check "$1 as $format has the same total" test $? = 0
		same_totals "$1 as $format" "$again"
	done
}

# ---- recorded files ----

same_totals 'of gperftools' "$data/report_heap/gperftools.heap"
written gperftools "$data/report_heap/gperftools.heap"
written jemalloc "$data/report_heap/jemalloc-5.3.heap"
written go "$data/report_pprof/go-1.19.pb.gz"
check 'ours with all of its own lines' exits 0 memdiag report "$data/report_heap/ours.heap" -q --format=heap \
	--symbols-inside -o "$dir/ours.heap"
same_totals 'ours' "$dir/ours.heap"
written ours "$data/report_heap/ours.heap"
if command -v jeprof >/dev/null; then
	check 'of jemalloc: jeprof has the same total' is_alike "$(total "$data/report_heap/jemalloc-5.3.heap")" \
		"$(perl_total jeprof --inuse_space "$data/report_heap/jemalloc-5.3.heap")"
fi

# ---- files made now ----

cat >"$dir/app.c" <<'PROGRAM'
#include <stdlib.h>
static void *kept[4096];
static int nr;
__attribute__((noinline)) void *leaf(size_t n) { return kept[nr++] = malloc(n); }
__attribute__((noinline)) void small(void) { for (int i = 0; i < 2000; i++) leaf(1000); __asm__ volatile(""); }
__attribute__((noinline)) void large(void) { for (int i = 0; i < 500; i++) leaf(20000); __asm__ volatile(""); }
int main(void) { small(); large(); for (int i = 0; i < 250; i++) free(kept[nr - 1 - i]); return 0; }
PROGRAM
cc=${CC:-cc}
# knows_functions FILE: small has 2,000,000 bytes, large 5,000,000; within 30 % if they were sampled.
knows_functions()
{
	"$MEMDIAG" report "$1" --json -q >"$dir/out" && json_is '[.data.rows[] | select(.name == "small").cum][0] as $small |
		[.data.rows[] | select(.name == "large").cum][0] as $large |
		$small > 1400000 and $small < 2600000 and $large > 3500000 and $large < 6500000'
}
if $cc -O1 -g -o "$dir/app-tc" "$dir/app.c" -Wl,--no-as-needed -ltcmalloc 2>/dev/null; then
	check 'gperftools writes a profile' sh -c "HEAPPROFILE='$dir/gp' '$dir/app-tc'"
	check 'its functions are known' knows_functions "$dir/gp.0001.heap"
	same_totals 'gperftools, just now' "$dir/gp.0001.heap"
else
	skip 'a profile of gperftools' 'libtcmalloc is not installed for development'
fi
$cc -O1 -g -o "$dir/app" "$dir/app.c"
if MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:12,prof_prefix:$dir/je LD_PRELOAD=libjemalloc.so.2 "$dir/app" \
	2>"$dir/je.err" && ls "$dir"/je.*.heap >/dev/null 2>&1; then
	je=$(echo "$dir"/je.*.heap)
	check 'functions in a profile of jemalloc are known' knows_functions "$je"
	if command -v jeprof >/dev/null; then
		check 'jeprof has the same total' is_alike "$(total "$je")" "$(perl_total jeprof --inuse_space "$je")"
	fi
	written jemalloc-now "$je"
else
	skip 'a profile of jemalloc' 'libjemalloc is not installed, or was built without profiling'
fi
finish
