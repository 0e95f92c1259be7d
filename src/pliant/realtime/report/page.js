// The sections of the page: eigenvalues, runs, errors, criteria, timing, windows.

// --------------------------------------------------------------------------------------------- eigenvalues

class Plane {
  constructor() {
    this.box = $("eigen-chart");
    this.slider = $("eigen-time");
    this.points = data.eigen.points;
    this.slider.max = Math.max(0, this.points.length - 1);
    this.slider.value = data.eigen.first;
    this.chosen = -1;
    this.width = 1;
    this.slider.addEventListener("input", () => this.load());
    this.box.addEventListener("pointermove", (event) => this.onMove(event));
    this.box.addEventListener("pointerdown", (event) => this.onMove(event));
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => { if (Math.abs(this.box.clientWidth - this.side) > 1) this.render(); }).observe(this.box);
    this.zoomButtons();
    this.legend();
    this.load();
  }

  zoomButtons() {
    const parts = [["whole circle", 0], ["near 1: ± 0.1", 0.1], ["± 0.01", 0.01], ["± 0.001", 0.001],
      ["around the chosen one", -1]];
    const buttons = parts.map(([text, width], k) => {
      const button = make("button", {type: "button", "aria-pressed": String(k === 0)}, text);
      button.addEventListener("click", () => {
        this.near = width;
        buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
        this.render();
      });
      return button;
    });
    this.near = 0;
    $("eigen-zoom").replaceChildren(...buttons);
  }

  legend() {
    const ring = draw("circle", {cx: 8, cy: 8, r: 5, class: "ring"});
    const cross = draw("path", {d: "M4 4L12 12M12 4L4 12", class: "cross"});
    const disc = draw("circle", {cx: 8, cy: 8, r: 7, class: "allowed"});
    $("eigen-legend").replaceChildren(...[[ring, "with all entries"], [cross, "with the pattern"],
      [disc, "allowed change of the chosen one"]].map(([shape, text]) => make("li", {},
      draw("svg", {width: 16, height: 16, viewBox: "0 0 16 16", class: "sample", "aria-hidden": "true"}, shape),
      text)));
  }

  load() {
    const point = this.points[Number(this.slider.value)], pairs = (list) => {
      const out = [];
      for (let k = 0; k < list.length; k += 2) out.push([list[k], list[k + 1]]);
      return out;
    };
    if (!point) return;
    const before = pairs(point.before), after = point.after ? pairs(point.after) : null;
    this.values = before.map(([d, im], k) => {
      const modulus = Math.hypot(1 - d, im), margin = (2 * d - d * d - im * im) / (1 + modulus);
      const limit = (1 - data.eigen.theta) * Math.max(margin, 0) + data.eigen.slack;
      const moved = after ? Math.hypot(after[k][0] - d, after[k][1] - im) : null;
      return {before: [d, im], after: after && after[k], margin, limit, moved, share: after ? moved / limit : Infinity};
    });
    this.ranked = this.values.map((_, k) => k).sort((a, b) => this.values[b].share - this.values[a].share || a - b);
    const name = data.scenarios.length > 1 ? data.scenarios[point.scenario] + ", " : "";
    $("eigen-label").textContent = name + "t = " + show(point.time, 5) + " s ("
      + (Number(this.slider.value) + 1) + " of "
      + this.points.length + ")";
    this.chosen = this.ranked.length ? this.ranked[0] : -1;
    this.render();
    this.tell();
  }

  // x from d = 1 - Re, so that the neighbourhood of one keeps its digits
  px(d) { return this.side * (this.d0 - d) / this.span; }

  py(im) { return this.side * (0.5 - (im - this.i0) / this.span); }

  render() {
    if (!this.values) return;
    const side = this.side = Math.max(220, this.box.clientWidth);
    let far = 1.08;
    for (const one of this.values) for (const z of [one.before, one.after])
      if (z && z[0] !== null) far = Math.max(far, 1.05 * Math.abs(1 - z[0]), 1.05 * Math.abs(z[1]));
    const one = this.values[this.chosen];
    this.i0 = 0;
    if (this.near < 0 && one) {  // the disc fills the picture
      this.span = 2.6 * Math.max(one.limit, one.moved || 0);
      this.d0 = one.before[0] + this.span / 2;
      this.i0 = one.before[1];
    } else {
      this.span = this.near > 0 ? 2 * this.near : 2 * far;
      this.d0 = this.near > 0 ? 1.8 * this.near : 1 + far;
    }
    const svg = this.svg = draw("svg", {viewBox: `0 0 ${side} ${side}`, width: "100%", role: "img"});
    svg.append(draw("clipPath", {id: "clip-plane"}, draw("rect", {x: 0, y: 0, width: side, height: side})));
    const inside = draw("g", {"clip-path": "url(#clip-plane)"});
    svg.append(inside);
    this.background(inside);
    this.disc = draw("g", {});
    inside.append(this.disc);
    for (const one of this.values) if (one.after) inside.append(draw("line",
      {x1: this.px(one.before[0]), y1: this.py(one.before[1]), x2: this.px(one.after[0]), y2: this.py(one.after[1]),
        class: "moved"}));
    for (const one of this.values) {
      const x = this.px(one.before[0]), y = this.py(one.before[1]);
      if (this.isSeen(x, y)) inside.append(draw("circle", {cx: x.toFixed(1), cy: y.toFixed(1), r: 5, class: "ring"}));
    }
    for (const one of this.values) if (one.after) {
      const x = this.px(one.after[0]), y = this.py(one.after[1]);
      if (this.isSeen(x, y)) inside.append(draw("path",
        {d: `M${(x - 4).toFixed(1)} ${(y - 4).toFixed(1)}l8 8m0 -8l-8 8`, class: "cross"}));
    }
    svg.append(draw("rect", {x: 0.5, y: 0.5, width: side - 1, height: side - 1, class: "frame"}));
    this.box.replaceChildren(svg);
    this.paintChosen();
  }

  isSeen(x, y) { return x > -10 && y > -10 && x < this.side + 10 && y < this.side + 10; }

  background(group) {
    const {side, span} = this, low = this.i0 - span / 2, high = this.i0 + span / 2;
    // the part of the circle with Re > 0 that is in sight, or all of it
    const isWhole = this.near === 0, clip = (v) => Math.max(-1, Math.min(1, v));
    const from = isWhole ? -Math.PI : Math.asin(clip(low - 0.05 * span));
    const to = isWhole ? Math.PI : Math.asin(clip(high + 0.05 * span));
    let path = "";
    for (let k = 0; k <= 360; k++) {
      const a = from + (to - from) * k / 360, d = 2 * Math.sin(a / 2) ** 2;
      path += (k ? "L" : "M") + this.px(d).toFixed(2) + " " + this.py(Math.sin(a)).toFixed(2);
    }
    const closed = isWhole ? path + "Z" : path + `L-9 -9L-9 ${side + 9}Z`;
    group.append(draw("path", {d: closed, class: "inside"}));
    const real = new Scale(1 - this.d0, 1 - this.d0 + span), imaginary = new Scale(low, high);
    const label = (v) => show(Math.abs(v) < 1e-9 * span ? 0 : v, 6), isOne = (v) => Math.abs(v - 1) < 1e-9 * span;
    for (const v of real.ticks(5)) {
      const x = this.px(1 - v);
      group.append(draw("line", {x1: x, x2: x, y1: 0, y2: side, class: "grid"}));
      if (x > 40 && x < side - 30) group.append(draw("text",
        {x: isOne(v) ? x + 5 : x, y: side - 7, "text-anchor": isOne(v) ? "start" : "middle"}, label(v)));
    }
    for (const v of imaginary.ticks(5)) {
      const y = this.py(v);
      group.append(draw("line", {x1: 0, x2: side, y1: y, y2: y, class: Math.abs(v) < 1e-9 * span ? "axis" : "grid"}));
      if (y > 14 && y < side - 24) group.append(draw("text", {x: 6, y: y - 4}, label(v) + " i"));
    }
    group.append(draw("path", {d: path, class: "circle"}));
  }

  paintChosen() {
    this.disc.replaceChildren();
    const one = this.values[this.chosen];
    if (!one) return;
    const x = this.px(one.before[0]), y = this.py(one.before[1]), r = Math.max(1, this.side * one.limit / this.span);
    this.disc.append(draw("circle", {cx: x, cy: y, r, class: "allowed"}),
      draw("circle", {cx: x, cy: y, r: 9, class: "cursor"}));
  }

  tell() {
    const one = this.values[this.chosen], info = $("eigen-info");
    if (!one) {
      info.replaceChildren(make("p", {class: "soft"}, "There are no eigenvalues."));
      return;
    }
    const complex = ([d, im]) => show(1 - d, 6) + (im ? (im < 0 ? " − " : " + ") + show(Math.abs(im), 4) + " i" : "");
    const rank = this.ranked.indexOf(this.chosen) + 1;
    info.replaceChildren(table([["eigenvalue", complex(one.before)],
      ["with the pattern", one.after ? complex(one.after) : "none: the step cannot be solved"],
      ["margin 1 − |λ|", show(one.margin)], ["allowed change", show(one.limit)],
      ["change", one.after ? show(one.moved) : "–"],
      ["share of allowed", one.after ? show(100 * one.share, 3) + " % (" + rank + " of " + this.ranked.length
        + " by size)" : "–"]]));
  }

  choose(k) {
    if (k === this.chosen) return;
    this.chosen = k;
    if (this.near < 0) this.render(); else this.paintChosen();
    this.tell();
  }

  onMove(event) {
    const box = this.svg.getBoundingClientRect(), factor = this.side / box.width;
    const x = (event.clientX - box.left) * factor, y = (event.clientY - box.top) * factor;
    let best = -1, least = 600;
    this.values.forEach((one, k) => {
      for (const z of [one.before, one.after]) if (z) {
        const distance = (this.px(z[0]) - x) ** 2 + (this.py(z[1]) - y) ** 2;
        if (distance < least) { least = distance; best = k; }
      }
    });
    if (best >= 0 && (this.near >= 0 || event.type === "pointerdown")) this.choose(best);
  }

  onKey(event) {
    const step = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key];
    if (!step || !this.ranked.length) return;
    event.preventDefault();
    const count = this.ranked.length;
    this.choose(this.ranked[(this.ranked.indexOf(this.chosen) + step + count) % count]);
  }
}

