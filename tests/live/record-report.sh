#!/bin/sh
# memdiag record report: bytes and blocks of each line of code, and what has grown between two calls, beside what the
# program itself says that it keeps.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
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
check 'without a record there is nothing to report' exits_saying 5 'has not been recorded' memdiag record report "$tracee_pid"
check 'it says what to do' says "memdiag record start -p $tracee_pid"
check 'a record begins' exits 0 patiently memdiag record start --pid "$tracee_pid"
bytes=$(ask 100)
check 'what is live is reported, and saved' report "$tracee_pid" --save "$dir/last.heap"
check 'the leak has its function, line, bytes and blocks' test "$(row "$leak")" = "$bytes 100"
check 'so has the table' test "$(row "$table")" = '70000 1'
check 'their sum is the total' json_is ".data | .total == $bytes + 70000 and .blocks == 101"
check 'it is of bytes in use' json_is '.data | .type == "inuse_space" and .by == "line" and .base == null'
check 'the largest comes first' json_is '.data.rows[0].flat == 70000 or .data.rows[0].flat == '"$bytes"
check 'saved, it is the same' report "$dir/last.heap"
check 'in bytes and blocks' test "$(row "$leak"), $(row "$table")" = "$bytes 100, 70000 1"
check 'a file that is there is not replaced' exits_saying 1 'without --force' memdiag record report "$tracee_pid" --save "$dir/last.heap"

bytes=$(ask 300)
check 'the difference since then' report --pid "$tracee_pid" --since "$dir/last.heap" --save "$dir/last.heap"
check 'it names the leak' test "$(row "$leak")" = "$bytes 300"
check 'and nothing else' json_is "[.data.rows[] | select(.flat != 0)] | length == 1"
check 'its total is what the program keeps more' json_is ".data | .shown == $bytes and .blocks == 300"
check 'since the last call, which saved itself, nothing has grown' report --pid "$tracee_pid" --since "$dir/last.heap"
check 'nowhere' json_is '.data.shown == 0 and .data.blocks == 0 and ([.data.rows[].cum] | all(. == 0))'
bytes=$(ask 50)
check 'as text' exits 0 memdiag record report "$tracee_pid" --bytes --since "$dir/last.heap"
check 'the total comes first' sh -c "head -n 1 '$dir/out' | grep -q 'bytes in use, +$bytes in +50 blocks'"
check 'then the leak' sh -c "sed -n 4p '$dir/out' | tr -s ' ' | grep -q '^ *+$bytes +50 .*$leak\$'"
check 'the difference of two files' exits 0 patiently memdiag record dump -p "$tracee_pid" -o "$dir/dump" -f
check 'is the same' report "$(ls "$dir"/dump.*.heap)" --since "$dir/last.heap"
check 'by line' test "$(row "$leak")" = "$bytes 50"
check 'of blocks alone' report "$tracee_pid" --objects
check 'there is one number' json_is '.data | .type == "inuse_objects" and .blocks == null and .total == 451'
check 'all that was allocated' report "$tracee_pid" --value=allocated --by=function
check 'has more blocks' json_is '[.data.rows[] | select(.name == "serve")][0] | .flat == 450 * 5000 + 3 * 70000 and .blocks == 453'
check 'only some stacks' report "$tracee_pid" --focus=remember
check 'are shown' json_is '.data.shown < .data.total and .data.blocks == 450'
for format in tree folded dot flame html pprof heap; do
	check "as $format" exits 0 memdiag record report "$tracee_pid" --format="$format" -f -o "$dir/report.$format"
	case $format in
	pprof | heap) check "$format is read by report" exits 0 memdiag record report "$dir/report.$format" ;;
	*) cp "$dir/report.$format" "$dir/out" ;;
	esac
	check "as $format it names the leak" grep -q 'remember' "$dir/out"
