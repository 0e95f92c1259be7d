"use strict";
// Incidence pictures and lists of a model's structure. All names are data: they only ever become text nodes.
const data = JSON.parse(document.getElementById("data").textContent);
const CLASS = ["", "a number", "a parameter expression", "varies, but not with this variable",
  "nonlinear in this variable"];
const KIND = {explicit: "explicit", linear: "linear", nonlinear: "nonlinear", sparse: "large, not torn"};
const LABELS = 11, LEFT = 220, TOP = 150, SHOWN = 300;
const $ = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

// ------------------------------------------------------------------------------------------------ colours

let ink = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "soft", "paper", "card", "line", "k1", "k2", "k3", "k4", "loop", "torn", "mark"])
    ink[name] = style.getPropertyValue("--" + name).trim();
}

// ------------------------------------------------------------------------------------------ what is where

const n = data.n;
const sorted = {rowAt: data.rows || [], colAt: data.columns || []};
const plain = {rowAt: Array.from({length: data.reduced ? 0 : n}, (_, i) => i)};
plain.colAt = plain.rowAt;
function inverse(list) {
  const place = new Int32Array(list.length);
  list.forEach((what, i) => { place[what] = i; });
  return place;
}
const blockOf = new Int32Array(data.reduced ? 0 : n);  // by place in the sorted order
const torn = new Uint8Array(n), residual = new Uint8Array(n), partner = new Int32Array(n).fill(-1);
let first = 0;
for (const block of data.blocks) {
  if (data.reduced) break;
  block.first = first;
  for (let i = 0; i < block.size; i++) {
    const e = sorted.rowAt[first + i], v = sorted.colAt[first + i];
    blockOf[first + i] = block.number;
    const isTorn = i >= block.size - block.torn;
    if (isTorn) { torn[v] = 1; residual[e] = 1; } else if (block.kind !== "sparse") partner[e] = v;
  }
  first += block.size;
}
const sortedRow = inverse(sorted.rowAt);

function equationLines(e) {
  const [text, source, file, line, origin] = data.equations[e];
  const place = file < 0 ? "made by pliant" : data.files[file] + ":" + line;
  return {text, source, place, origin: data.origins[origin]};
}

// ---------------------------------------------------------------------------------------------- selection

const chosen = {row: -1, col: -1};  // an equation and a variable, -1: none
let pictures = [];

function choose(row, col) {
  chosen.row = row;
  chosen.col = col;
  showInfo();
  for (const picture of pictures) picture.draw();
}

function facts(e, v) {
  const lines = [];
  if (v >= 0) {
    const unit = data.units[v] ? " [" + data.units[v] + "]" : "";
    lines.push(["variable", data.variables[v] + unit + (torn[v] ? ", torn" : "")]);
  }
  if (e >= 0) {
    const {text, source, place, origin} = equationLines(e);
    const role = (residual[e] ? ", residual" : "") + (origin === "equation" ? "" : ", " + origin);
    lines.push(["equation " + (e + 1) + role, text]);
    if (source && source !== text) lines.push(["in the source", source]);
    lines.push(["place", place]);
    if (v >= 0) {
      const k = data.entries[e].indexOf(v);
      lines.push(["coefficient", k < 0 ? "none: the equation does not contain the variable"
        : CLASS[Number(data.classes[e][k])] + (partner[e] === v ? "; the equation is solved for it" : "")]);
    }
    const block = data.blocks[blockOf[sortedRow[e]] - 1];
    const count = block.size === 1 ? "1 unknown" : block.size + " unknowns";
    lines.push(["block", block.number + " of " + data.blocks.length + ": " + KIND[block.kind] + ", " + count]);
  }
  return lines;
}

function table(lines) {
  const body = make("dl", {class: "facts"});
  for (const [key, value] of lines) body.append(make("dt", {}, key), make("dd", {}, value));
  return body;
}

function showInfo() {
  const panel = $("info");
  panel.replaceChildren();
  if (chosen.row < 0 && chosen.col < 0) {
    panel.append(make("p", {class: "soft"}, "Click a dot to keep it here; it is marked in both pictures."));
  } else panel.append(table(facts(chosen.row, chosen.col)));
}

// ----------------------------------------------------------------------------------------------- pictures

