// The gridworld's sprites: each is painted once for each size.
"use strict";

(() => {
  const FLOOR = "#282e3e", LINE = "#222735", INK = "#12151d", ICE = "#bae0ff", BOLT = "#ffdd6e";
  const DOWN = [-1, 1, 0, 0], RIGHT = [0, 0, -1, 1]; // by direction: up, down, left, right

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

  // An agent's or a type's picture beside the map, redrawn only when it changes.
  function portrait(canvas, picture) {
    if (canvas.of === picture) return;
    canvas.of = picture;
    canvas.width = canvas.height = picture.width;
    canvas.getContext("2d").drawImage(picture, 0, 0);
  }

  coterie.sprites = { FLOOR, INK, DOWN, RIGHT, mixed, sprite, portrait, shapes: SHAPES.length };
})();
