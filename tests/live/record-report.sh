#!/bin/sh
# memdiag record report: bytes and blocks of each line of code, and what has grown between two calls, beside what the
# program itself says that it keeps.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq python3
need_hooks

cat >"$dir/leaky.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct request {
	struct request *next;
	char text[100];
};

static struct request *pending;
static void *volatile table;

static void __attribute__((noinline)) remember(int nr)
{
	while (nr--) {
		struct request *r = malloc(sizeof *r); /* the leak */

		r->next = pending;
		pending = r;
	}
}

static void __attribute__((noinline)) serve(int nr)
{
	for (int i = 0; i < nr; i++) {
		void *volatile page = malloc(5000);

		free(page);
	}
	free(table);
	table = malloc(70000); /* stays as it is */
	remember(nr);
}

int main(void)
{
	char line[64] = "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	/* Not by stdio, in which no thread can be borrowed. */
	while (read(0, line, sizeof line - 1) > 0) {
		serve(atoi(line));
		printf("%zu\n", atoi(line) * sizeof(struct request));
	}
	puts("alive");
	return 0;
}
END
${CC:-cc} -g -O1 -o "$dir/leaky" "$dir/leaky.c" || skip_all 'no compiler'
leak="remember leaky.c:$(sed -n '/the leak/=' "$dir/leaky.c")"
table="serve leaky.c:$(sed -n '/stays as it is/=' "$dir/leaky.c")"

# report WORDS...: memdiag record report, as JSON.
report()
{
	memdiag record report --json "$@"
}

# row NAME: bytes and blocks of that line of code in the last output.
row()
{
	jq -r --arg name "$1" '[.data.rows[] | select(.name == $name) | "\(.flat) \(.blocks)"][0] // "0 0"' "$dir/out"
}

start_command "$dir/leaky"
check 'record report of a process without a record: refused' exits_saying 5 'has not been recorded' memdiag record report "$tracee_pid"
check 'record report of a process without a record: says what begins one' says "memdiag record start -p $tracee_pid"
check 'a record begins' exits 0 patiently memdiag record start --pid "$tracee_pid"
bytes=$(ask 100)
check 'record report --save runs' report "$tracee_pid" --save "$dir/last.heap"
check 'record report: the leak has its function, line, bytes and blocks' test "$(row "$leak")" = "$bytes 100"
check 'record report: the table has its function, line, bytes and blocks' test "$(row "$table")" = '70000 1'
check 'record report: the sum of both is the total' json_is ".data | .total == $bytes + 70000 and .blocks == 101"
check 'record report is of bytes in use, by line' json_is '.data | .type == "inuse_space" and .by == "line" and .base == null'
check 'record report: the largest comes first' json_is '.data.rows[0].flat == 70000 or .data.rows[0].flat == '"$bytes"
check 'record report of the file that --save wrote' report "$dir/last.heap"
check 'record report of the file that --save wrote: the same bytes and blocks' test "$(row "$leak"), $(row "$table")" = "$bytes 100, 70000 1"
check 'record report --save of a file that exists: refused' exits_saying 1 'without --force' memdiag record report "$tracee_pid" --save "$dir/last.heap"

bytes=$(ask 300)
check 'record report --since the saved file runs' report --pid "$tracee_pid" --since "$dir/last.heap" --save "$dir/last.heap"
check 'record report --since: the leak has grown by 300 blocks' test "$(row "$leak")" = "$bytes 300"
check 'record report --since: nothing else has grown' json_is "[.data.rows[] | select(.flat != 0)] | length == 1"
check 'record report --since: the total is what the program keeps more' json_is ".data | .shown == $bytes and .blocks == 300"
check 'record report --since the file that the last call replaced' report --pid "$tracee_pid" --since "$dir/last.heap"
check 'record report --since the last call: nothing has grown' json_is '.data.shown == 0 and .data.blocks == 0 and ([.data.rows[].cum] | all(. == 0))'
bytes=$(ask 50)
check 'record report --since as text runs' exits 0 memdiag record report "$tracee_pid" --bytes --since "$dir/last.heap"
check 'record report --since as text: the total comes first' sh -c "head -n 1 '$dir/out' | grep -q 'bytes in use, +$bytes in +50 blocks'"
check 'record report --since as text: the leak has bytes and blocks' sh -c "sed -n 4p '$dir/out' | tr -s ' ' | grep -q '^ *+$bytes +50 .*$leak\$'"
check 'record dump writes a file to compare' exits 0 patiently memdiag record dump -p "$tracee_pid" -o "$dir/dump" -f
check 'record report of one file --since another one' report "$(ls "$dir"/dump.*.heap)" --since "$dir/last.heap"
check 'record report of one file --since another one: the leak has grown by 50 blocks' test "$(row "$leak")" = "$bytes 50"
check 'record report --objects runs' report "$tracee_pid" --objects
check 'record report --objects has blocks alone' json_is '.data | .type == "inuse_objects" and .blocks == null and .total == 451'
check 'record report --value=allocated --by=function runs' report "$tracee_pid" --value=allocated --by=function
check 'record report --value=allocated has freed blocks as well' json_is '[.data.rows[] | select(.name == "serve")][0] | .flat == 450 * 5000 + 3 * 70000 and .blocks == 453'
check 'record report --focus runs' report "$tracee_pid" --focus=remember
check 'record report --focus: shows only stacks that match' json_is '.data.shown < .data.total and .data.blocks == 450'
for format in tree folded dot flame html pprof heap; do
	check "record report --format=$format writes a file" exits 0 memdiag record report "$tracee_pid" --format="$format" -f -o "$dir/report.$format"
	case $format in
	pprof | heap) check "record report reads the file of --format=$format" exits 0 memdiag record report "$dir/report.$format" ;;
	*) python3 "$top_srcdir/tests/live/page-data.py" "$dir/report.$format" >"$dir/out" ;;
	esac
	check "record report --format=$format names the leak" grep -q 'remember' "$dir/out"
