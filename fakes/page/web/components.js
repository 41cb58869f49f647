// What the bot puts below (or, newer, in) a message: buttons, menus and layout; pressed and chosen by whoever looks.

import { h } from "./dom.js";
import { act, seen } from "./live.js";
import { showForm } from "./form.js";
import { markdown } from "./markdown.js";

const ROW = 1, BUTTON = 2, SELECT = 3, SECTION = 9, TEXT = 10, THUMBNAIL = 11, GALLERY = 12, FILE = 13, LINE = 14, BOX = 17;
const STYLES = { 1: "primary", 2: "secondary", 3: "success", 4: "danger", 5: "link", 6: "primary" };

export function component(one, message) {
  switch (one.type) {
    case ROW: return h("div", { class: "row" }, one.components.map((child) => component(child, message)));
    case BUTTON: return button(one, message);
    case SELECT: return select(one, message);
    case SECTION: return h("div", { class: "section" },
      h("div", {}, one.components.map((child) => component(child, message))), component(one.accessory, message));
    case TEXT: return h("div", { class: "text" }, markdown(one.content, seen.names));
    case LINE: return h("hr");
    case BOX: return h("div", { class: "box" }, one.components.map((child) => component(child, message)));
    case THUMBNAIL: case GALLERY: case FILE: return h("p", { class: "small" }, "(media; see the files of the message)");
    default: return h("p", { class: "small" }, `(a component of type ${one.type}, which this page cannot show)`);
  }
}

const caption = (one) => [one.emoji?.name, one.label].filter(Boolean).join(" ") || "…";

function button(one, message) {
  if (one.style === 5) return h("a", { class: "button link", href: one.url, target: "_blank", rel: "noopener noreferrer" }, caption(one));
  return h("button", {
    type: "button", class: `button ${STYLES[one.style] ?? "secondary"}`, disabled: one.disabled,
    "data-key": one.custom_id,
    onclick: (event) => use(event.currentTarget, "click", { message: message.id, custom_id: one.custom_id }),
  }, caption(one));
}

function select(one, message) {
  const many = (one.max_values ?? 1) > 1;
  const label = one.placeholder ?? "Make a selection";
  const options = one.options.map((option) => h("option", { value: option.value, selected: option.default },
    [option.emoji?.name, option.label].filter(Boolean).join(" ") + (option.description ? ` — ${option.description}` : "")));
  const send = (node) => use(node, "select", {
    message: message.id, custom_id: one.custom_id, values: [...node.selectedOptions].map((option) => option.value),
  });
  if (!many) {
    const hint = h("option", { value: "", disabled: true, selected: !one.options.some((option) => option.default) }, label);
    return h("select", {
      "aria-label": label, disabled: one.disabled, "data-key": one.custom_id,
      onchange: (event) => send(event.currentTarget),
    }, hint, options);
  }
  const node = h("select", { multiple: true, size: Math.min(6, options.length), "aria-label": label, disabled: one.disabled,
    "data-key": one.custom_id }, options);
  return h("div", { class: "many" }, node, h("button", { type: "button", class: "button secondary", disabled: one.disabled,
    onclick: () => send(node) }, "Choose"));
}

// One use at a time of one component, as in Discord's client; what comes of it is in the view, a form at once.
async function use(node, name, more) {
  if (node.dataset.busy !== undefined) return;
  node.dataset.busy = "";
  node.setAttribute("aria-busy", "true");
  const answer = await act(name, more);
  delete node.dataset.busy;
  node.removeAttribute("aria-busy");
  if (answer?.modal !== undefined) showForm(answer);
}
