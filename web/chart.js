// A small chart of the last minutes: one line a series, from zero up.
import {el, svg} from "./dom.js";

const N_SAMPLES = 150;  // five minutes at one every two seconds
const WIDTH = 300;
const HEIGHT = 72;

export class Chart {
  // series: names, of which the first has its area filled. format: a value as text.
  constructor(title, series, format) {
    this.title = title;
    this.series = series;
    this.format = format;
    this.samples = [];  // arrays with a value, or null, a series
    this.shapes = series.map((_, i) => svg("path", {class: `line s${i + 1}`, "vector-effect": "non-scaling-stroke"}));
    this.area = svg("path", {class: "area s1"});
    this.top = el("span", {}, "");
    this.plot = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img"}, this.area, ...this.shapes);
    this.element = el("div", {class: "chart"}, this.plot,
      el("div", {class: "scale hint", "aria-hidden": "true"}, el("span", {}, "5 minutes"), this.top));
    this.draw();
  }

  push(values) {
    this.samples.push(values);
    if (this.samples.length > N_SAMPLES) this.samples.shift();
    this.draw();
  }

  draw() {
    const known = this.samples.flat().filter((value) => value !== null);
    const most = Math.max(0, ...known);
    const scale = most > 0 ? (HEIGHT - 6) / most : 0;
    const x = (i) => WIDTH - (this.samples.length - 1 - i) * WIDTH / (N_SAMPLES - 1);
    const path = (at) => {
      let out = "";
      let open = false;
      this.samples.forEach((values, i) => {
        if (values[at] !== null) out += `${open ? "L" : "M"}${x(i).toFixed(1)} ${(HEIGHT - 2 - values[at] * scale).toFixed(1)}`;
        open = values[at] !== null;
      });
      return out;
    };
    this.shapes.forEach((shape, at) => shape.setAttribute("d", path(at)));
    const first = path(0);
    const whole = first !== "" && first.lastIndexOf("M") === 0;
    this.area.setAttribute("d", whole ? `${first}L${WIDTH} ${HEIGHT}L${x(this.samples.findIndex((v) => v[0] !== null)).toFixed(1)} ${HEIGHT}Z` : "");
    this.top.textContent = `highest ${this.format(most)}`;
    const now = this.samples.at(-1) ?? this.series.map(() => null);
    const said = this.series.map((name, i) => `${name} ${now[i] === null ? "unknown" : this.format(now[i])}`).join(", ");
    this.plot.setAttribute("aria-label", `${this.title}, the last five minutes: now ${said}; highest ${this.format(most)}`);
  }
}