done
check 'record report --format=folded: the sum is the total' test "$(awk '{ n += $NF } END { print n }' "$dir/report.folded")" = \
	"$((450 * 112 + 70000))"
sed 's/^# time .*/&\n# comment 3 samples were \x1b[31mlost in signal handlers/' "$dir/last.heap" >"$dir/lost.heap"
check 'record report of a file of which something is missing' report "$dir/lost.heap"
check 'record report of a file of which something is missing: says how much' says '3 samples were .*lost in signal handlers'
check 'record report of a file of which something is missing: no escape on stderr' test "$(tr -d '\033' <"$dir/err")" = "$(cat "$dir/err")"
check 'record report of a file of which something is missing: a warning in JSON' json_is '.warnings | length == 1'
check 'record -p PID report runs' exits 0 memdiag record -p "$tracee_pid" report --json
check 'record -p PID report has the same blocks' json_is '.data.blocks == 451'
check 'memdiag --json record report runs' exits 0 memdiag --json record report "$tracee_pid"
check 'memdiag --json record report has the same blocks' json_is '.data.blocks == 451'

check 'record status of a process of one thread, as JSON' exits 0 memdiag record status "$tracee_pid" --json
check 'record status of a process of one thread: the peak is exact' json_is '.data.noted | .peak_bytes == 450 * 112 + 70000 and .peak_approximate == false'
check 'record status of a process of one thread, as text' exits 0 memdiag record status "$tracee_pid" --bytes
check 'record status as text: a peak that is exact is not marked' grep -q '^in use .* at most 120400$' "$dir/out"

check 'record report -o /dev/full: status 1' exits_saying 1 'No space left' memdiag record report "$tracee_pid" --since "$dir/last.heap" -o /dev/full \
	--save "$dir/last.heap"
check 'record report --since the file that a full disk did not replace' report "$tracee_pid" --since "$dir/last.heap"
check 'record report --since after a full disk: the difference is still there' test "$(row "$leak")" = "$bytes 50"
check 'record report --save in a directory that is missing: status 1' exits_saying 1 'No such file' memdiag record report "$tracee_pid" --save "$dir/none/last"
check 'record report --since a file that is missing: status 1' exits_saying 1 'No such file' memdiag record report "$tracee_pid" --since "$dir/none"
check 'record report --since a file that is not a profile: status 1' exits_saying 1 'leaky.c' memdiag record report "$tracee_pid" --since "$dir/leaky.c"
check 'record report of nothing: a usage error' exits_saying 64 'which record' memdiag record report
check 'record report of a file and a process: a usage error' exits_saying 64 'one at a time' memdiag record report "$dir/last.heap" -p "$tracee_pid"
check 'record report of two files: a usage error' exits_saying 64 'two files' memdiag record report "$dir/last.heap" "$dir/last.heap"
check 'record report --format=x: a usage error' exits_saying 64 'is not a format' memdiag record report "$tracee_pid" --format=x

check 'record stop before a report of what there was' exits 0 patiently memdiag record stop -p "$tracee_pid" -o "$dir/stopped"
check 'record report after record stop runs' report "$tracee_pid"
check 'record report after record stop: says that nothing is recorded' says 'is not recorded any more'
check 'record report after record stop: a warning in JSON' json_is '.warnings | length == 1'
check 'record start begins a second record' exits 0 patiently memdiag record start -p "$tracee_pid"
check 'record start --mode log-fast gives the second record a log' exits 0 patiently memdiag record start -p "$tracee_pid" --mode log-fast -o "$dir/logs"
bytes=$(ask 20)
check 'record stop ends the log of the second record' exits 0 patiently memdiag record stop -p "$tracee_pid"
check 'record report of the directory of a log runs' report "$dir/logs"
check 'record report of a log: what was live at its end' test "$(row "$leak"), $(row "$table")" = "$bytes 20, 70000 1"
check 'record start begins a third record' exits 0 patiently memdiag record start -p "$tracee_pid"
check 'record report --since a moment of another record: a usage error' exits_saying 64 'last start of the record' memdiag record report "$tracee_pid" --since "$dir/last.heap"
check 'record stop ends the third record' exits 0 patiently memdiag record stop -p "$tracee_pid" -o "$dir/stopped"
check 'profile start after the records' exits 0 patiently memdiag profile start -p "$tracee_pid"
check 'record report of a process with a profile: refused' exits_saying 5 'is a profile' memdiag record report "$tracee_pid"
check 'profile stop after record report' exits 0 patiently memdiag profile stop -p "$tracee_pid" -o "$dir/profile"
check 'the target lives on' end_tracee
finish