// -------------------------------------------------------------------------------------------- runs and errors

function beginRuns() {
  const {runs} = data, states = runs.states, select = $("run-state"), which = $("run-scenario");
  if (!states.length || !runs.each.length) return;
  options(select, states.map((i, k) => data.names[i] + " (error " + show(runs.errors[k], 2) + " %)"));
  options(which, data.scenarios);
  const specs = () => {
    const k = Number(select.value), run = runs.each[Number(which.value)], i = states[k];
    const [exact, masked, accurate] = curves(run.curves[k][0]), [measured, predicted] = curves(run.curves[k][1]);
    const unit = data.units[i] ? " [" + data.units[i] + "]" : "", time = {label: "time [s]", low: run.times[0],
      high: run.times[run.times.length - 1]};
    const line = (name, style, y) => ({name, style, x: run.times, y});
    return [
      {x: time, y: {label: data.names[i] + unit, room: true}, height: 300, series: [
        line("all entries", "s1", exact), line("with the pattern", "s2", masked),
        line("accurate simulation", "s3", accurate)]},
      {x: time, y: {label: "error [% of range]", room: true, include: [0], unit: " %"}, height: 240,
        marks: [{y: 0, style: "zero"}],
        series: [line("measured", "s2 solid", measured), line("predicted", "s4", predicted)]},
    ];
  };
  const [first, second] = specs();
  const above = new Chart($("run-chart"), first), below = new Chart($("error-chart"), second);
  const change = () => {
    const [upper, lower] = specs();
    above.set(upper);
    below.set(lower);
    const k = Number(select.value), i = states[k];
    $("run-note").textContent = "Range of " + data.names[i] + ": "
      + (runs.ranges[k] === null ? "its errors do not count" : (show(runs.ranges[k]) + " " + data.units[i]).trim())
      + ". Curves are thinned to " + runs.each[Number(which.value)].times.length
      + " points; of errors the largest of each stretch is shown."
      + (states.length < data.names.length ? " The " + states.length + " states of the largest errors are listed."
        : "");
  };
  select.addEventListener("change", change);
  which.addEventListener("change", change);
  change();
}

