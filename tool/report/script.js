// Raw samples: points of one arm over the blocks, zoomable by dragging, buttons and keys.
(function () {
	"use strict";
	var NS = "http://www.w3.org/2000/svg";

	function make(parent, name, attributes, text) {
		var e = document.createElementNS(NS, name), k;
		for (k in attributes)
			e.setAttribute(k, attributes[k]);
		if (text !== undefined)
			e.textContent = text;
		parent.appendChild(e);
		return e;
	}

	function steps(low, high) {
		var span = high - low || 1, raw = span / 4;
		var unit = Math.pow(10, Math.floor(Math.log10(raw)));
		var step = [1, 2, 5, 10].map(function (k) {
			return k * unit;
		}).find(function (s) {
			return s >= raw;
		});
		var list = [], x;
		for (x = Math.ceil(low / step) * step; x <= high + 1e-9 * span; x += step)
			list.push(x);
		return list;
	}

	function number(x) {
		return Math.abs(x) >= 1e5 ? x.toExponential(2) : String(Math.round(x * 100) / 100);
	}

	function view(box) {
		var arms = JSON.parse(box.querySelector("script").textContent);
		var pick = box.querySelector("select"), svg = box.querySelector("svg");
		var say = box.querySelector("[role=status]");
		var from = 0, to = 1, x0 = null, rest;
		var width = 700, height = 240, left = 58, right = 20, bottom = 24;

		arms.forEach(function (arm, i) {
			var o = document.createElement("option");
			o.value = i;
			o.textContent = arm.name;
			pick.appendChild(o);
		});

		function draw() {
			var arm = arms[pick.value || 0], y = arm.y, d = "";
			var shown, sorted, low, high, i, v, last;
			width = Math.max(280, svg.clientWidth || 700);
			svg.setAttribute("viewBox", "0 0 " + width + " " + height);
			while (svg.lastChild && svg.lastChild.nodeName !== "title")
				svg.removeChild(svg.lastChild);
			shown = y.slice(Math.floor(from), Math.ceil(to)).filter(function (a) {
				return a !== null;
			});
			if (!shown.length)
				return;
			sorted = shown.slice().sort(function (a, b) { return a - b; });
			low = sorted[0];
			high = sorted[sorted.length - 1];
			/* The whole view shows the bulk; zooming in shows what is there. */
			if (to - from === y.length && sorted.length > 50) {
				low = sorted[Math.floor(sorted.length * 0.01)];
				high = sorted[Math.floor(sorted.length * 0.98)];
			}
			v = (high - low) * 0.08 || 1;
			low -= v;
			high += v;
			function px(x) {
				return left + (x - from) / (to - from) * (width - left - right);
			}
			function py(a) {
				var room = height - bottom - 8;
				return height - bottom - (a - low) / (high - low) * room;
			}
			steps(low, high).forEach(function (a) {
				make(svg, "line", {class: "grid", x1: left, x2: width - right,
					y1: py(a), y2: py(a)});
				make(svg, "text", {class: "t e", x: left - 6, y: py(a) + 4},
					number(a));
			});
			steps(from, to).forEach(function (x) {
				make(svg, "text", {class: "t m", x: px(x), y: height - 6},
					number(x));
			});
			last = Math.min(y.length, Math.ceil(to));
			for (i = Math.max(0, Math.floor(from)); i < last; i++)
				if (y[i] !== null && y[i] >= low && y[i] <= high)
					d += "M" + px(i + 0.5).toFixed(1) + " " +
						py(y[i]).toFixed(1) + "h.01";
			make(svg, "path", {d: d, class: "c1", fill: "none",
				"stroke-linecap": "round",
				"stroke-width": to - from > 1500 ? 1.6 : 3});
			rest = shown.length - d.split("M").length + 1;
			say.textContent = arm.name + ", blocks " + Math.floor(from) + " to " +
				Math.ceil(to) + ": median " +
				number(sorted[Math.floor(sorted.length / 2)]) + " " + arm.unit +
				(rest > 0 ? "; " + rest + " points lie outside" : "");
		}

		function set(a, b) {
			var n = arms[pick.value || 0].y.length;
			var span = Math.min(n, Math.max(8, b - a));
			from = Math.max(0, Math.min(a, n - span));
			to = from + span;
			draw();
		}

		function act(what) {
			var middle = (from + to) / 2, span = to - from;
			if (what === "in") set(middle - span / 4, middle + span / 4);
			if (what === "out") set(middle - span, middle + span);
			if (what === "left") set(from - span / 4, to - span / 4);
			if (what === "right") set(from + span / 4, to + span / 4);
			if (what === "all") set(0, Infinity);
		}

		function block(e) {
			var r = svg.getBoundingClientRect();
			var x = (e.clientX - r.left) / r.width * width;
			return from + (x - left) / (width - left - right) * (to - from);
		}

		box.querySelectorAll("button").forEach(function (b) {
			b.addEventListener("click", function () { act(b.dataset.do); });
		});
		svg.addEventListener("keydown", function (e) {
			var what = {"+": "in", "=": "in", "-": "out", ArrowLeft: "left",
				ArrowRight: "right", "0": "all", Home: "all"}[e.key];
			if (!what)
				return;
			e.preventDefault();
			act(what);
		});
		svg.addEventListener("pointerdown", function (e) { x0 = block(e); });
		svg.addEventListener("pointerup", function (e) {
			var x1 = block(e);
			if (x0 !== null && Math.abs(x1 - x0) > (to - from) / 100)
				set(Math.min(x0, x1), Math.max(x0, x1));
			x0 = null;
		});
		svg.addEventListener("dblclick", function () { act("all"); });
		pick.addEventListener("change", function () { act("all"); });
		window.addEventListener("resize", draw);
		act("all");
	}

	document.querySelectorAll(".samples").forEach(view);
}());
