// The page put together: each piece of news is drawn where it belongs.

import { $, h } from "./dom.js";
import { fill, makeComposer } from "./composer.js";
import { drawInside, makeInside } from "./inside.js";
import { connect, onnews, seen } from "./live.js";
import { drawMessages, makeMessages } from "./messages.js";
import { drawPlaces, makePlaces } from "./places.js";

const STATES = {
  up: "connector up", starting: "connector starting…", "starting again": "connector starting again…",
  lost: "connection to the demo lost", ended: "the demo has ended",
};

// Seconds for which news of a connector that is up again stay above the conversation; Inside keeps them.
const NEWS = 60;

function drawState() {
  const { state, notes } = seen.about;
  $("state").textContent = STATES[state] ?? "";
  $("state").className = state?.replaceAll(" ", "-") ?? "";
  const last = notes?.at(-1);
  const old = last !== undefined && state === "up" && Date.now() / 1000 - last[0] > NEWS;
  $("news").hidden = last === undefined || old;
  if (last !== undefined && $("news").textContent !== last[1]) $("news").textContent = last[1];
}

// What a word takes stands before its help: `MS [NAME]: …`.
const VALUES = /^((?:[A-Z.]+|\[[^\]]+\])(?: (?:[A-Z.]+|\[[^\]]+\]))*): (.*)$/;

function drawTour() {
  const { tour, words } = seen.who;
  const box = $("tour");
  box.hidden = tour.length === 0;
  const watch = h("p", { class: "small", id: "watch" }, "Choose one to fill it in, then Enter; or write anything.");
  const items = tour.map(([text, about]) => h("button", { type: "button", title: about, "aria-describedby": "watch",
    onclick: () => {
      const inChannel = seen.places.find((place) => place.id === seen.look.in)?.kind === "channel";
      fill(`${inChannel ? "@pi " : ""}${text}`);
      watch.textContent = `Watch: ${about}.`;
    } }, text));
  const all = h("details", {}, h("summary", {}, "all words"),
    h("dl", {}, Object.entries(words).flatMap(([word, about]) => {
      const [, values, told] = about.match(VALUES) ?? [about, "", about];
      return [h("dt", {}, h("code", {}, `${word} ${values}`.trim())), h("dd", {}, told)];
    })));
  box.replaceChildren(h("div", { class: "row" }, h("strong", {}, "Try:"), items), all, watch);
}

function drawTyping() {
  const now = Date.now() / 1000;
  const names = seen.typing.filter((one) => one.until > now).map((one) => one.name);
  const text = names.length === 0 ? "" : `${names.join(", ")} ${names.length === 1 ? "is" : "are"} typing…`;
  if ($("typing").textContent !== text) $("typing").textContent = text;
}

onnews((news) => {
  if (seen.who === null) return drawState();
  if (news.has("who")) drawTour();
  drawState();
  if (["places", "look", "who"].some((key) => news.has(key))) drawPlaces(news);
  if (["order", "look", "names"].some((key) => news.has(key))) drawMessages(news);
  if (["inside", "about", "look"].some((key) => news.has(key))) drawInside();
  drawTyping();
});
setInterval(() => {
  if (seen.who === null) return;
  drawTyping();
  drawState();
}, 1000);

makeMessages();
makeComposer();
makePlaces();
makeInside();
connect();
