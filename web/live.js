// The live page: what the server does now, from /metrics.
import {ask} from "./api.js";
import {Chart} from "./chart.js";
import {bytes, el, number, seconds} from "./dom.js";
import {Samples, quantile} from "./prometheus.js";

const FIRST_TOKEN = "vllm:time_to_first_token_seconds";
const GAP = "vllm:inter_token_latency_seconds";
const SOURCES = [["live", "running requests"], ["ram", "memory"], ["ssd", "disk"]];
const ENDS = {stop: "ended by themselves", length: "cut at the limit", abort: "left by the client", error: "failed"};

function card(title, ...parts) {
  const id = `card-${title.replaceAll(" ", "-").toLowerCase()}`;
  return el("section", {class: "card", "aria-labelledby": id}, el("h2", {id}, title), ...parts);
}

// A number with its name.
function figure(name) {
  const value = el("dd", {}, "–");
  return {value, element: el("div", {}, el("dt", {}, name), value), set: (text) => { value.textContent = text; }};
}

const figures = (...all) => el("dl", {class: "figures"}, ...all.map((f) => f.element));

// Parts of a whole, as a bar with its legend.
class Parts {
  constructor(title, names) {
    this.title = title;
    this.bars = names.map((_, i) => el("span", {class: `part s${i + 1}`}));
    this.bar = el("div", {class: "bar", role: "img", "aria-label": title}, ...this.bars);
    this.values = names.map(() => el("td", {}, "–"));
    this.element = el("div", {}, this.bar, el("table", {class: "legend"}, el("tbody", {}, ...names.map((name, i) =>
      el("tr", {}, el("th", {scope: "row"}, el("span", {class: `key s${i + 1}`}), name), this.values[i])))));
    this.names = names;
  }
  set(values, format = number) {
    const all = values.reduce((a, b) => a + b, 0);
    const share = (value) => (all > 0 ? value / all * 100 : 0);
    values.forEach((value, i) => {
      this.bars[i].style.width = `${share(value)}%`;
      this.values[i].textContent = `${format(value)} (${number(share(value))} %)`;
    });
    this.bar.setAttribute("aria-label", `${this.title}: ${this.names.map((name, i) => `${name} ${number(share(values[i]))} %`).join(", ")}`);
  }
}

class Meter {
  constructor(name) {
    this.name = name;
    this.fill = el("span", {class: "part s1"});
    this.text = el("span", {}, "–");
    this.bar = el("div", {class: "bar", role: "img", "aria-label": name}, this.fill);
    this.element = el("div", {class: "meter"}, el("p", {}, `${name}: `, this.text), this.bar);
  }
  set(value, most) {
    const share = most > 0 ? Math.min(100, value / most * 100) : 0;
    this.fill.style.width = `${share}%`;
    this.text.textContent = most > 0 ? `${bytes(value)} of ${bytes(most)}` : bytes(value);
    this.bar.setAttribute("aria-label", `${this.name}: ${this.text.textContent}`);
  }
}

export class LivePage {
  constructor() {
    this.last = null;  // {at, samples}
    this.running = figure("running");
    this.waiting = figure("waiting");
    this.requests = new Chart("Requests", ["running", "waiting"], number);
    this.rate = figure("tokens a second");
    this.tokens = new Chart("Generated tokens a second", ["tokens"], (v) => number(v, 1));
    this.first = [figure("half within"), figure("95 % within"), figure("latest")];
    this.firstChart = new Chart("Time to the first token", ["mean"], seconds);
    this.gaps = [figure("half within"), figure("95 % within"), figure("latest")];
    this.gapChart = new Chart("Time between two tokens", ["mean"], seconds);
    this.cache = new Parts("Prompt tokens", [...SOURCES.map(([, name]) => `found: ${name}`), "computed"]);
    this.kv = new Meter("KV cache");
    this.held = new Meter("of it held by running requests");
    this.process = new Meter("process");
    this.misses = el("tbody", {});
    this.ends = el("tbody", {});
    document.getElementById("cards").append(
      card("Requests", figures(this.running, this.waiting), this.requests.element),
      card("Tokens", figures(this.rate), this.tokens.element),
      card("Time to the first token", figures(...this.first), this.firstChart.element),
      card("Time between tokens", figures(...this.gaps), this.gapChart.element),
      card("Prompt tokens by where they were found", this.cache.element),
      card("Memory", this.kv.element, this.held.element, this.process.element),
      card("Cache misses by likely cause", el("table", {class: "legend"},
        el("thead", {}, el("tr", {}, ...["Cause", "Prompts", "Tokens computed"].map((name) => el("th", {scope: "col"}, name)))), this.misses)),
      card("Replies", el("table", {class: "legend"}, this.ends)));
  }

