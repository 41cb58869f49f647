// Discord's Markdown as DOM nodes; nothing else of Markdown, and never HTML.

import { h, instant } from "./dom.js";

const FENCE = /^```(?:([\w+#.-]*)\n)?([\s\S]*?)\n?```/;

export function markdown(text, names) {
  const out = document.createDocumentFragment();
  out.append(...blocks(text, names));
  return out;
}

// As it was written: names again in place of the marks that stand for them.
export function plain(text, names) {
  return text.replace(/<@!?(\d+)>/g, (mark, id) => (names.users[id] === undefined ? mark : `@${names.users[id]}`));
}

// ---- blocks

function blocks(text, names) {
  const made = [];
  let lines = [];
  const flush = () => {
    if (lines.length > 0) made.push(...lineBlocks(lines, names));
    lines = [];
  };
  let rest = text;
  while (rest !== "") {
    const at = rest.indexOf("```");
    const fence = at < 0 ? null : rest.slice(at).match(FENCE);
    if (fence === null) {
      lines.push(...rest.split("\n"));
      break;
    }
    const before = rest.slice(0, at).replace(/\n$/, "");
    if (before !== "") lines.push(...before.split("\n"));
    flush();
    made.push(code(fence[1] ?? "", fence[2]));
    rest = rest.slice(at + fence[0].length).replace(/^\n/, "");
  }
  flush();
  return made;
}

function code(language, text) {
  const name = language === "" ? null : h("span", { class: "language" }, language);
  return h("pre", { tabindex: "0", "aria-label": `Code ${language}`.trim() }, name, h("code", {}, text));
}

function lineBlocks(lines, names) {
  const made = [];
  let plain = [];
  const flush = () => {
    while (plain.length > 0 && plain.at(-1) === "") plain.pop();
    if (plain.length > 0) made.push(h("p", {}, inline(plain.join("\n"), names)));
    plain = [];
  };
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    let found;
    if (line.startsWith(">>> ")) {
      flush();
      made.push(h("blockquote", {}, blocks([line.slice(4), ...lines.slice(i + 1)].join("\n"), names)));
      return made;
    }
    if (/^> ?/.test(line) && (line.startsWith("> ") || line === ">")) {
      flush();
      const quoted = [];
      for (; i < lines.length && (lines[i].startsWith("> ") || lines[i] === ">"); i += 1) quoted.push(lines[i].slice(2));
      made.push(h("blockquote", {}, lineBlocks(quoted, names)));
    } else if ((found = line.match(/^(#{1,3}) +(.+)/)) !== null) {
      flush();
      made.push(h(`h${found[1].length + 2}`, {}, inline(found[2], names)));
      i += 1;
    } else if ((found = line.match(/^-# +(.+)/)) !== null) {
      flush();
      made.push(h("p", { class: "small" }, inline(found[1], names)));
      i += 1;
    } else if (ITEM.test(line)) {
      flush();
      const items = [];
      for (; i < lines.length && ITEM.test(lines[i]); i += 1) items.push(lines[i].match(ITEM));
      made.push(list(items, names));
    } else {
      if (line !== "" || plain.length > 0) plain.push(line);
      i += 1;
    }
  }
  flush();
  return made;
}

const ITEM = /^( *)([-*]|\d+\.) +(.*)$/;

function list(items, names) {
  const depth = items[0][1].length;
  const ordered = /\d/.test(items[0][2]);
  const node = ordered ? h("ol", { start: parseInt(items[0][2], 10) }) : h("ul");
  for (let i = 0; i < items.length;) {
    const entry = h("li", {}, inline(items[i][3], names));
    const below = [];
    for (i += 1; i < items.length && items[i][1].length > depth; i += 1) below.push(items[i]);
    if (below.length > 0) entry.append(list(below, names));
    node.append(entry);
  }
  return node;
}

// ---- inside a line

const mention = (kind, text) => h("span", { class: `mention ${kind}` }, text);

// Each rule: what it looks like, and the nodes it makes; the earliest match wins, then the first rule.
const RULES = [
  [/\\([\\*_~`|<>#@[\]()-])/, (m) => [m[1]]],
  [/(`+)([\s\S]*?[^`])\1(?!`)/, (m) => [h("code", {}, m[2].replace(/^ (.*) $/, "$1"))]],
  [/<t:(-?\d+)(?::([tTdDfFR]))?>/, (m) => [instant(Number(m[1]), m[2])]],
  [/<@!?(\d+)>/, (m, names) => [mention("user", `@${names.users[m[1]] ?? "someone"}`)]],
  [/<@&(\d+)>/, (m, names) => [mention("role", `@${names.roles[m[1]] ?? "a role"}`)]],
  [/<#(\d+)>/, (m, names) => [mention("channel", `#${names.channels[m[1]] ?? "somewhere"}`)]],
  [/@(everyone|here)\b/, (m) => [mention("all", m[0])]],
  [/\[([^\]\n]+)\]\(<?(https?:\/\/[^\s)>]+)>?\)/, (m, names) => [link(m[2], inline(m[1], names))]],
  [/<(https?:\/\/[^\s>]+)>/, (m) => [link(m[1], m[1])]],
  [/https?:\/\/[^\s<>]*[^\s<>.,:;"'!?)\]*_~|]/, (m) => [link(m[0], m[0])]],
  [/\*\*\*([^\s*](?:[\s\S]*?\S)?)\*\*\*/, (m, names) => [h("strong", {}, h("em", {}, inline(m[1], names)))]],
  [/\*\*([\s\S]+?)\*\*(?!\*)/, (m, names) => [h("strong", {}, inline(m[1], names))]],
  [/__([\s\S]+?)__(?!_)/, (m, names) => [h("u", {}, inline(m[1], names))]],
  [/\*([^\s*](?:[^*]*[^\s*])?)\*/, (m, names) => [h("em", {}, inline(m[1], names))]],
  [/(?<![A-Za-z0-9])_([^_]+)_(?![A-Za-z0-9])/, (m, names) => [h("em", {}, inline(m[1], names))]],
  [/~~([\s\S]+?)~~/, (m, names) => [h("s", {}, inline(m[1], names))]],
  [/\|\|([\s\S]+?)\|\|/, (m, names) => [spoiler(inline(m[1], names))]],
];

// A link is shown and never followed by itself; a person's click opens it elsewhere, without a trace of this page.
const link = (to, content) => h("a", { href: to, target: "_blank", rel: "noopener noreferrer" }, content);

function spoiler(content) {
  return h("button", { type: "button", class: "spoiler", onclick: (event) => event.currentTarget.classList.add("seen") }, content);
}

export function inline(text, names) {
  const made = [];
  let rest = text;
  while (rest !== "") {
    let best = null;
    for (const [pattern, make] of RULES) {
      const found = rest.match(pattern);
      if (found !== null && (best === null || found.index < best.found.index)) best = { found, make };
    }
    if (best === null) {
      made.push(rest);
      break;
    }
    const { found, make } = best;
    if (found.index > 0) made.push(rest.slice(0, found.index));
    made.push(...make(found, names));
    rest = rest.slice(found.index + found[0].length);
  }
  return made.flatMap(breaks);
}

function breaks(node) {
  if (typeof node !== "string") return [node];
  return node.split("\n").flatMap((line, i) => (i === 0 ? [line] : [h("br"), line]));
}
