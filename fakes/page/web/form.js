// The bot's forms ("modals"): shown over the page, sent as they were filled in, gone with Escape; the browser gives the
// focus back to where it was.

import { $, h } from "./dom.js";
import { act, seen } from "./live.js";
import { markdown } from "./markdown.js";

const ROW = 1, SELECT = 3, INPUT = 4, TEXT = 10, LABEL = 18;

export function showForm(answer) {
  const dialog = $("form");
  const fields = answer.modal.components.map((one) => field(one, {}));
  const form = h("form", { method: "dialog" },
    h("h2", { id: "form-title" }, answer.modal.title ?? ""), fields,
    h("div", { class: "row" },
      h("button", { type: "button", class: "button secondary", onclick: () => dialog.close() }, "Cancel"),
      h("button", { type: "submit", class: "button primary" }, "Submit")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const named = [...form.querySelectorAll("[name]")];
    const values = Object.fromEntries(named.filter((one) => one.value !== "" || one.tagName !== "SELECT").map((one) => [one.name, one.value]));
    const done = await act("submit", { form: answer.form, values });
    if (done !== null) dialog.close();
    if (done?.modal !== undefined) showForm(done);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  dialog.replaceChildren(form);
  dialog.showModal();
  form.querySelector("[name]")?.focus();
}

function field(one, told) {
  switch (one.type) {
    case ROW: return h("div", {}, one.components.map((child) => field(child, told)));
    case LABEL: return field(one.component, { label: one.label, about: one.description });
    case TEXT: return h("div", {}, markdown(one.content, seen.names));
    case INPUT: return labelled(one, told, one.style === 2 ? h("textarea", { ...common(one), rows: 5 }) : h("input", common(one)));
    case SELECT: return labelled(one, told, h("select", { name: one.custom_id, required: one.required !== false },
      h("option", { value: "" }, one.placeholder ?? "Make a selection"),
      one.options.map((option) => h("option", { value: option.value, selected: option.default }, option.label))));
    default: return h("p", { class: "small" }, `(a field of type ${one.type}, which this page cannot show)`);
  }
}

const common = (one) => ({
  name: one.custom_id, value: one.value ?? "", placeholder: one.placeholder, minlength: one.min_length,
  maxlength: one.max_length ?? 4000, required: one.required !== false,
});

function labelled(one, told, input) {
  const about = told.about ? h("span", { class: "small" }, told.about) : null;
  return h("label", { class: "field" }, h("span", {}, told.label ?? one.label ?? ""), about, input);
}
