// The messages of a place. Only what changed is drawn anew, so that a focus, a selection or an open menu outlives edits.

import { $, h, instant, popup } from "./dom.js";
import { component } from "./components.js";
import { startEdit, startReply } from "./composer.js";
import { showForm } from "./form.js";
import { act, look, seen } from "./live.js";
import { markdown, plain } from "./markdown.js";

const EMOJI = ["👍", "❤️", "🎉", "👀", "❌"];
const MESSAGE_MENU = 3;
const nodes = new Map();
const dismissed = new Set(JSON.parse(sessionStorage.getItem("dismissed") ?? "[]"));

// Where the newest message is in sight it stays in sight, whatever grows or shrinks.
let atEnd = true;
export function makeMessages() {
  const list = $("messages");
  list.addEventListener("scroll", () => { atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40; });
  new ResizeObserver(() => { if (atEnd) list.scrollTop = list.scrollHeight; }).observe(list);
}

export function drawMessages(news) {
  const list = $("messages");
  // A name may have come after the text that mentions it.
  if (news.has("names")) for (const node of nodes.values()) delete node.shown.text;
  const bottom = atEnd || news.has("look");
  const order = seen.order.filter((id) => !dismissed.has(id));
  const kept = new Set(order);
  for (const [id, node] of nodes) {
    if (kept.has(id)) continue;
    node.item.remove();
    nodes.delete(id);
  }
  let previous = null;
  for (const id of order) {
    const message = seen.messages.get(id);
    const node = nodes.get(id) ?? make(id);
    const follows = previous !== null && continues(previous, message);
    draw(node, message, follows);
    const after = previous === null ? list.firstChild : nodes.get(previous.id).item.nextSibling;
    if (after !== node.item) list.insertBefore(node.item, after);
    previous = message;
  }
  list.classList.toggle("empty", order.length === 0);
  if (bottom) list.scrollTop = list.scrollHeight;
}

function continues(before, message) {
  return before.author.id === message.author.id && message.reply === undefined && message.used === undefined
    && before.spoken && message.spoken && Date.parse(message.at) - Date.parse(before.at) < 420000;
}

function make(id) {
  const item = h("li", { class: "message", id: `m${id}`, "data-message": id });
  const parts = {};
  for (const name of ["reply", "head", "text", "embeds", "files", "components", "reactions", "foot"]) {
    parts[name] = h("div", { class: name });
    item.append(parts[name]);
  }
  const more = h("button", { type: "button", class: "more", "aria-label": "What to do with this message", "aria-haspopup": "menu",
    onclick: () => menu(more, seen.messages.get(id)) }, "⋯");
  item.append(more);
  item.addEventListener("contextmenu", (event) => {
    if (event.target.closest("a, pre, time, img") || String(getSelection()) !== "") return;
    event.preventDefault();
    menu(more, seen.messages.get(id));
  });
  const node = { item, parts, shown: {} };
  nodes.set(id, node);
  return node;
}

function draw(node, message, follows) {
  const { item } = node;
  item.classList.toggle("follows", follows);
  item.classList.toggle("mentioned", message.mentioned);
  item.classList.toggle("ephemeral", message.ephemeral);
  item.classList.toggle("bot", message.author.bot);
  part(node, "reply", [message.reply, message.used], () => above(message));
  part(node, "head", [message.author, message.at, follows], () => (follows ? [] : head(message)));
  part(node, "text", [message.text, message.edited, message.loading, message.spoken], () => text(message));
  part(node, "embeds", message.embeds, () => message.embeds.map(embed));
  part(node, "files", message.files, () => message.files.map(file));
  part(node, "components", message.components, () => message.components.map((one) => component(one, message)));
  part(node, "reactions", message.reactions, () => message.reactions.map((one) => reaction(one, message)));
  part(node, "foot", [message.ephemeral, message.thread], () => foot(message));
}

function part(node, name, value, make_) {
  const told = JSON.stringify(value ?? null);
  if (node.shown[name] === told) return;
  node.shown[name] = told;
  const box = node.parts[name];
  const key = box.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const lost = box.contains(document.activeElement);
  box.replaceChildren(...make_().filter((one) => one !== null));
  if (!lost) return;
  // A button that was pressed may be gone now; who uses the keyboard goes on where he can write.
  const again = key === undefined ? null : box.querySelector(`[data-key="${CSS.escape(key)}"]:not(:disabled)`);
  (again ?? $("say")).focus();
}

