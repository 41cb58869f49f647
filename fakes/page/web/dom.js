// Small helpers over the DOM. Text is only ever set as text: nothing that a message contains becomes markup.

export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export const $ = (id) => document.getElementById(id);

export function toast(text) {
  const box = $("toast");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => { box.hidden = true; }, 8000);
}

// ---- instants that stay current

const UNITS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const FORMATS = {
  t: { timeStyle: "short" }, T: { timeStyle: "medium" }, d: { dateStyle: "short" }, D: { dateStyle: "long" },
  f: { dateStyle: "long", timeStyle: "short" }, F: { dateStyle: "full", timeStyle: "short" },
};

export function ago(seconds) {
  const away = Math.round(seconds - Date.now() / 1000);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(away) >= length) ?? UNITS.at(-1);
  return relative.format(Math.trunc(away / size), unit);
}

export function instant(seconds, style = "f") {
  const node = h("time", { datetime: new Date(seconds * 1000).toISOString(), "data-style": style });
  node.title = new Intl.DateTimeFormat("en", FORMATS.F).format(seconds * 1000);
  node.textContent = style === "R" ? ago(seconds)
    : new Intl.DateTimeFormat("en", FORMATS[style] ?? FORMATS.f).format(seconds * 1000);
  if (style === "R") node.dataset.at = seconds;
  return node;
}

setInterval(() => {
  for (const node of document.querySelectorAll("time[data-at]")) {
    const text = ago(Number(node.dataset.at));
    if (node.textContent !== text) node.textContent = text;
  }
}, 500);

// ---- a list to choose from by arrows, Enter and Escape, beside what it belongs to

export function popup(anchor, items, { label, onchoose, onclose = () => {} }) {
  const list = h("ul", { role: "menu", class: "popup", "aria-label": label });
  const close = (back = true) => {
    document.removeEventListener("pointerdown", outside);
    list.remove();
    if (back && anchor.isConnected) anchor.focus();
    onclose();
  };
  const outside = (event) => { if (!list.contains(event.target)) close(false); };
  const step = (by) => {
    const all = [...list.querySelectorAll("button")];
    all[(all.indexOf(document.activeElement) + by + all.length) % all.length].focus();
  };
  for (const item of items) {
    const choose = () => { close(); onchoose(item); };
    list.append(h("li", { role: "none" }, h("button", { type: "button", role: "menuitem", onclick: choose }, item.label)));
  }
  list.addEventListener("keydown", (event) => {
    const act = { ArrowDown: () => step(1), ArrowUp: () => step(-1), Escape: close, Tab: close }[event.key];
    if (act === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  document.body.append(list);
  const box = anchor.getBoundingClientRect();
  const top = Math.min(box.bottom + 4, innerHeight - list.offsetHeight - 8);
  list.style.top = `${Math.max(8, top)}px`;
  list.style.left = `${Math.max(8, Math.min(box.right - list.offsetWidth, innerWidth - list.offsetWidth - 8))}px`;
  setTimeout(() => document.addEventListener("pointerdown", outside));
  list.querySelector("button")?.focus();
  return close;
}
