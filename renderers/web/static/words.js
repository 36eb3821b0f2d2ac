// Conversations: every message up to now, who said it, what it was paid; thoughts and prompts are folded.
"use strict";

(() => {
  const { make } = coterie;
  let show, api, list, end, entries;

  function fact(name, value) {
    return value ? make("span", {}, `${name} ${value > 0 ? "+" : "\u2212"}${Math.abs(Number(value.toFixed(3)))}`) : null;
  }

  function fold(title, text) {
    return text ? make("details", {}, make("summary", {}, title), make("div", { class: "text folded" }, coterie.long(text))) : null;
  }

  function entry(k) {
    const frame = show.frames[k];
    const parts = (frame.said || []).map(([seat, message, more = {}]) => {
      const color = seat == null ? "var(--faint)" : show.seats[seat].color;
      const paid = more.reward ?? (frame.rewards || [])[seat];
      const one = show.seats[seat] || { name: "", player: "" };
      const bubble = make("article", { class: "message", "aria-label": `${one.name} says` },
        make("header", {}, coterie.disc(color), make("span", { class: "who" }, coterie.visible(one.name)),
          one.player !== one.name ? make("bdi", { class: "player" }, coterie.visible(one.player)) : null,
          make("span", { class: "numbers" }, fact("reward", paid), fact("advantage", more.advantage))),
        fold("Thinking", more.thinking), make("div", { class: "text" }, coterie.long(message)), fold("What it was shown", more.prompt));
      bubble.style.setProperty("--seat", color);
      return bubble;
    });
    if (frame.note) parts.unshift(make("p", { class: "note" }, coterie.long(frame.note, 600)));
    if (frame.status) parts.push(make("p", { class: "note ending" }, coterie.visible(frame.status)));
    return make("li", {}, parts);
  }

  coterie.views.words = {
    mount(element, theShow, theApi) {
      [show, api, entries] = [theShow, theApi, []];
      list = make("ol", { class: "conversation", tabindex: "0", "aria-label": "Conversation" });
      element.classList.add("talk");
      element.replaceChildren(list);
    },
    draw(k) {
      while (entries.length <= k) {
        entries.push(entry(entries.length));
        list.append(entries[entries.length - 1]);
      }
      entries.forEach((one, n) => { one.hidden = n > k; one.toggleAttribute("data-now", n === k); });
      const now = entries[k];
      list.scrollTop = k === 0 ? 0 : Math.max(0, Math.min(now.offsetTop - list.offsetTop - 12, list.scrollHeight));
    },
  };

  // Transcripts of many episodes: where each begins.
  let places;
  coterie.panels.push({
    title: "Episodes",
    wanted: (theShow) => (theShow.sections || []).length > 1,
    mount(element, theShow, theApi) {
      places = theShow.sections.map(([title, k]) => ({ k, button: make("button", { type: "button", onclick: () => { theApi.play(false); theApi.seek(k); } }, coterie.visible(title)) }));
      element.append(make("ol", { class: "moves sections" }, places.map(({ button }) => make("li", {}, button))));
    },
    draw(k) {
      const now = places.findLast((place) => place.k <= k);
      for (const place of places) place.button.toggleAttribute("aria-current", place === now);
      if (now) now.button.setAttribute("aria-current", "true");
    },
  });

  // Beside a board: what else a player wrote with its last action, or what a file says about it.
  let written;
  coterie.panels.push({
    title: "Comment",
    wanted: (theShow) => theShow.frames.some((frame) => frame.comment && (frame.comment[0] || frame.comment[1])),
    mount(element, theShow, theApi) { [show, written] = [theShow, element]; },
    draw(k) {
      const [text, more = {}] = show.frames[k].comment || [""];
      written.parentElement.hidden = !text && !more.thinking;
      written.replaceChildren(...[make("div", { class: "text folded" }, coterie.long(text)), fold("Thinking", more.thinking)].filter(Boolean));
    },
  });

  // Beside a board, in games with talk: the messages so far.
  let said;
  coterie.panels.push({
    title: "Conversation",
    wanted: (theShow) => theShow.kind === "board" && theShow.frames.some((frame) => (frame.said || []).length),
    mount(element, theShow, theApi) {
      [show, api] = [theShow, theApi];
      said = make("ol", { class: "conversation small", tabindex: "0", "aria-label": "Messages so far" });
      element.append(said);
    },
    draw(k) {
      said.replaceChildren(...show.frames.slice(0, k + 1).flatMap((frame) => (frame.said || []).map(([seat, message]) =>
        make("li", {}, coterie.disc(show.seats[seat].color), make("span", { class: "who" }, show.seats[seat].name), " ", coterie.long(message, 500)))));
      said.scrollTop = said.scrollHeight;
    },
  });
})();
