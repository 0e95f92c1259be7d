"use strict";
// Helpers and line charts of the page of a plan. All names are data: they only ever become text nodes.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

function draw(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function table(lines) {
  const body = make("dl", {class: "facts"});
  for (const [key, value] of lines) body.append(make("dt", {}, key), make("dd", {}, value));
  return body;
}

// ------------------------------------------------------------------------------------------------- numbers

function show(value, digits) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-4 ? value.toExponential((digits || 4) - 1) : value.toPrecision(digits || 4);
  return text.replace(/(\.\d*?)0+(e|$)/, "$1$2").replace(/\.(e|$)/, "$1").replace("e+", "e").replace("-", "−");
}

function summed(differences) {  // whole numbers from differences
  let at = 0;
  return differences.map((step) => (at += step));
}

function curves(coded) {  // [low, high, differences, ...] -> lists of values
  const [low, high, ...rest] = coded;
  return rest.map((one) => one && summed(one).map((whole) => low + (high - low) * whole / 9999));
}

// ----------------------------------------------------------------------------------------------------- tip

const tip = $("tip");
function showTip(lines, clientX, clientY) {
  tip.replaceChildren(table(lines));
  tip.hidden = false;
  const wide = tip.offsetWidth, high = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(clientX + 14, document.documentElement.clientWidth - wide - 8)) + "px";
  tip.style.top = Math.max(4, clientY + high + 22 > window.innerHeight ? clientY - high - 12 : clientY + 14) + "px";
}
const hideTip = () => { tip.hidden = true; };
window.addEventListener("scroll", hideTip, {passive: true});

// -------------------------------------------------------------------------------------------------- scales

class Scale {
  constructor(low, high, log, isExact) {
    this.log = log;
    if (log && !isExact) {
      low = Math.pow(10, Math.floor(Math.log10(low) + 1e-9));
      high = Math.pow(10, Math.ceil(Math.log10(high) - 1e-9));
      if (!(high > low)) high = 10 * low;
    } else if (!(high > low)) {
      const room = Math.abs(low) * 0.01 || 1;
      low -= room;
      high += room;
    }
    this.low = low;
    this.high = high;
  }

  to(value) {  // 0 .. 1
    return this.log ? Math.log(value / this.low) / Math.log(this.high / this.low)
      : (value - this.low) / (this.high - this.low);
  }

  ticks(count) {
    if (this.log) {
      const first = Math.floor(Math.log10(this.low) + 1e-9), last = Math.ceil(Math.log10(this.high) - 1e-9), out = [];
      const every = Math.max(1, Math.ceil((last - first) / count)), parts = last - first <= 2 ? [1, 2, 5] : [1];
      for (let k = first; k <= last; k += every) for (const part of parts) out.push(Number(part + "e" + k));
      return out.filter((one) => one >= this.low * 0.999 && one <= this.high * 1.001);
    }
    const raw = (this.high - this.low) / count, power = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = power * [1, 2, 5, 10].find((one) => one * power >= raw * 0.999);
    const out = [];
    for (let k = Math.ceil(this.low / step - 1e-9); k * step <= this.high + 1e-9 * step; k++) out.push(k * step);
    return out;
  }

  text(value, ticks) {
    if (this.log) {
      const power = Math.floor(Math.log10(value) + 1e-9);
      return Math.abs(power) <= 3 ? String(Number(value.toPrecision(2))) : show(value, 1).replace("−", "-");
    }
    const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : Math.abs(value) || 1;
    if (Math.abs(value) < step * 1e-6) return "0";
    const largest = Math.max(...ticks.map(Math.abs));
    if (largest >= 1e6 || largest < 1e-3) return show(value, 3);
    return value.toFixed(Math.max(0, Math.min(12, Math.ceil(-Math.log10(step) - 1e-9)))).replace("-", "−");
  }
}

// -------------------------------------------------------------------------------------------------- charts

const charts = [];

// spec: x, y {label, log, low, high, include, room}; series [{name, style, x, y, kind}], kind "line" (default), "dots"
// or "bars"; marks [{x or y, name, style}]; diagonal: draw y = x; tell(series, k): lines of the tip
class Chart {
  constructor(box, spec) {
    this.box = box;
    this.legend = make("ul", {class: "legend"});
    this.place = make("div", {class: "plot", tabindex: "0"});
    box.replaceChildren(this.legend, this.place);
    this.at = -1;
    this.place.addEventListener("pointermove", (event) => this.onMove(event));
    this.place.addEventListener("pointerdown", (event) => this.onMove(event));
    this.place.addEventListener("pointerleave", () => { this.at = -1; hideTip(); this.cursor(); });
    this.place.addEventListener("blur", () => { this.at = -1; hideTip(); this.cursor(); });
    this.place.addEventListener("keydown", (event) => this.onKey(event));
    this.set(spec);
    charts.push(this);
    new ResizeObserver(() => { if (Math.abs(this.place.clientWidth - this.width) > 1) this.render(); })
      .observe(this.place);
  }

