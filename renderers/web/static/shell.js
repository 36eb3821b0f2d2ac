// The page around every show: header, timeline, keyboard, themes, list of moves. Views and panels register themselves.
//
//   coterie.views.KIND = {mount(element, show, api), draw(k), keys: [[key, words, run]]}   one per kind of show
//   coterie.pages.KIND = (element, show) => {...}          a kind that fills the whole page by itself
//   coterie.panels.push({title, wanted(show), mount(element, show, api), draw(k)})         in the column at the side
//
// api: {show, k, frame(k), seek(k), redraw(), append(frames), play(on), announce(words), seat(p)}
"use strict";

const coterie = { views: {}, panels: [], pages: {} };

// An element with attributes and children. Texts become text nodes, so nothing in them is read as HTML.
coterie.make = function (tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null));
  return element;
};

coterie.draw = function (tag, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

// Characters that change the direction of what follows are shown by their numbers.
coterie.visible = (text) =>
  String(text).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) =>
    "\u2039U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u203a");

// A text of any length: what is longer than `most` characters unfolds on demand.
coterie.long = function (text, most = 4000) {
  const { make } = coterie;
  const whole = coterie.visible(text);
  if (whole.length <= most) return make("bdi", {}, whole);
  const shown = make("bdi", {}, whole.slice(0, most) + " …");
  const more = make("button", { class: "link", type: "button", onclick: () => { shown.textContent = whole; more.remove(); } },
    `Show all ${whole.length.toLocaleString("en")} characters`);
  return make("span", {}, shown, " ", more);
};

// Fills an element unless `what` is as before; a focused child keeps the focus if its class has one successor.
coterie.fill = function (element, what, children) {
  const shown = JSON.stringify(what);
  if (element.shown === shown) return;
  const name = element.contains(document.activeElement) ? document.activeElement.className : null;
  element.shown = shown;
  element.replaceChildren(...children());
  const heirs = [...element.children].filter((child) => child.className === name);
  if (heirs.length === 1) heirs[0].focus();
};

coterie.disc = function (color) {
  const disc = coterie.make("span", { class: "disc", "aria-hidden": "true" });
  disc.style.background = color;
  return disc;
};

const SPEEDS = [0.5, 1, 2, 4, 8, 16, 32];
const ICONS = {
  first: "M5 4h2v12H5zM16 4v12L8 10z",
  back: "M14 4v12L6 10z",
  play: "M6 3.5v13l10.5-6.5z",
  pause: "M5.5 4h3.2v12H5.5zM11.3 4h3.2v12h-3.2z",
  next: "M6 4v12l8-6z",
  last: "M13 4h2v12h-2zM4 4v12l8-6z",
  light: "M10 5.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9zM9.2 1h1.6v2.6H9.2zM9.2 16.4h1.6V19H9.2zM1 9.2h2.6v1.6H1zM16.4 9.2H19v1.6h-2.6zM3 4.2L4.2 3 6 4.8 4.8 6zM14 15.200l1.2-1.2 1.8 1.8-1.2 1.200zM15.8 3L17 4.2 15.2 6 14 4.800zM4.8 14L6 15.2 4.2 17 3 15.800z",
};

function icon(name) {
  const picture = coterie.draw("svg", { viewBox: "0 0 20 20", width: 20, height: 20, "aria-hidden": "true" });
  picture.append(coterie.draw("path", { d: ICONS[name], fill: "currentColor" }));
  return picture;
}

function button(name, words, run) {
  return coterie.make("button", { type: "button", class: "icon", "aria-label": words, title: words, onclick: run }, icon(name));
}

coterie.theme = function (name) {
  if (name) {
    document.documentElement.dataset.theme = name;
    try { localStorage.setItem("coterie-theme", name); } catch (error) { /* pages from files may have no storage */ }
  }
  return document.documentElement.dataset.theme;
};

// Keys and what they do, [[key, words], ...], as a list.
coterie.keyList = (rows) => coterie.make("dl", {}, rows.map(([key, what]) => [coterie.make("dt", {}, coterie.make("kbd", {}, key)), coterie.make("dd", {}, what)]));

coterie.helpButton = (words, run) => coterie.make("button", { type: "button", class: "icon", "aria-label": words, title: words, onclick: run }, "?");

coterie.themeButton = () => button("light", "Dark or light (d)", () => coterie.theme(coterie.theme() === "dark" ? "light" : "dark"));

