// What is seen, as the server tells it, and what is done, as it is asked to; draws nothing.

import { toast } from "./dom.js";

export const seen = {
  who: null, look: null, places: [], names: { users: {}, channels: {}, roles: {} }, commands: [],
  typing: [], about: {}, inside: null, order: [], messages: new Map(),
};

const listeners = [];
export const onnews = (listener) => listeners.push(listener);

let socket = null;
let ended = false;
// Where this tab looks is in its address, so that a reload shows the same, and two tabs two people.
let wanted = (() => {
  const [, person, place] = location.hash.match(/^#(\d+)\/(\d+)$/) ?? [];
  return { as: person, in: place, inside: sessionStorage.getItem("inside") === "yes" };
})();

export function look(change) {
  wanted = { ...wanted, ...change };
  sessionStorage.setItem("inside", wanted.inside ? "yes" : "no");
  if (socket?.readyState === WebSocket.OPEN && wanted.as !== undefined) socket.send(JSON.stringify(wanted));
}

export const isInside = () => wanted.inside;

function take(news) {
  if (news.end) ended = true;
  if (news.order !== undefined) {
    for (const message of news.messages) seen.messages.set(message.id, message);
    const kept = new Set(news.order);
    for (const id of [...seen.messages.keys()]) if (!kept.has(id)) seen.messages.delete(id);
  }
  for (const [key, value] of Object.entries(news)) if (key !== "messages") seen[key] = value;
  if (news.look !== undefined) {
    wanted = { ...wanted, ...news.look };
    history.replaceState(null, "", `#${news.look.as}/${news.look.in}`);
  }
  for (const listener of listeners) listener(new Set(Object.keys(news)));
}

export function connect() {
  socket = new WebSocket(`ws://${location.host}/live`);
  socket.addEventListener("open", () => socket.send(JSON.stringify(wanted)));
  socket.addEventListener("message", (event) => take(JSON.parse(event.data)));
  socket.addEventListener("close", () => {
    const about = { ...seen.about, state: ended ? "ended" : "lost" };
    take({ about });
    if (!ended) setTimeout(connect, 1000);
  });
}

export async function act(name, more = {}, files = []) {
  // Where this tab wants to be: what it is shown may be of the place it has just left.
  const asked = { act: name, as: wanted.as, in: wanted.in, ...more };
  let options;
  if (files.length > 0) {
    const body = new FormData();
    body.append("act", JSON.stringify(asked));
    for (const file of files) body.append("file", file, file.name);
    options = { method: "POST", body };
  } else {
    options = { method: "POST", body: JSON.stringify(asked), headers: { "Content-Type": "application/json" } };
  }
  let answer;
  try {
    const response = await fetch("/act", options);
    answer = response.status === 413 ? { error: "These files are too large for this demo (25 MB)." } : await response.json();
  } catch {
    answer = { error: "The demo cannot be reached: see the terminal it was started in." };
  }
  if (answer.error !== undefined) {
    toast(answer.error);
    return null;
  }
  return answer;
}
