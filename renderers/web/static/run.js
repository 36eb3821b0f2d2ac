// Runs: curves, evaluations, ratings, payoffs, lineages, samples, settings; one run, or several against each other.
"use strict";

(() => {
  const { draw, make, visible } = coterie;
  const EVERY = 2000; // milliseconds between questions to the server
  const FIRST = ["reward", "win", "draw", "loss_share", "illegal", "entropy", "approx_kl", "loss", "policy_loss", "grad_norm",
    "explained_variance", "learning_rate", "pass_rate", "score"];
  const EVALUATED = ["win", "draw", "loss", "score", "solved", "sampled", "reward", "exploitability", "nash_conv"];
  const COLORS = ["var(--first)", "var(--second)", "var(--third)", "var(--fourth)", "var(--accent)", "var(--fifth)", "var(--sixth)"];
  const WIDTH = 380, HEIGHT = 210, LEFT = 52, BOTTOM = 24, TOP = 10, RIGHT = 10;

  coterie.pages.run = function (element, show) {
    const runs = show.runs.map((run) => ({ rows: 0, stride: 0, stamp: 0, points: {}, evaluations: [], last: {}, facts: {}, skipped: { count: 0, lines: [] }, ...run }));
    const several = runs.length > 1;
    const setting = { x: "update", smooth: 0.6, log: false, seek: "" };
    const open = new Set();

    // -- the page ----------------------------------------------------------------------------------------------------
    const live = make("span", { class: "id", role: "status" });
    const themes = coterie.themeButton();
    const names = make("ul", { class: "seats", "aria-label": "Runs" }, runs.map((run, k) => make("li", {},
      several ? coterie.disc(COLORS[k % COLORS.length]) : null, make("span", { class: "who" }, visible(run.name)))));
    const header = make("header", {}, make("div", { class: "name" }, make("h1", {}, several ? "Runs" : "Run"), live), names, make("div", { class: "tools" }, themes, coterie.helpButton("Help (?)", () => help.showModal())));
    const help = make("dialog", { "aria-label": "Help" }, make("h2", {}, "Help"), make("p", {}, "Curves show every figure of metrics.jsonl; point at one to read its values." + (show.live ? " The page looks for news by itself." : "")),
      coterie.keyList([["d", "dark or light"], ["h, ?", "this"]]), make("form", { method: "dialog" }, make("button", { class: "plain" }, "Close")));
    const axis = make("select", { "aria-label": "Horizontal axis", onchange: () => { setting.x = axis.value; charts(); } },
      make("option", { value: "update" }, "by update"), make("option", { value: "minutes" }, "by minute"));
    const smooth = make("input", { type: "range", min: 0, max: 0.98, step: 0.02, value: setting.smooth, "aria-label": "Smoothing", oninput: () => { setting.smooth = Number(smooth.value); charts(); } });
    const log = make("input", { type: "checkbox", onchange: () => { setting.log = log.checked; charts(); } });
    const seek = make("input", { type: "search", class: "entry", placeholder: "Find a curve", "aria-label": "Find a curve", oninput: () => { setting.seek = seek.value.trim().toLowerCase(); charts(); } });
    const tools = make("div", { class: "curve-tools", role: "group", "aria-label": "Curves" }, axis,
      make("label", {}, "smoothing ", smooth), make("label", {}, log, " log scale"), seek);
    const faults = make("div", { class: "alarm", role: "alert" });
    const curves = make("div", {}), rest = make("div", {});
    const report = make("div", { class: "report" }, faults, tools, curves, rest);
    element.replaceChildren(header, make("main", { class: "wide-main", tabindex: "-1" }, report), help);
    element.classList.add("whole");

    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea") || help.open) return;
      if (event.key === "d") themes.click();
      if (event.key === "h" || event.key === "?") help.showModal();
    });

    // -- what is new -------------------------------------------------------------------------------------------------
    function merge(run, sent) {
      const { points, first } = sent;
      if (Object.keys(points).length) {
        const kept = {};
        for (const [name, values] of Object.entries(points)) {
          const before = first ? (run.points[name] || []).slice(0, first) : [];
          while (before.length < first) before.push(null);
          kept[name] = before.concat(values);
        }
        run.points = kept;
      }
      for (const name of ["rows", "stride", "stamp", "skipped", "name"]) run[name] = sent[name];
      for (const name of ["evaluations", "last", "facts"]) if (sent[name]) run[name] = sent[name];
      return Object.keys(points).length > 0 || Boolean(sent.facts);
    }

    let failures = 0;
    async function ask() {
      let changed = false;
      try {
        for (const [k, run] of runs.entries()) {
          if (document.hidden && run.stamp) continue;
          const answer = await fetch(`run/${k}?rows=${run.rows}&stride=${run.stride}&stamp=${run.stamp}`);
          const sent = await answer.json();
          if (!answer.ok) throw new Error(sent.why);
          changed = merge(run, sent) || changed;
        }
        if (failures) changed = true;
        failures = 0;
      } catch (error) {
        failures += 1;
        live.textContent = "no connection to the server; trying again";
      }
      if (changed) all();
      setTimeout(ask, Math.min(30000, EVERY * 2 ** Math.min(failures, 4)));
    }

    function all() {
      live.textContent = runs.map((run) => `${run.rows.toLocaleString("en")} updates`).join(", ") + (show.live ? ", live" : "");
      faults.replaceChildren(...runs.flatMap((run) => [
        run.skipped.count ? make("p", {}, `${visible(run.name)}: ${run.skipped.count.toLocaleString("en")} lines of metrics.jsonl cannot be read and are left out (line ${run.skipped.lines.join(", ")}${run.skipped.count > run.skipped.lines.length ? ", …" : ""}).`) : null,
        run.skipped.full ? make("p", {}, `${visible(run.name)} has more figures than a page has room for; some are left out.`) : null,
        ...(run.facts.faults || []).map((fault) => make("p", {}, `${visible(run.name)}, ${visible(fault)}`)),
        run.facts.unread ? make("p", {}, `${visible(run.name)}: ${visible(run.facts.unread)}`) : null,
      ].filter(Boolean)));
      charts();
      coterie.fill(rest, runs.map(({ name, last, stamp }) => [name, last, stamp]), () =>
        [lastEvaluations(), ...runs.flatMap((run) => [ratings(run), payoff(run), lineage(run)]), ...runs.map(samples), players(), settings(), ending()].filter(Boolean));
    }

    function section(title, ...children) {
      return make("section", { "aria-label": title }, make("h2", {}, title), ...children);
    }

    // What is folded stays as the reader left it while the run grows.
    function fold(title, ...children) {
      const details = make("details", { open: open.has(title) }, make("summary", {}, title), ...children);
      details.addEventListener("toggle", () => { if (details.open) open.add(title); else open.delete(title); });
      return details;
    }

    function of(run, what) {
      return several ? `${what}: ${visible(run.name)}` : what;
    }

    function table(caption, head, rows) {
      return make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": caption }, make("table", {},
        make("thead", {}, make("tr", {}, head.map((one) => make("th", { scope: "col" }, one)))),
        make("tbody", {}, rows.map((row) => make("tr", row.attributes || {}, (row.cells || row).map((cell, k) => make(k ? "td" : "th", k ? {} : { scope: "row" }, cell ?? "")))))));
    }

    // -- curves ------------------------------------------------------------------------------------------------------
    function smoothed(values) {
      let mean = null, weight = 0;
      const keep = setting.smooth;
      return values.map((value) => {
        if (value == null) return null;
        mean = mean == null ? (1 - keep) * value : keep * mean + (1 - keep) * value;
        weight = keep * weight + (1 - keep);
        return mean / weight;
      });
    }

    function charts() {
      const found = new Map(); // name -> [{color, label, xs, ys}]
      runs.forEach((run, k) => {
        for (const [name, ys] of Object.entries(run.points)) {
          if (name === "update" || name === "minutes") continue;
          const plain = name.replace(/^task\//, "");
          const shown = plain in run.points ? name : plain;
          if (!found.has(shown)) found.set(shown, []);
          found.get(shown).push({ color: COLORS[(several ? k : 3) % COLORS.length], label: run.name, xs: run.points[setting.x] || [], ys, raw: true });
        }
      });
      const evaluated = evaluations();
      const fits = (name) => !setting.seek || name.toLowerCase().includes(setting.seek);
      const own = [...found.keys()].filter((name) => !name.includes("/") && fits(name));
      const first = own.filter((name) => FIRST.includes(name)).sort((a, b) => FIRST.indexOf(a) - FIRST.indexOf(b));
      const other = [...own.filter((name) => !FIRST.includes(name)), ...[...found.keys()].filter((name) => name.includes("/") && fits(name))];
      const grid = (list) => make("div", { class: "charts" }, list);
      const charted = (list) => list.map((name) => chart(worded(name), found.get(name)));
      const hidden = setting.seek ? charted(other) : null;
      curves.replaceChildren(...[
        evaluated.length ? section("Evaluations", grid(evaluated.filter(([name]) => fits(name)).map(([name, lines]) => chart(name, lines, false)))) : null,
        section("While training", runs.every((run) => !run.rows) ? make("p", { class: "fact" }, "No updates yet.") : grid([...charted(first), ...(hidden || [])]),
          runs.some((run) => run.stride > 1) ? make("p", { class: "fact" }, `Each point is the mean of ${Math.max(...runs.map((run) => run.stride))} updates.`) : null),
        !hidden && other.length ? folded(`${other.length} more curves`, () => grid(charted(other))) : null,
      ].filter(Boolean));
    }

    // A fold whose contents are made when it is opened.
    function folded(title, contents) {
      const key = title.replace(/\d+/, "n");
      const details = make("details", { open: open.has(key) }, make("summary", {}, title));
      const fill = () => { if (details.open && details.childElementCount === 1) details.append(contents()); };
      details.addEventListener("toggle", () => { if (details.open) open.add(key); else open.delete(key); fill(); });
      fill();
      return details;
    }

    function worded(name) {
      return visible(name.replaceAll("_", " "));
    }

    // A chart for each subject of an evaluation; several learners, or several runs, are lines of one chart.
    function evaluations() {
      const subjects = new Map();
      runs.forEach((run, k) => {
        for (const { title, player, columns } of run.evaluations) {
          const known = EVALUATED.filter((name) => (columns[name] || []).some((value) => value != null));
          const shares = known.filter((name) => ["win", "draw", "loss"].includes(name));
          const alone = !several && !player && shares.length === 3;
          for (const name of alone ? shares : known.filter((one) => !["draw", "loss"].includes(one)).slice(0, 2)) {
            const key = alone ? `against ${title}` : `${title}: ${name}`;
            if (!subjects.has(key)) subjects.set(key, []);
            const lines = subjects.get(key);
            const color = alone ? { win: COLORS[1], draw: "var(--faint)", loss: COLORS[0] }[name] : COLORS[(several ? k : lines.length) % COLORS.length];
            lines.push({ color, label: alone ? name : [several ? run.name : "", player].filter(Boolean).join(" ") || name, xs: columns[setting.x], ys: columns[name], dots: true,
              dash: alone ? 0 : lines.filter((line) => line.color === color).length });
          }
        }
      });
      return [...subjects].slice(0, 40).map(([key, lines]) => [visible(key), lines]);
    }

    function ticks(low, high, most) {
      const rough = (high - low) / most || 1;
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
      const found = [];
      for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) found.push(Math.abs(v) < step * 1e-9 ? 0 : v);
      return found;
    }

    function short(value) {
      if (value == null) return "–";
      const size = Math.abs(value);
      const text = size && (size < 1e-3 || size >= 1e6) ? value.toExponential(2).replace("e+", "e") : String(Number(value.toPrecision(4)));
      return text.replace("-", "−");
    }

    function chart(title, lines, may = true) {
      const drawn = lines.map((line) => ({ ...line, soft: may && setting.smooth > 0 ? smoothed(line.ys) : line.ys }));
      const values = drawn.flatMap(({ soft, ys, xs }) => (may && setting.smooth > 0 ? soft.concat(ys) : soft).filter((v) => v != null && xs.length));
      const logged = setting.log && values.some((v) => v > 0);
      const fine = values.filter((v) => !logged || v > 0);
      const into = (v) => (logged ? Math.log10(v) : v);
      const xs = drawn.flatMap((line) => line.xs.filter((x) => x != null));
      let [low, high] = [Math.min(...fine.map(into)), Math.max(...fine.map(into))];
      if (!fine.length) [low, high] = [0, 1];
      if (low === high) [low, high] = [low - (Math.abs(low) * 0.1 || 0.5), high + (Math.abs(high) * 0.1 || 0.5)];
      const pad = (high - low) * 0.05;
      [low, high] = [low - pad, high + pad];
      let [left, right] = xs.length ? [Math.min(...xs), Math.max(...xs)] : [0, 1];
      if (left === right) [left, right] = [left - 0.5, right + 0.5];
      const px = (x) => LEFT + ((x - left) / (right - left)) * (WIDTH - LEFT - RIGHT);
      const py = (v) => TOP + (1 - (into(v) - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
      const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${lines.map(({ label, ys }) => `${label} ${short(ys.findLast((v) => v != null))}`).join(", ")}` });
      for (const tick of ticks(low, high, 5)) {
        const y = TOP + (1 - (tick - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
        svg.append(draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y, class: "grid" }), label(LEFT - 6, y, short(logged ? 10 ** tick : tick), "end"));
      }
      for (const tick of ticks(left, right, 5)) if (setting.x !== "update" || Number.isInteger(tick)) svg.append(label(px(tick), HEIGHT - 9, short(tick), "middle"));
      for (const { soft, ys, xs: at, color, raw, dots, dash } of drawn) {
        if (raw && setting.smooth > 0 && may) svg.append(path(at, ys, color, "raw"));
        const line = path(at, soft, color, "curve");
        line.style.strokeDasharray = ["", "6 3", "2 3", "9 3 2 3"][(dash || 0) % 4];
        svg.append(line);
        if ((dots && soft.length <= 60) || soft.filter((v) => v != null).length === 1) soft.forEach((v, k) => { if (v != null && (!logged || v > 0)) svg.append(dot(px(at[k]), py(v), color)); });
      }
      const told = make("figcaption", {}, make("span", { class: "chart-title" }, title), make("span", { class: "chart-now" }, now()));
      const cross = draw("line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "cross" });
      svg.append(cross);
      cross.style.display = "none";

      function path(at, values, color, kind) {
        let d = "", pen = false;
        values.forEach((v, k) => {
          if (v == null || at[k] == null || (logged && v <= 0)) { pen = false; return; }
          d += `${pen ? "L" : "M"}${px(at[k]).toFixed(1)} ${py(v).toFixed(1)}`;
          pen = true;
        });
        const element = draw("path", { d, class: kind });
        element.style.stroke = color;
        return element;
      }
      function dot(cx, cy, color) {
        const element = draw("circle", { cx, cy, r: 2.5 });
        element.style.fill = color;
        return element;
      }
      function label(x, y, words, anchor) {
        const text = draw("text", { x, y, dy: "0.35em", "text-anchor": anchor, class: "tick" });
        text.textContent = words;
        return text;
      }
      function now(x = null) {
        return drawn.map(({ label: name, color, soft, xs: at }) => {
          let k = soft.length - 1;
          if (x != null) k = at.reduce((best, v, n) => (v != null && Math.abs(v - x) < Math.abs((at[best] ?? Infinity) - x) ? n : best), 0);
          else while (k > 0 && soft[k] == null) k -= 1;
          const many = drawn.length > 1;
          return make("span", {}, many ? coterie.disc(color) : null, many ? ` ${visible(name)} ` : "", make("b", {}, short(soft[k])));
        }).slice(0, 8).concat(x == null ? [] : [make("span", { class: "fact" }, `${setting.x} ${short(x)}`)]);
      }
      svg.addEventListener("pointermove", (event) => {
        const box = svg.getBoundingClientRect();
        const x = left + ((((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT)) * (right - left);
        if (x < left || x > right) return;
        cross.style.display = "";
        cross.setAttribute("x1", px(x));
        cross.setAttribute("x2", px(x));
        told.lastChild.replaceChildren(...now(setting.x === "update" ? Math.round(x) : x));
      });
      svg.addEventListener("pointerleave", () => { cross.style.display = "none"; told.lastChild.replaceChildren(...now()); });
      return make("figure", { class: "chart" }, told, svg);
    }

    // -- tables ------------------------------------------------------------------------------------------------------
    function between(figures, name) {
      const value = figures[name];
      if (value == null) return "";
      const span = figures[`${name}_interval`];
      return [short(value), Array.isArray(span) ? make("small", {}, ` ${short(span[0])} to ${short(span[1])}`) : ""];
    }

    function lastEvaluations() {
      const tables = runs.filter((run) => (run.last.rows || []).length).map((run) => {
        const rows = run.last.rows.slice(0, 60);
        const columns = EVALUATED.filter((name) => rows.some((row) => typeof row[name] === "number"));
        const named = rows.some((row) => row.player);
        return make("div", {}, make("p", { class: "fact" }, `${several ? `${visible(run.name)}, ` : ""}after update ${run.last.update}; small: 95 % intervals`),
          table(of(run, "Last evaluation"), ["against", ...(named ? ["player"] : []), "games", ...columns],
            rows.map((row) => [visible(row.opponent ?? row.curriculum ?? (row.worlds ? "worlds" : "the policy itself")), ...(named ? [visible(row.player ?? "")] : []), row.games ?? row.worlds ?? "", ...columns.map((name) => between(row, name))])));
      });
      return tables.length ? section("Last evaluation", ...tables) : null;
    }

    function heat(title, names_, values, told, centre) {
      const most = Math.max(1e-9, ...values.flat().filter((v) => v != null).map((v) => Math.abs(v - centre)));
      const body = names_.map((name, r) => ({ cells: [visible(name), ...values[r].map((value, c) => {
        const cell = make("span", { class: "cell", title: told(r, c) }, value == null ? "–" : short(Number(value.toFixed(2))));
        if (value != null) cell.style.background = `color-mix(in srgb, ${value >= centre ? "var(--fourth)" : "var(--first)"} ${Math.round((60 * Math.abs(value - centre)) / most)}%, transparent)`;
        return cell;
      })] }));
      return table(title, ["", ...names_.map(visible)], body);
    }

    function ratings(run) {
      const { results, leaderboard } = run.facts;
      if (!results && !leaderboard) return null;
      const link = leaderboard && show.live ? make("p", {}, make("a", { href: `run/${runs.indexOf(run)}/leaderboard.html` }, "The tournament's own page")) : null;
      if (!results) return link ? section(of(run, "Ratings"), link) : null;
      const names_ = results.players.map((row) => row.player);
      return section(of(run, "Ratings"),
        table("Ratings", ["player", "Elo", "95 % interval", "games"], results.players.map((row) => [visible(row.player), short(row.elo), (row.elo_interval || []).map(short).join(" to "), row.games ?? ""])),
        heat("Payoffs", names_, results.payoff, (r, c) => `${names_[r]} against ${names_[c]}`, 0), link);
    }

    function payoff(run) {
      const found = run.facts.payoff;
      if (!found) return null;
      const { names: players_, rates, games, left } = found;
      return section(of(run, "Who beats whom"), make("p", { class: "fact" }, `Win rate of the row against the column while training; draws count half, and recent games most.${left ? ` The ${left} oldest are left out.` : ""}`),
        heat("Win rates", players_, rates, (r, c) => `${players_[r]} against ${players_[c]}: ${games[r][c]} games`, 0.5));
    }

    function lineage(run) {
      const events = run.facts.lineage;
      if (!events || !events.length) return null;
      const base = (name) => name.split("@")[0];
      const rows = [...new Set(events.flatMap(({ player, parents }) => [base(player), ...parents.map(([name]) => base(name))]))];
      const most = Math.max(1, ...events.map(({ update }) => update));
      const wide = 760, left = 130, pitch = 34, height = rows.length * pitch + 30;
      const x = (update) => left + (update / most) * (wide - left - 20), y = (name) => 20 + rows.indexOf(base(name)) * pitch;
      const svg = draw("svg", { viewBox: `0 0 ${wide} ${height}`, role: "img", class: "lineage", "aria-label": events.map((e) => `${e.player}: ${e.how} after update ${e.update}`).join("; ").slice(0, 2000) });
      for (const name of rows) {
        const text = draw("text", { x: left - 12, y: y(name), dy: "0.35em", "text-anchor": "end", class: "tick" });
        text.textContent = visible(name);
        svg.append(draw("line", { x1: left, x2: wide - 20, y1: y(name), y2: y(name), class: "grid" }), text);
      }
      for (const { player, how, update, parents } of events) {
        for (const [parent, share] of parents) {
          if (base(parent) === base(player)) continue;
          const line = draw("line", { x1: x(update), y1: y(parent), x2: x(update), y2: y(player), class: "heir" });
          line.style.strokeWidth = 1 + 2 * share;
          svg.append(line);
        }
        const mark = draw("circle", { cx: x(update), cy: y(player), r: 5, class: `event-${how}` });
        const told = draw("title");
        told.textContent = `${player}: ${how} after update ${update}${parents.length ? ` from ${parents.map(([name]) => name).join(", ")}` : ""}`;
        mark.append(told);
        svg.append(mark);
      }
      for (const tick of ticks(0, most, 6)) {
        const text = draw("text", { x: x(tick), y: height - 8, "text-anchor": "middle", class: "tick" });
        text.textContent = short(tick);
        svg.append(text);
      }
      return section(of(run, "Lineages"), make("p", { class: "fact" }, "Filled: a past self is kept. Ring: begun anew. Lines: weights that came from another player. By update."), make("div", { class: "scroller" }, svg));
    }

    function samples(run) {
      const found = run.facts.samples;
      if (!found) return null;
      const step = ({ role, asked, text, probability, reward }) => make("article", { class: "message" },
        make("header", {}, make("span", { class: "who" }, visible(role)), probability == null ? null : make("span", { class: "fact" }, `probability ${short(probability)}`),
          reward ? make("span", { class: "reward" }, `reward ${short(reward)}`) : null),
        make("details", { class: "thinking" }, make("summary", {}, "What it was shown"), make("div", { class: "text" }, coterie.long(asked, 1500))),
        make("div", { class: "text" }, coterie.long(text, 1500)));
      return section(of(run, "Samples"), make("p", { class: "fact" }, `What was said in update ${found.update}, one of ${found.kept} kept.`),
        found.episodes.map((episode) => fold(`${several ? `${visible(run.name)}, ` : ""}${episode.path} ${visible(episode.type)} ${Object.entries(episode.rewards).map(([role, value]) => `${visible(role)} ${short(value)}`).join(", ")}${episode.error ? " failed" : ""}`,
          episode.error ? make("p", { class: "alarm" }, visible(episode.error)) : null, episode.steps.map(step))));
    }

    function players() {
      const rows = runs.flatMap((run) => (run.facts.players || []).map(({ name, versions }) => [
        ...(several ? [visible(run.name)] : []), visible(name), versions.length, versions.at(-1)]));
      return rows.length ? section("Saved players", table("Saved players", [...(several ? ["run"] : []), "player", "versions", "newest"], rows)) : null;
    }

    // -- settings ----------------------------------------------------------------------------------------------------
    function settings() {
      const all_ = new Map();
      runs.forEach((run, k) => {
        for (const row of run.facts.config || []) {
          if (!all_.has(row.name)) all_.set(row.name, []);
          all_.get(row.name)[k] = row;
        }
      });
      if (!all_.size) return null;
      const line = ([name, rows]) => {
        const values = runs.map((_, k) => (rows[k] ? rows[k].value : "–"));
        const differs = values.some((value) => value !== values[0]);
        const usual = rows.find((row) => row && row.usual != null);
        return { attributes: { class: (differs ? "differs " : "") + (usual ? "changed" : "") }, cells: [visible(name), ...values.map(visible), usual ? visible(usual.usual) : ""] };
      };
      const head = ["setting", ...(several ? runs.map((run) => visible(run.name)) : ["value"]), "usual"];
      const lines = [...all_].map(line);
      const marked = lines.filter(({ attributes }) => attributes.class.trim());
      return section("Settings", marked.length ? table("Settings that differ", head, marked) : make("p", { class: "fact" }, "All settings are the usual ones."),
        fold(`All ${lines.length} settings`, table("All settings", head, lines)));
    }

    function ending() {
      const parts = runs.flatMap((run) => {
        const { command, environment, model, checkpoints, folder } = run.facts;
        const facts = [["folder", folder], ...(model ? [["model", `${model.id} ${String(model.hash || "").slice(0, 12)}`]] : []),
          ...(checkpoints && checkpoints.length ? [["checkpoints", checkpoints.join(", ")]] : []), ...(environment || [])];
        return [
          command ? make("div", {}, make("h3", {}, of(run, "Run it again")), make("pre", { class: "command", tabindex: "0" }, visible(command))) : null,
          make("div", {}, make("h3", {}, of(run, "Environment")), environment ? null : make("p", { class: "fact" }, "This run did not record its environment."),
            table(of(run, "Environment"), ["", ""], facts.filter(([, value]) => value).map(([name, value]) => [visible(name), visible(value)]))),
        ];
      }).filter(Boolean);
      return section("Where it comes from", ...parts, show.command ? make("div", {}, make("h3", {}, "Make this page again"), make("pre", { class: "command", tabindex: "0" }, visible(show.command))) : null);
    }

    if (show.live) ask();
    else {
      runs.forEach((run, k) => merge(run, show.runs[k]));
      all();
    }
    return { runs, setting };
  };
})();
