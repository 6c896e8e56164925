#!/bin/sh
# What packaging/ has for memdiag export: rules of Prometheus with their tests, a dashboard of Grafana, units of systemd.
. "$top_srcdir/tests/live/lib.sh"
need jq python3
rules=$top_srcdir/packaging/prometheus
dashboard=$top_srcdir/packaging/grafana/memdiag.json

# The metrics that there are; and the names in a file.
"$MEMDIAG" export --once --match 'comm=none' >"$dir/metrics"
sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$dir/metrics" | sort >"$dir/exported"
names_exist()
{
	grep -o -w -E '(memdiag|process)_[a-z_]+' "$1" | sort -u | comm -23 - "$dir/exported" >"$dir/unknown"
	cat "$dir/unknown"
	[ ! -s "$dir/unknown" ] && grep -q -w memdiag_resident_bytes "$1"
}

check 'the metrics have names' test -s "$dir/exported"
# The names of rules have a colon before them.
sed 's/group:memdiag_[a-z_]*:[a-z_]*//g' "$rules/memdiag.rules.yml" >"$dir/rules"
check 'rules use metrics that there are' names_exist "$dir/rules"
check 'the dashboard uses metrics that there are' names_exist "$dashboard"
check 'the manual has each metric' sh -c "while read -r name; do
	sed 's/\\\\\\\\//g' '$top_srcdir/doc/man/memdiag-export.1' | grep -q -w \"\$name\" || { echo \"\$name\"; exit 1; }
	done <'$dir/exported'"

# A classic dashboard: what Grafana needs of each panel.
check 'the dashboard has what Grafana needs' jq -e '
	(.uid | type) == "string" and (.title | length) > 0 and (.schemaVersion | type) == "number" and
	([.templating.list[].name] | index("datasource") and index("group") and index("instance")) and
	([.panels[].id] | (unique | length) == length) and
	all(.panels[]; (.title | length) > 0 and (.type | IN("timeseries", "stat")) and .datasource.uid == "${datasource}" and
		.gridPos.x >= 0 and .gridPos.x + .gridPos.w <= 24 and .gridPos.h > 0 and (.fieldConfig.defaults.unit | type) == "string" and
		(.targets | length) > 0 and all(.targets[]; (.expr | length) > 0 and (.refId | length) > 0 and (.legendFormat | length) > 0))' \
	"$dashboard"
check 'panels of the dashboard do not overlap' jq -e '[.panels[].gridPos | . as $p | range(.x; .x + .w) as $x | range($p.y; $p.y + $p.h) as $y | [$x, $y]] |
	(unique | length) == length' "$dashboard"

if command -v promtool >/dev/null; then
	check 'promtool finds no fault in the rules' promtool check rules "$rules/memdiag.rules.yml"
	check 'the tests of the rules pass' promtool test rules "$rules/memdiag.test.yml"
	{
		echo 'groups: [{name: g, rules: ['
		jq -r '.panels[].targets[].expr | gsub("\\$(instance|group)"; ".*") | "{record: a, expr: \(tojson)},"' "$dashboard"
		echo ']}]'
	} >"$dir/expressions.yml"
	check 'promtool finds no fault in the expressions of the dashboard' promtool check rules "$dir/expressions.yml"
else
	skip 'promtool finds no fault in the rules' 'promtool is not installed'
fi

if python3 -c 'import yaml' 2>/dev/null; then
	check 'the DaemonSet drops all rights but two' python3 -c '
import sys, yaml
c = yaml.safe_load(open(sys.argv[1]))["spec"]["template"]["spec"]["containers"][0]["securityContext"]
assert c["capabilities"] == {"drop": ["ALL"], "add": ["SYS_PTRACE", "DAC_READ_SEARCH"]} and c["readOnlyRootFilesystem"]
' "$top_srcdir/packaging/kubernetes/memdiag-export.yaml"
else
	skip 'the DaemonSet drops all rights but two' 'python3-yaml is not installed'
fi

unit=$top_srcdir/packaging/systemd/memdiag-export.service
# It writes to /run, which must stay as it is.
in_own_run()
{
	unshare -m sh -c 'mount -t tmpfs none /run && exec "$@"' sh "$@"
}
if [ "$(id -u)" -eq 0 ] && in_own_run systemd-analyze security --help 2>/dev/null | grep -q -e --offline; then
	check 'the exposure of the service is at most 2.0 of 10' in_own_run systemd-analyze security --offline=true --threshold=20 "$unit"
else
	skip 'the exposure of the service is at most 2.0 of 10' 'it takes root, and systemd-analyze 250'
fi
finish
