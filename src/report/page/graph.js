// graph: a graph of frames on a canvas, the root above.  It draws what is wide enough to be seen: a frame's children are
// made when it is drawn, so a page with 200,000 stacks opens at once.
(function () {
	"use strict";
	var ROW = 18, LEAST_WIDTH = 0.4, MAX_HEIGHT = 16000;

	// A number of 32 bits from a name, for its colour (FNV-1a).
	function hash(name) {
		var h = 2166136261;

		for (var i = 0; i < name.length; i++)
			h = Math.imul(h ^ name.charCodeAt(i), 16777619);
		return (h ^ h >>> 15) >>> 0;
	}

	// Green shades, usual for memory; of a difference, red for growth and blue for shrinkage.
	function colour(frame, name, is_difference) {
		var h = hash(name), share;

		if (!is_difference)
			return "rgb(" + (80 + h % 80) + "," + (185 + (h >>> 8) % 50) + "," + (80 + (h >>> 16) % 70) + ")";
		share = frame.size ? frame.value / frame.size : 0;
		return share >= 0 ? "rgb(255," + Math.round(235 - 145 * share) + "," + Math.round(235 - 145 * share) + ")" :
			"rgb(" + Math.round(235 + 145 * share) + "," + Math.round(235 + 145 * share) + ",255)";
	}

	// A graph in the element BOX.  HOW: {name(frame), describe(frame), is_found(frame), is_difference, changed(), open(frame)}.
	function Graph(box, how) {
		var graph = this;

		this.box = box;
		this.how = how;
		this.canvas = document.createElement("canvas");
		this.canvas.id = box.id + "-canvas";
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute("role", "img");
		this.tip = document.createElement("div");
		this.tip.className = "tip away";
		this.tip.setAttribute("role", "status");
		box.append(this.canvas, this.tip);
		this.places = []; // {frame, x, width, row} of what is drawn
		this.zoomed = []; // the frames from the root to the one that has the whole width
		this.selected = null;
		this.canvas.addEventListener("mousemove", function (e) { graph.point(e); });
		this.canvas.addEventListener("mouseleave", function () { graph.show_tip(null); });
		this.canvas.addEventListener("click", function (e) {
			var place = graph.place_at(e);

			if (place)
				graph.zoom(graph.path_of(place));
		});
		this.canvas.addEventListener("dblclick", function (e) {
			var place = graph.place_at(e);

			if (place)
				how.open(place.frame);
		});
		this.canvas.addEventListener("keydown", function (e) { graph.key(e); });
		this.canvas.addEventListener("blur", function () { graph.show_tip(null); });
	}

	// The frames by their nodes from the root, as far as they exist.
	Graph.prototype.path_of_nodes = function (nodes) {
		var path = [this.root];

		nodes.every(function (node) {
			var found = path[path.length - 1].children().find(function (f) { return f.node === node; });

			if (found)
				path.push(found);
			return found;
		});
		return path;
	};

	Graph.prototype.zoomed_nodes = function () {
		return this.zoomed.slice(1).map(function (f) { return f.node; });
	};

	Graph.prototype.zoom = function (path) {
		this.zoomed = path;
		this.draw();
		this.how.changed();
	};

	// ---- drawing ----

	// Find the places of all frames: those above the zoomed one have the whole width.
	Graph.prototype.place = function (width) {
		var places = [], rows = 0, last = Math.floor(MAX_HEIGHT / ROW);

		function add(frame, x, w, row, above) {
			var place = { frame: frame, x: x, width: w, row: row, above: above, parent: null };

			places.push(place);
			rows = Math.max(rows, row + 1);
			return place;
		}

		function add_children(of) {
			var scale = of.frame.size ? of.width / of.frame.size : 0, x = of.x;

			if (of.row + 1 >= last)
				return;
			of.frame.children().every(function (frame) {
				var w = frame.size * scale, place;

				// They are sorted: the others are narrower.
				if (w < LEAST_WIDTH)
					return false;
				place = add(frame, x, w, of.row + 1, false);
				place.parent = of;
				add_children(place);
				x += w;
				return true;
			});
		}

		this.zoomed.forEach(function (frame, i, all) {
			var place = add(frame, 0, width, i, i + 1 < all.length);

			place.parent = places[places.length - 2] || null;
			if (!place.above)
				add_children(place);
		});
		this.places = places;
		return rows;
	};

	// Place and draw all frames.
	Graph.prototype.draw = function () {
		this.width = this.box.clientWidth;
		if (!this.width)
			return;
		this.rows = this.place(this.width);
		this.selected = null;
		this.paint();
	};

	// Draw what is placed.
	Graph.prototype.paint = function () {
		var graph = this, width = this.width, rows = this.rows, c = this.canvas.getContext("2d"), character;
		var text = getComputedStyle(document.documentElement).getPropertyValue("--text");
		var dots = Math.min(window.devicePixelRatio || 1, 32000 / (rows * ROW + 2));

		this.canvas.width = Math.round(width * dots);
		this.canvas.height = Math.round((rows * ROW + 2) * dots);
		this.canvas.style.width = width + "px";
		this.canvas.style.height = rows * ROW + 2 + "px";
		c.scale(dots, dots);
		c.font = "12px monospace";
		c.textBaseline = "middle";
		character = c.measureText("m").width;
		this.places.forEach(function (place) {
			var name = graph.how.name(place.frame), room = Math.floor((place.width - 6) / character);
			var y = place.row * ROW;

			c.globalAlpha = place.above ? 0.5 : 1;
			c.fillStyle = graph.how.is_found(place.frame) ? "#e060e0" : colour(place.frame, name, graph.how.is_difference);
			c.fillRect(place.x, y, Math.max(place.width - 0.5, 0.3), ROW - 1);
			if (graph.selected === place) {
				c.strokeStyle = text;
				c.lineWidth = 2;
				c.strokeRect(place.x + 1, y + 1, Math.max(place.width - 2.5, 1), ROW - 3);
			}
			if (room < 3)
				return;
			c.fillStyle = "#000";
			c.fillText(name.length <= room ? name : name.slice(0, room - 1) + "\u2026", place.x + 3, y + ROW / 2);
		});
		this.canvas.setAttribute("aria-label", this.how.describe(this.zoomed[this.zoomed.length - 1]));
		this.canvas.dataset.frames = this.places.length;
	};

	// ---- the mouse ----

	Graph.prototype.place_at = function (e) {
		var r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, row = Math.floor((e.clientY - r.top) / ROW);

		return this.places.find(function (p) { return p.row === row && x >= p.x && x < p.x + p.width; }) || null;
	};

	Graph.prototype.path_of = function (place) {
		var path = [];

		for (; place; place = place.parent)
			path.unshift(place.frame);
		return path;
	};

	Graph.prototype.show_tip = function (place) {
		var r, width;

		this.tip.classList.toggle("away", !place);
		if (!place)
			return;
		this.tip.textContent = this.how.describe(place.frame);
		r = this.canvas.getBoundingClientRect();
		width = this.tip.offsetWidth;
		this.tip.style.left = Math.max(0, Math.min(r.left + place.x, window.innerWidth - width - 8)) + "px";
		this.tip.style.top = Math.min(r.top + (place.row + 1) * ROW + 4, window.innerHeight - this.tip.offsetHeight - 4) + "px";
	};

	Graph.prototype.point = function (e) {
		var place = this.place_at(e);

		this.canvas.classList.toggle("on", !!place);
		this.show_tip(place);
	};

	// ---- the keyboard ----

	// The next place from FROM: in its row to the left or right, its caller, its largest callee.
	Graph.prototype.next = function (from, key) {
		var row = this.places.filter(function (p) { return p.row === from.row; })
			.sort(function (a, b) { return a.x - b.x; });
		var i = row.indexOf(from);

		switch (key) {
		case "ArrowLeft":
			return row[i - 1];
		case "ArrowRight":
			return row[i + 1];
		case "ArrowUp":
			return from.parent;
		default:
			return this.places.find(function (p) { return p.parent === from; });
		}
	};

	Graph.prototype.key = function (e) {
		var from = this.selected || this.places[this.zoomed.length - 1], to;

		if (e.ctrlKey || e.altKey || e.metaKey)
			return;
		if (e.key === "Enter" || e.key === " ") {
			this.zoom(this.path_of(from));
		} else if (e.key === "Escape") {
			this.zoom([this.root]);
		} else if (e.key === "f") {
			this.how.open(from.frame);
		} else if (e.key.slice(0, 5) === "Arrow") {
			to = this.selected ? this.next(from, e.key) : from;
			this.selected = to || from;
		} else {
			return;
		}
		e.preventDefault();
		this.paint();
		this.show_tip(this.selected);
	};

	window.page_graph = { Graph: Graph };
}());