class Picture {
  constructor(id, order, hasBlocks) {
    this.canvas = $(id);
    this.order = order;
    this.hasBlocks = hasBlocks;
    this.size = data.reduced ? data.grid : n;
    this.cells = data.reduced ? (hasBlocks ? data.cells_after : data.cells_before) : null;
    if (!data.reduced) {
      this.rowOf = inverse(order.rowAt);
      this.colOf = inverse(order.colAt);
    }
    this.pointers = new Map();
    this.waiting = false;
    const on = (name, f, options) => this.canvas.addEventListener(name, f.bind(this), options);
    on("wheel", this.onWheel, {passive: false});
    on("pointerdown", this.onDown);
    on("pointermove", this.onMove);
    on("pointerup", this.onUp);
    on("pointercancel", this.onUp);
    on("pointerleave", () => { tip.hidden = true; });
    on("dblclick", this.fit);
    on("keydown", this.onKey);
    new ResizeObserver(() => { this.resize(); }).observe(this.canvas);
    this.resize();
    this.fit();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    const was = this.width;
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.ratio = ratio;
    if (was !== undefined && was !== this.width && !this.moved) this.fit();
    else this.draw();
  }

  fit() {
    const room = Math.max(1, this.size);
    let left = LEFT, top = TOP;
    let scale = Math.min((this.width - left - 8) / room, (this.height - top - 8) / room);
    if (data.reduced || scale < LABELS) {
      left = top = 4;
      scale = Math.min((this.width - 8) / room, (this.height - 8) / room, LABELS - 0.01);
    }
    this.scale = Math.min(scale, 52);
    this.x = left;
    this.y = top;
    this.moved = false;
    this.draw();
  }

  zoom(factor, px, py) {
    const least = Math.min(0.02, 4 / this.size), scale = Math.min(90, Math.max(least, this.scale * factor));
    this.x = px - (px - this.x) * scale / this.scale;
    this.y = py - (py - this.y) * scale / this.scale;
    this.scale = scale;
    this.moved = true;
    this.draw();
  }

