// Slash commands: a list while one types "/", then a form for the options of the chosen one, with what the bot offers.

import { h } from "./dom.js";
import { act, seen } from "./live.js";
import { showForm } from "./form.js";

const SLASH = 1, WHOLE = 4, YES_OR_NO = 5, NUMBER = 10;

export function commandPicker(box, say) {
  let shown = [];
  let at = 0;

  const close = () => {
    shown = [];
    box.replaceChildren();
    for (const name of ["aria-activedescendant", "aria-controls"]) say.removeAttribute(name);
  };

  const draw = () => {
    if (shown.length === 0) return close();
    const rows = shown.map((command, i) => h("li", {
      role: "option", id: `command-${i}`, "aria-selected": String(i === at), onpointerdown: (event) => {
        event.preventDefault();
        choose(command);
      },
    }, h("strong", {}, `/${command.name}`), ` ${command.about}`));
    box.replaceChildren(h("ul", { role: "listbox", id: "commands", class: "commands", "aria-label": "Commands" }, rows));
    say.setAttribute("aria-controls", "commands");
    say.setAttribute("aria-activedescendant", `command-${at}`);
    box.querySelector('[aria-selected="true"]').scrollIntoView({ block: "nearest" });
  };

  const choose = (command) => {
    close();
    say.value = "";
    if (command.options.length === 0) run(command, {});
    else box.replaceChildren(optionsOf(command, () => {
      close();
      say.focus();
    }, say));
    box.querySelector("[name]")?.focus();
  };

  return {
    close,
    typed(text) {
      shown = text.startsWith("/") ? seen.commands.filter((one) => one.kind === SLASH && one.name.startsWith(text.slice(1).trim())) : [];
      at = 0;
      draw();
    },
    // Whether the key was for the list.
    key(event) {
      if (shown.length === 0) return false;
      const step = (by) => {
        at = (at + by + shown.length) % shown.length;
        draw();
      };
      const does = { ArrowDown: () => step(1), ArrowUp: () => step(-1), Escape: close, Enter: () => choose(shown[at]), Tab: () => choose(shown[at]) };
      if (does[event.key] === undefined) return false;
      event.preventDefault();
      does[event.key]();
      return true;
    },
  };
}

async function run(command, options) {
  const answer = await act("slash", { name: command.name, options });
  if (answer?.modal !== undefined) showForm(answer);
  return answer;
}

function optionsOf(command, done, say) {
  const form = h("form", { class: "options", "aria-label": `/${command.name}` });
  const filled = () => Object.fromEntries([...form.querySelectorAll("[name]")]
    .filter((one) => one.value.trim() !== "").map((one) => [one.name, value(command, one)]));
  form.append(h("strong", {}, `/${command.name}`), ...command.options.map((option) => field(command, option, filled)),
    h("button", { type: "submit", class: "button primary" }, "Run"),
    h("button", { type: "button", class: "button secondary", onclick: done }, "Cancel"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await run(command, filled()) !== null) done();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      done();
    }
  });
  say.value = "";
  return form;
}

function value(command, node) {
  const { type } = command.options.find((option) => option.name === node.name);
  if (type === YES_OR_NO) return node.value === "true";
  return type === WHOLE || type === NUMBER ? Number(node.value) : node.dataset.value ?? node.value;
}

function field(command, option, filled) {
  const about = h("span", { class: "small" }, option.description ?? "");
  const pairs = option.type === YES_OR_NO ? [["true", "true"], ["false", "false"]]
    : (option.choices ?? []).map((choice) => [choice.name, choice.value]);
  const attributes = { name: option.name, required: option.required === true };
  let input;
  if (pairs.length > 0) {
    input = h("select", attributes, h("option", { value: "" }, ""), pairs.map(([label, given]) => h("option", { value: given }, label)));
  } else {
    input = h("input", { ...attributes, type: option.type === WHOLE || option.type === NUMBER ? "number" : "text", autocomplete: "off",
      step: option.type === NUMBER ? "any" : undefined, maxlength: option.max_length });
  }
  const label = h("label", { class: "field" }, h("span", {}, option.name), input, about);
  // Beside the label, not in it: what is offered is no part of the field's name.
  return option.autocomplete === true ? h("div", { class: "offers" }, label, complete(command, option, input, filled)) : label;
}

// What the bot offers while one types; an old answer never replaces a newer one.
function complete(command, option, input, filled) {
  const list = h("ul", { role: "listbox", class: "commands", id: `offers-${option.name}`, "aria-label": `Offers for ${option.name}` });
  let offers = [], at = -1, asked = 0, timer = 0, none = false;
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-controls", list.id);

  const draw = () => {
    input.setAttribute("aria-expanded", String(offers.length > 0));
    list.replaceChildren(...offers.map((offer, i) => h("li", { role: "option", id: `offer-${option.name}-${i}`, "aria-selected": String(i === at),
      onpointerdown: (event) => {
        event.preventDefault();
        take(offer);
      } }, offer.name)));
    if (none) list.replaceChildren(h("li", { role: "presentation", class: "small" }, "Nothing is offered for this yet."));
    none = false;
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `offer-${option.name}-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const take = (offer) => {
    input.value = offer.name;
    input.dataset.value = offer.value;
    [offers, at] = [[], -1];
    asked += 1;
    draw();
  };
  const ask = async () => {
    const mine = asked += 1;
    const typed = input.value;
    const answer = await act("complete", { name: command.name, option: option.name, typed, options: { ...filled(), [option.name]: typed } });
    if (mine !== asked || answer === null) return;
    [offers, at, none] = [answer.choices, -1, answer.choices.length === 0];
    draw();
  };
  input.addEventListener("focus", ask);
  input.addEventListener("input", () => {
    delete input.dataset.value;
    clearTimeout(timer);
    timer = setTimeout(ask, 120);
  });
  input.addEventListener("blur", () => {
    asked += 1;
    [offers, at] = [[], -1];
    draw();
  });
  input.addEventListener("keydown", (event) => {
    if (offers.length === 0) return;
    const step = (by) => { at = (at + by + offers.length) % offers.length; };
    const does = { ArrowDown: () => step(1), ArrowUp: () => step(at < 0 ? 0 : -1), Escape: () => { offers = []; } };
    if (event.key === "Enter" && at >= 0) does.Enter = () => take(offers[at]);
    if (does[event.key] === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    does[event.key]();
    draw();
  });
  return list;
}
