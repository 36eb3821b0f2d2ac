// What a model thinks before it acts: a bar for every legal action, the entropy, the value, and a slider through its training.
"use strict";

(() => {
  const { make } = coterie;
  let show, api, body, seat = 0, past = 0; // past: how many checkpoints back; 0 is the player itself

  // The thought of a frame that is chosen in the panel, for the board.
  coterie.thought = (frame) => {
    const all = frame.thoughts || [];
    const own = all.find((one) => one.seat === seat) || all[0];
    if (!own) return null;
    const earlier = own.earlier || [];
    return past && earlier.length ? { ...own, ...earlier[Math.max(0, earlier.length - past)], own } : { ...own, own };
  };

  const percent = (share) => (share >= 0.9995 ? "100 %" : share >= 0.0995 ? `${(share * 100).toFixed(0)} %` : `${(share * 100).toFixed(1)} %`);

  function bars(thought, next) {
    const list = make("ol", { class: "bars", tabindex: "0", "aria-label": "Probabilities of the legal actions" });
    const most = Math.max(...thought.actions.map(([, share]) => share), 1e-9);
    for (const [text, share] of thought.actions) {
      const chosen = next != null && text === next;
      const bar = make("span", { class: "bar", "aria-hidden": "true" });
      bar.style.inlineSize = `${(100 * share) / most}%`;
      list.append(make("li", { class: chosen ? "chosen" : "" },
        make("bdi", { class: "action" }, coterie.visible(text)), make("span", { class: "track" }, bar),
        make("span", { class: "percent" }, percent(share)), chosen ? make("span", { class: "unseen" }, ", played") : null));
    }
    return list;
  }

  // For the pages of worlds: {actions: [[text, share], ...] likeliest first, entropy, own: {legal}}, and what was done.
  coterie.thoughtParts = (thought, next) => [facts(thought), bars(thought, next)];

  function whose({ own, name, seat: one }) {
    const { name: seatName, player } = show.seats[one];
    const who = own.who && own.who !== player ? `${own.who} for ${seatName}` : api.seat(one);
    return name ? `${who}, ${name}` : who;
  }

  function facts(thought) {
    const most = Math.log(Math.max(thought.own.legal, 1));
    const of = most > 0 ? `${Math.round((100 * thought.entropy) / most)} % of ${most.toFixed(2)}` : "";
    const list = make("dl", { class: "facts" },
      make("dt", {}, "Entropy"), make("dd", { title: "share of the entropy of a uniform choice" }, `${thought.entropy.toFixed(2)} nats`, of ? make("span", { class: "fact" }, ` ${of}`) : null));
    if (thought.own.value != null) {
      list.append(make("dt", {}, "Value"), make("dd", {}, `${Number(thought.own.value.toFixed(3))}`.replace("-", "−"), make("span", { class: "fact" }, ` ${thought.own.value_of}`)));
    }
    return list;
  }

  // What a seat did next, as text.
  function played(frame, one) {
    if (!frame) return null;
    if (frame.moves) return frame.moves[one];
    if (frame.move) return frame.by === one ? frame.move : null;
    return ((frame.said || []).find(([speaker]) => speaker === one) || [])[1];
  }

  coterie.panels.push({
    title: "What the model thinks",
    wanted: (theShow) => theShow.frames.some((frame) => (frame.thoughts || []).length),
    mount(element, theShow, theApi) { [show, api, body] = [theShow, theApi, element]; },
    draw(k) {
      const frame = show.frames[k];
      const thought = coterie.thought(frame);
      const focused = document.activeElement && body.contains(document.activeElement) ? document.activeElement.getAttribute("data-control") : null;
      if (!thought) {
        body.replaceChildren(make("p", { class: "fact" }, frame.status ? "The game is over." : "Nobody who was asked moves here."));
        return;
      }
      const parts = [];
      if (frame.thoughts.length > 1) {
        const choice = make("select", { "aria-label": "Whose thoughts", "data-control": "seat", onchange: () => { seat = Number(choice.value); api.redraw(); } },
          frame.thoughts.map((one) => make("option", { value: one.seat, selected: one.seat === thought.seat }, api.seat(one.seat))));
        parts.push(choice);
      }
      const earlier = thought.own.earlier || [];
      parts.push(make("p", { class: "whose" }, coterie.disc(show.seats[thought.seat].color), coterie.visible(whose(thought))));
      if (earlier.length) {
        past = Math.min(past, earlier.length);
        const named = past ? earlier[earlier.length - past].name : "now";
        const slider = make("input", { type: "range", min: 0, max: earlier.length, step: 1, value: earlier.length - past, "data-control": "past",
          "aria-label": "Checkpoint", "aria-valuetext": named, oninput: () => { past = earlier.length - Number(slider.value); api.redraw(); } });
        parts.push(make("label", { class: "training" }, make("span", {}, "Training"), slider, make("span", { "aria-hidden": "true" }, named)));
      }
      const next = thought.own.chosen ?? played(show.frames[k + 1], thought.seat);
      parts.push(facts(thought), bars(thought, next));
      body.replaceChildren(...parts);
      if (focused) body.querySelector(`[data-control=${focused}]`)?.focus();
    },
  });
})();
