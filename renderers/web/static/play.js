// A game that people play in this page. The server holds it; every message of the server shows all of it anew.
"use strict";

(() => {
  const { draw, make, visible } = coterie;
  const MANY = 48; // if more cells than this can be clicked, they are not marked

  // From clicks on cells to an action, as renderers/picking.py has it.
  class Picker {
    constructor(cells) {
      this.paths = Object.entries(cells).filter(([, path]) => path.length).map(([action, path]) => [Number(action), path]);
      this.buttons = Object.entries(cells).filter(([, path]) => !path.length).map(([action]) => Number(action));
      this.chosen = [];
    }
    following(begun, whole = false) {
      return this.paths.filter(([, path]) => (path.length > begun.length || whole) && begun.every((cell, k) => path[k] === cell));
    }
    targets() { return new Set(this.following(this.chosen).map(([, path]) => path[this.chosen.length])); }
    starts() { return new Set(this.paths.map(([, path]) => path[0])); }
    get moving() { return this.paths.some(([, path]) => path.length > 1); }
    click(cell) {
      const longer = [...this.chosen, cell];
      if (this.chosen.length && cell === this.chosen.at(-1) && !this.following(longer, true).length) {
        this.chosen = [];
        return [];
      }
      for (const tried of [longer, [cell]]) {
        const following = this.following(tried, true);
        if (!following.length) continue;
        const decided = following.filter(([, path]) => path.length === tried.length).map(([action]) => action);
        this.chosen = decided.length ? [] : tried;
        return decided;
      }
      this.chosen = [];
      return [];
    }
  }

  coterie.pages.play = function (element, show) {
    let data, picker = new Picker({}), rules = "", guests = [];
    let pressed = null, ghost = null, hover = null, came = -1, drawn = [], takenAt = 0;

    // -- the page ----------------------------------------------------------------------------------------------------
    const seats = make("ul", { class: "seats", "aria-label": "Players" });
    const asks = coterie.helpButton("Keys and rules (?)", () => help.showModal());
    const themes = coterie.themeButton();
    const header = make("header", {}, make("div", { class: "name" }, make("h1", {}, visible(show.title)), make("span", { class: "id" }, show.game)),
      seats, make("div", { class: "tools" }, themes, asks));
    const picture = draw("svg", { class: "board", role: "img" });
    const shapes = draw("g"), marks = draw("g", { class: "marks" }), above = draw("g");
    picture.append(shapes, above);
    const plain = make("pre", { class: "plain-board", tabindex: "0" });
    const cover = make("button", { type: "button", class: "cover", onclick: () => send({ do: "uncover" }) });
    const chooser = make("div", { class: "chooser", role: "dialog", "aria-label": "Which?", hidden: true });
    const stage = make("section", { class: "stage playing", "aria-label": "Position" }, picture, plain, cover, chooser);
    const status = make("p", { class: "status", role: "status", "aria-live": "polite" });
    const alarm = make("p", { class: "alarm", role: "alert" });
    const note = make("p", { class: "fact", role: "status" });
    const actions = make("div", { class: "buttons", role: "group", "aria-label": "Actions" });
    const controls = make("div", { class: "buttons", role: "group", "aria-label": "Controls" });
    const said = make("ol", { class: "conversation small", tabindex: "0", "aria-label": "Messages" });
    const message = make("input", { type: "text", class: "entry", autocomplete: "off", "aria-label": "Message", placeholder: "Say something if you like, then choose an action" });
    const typed = make("input", { type: "text", class: "entry", autocomplete: "off", spellcheck: "false" });
    const moves = make("ol", { class: "moves" });
    const words = make("pre", { class: "words", tabindex: "0", "aria-label": "Position in words" });
    const ruled = make("p", {});
    const table = coterie.table({ take, tell, lost: () => { picker = new Picker({}); } });
    const { send } = table, tooSoon = coterie.repeats();
    const files = make("div", { class: "buttons", role: "group", "aria-label": "Files" });
    const sayForm = make("form", { class: "say" }, typed, make("button", { class: "plain" }, "Play"));
    const talkPart = make("section", { "aria-label": "Messages" }, make("h2", {}, "Messages"), said, message);
    const movesPart = make("section", { class: "grow", "aria-label": "Moves" }, make("h2", {}, "Moves"), moves);
    const side = make("aside", { "aria-label": "Game" }, status, alarm, note, actions, sayForm, controls, talkPart, movesPart, files, table.file,
      fold("Position in words", words), fold("Rules", ruled));
    element.replaceChildren(header, make("main", {}, stage, side));
    element.classList.add("whole");
    const newGame = make("dialog", { "aria-label": "New game" });
    const help = make("dialog", { "aria-label": "Keys" });
    element.append(newGame, help);

    function fold(title, child) {
      return make("details", {}, make("summary", {}, title), child);
    }

    function act(action) {
      chooser.hidden = true;
      send({ do: "act", version: data.version, action, text: data.talk ? message.value : "" });
    }

    function tell(...parts) {
      alarm.replaceChildren(...parts);
    }

    function take(sent) {
      if (sent.session) {
        [rules, guests] = [sent.rules, sent.guests];
        ruled.textContent = visible(rules);
        fillHelp();
      }
      const other = !data || sent.version !== data.version || sent.cover !== data.cover || sent.seat !== data.seat;
      data = sent;
      takenAt = performance.now();
      if (other || data.over) {
        picker = new Picker(data.cells || {});
        chooser.hidden = true;
        pressed = null;
      }
      if (other && came !== data.version) {
        if (came >= 0 && data.talk) message.value = data.note ? message.value : "";
        if (came >= 0 && data.words && !data.note) typed.value = "";
        came = data.version;
      }
      render();
    }

    // -- what is shown -----------------------------------------------------------------------------------------------
    function render() {
      document.title = `${data.over ? "" : data.seat != null ? "● " : ""}${show.title}`;
      status.textContent = visible(data.status);
      status.classList.toggle("ending", data.over);
      alarm.replaceChildren(data.failed ? `An opponent could not move. ${visible(data.failed)}` : "");
      const offer = data.offered != null ? `${data.seats[data.offered].name} offers a draw.` : "";
      const hint = data.hint ? `${data.hint.by} would play ${data.hint.text}.` : "";
      note.textContent = visible([data.note, offer, hint, data.busy && data.seat != null && !data.hint ? "Thinking …" : ""].filter(Boolean).join(" "));
      seats.replaceChildren(...(data.seats.length > 8 ? [] : data.seats.map((seat, p) => make("li", { "aria-current": data.active.includes(p) ? "true" : null },
        coterie.disc(seat.color), make("span", { class: "who" }, seat.name), make("bdi", { class: "player" }, visible(seat.player)),
        data.clock.length ? make("span", { class: "clock" }, time(p)) : null,
        data.returns.some(Boolean) ? make("span", { class: "score" }, String(Number(data.returns[p].toFixed(2))).replace("-", "−")) : null))));
      cover.hidden = !data.cover;
      cover.textContent = data.cover;
      const pictured = !data.cover && data.picture;
      picture.toggleAttribute("hidden", !pictured);
      plain.hidden = Boolean(data.cover || pictured);
      if (pictured) renderBoard();
      else plain.textContent = visible(data.text || "");
      if (data.cover) for (const part of [shapes, marks, above]) part.replaceChildren();
      words.textContent = visible(data.text || "");
      words.parentElement.hidden = !pictured;
      renderActions();
      renderControls();
      talkPart.hidden = !data.talk;
      if (data.talk) {
        message.maxLength = data.talk;
        message.disabled = data.seat == null;
        said.replaceChildren(...(data.said || []).map(([p, text]) => make("li", {}, coterie.disc(data.seats[p].color),
          make("span", { class: "who" }, data.seats[p].name), " ", coterie.long(text, 500))));
        said.scrollTop = said.scrollHeight;
      }
      renderMoves();
    }

    function time(seat) {
      const gone = data.running && data.active.includes(seat) ? (performance.now() - takenAt) / 1000 : 0;
      const whole = Math.ceil(Math.max(0, data.clock[seat] - gone));
      const two = (number) => String(number).padStart(2, "0");
      const minutes = Math.floor(whole / 60);
      return minutes < 60 ? `${minutes}:${two(whole % 60)}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
    }

    setInterval(() => {
      if (data && data.running) seats.querySelectorAll(".clock").forEach((shown, seat) => { shown.textContent = time(seat); });
    }, 250);

    function renderBoard() {
      picture.setAttribute("viewBox", `0 0 ${data.width} ${data.height}`);
      picture.classList.toggle("as-drawn", !data.themed);
      picture.setAttribute("aria-label", `${show.title}: ${data.text}`.slice(0, 2000));
      stage.style.setProperty("--aspect", data.width / data.height);
      ghost = null;
      drawn = coterie.shapes(data);
      const pieces = data.picture.findIndex((n) => data.shapes[n][0] === "g"); // marks lie below them
      shapes.replaceChildren(...drawn);
      shapes.insertBefore(marks, pieces < 0 ? null : drawn[pieces]);
      mark();
    }

    function box(cell, attributes, inset = 0) {
      const [x, y, w, h] = data.boxes[cell];
      return draw("rect", { x: x + inset, y: y + inset, width: w - 2 * inset, height: h - 2 * inset, rx: Math.min(w, h) * 0.1, ...attributes });
    }

    function spot(cell, kind) {
      const [x, y, w, h] = data.boxes[cell];
      const side = Math.min(w, h), long = h > 1.7 * w; // a column, with its marks at the upper end
      const cy = long ? y + side / 2 : kind === "pip" ? y + h * 0.84 : y + h / 2;
      return draw("circle", { cx: x + w / 2, cy, r: side * { dot: 0.13, pip: 0.055, ring: 0.43 }[kind], class: `mark-${kind}` });
    }

    function taken(cell) {
      const [x, y, w, h] = data.boxes[cell];
      return data.picture.some((n) => {
        const shape = data.shapes[n];
        if (shape[0] !== "g" && shape[0] !== "c") return false;
        const [cx, cy] = shape[0] === "g" ? [shape[1] + 50 * shape[3], shape[2] + 50 * shape[3]] : [shape[1], shape[2]];
        return Math.abs(cx - x - w / 2) < 0.2 * w && Math.abs(cy - y - h / 2) < 0.2 * h;
      });
    }

    function mark() {
      const parts = [], tops = [];
      const targets = picker.targets();
      if (!data.marks_last) for (const cell of new Set(data.last)) parts.push(box(cell, { class: "mark-last" }, 2));
      for (const cell of picker.chosen) parts.push(box(cell, { class: "mark-chosen" }));
      if (hover != null && (targets.has(hover) || picker.starts().has(hover))) parts.push(box(hover, { class: "mark-shine" }));
      if (data.hint) for (const cell of data.hint.cells) tops.push(box(cell, { class: "mark-hint" }, 3));
      if (picker.chosen.length) for (const cell of targets) tops.push(spot(cell, taken(cell) ? "ring" : "dot"));
      else if (!picker.moving && targets.size <= MANY) for (const cell of targets) parts.push(spot(cell, "pip"));
      marks.replaceChildren(...parts);
      above.replaceChildren(...tops);
      picture.classList.toggle("can", hover != null && (targets.has(hover) || picker.starts().has(hover)));
    }

    function renderActions() {
      const buttons = data.cover ? [] : picker.buttons;
      actions.hidden = !buttons.length;
      coterie.fill(actions, [data.version, buttons], () => buttons.map((action) =>
        make("button", { type: "button", class: "plain action", onclick: () => act(action) }, visible(data.labels[action]))));
      const typing = data.words || picker.paths.length > 0;
      sayForm.hidden = Boolean(data.cover) || data.seat == null || !typing;
      typed.setAttribute("aria-label", data.words ? "Your message" : "Type a move");
      typed.placeholder = data.words ? "Your message" : `Type a move, such as ${visible(Object.values(data.labels || {})[0] || "")}`;
      sayForm.lastChild.textContent = data.words ? "Say" : "Play";
    }

    function renderControls() {
      coterie.fill(controls, data.controls, () => data.controls.map(([name, label]) =>
        make("button", { type: "button", class: `plain control-${name}`, onclick: () => control(name) }, label)));
      const formats = data.cover ? [] : data.formats;
      coterie.fill(files, formats, () => table.files(formats));
    }

    function renderMoves() {
      movesPart.hidden = data.words;
      if (data.cover) return moves.replaceChildren();
      const rows = [];
      for (const { seat, text } of data.moves || []) {
        if (!rows.length || data.seats.length > 2 || seat <= rows.at(-1).at(-1).seat) rows.push([]);
        rows.at(-1).push({ seat, text });
      }
      moves.replaceChildren(...rows.map((row, k) => make("li", { class: data.seats.length === 2 ? "pair" : "" },
        make("span", { class: "number", "aria-hidden": "true" }, `${k + 1}`),
        row[0].seat === 1 && data.seats.length === 2 ? make("span", {}, "…") : null,
        row.map(({ seat, text }) => make("bdi", { title: data.seats[seat].name }, data.seats.length > 2 ? `${data.seats[seat].name}: ` : "", visible(text))))));
      moves.scrollTop = moves.scrollHeight;
    }

    // -- the mouse, a finger -----------------------------------------------------------------------------------------
    function at(event) {
      const matrix = picture.getScreenCTM();
      return matrix ? new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse()) : { x: -1, y: -1 };
    }

    function cellAt({ x, y }) {
      let found = null, near = Infinity;
      (data.boxes || []).forEach(([left, top, w, h], cell) => {
        if (x < left || x >= left + w || y < top || y >= top + h) return;
        const far = ((x - left) / w - 0.5) ** 2 + ((y - top) / h - 0.5) ** 2;
        if (far < near) [found, near] = [cell, far];
      });
      return found;
    }

    function click(cell) {
      chooser.hidden = true;
      const decided = cell == null ? (picker.chosen = [], []) : picker.click(cell);
      if (decided.length === 1) act(decided[0]);
      else if (decided.length > 1) choose(decided);
      mark();
    }

    function choose(decided) {
      chooser.replaceChildren(...decided.map((action) => make("button", { type: "button", class: "plain", onclick: () => act(action) }, visible(data.labels[action]))),
        make("button", { type: "button", class: "plain", onclick: () => { chooser.hidden = true; } }, "Cancel"));
      chooser.hidden = false;
      chooser.firstChild.focus();
    }

    // The drawn piece in a cell: the last group whose middle lies there.
    function piece(cell) {
      const [x, y, w, h] = data.boxes[cell];
      let found = null;
      data.picture.forEach((n, k) => {
        const [kind, left, top, scale] = data.shapes[n];
        if (kind === "g" && left + 50 * scale >= x && left + 50 * scale < x + w && top + 50 * scale >= y && top + 50 * scale < y + h) found = { element: drawn[k], scale };
      });
      return found;
    }

    picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !data || data.cover) return;
      pressed = cellAt(at(event));
      const before = picker.chosen.length;
      click(pressed);
      if (pressed != null && picker.chosen.at(-1) === pressed && (picker.chosen.length > before || before)) {
        ghost = picker.moving ? piece(pressed) : null;
        picture.setPointerCapture(event.pointerId);
        event.preventDefault();
      }
    });
    picture.addEventListener("pointermove", (event) => {
      if (!data) return;
      const point = at(event), cell = cellAt(point);
      if (ghost) {
        shapes.append(ghost.element);
        ghost.element.setAttribute("transform", `translate(${point.x - 50 * ghost.scale} ${point.y - 50 * ghost.scale}) scale(${ghost.scale})`);
        ghost.element.classList.add("dragged");
      }
      if (cell !== hover) { hover = cell; mark(); }
    });
    picture.addEventListener("pointerup", (event) => {
      if (!data) return;
      const begun = pressed, cell = cellAt(at(event));
      pressed = null;
      if (begun != null && picker.chosen.at(-1) === begun && cell !== begun) {
        if (cell != null && picker.targets().has(cell)) click(cell);
        else picker.chosen = [];
      }
      if (ghost && data.picture) renderBoard();
      else mark();
    });
    picture.addEventListener("pointercancel", () => { pressed = null; if (ghost) renderBoard(); });
    picture.addEventListener("pointerleave", () => { hover = null; if (data && data.picture) mark(); });

    sayForm.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!data) return;
      const text = typed.value.trim();
      if (data.words) return send({ do: "say", version: data.version, text: typed.value });
      const found = Object.entries(data.labels).filter(([, label]) => label.toLowerCase() === text.toLowerCase());
      const exact = found.find(([, label]) => label === text) || (found.length === 1 ? found[0] : null);
      if (!exact) return tell(`${visible(text)} is not possible now. Possible: ${visible(Object.values(data.labels).slice(0, 20).join(", "))}${Object.keys(data.labels).length > 20 ? ", …" : ""}`);
      typed.value = "";
      act(Number(exact[0]));
    });
    message.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); tell("Choose an action; your message goes with it."); }
    });

    // -- controls ----------------------------------------------------------------------------------------------------
    function control(name) {
      if (name === "new") return askNew();
      send({ do: name });
    }

    function askNew() {
      const listId = "coterie-guests";
      const inputs = data.seats.map((seat, p) => make("input", { type: "text", list: listId, value: data.players[p], "aria-label": seat.name, spellcheck: "false" }));
      const few = inputs.length <= 8;
      const form = make("form", { method: "dialog" }, make("h2", {}, "New game"),
        few ? make("div", { class: "guests" }, inputs.map((input, p) => make("label", {}, make("span", {}, coterie.disc(data.seats[p].color), ` ${data.seats[p].name}`), input))) : null,
        make("datalist", { id: listId }, guests.map((guest) => make("option", { value: guest }))),
        make("p", { class: "fact" }, "human sits here; the others are players, such as random, mcts:400 or those that the command named."),
        make("div", { class: "buttons" }, make("button", { class: "plain", value: "begin" }, "Begin"), make("button", { class: "plain", value: "" }, "Cancel")));
      newGame.replaceChildren(form);
      newGame.onclose = () => { if (newGame.returnValue === "begin") send({ do: "new", players: inputs.map((input) => input.value.trim()) }); };
      newGame.returnValue = "";
      newGame.showModal();
    }

    const KEYS = { u: "undo", Backspace: "undo", f: "flip", n: "new", i: "hint", " ": "pause", ArrowRight: "step", "+": "faster", "-": "slower" };
    function fillHelp() {
      const told = [["click, drag", "choose a cell; drag a piece to another cell"], ["Esc", "choose nothing"], ["u", "undo"], ["i", "hint"], ["f", "flip the board"],
        ["n", "new game"], ["d", "dark or light"], ["h, ?", "this"]];
      help.replaceChildren(make("h2", {}, show.goal ? visible(show.goal) : "Keys"),
        coterie.keyList(told),
        make("details", {}, make("summary", {}, "Rules"), make("p", {}, visible(rules))),
        make("form", { method: "dialog" }, make("button", { class: "plain" }, "Close")));
    }

    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (event.target.matches("input, textarea, select")) return;
      if (event.key === "Escape") { picker.chosen = []; chooser.hidden = true; if (data && data.picture) mark(); return; }
      if (event.key === "?" || event.key === "h") { event.preventDefault(); help.showModal(); return; }
      if (event.key === "d") return themes.click();
      if (event.key === " " && event.target.matches("button, summary, a")) return;
      const name = KEYS[event.key];
      if (!data || !data.controls.some(([known]) => known === name)) return;
      event.preventDefault();
      if (!tooSoon(event)) control(name);
    });

    return { take };
  };
})();