  // bring a cell into the middle, unless it is in sight
  show(row, col) {
    const px = this.x + (col + 0.5) * this.scale, py = this.y + (row + 0.5) * this.scale;
    const isSeen = px > LEFT && px < this.width - 8 && py > TOP && py < this.height - 8;
    if (this.scale >= 8 && isSeen) return;
    if (this.scale < 8) this.scale = 14;
    this.x = (this.width + LEFT) / 2 - (col + 0.5) * this.scale;
    this.y = (this.height + TOP) / 2 - (row + 0.5) * this.scale;
    this.moved = true;
    this.draw();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  paint() {
    const c = this.canvas.getContext("2d");
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = ink.card;
    c.fillRect(0, 0, this.width, this.height);
    const side = this.size * this.scale;
    c.fillStyle = ink.paper;
    c.fillRect(this.x, this.y, side, side);
    if (this.hasBlocks) this.paintBlocks(c, true);
    if (data.reduced) this.paintCells(c); else this.paintDots(c);
    if (this.hasBlocks) this.paintBlocks(c, false);
    c.strokeStyle = ink.line;
    c.lineWidth = 1;
    c.strokeRect(this.x - 0.5, this.y - 0.5, side + 1, side + 1);
    if (!data.reduced) {
      this.paintChosen(c);
      if (this.scale >= LABELS) this.paintLabels(c);
    }
  }

  paintBlocks(c, isBack) {
    const unit = data.reduced ? this.size / n : 1, s = this.scale * unit;
    for (const block of data.blocks) {
      const a = this.x + block.first * s, b = this.y + block.first * s, side = Math.max(block.size * s, 1);
      if (a > this.width || b > this.height || a + side < 0 || b + side < 0) continue;
      if (!isBack) {
        if (block.size === 1 && s < 5) continue;
        c.strokeStyle = block.size > 1 ? ink.mark : ink.soft;
        c.lineWidth = block.size > 1 ? 1.6 : 0.7;
        c.strokeRect(a, b, side, side);
      } else if (block.size > 1) {
        c.fillStyle = ink.loop;
        c.fillRect(a, b, side, side);
        const edge = block.torn * s;
        if (edge > 0) {
          c.fillStyle = ink.torn;
          c.fillRect(a + side - edge, b, edge, side - edge);
          c.fillRect(a, b + side - edge, side, edge);
        }
      }
    }
  }

  paintDots(c) {
    const s = this.scale, {rowAt} = this.order;
    const from = Math.max(0, Math.floor(-this.y / s)), to = Math.min(n, Math.ceil((this.height - this.y) / s));
    const gap = s >= 6 ? s * 0.14 : s >= 3 ? 0.5 : 0, dot = Math.max(s - 2 * gap, 1.25);
    const paths = [null, new Path2D(), new Path2D(), new Path2D(), new Path2D()], rings = new Path2D();
    for (let r = from; r < to; r++) {
      const e = rowAt[r], entries = data.entries[e], classes = data.classes[e], y = this.y + r * s + gap;
      for (let k = 0; k < entries.length; k++) {
        const x = this.x + this.colOf[entries[k]] * s + gap;
        if (x < -s || x > this.width) continue;
        paths[classes.charCodeAt(k) - 48].rect(x, y, dot, dot);
        if (s >= 7 && partner[e] === entries[k]) rings.rect(x - 1, y - 1, dot + 2, dot + 2);
      }
    }
    for (let k = 1; k <= 4; k++) {
      c.fillStyle = ink["k" + k];
      c.fill(paths[k]);
    }
    c.strokeStyle = ink.ink;
    c.lineWidth = 1.3;
    c.stroke(rings);
  }

  paintCells(c) {
    const s = this.scale, dot = Math.max(s, 1.25);
    c.fillStyle = ink.k1;
    for (let k = 0; k < this.cells.length; k += 2) {
      const cell = this.cells[k], y = this.y + Math.floor(cell / data.grid) * s, x = this.x + (cell % data.grid) * s;
      if (x < -s || y < -s || x > this.width || y > this.height) continue;
      c.globalAlpha = Math.min(1, 0.45 + 0.1 * Math.log2(1 + this.cells[k + 1]));
      c.fillRect(x, y, dot, dot);
    }
    c.globalAlpha = 1;
  }

  paintChosen(c) {
    const s = this.scale;
    c.strokeStyle = ink.mark;
    c.lineWidth = Math.min(2, Math.max(1, s / 4));
    c.globalAlpha = 0.75;
    c.beginPath();
    if (chosen.row >= 0) {
      const y = this.y + (this.rowOf[chosen.row] + 0.5) * s;
      c.moveTo(0, y);
      c.lineTo(this.width, y);
    }
    if (chosen.col >= 0) {
      const x = this.x + (this.colOf[chosen.col] + 0.5) * s;
      c.moveTo(x, 0);
      c.lineTo(x, this.height);
    }
    c.stroke();
    c.globalAlpha = 1;
  }

  paintLabels(c) {
    const s = this.scale, {rowAt, colAt} = this.order, left = LEFT - 6, top = TOP - 6;
    c.fillStyle = ink.card;
    c.globalAlpha = 0.93;
    c.fillRect(0, 0, left, this.height);
    c.fillRect(left, 0, this.width - left, top);
    c.globalAlpha = 1;
    c.font = Math.min(13, s * 0.9) + "px ui-monospace, Menlo, Consolas, monospace";
    c.textBaseline = "middle";
    const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
    const wide = Math.min(13, s * 0.9) * 0.61;  // one letter
    const letters = Math.floor((left - 8) / wide), high = Math.floor((top - 8) / wide);
    c.save();
    c.beginPath();
    c.rect(0, top, left, this.height - top);
    c.clip();
    for (let r = 0; r < n; r++) {
      const y = this.y + (r + 0.5) * s;
      if (y < top - s || y > this.height + s) continue;
      const e = rowAt[r], {text} = equationLines(e);
      c.fillStyle = residual[e] ? ink.mark : e === chosen.row ? ink.ink : ink.soft;
      c.fillText(cut(text, letters), 4, y);
    }
    c.restore();
    c.save();
    c.beginPath();
    c.rect(left, 0, this.width - left, top);
    c.clip();
    for (let k = 0; k < n; k++) {
      const x = this.x + (k + 0.5) * s;
      if (x < left - s || x > this.width + s) continue;
      const v = colAt[k];
      c.fillStyle = torn[v] ? ink.mark : v === chosen.col ? ink.ink : ink.soft;
      c.save();
      c.translate(x, top - 4);
      c.rotate(-Math.PI / 2);
      const name = data.variables[v];  // of a long name its end tells more
      c.fillText(name.length > high ? "…" + name.slice(name.length - high + 1) : name, 0, 0);
      c.restore();
    }
    c.restore();
  }

  // ------------------------------------------------------------------------------------------ pointer, keys

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // nearest dot within some pixels: [equation, variable] or null
  hit(px, py) {
    const s = this.scale, reach = Math.max(0.5, 4 / s), r0 = (py - this.y) / s - 0.5, c0 = (px - this.x) / s - 0.5;
    if (s >= LABELS && (px < LEFT - 6 || py < TOP - 6)) return this.hitLabel(px, py, r0, c0);
    let best = null, least = reach * reach * 2;
    for (let r = Math.max(0, Math.ceil(r0 - reach)); r <= Math.min(n - 1, Math.floor(r0 + reach)); r++) {
      const e = this.order.rowAt[r];
      for (const v of data.entries[e]) {
        const dc = this.colOf[v] - c0, dr = r - r0;
        if (Math.abs(dc) > reach || dc * dc + dr * dr >= least) continue;
        least = dc * dc + dr * dr;
        best = [e, v];
      }
    }
    return best;
  }

  hitLabel(px, py, r0, c0) {
    const r = Math.round(r0), k = Math.round(c0);
    if (py >= TOP - 6 && r >= 0 && r < n) return [this.order.rowAt[r], -1];
    if (px >= LEFT - 6 && k >= 0 && k < n) return [-1, this.order.colAt[k]];
    return null;
  }

  hitCell(px, py) {
    const r = Math.floor((py - this.y) / this.scale), k = Math.floor((px - this.x) / this.scale);
    if (r < 0 || k < 0 || r >= data.grid || k >= data.grid) return null;
    const cell = r * data.grid + k, width = n / data.grid;
    for (let i = 0; i < this.cells.length; i += 2) {
      if (this.cells[i] !== cell) continue;
      const span = (j) => Math.floor(j * width) + 1 + " to " + Math.min(n, Math.ceil((j + 1) * width));
      return [["rows", span(r)], ["columns", span(k)], ["entries", String(this.cells[i + 1])]];
    }
    return null;
  }

  onWheel(event) {
    event.preventDefault();
    const [px, py] = this.place(event);
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)), px, py);
  }

  onDown(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    this.travel = 0;
  }

  onMove(event) {
    const [px, py] = this.place(event), before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(px, py, event);
    tip.hidden = true;
    if (this.pointers.size === 2) {
      const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const was = Math.hypot(before[0] - other[0], before[1] - other[1]);
      const is = Math.hypot(px - other[0], py - other[1]);
      if (was > 0) this.zoom(is / was, (px + other[0]) / 2, (py + other[1]) / 2);
    } else {
      this.x += px - before[0];
      this.y += py - before[1];
      this.moved = true;
      this.draw();
    }
    this.travel += Math.abs(px - before[0]) + Math.abs(py - before[1]);
    this.pointers.set(event.pointerId, [px, py]);
    return undefined;
  }

  onUp(event) {
    const isClick = this.pointers.size === 1 && this.travel < 4 && event.type === "pointerup";
    this.pointers.delete(event.pointerId);
    if (!isClick || data.reduced) return;
    const found = this.hit(...this.place(event));
    choose(...(found || [-1, -1]));
  }

  hover(px, py, event) {
    const lines = data.reduced ? this.hitCell(px, py) : this.hit(px, py);
    this.canvas.style.cursor = lines ? "pointer" : "grab";
    tip.hidden = !lines;
    if (!lines) return;
    tip.replaceChildren(table(data.reduced ? lines : facts(...lines)));
    const wide = tip.offsetWidth, high = tip.offsetHeight;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - wide - 8)) + "px";
    tip.style.top = (event.clientY + high + 22 > window.innerHeight ? event.clientY - high - 12
      : event.clientY + 14) + "px";
  }

  onKey(event) {
    const step = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[event.key];
    if (step) {
      this.x += step[0];
      this.y += step[1];
      this.moved = true;
      this.draw();
    } else if (event.key === "+" || event.key === "=") this.zoom(1.4, this.width / 2, this.height / 2);
    else if (event.key === "-") this.zoom(1 / 1.4, this.width / 2, this.height / 2);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }
}

