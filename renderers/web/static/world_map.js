// A map of a gridworld under a camera: it draws, zooms, follows, and selects what is clicked. Its data is a WorldRecord or
// a LiveWorld (world_data.js).
"use strict";

// data; announce(words); changed(): the selection has changed; painted(): the map was drawn
coterie.worldMap = function (data, { announce, changed, painted }) {
  const { FLOOR, INK, DOWN, RIGHT, mixed, sprite, shapes } = coterie.sprites;
  const TINY = 5, DETAILS = 12, TAGS = 30; // pixels a cell: below, cells are points; from here on, bars; tags
  const MINIMAP = 150, EDGE = 12, LARGEST = 12e6; // pixels

  const map = coterie.make("canvas", { class: "map", tabindex: "0", role: "img" });
  const pen = map.getContext("2d", { alpha: false });
  let slot = null, place = null, following = false, due = 0;
  let scale = 1, cell = 0, left = 0, top = 0;

  const shapeOf = (s) => (data.world.belongs && data.of("label", s) >= 0 ? data.of("label", s) % shapes : 0);
  const agentSprite = (s, size) => sprite("agent", size, data.world.agents[s].color, data.of("facing", s), data.clock() < data.of("frozen_until", s), shapeOf(s));

  function typeSprite(t, size, ready = true, damage = 0) {
    const type = data.world.types[t];
    if (t === 0) return sprite("wall", size, damage);
    return type.icon ? sprite(type.icon, size, ready, type.color) : sprite("glyph", size, ready || !type.usable, type.color, type.glyph);
  }

  // -- the camera: the upper left corner of the map is at (left, top), a cell has `cell` device pixels ----------------

  function whole() {
    const fits = Math.min(map.width / data.world.width, map.height / data.world.height);
    return Math.max(1, Math.floor(fits));
  }

  function fit() {
    following = false;
    cell = whole();
    left = Math.round((map.width - cell * data.world.width) / 2);
    top = Math.round((map.height - cell * data.world.height) / 2);
    later();
  }

  function zoom(factor, x = map.width / 2, y = map.height / 2) {
    const wanted = cell * factor;
    const most = 96 * scale;
    const next = Math.round(Math.min(most, Math.max(Math.min(whole(), 4 * scale), factor > 1 ? Math.max(cell + 1, wanted) : Math.min(cell - 1, wanted))));
    if (next < 1 || next === cell) return;
    left = Math.round(x - (x - left) * next / cell);
    top = Math.round(y - (y - top) * next / cell);
    cell = next;
    later();
  }

  // Keep at least some of the map in sight.
  function bound() {
    const beyond = following ? 0 : 1 / 3;
    const room = (size, span) => {
      if (following && span <= size) return [(size - span) / 2, (size - span) / 2];
      return [Math.min(0, size - span) - beyond * size, Math.max(0, size - span) + beyond * size];
    };
    const [x0, x1] = room(map.width, cell * data.world.width), [y0, y1] = room(map.height, cell * data.world.height);
    left = Math.round(Math.min(x1, Math.max(x0, left)));
    top = Math.round(Math.min(y1, Math.max(y0, top)));
  }

  function center(row, col) {
    left = Math.round(map.width / 2 - (col + 0.5) * cell);
    top = Math.round(map.height / 2 - (row + 0.5) * cell);
  }

  function follow(on = !following) {
    following = on && slot !== null;
    if (following && cell < 20 * scale) cell = Math.round(Math.max(cell, 28 * scale));
    later();
  }

  // -- drawing -------------------------------------------------------------------------------------------------------

  function later() {
    if (!due) due = requestAnimationFrame(() => { due = 0; if (data.ready) paint(); });
  }

  function paint() {
    data.go();
    if (following && slot !== null && data.of("alive", slot)) center(data.of("row", slot), data.of("col", slot));
    bound();
    paintMap();
    painted();
  }

  function paintMap() {
    const c = pen, { width, height } = map;
    c.fillStyle = css("--page");
    c.fillRect(0, 0, width, height);
    if (cell < TINY) c.drawImage(points(), left, top, data.world.width * cell, data.world.height * cell);
    else {
      ground(c);
      things(c);
      agents(c);
    }
    marks(c);
    minimap(c);
  }

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Floor and walls: of the whole map on a canvas of their own, unless that would be too large.
  let floor, floorOf = "";
  function ground(c) {
    const wide = cell * data.world.width, high = cell * data.world.height;
    if (wide * high > LARGEST) { tiles(c, left, top, map.width, map.height); walls(c, left, top, seen); return; }
    const made = `${cell} ${data.walls()}`;
    if (made !== floorOf) {
      floor ??= document.createElement("canvas");
      floor.width = wide;
      floor.height = high;
      const on = floor.getContext("2d", { alpha: false });
      tiles(on, 0, 0, wide, high);
      walls(on, 0, 0, () => true);
      floorOf = made;
    }
    c.drawImage(floor, left, top);
  }


  function walls(c, x, y, isShown) {
    const full = data.world.types[0].hp;
    for (let o = 0; o < data.objects.type.length; o++) {
      if (data.objects.type[o] !== 0 || !isShown(data.objects.row[o], data.objects.col[o])) continue;
      const hp = data.objects.hp[o];
      const damage = hp > 0 && hp < full ? Math.max(1, Math.min(3, Math.floor(4 * (full - hp) / full))) : 0;
      c.drawImage(typeSprite(0, cell, true, damage), x + data.objects.col[o] * cell, y + data.objects.row[o] * cell);
    }
  }

  function tiles(c, atX, atY, width, height) {
    const tile = c.createPattern(sprite("floor", cell), "repeat");
    tile.setTransform(new DOMMatrix().translate(atX, atY));
    c.fillStyle = tile;
    const x = Math.max(0, atX), y = Math.max(0, atY);
    c.fillRect(x, y, Math.min(width, atX + cell * data.world.width) - x, Math.min(height, atY + cell * data.world.height) - y);
  }

  const seen = (row, col) => left + (col + 1) * cell > 0 && left + col * cell < map.width && top + (row + 1) * cell > 0 && top + row * cell < map.height;

  // Small sprites spill over their cells, so that they can be told apart.
  function put(c, picture, row, col, spill) {
    const more = (picture.width - cell) / 2;
    c.drawImage(picture, Math.round(left + col * cell - (spill ? more : 0)), Math.round(top + row * cell - (spill ? more : 0)));
  }

  const large = () => (cell < 14 * scale ? Math.round(1.4 * cell) : cell);

  function bar(c, row, col, part, color) {
    if (cell < DETAILS * scale) return;
    const thick = Math.max(2, Math.round(cell / 11)), margin = Math.max(1, Math.round(cell / 8));
    const x = left + col * cell + margin, y = top + (row + 1) * cell - thick - Math.round(cell / 24), room = cell - 2 * margin;
    c.fillStyle = INK;
    c.fillRect(x, y, room, thick);
    c.fillStyle = color;
    c.fillRect(x, y, Math.round(room * Math.min(1, Math.max(0, part))), thick);
  }

  const isReady = (o) => data.world.types[data.objects.type[o]].usable && data.clock() + 1 > data.objects.busy_until[o] && data.objects.stock[o] !== 0;

  function things(c) {
    for (let o = 0; o < data.objects.type.length; o++) {
      const t = data.objects.type[o], row = data.objects.row[o], col = data.objects.col[o];
      if (t === 0 || t === data.world.gone || !seen(row, col)) continue;
      const type = data.world.types[t];
      put(c, typeSprite(t, large(), isReady(o)), row, col, true);
      if (data.objects.stock[o] >= 0) {
        bar(c, row, col, data.objects.stock[o] / Math.max(1, type.stock), type.color);
        if (data.objects.stock[o] === 0) put(c, sprite("empty", cell), row, col, false);
      } else if (data.clock() < data.objects.busy_until[o] && type.cooldown > 1) {
        bar(c, row, col, (data.objects.busy_until[o] - data.clock()) / type.cooldown, "#8b97b3");
      }
    }
  }

  function agents(c) {
    const size = large();
    for (let s = 0; s < data.world.slots; s++) {
      if (!data.of("alive", s)) continue;
      const row = data.of("row", s), col = data.of("col", s);
      const blow = data.of("last_action", s) - data.world.attack;
      if (data.k && blow >= 0 && blow < 9 && data.of("succeeded", s)) {
        const f = data.of("facing", s), ahead = 1 + Math.floor(blow / 3), across = 1 - blow % 3;
        put(c, sprite("hit", cell), row + ahead * DOWN[f] - across * RIGHT[f], col + ahead * RIGHT[f] + across * DOWN[f], false);
      }
      if (!seen(row, col)) continue;
      put(c, agentSprite(s, size), row, col, true);
      if (data.clock() < data.of("frozen_until", s)) put(c, sprite("ice", cell), row, col, false);
      if (data.of("shield", s)) put(c, sprite("shield", size), row, col, true);
      if (data.reward(s) > 0) put(c, sprite("earned", size), row, col, true);
      const energy = data.of("energy", s) / Math.max(1, data.world.agents[s].max_energy);
      bar(c, row, col, energy, mixed("#ff5650", "#6ee280", Math.min(1, energy)));
      if (cell >= TAGS * scale) tag(c, row, col, data.name(s));
    }
  }


  function tag(c, row, col, words, color = "#d6dce8") {
    c.font = `600 ${Math.round(11 * scale)}px system-ui, sans-serif`;
    c.textAlign = "center";
    c.textBaseline = "bottom";
    c.lineWidth = 3 * scale;
    c.strokeStyle = INK;
    c.fillStyle = color;
    const x = left + (col + 0.5) * cell, y = top + row * cell + 2 * scale;
    c.strokeText(words, x, y);
    c.fillText(words, x, y);
  }

  function outline(c, row, col, rows, columns, color, width, dash = []) {
    c.strokeStyle = color;
    c.lineWidth = width * scale;
    c.setLineDash(dash.map((d) => d * scale));
    c.strokeRect(left + col * cell, top + row * cell, columns * cell, rows * cell);
    c.setLineDash([]);
  }

  // The agent's window: [row, column, rows, columns].
  function sight(s) {
    let [high, wide] = data.world.window;
    if (data.world.rotate && data.of("facing", s) >= 2) [high, wide] = [wide, high];
    return [data.of("row", s) - Math.floor(high / 2), data.of("col", s) - Math.floor(wide / 2), high, wide];
  }

  function marks(c) {
    if (slot !== null && data.of("alive", slot)) {
      const [row, col, high, wide] = sight(slot);
      c.fillStyle = "rgb(255 255 255 / 5%)";
      c.fillRect(left + col * cell, top + row * cell, wide * cell, high * cell);
      outline(c, row, col, high, wide, "#8b97b3", 1.5, [6, 4]);
      for (const [other, near] of data.kin(slot)) {
        outline(c, data.of("row", other), data.of("col", other), 1, 1, "#facc54", 2);
        if (near !== 1 && cell >= 16 * scale) tag(c, data.of("row", other), data.of("col", other), String(near), "#facc54");
      }
      outline(c, data.of("row", slot), data.of("col", slot), 1, 1, "#ffffff", 2.5);
    } else if (place !== null && data.objects.type[place] !== data.world.gone) {
      outline(c, data.objects.row[place], data.objects.col[place], 1, 1, "#ffffff", 2.5);
    }
  }

  // The map with each cell as one point.
  let dots, image;
  function points() {
    const { width, height } = data.world;
    if (!dots || dots.width !== width || dots.height !== height) {
      dots = document.createElement("canvas");
      dots.width = width;
      dots.height = height;
      image = dots.getContext("2d").createImageData(width, height);
    }
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(point(FLOOR));
    for (let o = 0; o < data.objects.type.length; o++) {
      const t = data.objects.type[o];
      if (t !== data.world.gone) pixels[data.objects.row[o] * width + data.objects.col[o]] = point(t === 0 ? "#68728e" : data.world.types[t].color);
    }
    for (let s = 0; s < data.world.slots; s++) {
      if (data.of("alive", s)) pixels[data.of("row", s) * width + data.of("col", s)] = point(s === slot ? "#ffffff" : data.world.agents[s].color);
    }
    dots.getContext("2d").putImageData(image, 0, 0);
    return dots;
  }

  const known = {};
  function point(color) {
    known[color] ??= (255 << 24 | parseInt(color.slice(5, 7), 16) << 16 | parseInt(color.slice(3, 5), 16) << 8 | parseInt(color.slice(1, 3), 16)) >>> 0;
    return known[color];
  }

  // x, y, w, h of the minimap, or null while the whole map is in sight.
  function corner() {
    if (left >= 0 && top >= 0 && left + cell * data.world.width <= map.width && top + cell * data.world.height <= map.height) return null;
    const most = Math.min(MINIMAP * scale, map.width / 3, map.height / 3) / Math.max(data.world.width, data.world.height);
    const w = Math.round(data.world.width * most), h = Math.round(data.world.height * most);
    return [map.width - w - EDGE * scale, map.height - h - EDGE * scale, w, h];
  }

  function minimap(c) {
    const where = corner();
    if (!where) return;
    const [x, y, w, h] = where;
    c.fillStyle = INK;
    c.fillRect(x - 3 * scale, y - 3 * scale, w + 6 * scale, h + 6 * scale);
    c.imageSmoothingEnabled = false;
    c.drawImage(points(), x, y, w, h);
    c.imageSmoothingEnabled = true;
    const per = w / data.world.width / cell;
    const x0 = Math.max(0, -left * per), y0 = Math.max(0, -top * per);
    c.strokeStyle = "#ffffff";
    c.lineWidth = 1.5 * scale;
    c.strokeRect(x + x0, y + y0, Math.min(w, (map.width - left) * per) - x0, Math.min(h, (map.height - top) * per) - y0);
  }

  // -- what is selected -----------------------------------------------------------------------------------------------

  // Select what is at a point: the agent or thing whose cell it is, in small cells the nearest agent.
  function choose(x, y) {
    const row = (y - top) / cell - 0.5, col = (x - left) / cell - 0.5;
    const reach = Math.max(0.5, 9 * scale / cell);
    let best = null, least = Infinity;
    for (let s = 0; s < data.world.slots; s++) {
      const far = Math.max(Math.abs(data.of("row", s) - row), Math.abs(data.of("col", s) - col));
      if (data.of("alive", s) && far <= reach && far < least) [best, least] = [s, far];
    }
    if (best !== null) return select(best);
    place = data.objects.type.findIndex((t, o) => t !== data.world.gone && data.objects.row[o] === Math.round(row) && data.objects.col[o] === Math.round(col));
    if (place < 0) place = null;
    select(null, place);
  }

  function select(s, thing = null) {
    slot = s;
    place = thing;
    if (s === null) following = false;
    else announce(`Agent ${data.name(s)} selected`);
    changed();
    later();
  }

  function next(step) {
    const living = data.living();
    if (!living.length) return;
    const at = living.indexOf(slot);
    const to = at < 0 ? (step > 0 ? 0 : living.length - 1) : (at + step + living.length) % living.length;
    select(living[to]);
    const [row, col] = [data.of("row", slot), data.of("col", slot)];
    if (!seen(row, col)) center(row, col);
  }

  function pan(x, y) {
    following = false;
    left += x;
    top += y;
    later();
  }

  // The canvas has a new size.
  function resized() {
    const before = [map.width, map.height], wide = before[0] * before[1] && cell > whole();
    scale = window.devicePixelRatio || 1;
    map.width = Math.max(1, Math.round(map.clientWidth * scale));
    map.height = Math.max(1, Math.round(map.clientHeight * scale));
    if (wide) {
      left += Math.round((map.width - before[0]) / 2);
      top += Math.round((map.height - before[1]) / 2);
      later();
    } else fit();
  }

  const button = (words, title, run) => coterie.make("button", { type: "button", title, "aria-label": title, onclick: () => { if (data.ready) run(); } }, words);
  const follows = button("Follow", "Follow the selected agent (c)", () => follow());
  const tools = coterie.make("div", { class: "map-tools", role: "group", "aria-label": "Map" },
    button("+", "Zoom in (page up)", () => zoom(1.25)), button("−", "Zoom out (page down)", () => zoom(0.8)), button("Whole map", "The whole map", fit), follows);

  // Centre the camera on a point of the minimap; whether the point is there.
  function jump(x, y) {
    const where = corner();
    if (!where || x < where[0] || y < where[1] || x > where[0] + where[2] || y > where[1] + where[3]) return false;
    following = false;
    center((y - where[1]) / where[3] * data.world.height - 0.5, (x - where[0]) / where[2] * data.world.width - 0.5);
    later();
    return true;
  }

  coterie.worldPointer(map, { ready: () => data.ready, scale: () => scale, cell: () => cell, zoom, pan, jump, choose });
  new ResizeObserver(() => { if (data.ready) resized(); }).observe(map);
  new MutationObserver(later).observe(document.documentElement, { attributeFilter: ["data-theme"] });

  return {
    map, tools, later, resized, fit, zoom, follow, select, next, pan, agentSprite, typeSprite, isReady,
    get slot() { return slot; },
    get place() { return place; },
    get scale() { return scale; },
    // Bring a cell into sight.
    show(row, col) { if (!seen(row, col)) { center(row, col); later(); } },
    refresh() { follows.setAttribute("aria-pressed", String(following)); follows.disabled = slot === null; },
    state: () => ({ ready: data.ready, slot, place, following, cell, left, top }),
  };
};
