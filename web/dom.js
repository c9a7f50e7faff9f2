// Elements out of text and elements. No markup is ever parsed: what a model or a file says can only become text.

// el("p", {class: "hint", "aria-label": "..."}, "text", child): properties that are functions listen to the event of
// that name; null and false leave out.
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Plain HTTP from another machine has no clipboard.
  const area = el("textarea", {class: "unseen", "aria-hidden": "true"});
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser did not let the page copy");
}

// text: a function, asked when the button is pressed.
export function copyButton(text, what) {
  const button = el("button", {type: "button", class: "quiet small", "aria-label": `Copy ${what}`}, "Copy");
  button.addEventListener("click", async () => {
    try {
      await copy(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return button;
}

export const number = (value, digits = 0) =>
  value.toLocaleString("en", {minimumFractionDigits: digits, maximumFractionDigits: digits});

export function bytes(value) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (value >= 1024 && at + 1 < units.length) {
    value /= 1024;
    ++at;
  }
  return `${number(value, at > 1 && value < 100 ? 1 : 0)} ${units[at]}`;
}

export function seconds(value) {
  if (value < 1) return `${number(value * 1000, value < 0.01 ? 1 : 0)} ms`;
  return `${number(value, value < 10 ? 2 : 1)} s`;
}
