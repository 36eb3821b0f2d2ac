// Conversations: every message up to now, who said it, what it was paid; thoughts and prompts are folded.
"use strict";

(() => {
  const { make } = coterie;
  let show, api, list, end, entries;

  function entry(k) {
    const frame = show.frames[k];
    const parts = (frame.said || []).map(([seat, message, more = {}]) => {
      const color = seat == null ? "var(--faint)" : show.seats[seat].color;
      const rewards = frame.rewards || [];
      const paid = more.reward ?? (frame.said.length === 1 || !frame.said.length ? rewards[seat] : rewards[seat]);
      const bubble = make("article", { class: `message seat-${(seat ?? 0) % 2}`, "aria-label": `${seat == null ? "" : show.seats[seat].name} says` },
        make("header", {}, coterie.disc(color),
          make("span", { class: "who" }, coterie.visible(more.who ?? (seat == null ? "" : show.seats[seat].name))),
          seat != null && show.seats[seat].player !== show.seats[seat].name ? make("bdi", { class: "player" }, coterie.visible(show.seats[seat].player)) : null,
          paid ? make("span", { class: "reward" }, `reward ${Number(paid.toFixed(3))}`.replace("-", "−")) : null,
          more.logprob != null ? make("span", { class: "fact", title: "log-probability of the whole message" }, `${more.logprob.toFixed(1)} nats`.replace("-", "−")) : null),
        more.thinking ? make("details", { class: "thinking" }, make("summary", {}, "Thinking"), make("div", { class: "text" }, coterie.long(more.thinking))) : null,
        make("div", { class: "text" }, coterie.long(message)),
        more.prompt ? make("details", { class: "thinking" }, make("summary", {}, "What it was shown"), make("div", { class: "text" }, coterie.long(more.prompt))) : null);
      bubble.style.setProperty("--seat", color);
      return bubble;
    });
    if (frame.note) parts.unshift(make("p", { class: "note" }, coterie.visible(frame.note)));
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
