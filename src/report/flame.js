// Zoom and search of a flame graph, in an SVG file.  Names are read from the graph and written as text only.
// A graph opens with what stands behind # in its address: s=EXPRESSION searches, z=NUMBER zooms into a frame.
(function () {
	"use strict";
	var svg, frames = [], width, zoomed = null;

	function read(g) {
		return {
			g: g,
			x: +g.getAttribute("data-x"),
			w: +g.getAttribute("data-w"),
			d: +g.getAttribute("data-d"),
			name: g.querySelector("title").textContent.split("\n")[0],
			rect: g.querySelector("rect"),
			text: g.querySelector("text")
		};
	}

	function mark(f, word, is) {
		f.g.classList[is ? "add" : "remove"](word);
	}

	// As much of the name as fits: a character is 7 pixels wide.
	function place(f, x, w) {
		var room = Math.floor((w - 6) / 7);

		f.rect.setAttribute("x", x);
		f.rect.setAttribute("width", Math.max(w - 0.5, 0.1));
		f.text.setAttribute("x", x + 3);
		f.text.textContent = room < 3 ? "" : f.name.length <= room ? f.name : f.name.slice(0, room - 1) + "\u2026";
	}

	function zoom(to) {
		var scale = width / to.w, end = to.x + to.w;

		zoomed = to;
		frames.forEach(function (f) {
			var holds = f.x <= to.x + 0.01 && f.x + f.w >= end - 0.01;
			var within = f.x >= to.x - 0.01 && f.x + f.w <= end + 0.01;
			var above = f.d < to.d && holds;

			mark(f, "above", above);
			mark(f, "away", !above && !(f.d >= to.d && within));
			if (above)
				place(f, 0, width);
			else if (f.d >= to.d && within)
				place(f, (f.x - to.x) * scale, f.w * scale);
		});
		var reset = svg.getElementById("reset");
		if (reset)
			reset.classList[to.d ? "remove" : "add"]("away");
	}

	// What matches, as a share of the whole; calls of each other count once.
	function share(found) {
		var sum = 0, end = 0;

		found.sort(function (a, b) { return a.x - b.x; }).forEach(function (f) {
			sum += Math.max(f.x + f.w - Math.max(f.x, end), 0);
			end = Math.max(end, f.x + f.w);
		});
		return width ? 100 * sum / width : 0;
	}

	function search(expression) {
		var match = null, found, says = svg.getElementById("matched");

		if (expression) {
			try {
				match = new RegExp(expression);
			} catch (e) { // as it stands, then
				match = { test: function (name) { return name.indexOf(expression) >= 0; } };
			}
		}
		found = frames.filter(function (f) {
			var is = match !== null && match.test(f.name);

			mark(f, "found", is);
			return is;
		});
		says.textContent = match ? found.length + " found, " + share(found).toFixed(1) + "%" : "";
	}

	function follow_address() {
		location.hash.slice(1).split("&").forEach(function (part) {
			var value = decodeURIComponent(part.slice(2));

			if (part.slice(0, 2) === "s=")
				search(value);
			else if (part.slice(0, 2) === "z=" && frames[+value])
				zoom(frames[+value]);
		});
	}

	function begin() {
		svg = document.querySelector("svg.flame");
		frames = Array.prototype.map.call(svg.querySelectorAll("g.frame"), read);
		if (!frames.length)
			return;
		width = frames[0].w;
		frames.forEach(function (f) {
			f.g.addEventListener("click", function () { zoom(f); });
		});
		svg.getElementById("reset").addEventListener("click", function () { zoom(frames[0]); });
		svg.getElementById("search").addEventListener("click", function () {
			search(prompt("Search for (regular expression):") || "");
		});
		document.addEventListener("keydown", function (e) {
			if (e.key === "Escape" && zoomed)
				zoom(frames[0]);
		});
		window.addEventListener("hashchange", follow_address);
		follow_address();
		svg.setAttribute("data-ready", frames.length);
	}

	if (document.readyState === "loading")
		document.addEventListener("DOMContentLoaded", begin);
	else
		begin();
}());