// -------------------------------------------------------------------------------------------------- lists

function fillList(name, rows, render) {
  const box = $(name);
  if (!rows.length) {
    box.remove();
    return;
  }
  const body = make("tbody", {}), note = make("p", {class: "soft"}), filter = make("input", {
    type: "search", placeholder: "search " + rows.length + " entries", "aria-label": "search " + name});
  const words = rows.map((row) => JSON.stringify(row).toLowerCase());
  const fill = () => {
    const wanted = filter.value.trim().toLowerCase();
    const found = rows.filter((_, i) => !wanted || words[i].includes(wanted));
    body.replaceChildren(...found.slice(0, SHOWN).map(render));
    note.textContent = found.length > SHOWN ? "The first " + SHOWN + " of " + found.length + " are shown." : "";
  };
  filter.addEventListener("input", fill);
  fill();
  if (rows.length > 8) box.append(filter);
  box.append(make("div", {class: "wide"}, make("table", {}, body)), note);
}

// choose and bring into the middle, with an equation that contains the variable or a variable of the equation
function goTo(row, col) {
  choose(row, col);
  const byPartner = partner.indexOf(col), near = data.entries.findIndex((list) => list.includes(col));
  const e = row >= 0 ? row : byPartner >= 0 ? byPartner : near;
  const v = col >= 0 ? col : partner[row] >= 0 ? partner[row] : data.entries[row][0];
  for (const p of pictures) p.show(p.rowOf[e], p.colOf[v]);
  $("pictures").scrollIntoView({block: "start", behavior: "smooth"});
}

