// Entries of the matrix before and after, on canvas.
const IN_DF = 1, IN_L = 2, KEPT = 4, FILL_FULL = 8, FILL = 16;
const LABELS = 10;  // pixels per cell from which on names are written

const pattern = (() => {
  const given = data.pattern, n = given.n, places = summed(given.places);
  const entries = [];
  let k = 0;
  places.forEach((place, at) => {
    const kind = given.kinds[at], isEntry = Boolean(kind & IN_DF);
    entries.push({row: Math.floor(place / n), col: place % n, kind, at,
      low: isEntry ? given.low[k] : null, high: isEntry ? given.high[k] : null,
      reason: isEntry ? given.reasons[given.reason[k]] : ""});
    if (isEntry) k++;
  });
  const inverse = (list) => {
    const out = new Int32Array(n);
    list.forEach((what, i) => { out[what] = i; });
    return out;
  };
  const same = Array.from({length: n}, (_, i) => i);
  const order = (rows, columns) => ({rowAt: rows, colAt: columns, rowOf: inverse(rows), colOf: inverse(columns)});
  return {n, entries, states: order(same, same), full: order(given.full.rows, given.full.columns),
    sparsed: order(given.sparsed.rows, given.sparsed.columns)};
})();

let ink = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "soft", "paper", "card", "line", "keep", "gone", "fill", "mass", "mark"])
    ink[name] = style.getPropertyValue("--" + name).trim();
}

// what an entry looks like in a picture: "keep", "gone", "mass", "fill" or ""
function look(entry, isAfter, byPivot) {
  const {kind} = entry, isFill = kind & (isAfter ? FILL : FILL_FULL);
  if (kind & IN_DF && (!isAfter || kind & KEPT)) return "keep";
  if (byPivot && isFill) return "fill";
  if (kind & IN_L) return isAfter && kind & IN_DF ? "mass gone" : "mass";
  if (kind & IN_DF) return "gone";
  return "";
}

function entryFacts(entry, grid) {
  const how = look(entry, grid.isAfter, grid.byPivot);
  const name = (k) => data.names[k] + (data.units[k] ? " [" + data.units[k] + "]" : "");
  const lines = [["row", "equation of " + name(entry.row)], ["column", name(entry.col)]];
  if (entry.kind & IN_DF) {
    const span = entry.low === entry.high ? show(entry.low) : show(entry.low) + " … " + show(entry.high);
    lines.push(["Df here", span + (entry.low === entry.high ? ", constant" : " over the linearisations")],
      [entry.kind & KEPT ? "kept" : "dropped", entry.reason]);
  }
  if (entry.kind & IN_L) lines.push(["mass matrix", "L has an entry here, which always stays"]);
  if (how === "fill") lines.push(["fill", "not in the matrix: it arises in the elimination"]);
  return lines;
}

class Grid {
  constructor(id, isAfter) {
    this.canvas = $(id);
    this.isAfter = isAfter;
    this.byPivot = false;
    this.chosen = null;
    this.drag = null;
    const on = (name, f, how) => this.canvas.addEventListener(name, f.bind(this), how);
    on("pointerdown", this.onDown);
    on("pointermove", this.onMove);
    on("pointerup", this.onUp);
    on("pointercancel", this.onUp);
    on("pointerleave", hideTip);
    on("keydown", this.onKey);
    on("focus", () => { if (!this.chosen && this.canvas.matches(":focus-visible")) this.step(0, 0); });
    on("blur", hideTip);
    on("wheel", this.onWheel, {passive: false});
    on("dblclick", () => grids.forEach((one) => one.fit()));
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.resize();
  }

  get order() {
    return this.byPivot ? (this.isAfter ? pattern.sparsed : pattern.full) : pattern.states;
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(), ratio = Math.max(2, window.devicePixelRatio || 1);
    if (box.width === 0) return;
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
    this.fit();
  }

