// The page of a recorded gridworld: the map, the column beside it, and totals below (data: renderers/web/world.py).
"use strict";

(() => {
  const { make } = coterie;
  let api, data, map, side, strip, strips, everything = null, texts = {};
  const sections = {};

  // The text of an agent at the tick that is shown: known, on its way (""), or why there is none.
  function told(s) {
    if (!data.of("alive", s)) return "This agent is dead.";
    const packed = data.world.texts[s];
    if (!packed) return `The words of agent ${s} are not in this page. To have them, add this to the command that made it: --texts ${s}`;
    if (!texts[s]) {
      texts[s] = { wait: true };
      coterie.unpack(packed).then(({ number, words }) => {
        texts[s] = { number, words: JSON.parse(new TextDecoder().decode(words)) };
        api.redraw();
      });
    }
    return texts[s].wait ? "" : texts[s].words[texts[s].number[data.k]];
  }

  // What the selected agent thinks before it acts, if its player was asked: the probabilities of all legal actions.
  const shares = {};
  function thinks(element) {
    const { world, k, ticks } = data, s = map.slot;
    const say = (words) => element.replaceChildren(make("p", { class: "fact" }, words));
    if (s === null) return say("Select an agent.");
    const packed = world.thoughts[s];
    if (!packed) return say(`Agent ${s} was not asked, or the page would be too large. To have its thoughts, add this to the command that made the page: --texts ${s}`);
    if (!shares[s]) {
      shares[s] = [];
      coterie.unpack(packed).then((found) => { shares[s] = found.shares; api.redraw(); });
    }
    const all = world.actions.length, now = Array.from(shares[s].slice(k * all, (k + 1) * all));
    const actions = now.flatMap((share, a) => (share < 0 ? [] : [[world.actions[a], share / 32767]])).sort(([, a], [, b]) => b - a);
    if (!actions.length) return say(shares[s].length ? "It does not act any more." : "");
    const entropy = actions.reduce((sum, [, p]) => sum - (p > 0 ? p * Math.log(p) : 0), 0);
    const next = k < ticks && data.of("alive", s, k + 1) ? world.actions[data.of("last_action", s, k + 1)] : null;
    const who = make("p", { class: "whose" }, coterie.disc(world.agents[s].color), coterie.visible(world.asked || data.seats[s].player));
    const top = element.querySelector(".bars")?.scrollTop || 0;
    element.replaceChildren(who, ...coterie.thoughtParts({ actions, entropy, own: { legal: actions.length } }, next));
    element.querySelector(".bars").scrollTop = top;
  }

  class Tick {
    constructor(t) { this.t = t; }
    get mover() { return null; }
    get by() { return null; }
    get move() { return ""; }
    get rewards() { return []; }
    get returns() { return data.seats.map((_, s) => (data.ready ? data.of("returns", s, this.t) : 0)); }
    get text() { return ""; }
    get status() {
      if (!data.ready) return "";
      const { world, ticks, alive } = data;
      const end = this.t === ticks && world.over ? (alive[ticks] ? " The episode is over." : " Nobody is alive: the episode is over.") : "";
      return `Tick ${(world.clock + this.t).toLocaleString("en")} of ${world.max_steps.toLocaleString("en")}, ${alive[this.t]} of ${world.slots} alive.${end}`;
    }
  }

  // -- totals by tick ------------------------------------------------------------------------------------------------

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function paintTotals() {
    const c = strips, { width, height } = strip, pad = 8 * map.scale, wordy = 104 * map.scale;
    c.clearRect(0, 0, width, height);
    const span = width - 2 * pad - wordy, most = Math.max(...extremes(data.total)), least = Math.min(...extremes(data.total));
    const x = (t) => pad + span * t / Math.max(1, data.ticks);
    const lines = [
      [data.total, css("--accent"), least, most, `reward ${coterie.brief(data.total[data.k])}`],
      [data.alive, css("--second"), 0, data.world.slots, `alive ${data.alive[data.k]}`],
    ];
    c.font = `${Math.round(12 * map.scale)}px system-ui, sans-serif`;
    c.textBaseline = "middle";
    c.textAlign = "left";
    const step = Math.max(1, Math.floor(data.ticks / Math.max(1, span)));
    lines.forEach(([values, color, low, high, words], n) => {
      const y = (v) => height - pad - (height - 2 * pad) * (high > low ? (v - low) / (high - low) : 0);
      c.strokeStyle = color;
      c.lineWidth = 1.8 * map.scale;
      c.setLineDash(n ? [5 * map.scale, 3 * map.scale] : []);
      c.beginPath();
      for (let t = 0; t <= data.ticks; t += step) c.lineTo(x(t), y(values[t]));
      c.lineTo(x(data.ticks), y(values[data.ticks]));
      c.stroke();
      c.setLineDash(n ? [5 * map.scale, 3 * map.scale] : []);
      const line = (n ? 0.7 : 0.3) * height, at = width - wordy;
      c.beginPath();
      c.moveTo(at, line);
      c.lineTo(at + 16 * map.scale, line);
      c.stroke();
      c.setLineDash([]);
      c.fillStyle = css("--text");
      c.fillText(words, at + 22 * map.scale, line);
    });
    c.strokeStyle = css("--text");
    c.lineWidth = map.scale;
    c.strokeRect(x(data.k), 2, 0, height - 4);
  }

  const kept = new Map();
  function extremes(values) {
    if (!kept.has(values)) kept.set(values, values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [0, 0]));
    return kept.get(values);
  }

  function strippedTo(event) {
    if (event.type === "pointermove" && !event.buttons) return;
    const area = strip.getBoundingClientRect();
    api.play(false);
    api.seek(Math.round(data.ticks * (event.clientX - area.left - 8) / (area.width - 16 - 104)));
  }

  // -- the column at the side, which takes longer to lay out than the map to draw, so it follows a little later ------

  let due = 0, drawnAt = 0;
  function painted() {
    paintTotals();
    map.refresh();
    due ||= setTimeout(() => {
      due = 0;
      drawnAt = performance.now();
      side.drawSelected(sections.selected);
      if (sections.thoughts) thinks(sections.thoughts);
      everything ??= side.everything(sections.all);
      everything();
    }, Math.max(0, drawnAt + 80 - performance.now()));
  }

  const isWorld = (show) => show.kind === "world";
  for (const [name, title, wanted] of [
    ["selected", "Selected", isWorld],
    ["thoughts", "What the model thinks", (show) => isWorld(show) && show.world.thoughts],
    ["all", "Agents and objects", isWorld],
  ]) coterie.panels.push({ title, wanted, mount(element) { sections[name] = element; }, draw() {} });

  // -- the view ------------------------------------------------------------------------------------------------------

  function keyed(event) {
    const step = Math.round(map.map.width / 8);
    const does = {
      "+": () => map.zoom(1.25), "=": () => map.zoom(1.25), "-": () => map.zoom(0.8), 0: map.fit,
      ...(event.shiftKey ? { ArrowLeft: () => map.pan(step, 0), ArrowRight: () => map.pan(-step, 0), ArrowUp: () => map.pan(0, step), ArrowDown: () => map.pan(0, -step) } : {}),
    }[event.key];
    if (!data.ready || !does || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  }

  function resized() {
    if (!data.ready) return;
    strip.width = Math.max(1, Math.round(strip.clientWidth * devicePixelRatio));
    strip.height = Math.max(1, Math.round(strip.clientHeight * devicePixelRatio));
    map.later();
  }

  coterie.views.world = {
    mount(element, show, given) {
      api = given;
      data = new coterie.WorldRecord(show);
      map = coterie.worldMap(data, { announce: api.announce, changed: () => api.redraw(), painted });
      side = coterie.worldSide(data, map, told);
      show.frames.push(...Array.from({ length: data.ticks + 1 }, (_, t) => new Tick(t)));
      element.classList.add("world");
      map.map.setAttribute("aria-label", "Map. ] and [ select agents, + and − zoom, shift and arrows move the map.");
      map.map.addEventListener("keydown", keyed);
      strip = make("canvas", { class: "totals", role: "img", "aria-label": "Reward of all agents, and how many are alive, by tick" });
      strips = strip.getContext("2d");
      const wait = make("p", { class: "unpacking", role: "status" }, "Unpacking the world…");
      element.append(map.map, strip, map.tools, wait);
      for (const kind of ["pointerdown", "pointermove"]) strip.addEventListener(kind, strippedTo);
      new ResizeObserver(resized).observe(strip);
      data.read().then(() => { wait.remove(); map.resized(); resized(); api.redraw(); })
        .catch((error) => { wait.textContent = `This world cannot be shown: ${error.message}`; });
    },
    draw(at) {
      data.k = at;
      map.later();
    },
    keys: [
      ["]", "next agent", () => map.next(1)],
      ["[", "previous agent", () => map.next(-1)],
      ["c", "camera: follow the agent, or not", () => map.follow()],
      ["w", "the whole map", () => map.fit()],
      ["PageUp", "zoom in", () => map.zoom(1.25)],
      ["PageDown", "zoom out", () => map.zoom(0.8)],
      ["Escape", "select nothing", () => map.select(null)],
    ],
    // For tests and for other scripts: what is shown.
    state: () => ({ ...map.state(), k: data.k, row: (s) => data.of("row", s), col: (s) => data.of("col", s), alive: (s) => data.of("alive", s), field: (name, s) => data.of(name, s), held: (j, s) => data.held(j, s), objects: data.objects }),
    select: (s) => map.select(s),
  };
})();