function firstTheme() {
  try {
    const kept = localStorage.getItem("coterie-theme");
    if (kept === "dark" || kept === "light") return kept;
  } catch (error) { /* as above */ }
  return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

// Show a show in an element; returns the api.
coterie.start = function (element, show) {
  const { make } = coterie;
  const view = coterie.views[show.kind];
  if (!view) {
    element.replaceChildren(make("p", { class: "failure", role: "alert" },
      `This page cannot show ${coterie.visible(show.kind)}; it can show ${Object.keys(coterie.views).join(", ")}.`));
    return null;
  }

  const api = {
    show,
    k: 0,
    frame: (k = api.k) => show.frames[k],
    seat: (p) => (p == null ? "" : coterie.visible(`${show.seats[p].name}${show.seats[p].player === show.seats[p].name ? "" : ` (${show.seats[p].player})`}`)),
    announce: (words) => { live.textContent = coterie.visible(words); },
    seek,
    redraw: () => seek(api.k, true),
    play,
    append(frames) {
      const atEnd = api.k === show.frames.length - 1;
      show.frames.push(...frames);
      moves.grow();
      seek(atEnd ? show.frames.length - 1 : api.k, true);
    },
  };

  // Header
  const themes = coterie.themeButton();
  const asks = coterie.helpButton("Keys and help (?)", help);
  const seats = make("ul", { class: "seats", "aria-label": "Players" });
  const header = make("header", {},
    make("div", { class: "name" }, make("h1", {}, coterie.visible(show.title)), make("span", { class: "id" }, show.game),
      show.goal ? make("span", { class: "goal" }, coterie.visible(show.goal)) : null),
    seats, make("div", { class: "tools" }, themes, asks));

  // Stage and side
  const stage = make("section", { class: "stage", "aria-label": "Position" });
  const status = make("p", { class: "status" });
  const side = make("aside", { "aria-label": "Moves and details" }, status);
  const live = make("div", { class: "unseen", role: "status", "aria-live": "polite" });
  const words = make("pre", { class: "words", id: "coterie-words", tabindex: "0", "aria-label": "Position in words" });

  // Timeline
  const scrubber = make("input", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "Timeline", oninput: () => { play(false); seek(Number(scrubber.value)); } });
  const counter = make("span", { class: "counter" });
  const starts = button("play", "Play or pause (space)", () => play());
  const pace = make("select", { "aria-label": "Speed", title: "Speed (+ and −)", onchange: () => setSpeed(Number(pace.value)) },
    SPEEDS.map((s) => make("option", { value: s }, `${s}×`)));
  const timeline = make("footer", { role: "group", "aria-label": "Timeline" },
    button("first", "First (home)", () => seek(0)),
    button("back", "Back (left arrow)", () => seek(api.k - 1)),
    starts,
    button("next", "Next (right arrow)", () => seek(api.k + 1)),
    button("last", "Last (end)", () => seek(show.frames.length - 1)),
    scrubber, counter, pace);

  const moves = listOfMoves(show, api);
  const panels = coterie.panels.filter((panel) => panel.wanted(show));
  element.replaceChildren(header, make("main", {}, stage, side), timeline, live);
  view.mount(stage, show, api);
  for (const panel of panels) {
    const body = make("div", { class: "panel" });
    side.append(make("section", { "aria-label": panel.title }, make("h2", {}, panel.title), body));
    panel.mount(body, show, api);
  }
  if (show.kind === "board") {
    side.append(make("section", { class: "grow", "aria-label": "Moves" }, make("h2", {}, "Moves"), moves.element));
  }
  side.append(
    ...(show.kind === "world" ? [] : [fold("Position in words", words)]),
    ...(show.rules ? [fold("Rules", make("p", {}, coterie.visible(show.rules)))] : []),
    ...(show.command ? [fold("Make this page again", make("pre", { class: "command", tabindex: "0" }, coterie.visible(show.command)))] : []));

  // Play
  let timer = 0;
  let speed = show.speed || 1;
  function setSpeed(next) {
    speed = next;
    pace.value = String(next);
    if (timer) { clearInterval(timer); timer = setInterval(advance, 1000 / speed); }
  }
  function advance() {
    if (api.k >= show.frames.length - 1) return play(false);
    seek(api.k + 1);
  }
  function play(on = !timer) {
    if (on && api.k >= show.frames.length - 1) seek(0);
    if (timer) clearInterval(timer);
    timer = on ? setInterval(advance, 1000 / speed) : 0;
    starts.replaceChildren(icon(timer ? "pause" : "play"));
    starts.setAttribute("aria-pressed", String(Boolean(timer)));
  }

  function seek(k, again = false) {
    k = Math.max(0, Math.min(show.frames.length - 1, k));
    if (k === api.k && !again) return;
    api.k = k;
    const frame = show.frames[k];
    const last = show.frames.length - 1;
    scrubber.max = last;
    scrubber.value = k;
    scrubber.setAttribute("aria-valuetext", `${k} of ${last}${frame.move ? `: ${frame.move}` : ""}`);
    counter.textContent = `${k} / ${last}`;
    status.textContent = coterie.visible(frame.status || frame.title || "") || (frame.mover == null ? "Everybody chooses" : `${api.seat(frame.mover)} to move`);
    words.textContent = coterie.visible(frame.text || "");
    drawSeats(k);
    view.draw(k);
    for (const panel of panels) panel.draw(k);
    moves.mark(k);
    if (!timer && !again) api.announce(said(frame));
    clearTimeout(noting); // browsers allow few changes of the address a second
    noting = setTimeout(() => { try { history.replaceState(null, "", `#${api.k}`); } catch (error) { /* not everywhere */ } }, 300);
  }
  let noting = 0;

  function said(frame) {
    const who = frame.by == null ? "" : `${show.seats[frame.by].name} `;
    return [frame.move && `${who}${frame.move}`, frame.status].filter(Boolean).join(". ") || "Start";
  }

  function drawSeats(k) {
    if (show.seats.length > 8) return;
    const totals = show.frames[k].returns
      || show.seats.map((_, p) => show.frames.slice(0, k + 1).reduce((sum, f) => sum + ((f.rewards || [])[p] || 0), 0));
    const paid = show.frames[k].returns || show.frames.some((f) => (f.rewards || []).some(Boolean));
    seats.replaceChildren(...show.seats.map((seat, p) => make("li", { "aria-current": show.frames[k].mover === p ? "true" : null },
      coterie.disc(seat.color), make("span", { class: "who" }, coterie.visible(seat.name)),
      seat.player === seat.name ? null : make("bdi", { class: "player" }, coterie.visible(seat.player)),
      paid ? make("span", { class: "score", title: "return so far" }, short(totals[p])) : null)));
  }

  // Keyboard
  const keys = [
    [" ", "play or pause", () => play()],
    ["ArrowLeft", "back", () => seek(api.k - 1)],
    ["ArrowRight", "next", () => seek(api.k + 1)],
    ["Home", "first", () => seek(0)],
    ["End", "last", () => seek(show.frames.length - 1)],
    ["+", "faster", () => setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, SPEEDS.indexOf(speed) + 1)])],
    ["-", "slower", () => setSpeed(SPEEDS[Math.max(0, SPEEDS.indexOf(speed) - 1)])],
    ["d", "dark or light", () => themes.click()],
    ["?", "these keys", () => help()],
    ...(view.keys || []),
  ];
  const NAMES = { " ": "space", ArrowLeft: "←", ArrowRight: "→", Home: "home", End: "end", "?": "h, ?", PageUp: "page up", PageDown: "page down" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.target;
    if (at.matches("textarea, select, input:not([type=range]), [contenteditable]") || document.querySelector("dialog[open]")) return;
    if (at.type === "range" && /^(Arrow|Home|End)/.test(event.key)) return; // it moves by itself
    if (event.key === " " && at.matches("button, summary, a")) return;
    const typed = { "=": "+", h: "?" }[event.key] || event.key;
    const found = keys.find(([key]) => key === typed);
    if (!found) return;
    event.preventDefault();
    found[2]();
  });

  const dialog = make("dialog", { "aria-label": "Keys" }, make("h2", {}, "Keys"),
    coterie.keyList(keys.map(([key, what]) => [NAMES[key] || key, what])),
    make("form", { method: "dialog" }, make("button", { class: "plain" }, "Close")));
  element.append(dialog);
  function help() { if (dialog.open) dialog.close(); else dialog.showModal(); }

  setSpeed(SPEEDS.includes(speed) ? speed : 1);
  seek(Math.max(0, Number.parseInt(location.hash.slice(1), 10) || 0), true);
  return api;
};

