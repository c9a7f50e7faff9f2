// The part of Markdown that models write, as DOM nodes: paragraphs, headings, lists, quotes, fences, tables, rules;
// code, bold, italic, struck out, links. Everything else, HTML too, is text. Nothing is loaded: an image is a link.
//
// Time is linear in the text but for nesting, which is bounded.
import {copyButton, el} from "./dom.js";

const MAX_DEPTH = 8;

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(?=\S)/;
const CELLS = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

const starts = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
const isTable = (lines, at) => lines[at].includes("|") && lines[at + 1]?.includes("-") && lines[at + 1].includes("|") && CELLS.test(lines[at + 1]);
const indent = (line) => line.length - line.trimStart().length;

const closes = (line, mark) => line.trim().startsWith(mark) && line.trim().replaceAll(mark[0], "") === "";

// The lines of one block that begins at lines[at]: its end.
function end(lines, at) {
  const line = lines[at];
  let next = at + 1;
  const fence = FENCE.exec(line);
  if (fence) {
    while (next < lines.length) {
      if (closes(lines[next++], fence[1])) break;
    }
  } else if (HEADING.test(line) || RULE.test(line)) {
    return next;
  } else if (QUOTE.test(line)) {
    while (next < lines.length && QUOTE.test(lines[next])) ++next;
  } else if (ITEM.test(line)) {
    const ordered = /\d/.test(ITEM.exec(line)[2]);
    for (; next < lines.length; ++next) {
      const here = lines[next];
      if (here.trim() === "") {
        // A gap inside a list, if the list goes on behind it.
        const after = lines[next + 1];
        if (after === undefined || !(ITEM.test(after) || indent(after) >= 2)) break;
        continue;
      }
      const item = ITEM.exec(here);
      if (item && item[1].length < 2 && /\d/.test(item[2]) !== ordered) break;
      if (!item && indent(here) < 2 && (lines[next - 1].trim() === "" || starts(here))) break;
    }
  } else if (isTable(lines, at)) {
    for (next = at + 2; next < lines.length && lines[next].includes("|");) ++next;
  } else {
    while (next < lines.length && lines[next].trim() !== "" && !starts(lines[next]) && !isTable(lines, next)) ++next;
  }
  return next;
}

// The text's blocks, each as its lines.
function split(lines) {
  const out = [];
  for (let at = 0; at < lines.length;) {
    if (lines[at].trim() === "") {
      ++at;
      continue;
    }
    const next = end(lines, at);
    out.push(lines.slice(at, next));
    at = next;
  }
  return out;
}

function code(lines) {
  const [, mark, info] = FENCE.exec(lines[0]);
  const closed = lines.length > 1 && closes(lines.at(-1), mark);
  const text = lines.slice(1, closed ? -1 : undefined).join("\n");
  const [language, ...rest] = info.trim().split(/\s+/);
  const caption = rest.length > 0 ? rest.join(" ") : language;
  return el("figure", {class: "code"},
    el("figcaption", {}, el("span", {}, caption || "text"), copyButton(() => text, "the code")),
    el("pre", {tabindex: "0", "aria-label": `Code${caption ? `, ${caption}` : ""}`, role: "region"}, el("code", {}, text)));
}

function list(lines, options, depth) {
  const [, , mark] = ITEM.exec(lines[0]);
  const ordered = /\d/.test(mark);
  const out = el(ordered ? "ol" : "ul", ordered && parseInt(mark, 10) !== 1 ? {start: parseInt(mark, 10)} : {});
  const base = indent(lines[0]);
  let item = [];
  let width = 0;
  const flush = () => {
    if (item.length > 0) out.append(el("li", {}, ...render(item, options, depth + 1, true)));
  };
  for (const line of lines) {
    const match = ITEM.exec(line);
    if (match && match[1].length < Math.max(base + 2, width)) {
      flush();
      width = match[0].length;
      item = [line.slice(width)];
    } else {
      item.push(line.slice(Math.min(indent(line), width)));
    }
  }
  flush();
  return out;
}

// "| a | `b | c` |" to its cells: a bar in code or behind a backslash is part of the text.
function cells(line) {
  const out = [""];
  let quoted = false;
  for (let i = 0; i < line.length; ++i) {
    const c = line[i];
    if (c === "\\" && line[i + 1] === "|") out[out.length - 1] += line[++i];
    else if (c === "|" && !quoted) out.push("");
    else out[out.length - 1] += c;
    if (c === "`") quoted = !quoted;
  }
  if (out[0].trim() === "") out.shift();
  if (out.length > 0 && out.at(-1).trim() === "") out.pop();
  return out.map((cell) => cell.trim());
}

function table(lines, options) {
  const head = cells(lines[0]);
  const row = (texts, tag, scope) => el("tr", {}, ...head.map((_, i) => el(tag, scope, ...inline(texts[i] ?? "", options))));
  return el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Table"},
    el("table", {},
      el("thead", {}, row(head, "th", {scope: "col"})),
      el("tbody", {}, ...lines.slice(2).map((line) => row(cells(line), "td", {})))));
}

