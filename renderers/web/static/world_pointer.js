// Mouse and fingers on a gridworld's map: drag, pinch, the wheel, clicks, the minimap.
"use strict";

// on: {ready(), scale(), cell(), zoom(factor, x, y), pan(x, y), jump(x, y), choose(x, y)}, in pixels of the canvas.
coterie.worldPointer = function (map, on) {
  const fingers = new Map();
  let moved = 0, pinch = 1, inMinimap = false;

  function spot(event) {
    const area = map.getBoundingClientRect();
    return [(event.clientX - area.left) * on.scale(), (event.clientY - area.top) * on.scale()];
  }

  function pressed(event) {
    if (event.button !== 0) return;
    map.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, spot(event));
    moved = fingers.size > 1 ? 99 : 0;
    inMinimap = fingers.size === 1 && on.jump(...spot(event));
  }

  function dragged(event) {
    const old = fingers.get(event.pointerId);
    if (!old) return;
    const now = spot(event);
    if (inMinimap) return void on.jump(...now);
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    fingers.set(event.pointerId, now);
    if (others.length) {
      const [other] = others;
      const apart = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]);
      pinch *= apart(now) / Math.max(1, apart(old));
      if (Math.round(on.cell() * pinch) !== on.cell()) {
        on.zoom(pinch, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
        pinch = 1;
      }
      return;
    }
    moved += Math.hypot(now[0] - old[0], now[1] - old[1]);
    if (moved >= 4 * on.scale()) on.pan(now[0] - old[0], now[1] - old[1]);
  }

  function released(event) {
    const at = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    pinch = 1;
    if (at && moved < 4 * on.scale() && !inMinimap && event.type === "pointerup") on.choose(...at);
  }

  for (const [kind, run] of [["pointerdown", pressed], ["pointermove", dragged], ["pointerup", released], ["pointercancel", released]]) {
    map.addEventListener(kind, (event) => { if (on.ready()) run(event); });
  }
  map.addEventListener("wheel", (event) => { event.preventDefault(); if (on.ready() && event.deltaY) on.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, ...spot(event)); }, { passive: false });
};