function fold(title, ...children) {
  return coterie.make("details", {}, coterie.make("summary", {}, title), ...children);
}

function short(value) {
  return String(Number(value.toFixed(2))).replace("-", "−");
}

// All moves as buttons; two seats that take turns stand in two columns.
function listOfMoves(show, api) {
  const { make } = coterie;
  const element = make("ol", { class: "moves" });
  const buttons = [];
  const two = show.seats.length === 2 && show.frames.every((frame) => (frame.move || "").length <= 14);
  function grow() {
    for (let k = buttons.length + 1; k < show.frames.length; k++) {
      const frame = show.frames[k];
      const said = (frame.said || []).length ? " “…”" : "";
      const one = make("button", { type: "button", title: (frame.move || "").length > 14 ? coterie.visible(frame.move) : null, onclick: () => { api.play(false); api.seek(k); } },
        make("bdi", {}, coterie.visible(frame.move || "—")), said);
      buttons.push(one);
      if (two && frame.by === 1 && element.lastChild && element.lastChild.childElementCount === 2) element.lastChild.append(one);
      else {
        const number = make("span", { class: "number", "aria-hidden": "true" }, `${element.childElementCount + 1}`);
        const gap = two && frame.by === 1 ? make("span", {}, "…") : null;
        element.append(make("li", { class: two && frame.by != null ? "pair" : "" }, number, gap, one));
      }
    }
  }
  let now = null;
  function mark(k) {
    if (now) now.removeAttribute("aria-current");
    now = buttons[k - 1] || null;
    if (now) {
      now.setAttribute("aria-current", "true");
      const top = now.offsetTop;
      if (top < element.scrollTop || top > element.scrollTop + element.clientHeight - 30) element.scrollTop = top - element.clientHeight / 2;
    } else element.scrollTop = 0;
  }
  grow();
  return { element, grow, mark };
}

document.addEventListener("DOMContentLoaded", () => {
  const data = document.getElementById("coterie-show");
  if (!data) return;
  const show = JSON.parse(data.textContent);
  document.documentElement.dataset.theme = firstTheme();
  coterie.api = (coterie.pages[show.kind] || coterie.start)(document.getElementById("app"), show);
});
