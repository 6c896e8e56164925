// model: the data of a page and everything that is added up from it.  No function here touches the document, so
// tests/live/report-model.js runs them alone.
//
// A profile is a tree of calls in preorder (depth[i], node[i]; 0 is the root) and samples, each at an element of the
// tree.  All values of a view are sums over the samples that the filter keeps.
(function () {
	"use strict";

	// ---- numbers as text ----

	// As memdiag prints them (base/text.c, text_bytes()).
	function bytes_text(bytes) {
		var units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
		var value = Math.abs(bytes), u = 0;

		while (value >= 1023.95 && u + 1 < units.length) {
			value /= 1024;
			u++;
		}
		return (bytes < 0 ? "-" : "") + (u ? value.toFixed(1) : value.toFixed(0)) + " " + units[u];
	}

	// {is_bytes, is_exact, is_difference}: how to write a value.
	function value_text(value, how) {
		var sign = how.is_difference && value > 0 ? "+" : "";

		return sign + (how.is_bytes && !how.is_exact ? bytes_text(value) : String(value));
	}

	function share_text(part, whole) {
		return (whole ? 100 * part / whole : 0).toFixed(1) + "%";
	}

	// A regular expression; an invalid one is searched for literally.  null: no search.
	function expression(text) {
		if (!text)
			return null;
		try {
			return new RegExp(text);
		} catch (e) {
			return { test: function (name) { return name.indexOf(text) >= 0; } };
		}
	}

	// ---- the tree ----

	// Decoded data: typed arrays of the tree, and samples with their places.
	function decode(data) {
		var depth = Int32Array.from(data.tree.depth), node = Int32Array.from(data.tree.node);
		var nr = depth.length, parent = new Int32Array(nr), end = new Int32Array(nr), path = [0], at = 0, i, d;

		for (i = 1; i < nr; i++) {
			for (d = path.length; d > depth[i]; d--)
				end[path.pop()] = i;
			parent[i] = path[path.length - 1];
			path.push(i);
		}
		while (path.length)
			end[path.pop()] = nr;
		return {
			data: data,
			nr: nr,
			node: node,
			depth: depth,
			parent: parent,
			end: end, // the element after the last one below
			names: data.nodes.name,
			files: data.nodes.file,
			objects: data.nodes.object,
			sample_at: Int32Array.from(data.samples.at, function (step) { at += step; return at; })
		};
	}

	// ---- the filter ----

	function matches(p, match) {
		return Uint8Array.from(p.names, function (name, i) {
			return match.test(name) || match.test(p.files[i]) || match.test(p.objects[i]) ? 1 : 0;
		});
	}

	// For each element of the tree: 1 if it, or an element above it, is of a node in IS.
	function below(p, is) {
		var found = new Uint8Array(p.nr);

		for (var i = 1; i < p.nr; i++)
			found[i] = found[p.parent[i]] | is[p.node[i]];
		return found;
	}

	// The samples of FOCUS and not of IGNORE, which are texts of expressions or "".
	function keeps(p, focus, ignore) {
		var kept = new Uint8Array(p.sample_at.length).fill(1);
		var has = focus && below(p, matches(p, expression(focus)));
		var lacks = ignore && below(p, matches(p, expression(ignore)));

		for (var i = 0; i < kept.length; i++)
			kept[i] = (!has || has[p.sample_at[i]]) && !(lacks && lacks[p.sample_at[i]]) ? 1 : 0;
		return kept;
	}

	// ---- moments ----

	// The values of the samples, "bytes" or "blocks", at moment number AT, less those at moment FROM unless it is -1.
	function moment_values(p, key, from, at) {
		var m = p.data.moments, values = new Array(p.sample_at.length).fill(0);

		for (var i = from < 0 ? 0 : m.end[from]; i < m.end[at]; i++)
			values[m.sample[i]] += m[key][i];
		return values;
	}

	// Call FN(i, now) for each moment; NOW has the bytes that each function allocated itself.
	function each_moment(p, fn) {
		var m = p.data.moments, now = new Float64Array(p.names.length), at = 0;

		m.end.forEach(function (end, i) {
			for (; at < end; at++) {
				var leaf = p.node[p.sample_at[m.sample[at]]];

				if (leaf >= 0)
					now[leaf] += m.bytes[at];
			}
			fn(i, now);
		});
	}

	// The NR functions that had most over all moments: {functions: [{node, values}], rest}, with bytes for each moment.
	function top_over_time(p, nr) {
		var area = new Float64Array(p.names.length), best, top;

		each_moment(p, function (moment, now) {
			for (var i = 0; i < now.length; i++)
				area[i] += now[i];
		});
		best = Array.from(area, function (a, i) { return { node: i, area: a }; })
			.filter(function (x) { return x.area > 0; })
			.sort(function (a, b) { return b.area - a.area || a.node - b.node; })
			.slice(0, nr);
		top = { functions: best.map(function (x) { return { node: x.node, values: [] }; }), rest: [] };
		each_moment(p, function (moment, now) {
			var rest = p.data.moments.live[moment];

			top.functions.forEach(function (f) {
				f.values.push(now[f.node]);
				rest -= now[f.node];
			});
			top.rest.push(Math.max(rest, 0));
		});
		return top;
	}

	// ---- sums of a view ----

	// The VALUES of the samples that are kept: SELF and SUM of each element of the tree.  SIZE is the sum of absolute
	// values, which the width of a frame shows; without a difference it is the sum.
	function sums(p, values, kept) {
		var self = new Float64Array(p.nr), size = new Float64Array(p.nr), sum, i;
		var nr_stacks = 0, seen = new Uint8Array(p.nr), absolute = 0;

		for (i = 0; i < values.length; i++) {
			if (!kept[i] || !values[i])
				continue;
			self[p.sample_at[i]] += values[i];
			size[p.sample_at[i]] += Math.abs(values[i]);
			absolute += Math.abs(values[i]);
			nr_stacks += !seen[p.sample_at[i]];
			seen[p.sample_at[i]] = 1;
		}
		sum = self.slice();
		for (i = p.nr - 1; i > 0; i--) {
			sum[p.parent[i]] += sum[i];
			size[p.parent[i]] += size[i];
		}
		return { p: p, values: values, kept: kept, self: self, sum: sum, size: size, total: sum[0], absolute: absolute,
			nr_stacks: nr_stacks };
	}

	// Call FN(i, is_first) for each element of the tree, of all but the root; IS_FIRST is false if an element of the
	// same KEY is above it.  NR: one more than the largest key; a key below 0 is no key.
	function each_once(p, nr, key, fn) {
		var above = new Int32Array(nr), path = [], i, k;

		for (i = 1; i < p.nr; i++) {
			while (path.length && p.end[path[path.length - 1]] <= i)
				if ((k = key(path.pop())) >= 0)
					above[k]--;
			k = key(i);
			fn(i, k < 0 || !above[k]);
			if (k >= 0)
				above[k]++;
			path.push(i);
		}
	}

	// FLAT and CUM of each node: the bytes that it allocated itself, and these with those of its callees.
	function functions(s) {
		var p = s.p, nr = p.names.length, flat = new Float64Array(nr), cum = new Float64Array(nr);

		each_once(p, nr, function (i) { return p.node[i]; }, function (i, is_first) {
			flat[p.node[i]] += s.self[i];
			if (is_first)
				cum[p.node[i]] += s.sum[i];
		});
		return { flat: flat, cum: cum };
	}

	// The callers and callees of node OF: [{node, value}], the largest first.  Calls of OF by itself count once.
	function neighbours(s, of) {
		var p = s.p, nr = p.names.length, callers = new Map(), callees = new Map();

		function add(to, node, value) {
			to.set(node, (to.get(node) || 0) + value);
		}

		function list(of) {
			return Array.from(of, function (x) { return { node: x[0], value: x[1] }; })
				.filter(function (x) { return x.value; })
				.sort(function (a, b) { return Math.abs(b.value) - Math.abs(a.value); });
		}

		// -1 is the root.
		each_once(p, nr + 1, function (i) {
			return p.node[i] === of ? (p.parent[i] ? p.node[p.parent[i]] : nr) : -1;
		}, function (i, is_first) {
			if (p.node[i] === of && is_first)
				add(callers, p.parent[i] ? p.node[p.parent[i]] : -1, s.sum[i]);
		});
		each_once(p, nr, function (i) {
			return p.parent[i] && p.node[p.parent[i]] === of ? p.node[i] : -1;
		}, function (i, is_first) {
			if (p.parent[i] && p.node[p.parent[i]] === of && is_first)
				add(callees, p.node[i], s.sum[i]);
		});
		return { callers: list(callers), callees: list(callees) };
	}

	// The sum of the samples with a node in IS: those below such an element.
	function matching(s, is) {
		var found = below(s.p, is), sum = 0;

		for (var i = 0; i < s.p.nr; i++)
			if (found[i])
				sum += s.self[i];
		return sum;
	}

	// [{key, value}] of the samples by KEY, "thread" or "size".
	function groups(s, key) {
		var keys = s.p.data.samples[key], values = s.values, sum = new Map();

		for (var i = 0; i < values.length; i++)
			if (s.kept[i] && keys[i] && values[i])
				sum.set(keys[i], (sum.get(keys[i]) || 0) + values[i]);
		return Array.from(sum, function (x) { return { key: x[0], value: x[1] }; });
	}

	// ---- frames of a graph ----
	//
	// A frame: {node, value, self, size, children()}.  Children are made when they are asked for, the largest first.

	function by_size(a, b) {
		return b.size - a.size || a.node - b.node;
	}

	// A frame of the elements AT of the tree, whose children are their callees.
	function down(s, node, at) {
		var frame = { node: node, value: 0, self: 0, size: 0, at: at }, made = null;

		at.forEach(function (i) {
			frame.value += s.sum[i];
			frame.self += s.self[i];
			frame.size += s.size[i];
		});
		frame.children = function () {
			var by_node = new Map();

			if (made)
				return made;
			at.forEach(function (i) {
				for (var k = i + 1; k < s.p.end[i]; k = s.p.end[k]) {
					var list = by_node.get(s.p.node[k]);

					if (!s.size[k])
						continue;
					if (list)
						list.push(k);
					else
						by_node.set(s.p.node[k], [k]);
				}
			});
			made = Array.from(by_node, function (x) { return down(s, x[0], x[1]); }).sort(by_size);
			return made;
		};
		return frame;
	}

	// A frame of the elements AT with the values VALUES and SIZES of samples, whose children are its callers.
	function up(s, node, at, values, sizes) {
		var frame = { node: node, value: 0, self: 0, size: 0, at: at }, made = null;

		for (var i = 0; i < at.length; i++) {
			frame.value += values[i];
			frame.size += sizes[i];
			if (node < 0 ? !at[i] : !s.p.parent[at[i]])
				frame.self += values[i]; // without a stack; called by nothing
		}
		frame.children = function () {
			var by_node = new Map();

			if (made)
				return made;
			for (var i = 0; i < at.length; i++) {
				var to = node < 0 ? at[i] : s.p.parent[at[i]], found;

				if (!to)
					continue;
				found = by_node.get(s.p.node[to]);
				if (!found)
					by_node.set(s.p.node[to], found = { at: [], values: [], sizes: [] });
				found.at.push(to);
				found.values.push(values[i]);
				found.sizes.push(sizes[i]);
			}
			made = Array.from(by_node, function (x) { return up(s, x[0], x[1].at, x[1].values, x[1].sizes); }).sort(by_size);
			return made;
		};
		return frame;
	}

	// The graph of all calls.
	function graph_down(s) {
		return down(s, -1, [0]);
	}

	// The graph from the functions that allocated to their callers.
	function graph_up(s) {
		var at = [], values = [], sizes = [], size;

		for (var i = 0; i < s.p.nr; i++) {
			size = s.size[i];
			for (var k = i + 1; k < s.p.end[i]; k = s.p.end[k])
				size -= s.size[k];
			if (size) {
				at.push(i);
				values.push(s.self[i]);
				sizes.push(size);
			}
		}
		return up(s, -1, at, values, sizes);
	}

	// The outermost elements of node OF.
	function outermost(s, of) {
		var at = [];

		each_once(s.p, 1, function (i) { return s.p.node[i] === of ? 0 : -1; }, function (i, is_first) {
			if (s.p.node[i] === of && is_first && s.size[i])
				at.push(i);
		});
		return at;
	}

	// Graphs of the callees of OF and of its callers, from its outermost calls in each stack.
	function graph_callees(s, of) {
		return down(s, of, outermost(s, of));
	}

	function graph_callers(s, of) {
		var at = outermost(s, of);

		return up(s, of, at, at.map(function (i) { return s.sum[i]; }), at.map(function (i) { return s.size[i]; }));
	}

	window.page_model = {
		bytes_text: bytes_text,
		value_text: value_text,
		share_text: share_text,
		expression: expression,
		decode: decode,
		matches: matches,
		keeps: keeps,
		moment_values: moment_values,
		top_over_time: top_over_time,
		sums: sums,
		functions: functions,
		neighbours: neighbours,
		matching: matching,
		groups: groups,
		graph_down: graph_down,
		graph_up: graph_up,
		graph_callees: graph_callees,
		graph_callers: graph_callers
	};
}());
