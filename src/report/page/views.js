// views: the tables, the tree and the histograms of a page.  Text from a profile is written as text only.
(function () {
	"use strict";
	var model = window.page_model;

	// ---- elements ----

	// An element with attributes; "text" is its text, "on" has listeners, and CHILDREN follow.
	function make(tag, attributes, children) {
		var e = document.createElement(tag);

		Object.keys(attributes || {}).forEach(function (name) {
			var value = attributes[name];

			if (name === "text")
				e.textContent = value;
			else if (name === "on")
				Object.keys(value).forEach(function (event) { e.addEventListener(event, value[event]); });
			else if (value !== null && value !== false)
				e.setAttribute(name, value === true ? "" : value);
		});
		(children || []).forEach(function (child) { e.append(child); });
		return e;
	}

	// A bar as wide as the share of WHOLE.
	function bar(value, whole) {
		var e = make("span", { "class": value < 0 ? "bar less" : "bar" });

		e.style.width = (whole ? Math.min(100, 100 * Math.abs(value) / whole) : 0) + "%";
		return make("span", { "class": "room" }, [e]);
	}

	// ---- tables ----

	var FIRST_ROWS = 200, MORE_ROWS = 1000;

	// A table whose rows are made as they are needed.  COLUMNS: [{id, title, text(row), compare(a, b), is_name, make(row)}];
	// HOW: {id, sort: {id, is_up}, sorted(sort)}; without sorted() the order is fixed.
	function table(columns, rows, how) {
		var body = make("tbody"), shown = 0;
		var column = columns.find(function (c) { return c.id === how.sort.id; }) || columns[0];
		var sorted = rows.slice().sort(function (a, b) {
			return (how.sort.is_up ? 1 : -1) * column.compare(a, b) || a.order - b.order;
		});
		var more = make("button", { "class": "more", on: { click: function () { add(MORE_ROWS); } } });

		function add(nr) {
			sorted.slice(shown, shown + nr).forEach(function (row) {
				var tr = make("tr", {}, columns.map(function (c) {
					return make("td", { "class": c.is_name ? "name" : null },
						[c.make ? c.make(row) : c.text(row)]);
				}));

				body.append(tr);
			});
			shown = Math.min(sorted.length, shown + nr);
			more.textContent = sorted.length - shown + " more";
			more.classList.toggle("away", shown === sorted.length);
		}

		function heading(c) {
			var is = c === column, text = c.title + (is && how.sorted ? how.sort.is_up ? " \u25b2" : " \u25bc" : "");
			var button = make("button", { "class": "sort", id: how.id + "-" + c.id, text: text, on: { click: function () {
				how.sorted({ id: c.id, is_up: is ? !how.sort.is_up : !!c.is_name });
			} } });

			return make("th", { "class": c.is_name ? "name" : null, scope: "col",
				"aria-sort": is ? how.sort.is_up ? "ascending" : "descending" : "none" },
			[how.sorted ? button : text]);
		}

		add(FIRST_ROWS);
		return make("div", { "class": "wide" }, [
			make("table", { id: how.id, "data-rows": sorted.length },
				[make("thead", {}, [make("tr", {}, columns.map(heading))]), body]),
			more
		]);
	}

	function compare_numbers(of) {
		return function (a, b) { return of(a) - of(b); };
	}

	function compare_sizes(of) {
		return function (a, b) { return Math.abs(of(a)) - Math.abs(of(b)); };
	}

	// A column of values and one of their shares.
	function value_columns(id, title, of, app) {
		return [
			{ id: id, title: title, text: function (r) { return app.value(of(r)); }, compare: compare_sizes(of) },
			{ id: id + "-share", title: title + "%", text: function (r) { return app.share(of(r)); },
				compare: compare_sizes(of) }
		];
	}

	// A name that leads to its function.
	function name_link(app, node) {
		return make("a", { href: app.address({ view: "function", of: app.p.names[node] }), text: app.p.names[node],
			"class": ["own", null, "allocator"][app.p.data.nodes.code[node]],
			title: [app.p.files[node], app.p.objects[node]].filter(Boolean).join("\n") || null });
	}

	function functions_view(app) {
		var sums = app.functions(), found = app.found(), rows = [];

		app.p.names.forEach(function (name, i) {
			if ((sums.flat[i] || sums.cum[i]) && (!found || found[i]))
				rows.push({ order: i, name: name, flat: sums.flat[i], cum: sums.cum[i] });
		});
		return [table([].concat(
			value_columns("flat", "flat", function (r) { return r.flat; }, app),
			value_columns("cum", "cum", function (r) { return r.cum; }, app),
			[{ id: "name", title: "name", is_name: true, make: function (r) { return name_link(app, r.order); },
				compare: function (a, b) { return a.name < b.name ? -1 : a.name > b.name ? 1 : 0; } }]
		), rows, { id: "functions", sort: app.sort(), sorted: function (sort) { app.set({ sort: sort }); } })];
	}

	// ---- the tree ----

	// The children of FRAME below LIST; the widest path is opened as long as it has half of its caller.
	function tree_items(app, frame, depth, is_open) {
		var list = make("ul", { role: depth ? "group" : "tree" }), children = frame.children(), shown = 0;
		var more = make("li", {}, [make("button", { "class": "more", on: { click: function () { add(MORE_ROWS); } } })]);

		function add(nr) {
			children.slice(shown, shown + nr).forEach(function (f, i) {
				list.insertBefore(tree_item(app, f, depth, is_open && !shown && !i && f.size * 2 >= frame.size), more);
			});
			shown = Math.min(children.length, shown + nr);
			more.firstChild.textContent = children.length - shown + " more";
			more.classList.toggle("away", shown === children.length);
		}

		list.append(more);
		add(FIRST_ROWS);
		return list;
	}

	function tree_item(app, frame, depth, is_open) {
		var has_children = frame.children().length > 0, item, line, list = null;

		function open(is) {
			if (!has_children)
				return;
			if (is && !list)
				item.append(list = tree_items(app, frame, depth + 1, is_open));
			item.setAttribute("aria-expanded", is);
			if (list)
				list.classList.toggle("away", !is);
		}

		line = make("span", { "class": "line" + (app.is_found(frame) ? " found" : "") }, [
			make("span", { "class": "value", text: app.value(frame.value) }),
			make("span", { "class": "value", text: app.share(frame.value) }),
			make("span", { "class": "value faint", text: frame.self ? app.value(frame.self) : "" }),
			make("span", { "class": "mark", text: has_children ? "" : "\u00b7" }),
			name_link(app, frame.node)
		]);
		item = make("li", { role: "treeitem", tabindex: "-1", "aria-expanded": has_children ? "false" : null }, [line]);
		line.addEventListener("click", function (e) {
			if (e.target.tagName !== "A")
				open(item.getAttribute("aria-expanded") === "false");
		});
		item.open = open;
		if (is_open)
			open(true);
		return item;
	}

	// The arrow keys move in the tree, and open and close its items.
	function tree_key(tree, e) {
		var at = document.activeElement.closest("[role=treeitem]"), items, i, to;

		if (!at || !tree.contains(at) || e.ctrlKey || e.altKey || e.metaKey)
			return;
		items = Array.from(tree.querySelectorAll("[role=treeitem]")).filter(function (x) { return !x.parentNode.closest(".away"); });
		i = items.indexOf(at);
		if (e.key === "ArrowDown")
			to = items[i + 1];
		else if (e.key === "ArrowUp")
			to = items[i - 1];
		else if (e.key === "ArrowRight" && at.getAttribute("aria-expanded") === "false")
			at.open(true);
		else if (e.key === "ArrowRight")
			to = at.querySelector("[role=treeitem]");
		else if (e.key === "ArrowLeft" && at.getAttribute("aria-expanded") === "true")
			at.open(false);
		else if (e.key === "ArrowLeft")
			to = at.parentNode.closest("[role=treeitem]");
		else if (e.key === "Enter" && at.querySelector("a"))
			location.href = at.querySelector("a").href;
		else
			return;
		e.preventDefault();
		if (to)
			to.focus();
	}

	function tree_view(app) {
		var tree = tree_items(app, app.graph_down(), 0, true), first = tree.querySelector("[role=treeitem]");

		if (first)
			first.tabIndex = 0;
		tree.id = "tree";
		tree.addEventListener("keydown", function (e) { tree_key(tree, e); });
		return [
			make("p", { "class": "facts", text: "A value, its share, and what the function allocated itself; the arrow keys open and close." }),
			make("div", { "class": "wide" }, [tree])
		];
	}

	// ---- one function ----

	function neighbour_table(app, id, rows) {
		return table([].concat(
			value_columns("value", "value", function (r) { return r.value; }, app),
			[{ id: "bar", title: "", make: function (r) { return bar(r.value, app.s.absolute); },
				compare: compare_sizes(function (r) { return r.value; }) },
			{ id: "name", title: "name", is_name: true,
				make: function (r) { return r.node < 0 ? document.createTextNode("[root]") : name_link(app, r.node); },
				compare: function () { return 0; } }]
		), rows.map(function (r, i) { return { order: i, node: r.node, value: r.value }; }),
		{ id: id, sort: { id: "value", is_up: false } });
	}

	// The lines of a function, with their text if the page has it.
	function lines_of(app, node) {
		var lines = app.p.data.lines, rows = [];

		if (!lines || app.moment >= 0)
			return null;
		lines.line.forEach(function (line, i) {
			var flat = lines.flat[app.shown_type][i], cum = lines.cum[app.shown_type][i];

			if (lines.node[i] === node && (flat || cum))
				rows.push({ order: line, line: line, flat: flat, cum: cum, text: lines.text ? lines.text[i] : null });
		});
		return rows.length ? rows : null;
	}

	function lines_table(app, node, rows) {
		var file = app.p.files[node];

		return table([].concat(
			value_columns("flat", "flat", function (r) { return r.flat; }, app),
			value_columns("cum", "cum", function (r) { return r.cum; }, app),
			[{ id: "line", title: "line", is_name: true,
				make: function (r) {
					return make("span", {}, [file.slice(file.lastIndexOf("/") + 1) + ":" + r.line,
						make("code", { text: r.text === null ? "" : "  " + r.text })]);
				},
				compare: compare_numbers(function (r) { return r.line; }) }]
		), rows, { id: "lines", sort: { id: "line", is_up: true } });
	}

	function function_choice(app) {
		var list = make("datalist", { id: "names" }), sums = app.functions();

		app.p.names.map(function (name, i) { return { name: name, cum: Math.abs(sums.cum[i]) }; })
			.filter(function (x) { return x.cum; })
			.sort(function (a, b) { return b.cum - a.cum; })
			.slice(0, 1000)
			.forEach(function (x) { list.append(make("option", { value: x.name })); });
		return make("p", {}, [
			make("label", { text: "Function: " }, [
				make("input", { id: "of", list: "names", value: app.state.of,
					on: { change: function (e) { app.set({ of: e.target.value }); } } })
			]), list
		]);
	}

	function function_view(app) {
		var node = app.p.names.indexOf(app.state.of), sums = app.functions(), near, lines, parts = [function_choice(app)];

		if (node < 0) {
			parts.push(make("p", { "class": "facts", text: app.state.of ? "This profile has no function of that name." :
				"Choose a function here, or click one in another view." }));
			return parts;
		}
		near = model.neighbours(app.s, node);
		lines = lines_of(app, node);
		parts.push(make("h2", { text: app.p.names[node] }));
		parts.push(make("p", { "class": "facts", id: "of-sums",
			text: "flat " + app.value(sums.flat[node]) + ", " + app.share(sums.flat[node]) +
				"; cum " + app.value(sums.cum[node]) + ", " + app.share(sums.cum[node]) }));
		parts.push(make("p", { "class": "facts", text: [app.p.files[node], app.p.objects[node]].filter(Boolean).join(" in ") }));
		parts.push(make("p", {}, [
			make("a", { href: app.address({ only: app.quoted(app.p.names[node]) }), text: "Only stacks with it" }), " \u00b7 ",
			make("a", { href: app.address({ without: app.quoted(app.p.names[node]) }), text: "Only stacks without it" })
		]));
		parts.push(make("h3", { text: "Callers" }), neighbour_table(app, "callers", near.callers));
		parts.push(make("h3", { text: "Callees" }), near.callees.length ? neighbour_table(app, "callees", near.callees) :
			make("p", { "class": "facts", text: "It calls nothing that allocated." }));
		if (lines)
			parts.push(make("h3", { text: "Lines" }),
				make("p", { "class": "facts", text: "Of all stacks: no filter applies to lines." }), lines_table(app, node, lines));
		parts.push(make("h3", { text: "Graph of its callees" }), app.graph("below", model.graph_callees(app.s, node)));
		parts.push(make("h3", { text: "Graph of its callers" }), app.graph("above", model.graph_callers(app.s, node)));
		return parts;
	}

	// ---- histograms ----

	// Rows of {key, value} with bars; TEXT(key) is the last column.
	function histogram(app, id, title, text, rows, sort) {
		return table([].concat(
			value_columns("value", "value", function (r) { return r.value; }, app),
			[{ id: "bar", title: "", make: function (r) { return bar(r.value, app.s.absolute); },
				compare: compare_sizes(function (r) { return r.value; }) },
			{ id: "key", title: title, is_name: true, text: function (r) { return text(r.key); },
				compare: compare_numbers(function (r) { return r.key; }) }]
		), rows.map(function (r, i) { return { order: i, key: r.key, value: r.value }; }),
		{ id: id, sort: app.state.sort || sort, sorted: function (sort) { app.set({ sort: sort }); } });
	}

	function sizes_view(app) {
		var rows = model.groups(app.s, "size");

		return [histogram(app, "sizes", "size of blocks, at most", function (size) { return model.value_text(size, { is_bytes: true, is_exact: app.state.exact }); },
			rows, { id: "key", is_up: true })];
	}

	function threads_view(app) {
		var rows = model.groups(app.s, "thread");

		return [histogram(app, "threads", "thread", function (key) {
			var thread = app.p.data.threads[key - 1];

			return (thread.tid ? thread.tid + " " : "") + thread.name;
		}, rows, { id: "value", is_up: false })];
	}

	window.page_views = {
		make: make,
		functions: functions_view,
		tree: tree_view,
		"function": function_view,
		sizes: sizes_view,
		threads: threads_view
	};
}());