function above(message) {
  const made = [];
  if (message.used !== undefined) made.push(`${message.used.by} used ${message.used.name}`);
  if (message.reply !== undefined) {
    made.push(h("a", { href: `#m${message.reply.id}`, onclick: (event) => {
      event.preventDefault();
      const target = $(`m${message.reply.id}`);
      target?.scrollIntoView({ block: "center" });
    } }, `↪ ${message.reply.author} ${plain(message.reply.text.split("\n")[0], seen.names)}`));
  }
  return made;
}

function head(message) {
  const tag = message.author.bot ? h("span", { class: "tag" }, "app") : null;
  return [h("strong", { class: `name n${Number(BigInt(message.author.id) % 5n)}` }, message.author.name), tag,
    instant(Math.floor(Date.parse(message.at) / 1000), "t")];
}

function text(message) {
  if (message.loading) return [h("p", { class: "small" }, `${message.author.name} is thinking…`)];
  const shown = markdown(message.text, seen.names);
  if (message.edited && message.text !== "") {
    const last = shown.lastElementChild;
    (last?.tagName === "P" ? last : shown).append(" ", h("span", { class: "edited" }, "(edited)"));
  }
  return [shown];
}

function embed(one) {
  const title = one.title === null ? null : h("strong", {}, one.title);
  return h("div", { class: "embed" }, title, one.description ? markdown(one.description, seen.names) : null);
}

function file(one) {
  const size = one.size < 2048 ? `${one.size} bytes` : `${Math.round(one.size / 1024)} kB`;
  const link = h("a", { href: one.url, download: one.name }, one.name);
  const picture = one.width ? h("img", { src: one.url, alt: one.name, width: Math.min(one.width, 320) }) : null;
  return h("div", { class: "file" }, picture, "📄 ", link, h("span", { class: "small" }, ` ${size}`));
}

function reaction(one, message) {
  return h("button", { type: "button", class: one.mine ? "reaction mine" : "reaction", "aria-pressed": String(one.mine), "data-key": one.emoji,
    "aria-label": `${one.emoji} ${one.count}`, onclick: () => act("react", { message: message.id, emoji: one.emoji }) }, `${one.emoji} ${one.count}`);
}

function foot(message) {
  const made = [];
  if (message.ephemeral) {
    made.push("👁 Only you can see this · ", h("button", { type: "button", class: "plain", onclick: () => dismiss(message.id) }, "Dismiss"));
  }
  if (message.thread !== undefined) {
    made.push(h("button", { type: "button", class: "thread", onclick: () => look({ in: message.thread.id }) }, `🧵 ${message.thread.name}`));
  }
  return made;
}

function dismiss(id) {
  dismissed.add(id);
  sessionStorage.setItem("dismissed", JSON.stringify([...dismissed].slice(-500)));
  drawMessages(new Set());
  $("say").focus();
}

// ---- what one may do with a message

function menu(anchor, message) {
  const items = [{ label: "Reply", do: () => startReply(message) }];
  if (message.mine && message.spoken) {
    items.push({ label: "Edit", do: () => startEdit(message) }, { label: "Delete", do: () => act("delete", { message: message.id }) });
  }
  for (const command of seen.commands.filter((one) => one.kind === MESSAGE_MENU)) {
    items.push({ label: `Apps: ${command.name}`, do: () => use(command.name, message) });
  }
  for (const emoji of EMOJI) items.push({ label: `React ${emoji}`, do: () => act("react", { message: message.id, emoji }) });
  items.push({ label: "Copy message id", do: () => navigator.clipboard.writeText(message.id) });
  popup(anchor, message.ephemeral ? items.filter((one) => one.label.startsWith("Copy")) : items,
    { label: "What to do with this message", onchoose: (item) => item.do() });
}

async function use(name, message) {
  const answer = await act("menu", { name, message: message.id });
  if (answer?.modal !== undefined) showForm(answer);
}
