// The column beside a gridworld's map: the selected agent or object, and all of them.
"use strict";

coterie.brief = (value) => String(Number(value.toPrecision(4))).replace("-", "−");

// data: as for the map; map: the worldMap; told(s): what an agent is told, or null.
coterie.worldSide = function (data, map, told) {
  const { make, brief } = coterie;
  const { portrait } = coterie.sprites;
  const FACES = ["up", "down", "left", "right"];

  // A button for an agent; returns what brings it up to date.
  function agentRow(list, s, far = null) {
    const canvas = make("canvas", { "aria-hidden": "true" }), id = make("span", {}), who = make("span", { class: "who" }), score = make("span", { class: "score" });
    const button = make("button", { type: "button", onclick: () => { map.select(s); map.show(data.of("row", s), data.of("col", s)); } }, canvas, id, who, score);
    list.append(make("li", {}, button));
    who.textContent = far ?? coterie.visible(data.seats[s].player);
    return () => {
      portrait(canvas, map.agentSprite(s, 36));
      id.textContent = data.name(s);
      score.textContent = brief(data.of("returns", s));
      who.className = data.of("alive", s) ? "who" : "who dead";
      button.setAttribute("aria-pressed", String(s === map.slot));
      button.setAttribute("aria-label", `Agent ${data.name(s)}, ${data.seats[s].player}, return ${brief(data.of("returns", s))}${data.of("alive", s) ? "" : ", dead"}`);
    };
  }

  function drawSelected(element) {
    const { slot, place } = map;
    if (slot !== null) return void element.replaceChildren(...aboutAgent(slot, element));
    if (place !== null && data.objects.type[place] !== data.world.gone) return void element.replaceChildren(...aboutThing(place));
    element.replaceChildren(make("p", { class: "fact" }, "Click an agent or an object, or press ] for the next agent."));
  }

  function facts(rows) {
    return make("dl", { class: "facts" }, rows.filter(([, value]) => value !== "").flatMap(([what, value]) => [make("dt", {}, what), make("dd", {}, value)]));
  }

  function aboutAgent(s, element) {
    const about = data.world.agents[s], canvas = make("canvas", { "aria-hidden": "true" });
    portrait(canvas, map.agentSprite(s, Math.round(36 * map.scale)));
    canvas.style.inlineSize = canvas.style.blockSize = "36px";
    const energy = data.of("energy", s), full = make("i", {}), level = Math.min(1, energy / Math.max(1, about.max_energy));
    full.style.inlineSize = `${100 * level}%`;
    const done = data.of("last_action", s), frozen = data.of("frozen_until", s) - data.clock(), label = data.of("label", s);
    const action = data.k && done >= 0 ? `${data.world.actions[done]}${data.of("succeeded", s) ? "" : " (failed)"}` : "none";
    const near = data.kin(s);
    const open = element.querySelector("details");
    const parts = [
      make("div", { class: "creature" }, canvas, make("span", { class: "whole" }, `Agent ${data.name(s)}`), make("span", { class: "score", title: "return so far" }, brief(data.of("returns", s))),
        make("bdi", { class: "player" }, coterie.visible(data.seats[s].player) + (data.of("alive", s) ? "" : ", dead"))),
      make("div", {}, make("div", { class: "label-row" }, make("span", {}, "energy"), make("span", {}, `${energy} of ${about.max_energy}`)),
        make("div", { class: "meter" }, full)),
      make("ul", { class: "holds", "aria-label": "Inventory" }, data.world.items.map(([what, color], j) => {
        const mark = make("i", { "aria-hidden": "true" });
        mark.style.background = color;
        return make("li", {}, mark, `${what} ${data.held(j, s)} of ${about.max_items}`);
      })),
      facts([
        ["last action", action],
        ["reward now", brief(data.reward(s))],
        ["return", brief(data.of("returns", s))],
        ["place", `row ${data.of("row", s)}, column ${data.of("col", s)}, looks ${FACES[data.of("facing", s)]}`],
        ["frozen", frozen > 0 ? `for ${frozen} ticks` : ""],
        ["shield", data.of("shield", s) ? "on" : ""],
        [data.world.belongs || "label", label >= 0 ? coterie.letters(label) : ""],
        ...about.facts,
      ]),
    ];
    if (near.length) {
      const list = make("ul", { class: "agents", "aria-label": "Kin" });
      for (const [other, much] of near) agentRow(list, other, much === 1 ? data.world.belongs || "kin" : `relatedness ${much}`)();
      parts.push(make("p", { class: "fact" }, `Kin, ringed on the map (${near.length})`), list);
    }
    if (!told) return parts;
    const fold = make("details", {}, make("summary", {}, "What it is told"), make("pre", { class: "told", tabindex: "0" }, coterie.visible(told(s))));
    fold.open = open ? open.open : true;
    return [...parts, fold];
  }

  function aboutThing(o) {
    const type = data.world.types[data.objects.type[o]], canvas = make("canvas", { "aria-hidden": "true" });
    portrait(canvas, map.typeSprite(data.objects.type[o], Math.round(36 * map.scale), map.isReady(o)));
    canvas.style.inlineSize = canvas.style.blockSize = "36px";
    const rest = data.objects.busy_until[o] - data.clock(), stock = data.objects.stock[o];
    const state = !type.usable ? "cannot be used" : stock === 0 ? "used up" : rest > 0 ? `rests for ${rest} ticks` : "ready";
    return [
      make("div", { class: "creature" }, canvas, make("span", { class: "whole" }, type.name.replaceAll("_", " ")), make("span", {}), make("span", { class: "player" }, state)),
      facts([
        ["use", type.use],
        ["uses left", stock >= 0 ? String(stock) : ""],
        ["hit points", type.hp ? `${data.objects.hp[o]} of ${type.hp}` : ""],
        ["place", `row ${data.objects.row[o]}, column ${data.objects.col[o]}`],
      ]),
    ];
  }

  // Draws all agents and objects into an element, and returns what brings them up to date.
  function everything(element) {
    const list = make("ul", { class: "agents" });
    const things = make("ul", { class: "things" });
    element.replaceChildren(list, things);
    const rows = data.world.agents.map((_, s) => agentRow(list, s));
    const counts = data.world.types.map((type, t) => {
      const canvas = make("canvas", { "aria-hidden": "true" }), count = make("span", {});
      portrait(canvas, map.typeSprite(t, 36));
      things.append(make("li", {}, canvas, make("span", {}, make("b", {}, type.name.replaceAll("_", " ")), type.use ? ` ${type.use}` : ""), count));
      return count;
    });
    return () => {
      for (const row of rows) row();
      const there = data.world.types.map(() => 0);
      for (const t of data.objects.type) if (t !== data.world.gone) there[t] += 1;
      counts.forEach((count, t) => { count.textContent = there[t]; });
    };
  }

  return { drawSelected, everything };
};