  fit() {
    const longest = Math.max(1, ...data.names.map((name) => Math.min(name.length, 16)));
    this.label = 14 + 7.6 * longest;
    const side = Math.min(this.width, this.height) - 8, n = Math.max(1, pattern.n);
    const isNamed = (side - this.label) / n >= LABELS;
    this.scale = Math.min(60, (isNamed ? side - this.label : side) / n);
    this.x = this.y = isNamed ? this.label : 4;
    this.isZoomed = false;
    this.canvas.style.touchAction = "auto";
    this.paint();
  }

  zoom(factor, px, py) {
    const scale = Math.min(80, Math.max(0.5, this.scale * factor));
    this.x = px - (px - this.x) * scale / this.scale;
    this.y = py - (py - this.y) * scale / this.scale;
    this.scale = scale;
    this.isZoomed = true;
    this.canvas.style.touchAction = "none";
    this.paint();
  }

  paint() {
    const c = this.canvas.getContext("2d"), {rowOf, colOf} = this.order, s = this.scale;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = ink.card;
    c.fillRect(0, 0, this.width, this.height);
    c.fillStyle = ink.paper;
    const side = pattern.n * s;
    c.fillRect(this.x, this.y, side, side);
    if (s >= 8) this.paintLines(c, side);
    const gap = s >= 6 ? s * 0.12 : s >= 3 ? 0.4 : 0, dot = Math.max(s - 2 * gap, 1.2);
    for (const entry of pattern.entries) {
      const how = look(entry, this.isAfter, this.byPivot);
      const x = this.x + colOf[entry.col] * s + gap, y = this.y + rowOf[entry.row] * s + gap;
      if (!how || x < -s || y < -s || x > this.width || y > this.height) continue;
      this.mark(c, how, x, y, dot);
    }
    c.strokeStyle = ink.soft;
    c.lineWidth = 1;
    c.strokeRect(this.x - 0.5, this.y - 0.5, side + 1, side + 1);
    if (s >= LABELS) this.paintLabels(c);
    this.paintChosen(c);
  }

  mark(c, how, x, y, dot) {
    if (how === "keep" || how === "mass" || (how === "mass gone" && dot < 4)) {
      c.fillStyle = how === "keep" ? ink.keep : ink.mass;
      c.fillRect(x, y, dot, dot);
      return;
    }
    if (how === "mass gone") {  // a frame around the cross
      const edge = Math.max(1, dot / 7);
      c.strokeStyle = ink.mass;
      c.lineWidth = edge;
      c.strokeRect(x + edge / 2, y + edge / 2, dot - edge, dot - edge);
    }
    if (how === "fill") {
      c.fillStyle = ink.fill;
      c.beginPath();
      c.moveTo(x + dot / 2, y);
      c.lineTo(x + dot, y + dot / 2);
      c.lineTo(x + dot / 2, y + dot);
      c.lineTo(x, y + dot / 2);
      c.fill();
      return;
    }
    c.strokeStyle = c.fillStyle = ink.gone;  // dropped: a cross, of small squares a dot
    if (dot < 4) {
      c.fillRect(x + dot * 0.2, y + dot * 0.2, dot * 0.6, dot * 0.6);
      return;
    }
    c.lineWidth = Math.max(1, dot / 9);
    const a = dot * 0.18;
    c.beginPath();
    c.moveTo(x + a, y + a);
    c.lineTo(x + dot - a, y + dot - a);
    c.moveTo(x + dot - a, y + a);
    c.lineTo(x + a, y + dot - a);
    c.stroke();
  }

  paintLines(c, side) {
    c.strokeStyle = ink.line;
    c.lineWidth = 0.5;
    c.beginPath();
    for (let k = 1; k < pattern.n; k++) {
      c.moveTo(this.x, this.y + k * this.scale);
      c.lineTo(this.x + side, this.y + k * this.scale);
      c.moveTo(this.x + k * this.scale, this.y);
      c.lineTo(this.x + k * this.scale, this.y + side);
    }
    c.stroke();
  }

