// The page around a flame graph: dark or light, and rows of the table that match what is searched for.
(function () {
	"use strict";
	document.getElementById("theme").addEventListener("click", function () {
		var root = document.documentElement;
		var is_dark = root.dataset.theme ? root.dataset.theme === "dark" :
			window.matchMedia("(prefers-color-scheme: dark)").matches;

		root.dataset.theme = is_dark ? "light" : "dark";
	});
	document.addEventListener("searched", function (e) {
		document.querySelectorAll("#functions tbody tr").forEach(function (row) {
			var is = !e.detail || e.detail.test(row.lastElementChild.textContent);

			row.classList[is ? "remove" : "add"]("away");
		});
	});
}());
