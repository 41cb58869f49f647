// Where a person writes: text, files, replies, edits, and the way to commands.

import { $, h } from "./dom.js";
import { act, seen } from "./live.js";
import { plain } from "./markdown.js";
import { commandPicker } from "./slash.js";

const LONGEST = 2000;
let files = [];
let reply = null;
let edit = null;
let picker = null;

export function makeComposer() {
  const say = h("textarea", { id: "say", rows: 1, "aria-label": "Message", autocomplete: "off", "aria-describedby": "left" });
  const chosen = h("input", { id: "files", type: "file", multiple: true, hidden: true, onchange: () => {
    addFiles(chosen.files);
    chosen.value = "";
  } });
  const form = h("form", { class: "composer" },
    h("button", { type: "button", class: "attach", "aria-label": "Attach files", onclick: () => chosen.click() }, "+"), chosen, say,
    h("span", { id: "left", class: "small" }), h("button", { type: "submit", class: "button primary" }, "Send"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  say.addEventListener("keydown", keys);
  say.addEventListener("input", typed);
  say.addEventListener("paste", (event) => addFiles(event.clipboardData?.files ?? []));
  $("composer").replaceChildren(h("div", { id: "picker" }), h("div", { id: "note", class: "small" }), form);
  picker = commandPicker($("picker"), say);
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    addFiles(event.dataTransfer?.files ?? []);
  });
  say.focus();
}

export function fill(text) {
  const say = $("say");
  say.value = text;
  typed();
  say.focus();
}

export function startReply(message) {
  [reply, edit] = [message, null];
  note();
  $("say").focus();
}

export function startEdit(message) {
  [reply, edit] = [null, message];
  fill(plain(message.text, seen.names));
  note();
}

// What was begun belongs to the place it was begun in.
export function leave() {
  [reply, edit, files] = [null, null, []];
  picker?.close();
  note();
}

function addFiles(list) {
  files = [...files, ...list];
  note();
}

function note() {
  const made = [];
  const off = (label, undo) => h("button", { type: "button", class: "plain", "aria-label": label, onclick: () => {
    undo();
    note();
    $("say").focus();
  } }, "✕");
  if (reply !== null) made.push(h("span", {}, `Replying to ${reply.author.name} `, off("No reply", () => { reply = null; })));
  if (edit !== null) made.push(h("span", {}, "Editing your message ", off("No edit", cancelEdit)));
  files.forEach((file, at) => made.push(h("span", { class: "file" }, `📄 ${file.name} `, off(`Without ${file.name}`, () => { files.splice(at, 1); }))));
  $("note").replaceChildren(...made);
}

function cancelEdit() {
  edit = null;
  $("say").value = "";
  typed();
}

function typed() {
  const say = $("say");
  say.style.height = "auto";
  say.style.height = `${Math.min(say.scrollHeight, 200)}px`;
  const left = LONGEST - say.value.length;
  $("left").textContent = left < 200 ? String(left) : "";
  if (edit === null) picker.typed(say.value);
}

function keys(event) {
  if (event.isComposing || picker.key(event)) return;
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    send();
  } else if (event.key === "Escape" && (reply !== null || edit !== null)) {
    if (edit !== null) cancelEdit();
    reply = null;
    note();
  } else if (event.key === "ArrowUp" && $("say").value === "") {
    const own = seen.order.map((id) => seen.messages.get(id)).filter((one) => one.mine && one.spoken).at(-1);
    if (own !== undefined) {
      event.preventDefault();
      startEdit(own);
    }
  }
}

async function send() {
  const text = $("say").value.trim();
  if (text === "" && files.length === 0) return;
  const sent = { text, files, reply, edit };
  leave();
  fill("");
  const done = sent.edit !== null
    ? await act("edit", { message: sent.edit.id, text })
    : await act("say", { text, reply_to: sent.reply?.id ?? null }, sent.files);
  if (done === null && $("say").value === "") {
    // Refused: nothing that was written is lost.
    ({ reply, edit, files } = sent);
    $("say").value = text;
    typed();
    note();
  }
}