  set(spec) {
    this.spec = spec;
    this.series = spec.series.filter((one) => one.y && one.y.some((value) => value !== null));
    this.at = -1;
    this.legend.replaceChildren(...[...this.series, ...(spec.marks || [])].filter((one) => one.name).map((one) =>
      make("li", {}, sample(one), one.name)));
    this.render();
  }

  scaleOf(key) {
    const spec = this.spec[key], values = spec.include ? [...spec.include] : [];
    for (const one of this.series) for (const v of one[key]) if (v !== null && (!spec.log || v > 0)) values.push(v);
    for (const mark of this.spec.marks || []) {
      const v = mark[key];
      if (v !== undefined && v !== null && mark.counts && (!spec.log || v > 0)) values.push(v);
    }
    let low = Infinity, high = -Infinity;
    for (const v of values) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
    if (low > high) [low, high] = spec.log ? [0.1, 1] : [0, 1];
    if (spec.low !== undefined) low = spec.low;
    if (spec.high !== undefined) high = spec.high;
    if (!spec.log && spec.room) {
      const room = (high - low || Math.abs(high) || 1) * 0.05;
      low -= spec.room === "above" ? 0 : room;
      high += room;
    }
    return new Scale(low, high, spec.log, spec.low !== undefined && spec.high !== undefined);
  }

