// report-model.js PAGE... : the sums of the model of each page (src/report/page/model.js), without a browser, are those of
// an addition of its samples stack by stack.  Prints what differs; the exit status is 1 then.
"use strict";
const fs = require("fs"), zlib = require("zlib"), path = require("path");
let failed = 0;

function differ(what, got, want) {
	const a = JSON.stringify(got), b = JSON.stringify(want);

	if (a === b)
		return;
	failed++;
	if (failed < 10)
		console.log(what + ": " + a.slice(0, 200) + ", not " + b.slice(0, 200));
}

// {name: value} with the names sorted, without zeroes.
function sorted(map) {
	return Object.fromEntries(Array.from(map).filter(x => x[1]).map(x => [String(x[0]), x[1]])
		.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
}

function add(map, key, value) {
	map.set(key, (map.get(key) || 0) + value);
}

// The samples as lists of nodes, root first, read from the data without the model.
function samples_of(data) {
	const paths = [];
	let path = [], at = 0;

	data.tree.depth.forEach((depth, i) => {
		path = i ? path.slice(0, depth - 1).concat([data.tree.node[i]]) : [];
		paths.push(path);
	});
	return data.samples.at.map((step, i) => {
		at += step;
		return { path: paths[at], thread: data.samples.thread[i], size: data.samples.size[i],
			values: data.samples.values.map(v => v[i]) };
	});
}

// All frames of a graph: {"path of nodes": value}.
function frames_of(root) {
	const found = new Map();

	(function walk(frame, path) {
		frame.children().forEach(f => {
			const its = path.concat([f.node]);

			add(found, its.join(" "), f.value);
			walk(f, its);
		});
	}(root, []));
	return sorted(found);
}

// The same from paths with values: each beginning of a path has the value.
function prefixes_of(list) {
	const found = new Map();

	list.forEach(x => x.path.forEach((_, i) => add(found, x.path.slice(0, i + 1).join(" "), x.value)));
	return sorted(found);
}

function compare_nodes(model, s, list, name) {
	const flat = new Map(), cum = new Map(), f = model.functions(s), nr = s.p.names.length;

	list.forEach(x => {
		if (x.path.length)
			add(flat, x.path[x.path.length - 1], x.value);
		new Set(x.path).forEach(node => add(cum, node, x.value));
	});
	differ(name + "flat", sorted(Array.from(f.flat, (v, i) => [i, v])), sorted(flat));
	differ(name + "cum", sorted(Array.from(f.cum, (v, i) => [i, v])), sorted(cum));
	// Of many nodes some: each takes all samples.
	for (let of = 0; of < nr; of += Math.ceil(nr / 25)) {
		const callers = new Map(), callees = new Map(), near = model.neighbours(s, of);
		const below = [], above = [];

		list.forEach(x => {
			const pairs = new Set(x.path.map((node, i) => (i ? x.path[i - 1] : -1) + ">" + node));
			const first = x.path.indexOf(of);

			pairs.forEach(pair => {
				const [a, b] = pair.split(">").map(Number);

				if (b === of)
					add(callers, a, x.value);
				if (a === of)
					add(callees, b, x.value);
			});
			if (first >= 0) {
				below.push({ path: x.path.slice(first + 1), value: x.value });
				above.push({ path: x.path.slice(0, first).reverse(), value: x.value });
			}
		});
		differ(name + "callers of " + of, sorted(near.callers.map(c => [c.node, c.value])), sorted(callers));
		differ(name + "callees of " + of, sorted(near.callees.map(c => [c.node, c.value])), sorted(callees));
		differ(name + "graph below " + of, frames_of(model.graph_callees(s, of)), prefixes_of(below));
		differ(name + "graph above " + of, frames_of(model.graph_callers(s, of)), prefixes_of(above));
	}
}

function compare(model, data, type, only, without, name) {
	const p = model.decode(data), kept = model.keeps(p, only, without);
	const s = model.sums(p, data.samples.values[type], kept);
	const match = (x, e) => x.path.some(i => [data.nodes.name[i], data.nodes.file[i], data.nodes.object[i]]
		.some(text => new RegExp(e).test(text)));
	const list = samples_of(data).filter(x => (!only || match(x, only)) && !(without && match(x, without)))
		.map(x => Object.assign(x, { value: x.values[type] }));
	const total = list.reduce((sum, x) => sum + x.value, 0);

	differ(name + "total", s.total, total);
	differ(name + "absolute", s.absolute, list.reduce((sum, x) => sum + Math.abs(x.value), 0));
	differ(name + "stacks", s.nr_stacks, new Set(list.filter(x => x.value).map(x => x.path.join(" "))).size);
	differ(name + "graph", frames_of(model.graph_down(s)), prefixes_of(list));
	differ(name + "graph from below", frames_of(model.graph_up(s)),
		prefixes_of(list.map(x => ({ path: x.path.slice().reverse(), value: x.value }))));
	["thread", "size"].forEach(key => {
		const want = new Map();

		list.forEach(x => { if (x[key]) add(want, x[key], x.value); });
		differ(name + key, sorted(model.groups(s, key).map(g => [g.key, g.value])), sorted(want));
	});
	compare_nodes(model, s, list, name);
	p.names.slice(0, 5).forEach(text => {
		const is = model.matches(p, model.expression("^" + text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$"));
		const want = list.filter(x => x.path.some(i => is[i])).reduce((sum, x) => sum + x.value, 0);

		differ(name + "share of " + text, model.matching(s, is), want);
	});
}

global.window = {};
// eslint-disable-next-line no-eval
eval(fs.readFileSync(path.join(process.env.top_srcdir || ".", "src/report/page/model.js"), "utf8"));
process.argv.slice(2).forEach(file => {
	const page = fs.readFileSync(file, "utf8"), model = global.window.page_model;
	const packed = page.match(/class="profile"[^>]*>([^<]*)</)[1];
	const data = JSON.parse(zlib.gunzipSync(Buffer.from(packed, "base64")));

	data.types.forEach((type, i) => {
		const name = path.basename(file) + ", " + type.name + ": ";

		compare(model, data, i, "", "", name);
		compare(model, data, i, "[02468]$", "", name + "only even ones: ");
		compare(model, data, i, "", "[13579]", name + "without odd ones: ");
	});
});
// Numbers as memdiag writes them.
[[0, "0 B"], [1023, "1023 B"], [1024, "1.0 KiB"], [1048524, "1023.9 KiB"], [1048525, "1.0 MiB"], [-2048, "-2.0 KiB"],
	[5 * 1024 ** 4, "5.0 TiB"]].forEach(([n, text]) => differ(n, global.window.page_model.bytes_text(n), text));
process.exit(failed ? 1 : 0);