  paintLabels(c) {
    const s = this.scale, {rowAt, colAt} = this.order, room = this.label - 4;
    c.fillStyle = ink.card;
    c.fillRect(0, 0, room, this.height);
    c.fillRect(room, 0, this.width, room);
    const size = Math.min(12, s * 0.85), letters = Math.max(3, Math.floor((room - 6) / (size * 0.61)));
    c.font = size + "px ui-monospace, Menlo, Consolas, monospace";
    c.textBaseline = "middle";
    const cut = (name) => (name.length > letters ? "…" + name.slice(name.length - letters + 1) : name);
    const chosen = this.chosen;
    for (let k = 0; k < pattern.n; k++) {
      const x = this.x + (k + 0.5) * s, y = this.y + (k + 0.5) * s;
      if (y > room && y < this.height) {
        c.fillStyle = chosen && rowAt[k] === chosen.row ? ink.ink : ink.soft;
        c.textAlign = "right";
        c.fillText(cut(data.names[rowAt[k]]), room - 2, y);
      }
      if (x > room && x < this.width) {
        c.fillStyle = chosen && colAt[k] === chosen.col ? ink.ink : ink.soft;
        c.textAlign = "left";
        c.save();
        c.translate(x, room - 2);
        c.rotate(-Math.PI / 2);
        c.fillText(cut(data.names[colAt[k]]), 0, 0);
        c.restore();
      }
    }
  }

  paintChosen(c) {
    if (!this.chosen) return;
    const s = this.scale, {rowOf, colOf} = this.order;
    const x = this.x + colOf[this.chosen.col] * s, y = this.y + rowOf[this.chosen.row] * s;
    c.strokeStyle = ink.mark;
    c.lineWidth = 2;
    c.strokeRect(x - 2, y - 2, s + 4, s + 4);
  }

  // ------------------------------------------------------------------------------------------ pointer, keys

  where(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.width / box.width, (event.clientY - box.top) * this.height / box.height];
  }

  hit(px, py) {  // the nearest entry within some pixels
    const s = this.scale, {rowOf, colOf} = this.order, reach = Math.max(0.5, 5 / s);
    const r = (py - this.y) / s - 0.5, k = (px - this.x) / s - 0.5;
    let best = null, least = reach * reach * 2;
    for (const entry of pattern.entries) {
      const dr = rowOf[entry.row] - r, dk = colOf[entry.col] - k;
      if (Math.abs(dr) > reach || Math.abs(dk) > reach || dr * dr + dk * dk >= least) continue;
      if (!look(entry, this.isAfter, this.byPivot)) continue;
      least = dr * dr + dk * dk;
      best = entry;
    }
    return best;
  }

  onDown(event) {
    this.drag = {at: this.where(event), travel: 0};
    if (this.isZoomed) this.canvas.setPointerCapture(event.pointerId);
  }

  onMove(event) {
    const [px, py] = this.where(event);
    if (this.drag && event.buttons) {
      const [x, y] = this.drag.at;
      this.drag.travel += Math.abs(px - x) + Math.abs(py - y);
      this.drag.at = [px, py];
      if (!this.isZoomed) return;
      this.x += px - x;
      this.y += py - y;
      hideTip();
      this.paint();
      return;
    }
    const found = this.hit(px, py);
    this.canvas.style.cursor = found ? "pointer" : this.isZoomed ? "grab" : "default";
    if (found) showTip(entryFacts(found, this), event.clientX, event.clientY);
    else hideTip();
  }

  onUp(event) {
    const isClick = this.drag && this.drag.travel < 5 && event.type === "pointerup";
    this.drag = null;
    if (isClick) chooseEntry(this.hit(...this.where(event)), this);
  }

  onWheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * 0.01), ...this.where(event));
  }

  onKey(event) {
    const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (move) this.step(...move);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4, this.width / 2, this.height / 2);
    else if (event.key === "-") this.zoom(1 / 1.4, this.width / 2, this.height / 2);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }

  // to the nearest entry in a direction; along the row or column first
  step(down, right) {
    const {rowOf, colOf} = this.order, seen = pattern.entries.filter((one) => look(one, this.isAfter, this.byPivot));
    const from = this.chosen && seen.includes(this.chosen) ? this.chosen : null;
    let best = null, least = Infinity;
    for (const one of seen) {
      let cost = rowOf[one.row] * pattern.n + colOf[one.col];
      if (from) {
        const dr = rowOf[one.row] - rowOf[from.row], dk = colOf[one.col] - colOf[from.col];
        const along = dr * down + dk * right, aside = Math.abs(dr * right) + Math.abs(dk * down);
        if (along <= 0) continue;
        cost = along + 4 * aside;
      }
      if (cost < least) { least = cost; best = one; }
    }
    if (!best) return;
    const x = this.x + (colOf[best.col] + 0.5) * this.scale, y = this.y + (rowOf[best.row] + 0.5) * this.scale;
    if (this.isZoomed && (x < this.label || x > this.width)) this.x += this.width / 2 - x;
    if (this.isZoomed && (y < this.label || y > this.height)) this.y += this.height / 2 - y;
    chooseEntry(best, this);
  }
}

