// Boards, cards and tables: the shapes that a drawer drew (renderers/web/recording.py), as SVG.
"use strict";

(() => {
  const { draw, make } = coterie;
  let show, api, picture, shapes, overlay, plain, made;

  function pairs(numbers) {
    return numbers.join(" ");
  }

  function painted(element, fill, stroke, width) {
    element.style.fill = fill || "none";
    if (stroke) {
      element.style.stroke = stroke;
      element.style.strokeWidth = width;
    }
    return element;
  }

  const MAKERS = {
    r: ([, x, y, width, height, color, rx, line]) => line
      ? painted(draw("rect", { x: x + line / 2, y: y + line / 2, width: width - line, height: height - line, rx }), "", color, line)
      : painted(draw("rect", { x, y, width, height, rx, ...(rx ? {} : { "shape-rendering": "crispEdges" }) }), color),
    c: ([, cx, cy, r, color, width, outline]) => painted(draw("circle", { cx, cy, r }), color, outline, width),
    p: ([, points, color]) => painted(draw("polygon", { points: pairs(points) }), color),
    l: ([, points, width, color]) => {
      const line = painted(draw("polyline", { points: pairs(points) }), "", color, width);
      line.style.strokeLinecap = line.style.strokeLinejoin = "round";
      return line;
    },
    v: ([, x, y, width, height, opacity]) => {
      const veil = painted(draw("rect", { x, y, width, height }), "var(--background)");
      veil.style.opacity = opacity;
      return veil;
    },
    t: ([, x, y, words, size, color, anchor, bold]) => {
      const text = painted(draw("text", { x, y, dy: "0.35em", "text-anchor": ["start", "middle", "end"][Math.round(anchor * 2)] }), color);
      text.style.fontSize = `${size}px`;
      text.style.fontWeight = bold ? 700 : 500;
      text.textContent = coterie.visible(words);
      return text;
    },
    g: ([, x, y, scale, stamp]) => {
      const group = draw("g", { transform: `translate(${x} ${y}) scale(${scale})` });
      group.append(...show.stamps[stamp].map((shape) => MAKERS[shape[0]](shape)));
      return group;
    },
    i: ([, x, y, width, height, href]) => draw("image", { x, y, width, height, href: href.startsWith("data:image/png") ? href : "" }),
  };

  // Each different shape is made once; a picture that has it twice gets a copy.
  function elements(numbers) {
    const used = new Set();
    return numbers.map((n) => {
      made[n] ??= MAKERS[show.shapes[n][0]](show.shapes[n]);
      if (used.has(n)) return made[n].cloneNode(true);
      used.add(n);
      return made[n];
    });
  }

  // The shapes of one picture for other pages: data with picture, shapes and stamps.
  coterie.shapes = function (data) {
    const before = show;
    show = data;
    try {
      return data.picture.map((n) => MAKERS[data.shapes[n][0]](data.shapes[n]));
    } finally {
      show = before;
    }
  };

  function middle(cell) {
    const [x, y, w, h] = show.boxes[cell];
    return [x + w / 2, y + h / 2, Math.min(w, h)];
  }

  // The cells that the last action touched, where the drawer doesn't mark them itself.
  function drawLast(frame) {
    if (show.marks_last || !frame.cells) return;
    for (const cell of frame.cells) {
      const [x, y, w, h] = show.boxes[cell];
      overlay.append(painted(draw("rect", { x: x + 2, y: y + 2, width: w - 4, height: h - 4, rx: Math.min(w, h) * 0.12 }), "", "var(--accent)", 2.5));
    }
  }

  function drawArrow([from, to], share) {
    const [x0, y0, side] = middle(from);
    const [x1, y1] = middle(to);
    const far = Math.hypot(x1 - x0, y1 - y0) || 1;
    const [dx, dy] = [(x1 - x0) / far, (y1 - y0) / far];
    const wide = side * (0.05 + 0.16 * share);
    const head = wide * 1.5 + side * 0.06;
    const [tx, ty] = [x1 - dx * side * 0.08, y1 - dy * side * 0.08];
    const [bx, by] = [tx - dx * head * 1.4, ty - dy * head * 1.4];
    const point = (x, y, across) => `${(x - dy * across).toFixed(1)} ${(y + dx * across).toFixed(1)}`;
    const points = [point(x0, y0, wide / 2), point(bx, by, wide / 2), point(bx, by, head), point(tx, ty, 0),
      point(bx, by, -head), point(bx, by, -wide / 2), point(x0, y0, -wide / 2)].join(" ");
    const arrow = painted(draw("polygon", { points }), "var(--thought)", "var(--thought-edge)", 1.2);
    arrow.style.opacity = 0.45 + 0.5 * share;
    arrow.style.strokeLinejoin = "round";
    overlay.append(arrow);
  }

  function drawShade(cell, share) {
    const [x, y, side] = middle(cell);
    overlay.append(painted(draw("circle", { cx: x, cy: y, r: side * (0.08 + 0.34 * Math.sqrt(share)) }), "var(--thought)", "var(--thought-edge)", 1.2));
    if (side >= 34 && share >= 0.03) {
      const text = painted(draw("text", { x, y, dy: "0.35em", "text-anchor": "middle", class: "share" }), "var(--thought-text)");
      text.style.fontSize = `${Math.min(15, side * 0.24)}px`;
      text.textContent = share >= 0.995 ? "100" : `${Math.round(share * 100)}`;
      overlay.append(text);
    }
  }

  function drawThought(thought) {
    const known = thought.actions.filter(([, , cells]) => cells && cells.length);
    if (show.arrows) {
      const likely = known.filter(([, share]) => share >= 0.01).slice(0, 8);
      for (const [, share, cells] of likely.reverse()) drawArrow(cells, share);
      return;
    }
    const shares = new Map();
    for (const [, share, cells] of known) for (const cell of cells) shares.set(cell, (shares.get(cell) || 0) + share);
    for (const [cell, share] of shares) if (share >= 0.002) drawShade(cell, share);
  }

  coterie.views.board = {
    mount(element, theShow, theApi) {
      [show, api, made] = [theShow, theApi, []];
      picture = draw("svg", { viewBox: `0 0 ${show.width} ${show.height}`, role: "img", class: show.themed ? "board" : "board as-drawn" });
      shapes = draw("g");
      overlay = draw("g", { class: "overlay" });
      picture.append(shapes, overlay);
      plain = make("pre", { class: "plain-board", tabindex: "0" });
      element.replaceChildren(picture, plain);
      element.style.setProperty("--aspect", show.width / show.height);
    },
    draw(k) {
      const frame = show.frames[k];
      picture.toggleAttribute("hidden", !frame.picture);
      plain.hidden = Boolean(frame.picture);
      plain.textContent = frame.picture ? "" : coterie.visible(frame.text);
      shapes.replaceChildren(...elements(frame.picture || []));
      overlay.replaceChildren();
      drawLast(frame);
      const thought = coterie.thought && coterie.thought(frame);
      if (thought) drawThought(thought);
      picture.setAttribute("aria-label", `${show.title}: ${frame.text || ""}`.slice(0, 2000));
    },
  };
})();
