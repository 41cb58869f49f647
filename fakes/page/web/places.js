// Who one is, where one is, and where something new was said.

import { $, h } from "./dom.js";
import { leave } from "./composer.js";
import { look, seen } from "./live.js";

const SIGNS = { channel: "#", thread: "🧵", dm: "✉" };
const read = new Map();

export function goTo(place) {
  leave();
  look({ in: place });
  openSide(false);
  $("say").focus();
}

export function openSide(open) {
  document.body.classList.toggle("side", open);
  $("open-side").setAttribute("aria-expanded", String(open));
  if (open) $("places").querySelector("button")?.focus();
}

export function makePlaces() {
  $("open-side").addEventListener("click", () => openSide(!document.body.classList.contains("side")));
  $("side").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    openSide(false);
    $("say").focus();
  });
  $("person").addEventListener("change", () => {
    leave();
    // The same place; what is another person's private channel becomes one's own.
    look({ as: $("person").value });
  });
}

export function drawPlaces(news) {
  if (news.has("who") || news.has("look")) {
    $("person").replaceChildren(...seen.who.people.map((one) => h("option", { value: one.id, selected: one.id === seen.look.as }, one.name)));
  }
  const here = seen.places.find((place) => place.id === seen.look.in);
  if (here === undefined) return;
  read.set(`${seen.look.as}/${here.id}`, here.last);
  const focused = document.activeElement?.dataset.place;
  $("places").replaceChildren(...seen.places.map((place) => row(place)));
  if (focused !== undefined) $("places").querySelector(`[data-place="${focused}"]`)?.focus();
  $("place").textContent = `${SIGNS[here.kind]} ${here.name}`;
  // Whom a text is for differs by place, and is what a newcomer gets wrong first.
  $("say").placeholder = here.kind === "channel" ? `@${seen.who.bot.name} and what you want of it` : `What you want of ${seen.who.bot.name}`;
  document.title = `${here.name} · pi-connector demo`;
}

function row(place) {
  const key = `${seen.look.as}/${place.id}`;
  if (!read.has(key)) read.set(key, place.last);
  const fresh = BigInt(place.last) > BigInt(read.get(key));
  const here = place.id === seen.look.in;
  const classes = [place.kind, fresh ? "fresh" : "", place.archived ? "archived" : ""].join(" ").trim();
  return h("li", { class: classes }, h("button", { type: "button", "data-place": place.id, "aria-current": here ? "page" : null, onclick: () => goTo(place.id) },
    `${SIGNS[place.kind]} ${place.name}`, fresh ? h("span", { class: "dot", "aria-label": "something new" }, " ●") : null));
}