function block(lines, options, depth, tight) {
  const line = lines[0];
  if (FENCE.test(line)) return [code(lines)];
  const heading = HEADING.exec(line);
  // The page's own headings are above a text's.
  if (heading) return [el(`h${Math.min(6, heading[1].length + options.headings)}`, {}, ...inline(heading[2].replace(/[ \t]+#+[ \t]*$/, ""), options))];
  if (RULE.test(line)) return [el("hr")];
  if (depth < MAX_DEPTH) {
    if (QUOTE.test(line)) return [el("blockquote", {}, ...render(lines.map((l) => l.replace(QUOTE, "")), options, depth + 1))];
    if (ITEM.test(line)) return [list(lines, options, depth)];
  }
  if (lines.length > 1 && isTable(lines, 0)) return [table(lines, options)];
  const nodes = inline(lines.map((l) => l.trimStart()).join("\n"), options);
  return tight ? nodes : [el("p", {}, ...nodes)];
}

function render(lines, options, depth, tight = false) {
  const parts = split(lines);
  return parts.flatMap((part, i) => block(part, options, depth, tight && i === 0));
}

// Only addresses that a browser shows as a page, and mail.
function safeLink(href) {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;  // relative: it means nothing here
  }
}

function anchor(href, children) {
  const safe = safeLink(href);
  if (safe === null) return el("span", {}, ...children);
  return el("a", {href: safe, target: "_blank", rel: "noopener noreferrer", title: safe}, ...children);
}

const MARKS = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];
const LINK = /!?\[([^[\]]{0,1000})\]\(\s*<?([^\s<>()]{0,2000}(?:\([^\s()]{0,200}\))?[^\s<>()]{0,200})>?(?:\s+"[^"\n]{0,500}")?\s*\)/y;
const URL_TEXT = /https?:\/\/[^\s<>"'`]{1,2000}/y;
const wordAt = (text, at) => at >= 0 && at < text.length && /[\p{L}\p{N}]/u.test(text[at]);

// Where the mark that opened before `from` closes; -1: nowhere.
function closing(text, mark, from) {
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + mark.length)) {
    if (/\s/.test(text[at - 1]) || text[at - 1] === "\\") continue;
    if (mark === "*" && text[at + 1] === "*") {
      ++at;  // of "**"
      continue;
    }
    if (mark[0] === "_" && wordAt(text, at + mark.length)) continue;
    return at;
  }
  return -1;
}

function inline(text, options, depth = 0) {
  const out = [];
  const hopeless = new Set();  // marks that close nowhere behind here
  let plain = "";
  const flush = () => {
    if (plain) out.push(document.createTextNode(plain));
    plain = "";
  };
  const push = (node) => {
    flush();
    out.push(node);
  };
  for (let i = 0; i < text.length;) {
    const c = text[i];
    if (c === "\\" && /[!-/:-@[-`{-~]/.test(text[i + 1] ?? "")) {
      plain += text[i + 1];
      i += 2;
      continue;
    }
    if (c === "\n") {
      if (options.breaks || plain.endsWith("  ")) push(el("br"));
      else plain += "\n";
      ++i;
      continue;
    }
    if (c === "`") {
      const run = /`+/y;
      run.lastIndex = i;
      const mark = run.exec(text)[0];
      const close = hopeless.has(mark) ? -1 : text.indexOf(mark, i + mark.length);
      if (close < 0) {
        hopeless.add(mark);
        plain += mark;
        i += mark.length;
        continue;
      }
      push(el("code", {}, text.slice(i + mark.length, close).replace(/^ (.+) $/s, "$1")));
      i = close + mark.length;
      continue;
    }
    if (c === "[" || (c === "!" && text[i + 1] === "[")) {
      LINK.lastIndex = i;
      const link = LINK.exec(text);
      if (link) {
        push(anchor(link[2], inline(link[1] || link[2], {...options, links: false}, depth + 1)));
        i += link[0].length;
        continue;
      }
    }
    if (c === "h" && options.links !== false && !wordAt(text, i - 1)) {
      URL_TEXT.lastIndex = i;
      const found = URL_TEXT.exec(text);
      if (found) {
        const href = found[0].replace(/[.,;:!?)\]}*_~]+$/, "");
        push(anchor(href, [href]));
        i += href.length;
        continue;
      }
    }
    const mark = MARKS.find(([m]) => text.startsWith(m, i) && !hopeless.has(m));
    if (mark && depth < MAX_DEPTH && !/\s/.test(text[i + mark[0].length] ?? " ") && !(c === "_" && wordAt(text, i - 1))) {
      const [m, tag] = mark;
      const close = closing(text, m, i + m.length + 1);
      if (close >= 0) {
        push(el(tag, {}, ...inline(text.slice(i + m.length, close), options, depth + 1)));
        i = close + m.length;
        continue;
      }
      hopeless.add(m);
    }
    plain += c;
    ++i;
  }
  flush();
  return out;
}

// Shows text in element. Blocks that are there already and have not changed stay, with what the reader has selected.
// options: breaks (a line's end is one), headings (how far a text's headings are moved down).
export function show(element, text, {breaks = true, headings = 2} = {}) {
  const parts = split(text.replaceAll("\r\n", "\n").split("\n"));
  let at = 0;
  for (; at < parts.length; ++at) {
    const source = parts[at].join("\n");
    const there = element.children[at];
    if (there && there.markdown === source) continue;
    const nodes = block(parts[at], {breaks, headings}, 0, false);
    const node = nodes[0];
    node.markdown = source;
    if (there) there.replaceWith(node);
    else element.append(node);
  }
  while (element.children.length > at) element.lastElementChild.remove();
}
