// The chat page: a conversation over /v1/chat/completions.
import {Conversation, requestBody, stream} from "./conversation.js";
import {copyButton, el, number, seconds} from "./dom.js";
import {show} from "./markdown.js";

const $ = (id) => document.getElementById(id);

// One reply on the page; update() shows all that it holds by now.
class ReplyView {
  constructor(reply, name) {
    this.reply = reply;
    this.thinking = el("div", {class: "prose"});
    this.summary = el("summary", {}, "Thinking");
    this.details = el("details", {class: "thinking", hidden: true, open: true}, this.summary, this.thinking);
    // Once somebody has opened or closed it, it stays so.
    this.summary.addEventListener("click", () => { this.touched = true; });
    this.text = el("div", {class: "prose"});
    this.calls = el("div", {});
    this.error = el("p", {class: "error", role: "alert", hidden: true});
    this.foot = el("footer", {hidden: true}, el("span", {class: "hint"}), copyButton(() => reply.content, "the reply"));
    this.element = el("article", {class: "message assistant", "aria-label": `Reply of ${name}`},
      el("h2", {}, name), this.details, this.text, this.calls, this.error, this.foot);
  }

  update(busy) {
    const {reply} = this;
    // Read out once it is whole, not piece by piece.
    this.element.setAttribute("aria-busy", String(busy));
    this.element.classList.toggle("busy", busy);
    this.details.hidden = !reply.reasoning;
    if (reply.reasoning) {
      const over = !busy || reply.content || reply.calls.length > 0;
      this.summary.textContent = over ? "Thought" : "Thinking";
      if (!this.touched) this.details.open = !over;
      show(this.thinking, reply.reasoning);
    }
    show(this.text, reply.content);
    this.updateCalls();
    this.error.hidden = !reply.error;
    this.error.textContent = reply.error ?? "";
    this.foot.hidden = busy || (!reply.usage && !reply.content);
    this.foot.firstChild.textContent = describe(reply);
    this.foot.lastChild.hidden = !reply.content;
  }

  updateCalls() {
    this.reply.calls.forEach((call, i) => {
      if (!this.calls.children[i]) {
        this.calls.append(el("section", {class: "call", "aria-label": "Tool call"},
          el("h3", {}, "Tool call ", el("code", {})), el("pre", {tabindex: "0", role: "region", "aria-label": "Arguments"})));
      }
      const view = this.calls.children[i];
      view.querySelector("code").textContent = call.name;
      view.querySelector("pre").textContent = pretty(call.arguments);
    });
  }

  // Under the last reply: what the calls return, for somebody to write.
  askForResults(send) {
    const fields = this.reply.calls.map((call, i) => {
      const field = el("textarea", {rows: "2", class: "mono", id: `result-${call.id}`});
      this.calls.children[i].append(el("label", {for: field.id}, `What ${call.name} returns`), field);
      return field;
    });
    const form = el("button", {type: "button"}, fields.length > 1 ? "Send the results" : "Send the result");
    form.addEventListener("click", () => send(this.reply.calls.map((call, i) => ({role: "tool", id: call.id, content: fields[i].value}))));
    this.results = el("div", {class: "row"}, form);
    this.calls.append(this.results);
  }
  closeResults() {
    if (!this.results) return;
    this.results.remove();
    this.results = null;
    for (const part of this.calls.querySelectorAll("label, textarea")) part.remove();
  }
}

function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;  // not whole yet
  }
}

// "12 tokens, 30.1 a second; prompt 512 tokens, 498 of them known; first token after 41 ms"
function describe({usage, finish}) {
  if (!usage) return "";
  const {timing} = usage;
  const known = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const parts = [`${number(usage.completion_tokens)} tokens`];
  if (timing?.generated_tokens_per_second) parts[0] += `, ${number(timing.generated_tokens_per_second, 1)} a second`;
  parts.push(`prompt ${number(usage.prompt_tokens)}${known ? `, ${number(known)} of them cached` : ""}`);
  if (timing) parts.push(`first token after ${seconds(timing.first_token_seconds)}`);
  if (finish === "length") parts.push("cut at the limit of tokens");
  return parts.join(" · ");
}

