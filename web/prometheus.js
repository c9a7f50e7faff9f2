// Prometheus' text format, version 0.0.4: as much of it as a server's own page needs.

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"};

export class Samples {
  constructor(text) {
    this.byName = new Map();
    for (const line of text.split("\n")) {
      const sample = line.startsWith("#") ? null : SAMPLE.exec(line);
      if (!sample) continue;
      const labels = {};
      for (const [, name, value] of (sample[2] ?? "").matchAll(LABEL)) {
        labels[name] = value.replace(/\\[n"\\]/g, (escape) => ESCAPES[escape]);
      }
      const value = sample[3] === "+Inf" ? Infinity : Number(sample[3]);
      if (!this.byName.has(sample[1])) this.byName.set(sample[1], []);
      this.byName.get(sample[1]).push({labels, value});
    }
  }

  // The sum, where several have this name.
  value(name) {
    return (this.byName.get(name) ?? []).reduce((sum, sample) => sum + sample.value, 0);
  }

  // [["disk", 12], ...] for each value of a label.
  by(name, label) {
    return (this.byName.get(name) ?? []).map((sample) => [sample.labels[label], sample.value]);
  }

  histogram(name) {
    const buckets = this.by(`${name}_bucket`, "le").map(([le, count]) => [le === "+Inf" ? Infinity : Number(le), count]);
    return {buckets, count: this.value(`${name}_count`), sum: this.value(`${name}_sum`)};
  }
}

// The value below which this share of a histogram's observations lies, as Prometheus' histogram_quantile() does it:
// even within a bucket. null: none were observed.
export function quantile({buckets, count}, share) {
  if (count === 0) return null;
  const rank = share * count;
  let [low, below] = [0, 0];
  for (const [high, upTo] of buckets) {
    if (upTo >= rank) {
      if (high === Infinity) return low;
      return upTo === below ? high : low + (high - low) * (rank - below) / (upTo - below);
    }
    [low, below] = [high, upTo];
  }
  return low;
}