  async update() {
    const note = document.getElementById("live-note");
    try {
      const samples = new Samples(await (await ask("/metrics")).text());
      this.show(samples, performance.now() / 1000);
      note.textContent = `Asked every two seconds while this tab is seen; last at ${new Date().toLocaleTimeString()}.`;
      note.classList.remove("error");
    } catch (error) {
      this.last = null;
      note.textContent = error.message;
      note.classList.add("error");
    }
  }

  show(now, at) {
    const before = this.last;
    this.last = {at, samples: now};
    this.running.set(number(now.value("vllm:num_requests_running")));
    this.waiting.set(number(now.value("vllm:num_requests_waiting")));
    this.requests.push([now.value("vllm:num_requests_running"), now.value("vllm:num_requests_waiting")]);
    this.showRate(now, before, at);
    this.showTimes(this.first, this.firstChart, FIRST_TOKEN, now, before);
    this.showTimes(this.gaps, this.gapChart, GAP, now, before);
    const found = new Map(now.by("tempo9:prefix_cache_hit_tokens_total", "source"));
    const hits = SOURCES.map(([label]) => found.get(label) ?? 0);
    const asked = now.value("vllm:prefix_cache_queries_total");
    this.cache.set([...hits, Math.max(0, asked - hits.reduce((a, b) => a + b, 0))]);
    const limit = now.value("tempo9:kv_cache_limit_bytes");
    this.kv.set(now.value("tempo9:kv_cache_resident_bytes"), limit);
    this.held.set(now.value("vllm:kv_cache_usage_perc") * limit, limit);
    this.process.set(now.value("process_resident_memory_bytes"), now.value("tempo9:memory_limit_bytes"));
    this.showMisses(now);
    this.showEnds(now);
  }

  // Each token of a reply but the first is counted when it comes, as the gap before it; the first as itself.
  showRate(now, before, at) {
    const count = (samples) => samples.value(`${GAP}_count`) + samples.value(`${FIRST_TOKEN}_count`);
    const rate = before === null ? null : Math.max(0, count(now) - count(before.samples)) / (at - before.at);
    this.rate.set(rate === null ? "–" : number(rate, 1));
    this.tokens.push([rate]);
  }

  showTimes(cells, chart, name, now, before) {
    const all = now.histogram(name);
    [0.5, 0.95].forEach((share, i) => {
      const value = quantile(all, share);
      cells[i].set(value === null ? "–" : seconds(value));
    });
    const past = before?.samples.histogram(name);
    const n = past ? all.count - past.count : 0;
    const mean = n > 0 ? (all.sum - past.sum) / n : null;
    if (mean !== null) cells[2].set(seconds(mean));
    chart.push([mean]);
  }

  showMisses(now) {
    const tokens = new Map(now.by("tempo9:prefix_cache_miss_tokens_total", "cause"));
    const rows = now.by("tempo9:prefix_cache_misses_total", "cause").sort((a, b) => (tokens.get(b[0]) ?? 0) - (tokens.get(a[0]) ?? 0));
    this.misses.replaceChildren(...rows.map(([cause, n]) =>
      el("tr", {}, el("th", {scope: "row"}, cause), el("td", {}, number(n)), el("td", {}, number(tokens.get(cause) ?? 0)))));
    if (rows.length === 0) this.misses.append(el("tr", {}, el("td", {colspan: "3"}, "None so far.")));
  }

  showEnds(now) {
    const ends = new Map(now.by("vllm:request_success_total", "finished_reason"));
    const rows = Object.entries(ENDS).map(([why, text]) => [text, ends.get(why) ?? 0]);
    rows.push(["had to give way to others", now.value("vllm:num_preemptions_total")]);
    this.ends.replaceChildren(...rows.map(([why, n]) => el("tr", {}, el("th", {scope: "row"}, why), el("td", {}, number(n)))));
  }
}
