// A gridworld that people play in this page. The server holds it, and tells what each tick has changed. Keys are those of
// the window (renderers/gridworld_keys.py), which come with the first message.
"use strict";

coterie.pages.live = function (element, show) {
  const { make, visible } = coterie;
  const NAMES = { " ": "space", Enter: "return", PageUp: "page up", PageDown: "page down", Escape: "escape" };
  const ARROWS = { up: "↑", down: "↓", left: "←", right: "→" };

  let now = null, keys = { intentions: {}, controls: {}, told: [] }, guests = [], verbs = [];
  let asking = false, everything = null, plane = -1, planes = 0, leaving = false, held = false;

  // -- the page ------------------------------------------------------------------------------------------------------

  const data = new coterie.LiveWorld();
  const map = coterie.worldMap(data, { announce: (words) => { live.textContent = words; }, changed: look, painted });
  const side = coterie.worldSide(data, map, null);
  map.map.setAttribute("aria-label", "Map. Tab selects the next agent; Escape, then Tab leaves the map.");

  // A button that leaves the focus where it is, so that keys go on to the world.
  function button(words, run, kind = "plain", more = {}) {
    return make("button", { type: "button", class: kind, onclick: run, onpointerdown: (event) => event.preventDefault(), ...more }, words);
  }

  const themes = coterie.themeButton();
  const asks = coterie.helpButton("Keys (?)", help);
  const header = make("header", {}, make("div", { class: "name" }, make("h1", {}, visible(show.title)), make("span", { class: "id" }, show.game),
    show.goal ? make("span", { class: "goal" }, visible(show.goal)) : null), make("div", { class: "tools" }, themes, asks));
  const live = make("div", { class: "unseen", role: "status", "aria-live": "polite" });
  const stage = make("section", { class: "stage world live", "aria-label": "World" }, map.map, map.tools);
  const status = make("p", { class: "status", role: "status", "aria-live": "polite" });
  const tick = make("p", { class: "fact" });
  const alarm = make("p", { class: "alarm", role: "alert" });
  const note = make("p", { class: "fact", role: "status" });
  const pad = make("div", { class: "pad", role: "group", "aria-label": "Your agent" });
  const controls = make("div", { class: "buttons", role: "group", "aria-label": "Controls" });
  const takes = button("Take over", () => take());
  const selected = make("div", { class: "panel" }), all = make("div", { class: "panel" });
  const choice = make("select", { "aria-label": "What is shown of it", onchange: () => { plane = Number(choice.value); look(); } });
  const told = make("pre", { class: "told", tabindex: "0" }), seen = make("canvas", { class: "plane", role: "img" });
  const seenPart = make("section", { "aria-label": "What it sees" }, make("h2", {}, "What it sees"), choice, told, seen);
  const ruled = make("p", {});
  const table = coterie.table({ take: took, tell: (...parts) => alarm.replaceChildren(...parts), lost: () => { now = null; } });
  const { send } = table, tooSoon = coterie.repeats();
  const files = make("div", { class: "buttons", role: "group", "aria-label": "Files" });
  const column = make("aside", { "aria-label": "Game" }, make("div", {}, status, tick), alarm, note, pad, controls,
    make("section", { "aria-label": "Selected" }, make("h2", {}, "Selected"), selected, takes), seenPart,
    make("section", { "aria-label": "Agents and objects" }, make("h2", {}, "Agents and objects"), all), files, table.file,
    make("details", {}, make("summary", {}, "Rules"), ruled));
  const helps = make("dialog", { "aria-label": "Keys" }), newWorld = make("dialog", { "aria-label": "New world" });
  element.replaceChildren(header, make("main", {}, stage, column), live, helps, newWorld);
  element.classList.add("whole");

  // -- what comes ----------------------------------------------------------------------------------------------------

  function took(sent) {
    if (sent.part && (!now || sent.part !== now.part + 1)) { // something was lost
      if (!asking) send({ do: "all" });
      asking = true;
      return;
    }
    const before = now ? now.own : null;
    if (sent.session) {
      guests = sent.guests;
      ruled.textContent = visible(sent.rules);
    }
    if (!sent.part) {
      asking = false;
      [keys, verbs] = [sent.keys, sent.verbs];
      files.replaceChildren(...table.files(sent.formats));
      padded();
    }
    const other = data.take(sent.live, sent.seats || data.seats);
    now = sent;
    if (other) {
      everything = null;
      map.resized();
      map.fit();
    }
    if (now.own !== null && (now.own !== before || (other && map.slot === null))) {
      map.select(now.own);
      map.follow(true);
    }
    render();
  }

  function look() {
    send({ do: "look", action: map.slot ?? -1, plane: Math.max(0, plane) });
    map.later();
  }

  function take() {
    if (!now || map.slot === null) return;
    send(map.slot === now.own ? { do: "release" } : { do: "take", action: map.slot });
  }

  // -- what is shown -------------------------------------------------------------------------------------------------

  function padded() {
    const one = ([name, label]) => button(ARROWS[name] || label, () => send({ do: "intend", name }), `plain verb verb-${name.split(" ")[0]}`,
      { "data-verb": name, "aria-label": ARROWS[name] ? `turn or move ${label}` : null });
    pad.replaceChildren(make("div", { class: "arrows" }, verbs.filter(([name]) => ARROWS[name]).map(one)),
      make("div", { class: "buttons" }, verbs.filter(([name]) => !ARROWS[name]).map(one)));
  }

  function render() {
    const { world } = data;
    document.title = `${!now.over && now.paused && now.own !== null ? "● " : ""}${show.title}`;
    status.textContent = visible(now.status);
    status.classList.toggle("ending", now.over);
    const alive = data.living().length;
    tick.textContent = `Tick ${data.clock().toLocaleString("en")} of ${world.max_steps.toLocaleString("en")}, ${alive} of ${world.slots} alive`;
    alarm.replaceChildren(now.failed ? `An agent could not act. ${visible(now.failed)}` : "");
    note.textContent = visible(now.note || (now.busy ? "Thinking …" : ""));
    pad.hidden = now.own === null || now.over;
    for (const verb of pad.querySelectorAll("[data-verb]")) verb.disabled = !now.able.includes(verb.dataset.verb);
    const hints = now.own === null || now.over ? [] : [["hint", "Hint"]];
    const shown = [...now.controls, ...hints];
    coterie.fill(controls, shown, () => shown.map(([name, label]) => button({ "-": "Slower", "+": "Faster" }[label] || label, () => control(name), `plain control-${name}`)));
    sees();
    map.later();
  }

  let due = 0, drawnAt = 0;
  function painted() {
    map.refresh();
    due ||= setTimeout(() => {
      due = 0;
      drawnAt = performance.now();
      if (!data.ready || !now) return;
      side.drawSelected(selected);
      everything ??= side.everything(all);
      everything();
      const { slot } = map;
      takes.hidden = slot === null || now.over || !data.of("alive", slot);
      takes.textContent = slot === now.own ? "Hand it back" : now.people.includes(slot) ? "Turn to it" : "Take it over";
    }, Math.max(0, drawnAt + 80 - performance.now()));
  }

  // What the selected agent is told: words, or a plane of its observation.
  function sees() {
    const part = now.seen;
    seenPart.hidden = !part || part.slot !== map.slot;
    if (seenPart.hidden) return;
    if (choice.options.length !== part.names.length + 1) {
      choice.replaceChildren(...["words", ...part.names].map((name, k) => make("option", { value: k - 1 }, name)));
    }
    choice.value = plane;
    planes = part.names.length;
    told.hidden = plane >= 0;
    seen.toggleAttribute("hidden", plane < 0);
    const words = part.text || "This agent is dead.";
    if (told.textContent !== words) told.textContent = visible(words);
    if (plane >= 0 && part.plane === plane) drawPlane(part);
  }

  function drawPlane({ values, names }) {
    const rows = values.length, columns = rows ? values[0].length : 1, size = Math.max(8, Math.floor(320 / columns)), most = Math.max(1, ...values.flat());
    seen.width = size * columns;
    seen.height = size * Math.max(1, rows);
    seen.setAttribute("aria-label", `${names[plane]}: ${values.map((row) => row.join(" ")).join("; ")}`);
    const c = seen.getContext("2d");
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.font = `${Math.min(12, Math.round(size * 0.6))}px system-ui, sans-serif`;
    values.forEach((row, y) => row.forEach((value, x) => {
      c.fillStyle = coterie.sprites.mixed("#252b3a", "#54c8be", value / most);
      c.fillRect(x * size, y * size, size - 1, size - 1);
      c.fillStyle = value / most > 0.5 ? "#12151d" : "#d6dce8";
      if (value && size >= 14) c.fillText(String(value), (x + 0.5) * size, (y + 0.5) * size);
    }));
    c.strokeStyle = "#ffcf3b";
    c.lineWidth = 2;
    c.strokeRect(Math.floor(columns / 2) * size, Math.floor(rows / 2) * size, size - 1, size - 1);
  }

  // -- controls ------------------------------------------------------------------------------------------------------

  const does = {
    help,
    camera: () => map.follow(),
    nearer: () => map.zoom(1.25),
    farther: () => map.zoom(0.8),
    words: () => { plane = plane < 0 ? 0 : -1; look(); },
    "plane next": () => { plane = (plane + 1) % planes; look(); },
    "plane before": () => { plane = (Math.max(0, plane) + planes - 1) % planes; look(); },
    take,
    new: askNew,
    escape: () => { if (now.own !== null) send({ do: "release" }); else map.select(null); },
  };

  function control(name) {
    if (!now) return;
    if (does[name]) does[name]();
    else send({ do: name });
  }

  function askNew() {
    let few = [...now.players];
    while (few.length > 1 && few.at(-1) === few.at(-2)) few = few.slice(0, -1);
    const names = make("input", { type: "text", class: "entry", value: few.join(" "), "aria-label": "Players", spellcheck: "false" });
    newWorld.replaceChildren(make("form", { method: "dialog" }, make("h2", {}, "New world"), names,
      make("p", { class: "fact" }, `Players by agent; the last one takes all other agents. human sits here; others are ${guests.filter((one) => one !== "human").join(", ")}.`),
      make("div", { class: "buttons" }, make("button", { class: "plain", value: "begin" }, "Begin"), make("button", { class: "plain", value: "" }, "Cancel"))));
    newWorld.onclose = () => { if (newWorld.returnValue === "begin") send({ do: "new", players: names.value.trim().split(/\s+/) }); };
    newWorld.returnValue = "";
    newWorld.showModal();
  }

  // The world waits while the keys are shown.
  function help() {
    const page = [["click", "select an agent or an object"], ["Tab on the map", "the next agent; Escape, then Tab leaves the map"], ["Enter", "take the agent over; hand it back"], ["Escape", "hand it back; or select nothing"],
      ["p, Space", "pause, play"], [".", "one tick"], ["+, -", "faster, slower"], ["c", "follow the agent, or not"], ["page up, page down, wheel", "zoom"], ["o, [, ]", "what the agent sees: words, planes"],
      ["i", "hint"], ["n", "a new world"], ["d", "dark or light, while you control nobody"], ["h, ?", "these keys; the world waits"]];
    helps.replaceChildren(make("h2", {}, "Keys"), coterie.keyList(page), make("h2", {}, "While you control an agent"), coterie.keyList(keys.told),
      make("form", { method: "dialog" }, make("button", { class: "plain" }, "Close")));
    held = now && !now.paused && !now.over;
    if (held) send({ do: "pause" });
    helps.onclose = () => { if (held) send({ do: "pause" }); };
    helps.showModal();
  }

  map.map.addEventListener("focus", () => { leaving = false; });

  document.addEventListener("keydown", (event) => {
    if (!now || event.metaKey || event.altKey || document.querySelector("dialog[open]") || event.target.matches("input, textarea, select")) return;
    const key = NAMES[event.key] || event.key.replace(/^Arrow/, "").toLowerCase();
    if (event.target.matches("button, summary, a") && (key === "space" || key === "return")) return;
    if (event.key === "Tab") {
      if (event.target !== map.map || leaving) return;
      event.preventDefault();
      if (!tooSoon(event)) map.next(event.shiftKey ? -1 : 1);
      return;
    }
    leaving = key === "escape";
    const digit = /^[1-9]$/.test(key) && `${event.ctrlKey ? "gift" : "attack"} ${key}`;
    const intention = now.own === null || now.over ? "" : digit || (event.ctrlKey ? "" : keys.intentions[key]);
    if (intention) {
      event.preventDefault();
      if (!tooSoon(event)) send({ do: "intend", name: intention });
      return;
    }
    if (event.ctrlKey) return;
    const name = key === "i" && now.own !== null ? "hint" : keys.controls[event.key] || keys.controls[key];
    if (key === "d") return themes.click();
    if (!name || name === "back") return;
    event.preventDefault();
    if (!tooSoon(event)) control(name);
  });

  // For tests: what is shown.
  return { state: () => ({ ...map.state(), now, k: data.k, row: (s) => data.of("row", s), col: (s) => data.of("col", s), field: (name, s) => data.of(name, s), objects: data.objects }) };
};
