// The connect page: the clients' own pages (docs/connect), for this server's address and model.
import {el} from "./dom.js";
import {key} from "./api.js";
import {show} from "./markdown.js";

const FOLDER = "/console/connect";
const ADDRESS = "http://127.0.0.1:11435";
const CONTEXT = "32768";

// A name that stands in a shell, a path and a JSON string as it is. Any name is answered, so another is left "local".
const isPlain = (name) => /^[\w.:/-]+$/.test(name);

// One line of a fence. Comments are the page's own words.
function adapt(line, server) {
  const hash = line.search(/(^|\s)#\s/);
  const [code, comment] = hash < 0 ? [line, ""] : [line.slice(0, hash), line.slice(hash)];
  let out = code.replaceAll(ADDRESS, location.origin);
  if (server.context) out = out.replaceAll(CONTEXT, String(server.context));
  if (isPlain(server.model)) out = out.replace(/(^|[\s"'=/])local(?=$|[\s"',:])/g, (_, before) => before + server.model);
  if (key.get()) out = out.replace(/(KEY=|TOKEN=|"apiKey": ")none\b/g, "$1YOUR-KEY");
  return out + comment;
}

// A page's fences, and the code between its words.
export function adaptPage(text, server) {
  let inside = false;
  return text.replace(/^<!--.*-->$/gm, "").split("\n").map((line) => {
    if (line.startsWith("```")) {
      inside = !inside;
      return line.replace(/^(```\w+) (?:env|run)$/, "$1");
    }
    return inside ? adapt(line, server) : line.replace(/`[^`]+`/g, (code) => `\`${adapt(code.slice(1, -1), server)}\``);
  }).join("\n");
}

async function text(name) {
  const response = await fetch(`${FOLDER}/${name}.md`, {cache: "no-cache", credentials: "omit"});
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.text();
}

export class ConnectPage {
  constructor(server) {
    this.server = server;  // {model, context}
    this.names = null;     // [["Claude Code", "claude-code"], ...]
    this.wanted = "";
  }

  async update(name) {
    const note = document.getElementById("connect-note");
    try {
      if (this.names === null) await this.list();
      const chosen = this.names.find(([, page]) => page === name) ?? this.names[0];
      for (const link of document.querySelectorAll("#clients a")) {
        if (link.hash === `#connect/${chosen[1]}`) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      this.wanted = chosen[1];
      const page = await text(chosen[1]);
      if (this.wanted !== chosen[1]) return;  // another was chosen meanwhile
      note.textContent = `For this server: ${location.origin}, model ${this.server.model || "(not known yet)"}.` +
        (key.get() ? " Put the server's key where YOUR-KEY stands." : "");
      note.classList.remove("error");
      show(document.getElementById("client"), adaptPage(page, this.server), {breaks: false, headings: 1});
    } catch (error) {
      note.textContent = error.message;
      note.classList.add("error");
    }
  }

  // The table of docs/connect/README.md.
  async list() {
    const rows = (await text("README")).matchAll(/^\| ([^|]+) \| \[[^\]]+\]\(([\w-]+)\.md\) \|$/gm);
    this.names = Array.from(rows, ([, title, page]) => [title, page]);
    document.getElementById("clients").replaceChildren(el("ul", {}, ...this.names.map(([title, page]) =>
      el("li", {}, el("a", {href: `#connect/${page}`}, title)))));
  }
}
