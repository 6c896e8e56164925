// curve: live bytes over time, with an area for each of the largest functions, drawn by uPlot.  A click selects a moment, a
// drag an interval.
(function () {
	"use strict";
	var model = window.page_model, make = window.page_views.make;
	var COLOURS = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#86bcb6", "#d37295"];
	var REST = "#bab0ac", HEIGHT = 260;

	function colour_of(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	}

	// "1.234 s", "2 min 3.4 s"
	function time_text(ns) {
		var s = ns / 1e9;

		return s < 60 ? s.toFixed(3) + " s" : Math.floor(s / 60) + " min " + (s % 60).toFixed(1) + " s";
	}

	// Distances of the lines with sizes: 1 B to 1 EiB.
	function powers_of_2() {
		var list = [];

		for (var i = 0; i <= 60; i++)
			list.push(Math.pow(2, i));
		return list;
	}

	// Lines for uPlot: the sums of the functions from the last one up, so that each area is drawn over the one above it.
	function stack(top) {
		var sums = [], sum = top.rest.map(function () { return 0; });

		top.functions.slice().reverse().forEach(function (f) {
			sum = sum.map(function (value, i) { return value + f.values[i]; });
			sums.unshift(sum);
		});
		return [top.rest.map(function (value, i) { return value + sum[i]; })].concat(sums);
	}

	// The curve of APP in an element; its moments are chosen with APP.set({at, from}).
	function Curve(app) {
		var curve = this, moments = app.p.data.moments;

		this.app = app;
		this.at = moments.at_ns;
		this.box = make("div", { id: "curve", "class": "curve" });
		this.says = make("p", { id: "moment", "class": "facts", "aria-live": "polite" });
		this.from = this.slider("from", "Growth since ");
		this.to = this.slider("at", "Moment ");
		this.element = make("section", { "aria-label": "Timeline" }, [
			this.box,
			make("p", { "class": "controls" }, [
				this.from.label, this.to.label,
				make("button", { id: "whole", text: "All of the recording",
					on: { click: function () { app.set({ at: "", from: "", zoom: "" }); } } })
			]),
			this.says
		]);
		this.top = model.top_over_time(app.p, COLOURS.length);
		window.addEventListener("resize", function () { curve.resize(); });
	}

	// A slider.  While it moves only its own value changes; the page follows when it is released.
	Curve.prototype.slider = function (name, title) {
		var curve = this, input = make("input", { id: name, type: "range", min: name === "from" ? -1 : 0,
			max: this.at.length - 1, on: { change: function () { curve.slide(); } } });

		return { input: input, label: make("label", { text: title }, [input]) };
	};

	Curve.prototype.slide = function () {
		var at = +this.to.input.value, from = +this.from.input.value;

		this.choose(from < at ? from : -1, at);
	};

	// Show the live memory at moment number AT, or its growth since number FROM, unless that is -1.
	Curve.prototype.choose = function (from, at) {
		this.app.set({ at: String(this.at[at]), from: from < 0 ? "" : String(this.at[from]), zoom: "" });
	};

	// The number of the moment at TEXT, a time in ns; -1: none.
	Curve.prototype.number = function (text) {
		return text === "" ? -1 : this.at.indexOf(+text);
	};

	Curve.prototype.series = function () {
		var app = this.app, top = this.top, list = [{ label: "time", value: function (u, x) { return x === null ? "" : time_text(x * 1e9); } }];

		function value(u, y) {
			return y === null || y === undefined ? "" : model.bytes_text(y);
		}

		list.push({ label: "other functions", fill: REST, stroke: REST, width: 0, points: { show: false },
			value: function (u, y, s, i) { return i === null ? "" : value(u, top.rest[i]); } });
		top.functions.forEach(function (f, k) {
			list.push({ label: app.p.names[f.node], fill: COLOURS[k], stroke: COLOURS[k], width: 0, points: { show: false },
				value: function (u, y, s, i) { return i === null ? "" : value(u, f.values[i]); } });
		});
		list.push({ label: "RSS", stroke: "#c0504d", width: 1.5, points: { show: false }, spanGaps: true, value: value });
		list.push({ label: "mapped", stroke: "#8064a2", width: 1.5, points: { show: false }, spanGaps: true, value: value });
		return list;
	};

	Curve.prototype.options = function (width) {
		var curve = this;

		function axis(more) {
			return Object.assign({ stroke: colour_of("--text"), grid: { stroke: colour_of("--line") }, ticks: { stroke: colour_of("--line") } }, more);
		}

		return {
			width: width,
			height: HEIGHT,
			series: this.series(),
			scales: { x: { time: false }, y: { range: function (u, least, most) { return [0, (most || 1) * 1.05]; } } },
			axes: [
				axis({ values: function (u, xs) { return xs.map(function (x) { return x + " s"; }); } }),
				axis({ size: 90, incrs: powers_of_2(), values: function (u, ys) { return ys.map(model.bytes_text); } })
			],
			cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false } },
			hooks: {
				setSelect: [function (u) { curve.selected(u); }],
				draw: [function (u) { curve.mark(u); }]
			}
		};
	};

	Curve.prototype.nearest = function (seconds) {
		var best = 0, at = this.at;

		at.forEach(function (ns, i) {
			if (Math.abs(ns / 1e9 - seconds) < Math.abs(at[best] / 1e9 - seconds))
				best = i;
		});
		return best;
	};

	// An interval was drawn with the mouse.
	Curve.prototype.selected = function (u) {
		var from, at;

		if (u.select.width < 3)
			return;
		from = this.nearest(u.posToVal(u.select.left, "x"));
		at = this.nearest(u.posToVal(u.select.left + u.select.width, "x"));
		this.was_drawn = true;
		u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
		if (from < at)
			this.choose(from, at);
	};

	// Mark the peak and the chosen moments.
	Curve.prototype.mark = function (u) {
		var c = u.ctx, state = this.app.state, curve = this, peak = 0;

		function line(number, colour, text) {
			var x = u.valToPos(curve.at[number] / 1e9, "x", true);

			c.fillStyle = c.strokeStyle = colour;
			c.lineWidth = 2;
			c.beginPath();
			c.moveTo(x, u.bbox.top);
			c.lineTo(x, u.bbox.top + u.bbox.height);
			c.stroke();
			c.textAlign = x < u.bbox.left + u.bbox.width / 2 ? "left" : "right";
			c.fillText(text, x + (c.textAlign === "left" ? 4 : -4), u.bbox.top + 12 * (window.devicePixelRatio || 1));
		}

		this.app.p.data.moments.live.forEach(function (bytes, i, all) {
			if (bytes > all[peak])
				peak = i;
		});
		c.save();
		c.font = 12 * (window.devicePixelRatio || 1) + "px sans-serif";
		line(peak, colour_of("--faint"), "peak");
		if (this.number(state.from) >= 0)
			line(this.number(state.from), colour_of("--link"), "from");
		if (this.number(state.at) >= 0)
			line(this.number(state.at), colour_of("--link"), this.number(state.from) >= 0 ? "to" : "moment");
		c.restore();
	};

	Curve.prototype.draw = function () {
		var moments = this.app.p.data.moments, curve = this, width = this.box.clientWidth;
		var known = function (value) { return value > 0 ? value : null; };

		if (this.plot)
			this.plot.destroy();
		this.plot = new window.uPlot(this.options(width),
			[this.at.map(function (ns) { return ns / 1e9; })].concat(stack(this.top), [moments.rss.map(known), moments.mapped.map(known)]),
			this.box);
		this.plot.over.addEventListener("click", function () {
			var drawn = curve.was_drawn;

			curve.was_drawn = false;
			if (!drawn && curve.plot.cursor.idx !== null)
				curve.choose(-1, curve.plot.cursor.idx);
		});
		this.box.dataset.moments = this.at.length;
	};

	Curve.prototype.resize = function () {
		if (this.plot && this.box.clientWidth)
			this.plot.setSize({ width: this.box.clientWidth, height: HEIGHT });
	};

	// Show the state of the page.
	Curve.prototype.show = function () {
		var at = this.number(this.app.state.at), from = this.number(this.app.state.from);

		if (!this.plot)
			this.draw();
		else
			this.plot.redraw(false);
		this.to.input.value = at < 0 ? this.at.length - 1 : at;
		this.from.input.value = from;
		this.says.textContent = at < 0 ? "Click a moment, or draw over an interval: the report below is of it. Now it is of the whole recording." :
			from < 0 ? "The report below is of " + time_text(this.at[at]) + "." :
			"The report below is of the growth from " + time_text(this.at[from]) + " to " + time_text(this.at[at]) + ".";
	};

	window.page_curve = { Curve: Curve, time_text: time_text };
}());