  render() {
    const width = this.width = Math.max(260, this.place.clientWidth), height = this.spec.height || 280;
    this.sx = this.scaleOf("x");
    this.sy = this.scaleOf("y");
    const yTicks = this.sy.ticks(Math.max(3, Math.floor(height / 55)));
    const widest = Math.max(...yTicks.map((one) => this.sy.text(one, yTicks).length));
    this.left = 30 + 7 * widest;
    this.right = 14;
    this.top = 10;
    this.bottom = 44;
    this.inner = [width - this.left - this.right, height - this.top - this.bottom];
    const svg = this.svg = draw("svg", {viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img"});
    const clip = "clip-" + this.box.id;
    svg.append(draw("clipPath", {id: clip}, draw("rect",
      {x: this.left, y: this.top - 5, width: this.inner[0], height: this.inner[1] + 10})));
    this.axes(svg, yTicks);
    const inside = draw("g", {"clip-path": `url(#${clip})`});
    svg.append(inside);
    if (this.spec.diagonal) {
      const low = Math.max(this.sx.low, this.sy.low), high = Math.min(this.sx.high, this.sy.high);
      inside.append(draw("line", {x1: this.px(low), y1: this.py(low), x2: this.px(high), y2: this.py(high),
        class: "mark"}));
    }
    for (const mark of this.spec.marks || []) this.paintMark(inside, mark);
    for (const one of this.series) this.paint(inside, one);
    this.pointer = draw("g", {});
    svg.append(this.pointer);
    this.place.replaceChildren(svg);
    this.cursor();
  }

  px(value) { return this.left + this.inner[0] * this.sx.to(value); }

  py(value) { return this.top + this.inner[1] * (1 - this.sy.to(value)); }

  axes(svg, yTicks) {
    const [wide, high] = this.inner, xTicks = this.sx.ticks(Math.max(3, Math.floor(wide / 90)));
    for (const v of yTicks) {
      const y = this.py(v).toFixed(1);
      svg.append(draw("line", {x1: this.left, x2: this.left + wide, y1: y, y2: y, class: "grid"}),
        draw("text", {x: this.left - 6, y, dy: ".35em", "text-anchor": "end"}, this.sy.text(v, yTicks)));
    }
    for (const v of xTicks) {
      const x = this.px(v).toFixed(1);
      svg.append(draw("line", {x1: x, x2: x, y1: this.top, y2: this.top + high, class: "grid"}),
        draw("text", {x, y: this.top + high + 16, "text-anchor": "middle"}, this.sx.text(v, xTicks)));
    }
    const middle = this.top + high / 2;
    svg.append(draw("rect", {x: this.left, y: this.top, width: wide, height: high, class: "frame"}),
      draw("text", {x: this.left + wide / 2, y: this.top + high + 36, "text-anchor": "middle", class: "label"},
        this.spec.x.label),
      draw("text", {x: 13, y: middle, transform: `rotate(-90 13 ${middle})`, "text-anchor": "middle", class: "label"},
        this.spec.y.label));
  }

  paintMark(group, mark) {
    const attributes = {class: "mark " + (mark.style || "")};
    if (mark.y !== undefined && mark.y !== null)
      Object.assign(attributes, {x1: this.left, x2: this.left + this.inner[0], y1: this.py(mark.y),
        y2: this.py(mark.y)});
    else if (mark.x !== undefined && mark.x !== null)
      Object.assign(attributes, {x1: this.px(mark.x), x2: this.px(mark.x), y1: this.top, y2: this.top + this.inner[1]});
    else return;
    group.append(draw("line", attributes));
  }

  isGood(one, k) {
    const x = one.x[k], y = one.y[k];
    return x !== null && y !== null && (!this.sx.log || x > 0) && (!this.sy.log || y > 0);
  }

  paint(group, one) {
    if (one.kind === "dots") {
      one.x.forEach((x, k) => {
        if (this.isGood(one, k)) group.append(draw("circle",
          {cx: this.px(x).toFixed(1), cy: this.py(one.y[k]).toFixed(1), r: 4.5, class: "dot " + one.style}));
      });
      return;
    }
    if (one.kind === "bars") {
      const floor = this.top + this.inner[1];
      one.y.forEach((y, k) => {
        if (!(y > 0)) return;
        const x = this.px(one.edges[k]), top = this.py(y);
        group.append(draw("rect", {x: x.toFixed(1), y: top.toFixed(1), height: (floor - top).toFixed(1),
          width: Math.max(1, this.px(one.edges[k + 1]) - x - 0.5).toFixed(1), class: "bar"}));
      });
      return;
    }
    let path = "", isDown = false;
    one.x.forEach((x, k) => {
      if (!this.isGood(one, k)) { isDown = false; return; }
      path += (isDown ? "L" : "M") + this.px(x).toFixed(1) + " " + this.py(one.y[k]).toFixed(1);
      isDown = true;
    });
    group.append(draw("path", {d: path, class: "curve " + one.style}));
    if (one.x.length < 40) one.x.forEach((x, k) => {
      if (this.isGood(one, k)) group.append(draw("circle",
        {cx: this.px(x).toFixed(1), cy: this.py(one.y[k]).toFixed(1), r: 2.5, class: "point " + one.style}));
    });
  }

  // ----------------------------------------------------------------------------------------- pointer, keys

  onMove(event) {
    const box = this.svg.getBoundingClientRect(), factor = this.width / box.width;
    const x = (event.clientX - box.left) * factor, y = (event.clientY - box.top) * factor;
    let best = -1, least = Infinity;
    const one = this.series[0];
    if (!one) return;
    one.x.forEach((value, k) => {
      if (!this.isGood(one, k)) return;
      const dx = this.px(value) - x, dy = one.kind === "dots" ? this.py(one.y[k]) - y : 0;
      const distance = dx * dx + dy * dy;
      if (distance < least) { least = distance; best = k; }
    });
    if (one.kind === "dots" && least > 900) best = -1;
    this.at = best;
    this.cursor(event.clientX, event.clientY);
  }

  onKey(event) {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    const one = this.series[0];
    if (!step || !one) return;
    event.preventDefault();
    const good = one.x.map((_, k) => k).filter((k) => this.isGood(one, k));
    if (one.kind === "dots") good.sort((a, b) => one.x[a] - one.x[b]);
    const now = good.indexOf(this.at), many = good.length > 100 && one.kind !== "dots" ? 5 : 1;
    this.at = good[Math.max(0, Math.min(good.length - 1, now < 0 ? 0 : now + step * many))];
    const box = this.svg.getBoundingClientRect(), factor = box.width / this.width;
    this.cursor(box.left + this.px(one.x[this.at]) * factor, box.top + this.py(one.y[this.at]) * factor);
  }

  cursor(clientX, clientY) {
    this.pointer.replaceChildren();
    const one = this.series[0], k = this.at;
    if (k < 0 || !one) { hideTip(); return; }
    const x = this.px(one.x[k]);
    if (one.kind !== "dots") this.pointer.append(draw("line",
      {x1: x, x2: x, y1: this.top, y2: this.top + this.inner[1], class: "cursor"}));
    for (const each of one.kind === "bars" ? [] : this.series) {
      if (each.x.length <= k || !this.isGood(each, k)) continue;
      const height = this.sy.to(each.y[k]);
      if (height >= -0.02 && height <= 1.02)
        this.pointer.append(draw("circle", {cx: this.px(each.x[k]), cy: this.py(each.y[k]), r: 5, class: "cursor"}));
    }
    if (clientX === undefined) return;
    const lines = this.spec.tell ? this.spec.tell(k) : [[this.spec.x.label, show(one.x[k], 5)],
      ...this.series.map((each) => [each.name, show(each.y[k]) + (this.spec.y.unit || "")])];
    showTip(lines, clientX, clientY);
  }
}

function sample(one) {  // of a legend
  const svg = draw("svg", {width: 30, height: 12, viewBox: "0 0 30 12", class: "sample", "aria-hidden": "true"});
  if (one.kind === "dots") svg.append(draw("circle", {cx: 15, cy: 6, r: 4.5, class: "dot " + one.style}));
  else if (one.kind === "bars") svg.append(draw("rect", {x: 9, y: 0, width: 12, height: 12, class: "bar"}));
  else svg.append(draw("line",
    {x1: 0, x2: 30, y1: 6, y2: 6, class: (one.y && one.x ? "curve " : "mark ") + (one.style || "")}));
  return svg;
}

function options(select, texts) {
  select.replaceChildren(...texts.map((text, k) => make("option", {value: k}, text)));
}
