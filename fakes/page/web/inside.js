// The panel that shows the connector at work: lanes, queues, waits, children, facts as they are written down.

import { $, ago, h, instant } from "./dom.js";
import { isInside, look, seen } from "./live.js";

export function makeInside() {
  const button = $("open-inside");
  const show = (open) => {
    $("inside").hidden = !open;
    document.body.classList.toggle("inside", open);
    button.setAttribute("aria-expanded", String(open));
    if (open !== isInside()) look({ inside: open });
  };
  button.addEventListener("click", () => show($("inside").hidden));
  $("inside").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    show(false);
    button.focus();
  });
  show(isInside());
}

export function drawInside() {
  const panel = $("inside");
  const told = seen.inside;
  if (panel.hidden) return;
  const at = panel.scrollTop;
  const parts = [h("header", {}, h("h2", {}, "Inside"), h("button", { type: "button", class: "plain close", onclick: () => $("open-inside").click(), "aria-label": "Close" }, "✕")), process()];
  if (told?.lanes !== undefined) {
    parts.push(section("Lanes", told.lanes.length > 0 ? busyFirst(told.lanes).map(lane) : h("p", { class: "small" }, "Nothing runs or waits, and no agent is up.")));
    if (told.gates.length > 0) parts.push(section("Provider limits", told.gates.map(gate)));
    parts.push(section("Ledger, newest first", h("ol", { class: "facts" }, [...told.facts].reverse().map(fact))));
  }
  if (told !== null) parts.push(section("Log, newest first", h("ol", { class: "facts" }, [...told.log].reverse().map(line))));
  const focused = panel.contains(document.activeElement);
  panel.replaceChildren(...parts);
  panel.scrollTop = at;
  if (focused) panel.querySelector(".close").focus();
}

const section = (title, ...content) => h("section", {}, h("h3", {}, title), content);

function process() {
  const { about, inside } = seen;
  const words = [`${about.state}, start ${about.starts}`];
  if (inside?.wedges !== undefined) {
    words.push(`failed in a row ${inside.wedges.in_row} of ${inside.wedges.allowed}`, `last exit ${inside.wedges.last_exit}`);
  }
  return section("Connector", h("p", { class: "process" }, words.join(" · ")),
    about.notes?.length > 0 ? h("ol", { class: "facts" }, [...about.notes].reverse().map(([at, text]) => h("li", {}, clock(new Date(at * 1000).toISOString()), ` ${text}`))) : null);
}

const busy = (one) => Number(one.head !== null || one.queue.length > 0 || one.others.length > 0);

const busyFirst = (lanes) => [...lanes].sort((one, other) => busy(other) - busy(one));

function lane(one) {
  const children = one.children.map((child) => h("li", { class: "child" }, `agent ${child.child}, process ${child.pid}: ${child.state}`));
  const head = one.head === null ? h("li", {}, "head: none") : h("li", { class: "at-work" }, "head: ", round(one.head));
  return h("div", { class: "lane", "data-lane": one.lane }, h("strong", {}, place(one.channel)), h("ul", {},
    children.length > 0 ? children : h("li", {}, "no agent"), head,
    one.others.map((other) => h("li", {}, round(other))),
    one.queue.length > 0 ? h("li", { class: "queue" }, `queue: ${one.queue.length}`, h("ol", {}, one.queue.map((next) => h("li", {}, round(next))))) : h("li", { class: "queue" }, "queue: empty")));
}

function round(one) {
  const wait = one.until === null ? null : h("span", { class: "wait" }, " until ", instant(one.until, "T"), " (", countdown(one.until), ")");
  const tries = one.attempts > 0 ? ` · attempt ${one.attempts}` : "";
  return h("span", {}, h("b", {}, one.phase), tries, wait, ` · “${one.words}”`);
}

function countdown(seconds) {
  return h("time", { "data-at": String(seconds) }, ago(seconds));
}

const gate = (one) => h("p", {}, `${one.name}: nothing is sent until `, instant(one.until, "T"), " (", countdown(one.until), ")");

const place = (id) => (seen.names.channels[id] === undefined ? id : `${seen.names.channels[id]}`);

const clock = (at) => h("span", { class: "small" }, new Date(at).toLocaleTimeString("en-GB"));

const DULL = new Set(["seq", "at", "step", "round", "lane", "message", "author", "author_name", "channel", "origin", "bot", "reply_to", "parent", "key"]);

// The end of a path says more than its beginning.
function pair([key, value]) {
  const text = String(value);
  return `${key}=${text.length > 48 ? `…${text.slice(-46)}` : text}`;
}

function fact(one) {
  const fields = Object.entries(one).filter(([key, value]) => !DULL.has(key) && value !== "" && value !== "0" && value !== false).map(pair);
  return h("li", { "data-fact": one.step, title: JSON.stringify(one) }, clock(one.at), " ", h("b", {}, one.step), ` ${fields.join(" ")}`);
}

function line(one) {
  const fields = Object.entries(one.fields).map(pair);
  return h("li", { class: one.level, title: JSON.stringify(one.fields), "data-event": one.event }, clock(one.timestamp), " ", h("b", {}, one.event), ` ${fields.join(" ")}`);
}