const grids = [];

function chooseEntry(entry, grid) {
  for (const one of grids) {
    one.chosen = entry;
    one.paint();
  }
  const info = $("entry-info");
  if (entry) info.replaceChildren(table(entryFacts(entry, grid)));
  else info.replaceChildren(make("p", {class: "soft"},
    "Click a square to keep it here; it is marked in both pictures."));
}

function patternLegend(byPivot) {
  const has = (test) => pattern.entries.some(test);
  const items = [["keep", "entry (right: kept)"]];
  if (has((one) => one.kind & IN_DF && !(one.kind & KEPT))) items.push(["gone", "dropped (right only)"]);
  if (has((one) => one.kind & IN_L && !(one.kind & IN_DF && one.kind & KEPT)))
    items.push(["mass", "from the mass matrix L, always there"]);
  if (byPivot && has((one) => one.kind & (FILL | FILL_FULL))) items.push(["fill", "fill: arises in the elimination"]);
  $("pattern-legend").replaceChildren(...items.map(([how, text]) => {
    const svg = draw("svg", {width: 14, height: 14, viewBox: "0 0 14 14", class: "sample", "aria-hidden": "true"});
    if (how === "gone") svg.append(draw("path", {d: "M3 3L11 11M11 3L3 11", class: "cross"}));
    else if (how === "fill") svg.append(draw("path", {d: "M7 1L13 7L7 13L1 7Z", class: "fill"}));
    else svg.append(draw("rect", {x: 1, y: 1, width: 12, height: 12, class: how}));
    return make("li", {}, svg, text);
  }));
}

function setOrder(byPivot) {
  $("by-state").setAttribute("aria-pressed", String(!byPivot));
  $("by-pivot").setAttribute("aria-pressed", String(byPivot));
  const count = (isAfter) => {
    const seen = pattern.entries.map((one) => look(one, isAfter, byPivot));
    const fill = seen.filter((how) => how === "fill").length;
    const all = seen.filter((how) => how && how !== "gone" && how !== "fill").length;
    return all + " entries" + (byPivot ? " + " + fill + " fill" : "");
  };
  $("before-title").textContent = "All entries: " + count(false);
  $("after-title").textContent = "With the pattern: " + count(true);
  for (const one of grids) {
    one.byPivot = byPivot;
    one.paint();
  }
  patternLegend(byPivot);
}

function beginPattern() {
  readColours();
  grids.push(new Grid("before", false), new Grid("after", true));
  $("by-state").addEventListener("click", () => setOrder(false));
  $("by-pivot").addEventListener("click", () => setOrder(true));
  const zoom = (factor) => grids.forEach((one) => one.zoom(factor, one.width / 2, one.height / 2));
  $("grid-in").addEventListener("click", () => zoom(1.5));
  $("grid-out").addEventListener("click", () => zoom(1 / 1.5));
  $("grid-fit").addEventListener("click", () => grids.forEach((one) => one.fit()));
  setOrder(false);
  chooseEntry(null, grids[0]);
}