function beginBias() {
  const {predicted, measured} = data.bias, positive = [...predicted, ...measured].filter((one) => one > 0);
  const isNone = !positive.length;
  const largest = positive.reduce((a, b) => Math.max(a, b), 1e-3);
  const floor = Math.max(positive.reduce((a, b) => Math.min(a, b), 1), largest * 1e-6);
  const kept = data.names.map((_, k) => k).filter((k) => predicted[k] !== null && measured[k] !== null);
  const raise = (v) => Math.max(v, floor), shown = kept.filter((k) => predicted[k] > 0 || measured[k] > 0);
  new Chart($("bias-chart"), {
    x: {label: "predicted error [% of range]", log: true, include: [floor, largest]},
    y: {label: "measured error [% of range]", log: true, include: [floor, largest]},
    height: 400, diagonal: true,
    marks: [{name: "line of equality", style: ""},
      {x: data.tolerance, y: undefined, name: "tolerance " + show(data.tolerance) + " %", style: "limit", counts: true},
      {y: data.tolerance, style: "limit", counts: true}],
    series: [{name: "a state", kind: "dots", style: "s1", x: shown.map((k) => raise(predicted[k])),
      y: shown.map((k) => raise(measured[k]))}],
    tell: (at) => {
      const k = shown[at];
      return [["state", data.names[k]], ["predicted", show(predicted[k], 3) + " %"],
        ["measured", show(measured[k], 3) + " %"]];
    },
  });
  const hidden = kept.length - shown.length;
  const low = shown.filter((k) => predicted[k] < floor || measured[k] < floor).length;
  const lost = data.names.length - kept.length;
  $("bias-note").textContent = isNone ? "The pattern adds no error to any state." : [
    hidden ? hidden + " states have no error at all and are not shown." : "",
    low ? low + " states with an error below " + show(floor, 2) + " % are shown at the edge." : "",
    lost ? lost + " states have no finite error and are not shown." : ""].filter(Boolean).join(" ");
}

