// app: the state of the page, its controls, and its address, whose fragment (after #) has the view, the values and the search.
(function () {
	"use strict";
	var model = window.page_model, views = window.page_views, make = views.make;
	var TITLES = { graph: "Flame graph", callers: "Bottom-up", tree: "Tree", functions: "Table", "function": "Function",
		sizes: "Sizes", threads: "Threads" };
	// Parameters of the address, and their values if they are missing.
	var DEFAULTS = { view: "graph", value: "", search: "", only: "", without: "", of: "", zoom: "", sort: null, exact: false,
		at: "", from: "" };

	// ---- the address ----

	function state_of(hash) {
		var state = Object.assign({}, DEFAULTS);

		hash.replace(/^#/, "").split("&").forEach(function (part) {
			var at = part.indexOf("="), name = part.slice(0, at), text;

			if (at < 0 || !Object.prototype.hasOwnProperty.call(DEFAULTS, name))
				return;
			try {
				text = decodeURIComponent(part.slice(at + 1));
			} catch (e) { // not written by a page
				return;
			}
			if (name === "sort")
				state.sort = { id: text.replace(/^-/, ""), is_up: text[0] !== "-" };
			else
				state[name] = name === "exact" ? text === "1" : text;
		});
		if (!TITLES[state.view])
			state.view = DEFAULTS.view;
		return state;
	}

	function hash_of(state) {
		return "#" + Object.keys(DEFAULTS).filter(function (name) {
			return state[name] && state[name] !== DEFAULTS[name];
		}).map(function (name) {
			var value = state[name];

			if (name === "sort")
				value = (value.is_up ? "" : "-") + value.id;
			return name + "=" + encodeURIComponent(value === true ? "1" : value);
		}).join("&");
	}

	// ---- the page ----

	function App(data, box) {
		var app = this;

		this.p = model.decode(data);
		this.box = box;
		this.graphs = [];
		this.cache = {};
		this.build();
		window.addEventListener("hashchange", function () { app.follow(); });
		window.addEventListener("resize", function () { app.graphs.forEach(function (g) { g.draw(); }); });
		document.addEventListener("keydown", function (e) { app.key(e); });
		this.follow();
	}

	// The types of values that can be shown: those of the file; at a moment, the live bytes and blocks.
	App.prototype.types = function () {
		var time = window.page_curve.time_text, at = +this.state.at, from = this.state.from;
		var words = from ? " more than at " + time(+from) : " in use at " + time(at);

		return this.moment < 0 ? this.p.data.types : [
			{ name: "bytes", unit: "bytes", text: "bytes" + words },
			{ name: "blocks", unit: "count", text: "blocks" + words }
		];
	};

	App.prototype.type = function () {
		var value = this.state.value, found = this.types().findIndex(function (t) { return t.name === value; });

		return found >= 0 ? found : this.moment < 0 ? this.p.data.type : 0;
	};

	App.prototype.values_of = function (type) {
		return this.moment < 0 ? this.p.data.samples.values[type] :
			model.moment_values(this.p, this.types()[type].name, this.since, this.moment);
	};

	// The value of NAME in the cache if it was made for KEY; otherwise MAKE(), which replaces it.
	App.prototype.kept = function (name, key, make) {
		var old = this.cache[name];

		if (!old || old.key !== key)
			this.cache[name] = old = { key: key, value: make() };
		return old.value;
	};

	App.prototype.follow = function () {
		var app = this, type, filter, key;

		this.state = state_of(location.hash);
		this.moment = this.curve ? this.curve.number(this.state.at) : -1;
		this.since = this.moment < 0 ? -1 : this.curve.number(this.state.from);
		this.is_difference = this.p.data.base !== null || this.since >= 0;
		type = this.type();
		filter = this.state.only + "\n" + this.state.without;
		key = [type, this.since, this.moment, filter].join("\n");
		this.samples = this.kept("samples", filter, function () {
			return model.keeps(app.p, app.state.only, app.state.without);
		});
		this.s = this.kept("sums", key, function () { return model.sums(app.p, app.values_of(type), app.samples); });
		this.key_of_sums = key;
		this.shown_type = type;
		this.how = { is_bytes: this.types()[type].unit === "bytes", is_exact: this.state.exact,
			is_difference: this.is_difference };
		this.show();
	};

	App.prototype.functions = function () {
		var app = this;

		return this.kept("functions", this.key_of_sums, function () { return model.functions(app.s); });
	};

	App.prototype.graph_down = function () {
		var app = this;

		return this.kept("down", this.key_of_sums, function () { return model.graph_down(app.s); });
	};

	App.prototype.graph_up = function () {
		var app = this;

		return this.kept("up", this.key_of_sums, function () { return model.graph_up(app.s); });
	};

	// For each node, 1 if the search finds it; null without a search.
	App.prototype.found = function () {
		var app = this;

		return this.kept("found", this.state.search, function () {
			return app.state.search ? model.matches(app.p, model.expression(app.state.search)) : null;
		});
	};

	App.prototype.is_found = function (frame) {
		var found = this.found();

		return !!(found && frame.node >= 0 && found[frame.node]);
	};

	App.prototype.value = function (value) {
		return model.value_text(value, this.how);
	};

	App.prototype.share = function (value) {
		return model.share_text(value, this.s.absolute);
	};

	App.prototype.sort = function () {
		return this.state.sort || { id: this.p.data.by_cum ? "cum" : "flat", is_up: false };
	};

	// The address of the page with CHANGES to its state.
	App.prototype.address = function (changes) {
		return hash_of(Object.assign({}, this.state, changes));
	};

	// A regular expression that finds NAME only.
	App.prototype.quoted = function (name) {
		return "^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
	};

	// Change the state, as an entry of the history unless it is being typed.
	App.prototype.set = function (changes, is_typed) {
		var hash = this.address(changes);

		if (hash === location.hash || (hash === "#" && !location.hash))
			return;
		if (is_typed) {
			history.replaceState(null, "", hash);
			this.follow();
		} else {
			location.hash = hash;
		}
	};

	// ---- controls ----

	App.prototype.input = function (name, title, hint) {
		var app = this;

		return make("label", { text: title + " " }, [make("input", { id: name, type: "search", size: 24, placeholder: hint,
			autocomplete: "off", spellcheck: "false",
			on: { input: function (e) {
				var change = {};

				change[name] = e.target.value;
				app.set(change, true);
			} } })]);
	};

	App.prototype.build = function () {
		var app = this, data = this.p.data;

		this.tabs = make("nav", { role: "tablist", "aria-label": "Views" });
		Object.keys(TITLES).forEach(function (view) {
			if ((view === "sizes" && !data.samples.size.some(Boolean)) || (view === "threads" && !data.threads.length))
				return;
			app.tabs.append(make("a", { role: "tab", id: "tab-" + view, text: TITLES[view] }));
		});
		this.values = make("select", { id: "value", on: { change: function (e) { app.set({ value: e.target.value }); } } });
		this.total = make("p", { id: "total", "class": "facts" });
		this.spoken = make("p", { "class": "spoken", role: "status" });
		this.main = make("main", { id: "view" });
		if (data.moments && data.moments.at_ns.length > 1) {
			this.curve = new window.page_curve.Curve(this);
			this.box.append(this.curve.element);
		}
		this.box.append(
			make("p", { "class": "controls" }, [
				make("label", { text: "Values " }, [this.values]),
				this.input("search", "Search", "regular expression"),
				this.input("only", "Only stacks with", "regular expression"),
				this.input("without", "Without", "regular expression"),
				make("label", {}, [make("input", { id: "exact", type: "checkbox",
					on: { change: function (e) { app.set({ exact: e.target.checked }); } } }), " exact"]),
				make("button", { id: "theme", text: "dark or light", on: { click: function () { app.turn(); } } })
			]),
			this.tabs, this.total, this.spoken, this.main
		);
	};

	App.prototype.turn = function () {
		var root = document.documentElement;
		var is_dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

		root.dataset.theme = is_dark ? "light" : "dark";
		this.graphs.forEach(function (g) { g.draw(); });
		if (this.curve)
			this.curve.draw();
	};

	App.prototype.key = function (e) {
		var tabs = Array.from(this.tabs.children), i;

		if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName))
			return;
		if (e.key === "/") {
			document.getElementById("search").focus();
		} else if (e.key >= "1" && e.key <= String(tabs.length)) {
			tabs[+e.key - 1].click();
		} else if (e.target.getAttribute && e.target.getAttribute("role") === "tab" && /^Arrow(Left|Right)$/.test(e.key)) {
			i = tabs.indexOf(e.target) + (e.key === "ArrowLeft" ? -1 : 1);
			if (tabs[i])
				tabs[i].focus();
		} else {
			return;
		}
		e.preventDefault();
	};

	// ---- showing ----

	App.prototype.name = function (frame) {
		return frame.node < 0 ? "all" : this.p.names[frame.node];
	};

	App.prototype.describe = function (frame) {
		return this.name(frame) + "\n" + this.value(frame.value) + ", " + this.share(frame.value) +
			(frame.self ? "; itself " + this.value(frame.self) : "");
	};

	// An element with the graph of ROOT; ID is that of the element.
	App.prototype.graph = function (id, root) {
		var app = this, box = make("div", { "class": "graph", id: id }), graph;

		graph = new window.page_graph.Graph(box, {
			name: function (f) { return app.name(f); },
			describe: function (f) { return app.describe(f); },
			is_found: function (f) { return app.is_found(f); },
			is_difference: this.is_difference,
			changed: function () {
				if (id === "graph")
					app.set({ zoom: graph.zoomed_nodes().join(".") });
			},
			open: function (f) {
				if (f.node >= 0)
					app.set({ view: "function", of: app.p.names[f.node] });
			}
		});
		graph.root = root;
		graph.zoomed = [root];
		this.graphs.push(graph);
		return box;
	};

	// A legend of the colours of a difference.
	App.prototype.scale = function () {
		return make("p", { "class": this.is_difference ? "facts" : "away" }, [
			"shrunk ", make("span", { "class": "scale" }), " grown; the width is the sum of all changes"
		]);
	};

	// The parts of a view that is one graph.  They stay while it is zoomed and searched, so that a second click finds them.
	App.prototype.show_graph = function (root) {
		var app = this, kept = this.kept("graph", this.state.view + "\n" + this.key_of_sums, function () {
			return {
				parts: [app.graph("graph", root), app.scale(), make("p", { "class": "facts",
					text: "Click: zoom in. Double click or F: the function. Arrow keys, Enter and Escape work, too. /: search. 1 to 7: the views." })],
				graph: app.graphs.pop()
			};
		});

		this.graphs.push(kept.graph);
		kept.graph.zoomed = kept.graph.path_of_nodes(this.state.zoom ? this.state.zoom.split(".").map(Number) : []);
		return kept.parts;
	};

	// "1.2 GiB of 3 GiB, bytes in use, in 12 stacks; 3 functions match: 40 %"
	App.prototype.show_total = function () {
		var words = this.p.data.words, found = this.found(), text = this.types()[this.shown_type].text + ": " + this.value(this.s.total);

		if (this.moment < 0)
			text += " of " + this.value(this.p.data.totals[this.shown_type]);
		text += " in " + this.s.nr_stacks + " " + (this.s.nr_stacks === 1 ? words.stacks.replace(/s$/, "") : words.stacks);
		if (found)
			text += "; " + found.reduce(function (a, b) { return a + b; }, 0) + " found, " +
				this.share(model.matching(this.s, found));
		this.total.textContent = text;
		this.speak(text);
		this.total.dataset.total = this.s.total;
	};

	// Give TEXT to a screen reader once no key has changed it for a while.
	App.prototype.speak = function (text) {
		var spoken = this.spoken;

		clearTimeout(this.speaking);
		this.speaking = setTimeout(function () { spoken.textContent = text; }, 700);
	};

	App.prototype.show_controls = function () {
		var app = this;

		["search", "only", "without"].forEach(function (name) {
			var input = document.getElementById(name);

			if (input.value !== app.state[name])
				input.value = app.state[name];
		});
		document.getElementById("exact").checked = this.state.exact;
		this.values.replaceChildren.apply(this.values, this.types().map(function (t) {
			return make("option", { value: t.name, text: t.text });
		}));
		this.values.value = this.types()[this.shown_type].name;
		Array.from(this.tabs.children).forEach(function (tab) {
			var view = tab.id.slice(4), is = view === app.state.view;

			tab.setAttribute("aria-selected", is);
			tab.tabIndex = is ? 0 : -1;
			tab.href = app.address({ view: view, zoom: "", sort: null });
		});
	};

	App.prototype.show = function () {
		var parts, focus = document.activeElement && document.activeElement.id, again;

		this.graphs = [];
		this.show_controls();
		this.show_total();
		if (this.state.view === "graph")
			parts = this.show_graph(this.graph_down());
		else if (this.state.view === "callers")
			parts = this.show_graph(this.graph_up());
		else
			parts = views[this.state.view](this);
		if (this.main.firstChild !== parts[0])
			this.main.replaceChildren.apply(this.main, parts);
		this.graphs.forEach(function (g) { g.draw(); });
		if (this.curve)
			this.curve.show();
		again = focus && document.getElementById(focus);
		if (again && document.activeElement !== again)
			again.focus();
		document.documentElement.dataset.shown = location.hash;
		document.documentElement.dataset.ready = this.state.view;
	};

	// ---- the data ----

	// The text of the compressed data, which the page has as base64.
	function inflate(text) {
		var packed = atob(text.trim()), bytes = new Uint8Array(packed.length), i;

		for (i = 0; i < packed.length; i++) // Uint8Array.from() takes a second for 6 MB
			bytes[i] = packed.charCodeAt(i);
		return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
	}

	inflate(document.querySelector("script.profile").textContent).then(function (data) {
		window.page_app = new App(data, document.getElementById("report"));
		performance.mark("page-shown");
	}).catch(function (e) {
		document.getElementById("report").append(make("p", { "class": "error", text: "This browser cannot show the page: " + e.message }));
		document.documentElement.dataset.ready = "failed";
	});
}());