function link(text, row, col) {
  if (data.reduced || (row < 0 && col < 0)) return make("code", {}, text);
  const button = make("button", {class: "link", type: "button"}, text);
  button.addEventListener("click", () => goTo(row, col));
  return button;
}

const line = (...cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)));

function loopRow(loop) {
  const title = "block " + loop.number + ": " + loop.size + " unknowns, " + (loop.linear ? "linear" : "nonlinear")
    + (loop.kind === "sparse" ? ", not torn" : ", " + loop.n_torn + " torn")
    + (loop.solved_by === "solver" ? "; its unknowns join the states" : "");
  const body = make("details", {}, make("summary", {}, title));
  if (data.loops.length <= 4) body.open = true;
  const more = (shown, all) => (all > shown ? " and " + (all - shown) + " more" : "");
  if (loop.kind !== "sparse") {
    const names = make("p", {}, make("b", {}, "torn "));
    loop.tearing.forEach(([name, v]) => names.append(link(name, -1, v), " "));
    names.append(more(loop.tearing.length, loop.n_torn));
    const list = make("ul", {class: "plain"});
    loop.residuals.forEach(([text, e]) => list.append(make("li", {}, link(text, e, -1))));
    body.append(names, make("b", {}, "residual equations"), list);
  }
  const others = make("p", {class: "soft"}, make("b", {}, "computed from them "));
  loop.others.forEach(([name, v]) => others.append(link(name, -1, v), " "));
  others.append(more(loop.others.length, loop.n_others));
  if (loop.n_others) body.append(others);
  return make("tr", {}, make("td", {}, body));
}

// -------------------------------------------------------------------------------------------------- begin

const tip = $("tip");
readColours();
showInfo();
pictures = [new Picture("before", plain, false), new Picture("after", sorted, true)];
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColours();
  for (const picture of pictures) picture.draw();
});
for (const button of document.querySelectorAll("button[data-picture]")) {
  button.addEventListener("click", () => {
    const picture = pictures[Number(button.dataset.picture)], [px, py] = [picture.width / 2, picture.height / 2];
    if (button.dataset.do === "fit") picture.fit(); else picture.zoom(button.dataset.do === "in" ? 1.5 : 1 / 1.5, px, py);
  });
}
if (data.reduced) $("find").remove();
else {
  const results = $("found");
  $("search").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase(), found = [];
    results.replaceChildren();
    if (!wanted) return;
    for (let v = 0; v < n && found.length < 30; v++)
      if (data.variables[v].toLowerCase().includes(wanted)) found.push(link(data.variables[v], -1, v));
    for (let e = 0; e < n && found.length < 45; e++)
      if (equationLines(e).text.toLowerCase().includes(wanted)) found.push(link(equationLines(e).text, e, -1));
    results.append(...(found.length ? found : [make("span", {class: "soft"}, "nothing found")]));
  });
}
fillList("states", data.states, ([name, unit, reason]) => line(make("code", {}, name), unit, reason));
fillList("sets", data.sets, (set) => line("set " + set.number, set.n_states + " of", make("code", {},
  set.candidates.map((level) => level.join(", ")).join("; "))));
fillList("not-states", data.not_states, ([name, unit, reason]) => line(make("code", {}, name), unit, reason));
fillList("loops", data.loops, loopRow);
fillList("aliases", data.aliases, ([name, text]) => line(make("code", {}, name), "=", make("code", {}, text)));
for (const key of ["discrete", "clocks", "actions"]) fillList(key, data[key], (one) => line(one));
fillList("notes", data.notes, (note) => line(note));
fillList("refusals", data.refusals, (note) => line(note));