done
check 'folded stacks have the same sum' test "$(awk '{ n += $NF } END { print n }' "$dir/report.folded")" = \
	"$((450 * 112 + 70000))"
sed 's/^# time .*/&\n# comment 3 samples were \x1b[31mlost in signal handlers/' "$dir/last.heap" >"$dir/lost.heap"
check 'a report of which something is missing' report "$dir/lost.heap"
check 'says so' says '3 samples were .*lost in signal handlers'
check 'and nothing that a terminal obeys' test "$(tr -d '\033' <"$dir/err")" = "$(cat "$dir/err")"
check 'in JSON, too' json_is '.warnings | length == 1'
check 'the process may stand before the verb' exits 0 memdiag record -p "$tracee_pid" report --json
check 'with the same result' json_is '.data.blocks == 451'
check 'options may stand before the command' exits 0 memdiag --json record report "$tracee_pid"
check 'in JSON, too' json_is '.data.blocks == 451'

check 'of one thread the peak is exact' exits 0 memdiag record status "$tracee_pid" --json
check 'in JSON' json_is '.data.noted | .peak_bytes == 450 * 112 + 70000 and .peak_approximate == false'
check 'and as text' exits 0 memdiag record status "$tracee_pid" --bytes
check 'it is not marked' grep -q '^in use .* at most 120400$' "$dir/out"

check 'a full disk' exits_saying 1 'No space left' memdiag record report "$tracee_pid" --since "$dir/last.heap" -o /dev/full \
	--save "$dir/last.heap"
check 'changes nothing that was saved' report "$tracee_pid" --since "$dir/last.heap"
check 'so the difference is still there' test "$(row "$leak")" = "$bytes 50"
check 'a directory that is missing' exits_saying 1 'No such file' memdiag record report "$tracee_pid" --save "$dir/none/last"
check 'a file that is missing' exits_saying 1 'No such file' memdiag record report "$tracee_pid" --since "$dir/none"
check 'a file that is not a profile' exits_saying 1 'leaky.c' memdiag record report "$tracee_pid" --since "$dir/leaky.c"
check 'neither a process nor a file' exits_saying 64 'which record' memdiag record report
check 'both' exits_saying 64 'one at a time' memdiag record report "$dir/last.heap" -p "$tracee_pid"
check 'two files' exits_saying 64 'two files' memdiag record report "$dir/last.heap" "$dir/last.heap"
check 'an unknown format' exits_saying 64 'is not a format' memdiag record report "$tracee_pid" --format=x

check 'the record ends' exits 0 patiently memdiag record stop -p "$tracee_pid" -o "$dir/stopped"
check 'what there was is still reported' report "$tracee_pid"
check 'with a warning' says 'is not recorded any more'
check 'in JSON, too' json_is '.warnings | length == 1'
check 'it begins anew' exits 0 patiently memdiag record start -p "$tracee_pid"
check 'with a log' exits 0 patiently memdiag record start -p "$tracee_pid" --mode log-fast -o "$dir/logs"
bytes=$(ask 20)
check 'that ends with the record' exits 0 patiently memdiag record stop -p "$tracee_pid"
check 'its directory is reported' report "$dir/logs"
check 'as it was at the end' test "$(row "$leak"), $(row "$table")" = "$bytes 20, 70000 1"
check 'a record begins once more' exits 0 patiently memdiag record start -p "$tracee_pid"
check 'moments of two records are not compared' exits_saying 64 'begun anew' memdiag record report "$tracee_pid" --since "$dir/last.heap"
check 'it ends again' exits 0 patiently memdiag record stop -p "$tracee_pid" -o "$dir/stopped"
check 'a profile begins' exits 0 patiently memdiag profile start -p "$tracee_pid"
check 'which is no record' exits_saying 5 'is a profile' memdiag record report "$tracee_pid"
check 'that ends' exits 0 patiently memdiag profile stop -p "$tracee_pid" -o "$dir/profile"
check 'the target lives on' end_tracee
finish
