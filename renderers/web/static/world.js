// The gridworld: a map under a camera, the selected agent at the side, totals below (data: renderers/web/world.py).
"use strict";

(() => {
  const { make } = coterie;
  const NUMBERS = { i1: Int8Array, i2: Int16Array, i4: Int32Array, f4: Float32Array };
  const FLOOR = "#282e3e", LINE = "#222735", INK = "#12151d", ICE = "#bae0ff", BOLT = "#ffdd6e";
  const DOWN = [-1, 1, 0, 0], RIGHT = [0, 0, -1, 1]; // by direction: up, down, left, right
  const FACES = ["up", "down", "left", "right"];
  const TINY = 5, DETAILS = 12, TAGS = 30; // pixels a cell: below, cells are points; from here on, bars; tags
  const MINIMAP = 150, EDGE = 12, LARGEST = 12e6; // pixels

  let api, world, seats, ticks, ready = false;
  let column, item, paid, total, alive, objects, changes, applied;
  let k = 0, slot = null, place = null, following = false, due = 0;
  let map, strip, pen, strips, scale = 1, cell = 0, left = 0, top = 0, texts = {};

  // -- the data ------------------------------------------------------------------------------------------------------

  async function unpack({ layout, data }) {
    const text = atob(data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    const found = {};
    let at = 0;
    for (const [name, kind, size] of layout) {
      const end = at + size * NUMBERS[kind].BYTES_PER_ELEMENT;
      found[name] = new NUMBERS[kind](buffer.slice(at, end));
      at = end;
    }
    return found;
  }

  // Sums along the ticks of each slot; the numbers stand slot by slot.
  function summed(differences, Kind) {
    const made = new Kind(differences.length);
    for (let i = 0; i < made.length; i++) made[i] = differences[i] + (i % (ticks + 1) ? made[i - 1] : 0);
    return made;
  }

  async function read() {
    const raw = await unpack(world.state);
    column = {};
    for (const name of Object.keys(raw)) {
      if (!/[.]|^reward$/.test(name)) column[name] = summed(raw[name], Int32Array);
    }
    item = world.items.map((_, j) => summed(raw[`item.${j}`], Int32Array));
    paid = raw.reward;
    const returns = summed(paid, Float64Array);
    column.returns = returns;
    total = new Float64Array(ticks + 1);
    alive = new Int32Array(ticks + 1);
    for (let s = 0; s < world.slots; s++) {
      for (let t = 0; t <= ticks; t++) {
        total[t] += returns[s * (ticks + 1) + t];
        alive[t] += column.alive[s * (ticks + 1) + t];
      }
    }
    objects = {};
    changes = { tick: raw["change.tick"].length ? new Int32Array(raw["change.tick"]) : new Int32Array(0), place: raw["change.place"], to: {}, from: {} };
    for (let i = 1; i < changes.tick.length; i++) changes.tick[i] += changes.tick[i - 1];
    for (const name of ["type", "row", "col", "hp", "stock", "busy_until"]) {
      objects[name] = Int32Array.from(raw[`objects.${name}`]);
      const now = Int32Array.from(objects[name]);
      changes.to[name] = raw[`change.${name}`];
      changes.from[name] = changes.to[name].map((value, i) => { const old = now[changes.place[i]]; now[changes.place[i]] = value; return old; });
    }
    applied = 0;
  }

  // The number of an agent's field at a tick.
  const of = (name, s, t = k) => column[name][s * (ticks + 1) + t];
  const held = (j, s) => item[j][s * (ticks + 1) + k];
  const clock = () => world.clock + k;
  const idOf = (s) => (of("id", s) < 0 ? s : of("id", s));

  // Bring the objects to tick k.
  function place_objects() {
    const write = (values, i) => { for (const name in objects) objects[name][changes.place[i]] = values[name][i]; };
    while (applied < changes.tick.length && changes.tick[applied] <= k) write(changes.to, applied++);
    while (applied > 0 && changes.tick[applied - 1] > k) write(changes.from, --applied);
  }

  function kin(s) {
    if (world.kin) return world.kin[s].filter(([other]) => of("alive", other));
    const label = of("label", s);
    const found = [];
    for (let other = 0; label >= 0 && other < world.slots; other++) {
      if (other !== s && of("label", other) === label && of("alive", other)) found.push([other, 1]);
    }
    return found;
  }

  // -- sprites: each is painted once for each size -------------------------------------------------------------------

  function mixed(color, other, part) {
    const two = [color, other].map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
    return `#${two[0].map((v, i) => Math.round((1 - part) * v + part * two[1][i]).toString(16).padStart(2, "0")).join("")}`;
  }

  const sprites = new Map();

  function sprite(kind, size, ...what) {
    const key = `${kind} ${size} ${what.join(" ")}`;
    let made = sprites.get(key);
    if (!made) {
      if (sprites.size > 4000) sprites.clear();
      made = document.createElement("canvas");
      made.width = made.height = size;
      const c = made.getContext("2d");
      c.scale(size, size);
      PAINT[kind](c, size, ...what);
      sprites.set(key, made);
    }
    return made;
  }

  function polygon(c, color, points) {
    c.fillStyle = color;
    c.beginPath();
    for (const [x, y] of points) c.lineTo(x, y);
    c.fill();
  }

  function disc(c, color, x, y, r) {
    c.fillStyle = color;
    c.beginPath();
    c.arc(x, y, r, 0, 7);
    c.fill();
  }

  function box(c, color, x, y, w, h, r) {
    c.fillStyle = color;
    c.beginPath();
    c.roundRect(x, y, w, h, r);
    c.fill();
  }

  function stroke(c, color, width, points) {
    c.strokeStyle = color;
    c.lineWidth = width;
    c.lineCap = c.lineJoin = "round";
    c.beginPath();
    for (const [x, y] of points) c.lineTo(x, y);
    c.stroke();
  }

  function heart(c, color, x, y, r, edge) {
    const lobe = 0.56 * r + edge, wide = r + 1.2 * edge;
    disc(c, color, x - 0.5 * r, y - 0.3 * r, lobe);
    disc(c, color, x + 0.5 * r, y - 0.3 * r, lobe);
    polygon(c, color, [[x - wide, y - 0.08 * r], [x, y + 1.05 * r + 1.5 * edge], [x + wide, y - 0.08 * r], [x, y - 0.5 * r]]);
  }

  // The outline of a body by family: a mark beside the colour.
  const SHAPES = [
    null,
    [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => [0.82 * x, 0.82 * y]),
    [[0, -1.15], [1.15, 0], [0, 1.15], [-1.15, 0]],
    [0, 1, 2, 3, 4, 5].map((i) => [1.06 * Math.cos(Math.PI * i / 3), 1.06 * Math.sin(Math.PI * i / 3)]),
    [[-1, -0.85], [1, -0.85], [0, 1.1]].map(([x, y]) => [1.08 * x, 1.08 * y]),
    [[-1.05, -0.4], [-0.4, -1.05], [0.4, -1.05], [1.05, -0.4], [0.4, 1.05], [-0.4, 1.05]],
  ];

  function body(c, color, shape, r) {
    if (!SHAPES[shape]) return disc(c, color, 0.5, 0.5, r);
    polygon(c, color, SHAPES[shape].map(([x, y]) => [0.5 + r * x, 0.5 + r * y]));
  }

  const PAINT = {
    floor(c, size) {
      c.fillStyle = LINE;
      c.fillRect(0, 0, 1, 1);
      const gap = Math.max(1, Math.round(0.05 * size)) / size;
      box(c, FLOOR, 0, 0, 1 - gap, 1 - gap, size < 10 ? 0 : 0.08);
    },
    wall(c, size, damage) {
      c.fillStyle = "#3a4154";
      c.fillRect(0, 0, 1, 1);
      if (size < 6) { c.fillStyle = "#505870"; c.fillRect(0, 0, 1, 1); return; }
      box(c, "#505870", 0, 0, 1, 0.86, 0.06);
      box(c, "#68728e", 0, 0, 1, 0.12, 0.06);
      for (let i = 0; i < (size >= 14 ? damage : 0); i++) {
        const x = [0.3, 0.62, 0.45][i];
        stroke(c, INK, 0.06, [[x, 0.05], [x + 0.12, 0.36], [x - 0.08, 0.55], [x, 0.9]]);
      }
    },
    generator(c, size, ready, color) {
      const tone = ready ? color : mixed(color, FLOOR, 0.5), white = "#ffffff";
      polygon(c, mixed(tone, INK, 0.35), [[0.5, 0.07], [0.85, 0.4], [0.5, 0.95], [0.15, 0.4]]);
      polygon(c, tone, [[0.5, 0.13], [0.78, 0.4], [0.5, 0.86], [0.22, 0.4]]);
      polygon(c, mixed(tone, white, 0.28), [[0.5, 0.13], [0.5, 0.86], [0.22, 0.4]]);
      polygon(c, mixed(tone, white, ready ? 0.5 : 0.2), [[0.22, 0.4], [0.5, 0.48], [0.78, 0.4], [0.5, 0.13]]);
    },
    converter(c, size, ready, color) {
      const tone = ready ? color : mixed(color, FLOOR, 0.5);
      for (const [r, shade] of [[0.46, mixed(tone, INK, 0.4)], [0.39, tone]]) {
        polygon(c, shade, [0, 1, 2, 3, 4, 5].map((i) => [0.5 + r * Math.cos(Math.PI * i / 3), 0.5 + r * Math.sin(Math.PI * i / 3)]));
      }
      polygon(c, ready ? BOLT : mixed(BOLT, FLOOR, 0.5), [[0.56, 0.2], [0.32, 0.55], [0.48, 0.55], [0.42, 0.82], [0.68, 0.43], [0.52, 0.43]]);
    },
    altar(c, size, ready) {
      const stone = ready ? "#cec4aa" : "#686664", red = ready ? "#ff6961" : "#6c4a50";
      box(c, mixed(stone, INK, 0.3), 0.1, 0.76, 0.8, 0.17, 0.04);
      box(c, stone, 0.2, 0.62, 0.6, 0.17, 0.04);
      heart(c, mixed(red, INK, 0.35), 0.5, 0.34, 0.25, 0.035);
      heart(c, red, 0.5, 0.34, 0.25, 0);
      if (ready) disc(c, "#ffd6d0", 0.4, 0.26, 0.045);
    },
    glyph(c, size, ready, color, glyph) {
      const tone = ready ? color : mixed(color, FLOOR, 0.6);
      box(c, mixed(tone, INK, 0.45), 0.08, 0.08, 0.84, 0.84, 0.18);
      box(c, mixed(tone, INK, 0.1), 0.13, 0.11, 0.74, 0.74, 0.14);
      if (size < 9) return;
      c.fillStyle = INK;
      c.font = "bold 0.62px sans-serif";
      c.textAlign = "center";
      c.textBaseline = "middle";
      c.fillText(glyph, 0.5, 0.52);
    },
    empty(c) {
      c.globalAlpha = 0.5;
      c.fillStyle = FLOOR;
      c.fillRect(0, 0, 1, 1);
    },
    agent(c, size, color, facing, frozen, shape) {
      const ahead = [RIGHT[facing], DOWN[facing]], side = [-ahead[1], ahead[0]];
      const at = (forward, across) => [0.5 + forward * ahead[0] + across * side[0], 0.5 + forward * ahead[1] + across * side[1]];
      const tone = frozen ? mixed(color, ICE, 0.62) : color, edge = mixed(tone, INK, 0.72);
      polygon(c, edge, [at(0.5, 0), at(0.1, 0.36), at(0.1, -0.36)]);
      body(c, edge, shape, 0.4);
      polygon(c, tone, [at(0.45, 0), at(0.1, 0.31), at(0.1, -0.31)]);
      body(c, tone, shape, 0.34);
      if (size < 12) { disc(c, "#ffffff", ...at(0.2, 0), 0.14); return; }
      for (const across of [-0.15, 0.15]) {
        disc(c, "#ffffff", ...at(0.14, across), 0.105);
        disc(c, frozen ? mixed(ICE, INK, 0.4) : INK, ...at(0.175, across), 0.055);
      }
    },
    ice(c, size) {
      c.globalAlpha = 0.5;
      const edge = Math.max(0.05, 0.6 / size);
      box(c, "#ffffff", 0.02, 0.02, 0.96, 0.96, 0.18);
      box(c, "#8cbeeb", 0.02 + edge, 0.02 + edge, 0.96 - 2 * edge, 0.96 - 2 * edge, 0.15);
      stroke(c, "#ffffff", 0.05, [[0.2, 0.42], [0.42, 0.2]]);
      stroke(c, "#ffffff", 0.03, [[0.24, 0.58], [0.58, 0.24]]);
    },
    shield(c, size) {
      c.strokeStyle = "#78d8ff";
      c.lineWidth = Math.max(0.06, 0.9 / size);
      c.beginPath();
      c.arc(0.5, 0.5, 0.45, 0, 7);
      c.stroke();
    },
    hit(c) {
      c.globalAlpha = 0.85;
      stroke(c, "#ff4646", 0.14, [[0.2, 0.2], [0.8, 0.8]]);
      stroke(c, "#ff4646", 0.14, [[0.8, 0.2], [0.2, 0.8]]);
    },
    earned(c) {
      heart(c, INK, 0.8, 0.2, 0.17, 0.04);
      heart(c, "#ff6961", 0.8, 0.2, 0.17, 0);
    },
  };

  const shapeOf = (s) => (world.belongs && of("label", s) >= 0 ? of("label", s) % SHAPES.length : 0);
  const agentSprite = (s, size) => sprite("agent", size, world.agents[s].color, of("facing", s), clock() < of("frozen_until", s), shapeOf(s));

  function typeSprite(t, size, ready = true, damage = 0) {
    const type = world.types[t];
    if (t === 0) return sprite("wall", size, damage);
    return type.icon ? sprite(type.icon, size, ready, type.color) : sprite("glyph", size, ready || !type.usable, type.color, type.glyph);
  }

  // An agent's or a type's picture in the side column, redrawn only when it changes.
  function portrait(canvas, picture) {
    if (canvas.of === picture) return;
    canvas.of = picture;
    canvas.width = canvas.height = picture.width;
    canvas.getContext("2d").drawImage(picture, 0, 0);
  }

  // -- the camera: the upper left corner of the map is at (left, top), a cell has `cell` device pixels ----------------

  function whole() {
    const fits = Math.min(map.width / world.width, map.height / world.height);
    return Math.max(1, Math.floor(fits));
  }

  function fit() {
    following = false;
    cell = whole();
    left = Math.round((map.width - cell * world.width) / 2);
    top = Math.round((map.height - cell * world.height) / 2);
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
    const [x0, x1] = room(map.width, cell * world.width), [y0, y1] = room(map.height, cell * world.height);
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
    if (!due) due = requestAnimationFrame(() => { due = 0; if (ready) paint(); });
  }

  function paint() {
    place_objects();
    if (following && slot !== null && of("alive", slot)) center(of("row", slot), of("col", slot));
    bound();
    paintMap();
    paintTotals();
    aside ||= setTimeout(drawAside, Math.max(0, asideAt + 80 - performance.now()));
    tools.following.setAttribute("aria-pressed", String(following));
    tools.following.disabled = slot === null;
  }

  // The side column takes longer to lay out than the map to draw, so it follows a little later.
  let aside = 0, asideAt = 0;
  function drawAside() {
    aside = 0;
    asideAt = performance.now();
    for (const one of panels) one();
  }

  function paintMap() {
    const c = pen, { width, height } = map;
    c.fillStyle = css("--page");
    c.fillRect(0, 0, width, height);
    if (cell < TINY) c.drawImage(points(), left, top, world.width * cell, world.height * cell);
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
    const wide = cell * world.width, high = cell * world.height;
    if (wide * high > LARGEST) { tiles(c, left, top, map.width, map.height); walls(c, left, top, seen); return; }
    const made = `${cell} ${wallsAt()}`;
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

  // How many changes of walls have happened.
  let walled;
  function wallsAt() {
    walled ??= Array.from(changes.place, ((count) => (o, i) => (count += Number(changes.from.type[i] === 0)))(0));
    return applied ? walled[applied - 1] : 0;
  }

  function walls(c, x, y, isShown) {
    const full = world.types[0].hp;
    for (let o = 0; o < objects.type.length; o++) {
      if (objects.type[o] !== 0 || !isShown(objects.row[o], objects.col[o])) continue;
      const hp = objects.hp[o];
      const damage = hp > 0 && hp < full ? Math.max(1, Math.min(3, Math.floor(4 * (full - hp) / full))) : 0;
      c.drawImage(typeSprite(0, cell, true, damage), x + objects.col[o] * cell, y + objects.row[o] * cell);
    }
  }

  function tiles(c, atX, atY, width, height) {
    const tile = c.createPattern(sprite("floor", cell), "repeat");
    tile.setTransform(new DOMMatrix().translate(atX, atY));
    c.fillStyle = tile;
    const x = Math.max(0, atX), y = Math.max(0, atY);
    c.fillRect(x, y, Math.min(width, atX + cell * world.width) - x, Math.min(height, atY + cell * world.height) - y);
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

  const isReady = (o) => world.types[objects.type[o]].usable && clock() + 1 > objects.busy_until[o] && objects.stock[o] !== 0;

  function things(c) {
    for (let o = 0; o < objects.type.length; o++) {
      const t = objects.type[o], row = objects.row[o], col = objects.col[o];
      if (t === 0 || t === world.gone || !seen(row, col)) continue;
      const type = world.types[t];
      put(c, typeSprite(t, large(), isReady(o)), row, col, true);
      if (objects.stock[o] >= 0) {
        bar(c, row, col, objects.stock[o] / Math.max(1, type.stock), type.color);
        if (objects.stock[o] === 0) put(c, sprite("empty", cell), row, col, false);
      } else if (clock() < objects.busy_until[o] && type.cooldown > 1) {
        bar(c, row, col, (objects.busy_until[o] - clock()) / type.cooldown, "#8b97b3");
      }
    }
  }

  function agents(c) {
    const size = large();
    for (let s = 0; s < world.slots; s++) {
      if (!of("alive", s)) continue;
      const row = of("row", s), col = of("col", s);
      const blow = of("last_action", s) - world.attack;
      if (k && blow >= 0 && blow < 9 && of("succeeded", s)) {
        const f = of("facing", s), ahead = 1 + Math.floor(blow / 3), across = 1 - blow % 3;
        put(c, sprite("hit", cell), row + ahead * DOWN[f] - across * RIGHT[f], col + ahead * RIGHT[f] + across * DOWN[f], false);
      }
      if (!seen(row, col)) continue;
      put(c, agentSprite(s, size), row, col, true);
      if (clock() < of("frozen_until", s)) put(c, sprite("ice", cell), row, col, false);
      if (of("shield", s)) put(c, sprite("shield", size), row, col, true);
      if (paid[s * (ticks + 1) + k] > 0) put(c, sprite("earned", size), row, col, true);
      const energy = of("energy", s) / Math.max(1, world.agents[s].max_energy);
      bar(c, row, col, energy, mixed("#ff5650", "#6ee280", Math.min(1, energy)));
      if (cell >= TAGS * scale) tag(c, row, col, name(s));
    }
  }

  // An agent's number, and the letter of its family.
  function name(s) {
    const label = of("label", s);
    return `${idOf(s)}${world.belongs && label >= 0 ? letters(label) : ""}`;
  }

  const letters = (n) => (n < 26 ? "" : letters(Math.floor(n / 26) - 1)) + String.fromCharCode(65 + n % 26);

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
    let [high, wide] = world.window;
    if (world.rotate && of("facing", s) >= 2) [high, wide] = [wide, high];
    return [of("row", s) - Math.floor(high / 2), of("col", s) - Math.floor(wide / 2), high, wide];
  }

  function marks(c) {
    if (slot !== null && of("alive", slot)) {
      const [row, col, high, wide] = sight(slot);
      c.fillStyle = "rgb(255 255 255 / 5%)";
      c.fillRect(left + col * cell, top + row * cell, wide * cell, high * cell);
      outline(c, row, col, high, wide, "#8b97b3", 1.5, [6, 4]);
      for (const [other, near] of kin(slot)) {
        outline(c, of("row", other), of("col", other), 1, 1, "#facc54", 2);
        if (near !== 1 && cell >= 16 * scale) tag(c, of("row", other), of("col", other), String(near), "#facc54");
      }
      outline(c, of("row", slot), of("col", slot), 1, 1, "#ffffff", 2.5);
    } else if (place !== null && objects.type[place] !== world.gone) {
      outline(c, objects.row[place], objects.col[place], 1, 1, "#ffffff", 2.5);
    }
  }

  // The map with each cell as one point.
  let dots, image;
  function points() {
    const { width, height } = world;
    if (!dots) {
      dots = document.createElement("canvas");
      dots.width = width;
      dots.height = height;
      image = dots.getContext("2d").createImageData(width, height);
    }
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(point(FLOOR));
    for (let o = 0; o < objects.type.length; o++) {
      const t = objects.type[o];
      if (t !== world.gone) pixels[objects.row[o] * width + objects.col[o]] = point(t === 0 ? "#68728e" : world.types[t].color);
    }
    for (let s = 0; s < world.slots; s++) {
      if (of("alive", s)) pixels[of("row", s) * width + of("col", s)] = point(s === slot ? "#ffffff" : world.agents[s].color);
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
    if (left >= 0 && top >= 0 && left + cell * world.width <= map.width && top + cell * world.height <= map.height) return null;
    const most = Math.min(MINIMAP * scale, map.width / 3, map.height / 3) / Math.max(world.width, world.height);
    const w = Math.round(world.width * most), h = Math.round(world.height * most);
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
    const per = w / world.width / cell;
    const x0 = Math.max(0, -left * per), y0 = Math.max(0, -top * per);
    c.strokeStyle = "#ffffff";
    c.lineWidth = 1.5 * scale;
    c.strokeRect(x + x0, y + y0, Math.min(w, (map.width - left) * per) - x0, Math.min(h, (map.height - top) * per) - y0);
  }

  function paintTotals() {
    const c = strips, { width, height } = strip, pad = 8 * scale, wordy = 104 * scale;
    c.clearRect(0, 0, width, height);
    const span = width - 2 * pad - wordy, most = Math.max(...extremes(total)), least = Math.min(...extremes(total));
    const x = (t) => pad + span * t / Math.max(1, ticks);
    const lines = [
      [total, css("--accent"), least, most, `reward ${brief(total[k])}`],
      [alive, css("--second"), 0, world.slots, `alive ${alive[k]}`],
    ];
    c.font = `${Math.round(12 * scale)}px system-ui, sans-serif`;
    c.textBaseline = "middle";
    c.textAlign = "left";
    const step = Math.max(1, Math.floor(ticks / Math.max(1, span)));
    lines.forEach(([values, color, low, high, words], n) => {
      const y = (v) => height - pad - (height - 2 * pad) * (high > low ? (v - low) / (high - low) : 0);
      c.strokeStyle = color;
      c.lineWidth = 1.8 * scale;
      c.setLineDash(n ? [5 * scale, 3 * scale] : []);
      c.beginPath();
      for (let t = 0; t <= ticks; t += step) c.lineTo(x(t), y(values[t]));
      c.lineTo(x(ticks), y(values[ticks]));
      c.stroke();
      c.setLineDash(n ? [5 * scale, 3 * scale] : []);
      const line = (n ? 0.7 : 0.3) * height, at = width - wordy;
      c.beginPath();
      c.moveTo(at, line);
      c.lineTo(at + 16 * scale, line);
      c.stroke();
      c.setLineDash([]);
      c.fillStyle = css("--text");
      c.fillText(words, at + 22 * scale, line);
    });
    c.strokeStyle = css("--text");
    c.lineWidth = scale;
    c.strokeRect(x(k), 2, 0, height - 4);
  }

  const kept = new Map();
  function extremes(values) {
    if (!kept.has(values)) kept.set(values, values.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [0, 0]));
    return kept.get(values);
  }

  const brief = (value) => String(Number(value.toPrecision(4))).replace("-", "−");

  // -- the pointer ---------------------------------------------------------------------------------------------------

  const fingers = new Map();
  let moved = 0, inMinimap = false;

  function spot(event) {
    const area = map.getBoundingClientRect();
    return [(event.clientX - area.left) * scale, (event.clientY - area.top) * scale];
  }

  function pressed(event) {
    map.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, spot(event));
    moved = fingers.size > 1 ? 99 : 0;
    inMinimap = look(...spot(event));
  }

  // Centre the camera on a point of the minimap.
  function look(x, y) {
    const where = corner();
    if (!where || fingers.size > 1 || x < where[0] || y < where[1] || x > where[0] + where[2] || y > where[1] + where[3]) return false;
    following = false;
    center((y - where[1]) / where[3] * world.height - 0.5, (x - where[0]) / where[2] * world.width - 0.5);
    later();
    return true;
  }

  function dragged(event) {
    const old = fingers.get(event.pointerId);
    if (!old) return;
    const now = spot(event);
    if (inMinimap) return void look(...now);
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    fingers.set(event.pointerId, now);
    if (others.length) {
      const [other] = others;
      const apart = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]);
      pinch *= apart(now) / Math.max(1, apart(old));
      if (Math.round(cell * pinch) !== cell) {
        zoom(pinch, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
        pinch = 1;
      }
      return;
    }
    moved += Math.hypot(now[0] - old[0], now[1] - old[1]);
    if (moved < 4 * scale) return;
    following = false;
    left += now[0] - old[0];
    top += now[1] - old[1];
    later();
  }
  let pinch = 1;

  function released(event) {
    const at = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    pinch = 1;
    if (at && moved < 4 * scale && !inMinimap && event.type === "pointerup") choose(...at);
  }

  // Select what is at a point: the agent or thing whose cell it is, in small cells the nearest agent.
  function choose(x, y) {
    const row = (y - top) / cell - 0.5, col = (x - left) / cell - 0.5;
    const reach = Math.max(0.5, 9 * scale / cell);
    let best = null, least = Infinity;
    for (let s = 0; s < world.slots; s++) {
      const far = Math.max(Math.abs(of("row", s) - row), Math.abs(of("col", s) - col));
      if (of("alive", s) && far <= reach && far < least) [best, least] = [s, far];
    }
    if (best !== null) return select(best);
    place = objects.type.findIndex((t, o) => t !== world.gone && objects.row[o] === Math.round(row) && objects.col[o] === Math.round(col));
    if (place < 0) place = null;
    select(null, place);
  }

  function select(s, thing = null) {
    slot = s;
    place = thing;
    if (s === null) following = false;
    else api.announce(`Agent ${name(s)} selected`);
    if (ready) api.redraw();
  }

  function next(step) {
    const living = Array.from({ length: world.slots }, (_, s) => s).filter((s) => of("alive", s));
    if (!living.length) return;
    const at = living.indexOf(slot);
    const to = at < 0 ? (step > 0 ? 0 : living.length - 1) : (at + step + living.length) % living.length;
    select(living[to]);
    const [row, col] = [of("row", slot), of("col", slot)];
    if (!seen(row, col)) center(row, col);
  }

  function keyed(event) {
    const step = Math.round(map.width / 8);
    const does = {
      "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
      ...(event.shiftKey ? { ArrowLeft: () => pan(step, 0), ArrowRight: () => pan(-step, 0), ArrowUp: () => pan(0, step), ArrowDown: () => pan(0, -step) } : {}),
    }[event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  }

  function pan(x, y) {
    following = false;
    left += x;
    top += y;
    later();
  }

  // -- what is told --------------------------------------------------------------------------------------------------

  // The text of an agent at tick k: known, on its way (""), or why there is none.
  function told(s) {
    if (!of("alive", s)) return "This agent is dead.";
    const packed = world.texts[s];
    if (!packed) return `The words of agent ${s} are not in this page. To have them, add this to the command that made it: --texts ${s}`;
    if (!texts[s]) {
      texts[s] = { wait: true };
      unpack(packed).then(({ number, words }) => {
        texts[s] = { number, words: JSON.parse(new TextDecoder().decode(words)) };
        api.redraw();
      });
    }
    return texts[s].wait ? "" : texts[s].words[texts[s].number[k]];
  }

  class Tick {
    constructor(t) { this.t = t; }
    get mover() { return null; }
    get by() { return null; }
    get move() { return ""; }
    get rewards() { return []; }
    get returns() { return seats.map((_, s) => (ready ? of("returns", s, this.t) : 0)); }
    get text() { return ""; }
    get status() {
      if (!ready) return "";
      const end = this.t === ticks && world.over ? (alive[ticks] ? " The episode is over." : " Nobody is alive: the episode is over.") : "";
      return `Tick ${(world.clock + this.t).toLocaleString("en")} of ${world.max_steps.toLocaleString("en")}, ${alive[this.t]} of ${world.slots} alive.${end}`;
    }
  }

  // -- the column at the side ----------------------------------------------------------------------------------------

  const panels = [];
  const isWorld = (show) => show.kind === "world";

  coterie.panels.push({
    title: "Selected",
    wanted: isWorld,
    mount(element) { panels.push(() => drawSelected(element)); },
    draw() {},
  });

  coterie.panels.push({
    title: "Agents and objects",
    wanted: isWorld,
    mount(element) {
      const list = make("ul", { class: "agents" });
      const things = make("ul", { class: "things" });
      element.append(list, things);
      let rows = null, counts = null;
      panels.push(() => {
        rows ??= world.agents.map((_, s) => agentRow(list, s));
        counts ??= world.types.map((type, t) => {
          const canvas = make("canvas", { "aria-hidden": "true" }), count = make("span", {});
          portrait(canvas, typeSprite(t, 36));
          things.append(make("li", {}, canvas, make("span", {}, make("b", {}, type.name.replaceAll("_", " ")), type.use ? ` ${type.use}` : ""), count));
          return count;
        });
        for (const row of rows) row();
        const there = world.types.map(() => 0);
        for (const t of objects.type) if (t !== world.gone) there[t] += 1;
        counts.forEach((count, t) => { count.textContent = there[t]; });
      });
    },
    draw() {},
  });

  // A button for an agent; returns what brings it up to date.
  function agentRow(list, s, far = null) {
    const canvas = make("canvas", { "aria-hidden": "true" }), id = make("span", {}), who = make("span", { class: "who" }), score = make("span", { class: "score" });
    const button = make("button", { type: "button", onclick: () => { select(s); if (!seen(of("row", s), of("col", s))) { center(of("row", s), of("col", s)); later(); } } }, canvas, id, who, score);
    list.append(make("li", {}, button));
    who.textContent = far ?? coterie.visible(seats[s].player);
    return () => {
      portrait(canvas, agentSprite(s, 36));
      id.textContent = name(s);
      score.textContent = brief(of("returns", s));
      who.className = of("alive", s) ? "who" : "who dead";
      button.setAttribute("aria-pressed", String(s === slot));
      button.setAttribute("aria-label", `Agent ${name(s)}, ${seats[s].player}, return ${brief(of("returns", s))}${of("alive", s) ? "" : ", dead"}`);
    };
  }

  function drawSelected(element) {
    if (slot !== null) return void element.replaceChildren(...aboutAgent(slot, element));
    if (place !== null && objects.type[place] !== world.gone) return void element.replaceChildren(...aboutThing(place));
    element.replaceChildren(make("p", { class: "fact" }, "Click an agent or an object, or press ] for the next agent."));
  }

  function facts(rows) {
    return make("dl", { class: "facts" }, rows.filter(([, value]) => value !== "").flatMap(([what, value]) => [make("dt", {}, what), make("dd", {}, value)]));
  }

  function aboutAgent(s, element) {
    const about = world.agents[s], canvas = make("canvas", { "aria-hidden": "true" });
    portrait(canvas, agentSprite(s, Math.round(36 * scale)));
    canvas.style.inlineSize = canvas.style.blockSize = "36px";
    const energy = of("energy", s), full = make("i", {}), level = Math.min(1, energy / Math.max(1, about.max_energy));
    full.style.inlineSize = `${100 * level}%`;
    const done = of("last_action", s), frozen = of("frozen_until", s) - clock(), label = of("label", s);
    const action = k && done >= 0 ? `${world.actions[done]}${of("succeeded", s) ? "" : " (failed)"}` : "none";
    const near = kin(s);
    const open = element.querySelector("details");
    const parts = [
      make("div", { class: "creature" }, canvas, make("span", { class: "whole" }, `Agent ${name(s)}`), make("span", { class: "score", title: "return so far" }, brief(of("returns", s))),
        make("bdi", { class: "player" }, coterie.visible(seats[s].player) + (of("alive", s) ? "" : ", dead"))),
      make("div", {}, make("div", { class: "label-row" }, make("span", {}, "energy"), make("span", {}, `${energy} of ${about.max_energy}`)),
        make("div", { class: "meter" }, full)),
      make("ul", { class: "holds", "aria-label": "Inventory" }, world.items.map(([what, color], j) => {
        const mark = make("i", { "aria-hidden": "true" });
        mark.style.background = color;
        return make("li", {}, mark, `${what} ${held(j, s)} of ${about.max_items}`);
      })),
      facts([
        ["last action", action],
        ["reward now", brief(paid[s * (ticks + 1) + k])],
        ["return", brief(of("returns", s))],
        ["place", `row ${of("row", s)}, column ${of("col", s)}, looks ${FACES[of("facing", s)]}`],
        ["frozen", frozen > 0 ? `for ${frozen} ticks` : ""],
        ["shield", of("shield", s) ? "on" : ""],
        [world.belongs || "label", label >= 0 ? letters(label) : ""],
        ...about.facts,
      ]),
    ];
    if (near.length) {
      const list = make("ul", { class: "agents", "aria-label": "Kin" });
      for (const [other, much] of near) agentRow(list, other, much === 1 ? world.belongs || "kin" : `relatedness ${much}`)();
      parts.push(make("p", { class: "fact" }, `Kin, ringed on the map (${near.length})`), list);
    }
    const fold = make("details", {}, make("summary", {}, "What it is told"), make("pre", { class: "told", tabindex: "0" }, coterie.visible(told(s))));
    fold.open = open ? open.open : true;
    return [...parts, fold];
  }

  function aboutThing(o) {
    const type = world.types[objects.type[o]], canvas = make("canvas", { "aria-hidden": "true" });
    portrait(canvas, typeSprite(objects.type[o], Math.round(36 * scale), isReady(o)));
    canvas.style.inlineSize = canvas.style.blockSize = "36px";
    const rest = objects.busy_until[o] - clock(), stock = objects.stock[o];
    const state = !type.usable ? "cannot be used" : stock === 0 ? "used up" : rest > 0 ? `rests for ${rest} ticks` : "ready";
    return [
      make("div", { class: "creature" }, canvas, make("span", { class: "whole" }, type.name.replaceAll("_", " ")), make("span", {}), make("span", { class: "player" }, state)),
      facts([
        ["use", type.use],
        ["uses left", stock >= 0 ? String(stock) : ""],
        ["hit points", type.hp ? `${objects.hp[o]} of ${type.hp}` : ""],
        ["place", `row ${objects.row[o]}, column ${objects.col[o]}`],
      ]),
    ];
  }

  // -- the view ------------------------------------------------------------------------------------------------------

  const tools = {};

  function resized() {
    const before = [map.width, map.height], wide = before[0] * before[1] && cell > whole();
    scale = window.devicePixelRatio || 1;
    for (const canvas of [map, strip]) {
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
      canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale));
    }
    if (wide) {
      left += Math.round((map.width - before[0]) / 2);
      top += Math.round((map.height - before[1]) / 2);
      later();
    } else fit();
  }

  function strippedTo(event) {
    if (event.type === "pointermove" && !event.buttons) return;
    const area = strip.getBoundingClientRect();
    api.play(false);
    api.seek(Math.round(ticks * (event.clientX - area.left - 8) / (area.width - 16 - 104)));
  }

  coterie.views.world = {
    mount(element, show, given) {
      api = given;
      ({ world, seats } = show);
      ticks = world.ticks;
      show.frames.push(...Array.from({ length: ticks + 1 }, (_, t) => new Tick(t)));
      element.classList.add("world");
      map = make("canvas", { class: "map", tabindex: "0", role: "img", "aria-label": "Map. ] and [ select agents, + and − zoom, shift and arrows move the map." });
      strip = make("canvas", { class: "totals", role: "img", "aria-label": "Reward of all agents, and how many are alive, by tick" });
      [pen, strips] = [map.getContext("2d", { alpha: false }), strip.getContext("2d")];
      const button = (words, title, run) => make("button", { type: "button", title, "aria-label": title, onclick: run }, words);
      tools.following = button("Follow", "Follow the selected agent (c)", () => follow());
      const wait = make("p", { class: "unpacking", role: "status" }, "Unpacking the world…");
      element.append(map, strip, make("div", { class: "map-tools", role: "group", "aria-label": "Map" },
        button("+", "Zoom in (i)", () => zoom(1.25)), button("−", "Zoom out (o)", () => zoom(0.8)), button("Whole map", "The whole map (w)", fit), tools.following), wait);
      for (const [kind, run] of [["pointerdown", pressed], ["pointermove", dragged], ["pointerup", released], ["pointercancel", released], ["keydown", keyed]]) map.addEventListener(kind, run);
      map.addEventListener("wheel", (event) => { event.preventDefault(); if (ready) zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, ...spot(event)); }, { passive: false });
      for (const kind of ["pointerdown", "pointermove"]) strip.addEventListener(kind, strippedTo);
      new ResizeObserver(resized).observe(element);
      new MutationObserver(later).observe(document.documentElement, { attributeFilter: ["data-theme"] });
      read().then(() => { ready = true; wait.remove(); resized(); api.redraw(); })
        .catch((error) => { wait.textContent = `This world cannot be shown: ${error.message}`; });
    },
    draw(at) {
      k = at;
      if (ready) later();
    },
    keys: [
      ["]", "next agent", () => next(1)],
      ["[", "previous agent", () => next(-1)],
      ["c", "camera: follow the agent, or not", () => follow()],
      ["w", "the whole map", () => fit()],
      ["i", "zoom in", () => zoom(1.25)],
      ["o", "zoom out", () => zoom(0.8)],
      ["Escape", "select nothing", () => select(null)],
    ],
    // For tests and for other scripts: what is shown.
    state() {
      return { ready, k, slot, place, following, cell, left, top, row: (s) => of("row", s), col: (s) => of("col", s), alive: (s) => of("alive", s), field: (name, s) => of(name, s), held: (j, s) => held(j, s), objects };
    },
    select,
  };
})();