export class ChatPage {
  constructor(server) {
    this.server = server;  // {model}
    this.talk = new Conversation();
    this.view = null;      // of the last reply
    this.abort = null;     // of the reply that is being written
    $("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.sendPrompt();
    });
    $("prompt").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      $("composer").requestSubmit();
    });
    $("stop").addEventListener("click", () => this.abort?.abort());
    $("again").addEventListener("click", () => this.tryAgain());
    $("fresh").addEventListener("click", () => this.clear());
    $("keep").addEventListener("change", () => this.talk.save($("keep").checked));
    if (matchMedia("(max-width: 60rem)").matches) $("settings").open = false;
    $("keep").checked = this.talk.load();
    this.redraw();
  }

  redraw() {
    $("log").replaceChildren();
    this.view = null;
    for (const message of this.talk.messages) this.draw(message);
    this.afterReply();
  }

  draw(message) {
    this.view?.closeResults();
    if (message.role === "assistant") {
      this.view = new ReplyView(message, this.server.model || "model");
      this.view.update(false);
      $("log").append(this.view.element);
      return;
    }
    const name = message.role === "tool" ? "Tool result" : "You";
    const text = el("div", {class: message.role === "tool" ? "mono said" : "said"}, message.content);
    $("log").append(el("article", {class: `message ${message.role}`, "aria-label": name}, el("h2", {}, name), text));
  }

  sendPrompt() {
    const content = $("prompt").value;
    if (this.abort || content.trim() === "") return;
    if (this.send([{role: "user", content}])) $("prompt").value = "";
  }

  // False: the settings are not right, and nothing was sent.
  send(messages) {
    let settings;
    try {
      settings = this.settings();
    } catch (error) {
      this.say(error.message, true);
      $("settings").open = true;
      return false;
    }
    for (const message of messages) {
      this.talk.messages.push(message);
      this.draw(message);
    }
    this.run(settings);
    return true;
  }

  tryAgain() {
    if (this.abort) return;
    if (this.talk.messages.at(-1)?.role === "assistant") this.talk.messages.pop();
    this.redraw();
    this.send([]);
  }

  settings() {
    const value = (id, label) => {
      if (!$(id).checkValidity()) throw new Error(`${label}: ${$(id).validationMessage}`);
      return $(id).value === "" ? null : Number($(id).value);
    };
    let tools = null;
    if ($("tools").value.trim() !== "") {
      try {
        tools = JSON.parse($("tools").value);
      } catch (error) {
        throw new Error(`Tools: this is no JSON (${error.message})`);
      }
    }
    return {
      model: this.server.model || "local",
      system: $("system").value.trim(),
      temperature: value("temperature", "Temperature"),
      maxTokens: value("max-tokens", "Most tokens of a reply"),
      effort: $("effort").value,
      tools,
    };
  }

  async run(settings) {
    const body = requestBody(this.talk.messages, settings);
    const reply = {role: "assistant", content: "", reasoning: "", calls: [], error: null, usage: null, finish: null};
    this.talk.messages.push(reply);
    this.draw(reply);
    this.abort = new AbortController();
    this.setBusy(true);
    this.say("Reading the prompt");
    const view = this.view;
    let due = false;
    const changed = () => {
      if (due) return;
      due = true;
      requestAnimationFrame(() => {
        due = false;
        if (!this.abort) return;
        const low = this.isAtEnd();
        view.update(true);
        if (reply.content || reply.calls.length > 0) this.say("Writing");
        else if (reply.reasoning) this.say("Thinking");
        if (low) this.toEnd();
      });
    };
    view.update(true);
    this.toEnd();
    try {
      await stream(body, reply, this.abort.signal, changed);
      this.say("");
    } catch (error) {
      if (error.name === "AbortError") this.say("Stopped");
      else reply.error = error.message;
    }
    const low = this.isAtEnd();
    this.abort = null;
    view.update(false);
    if (reply.error) this.say("");
    this.setBusy(false);
    this.afterReply();
    if (low) this.toEnd();
    this.talk.save($("keep").checked);
  }

  afterReply() {
    const last = this.talk.messages.at(-1);
    $("again").hidden = last?.role !== "assistant";
    $("log").dataset.empty = this.talk.messages.length === 0;
    if (last?.role === "assistant" && last.calls.length > 0) this.view.askForResults((results) => this.send(results));
  }

  setBusy(busy) {
    $("send").hidden = busy;
    $("stop").hidden = !busy;
    $("fresh").disabled = busy;
    if (busy) $("again").hidden = true;
    // The button that had the focus has gone.
    if (document.activeElement === document.body || document.activeElement?.hidden) (busy ? $("stop") : $("prompt")).focus();
  }

  clear() {
    if (this.abort) return;
    this.talk.messages = [];
    this.talk.save(false);
    $("keep").checked = false;
    this.say("");
    this.redraw();
    $("prompt").focus();
  }

  say(text, wrong = false) {
    if ($("progress").textContent !== text) $("progress").textContent = text;
    $("progress").classList.toggle("error", wrong);
  }

  isAtEnd() {
    const log = $("log");
    return log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  }
  toEnd() {
    $("log").scrollTop = $("log").scrollHeight;
  }
}
