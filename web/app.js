// Starts the pages, keeps an eye on the server, asks for its key.
import {ask, health, key} from "./api.js";
import {ChatPage} from "./chat.js";
import {ConnectPage} from "./connect.js";
import {number} from "./dom.js";
import {LivePage} from "./live.js";

const $ = (id) => document.getElementById(id);
const PAGES = ["chat", "live", "connect"];
const EVERY_MS = 2000;

const server = {model: "", context: 0, status: "unknown"};
const chat = new ChatPage(server);
const live = new LivePage();
const connect = new ConnectPage(server);

const where = () => {
  const [page, ...rest] = location.hash.slice(1).split("/");
  return PAGES.includes(page) ? [page, rest.join("/")] : ["chat", ""];
};

function showPage(focus) {
  const [page, rest] = where();
  for (const name of PAGES) $(name).hidden = name !== page;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.hash === `#${page}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${page[0].toUpperCase()}${page.slice(1)} · Tempo9`;
  if (page === "connect") connect.update(rest);
  if (page === "live") live.update();
  if (page === "chat") $("prompt").focus({preventScroll: true});
  else if (focus && rest === "") $(`${page}-title`).focus({preventScroll: true});
}

async function learnModel() {
  const model = (await (await ask("/v1/models")).json()).data[0];
  server.model = model.id;
  server.context = model.max_model_len;
  if (where()[0] === "connect") connect.update(where()[1]);
}

const STATES = {
  loading: "The model is being loaded",
  draining: "The server is shutting down",
  gone: "The server does not answer",
};

async function look() {
  const found = await health();
  if (found.status === "ok" && server.status !== "ok") server.model = "";  // perhaps another server by now
  server.status = found.status;
  if (found.status === "ok" && !server.model) {
    try {
      await learnModel();
    } catch {
      // The key is asked for.
    }
  }
  let text = STATES[found.status] ?? "Key needed";
  if (server.model && found.status === "ok") {
    text = `${server.model} · ${number(server.context)} tokens${found.model === "unloaded" ? " · comes into memory with a request" : ""}`;
  }
  if ($("state").textContent !== text) $("state").textContent = text;
  $("dot").dataset.state = found.status;
}

// One thing after the other, and nothing while nobody sees it.
let timer = null;
async function tick() {
  clearTimeout(timer);
  if (document.hidden) return;
  await look();
  if (where()[0] === "live" && server.status === "ok") await live.update();
  clearTimeout(timer);
  timer = setTimeout(tick, EVERY_MS);
}

// Asked for once at a time, and not again by itself once it was put off.
let putOff = false;
function askForKey(why) {
  if ($("key-dialog").open || putOff) return;
  $("key-why").textContent = key.get() ? why : "";
  $("key-dialog").showModal();
  $("key").focus();
}

document.addEventListener("keyneeded", (event) => askForKey(event.detail));
$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key.set($("key").value.trim());
  $("key").value = "";
  $("key-dialog").close();
  tick();
});
$("key-cancel").addEventListener("click", () => $("key-dialog").close("later"));
$("key-dialog").addEventListener("cancel", () => { putOff = true; });
$("key-dialog").addEventListener("close", () => { putOff ||= $("key-dialog").returnValue === "later"; });
$("composer").addEventListener("submit", () => { putOff = false; }, {capture: true});
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});
addEventListener("hashchange", () => showPage(true));
document.addEventListener("visibilitychange", () => { if (!document.hidden) tick(); });

showPage(false);
tick();