// ---------------------------------------------------------------------------------- criteria, timing, windows

function beginCriteria() {
  const given = data.criteria, select = $("criteria-scenario");
  options(select, data.scenarios);
  $("criteria-choice").hidden = data.scenarios.length < 2;
  const styles = {"d_r": "s1 broad", "d_S": "s2", "d_S printed": "s2 thin", "d_1": "s3", "d_2": "s4",
    "d_2 printed": "s4 thin"};
  const spec = () => {
    const here = given.times.map((_, k) => k).filter((k) => given.scenario[k] === Number(select.value));
    const x = here.map((k) => given.times[k]);
    const series = Object.entries(styles).map(([name, style]) => ({
      name: name === "d_r" ? "d_r, the truth" : name, style, x, y: here.map((k) => given.series[name][k])}));
    // estimates may be off by powers of ten: the truth decides what is in sight
    const all = series.flatMap((one) => one.y).filter((v) => v > 0);
    const largest = (list) => list.reduce((a, b) => Math.max(a, b), 0);
    const truth = largest(series[0].y.filter((v) => v > 0)) || largest(all) || 1e-12;
    const top = Math.min(largest(all) || truth, 30 * truth), least = all.reduce((a, b) => Math.min(a, b), top);
    const beyond = series.filter((one) => one.y.some((v) => v > 1.5 * top)).map((one) => one.name);
    told(beyond.length ? beyond.join(", ") + " in parts above the picture (up to " + show(largest(all), 2) + "): where "
      + "eigenvalues are nearly equal, these estimates mean nothing." : "");
    const y = {label: "change of eigenvalues", log: true, low: Math.max(0.7 * least, truth * 1e-5), high: 1.5 * top};
    return {x: {label: "time [s]"}, y, height: 320, series};
  };
  const notes = [], isNone = (v) => v === null;
  const told = (first) => { $("criteria-note").textContent = [first, ...notes].filter(Boolean).join(" "); };
  for (const name of Object.keys(styles)) {
    const list = given.series[name];
    if (list.every(isNone)) notes.push(name + " has no value at any linearisation.");
    else if (list.some(isNone)) notes.push(name + " has no value at some linearisations: its curve has gaps.");
  }
  if (given.singular) notes.push("The model has algebraic equations: their eigenvalues are zero before and count like "
    + "others after. Many equal eigenvalues make d_2 unreliable.");
  if (Object.values(given.series).every((list) => list.every((v) => !v)))
    notes.push("All values are zero: the pattern moves no eigenvalue.");
  const chart = new Chart($("criteria-chart"), spec());
  select.addEventListener("change", () => chart.set(spec()));
}

function beginTiming() {
  const {timing} = data;
  if (!timing || !timing.counts.length) return;
  const {edges, counts} = timing, middle = counts.map((_, k) => (edges[k] + edges[k + 1]) / 2);
  const filled = counts.map((_, k) => k).filter((k) => counts[k] > 0);
  if (!filled.length) return;
  const low = edges[filled[0]], high = edges[filled[filled.length - 1] + 1];
  const isWide = low > 0 && high / low > 30;
  const isNear = timing.deadline !== null && timing.deadline <= high * (isWide ? 30 : 1.6);
  new Chart($("timing-chart"), {
    x: {label: "time of a step [µs]", log: isWide, include: [low, high], room: true},
    y: {label: "steps", log: true, low: 0.5, high: 2 * counts.reduce((a, b) => Math.max(a, b), 1)}, height: 280,
    marks: [{x: timing.median, name: "median", style: "s3"}, {x: timing.p999, name: "99.9 %", style: "s4"},
      {x: timing.maximum, name: "maximum", style: "s2"}, ...(isNear ? [{x: timing.deadline, name: "deadline",
        style: "limit", counts: true}] : [])],
    series: [{name: "steps", kind: "bars", style: "s1", x: middle, y: counts.map((v) => v || null), edges}],
    tell: (k) => [["time", show(edges[k], 4) + " … " + show(edges[k + 1], 4) + " µs"], ["steps", String(counts[k])]],
  });
}

function beginWindows() {
  const {windows} = data;
  if (!windows || !windows.steps.length) return;
  const norms = [1, ...windows.norms], good = norms.filter((one) => one > 0);  // a window of no steps changes nothing
  const isWide = Math.max(...good) / Math.min(...good) > 20;
  new Chart($("window-chart"), {
    x: {label: "steps in the window", include: [0], room: "above"},
    y: {label: "largest growth", log: isWide, include: isWide ? [] : [0], room: "above"}, height: 240,
    marks: [{y: 1, name: "one: neither grown nor shrunk", style: "limit"},
      ...(windows.length ? [{x: windows.length, name: windows.length + " steps: shrunk from every start", style: "s3"}]
        : [])],
    series: [{name: "largest growth of a disturbance", style: "s1", x: [0, ...windows.steps], y: norms}],
  });
}

// --------------------------------------------------------------------------------------------------- begin

function repaint() {
  readColours();
  for (const one of grids) one.paint();
}

beginPattern();
new Plane();
beginRuns();
beginBias();
beginCriteria();
beginTiming();
beginWindows();
for (const button of document.querySelectorAll("button[data-go]")) button.addEventListener("click", () =>
  document.getElementById(button.dataset.go).scrollIntoView({block: "start", behavior: "smooth"}));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
window.addEventListener("beforeprint", () => {  // light, and with every table open
  document.documentElement.classList.add("print");
  for (const one of document.querySelectorAll("details")) {
    one.dataset.was = one.open ? "1" : "";
    one.open = true;
  }
  repaint();
});
window.addEventListener("afterprint", () => {
  document.documentElement.classList.remove("print");
  for (const one of document.querySelectorAll("details")) one.open = Boolean(one.dataset.was);
  repaint();
});
